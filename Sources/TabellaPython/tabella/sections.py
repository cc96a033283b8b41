"""The sections of a table, and the rows of a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Iterator, Union, overload

from .errors import NotFound
from .rows import Path, Row

if TYPE_CHECKING:
    from .table import Table


class Section(Sequence):  # type: ignore[type-arg]
    """A section: a sequence of rows with a title. It names a position, and shows the table's current version."""

    __slots__ = ("_table", "number")

    def __init__(self, table: Table, number: int) -> None:
        self._table = table
        #: The number of the section, counted from 0.
        self.number = number

    @property
    def title(self) -> str | bytes | None:
        """The title; None if the section has none."""
        return self._table._open_source().title(self.number, 0)

    @property
    def footer(self) -> str | bytes | None:
        """The footer; None if the section has none."""
        return self._table._open_source().title(self.number, 1)

    @property
    def path(self) -> Path:
        """The path of the section, for edits."""
        return Path(self.number, -1)

    def __len__(self) -> int:
        """The number of rows. A file is read to its end, if nobody has read it yet."""
        return self._table._open_source().row_count(self.number)[0]

    def __bool__(self) -> bool:
        return self._table._open_source().row_count(self.number, 1)[0] > 0

    @overload
    def __getitem__(self, key: int) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...

    def __getitem__(self, key: Union[int, slice]) -> Any:
        if isinstance(key, slice):
            return rows_of_slice(self, key)
        number = key if key >= 0 else key + len(self)
        if number < 0:
            raise IndexError(f"section {self.number} has no row {key}")
        return self._table._reader().row(self.number, number)

    def __iter__(self) -> Iterator[Row]:
        return self._table._reader().stream(self.number)

    def _stream(self, first: int, count: int) -> Iterator[Row]:
        return self._table._reader().stream(self.number, first, count)

    def __repr__(self) -> str:
        return f"<tabella.Section {self.number} {self.title!r}>"


class SectionList(Sequence):  # type: ignore[type-arg]
    """The sections of a table. Sections are counted only as far as they are read."""

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return self._table._open_source().section_count()[0]

    @overload
    def __getitem__(self, key: Union[int, str]) -> Section: ...

    @overload
    def __getitem__(self, key: slice) -> list[Section]: ...

    def __getitem__(self, key: Union[int, str, slice]) -> Any:
        """A section by its number or by its title. Raises NotFound for a title that no section has."""
        if isinstance(key, slice):
            return [Section(self._table, number) for number in range(*key.indices(len(self)))]
        if isinstance(key, str):
            return self._titled(key)
        number = key if key >= 0 else key + len(self)
        if number < 0 or self._table._open_source().section_count(number + 1)[0] <= number:
            raise IndexError(f"the table has no section {key}")
        return Section(self._table, number)

    def _titled(self, title: str) -> Section:
        for section in self:
            if section.title == title:
                return section
        raise NotFound(f"there is no section {title!r}")

    def __iter__(self) -> Iterator[Section]:
        number = 0
        while self._table._open_source().section_count(number + 1)[0] > number:
            yield Section(self._table, number)
            number += 1

    def __repr__(self) -> str:
        return f"<tabella.SectionList of {self._table!r}>"


def rows_of_slice(rows: Any, key: slice) -> list[Row]:
    """The rows of a slice. A slice without negative numbers does not count the rows."""
    start, stop, step = key.start, key.stop, 1 if key.step is None else key.step
    if step > 0 and (start is None or start >= 0) and stop is not None and stop >= 0:
        first = start or 0
        found = list(rows._stream(first, stop - first)) if stop > first else []
        return found[::step]
    numbers = range(*key.indices(len(rows)))
    if not numbers:
        return []
    first = min(numbers[0], numbers[-1])
    found = list(rows._stream(first, max(numbers[0], numbers[-1]) - first + 1))
    return found[::step] if step > 0 else found[::-1][::-step]
