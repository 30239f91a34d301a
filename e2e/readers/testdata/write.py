"""Writes tables for the tests of the comparison: write.py DIR, with a JSON object
on standard input that maps each table's name to the SQL that DuckDB answers with its rows."""

import json
import sys

import duckdb
from pyiceberg.catalog import load_catalog

folder = sys.argv[1]
catalog = load_catalog("freshet", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
catalog.create_namespace_if_not_exists("public")
for name, query in json.load(sys.stdin).items():
    rows = duckdb.sql(query).to_arrow_table()
    table = catalog.create_table("public." + name, schema=rows.schema)
    # Two files, so that a reader has to put them together.
    table.append(rows.slice(0, 1))
    table.append(rows.slice(1))
