#!/usr/bin/env bash
# toxiproxy: a TCP proxy whose connections tests can cut or slow. Usage: toxiproxy.sh VERB [INSTANCE]; see lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

INSTANCE=${2:-main}
NAME=toxiproxy-$INSTANCE
TOXIPROXY=v2.5.0

build_toxiproxy() {
  note "building toxiproxy"
  # Its programs are called server and cli: a folder of their own.
  GOBIN=$1 go install "github.com/Shopify/toxiproxy/v2/cmd/server@$TOXIPROXY"
}

install_server() { once "$CACHE/toxiproxy" "$TOXIPROXY" build_toxiproxy; }

server_command() {
  COMMAND=("$CACHE/toxiproxy/server" -host 127.0.0.1 -port "$PORT")
  if [ "$(id -u)" = 0 ]; then
    COMMAND=(setpriv --reuid=nobody --regid=nogroup --clear-groups "${COMMAND[@]}")
  fi
}

server_ready() { port_open "$PORT"; }

server_url() { echo "http://127.0.0.1:$PORT"; }

main "$@"
