"""Reads Iceberg tables with software that freshet does not share code with.

A server on standard input and output: one JSON request a line; the answer is
lines of JSON, ended by a line "." or by a line "! MESSAGE".

    {"do": "rows", "table": "public.orders"}            PyIceberg; first line the column
    {"do": "rows", "table": ..., "engine": "duckdb"}     names, then an array of texts a row
    {"do": "rows", "table": ..., "snapshot": 42, "columns": ["id"]}
    {"do": "tables"}                                     every table of the catalog
    {"do": "snapshots", "table": ...}                    {"id", "sequence", "milliseconds", "summary"} a line
    {"do": "properties", "table": ...}                   the table's properties
    {"do": "columns", "table": ...}                      the names of the columns, in one array
    {"do": "sql", "sql": "SELECT ... FROM {t}", "tables": {"t": {"table": ..., "snapshot": 42}}}

Every value is text or null: numbers in plain notation, times as ISO 8601 with
microseconds, bytes as hex, lists as compact JSON.

    python reader.py sqlite:////dir/catalog.db file:///dir/warehouse [CATALOG NAME]
"""

import datetime
import decimal
import json
import os
import sys
import uuid

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import pyarrow
from pyiceberg.catalog import load_catalog


def text(value):
    """Renders one value as the module says."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat(timespec="microseconds")
    if isinstance(value, datetime.time):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, float):
        return repr(value)
    return str(value)


def plain(value):
    """Makes a nested value fit for JSON; numbers and booleans stay what they are."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return text(value)


def column_texts(column, is_uuid):
    """Yields the texts of one Arrow column."""
    try:
        values = column.to_pylist()
    except (OverflowError, ValueError):  # a year that Python's dates can't hold: count from 1970
        days = pyarrow.types.is_date32(column.type)
        values = column.cast(pyarrow.int32() if days else pyarrow.int64()).to_pylist()
    for value in values:
        if is_uuid and isinstance(value, bytes):
            value = uuid.UUID(bytes=value)
        yield text(value)


class Reader:
    def __init__(self, uri, warehouse, name):
        self.catalog = load_catalog(name, type="sql", uri=uri, warehouse=warehouse)
        self.duck = None

    def duckdb(self):
        if self.duck is None:
            self.duck = duckdb.connect()
            for module, name in ((duckdb_extension_avro, "avro"), (duckdb_extension_iceberg, "iceberg")):
                folder = os.path.join(os.path.dirname(module.__file__), "extensions", "v" + duckdb.__version__)
                self.duck.execute(f"LOAD '{folder}/{name}.duckdb_extension'")
            self.duck.execute("SET TimeZone = 'UTC'")
        return self.duck

    def scan(self, table, snapshot=None):
        """The SQL that reads the table in DuckDB."""
        location = self.catalog.load_table(table).metadata_location
        path = location.removeprefix("file://").replace("'", "''")
        return f"iceberg_scan('{path}'" + (f", snapshot_from_id => {int(snapshot)})" if snapshot else ")")

    def tables(self, request):
        for namespace in self.catalog.list_namespaces():
            for table in self.catalog.list_tables(namespace):
                yield ".".join(table)

    def snapshots(self, request):
        for s in self.catalog.load_table(request["table"]).metadata.snapshots:
            summary = {"operation": s.summary.operation.value, **s.summary.additional_properties} if s.summary else {}
            yield {"id": s.snapshot_id, "sequence": s.sequence_number, "milliseconds": s.timestamp_ms, "summary": summary}

    def properties(self, request):
        yield self.catalog.load_table(request["table"]).properties

    def columns(self, request):
        yield [f.name for f in self.catalog.load_table(request["table"]).schema().fields]

    def rows(self, request):
        table = self.catalog.load_table(request["table"])
        columns = request.get("columns") or [f.name for f in table.schema().fields]
        uuids = {f.name for f in table.schema().fields if str(f.field_type) == "uuid"}
        if request.get("engine") == "duckdb":
            names = ", ".join('"' + c.replace('"', '""') + '"' for c in columns)
            query = f"SELECT {names} FROM {self.scan(request['table'], request.get('snapshot'))}"
            batches = self.duckdb().execute(query).to_arrow_reader(20000)
        else:
            scan = table.scan(snapshot_id=request.get("snapshot"), selected_fields=tuple(request.get("columns") or "*"))
            batches = scan.to_arrow_batch_reader()
        yield columns
        for batch in batches:
            arrow = pyarrow.Table.from_batches([batch])
            lists = [column_texts(arrow.column(c), c in uuids) for c in columns]
            for row in zip(*lists):
                yield row

    def sql(self, request):
        scans = {k: self.scan(t["table"], t.get("snapshot")) for k, t in (request.get("tables") or {}).items()}
        query = request["sql"]
        for key, scan in scans.items():
            query = query.replace("{" + key + "}", scan)
        result = self.duckdb().execute(query)
        yield [d[0] for d in result.description]
        for row in result.fetchall():
            yield [text(v) for v in row]


def main():
    reader = Reader(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "freshet")
    out = sys.stdout
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] not in ("rows", "tables", "snapshots", "properties", "columns", "sql"):
                raise ValueError(f"unknown request {request['do']}")
            for answer in getattr(reader, request["do"])(request):
                out.write(json.dumps(answer, ensure_ascii=False) + "\n")
            out.write(".\n")
        except Exception as e:  # the caller decides what a failure means
            out.write("! " + json.dumps(f"{type(e).__name__}: {e}") + "\n")
        out.flush()


main()
