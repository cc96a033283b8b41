"""Tabella shows any source of rows as a table: a CSV file, a text file, a folder, the running processes.

    import tabella

    sales = tabella.open("sales.csv", options={"types": "infer"})
    for section in sales.filter("amount > 300").section_by("region").sections:
        print(section.title, len(section))

The guide is docs/python.md.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from . import _structs, errors
from ._texts import Value
from ._arguments import Location
from ._native import function
from .changes import Change, Changes, Follower
from .columns import Column
from .edits import Batch, EditResult, Outcome
from .errors import *  # noqa: F403
from .host import Host, Option, default_host, tables_of
from .rows import Path, Row
from .sections import Section, SectionList
from .streams import ArrowStream
from .table import Table

__version__ = "0.1.0"


def open(
    location: Location,
    *,
    provider: str | None = None,
    options: Mapping[str, Option] | None = None,
    editing: bool = False,
) -> Table:
    """Opens a location: a path, or "scheme:rest" such as "processes:".

    `provider` is the id of a provider; without it, the provider that fits is chosen. `options` are those that the
    provider declares, such as `{"types": "infer"}`. `editing` allows edits. Raises NotFound, Denied, NoProvider,
    InvalidArgument and other errors, or TypeError for an argument of a wrong type.
    """
    return default_host().open(location, provider=provider, options=options, editing=editing)


def join(tables: Sequence[Table]) -> Table:
    """Joins tables: their sections one after the other, columns united by name.

    All must have the same host, and none may be given twice.
    """
    tables = tables_of(tables)
    return (tables[0]._host if tables else default_host()).join(tables)


def providers() -> Table:
    """A table of the providers that were found, and of the refused ones with the reason."""
    return default_host().providers()


def log(location: Location | None = None) -> Table:
    """A table of the edits of a location, or of all locations, newest first."""
    return default_host().log(location)


def undo(what: Location | EditResult, *, dry_run: bool = False) -> EditResult:
    """Undoes an edit: the newest one of a location, or the one with a receipt ("receipt:ID", or ID as in the log), or
    the one with a result.

    Raises NotFound if there is no such edit, and Conflict if the data has changed since.
    """
    return default_host().undo(what, dry_run=dry_run)


def scan_polars(location: Location | Table, **arguments: Any) -> Any:
    """A polars LazyFrame that reads only the rows and columns that a query needs. See `tabella.polars.scan`."""
    from .polars import scan

    return scan(location, **arguments)


def library_version() -> str:
    """The version of libtabella, such as "0.1.0"."""
    return _structs.text_of(function("version")()) or ""


__all__ = [
    "ArrowStream", "Batch", "Change", "Changes", "Column", "EditResult", "Follower", "Host", "Location", "Option",
    "Outcome", "Path", "Row", "Section", "SectionList", "Table", "Value", "join", "library_version", "log", "open",
    "providers", "scan_polars", "undo", *errors.__all__,
]  # fmt: skip
