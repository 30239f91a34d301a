#!/usr/bin/env bash
# One crash run: crash.sh SOURCE SINK [--kills N] [--seed S] [--changes C] [--server VERSION] [--keep]
#
# SOURCE is postgres, mysql or mariadb, SINK iceberg or kafka. A numbered workload changes
# the database while real freshet processes copy it and are killed, at random and at
# named points, their server (and the broker) is restarted and their connections are cut.
# At the end independent readers compare. The last line is
#     crash SOURCE SINK: N kills, C changes, 0 lost, 0 doubled, 0 broken invariants
# and the exit code 0 only when all three are zero.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=${FRESHET_E2E_DIR:-/tmp/freshet-e2e-$(id -u)}/bin
mkdir -p "$work"
go build -o "$work/crash" ./e2e/crash
exec "$work/crash" "$@"
