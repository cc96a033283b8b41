"""Rows, and how they are read: in batches, with a small cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Iterable, Iterator, NamedTuple, Sequence, Union, overload

from ._arrow import Batch
from ._source import Source
from ._texts import Value
from .columns import Column
from .errors import Conflict, NotFound

# The rows of a batch that a single access reads, and the number of such batches that are kept.
_BLOCK, _KEPT = 128, 32
# The rows of the first and of the largest batch of an iteration, and the cells of the largest one.
_FIRST, _MOST, _CELLS = 256, 1 << 15, 1 << 19


class Path(NamedTuple):
    """The position of a row. Both numbers count from 0. The path of a section has the row -1."""

    section: int
    row: int


class Row:
    """One row of a table.

    `row["city"]` and `row[2]` return a value: str, int, float, bool, datetime (UTC, microseconds), bytes (binary
    cells, and text that is not UTF-8), or None for a missing cell. Iteration returns the values, and `dict(row)`
    makes a dictionary. A row keeps its values when the table changes. Rows with the same columns and values are equal,
    and have one hash. A pickled row consists of its values, its id and its path.
    """

    __slots__ = ("_reader", "_batch", "_at", "path")

    def __init__(self, reader: _Names, batch: Batch | _OneRow, at: int, path: Path) -> None:
        self._reader = reader
        self._batch = batch
        self._at = at
        self.path = path

    @property
    def id(self) -> str | None:
        """The id, which names the row also when its position changes. None if the table has no ids."""
        ids = self._batch.ids
        return None if ids is None else str(ids[self._at])

    @overload
    def __getitem__(self, key: Union[str, int]) -> Value: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Value, ...]: ...

    def __getitem__(self, key: Union[str, int, slice]) -> Any:
        if isinstance(key, str):
            number = self._reader.numbers.get(key)
            if number is None:
                return self._reader.on_request(key, self.path)
            return self._batch.cells[number][self._at]
        if isinstance(key, slice):
            return self.values()[key]
        return self._batch.cells[key][self._at]

    def __len__(self) -> int:
        return len(self._batch.cells)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values())

    def keys(self) -> list[str]:
        """The names of the columns."""
        return self._reader.names

    def values(self) -> tuple[Value, ...]:
        """The values of all columns."""
        at = self._at
        return tuple([cells[at] for cells in self._batch.cells])

    def items(self) -> list[tuple[str, Value]]:
        """Pairs of names and values."""
        return list(zip(self._reader.names, self.values()))

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a column, or `default` if there is no such column."""
        try:
            return self[name]
        except KeyError:
            return default

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Row):
            return self.keys() == other.keys() and self.values() == other.values()
        return NotImplemented

    def __hash__(self) -> int:
        return hash((tuple(self.keys()), self.values()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (self.keys(), self.values(), self.id, tuple(self.path))

    def __repr__(self) -> str:
        return f"<tabella.Row {self.path.section}:{self.path.row} {dict(self)!r}>"


class _Names:
    """The names of the columns of a row."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.numbers = {name: number for number, name in enumerate(self.names)}

    def shows(self, source: Source) -> bool:
        """Whether a path of this row names the same row of a source."""
        return False

    def on_request(self, name: str, path: Path) -> Value:
        """The value of a column that the row does not contain. Raises KeyError if there is no such column."""
        raise KeyError(f"there is no column {name}; the columns are {', '.join(self.names)}")


class _OneRow:
    """The values and the id of a row that was copied."""

    def __init__(self, values: Sequence[Value], id: str | None) -> None:
        self.cells = [[value] for value in values]
        self.ids = None if id is None else [id]


def _copied(names: Sequence[str], values: Sequence[Value], id: str | None, path: tuple[int, int]) -> Row:
    """A row of a pickle."""
    return Row(_Names(names), _OneRow(values, id), 0, Path(*path))


class Reader(_Names):
    """Reads rows of one version of a table, in some of its columns."""

    def __init__(self, source: Source, columns: Sequence[Column], with_ids: bool = True) -> None:
        self.columns = list(columns)
        super().__init__([each.name for each in self.columns])
        self.source = source
        self._moves = source.moves
        self._with_ids = with_ids
        self._lock = threading.Lock()
        # The batches of each block: a single row, or all rows that were read from the start of the block.
        self._blocks: OrderedDict[tuple[int, int], list[tuple[int, Batch]]] = OrderedDict()
        self._last = (-1, -1)
        self._most = max(_FIRST, min(_MOST, _CELLS // max(1, len(self.columns))))
        self._titles: dict[str | bytes, int] = {}
        self._titled_sections = 0

    @property
    def is_current(self) -> bool:
        """Whether the table still shows the version that this object reads."""
        return self._moves == self.source.moves

    def shows(self, source: Source) -> bool:
        return self.source is source and self.is_current

    def rows(self, section: int, first: int, count: int) -> Batch:
        """One batch of a section."""
        if not self.is_current:
            raise Conflict("the table has changed since this row was read; read it again")
        return self.source.rows(section, first, count, self.columns, self._with_ids)

    def row(self, section: int, number: int) -> Row:
        """The row at a position. Raises IndexError if there is none.

        The rows of a sorted table can be anywhere in the file. So a row alone is read alone. If a row beside it was read
        before, or another one of its block, the block is read."""
        key = (section, number // _BLOCK)
        with self._lock:
            pieces = self._blocks.get(key)
            if pieces is not None:
                self._blocks.move_to_end(key)
            is_alone = pieces is None and self._last not in ((section, number - 1), (section, number + 1))
            self._last = (section, number)
        for first, batch in pieces or ():
            if first <= number < first + batch.length:
                return Row(self, batch, number - first, Path(section, number))
        first = number if is_alone else key[1] * _BLOCK
        end = number + 1 if is_alone else first + _BLOCK
        # Of large rows, a batch holds only a few. The block goes on behind them.
        pieces = list(pieces) if pieces and pieces[0][0] == first else []
        if pieces:
            first = pieces[-1][0] + pieces[-1][1].length
        while first < end:
            try:
                batch = self.rows(section, first, end - first)
            except NotFound:
                break
            if batch.length == 0:
                break
            pieces.append((first, batch))
            first += batch.length
            if number < first:
                break
        if not pieces or number >= first:
            raise IndexError(f"section {section} has no row {number}")
        with self._lock:
            self._blocks[key] = pieces
            if len(self._blocks) > _KEPT:
                self._blocks.popitem(last=False)
        start, batch = pieces[-1]
        return Row(self, batch, number - start, Path(section, number))

    def section(self, title: str | bytes) -> int | None:
        """The number of the first section with a title; None if there is none. Each title is read once."""
        with self._lock:
            while title not in self._titles and self.source.section_count(self._titled_sections + 1)[0] > (
                self._titled_sections
            ):
                found = self.source.title(self._titled_sections, 0)
                if found is not None:
                    self._titles.setdefault(found, self._titled_sections)
                self._titled_sections += 1
            return self._titles.get(title)

    def stream(self, section: int, first: int = 0, count: int | None = None) -> Iterator[Row]:
        """The rows of a section from `first`. The first batch is small, so that the first row comes soon."""
        size, end = _FIRST, None if count is None else first + count
        while end is None or first < end:
            batch = self.rows(section, first, size if end is None else min(size, end - first))
            if batch.length == 0:
                return
            for at in range(batch.length):
                yield Row(self, batch, at, Path(section, first + at))
            first += batch.length
            size = min(size * 2, self._most)

    def stream_sections(self, starts: Iterable[tuple[int, int]]) -> Iterator[Row]:
        """The rows of several sections, each from a row on. The rows of short sections are read together."""
        # Counting the rows of the only section would delay the first row of a filter. A stream, which has no version, would
        # make it wait for rows that have not arrived.
        source = self.source
        gathers = source.can_gather and source.section_count(2)[0] > 1 and source.version() is not None
        paths: list[Path] = []
        size = _FIRST
        for section, start in starts:
            count = source.row_count(section, start + _FIRST)[0] if gathers else 0
            if not gathers or count - start >= _FIRST:
                yield from self._gathered(paths)
                paths = []
                yield from self.stream(section, start)
                continue
            paths += [Path(section, row) for row in range(start, count)]
            if len(paths) >= size:
                yield from self._gathered(paths)
                paths = []
                size = min(size * 2, self._most)
        yield from self._gathered(paths)

    def _gathered(self, paths: Sequence[Path]) -> Iterator[Row]:
        """The rows at these paths."""
        while paths:
            if not self.is_current:
                raise Conflict("the table has changed since this row was read; read it again")
            batch = self.source.gather(paths, self.columns, self._with_ids)
            for at in range(batch.length):
                yield Row(self, batch, at, paths[at])
            paths = paths[batch.length :]

    def on_request(self, name: str, path: Path) -> Value:
        for column in self.source.columns():
            if column.name == name:
                if not self.is_current:
                    raise Conflict("the table has changed since this row was read; read it again")
                # The cells live as long as their batch.
                batch = self.source.rows(path.section, path.row, 1, [column], False)
                return batch.cells[0][0]
        return super().on_request(name, path)
