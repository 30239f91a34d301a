# What the scripts of all PostgreSQL versions share: they set VERSION and
# install_server (which sets PGBIN), then source this file.
#
# PG_SETTINGS holds more server settings for this start, "a=b c=d".

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# A text that occurs nowhere else, so that a test can tell whether it was shown.
PASSWORD=never-show-7Qd2

INSTANCE=${2:-main}
NAME=pg$VERSION-$INSTANCE
STOP_SIGNAL=INT # the fast shutdown; TERM would wait for the clients

# The client programs of Debian's PostgreSQL talk to all versions.
install_clients() {
  # Else Debian would create and start a cluster of its own.
  if [ "$(id -u)" = 0 ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  [ -x /usr/lib/postgresql/15/bin/postgres ] || need_packages postgresql-15 postgresql-client-15
}

prepare_server() {
  # start knows that the instance does not run. PostgreSQL itself would take the
  # zombie of a killed server, which init may reap seconds later, for a running one.
  rm -f "$DIR/data/postmaster.pid"
  [ ! -e "$DIR/initialized" ] || return 0
  # Without the marker an interrupted initdb left something that no server accepts.
  rm -rf "$DIR/data"
  mkdir -p "$DIR/data"
  own "$DIR/data"
  chmod 700 "$DIR/data"
  printf '%s' "$PASSWORD" >"$DIR/password"
  chmod 644 "$DIR/password"
  (cd / && unprivileged "$PGBIN/initdb" -D "$DIR/data" -U postgres -A scram-sha-256 --pwfile="$DIR/password" \
    -E UTF8 --locale=C --no-sync >"$DIR/initdb.log" 2>&1) || { cat "$DIR/initdb.log" >&2; die "initdb failed"; }
  touch "$DIR/initialized"
}

server_command() {
  local s settings=(listen_addresses=127.0.0.1 unix_socket_directories= wal_level=logical
    max_wal_senders=20 max_replication_slots=20 max_connections=100 log_min_messages=warning
    fsync=off # a killed process loses nothing that it wrote; only a killed machine would
    ${PG_SETTINGS:-})
  COMMAND=("$PGBIN/postgres" -D "$DIR/data" -p "$PORT")
  for s in "${settings[@]}"; do COMMAND+=(-c "$s"); done
  if [ "$(id -u)" = 0 ]; then
    COMMAND=(setpriv --reuid=nobody --regid=nogroup --clear-groups "${COMMAND[@]}")
  fi
}

server_ready() {
  tail -c "+$(($1 + 1))" "$DIR/log" | grep -q 'database system is ready to accept connections' && port_open "$PORT"
}

server_url() { echo "postgres://postgres:$PASSWORD@127.0.0.1:$PORT/postgres?sslmode=disable"; }

# bin: where initdb and postgres lie.
server_bin() { install_server; echo "$PGBIN"; }
