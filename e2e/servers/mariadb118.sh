#!/usr/bin/env bash
# MariaDB 11.8 from Debian 13, unpacked. Usage: mariadb118.sh VERB [INSTANCE]; see lib.sh.
VERSION=mariadb118 RELEASE=trixie SERIES=11.8 SCRIPTS=mariadb
. "$(dirname "${BASH_SOURCE[0]}")/mariadb.sh"
main "$@"
