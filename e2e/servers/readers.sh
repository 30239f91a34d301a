#!/usr/bin/env bash
# Readers of Iceberg tables that we didn't write: PyIceberg and DuckDB in one
# Python environment. Usage: readers.sh install|python
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The extension wheels of DuckDB end at this version, so duckdb is pinned to it.
DUCKDB=1.5.5
PACKAGES=("pyiceberg[sql-sqlite,pyarrow]==0.12.0" "duckdb==$DUCKDB" "duckdb-extension-iceberg==$DUCKDB"
  "duckdb-extension-avro==$DUCKDB" pytz)

# A virtual environment holds its own path, so it can't be renamed: the folder
# of the stamp only points to it.
make_environment() {
  local venv=$CACHE/readers-venv
  python3 -c 'import ensurepip' 2>/dev/null || need_packages python3 python3-venv
  note "installing the readers"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check "${PACKAGES[@]}" >"$CACHE/readers.log" 2>&1 ||
    { tail -n 20 "$CACHE/readers.log" >&2; die "pip install failed"; }
}

case ${1:-} in
  install) once "$CACHE/readers" "${PACKAGES[*]}" make_environment ;;
  python) once "$CACHE/readers" "${PACKAGES[*]}" make_environment; echo "$CACHE/readers-venv/bin/python" ;;
  *) die "usage: readers.sh install|python" ;;
esac
