"""Lazy reading with polars: only the rows and columns that a query needs."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

import polars as pl
from polars.io.plugins import register_io_source

from ._polars_filters import filters_of
from ._arguments import Location
from .host import Host, Option, default_host
from .table import Table

_SECTION = ("section", "section title")
_ID = "id"
# The rows that are read at first and at most at once. A query that stops early has read few rows.
_FIRST, _MOST = 65536, 1 << 20


def scan(
    location: Location | Table,
    *,
    provider: str | None = None,
    options: Mapping[str, Option] | None = None,
    host: Host | None = None,
    with_section: bool = False,
    with_id: bool = False,
) -> pl.LazyFrame:
    """A LazyFrame of a location, or of a table.

    A location is opened again for each query, so a query reads the newest data. Columns, limits and simple
    comparisons of a query are pushed down: `col == value` for text, and `== != < <= > >=` and `is_between` for
    numbers, booleans and dates, combined with `&`. polars applies the whole predicate to the rows again.
    `with_section` adds the columns `section` and `section title`, and `with_id` adds `id`.
    """

    def opened() -> Table:
        if isinstance(location, Table):
            return location
        return (host or default_host()).open(location, provider=provider, options=options)

    first = opened()
    schema = pl.DataFrame(first.arrow(count=0, with_section=with_section, with_id=with_id)).schema
    names = [column.name for column in first.columns if not column.on_request]

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        table = opened()
        # A limit counts the rows in front of the predicate.
        if predicate is not None and limit is None:
            filters = filters_of(predicate, [column for column in table.columns if column.name in names])
            table = table.filter(*filters) if filters else table
        wanted = list(schema) if columns is None else columns
        request: dict[str, Any] = {
            "columns": [name for name in names if name in wanted],
            "with_section": with_section and any(name in wanted for name in _SECTION),
            "with_id": with_id and _ID in wanted,
            "text": "utf8_view",
        }
        for frame in _frames(table, request, limit):
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame.select(wanted)

    return register_io_source(read, schema=schema)


def _frames(table: Table, request: dict[str, Any], limit: int | None) -> Iterator[pl.DataFrame]:
    """The rows of a table in frames of growing size. The last frame may be empty."""
    first, size = 0, _FIRST
    while True:
        count = size if limit is None else min(size, limit - first)
        frame = pl.DataFrame(table.arrow(first=first, count=count, **request))
        yield frame
        first += frame.height
        if frame.height < count or first == limit:
            return
        size = min(size * 2, _MOST)
