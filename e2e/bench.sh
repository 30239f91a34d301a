#!/usr/bin/env bash
# Measures freshet beside the floor of the same machine, in one run:
#     bench.sh postgres-iceberg
#     bench.sh mysql-iceberg
#     bench.sh postgres-kafka mysql-kafka
# prints a line a figure:
#     bench NAME: X rows/s, floor Y rows/s, ratio R, cpu S s, peak M MiB
# BENCH_ROWS (3000000) and BENCH_CHANGES (1500000) set the sizes, BENCH_SERVER
# the version of PostgreSQL (15), BENCH_KEEP=1 keeps the tables.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=${FRESHET_E2E_DIR:-/tmp/freshet-e2e-$(id -u)}/bin
mkdir -p "$work"
go build -o "$work/bench" ./e2e/bench
exec "$work/bench" "$@"
