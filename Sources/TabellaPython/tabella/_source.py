"""Reads a table through the contract: columns, sections, rows, ids, titles, versions."""

from __future__ import annotations

import threading
import weakref
from ctypes import POINTER, byref, c_int64, cast
from typing import Any, Sequence

from . import _structs as c
from ._arrow import Batch
from ._library import library, usable
from ._native import Handle, call, error_of, release
from .columns import Column, columns_of
from .errors import InvalidState, Unsupported, warn

EVERYTHING = 2**63 - 1


class Source:
    """The source of a table. All methods may be called from any thread; they wait for each other."""

    def __init__(self, table: Handle, warnings: list[str]) -> None:
        """`warnings` is the list that receives the warnings of the provider."""
        self._warnings = warnings
        self._lock = threading.RLock()
        struct = c.Source()
        with table as pointer:
            call("source", pointer, byref(struct))
        self._source: int = struct.source
        self._functions: c.SourceTable = struct.table.contents
        self._finalizer = weakref.finalize(self, _release_source, self._functions, self._source)
        self._finalizer.atexit = False
        self._sections = self._ability(b"tabella.sections/1", c.Sections)
        self._gathering = self._ability(b"tabella.gathering/1", c.Gathering)
        self._identity = self._ability(b"tabella.identity/1", c.Identity)
        self._diagnostics = self._ability(b"tabella.diagnostics/1", c.Diagnostics)
        self._supplementary = self._ability(b"tabella.supplementary/1", c.Supplementary)
        self._columns: list[Column] | None = None
        #: How often the table has moved to another version.
        self.moves = 0

    def __enter__(self) -> None:
        """Begins a call: waits for the calls of other threads. Checks that the process and this object may call."""
        library()
        self._lock.acquire()
        if not self._finalizer.alive:
            self._lock.release()
            raise InvalidState("the table is closed")

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def close(self) -> None:
        """Releases the source. The batches live on."""
        with self._lock:
            self._finalizer()

    def _ability(self, id: bytes, kind: Any) -> Any:
        strings = c.Strings()
        address = self._functions.ability(self._source, strings.string(id)) if self._functions.ability else None
        return cast(address, POINTER(kind)).contents if address else None

    def _call(self, function: Any, *arguments: Any) -> None:
        failure = c.Failure()
        code = function(self._source, *arguments, byref(failure))
        if code != c.OK:
            raise error_of(code, failure)

    # Columns and versions

    def columns(self) -> list[Column]:
        """The columns of the current version."""
        with self:
            if self._columns is None:
                schema = c.ArrowSchema()
                self._call(self._functions.schema, byref(schema))
                try:
                    self._columns = columns_of(schema)
                finally:
                    release(schema)
            return self._columns

    def forget(self) -> None:
        """Forgets the columns, because the table has moved to another version."""
        with self._lock:
            self.moves += 1
            self._columns = None

    def version(self) -> str | None:
        """The version; None if the table has no versions."""
        with self:
            text = c.String()
            self._call(self._functions.version, byref(text))
            return c.text_of(text) or None

    def has_volatile_order(self) -> bool:
        """Whether the order of rows may differ between two openings."""
        with self:
            return bool(self._functions.flags(self._source) & c.VOLATILE_ORDER)

    # Sections

    def section_count(self, at_least: int = EVERYTHING) -> tuple[int, bool]:
        """The number of sections, and whether it is exact."""
        if self._sections is None:
            return 1, True
        with self:
            count = c.Count()
            self._call(self._sections.count, min(at_least, EVERYTHING), byref(count))
            return count.value, count.exact == 1

    def title(self, section: int, which: int) -> str | bytes | None:
        """The header (0) or the footer (1) of a section."""
        if self._sections is None:
            return None
        with self:
            text = c.String()
            self._call(self._sections.title, section, which, byref(text))
            return c.text_or_bytes(c.raw(text))

    def row_count(self, section: int, at_least: int = EVERYTHING) -> tuple[int, bool]:
        """The number of rows of a section, and whether it is exact."""
        with self:
            count = c.Count()
            self._call(self._functions.row_count, section, min(at_least, EVERYTHING), byref(count))
            return count.value, count.exact == 1

    # Rows

    @property
    def has_ids(self) -> bool:
        """Whether the rows have ids."""
        return self._identity is not None

    def rows(self, section: int, first: int, count: int, columns: Sequence[Column], ids: bool = True) -> Batch:
        """At most `count` rows. An empty batch means that the section ends at `first`."""
        ids = ids and self.has_ids
        numbers = (c_int64 * len(columns))(*(each.number for each in columns))
        request = c.RowRequest(section, first, count, numbers, len(columns), c.WITH_IDS if ids else 0, 0)
        struct = c.BatchOfRows()
        with self:
            self._call(self._functions.rows, byref(request), byref(struct))
        return self._taken(struct, columns, ids)

    @property
    def can_gather(self) -> bool:
        """Whether one call can read rows at any paths."""
        return self._gathering is not None

    def gather(self, paths: Sequence[tuple[int, int]], columns: Sequence[Column], ids: bool = True) -> Batch:
        """The rows at these paths, in this order, or the first few of them; at least one. Needs `can_gather`."""
        ids = ids and self.has_ids
        places = (c.IndexPath * len(paths))(*paths)
        numbers = (c_int64 * len(columns))(*(each.number for each in columns))
        request = c.GatherRequest(places, len(paths), numbers, len(columns), c.WITH_IDS if ids else 0, 0)
        struct = c.BatchOfRows()
        with self:
            self._call(self._gathering.rows, byref(request), byref(struct))
        return self._taken(struct, columns, ids)

    def _taken(self, struct: c.BatchOfRows, columns: Sequence[Column], ids: bool) -> Batch:
        batch = Batch(struct, columns, ids)
        warn(self.take_warnings())
        return batch

    def take_warnings(self) -> list[str]:
        """Moves the new warnings of the provider to the list, and returns them."""
        taken: list[str] = []
        if self._diagnostics is None:
            return taken
        remark = c.Diagnostic()
        with self:
            while self._diagnostics.next(self._source, byref(remark)) == 1:
                taken.append(c.text_of(remark.message) or "")
            self._warnings += taken
        return taken

    def find(self, id: str) -> tuple[int, int]:
        """The position of the row with this id."""
        if self._identity is None:
            raise Unsupported("the rows have no ids")
        strings, path = c.Strings(), c.IndexPath()
        with self:
            self._call(self._identity.find, strings.string(id), byref(path))
        return path.section, path.row

    def element(self, kind: str, section: int, row: int) -> str | None:
        """The text of a row's element of a kind, such as "line"; None if there is none, or if it is a table."""
        if self._supplementary is None:
            return None
        strings, element = c.Strings(), c.Element()
        with self:
            self._call(self._supplementary.element, strings.string(kind), c.IndexPath(section, row), byref(element))
        try:
            if element.table.source:
                element.table.table.contents.release(element.table.source)
            return c.text_of(element.text) if element.form == c.ELEMENT_TEXT else None
        finally:
            release(element)

    def pull(self) -> c.ListOfChanges:
        """Moves the source to its newest version. The caller releases the changes."""
        with self:
            table = self._ability(b"tabella.changes/1", c.ChangesTable)
            if table is None:
                raise Unsupported("the table has no changes; open the location again")
            changes = c.ListOfChanges()
            self._call(table.pull, byref(changes))
            return changes


def _release_source(functions: c.SourceTable, source: int) -> None:
    if usable():
        functions.release(source)

