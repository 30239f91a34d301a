#!/usr/bin/env bash
# Installs and starts the servers that the tests need on a bare Debian machine,
# runs the tests and ends with go test's lines.
#
#     run.sh                    everything
#     run.sh source/postgres    the tests below a folder
#     run.sh TestCrash          the tests whose names match a pattern of go test -run
#
# E2E_TIER=full runs the long forms (100,000 changes, 40 kills; more under the race
# detector). FRESHET_E2E_DIR is where everything is kept, /tmp/freshet-e2e-UID.
# A skipped test is a failure here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export FRESHET_E2E=1 E2E_TIER=${E2E_TIER:-fast}
export FRESHET_E2E_DIR=${FRESHET_E2E_DIR:-/tmp/freshet-e2e-$(id -u)}
# What the tests make is no smaller for being below a folder that root alone can enter.
export TMPDIR=$FRESHET_E2E_DIR/tmp
mkdir -p "$TMPDIR" "$FRESHET_E2E_DIR/bin"
chmod 755 "$FRESHET_E2E_DIR"
chmod 1777 "$TMPDIR"

# The tests of one version of a server are skipped on the others, which run below too.
export GOTEST_ALLOW_SKIP="a test of another server version"
# The vectors of Flink and Flink CDC are not part of the repository.
if [ ! -d "${FRESHET_CONFORMANCE:-../shared/conformance}" ]; then GOTEST_ALLOW_SKIP+="|conformance vectors"; fi

say() { printf '\n== %s\n' "$*"; }

# Servers that tests share; those that they kill or fill they start for themselves.
servers=(postgres15 postgres18 mysql97 mysql80 mariadb1011 mariadb118 kafka)
wipe() { for s in "${servers[@]}"; do bash "e2e/servers/$s.sh" wipe tests & done; wait; }
trap wipe EXIT

say "servers"
jobs=()
for s in "${servers[@]}"; do
  bash "e2e/servers/$s.sh" start tests >"$TMPDIR/$s.url" &
  jobs+=($!)
done
bash e2e/servers/toxiproxy.sh install &
jobs+=($!)
FRESHET_READERS_PYTHON=$(bash e2e/servers/readers.sh python)
for job in "${jobs[@]}"; do wait "$job"; done
address() { cat "$TMPDIR/$1.url"; }
FRESHET_PG15_URL=$(address postgres15) FRESHET_PG18_URL=$(address postgres18)
FRESHET_MYSQL97_URL=$(address mysql97) FRESHET_MYSQL80_URL=$(address mysql80)
FRESHET_MARIADB1011_URL=$(address mariadb1011) FRESHET_MARIADB118_URL=$(address mariadb118)
FRESHET_KAFKA_URL=$(address kafka)
PG15=/usr/lib/postgresql/15/bin PG18=$(bash e2e/servers/postgres18.sh bin)
export FRESHET_READERS_PYTHON FRESHET_PYTHON=$FRESHET_READERS_PYTHON PG_BIN=$PG15
export FRESHET_PG15_URL FRESHET_PG18_URL FRESHET_MYSQL97_URL FRESHET_MYSQL80_URL FRESHET_MARIADB1011_URL FRESHET_MARIADB118_URL FRESHET_KAFKA_URL

say "build"
go build ./...
go build -o "$FRESHET_E2E_DIR/bin/gotest" ./e2e/gotest
FRESHET_BINARY=$FRESHET_E2E_DIR/bin/freshet
go build -trimpath -ldflags='-s -w' -o "$FRESHET_BINARY" ./cmd/freshet
export FRESHET_BINARY
gotest() { "$FRESHET_E2E_DIR/bin/gotest" "$@"; }

if [ $# -gt 0 ]; then
  folders=() patterns=()
  for name in "$@"; do
    name=${name#./}
    if [ -d "$name" ]; then folders+=("./${name%/}/..."); else patterns+=("$name"); fi
  done
  if [ ${#folders[@]} -gt 0 ]; then gotest -timeout 60m "${folders[@]}"; fi
  if [ ${#patterns[@]} -gt 0 ]; then
    # Only packages that have such a test: the others would say "no tests to run".
    pattern=$(IFS='|'; echo "${patterns[*]}")
    packages=$(go test -list "$pattern" ./... | awk '/^(Test|Fuzz|Example)/ { found = 1 } $1 == "ok" { if (found) print $2; found = 0 }')
    [ -n "$packages" ] || { echo "run.sh: no test matches $pattern" >&2; exit 1; }
    gotest -timeout 60m -run "$pattern" $packages
  fi
  exit
fi

race=(./runtime/... ./schema/...)
if [ -d source/window ]; then race+=(./source/window/...); fi
if [ "$E2E_TIER" = full ]; then race+=(./pipeline/... ./source/... ./sink/...); fi
say "under the race detector: ${race[*]}"
command -v gcc >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null; }
gotest -race -timeout 40m "${race[@]}"

say "all packages, PostgreSQL 15"
gotest -timeout 40m $(go list ./... | grep -v '/e2e')

say "source on PostgreSQL 18"
PG_BIN=$PG18 gotest -timeout 40m ./source/postgres/...

say "source on PostgreSQL 14, 16 and 17"
# What differs between the versions; the full tier runs everything.
pattern='^TestConformance$/^(SnapshotAndChanges|Alter|SnapshotMode|LatestMode)$'
pattern+='|^Test(Types|TypeErrors|Check|CheckSettings|Publications|LogRows|LogRestart|LogSchemaChanges|LogNotes)$'
pattern+='|^Test(PartitionLog|PartitionBefore15|PartitionIdentity|Explain|Failover.*|StandbyIsNoSource)$'
if [ "$E2E_TIER" = full ]; then pattern=.; fi
jobs=()
for version in 14 16 17; do # they wait more than they work
  PG_BIN=$(bash "e2e/servers/postgres$version.sh" bin) gotest -timeout 60m -run "$pattern" ./source/postgres >"$TMPDIR/postgres$version.log" 2>&1 &
  jobs+=($!)
done
failed=0
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
for version in 14 16 17; do echo "PostgreSQL $version:"; cat "$TMPDIR/postgres$version.log"; done
[ "$failed" = 0 ]

say "e2e"
gotest -p 1 -timeout 60m ./e2e/...
