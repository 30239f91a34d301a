#!/usr/bin/env bash
# MySQL 9.7 from Debian's unstable release, unpacked. Usage: mysql97.sh VERB [INSTANCE]; see lib.sh.
VERSION=mysql97
. "$(dirname "${BASH_SOURCE[0]}")/mysql.sh"

FLAVOR_SETTINGS=(mysqlx=OFF gtid-mode=ON enforce-gtid-consistency=ON innodb-redo-log-capacity=64M)

unpack_mysql() {
  note "installing MySQL 9.7"
  unpack_debian "$1" sid mysql-server-core mysql-client-core
  # The release moves: a newer MySQL would be another test.
  own_loader "$1" sbin/mysqld
  "${COMMAND[@]}" --version | grep -q 'Ver 9\.7\.' || die "Debian's unstable release has $("${COMMAND[@]}" --version), not 9.7"
}

install_server() { once "$CACHE/mysql97" "9.7" unpack_mysql; }

server_program() {
  local usr=$CACHE/mysql97/usr
  own_loader "$CACHE/mysql97" sbin/mysqld
  COMMAND+=(--no-defaults --basedir="$usr" --lc-messages-dir="$usr/share/mysql" --character-sets-dir="$usr/share/mysql/charsets" --plugin-dir="$usr/lib/mysql/plugin")
}

initialize() { unprivileged "${COMMAND[@]}" --initialize-insecure --init-file="$DIR/init.sql"; }

# bin: the folder with mysql, mysqlbinlog and what else the packages hold, as
# scripts that start them.
server_bin() { install_server; program_scripts "$CACHE/mysql97"; }

main "$@"
