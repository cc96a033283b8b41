"""Tables: opened locations, views of them, and summaries."""

from __future__ import annotations

import threading
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from . import _arguments as arguments
from . import _structs as c
from ._capsules import sweep
from ._library import library
from ._native import Handle, call, function, release
from ._sequence import Rows
from ._source import Source
from .changes import Changes, Follower, changes_of
from .columns import Column
from .edits import Batch, EditResult
from .errors import InvalidState, ReadOnly, Unsupported
from .html import html_of
from .rows import Path, Reader, Row
from .sections import SectionList
from .streams import ArrowStream

if TYPE_CHECKING:
    from .host import Host

_LOCAL_DATES = 1


class Table(Rows):
    """A table: rows in sections, with typed columns.

    `tabella.open` makes one. A table is read only as far as a program asks. `filter`, `search`, `section_by`, `sort`,
    `sections_by` and `summarize` return new tables, which share the data with this one. Any thread may use a table;
    calls on tables of one host wait for each other.
    """

    def __init__(
        self,
        host: Host,
        pointer: int,
        location: str,
        root: bytes | None = None,
        read_only: str | None = "it is no table of one location; edit the tables of the locations",
        warnings: list[str] | None = None,
    ) -> None:
        """`read_only` is the reason why the table cannot be edited, or None. Views share the list of `warnings`."""
        self._host = host
        self._handle = Handle(pointer, "table_release")
        self._root = root
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._current_reader: Reader | None = None
        self._receipt: str | None = None
        self._read_only = read_only
        self._warnings: list[str] = [] if warnings is None else warnings
        #: The location that was opened.
        self.location = location

    # Life

    def close(self) -> None:
        """Closes the table, and frees what it holds. Views of it stay open."""
        self._handle.close()
        source, self._source, self._current_reader = self._source, None, None
        if source is not None:
            source.close()
        sweep()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cancel(self) -> None:
        """Asks the call that runs on this table in another thread to end with `Cancelled`. Does not wait."""
        with self._handle as pointer:
            function("cancel")(pointer)

    def _open_source(self) -> Source:
        source = self._source
        if source is None or self._handle.is_closed:
            with self._handle:
                pass
            with self._lock:
                source = self._source
                if source is None:
                    source = self._source = Source(self._handle, self._warnings)
        return source

    def _reader(self) -> Reader:
        library()
        reader = self._current_reader
        if reader is None:
            source = self._open_source()
            shown = [column for column in source.columns() if not column.on_request]
            reader = self._current_reader = Reader(source, shown)
        return reader

    def _moved(self) -> None:
        """Forgets what is cached, because the table may show another version now."""
        self._current_reader = None
        if self._source is not None:
            self._source.forget()

    # Facts

    @property
    def provider(self) -> str:
        """The id of the provider; "joined", "summary" or "tabella" for tables that have none."""
        with self._handle as pointer:
            return c.text_of(function("provider")(pointer)) or ""

    @property
    def columns(self) -> list[Column]:
        """The columns, also those that are computed only on request."""
        return list(self._open_source().columns())

    def column(self, name: str) -> Column:
        """The column with this name. Raises KeyError if there is none."""
        for column in self._open_source().columns():
            if column.name == name:
                return column
        names = ", ".join(column.name for column in self._open_source().columns())
        raise KeyError(f"there is no column {name}; the columns are {names}")

    @property
    def version(self) -> str | None:
        """The version: equal versions mean the same rows in the same order. None if the table has no versions."""
        return self._open_source().version()

    @property
    def warnings(self) -> list[str]:
        """The warnings of the provider about the data that was read so far, such as a quote that is never closed.

        A table, its views and its summaries have one list. A warning about rows that Python reads is also a
        `DataWarning` of the module `warnings`.
        """
        self._open_source().take_warnings()
        return list(self._warnings)

    @property
    def sections(self) -> SectionList:
        """The sections. A table without sections of its own has one, without a title."""
        return SectionList(self)

    # Rows of all sections

    def __len__(self) -> int:
        """The number of rows in all sections. A file is read to its end, if nobody has read it yet."""
        source = self._open_source()
        return sum(source.row_count(section)[0] for section in range(source.section_count()[0]))

    def __bool__(self) -> bool:
        return any(True for section in self.sections if section)

    @property
    def _owner(self) -> Table:
        return self

    def _row(self, number: int) -> Row:
        for section, position in self._sections_from(number):
            return self._reader().row(section, position)
        raise IndexError(f"the table has no row {number}")

    def _stream(self, reader: Reader, first: int = 0, count: int | None = None) -> Iterator[Row]:
        if count is None:
            yield from reader.stream_sections(self._sections_from(first))
            return
        left = count
        for section, start in self._sections_from(first):
            for row in reader.stream(section, start, left):
                left -= 1
                yield row
            if left == 0:
                return

    def _sections_from(self, number: int) -> Iterator[tuple[int, int]]:
        """The section that contains row `number` with the position in it, then the sections after it with 0."""
        source, found = self._open_source(), False
        for section in self.sections:
            if not found:
                count = source.row_count(section.number, number + 1)[0]
                if count <= number:
                    number -= count
                    continue
                found = True
            yield section.number, number
            number = 0

    def find(self, id: str) -> Row:
        """The row with this id. Raises NotFound if it is gone, and Unsupported if the rows have no ids."""
        return self._reader().row(*self._open_source().find(arguments.needed_text("id", id)))

    def row(self, path: tuple[int, int]) -> Row:
        """The row at a path `(section, row)`."""
        section, row = arguments.pair("path", path, "a pair (section, row)")
        return self.sections[section][row]

    # Shapes

    def filter(self, *conditions: str, local_dates: bool = False) -> Table:
        """The rows that meet all conditions, such as "amount > 300". docs/shaping.md lists the operators.

        Dates are in UTC, or in the local zone with `local_dates`.
        """
        filters = [arguments.needed_text("a condition", condition) for condition in conditions]
        return self._shaped(local_dates, filters)

    def search(self, text: str) -> Table:
        """The rows that contain a text in some column."""
        return self._shaped(False, search=arguments.needed_text("text", text))

    def section_by(self, columns: str, *, local_dates: bool = False) -> Table:
        """One section per group, such as "city,date:month"."""
        return self._shaped(local_dates, section_by=arguments.needed_text("columns", columns))

    def sort(self, columns: str) -> Table:
        """The rows of each section in an order, such as "amount:desc,name"."""
        return self._shaped(False, sort=arguments.needed_text("columns", columns))

    def sections_by(self, aggregate: str) -> Table:
        """The sections in an order, such as "rows:desc" or "sum amount:desc"."""
        return self._shaped(False, sections_by=arguments.needed_text("aggregate", aggregate))

    def summarize(self, by: str | None = None, compute: str | None = None, *, local_dates: bool = False) -> Table:
        """A table with one row per group of `by`, and one column per aggregate of `compute`, as in "rows, sum amount".

        Without `by` there is one row. Without `compute`, the number of rows is counted.
        """
        strings, out = c.Strings(), c_void_p()
        texts = [strings.string(arguments.text(name, text)) for name, text in (("by", by), ("compute", compute))]
        with self._handle as pointer:
            call("summarize", pointer, *texts, _LOCAL_DATES if local_dates else 0, byref(out))
        return Table(self._host, out.value or 0, self.location, warnings=self._warnings)

    def _shaped(self, local_dates: bool, filters: Sequence[str] = (), **texts: str) -> Table:
        strings, out = c.Strings(), c_void_p()
        array = (c.String * len(filters))(*map(strings.string, filters))
        shape = c.Shape(array, len(filters))
        for name, text in texts.items():
            setattr(shape, name, strings.string(text))
        shape.flags = _LOCAL_DATES if local_dates else 0
        with self._handle as pointer:
            call("shaped", pointer, byref(shape), byref(out))
        return Table(self._host, out.value or 0, self.location, self._root, self._read_only, self._warnings)

    # Arrow

    def arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        section: int | None = None,
        first: int = 0,
        count: int | None = None,
        text: str = "utf8",
        with_section: bool = False,
        with_id: bool = False,
        rows_per_batch: int = 0,
    ) -> ArrowStream:
        """Some rows and columns, for pyarrow, pandas, polars, DuckDB and other users of Arrow.

        `section` is the only section. `first` and `count` choose rows. `text` is "utf8", "utf8_view", or "binary" for
        columns with other bytes than UTF-8. `with_section` adds the columns `section` and `section title`, and
        `with_id` adds `id`. A batch has 1 to 65536 rows; 0 means 65536.
        """
        return ArrowStream(self, columns, section, first, count, rows_per_batch, text, with_section, with_id)

    # Edits and changes

    def edit(self, *, dry_run: bool = False, version: str | None = None) -> Batch:
        """A batch of edits, for a `with` block. The end of the block commits it; an exception discards it.

        The table must be opened with `editing=True`; otherwise this call raises ReadOnly. `dry_run` makes all checks
        and changes nothing. With `version`, the batch is a Conflict if the table has another version.
        """
        with self._handle:
            pass
        if self._read_only is not None:
            raise ReadOnly(f"{self.location} cannot be edited: {self._read_only}")
        return Batch(self, dry_run, arguments.text("version", version))

    def undo(self, *, dry_run: bool = False) -> EditResult:
        """Undoes the newest edit that was made through this table, or else the newest edit of its location.

        Afterwards the table shows the newest version.
        """
        what = self._receipt or self._root
        if what is None:
            raise InvalidState("no edit was made through this table")
        result = self._host.undo(what, dry_run=dry_run)
        if not dry_run:
            self._receipt = None
            self._moved()
            try:
                self.refresh()
            except Unsupported:
                pass
        return result

    def refresh(self) -> Changes:
        """Moves the table to the newest version of its data, and returns the changes."""
        struct = self._open_source().pull()
        try:
            return changes_of(struct)
        finally:
            release(struct)
            self._moved()

    def follow(self, timeout: float | None = None) -> Follower:
        """Follows the table: `for changes in table.follow(): …` runs once per group of changes.

        All rows are read once at first. The iteration ends after `close()`, or after `timeout` seconds without a
        change.
        """
        return Follower(self, timeout)

    # Display and copies

    def __reduce__(self) -> Any:
        raise TypeError("a table cannot be pickled or copied; pickle its rows, or open the location again")

    def __repr__(self) -> str:
        if self._handle.is_closed:
            return f"<tabella.Table {self.location!r}, closed>"
        return f"<tabella.Table {self.location!r}: {', '.join(column.name for column in self._reader().columns)}>"

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        return html_of(self)
