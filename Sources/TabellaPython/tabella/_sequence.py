"""Rows by position: the common part of tables and sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Sequence, Union, overload

from ._arguments import names, wrong
from .rows import Reader, Row

if TYPE_CHECKING:
    import pandas

    from .streams import ArrowStream
    from .table import Table


class Rows:
    """A table or a section. Subclasses count the rows and read them."""

    __slots__ = ()

    @property
    def _owner(self) -> Table:
        """The table that the rows belong to."""
        raise NotImplementedError

    def _row(self, number: int) -> Row:
        """The row at a position from 0. Raises IndexError if there is none."""
        raise NotImplementedError

    def _stream(self, reader: Reader, first: int = 0, count: int | None = None) -> Iterator[Row]:
        """The rows from a position, at most `count`."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def arrow(self) -> ArrowStream:
        """All rows as Arrow data."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas DataFrame. `arrow(…).to_pandas()` takes some rows and columns."""
        return self.arrow().to_pandas()

    @overload
    def __getitem__(self, key: int) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...

    def __getitem__(self, key: Union[int, slice]) -> Any:
        """A row, counted from 0, or the rows of a slice. A negative number counts from the end."""
        if isinstance(key, slice):
            return self._slice(key)
        if not hasattr(key, "__index__"):
            raise wrong("a row", "named by a number (a cell is table[row][column])", key)
        number = key.__index__()
        if number < 0:
            number += len(self)
        if number < 0:
            raise IndexError(f"there is no row {key}")
        return self._row(number)

    def _slice(self, key: slice) -> list[Row]:
        """The rows of a slice. A slice without negative numbers does not count the rows."""
        start, stop, step = key.start, key.stop, 1 if key.step is None else key.step
        if step > 0 and (start is None or start >= 0) and stop is not None and stop >= 0:
            first = start or 0
            return self._list(first, stop - first)[::step]
        numbers = range(*key.indices(len(self)))
        if not numbers:
            return []
        first, last = sorted((numbers[0], numbers[-1]))
        found = self._list(first, last - first + 1)
        return found[::step] if step > 0 else found[::-1][::-step]

    def _list(self, first: int, count: int) -> list[Row]:
        return list(self._stream(self._owner._reader(), first, count)) if count > 0 else []

    def __iter__(self) -> Iterator[Row]:
        return self._stream(self._owner._reader())

    def rows(self, columns: Sequence[str] | None = None, ids: bool = True) -> Iterator[Row]:
        """The rows with these columns only. Without `ids`, `row.id` is None."""
        table = self._owner
        shown = table._reader().columns
        chosen = shown if columns is None else [table.column(name) for name in names("columns", columns)]
        return self._stream(Reader(table._open_source(), chosen, ids))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with a new ArrowArrayStream of all rows. See `ArrowStream.__arrow_c_stream__`."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        """A capsule with the ArrowSchema of the rows."""
        return self.arrow().__arrow_c_schema__()
