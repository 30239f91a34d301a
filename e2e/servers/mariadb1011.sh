#!/usr/bin/env bash
# MariaDB 10.11 from Debian 12, unpacked. Usage: mariadb1011.sh VERB [INSTANCE]; see lib.sh.
VERSION=mariadb1011 RELEASE=bookworm SERIES=10.11 SCRIPTS=mysql
. "$(dirname "${BASH_SOURCE[0]}")/mariadb.sh"
main "$@"
