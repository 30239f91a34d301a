#!/usr/bin/env bash
# PostgreSQL 15 from Debian. Usage: postgres15.sh VERB [INSTANCE]; see lib.sh.
VERSION=15
. "$(dirname "${BASH_SOURCE[0]}")/postgres.sh"

install_server() {
  install_clients
  PGBIN=/usr/lib/postgresql/15/bin
}

main "$@"
