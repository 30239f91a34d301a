# What the scripts of all MySQL and MariaDB versions share. They set VERSION (the
# first part of the instance's name), source this file and define install_server,
# server_program (sets COMMAND to the program and the options of its files) and
# initialize (makes a new data folder, with $DIR/init.sql executed in it).
#
# MYSQL_SETTINGS holds more server settings for this start, "a=b c=d"; the last one counts.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

# A text that occurs nowhere else, so that a test can tell whether it was shown.
PASSWORD=never-show-4Km9

INSTANCE=${2:-main}
NAME=$VERSION-$INSTANCE

# prepare_server makes the data folder. Without the marker an interrupted
# initialization left something that no server accepts.
prepare_server() {
  mkdir -p "$DIR/tmp"
  own "$DIR/tmp"
  [ ! -e "$DIR/initialized" ] || return 0
  rm -rf "$DIR/data"
  mkdir -p "$DIR/data"
  own "$DIR/data"
  chmod 700 "$DIR/data"
  # One statement a line: MariaDB's bootstrap reads it so.
  cat >"$DIR/init.sql" <<-END
	ALTER USER root@localhost IDENTIFIED BY '$PASSWORD';
	CREATE USER root@'%' IDENTIFIED BY '$PASSWORD';
	GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
	END
  server_program
  COMMAND+=(--datadir="$DIR/data" --tmpdir="$DIR/tmp")
  (cd / && initialize) >"$DIR/initialize.log" 2>&1 || { tail -n 20 "$DIR/initialize.log" >&2; die "initialization of $NAME failed"; }
  touch "$DIR/initialized"
}

server_command() {
  local s settings=(bind-address=127.0.0.1 port="$PORT" datadir="$DIR/data" tmpdir="$DIR/tmp" pid-file="$DIR/data/server.pid"
    socket=server.sock # relative to the data folder, whose path may be too long for a socket
    secure-file-priv= skip-name-resolve max-connect-errors=1000000 max-connections=300 default-time-zone=+00:00 character-set-server=utf8mb4
    server-id=1 log-bin=binlog binlog-format=ROW binlog-row-image=FULL loose-binlog-row-metadata=FULL log-slave-updates=ON
    # A killed process loses nothing that it wrote; only a killed machine would.
    sync-binlog=0 innodb-flush-log-at-trx-commit=2
    innodb-buffer-pool-size=128M performance-schema=OFF)
  server_program
  settings+=("${FLAVOR_SETTINGS[@]}" ${MYSQL_SETTINGS:-})
  for s in "${settings[@]}"; do COMMAND+=("--$s"); done
  # The lock file of a killed server names a process that may live again by now.
  rm -f "$DIR"/data/server.sock*
  if [ "$(id -u)" = 0 ]; then
    COMMAND=(setpriv --reuid=nobody --regid=nogroup --clear-groups "${COMMAND[@]}")
  fi
}

# server_ready: the server greets with a handshake packet of protocol 10; an error
# packet has 0xff there. While a server initializes it does not listen.
server_ready() {
  local greeting
  greeting=$({ exec 9<>"/dev/tcp/127.0.0.1/$PORT" && timeout 2 head -c 5 <&9 | od -An -tu1 -j4; } 2>/dev/null) || return 1
  [ "$((greeting))" = 10 ]
}

server_url() { echo "mysql://root:$PASSWORD@127.0.0.1:$PORT/"; }
