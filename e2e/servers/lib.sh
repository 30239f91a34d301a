# Shared functions of the server scripts. A script sets NAME (the instance, also
# its folder), sources this file, defines install_server, server_command and
# server_ready and server_url, and ends with: main "$@"
#
# Everything lies under $FRESHET_E2E_DIR (default /tmp/freshet-e2e-UID):
#   cache/  what was installed, kept between runs
#   run/    one folder an instance: data, log, pid ("pid starttime"), port
# All servers bind 127.0.0.1 and run as an unprivileged user when we are root.

set -euo pipefail

E2E_DIR=$(realpath -m "${FRESHET_E2E_DIR:-/tmp/freshet-e2e-$(id -u)}")
CACHE=$E2E_DIR/cache
RUN=$E2E_DIR/run
START_TIMEOUT=${START_TIMEOUT:-60}

die() { echo "$(basename "$0"): $*" >&2; exit 1; }
note() { echo "$(basename "$0"): $*" >&2; }

mkdir -p "$CACHE" "$RUN"
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$E2E_DIR" "$CACHE" "$RUN"
  setpriv --reuid=nobody --regid=nogroup --clear-groups test -x "$RUN" ||
    die "the user nobody can't enter $RUN: servers don't run as root, so choose another folder with FRESHET_E2E_DIR"
fi

# unprivileged CMD...: runs it as nobody when we are root, else as we are.
unprivileged() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
  else
    "$@"
  fi
}

# own FOLDER: gives it to the user that the servers run as.
own() { [ "$(id -u)" != 0 ] || chown -R nobody:nogroup "$@"; }

# need_packages PACKAGE...: installs the Debian packages that are missing.
need_packages() {
  local missing=() p
  for p in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || die "Debian packages ${missing[*]} are missing: install them as root"
  note "installing Debian packages ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  exec 7>"$CACHE/dpkg.lock" # scripts may install at the same time
  flock 7
  apt-get update -qq >"$CACHE/apt.log" 2>&1 || { cat "$CACHE/apt.log" >&2; die "apt-get update failed"; }
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$CACHE/apt.log" 2>&1 ||
    { tail -n 20 "$CACHE/apt.log" >&2; die "apt-get install ${missing[*]} failed"; }
  exec 7>&-
}

# once FOLDER STAMP FUNCTION: calls FUNCTION FOLDER.new and renames the result to
# FOLDER, unless FOLDER holds STAMP already: an interrupted install is done again.
# Concurrent callers wait for each other.
once() {
  local folder=$1 stamp=$2 fn=$3
  mkdir -p "$(dirname "$folder")"
  exec 8>"$folder.lock"
  flock 8
  if [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$folder" "$folder.new"
    mkdir -p "$folder.new"
    "$fn" "$folder.new"
    echo "$stamp" >"$folder.new/.stamp"
    mv "$folder.new" "$folder"
  fi
  exec 8>&-
}

# starttime PID: when the process started (field 22 of its stat), so that a
# reused pid is never mistaken for the server. A zombie counts as gone.
starttime() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  set -- ${stat##*) }
  [ "$1" != Z ] || return 1
  echo "${20}"
}

# server_pid: prints the pid of the running instance; fails when there is none.
server_pid() {
  local pid start
  [ -s "$DIR/pid" ] || return 1
  read -r pid start <"$DIR/pid"
  [ "$(starttime "$pid")" = "$start" ] || return 1
  echo "$pid"
}

# port_open PORT
port_open() { (exec 9<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# choose_port: prints a port that nobody listens on, below the ephemeral range.
choose_port() {
  local port try
  for try in $(seq 50); do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    port_open "$port" || { echo "$port"; return; }
  done
  die "found no free port"
}

# descendants PID: the children and theirs, deepest last.
descendants() {
  local child
  for child in $(cat /proc/"$1"/task/*/children 2>/dev/null || true); do
    echo "$child"
    descendants "$child"
  done
}

# start: starts the instance and waits until it answers.
start() {
  install
  if server_pid >/dev/null; then
    note "$NAME runs already"
    return
  fi
  mkdir -p "$DIR"
  [ -s "$DIR/port" ] || choose_port >"$DIR/port"
  PORT=$(cat "$DIR/port")
  # A foreign server on the port would answer the ready check in place of ours.
  local i
  for i in $(seq 50); do port_open "$PORT" || break; sleep 0.1; done
  ! port_open "$PORT" || die "port $PORT of $NAME is taken by another process"
  prepare_server
  touch "$DIR/log"
  local offset pid
  offset=$(stat -c %s "$DIR/log")
  server_command
  cd / # the user nobody may not be able to enter where we are
  setsid "${COMMAND[@]}" >>"$DIR/log" 2>&1 </dev/null &
  pid=$!
  echo "$pid $(starttime "$pid")" >"$DIR/pid"
  for i in $(seq $((START_TIMEOUT * 20))); do
    if server_ready "$offset"; then return; fi
    starttime "$pid" >/dev/null || { tail -n 20 "$DIR/log" >&2; die "$NAME ended while starting"; }
    sleep 0.05
  done
  tail -n 20 "$DIR/log" >&2
  die "$NAME was not ready within $START_TIMEOUT s"
}

# end SIGNAL: sends it and waits; after 30 s the rest is killed.
end() {
  local pid i all
  pid=$(server_pid) || { rm -f "$DIR/pid"; return 0; }
  if [ "$1" = KILL ]; then
    all="$pid $(descendants "$pid")"
    kill -KILL $all 2>/dev/null || true
    for i in $all; do while starttime "$i" >/dev/null; do sleep 0.02; done; done
  else
    kill -"$1" "$pid"
    for i in $(seq 600); do starttime "$pid" >/dev/null || break; sleep 0.05; done
    if starttime "$pid" >/dev/null; then kill -KILL "$pid" $(descendants "$pid") 2>/dev/null || true; fi
  fi
  rm -f "$DIR/pid"
}

# install: installs the server, once.
install() { install_server; }

# prepare_server is called before each start; scripts override it.
prepare_server() { :; }

# main VERB: what every server script ends with.
main() {
  DIR=$RUN/$NAME
  case ${1:-} in
    install) install ;;
    start) start; server_url ;;
    stop) end "${STOP_SIGNAL:-TERM}" ;;
    kill9) end KILL ;;
    wipe) end KILL; rm -rf "$DIR" ;;
    url) PORT=$(cat "$DIR/port"); server_url ;;
    log) echo "$DIR/log" ;;
    pid) server_pid ;;
    bin) server_bin ;;
    status)
      if server_pid >/dev/null; then echo "$NAME runs, pid $(server_pid), port $(cat "$DIR/port")"
      else echo "$NAME does not run"; return 1; fi ;;
    *) die "usage: $(basename "$0") install|start|stop|kill9|wipe|url|log|pid|bin|status [INSTANCE]" ;;
  esac
}
