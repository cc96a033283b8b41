"""Tabella as a data source of Apache Spark.

    from tabella.spark import TabellaDataSource

    spark.dataSource.register(TabellaDataSource)
    spark.read.format("tabella").option("types", "infer").load("logs/*.csv").show()

Needs pyspark 4.0 or later and pyarrow. The guide is docs/spark.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from ._fleet import groups_of, hosts_of
from ._spark_batches import ERROR, HOST, SECTION, comparable_type, matching, probe, read_hosts, read_piece, schema_of
from ._spark_filters import filters_of, values_of
from ._spark_options import Options, options_of
from ._spark_plan import Matching, Piece, locations_of, opened, packed, pieces_of
from .columns import Column
from .errors import InvalidArgument

__all__ = ["TabellaDataSource"]

# The process in which Spark pushes filters. It exists only if `spark.sql.python.filterPushdown.enabled` is true.
_PUSHING = "pyspark.sql.worker.data_source_pushdown_filters"
_SECTION_FIELDS = [("section", pa.int64()), ("section title", pa.string())]


class TabellaDataSource(DataSource):
    """The format "tabella". `load` takes a location or a pattern of paths; docs/spark.md lists the options."""

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return "tabella"

    def schema(self) -> StructType:
        """The columns of the locations, or those of the first host that answers."""
        options = options_of(self.options)
        schema = _fleet_schema(options) if options.hosts is not None else _schema(options)
        return from_arrow_schema(_chosen(schema, options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader. Spark refuses a reader with `pushFilters` if pushing is switched off.

        Spark 4.3 keeps a reader that got filters, and uses it for all later queries of the same data frame that push none,
        and for all scans of one query. Then rows are missing. So the option `pushFilters` is false by default.
        """
        options = options_of(self.options)
        main = getattr(sys.modules["__main__"], "__spec__", None)
        pushes = _PUSHING in sys.modules or getattr(main, "name", None) == _PUSHING
        return (_PushingReader if pushes and options.pushes_filters else _Reader)(schema, options)


def _schema(options: Options) -> pa.Schema:
    def tables() -> Iterator[Any]:
        for location in locations_of(options.locations):
            with opened(location, options) as table:
                yield table

    schema = schema_of(tables(), options)
    return pa.schema([*_SECTION_FIELDS, *schema]) if options.with_section else schema


def _fleet_schema(options: Options) -> pa.Schema:
    """Without any answer, the rows are errors. The columns that the options name are then empty texts."""
    names = [name for name in options.columns or () if name not in (HOST, SECTION, ERROR)]
    data = probe(hosts_of(options.hosts or ""), options) or pa.schema([(name, pa.string()) for name in names])
    return pa.schema([(HOST, pa.string()), (SECTION, pa.string()), *data, (ERROR, pa.string())])


def _chosen(schema: pa.Schema, options: Options) -> pa.Schema:
    """The columns of the option `columns`. Those that are added stay at their ends."""
    if options.columns is None:
        return schema
    for name in options.columns:
        if name not in schema.names:
            raise InvalidArgument(f"there is no column {name}; the columns are {', '.join(schema.names)}")
    added = [HOST, SECTION] if options.hosts is not None else [name for name, _ in _SECTION_FIELDS if options.with_section]
    last = [ERROR] if options.hosts is not None else []
    names = [*added, *(name for name in options.columns if name not in added + last), *last]
    return pa.schema([schema.field(name) for name in names])


@dataclass
class _Task(InputPartition):
    """What one task reads: parts of locations, or hosts."""

    pieces: Sequence[Piece] = ()
    hosts: Sequence[str] = ()


class _Reader(DataSourceReader):
    """Plans the tasks in the driver, and reads in them."""

    def __init__(self, schema: StructType, options: Options) -> None:
        self._schema = schema
        self._options = options
        self._filters: list[Any] = []
        self._hosts: list[Any] | None = None

    def partitions(self) -> list[InputPartition]:
        """The tasks."""
        options = self._options
        if options.hosts is None:
            pieces = pieces_of(locations_of(options.locations), options, self._matching())
            return [_Task(pieces=task) for task in packed(pieces, options)]
        hosts = [host for host in hosts_of(options.hosts) if self._hosts is None or host in self._hosts]
        return [_Task(hosts=task) for task in groups_of(hosts, options.hosts_per_task)]

    def _matching(self) -> Matching | None:
        """Opens a location with the filters of the query; None if there are no filters."""
        if not (self._options.filters or self._filters):
            return None
        schema = to_arrow_schema(self._schema, timezone="UTC")
        return lambda piece: matching(piece, schema, self._options, self._filters)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        # Spark makes a partition of its own if there are none.
        if not isinstance(partition, _Task):
            return
        schema, options = to_arrow_schema(self._schema, timezone="UTC"), self._options
        if partition.hosts:
            filters = [*options.filters, *filters_of(self._filters, _far_columns(schema))]
            yield from read_hosts(partition.hosts, schema, options, filters, _far_names(schema))
        for piece in partition.pieces:
            yield from read_piece(piece, schema, options, self._filters)


class _PushingReader(_Reader):
    """A reader that receives the filters of a query."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Takes what Tabella can compare. All filters go back to Spark, which applies them again."""
        if self._options.hosts is not None:
            self._hosts = values_of(filters, HOST)
        self._filters = list(filters)
        return filters


def _far_columns(schema: pa.Schema) -> list[Column]:
    """The columns that the far command is asked for.

    Filters name them as Spark does. One whose name differs on the host is not compared there.
    """
    return [
        Column(number, field.name, comparable_type(field.type), decimal_comma=True)
        for number, field in enumerate(schema)
        if field.name not in (HOST, SECTION, ERROR) and _far_name(field.name) == field.name
    ]


def _far_names(schema: pa.Schema) -> list[str] | None:
    """The names of the columns that the far command is asked for; None for all."""
    return [_far_name(name) for name in schema.names if name not in (HOST, SECTION, ERROR)] or None


def _far_name(name: str) -> str:
    """The name that a column has on a host. A column with the name of an added one has " 2" after it here."""
    return name[:-2] if name in (f"{HOST} 2", f"{SECTION} 2", f"{ERROR} 2") else name
