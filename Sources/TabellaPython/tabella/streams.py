"""Arrow streams of a table, for pyarrow, pandas, polars, DuckDB and others."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int64
from typing import TYPE_CHECKING, Any, Sequence

from . import _structs as c
from ._arguments import names, number
from ._capsules import capsule, schema_in, sweep
from ._native import call
from .errors import InvalidArgument, StorageError

if TYPE_CHECKING:
    import pandas

    from .table import Table

_UTF8_VIEW, _AS_BINARY, _WITH_SECTION, _WITH_ID = 1, 2, 4, 8
_TEXTS = {"utf8": 0, "utf8_view": _UTF8_VIEW, "binary": _AS_BINARY}
# pyarrow converts fewer rows faster without its threads.
_ROWS_FOR_THREADS = 10_000
_VIEWS, _BINARIES = ("vu",), ("z", "Z", "vz")


class ArrowStream:
    """Rows of a table, for consumers of the Arrow PyCapsule interface.

    Each consumer reads the rows from the start. `Table.arrow()` makes such an object.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str] | None,
        section: int | None,
        first: int,
        count: int | None,
        rows_per_batch: int,
        text: str,
        with_section: bool,
        with_id: bool,
    ) -> None:
        if not isinstance(text, str) or text not in _TEXTS:
            raise InvalidArgument(f"text must be one of {', '.join(_TEXTS)}, not {text!r}")
        self._table = table
        self._columns = None if columns is None else [table.column(name).number for name in names("columns", columns)]
        self._rows = (
            -1 if section is None else _natural("section", section),
            _natural("first", first),
            -1 if count is None else _natural("count", count),
            _natural("rows_per_batch", rows_per_batch),
        )
        self._text = _TEXTS[text]
        self._flags = (_WITH_SECTION if with_section else 0) | (_WITH_ID if with_id else 0)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with a new ArrowArrayStream.

        `requested_schema` chooses the Arrow type of text columns if it names one type for all of them: utf8,
        utf8_view or binary. Other wishes are left to the consumer.
        """
        text = self._text
        if requested_schema is not None:
            text = self._requested_text(schema_in(requested_schema), text)
        sweep()
        return capsule(self._open(text))

    def __arrow_c_schema__(self) -> Any:
        """A capsule with the ArrowSchema of the stream."""
        sweep()
        return capsule(_schema_of(self._open(self._text)))

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame, like `pandas.DataFrame.from_arrow`, but faster for few rows.

        It needs pandas and pyarrow.
        """
        import pyarrow

        table = pyarrow.table(self)
        return table.to_pandas(use_threads=table.num_rows >= _ROWS_FOR_THREADS)

    def _open(self, text: int) -> c.ArrowArrayStream:
        numbers = self._columns
        array = None if numbers is None else (c_int64 * len(numbers))(*numbers)
        request = c.StreamRequest(array, 0 if numbers is None else len(numbers), *self._rows, text | self._flags, 0)
        stream = c.ArrowArrayStream()
        with self._table._handle as pointer:
            call("stream", pointer, byref(request), byref(stream))
        return stream

    def _requested_text(self, wanted: c.ArrowSchema, usual: int) -> int:
        ours = _schema_of(self._open(0))
        try:
            if wanted.n_children != ours.n_children:
                return usual
            forms = {
                wanted.children[at].contents.format.decode("ascii")
                for at in range(ours.n_children)
                if ours.children[at].contents.format == b"u"
            }
        finally:
            c.Release(ours.release)(ctypes.addressof(ours))
        if forms == {"u"}:
            return 0
        if forms and forms.issubset(_VIEWS):
            return _UTF8_VIEW
        return _AS_BINARY if forms and forms.issubset(_BINARIES) else usual


def _natural(name: str, value: int) -> int:
    """An integer from 0. The library takes -1 for all sections or rows."""
    found = number(name, value)
    if found < 0:
        raise InvalidArgument(f"{name} must be at least 0, not {found}")
    return found


def _schema_of(stream: c.ArrowArrayStream) -> c.ArrowSchema:
    """The schema of a stream. The stream is released."""
    schema = c.ArrowSchema()
    try:
        code = c.GetSchema(stream.get_schema)(ctypes.addressof(stream), byref(schema))
        if code != 0:
            raise StorageError(f"the schema of the stream cannot be read (error {code})")
        return schema
    finally:
        c.Release(stream.release)(ctypes.addressof(stream))
