"""The sections of a table, and the rows of a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Iterator, Union, overload

from ._arguments import wrong
from ._sequence import Rows
from .errors import NotFound
from .rows import Path, Reader, Row
from .streams import ArrowStream

if TYPE_CHECKING:
    from .table import Table


# Not a Sequence: polars would take it as a list of objects.
class Section(Rows):
    """A section: rows with a title. It names a position, and shows the table's current version."""

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

    @property
    def _owner(self) -> Table:
        return self._table

    def _row(self, number: int) -> Row:
        return self._table._reader().row(self.number, number)

    def _stream(self, reader: Reader, first: int = 0, count: int | None = None) -> Iterator[Row]:
        if first > 0 and self._table._open_source().row_count(self.number, first + 1)[0] <= first:
            return iter(())
        return reader.stream(self.number, first, count)

    def arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        first: int = 0,
        count: int | None = None,
        text: str = "utf8",
        with_section: bool = False,
        with_id: bool = False,
        rows_per_batch: int = 0,
    ) -> ArrowStream:
        """Some rows and columns of the section, for users of Arrow. See `Table.arrow`."""
        return ArrowStream(
            self._table, columns, self.number, first, count, rows_per_batch, text, with_section, with_id
        )

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
        if isinstance(key, (str, bytes)):
            return self._titled(key)
        if not hasattr(key, "__index__"):
            raise wrong("a section", "named by its number or its title", key)
        number = key.__index__()
        if number < 0:
            number += len(self)
        if number < 0 or self._table._open_source().section_count(number + 1)[0] <= number:
            raise IndexError(f"the table has no section {key}")
        return Section(self._table, number)

    def _titled(self, title: str | bytes) -> Section:
        number = self._table._reader().section(title)
        if number is None:
            raise NotFound(f"there is no section {title!r}")
        return Section(self._table, number)

    def __iter__(self) -> Iterator[Section]:
        number = 0
        while self._table._open_source().section_count(number + 1)[0] > number:
            yield Section(self._table, number)
            number += 1

    def __repr__(self) -> str:
        return f"<tabella.SectionList of {self._table!r}>"
