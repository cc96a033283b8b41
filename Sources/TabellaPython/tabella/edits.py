"""Batches of edits, and their results."""

from __future__ import annotations

from ctypes import byref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from . import _structs as c
from ._arguments import number, pair, text, wrong
from ._native import call, release
from ._values import CellValue, value_of
from .changes import Changes, changes_of
from .errors import Conflict, Error, InvalidArgument, InvalidState, ProviderError, error_class
from .rows import Path, Row
from .sections import Section

if TYPE_CHECKING:
    from .table import Table

_INSERT, _DELETE, _SET, _MOVE = 1, 2, 3, 4

Target = Union[Row, Section, Path, str, "tuple[int, int]"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one edit. `code` is 0 if the edit was done.

    `message` is a remark, or the reason of a failure. `id` is the id of the row afterwards. A `final` effect remains
    after an undo, such as a signal to a process.
    """

    code: int
    message: str | None
    id: str | None
    final: bool

    def error(self) -> Error | None:
        """The error of an edit that was not done."""
        if self.code == c.OK:
            return None
        kind = error_class(self.code)
        return kind(self.message or kind.name, code=self.code)


@dataclass(frozen=True)
class EditResult:
    """The result of a batch, of a dry run, or of an undo.

    `receipt` names the stored receipt, "receipt:ID". It is None if nothing was changed. `changes` lead from the old version
    of the table to the new one.
    """

    outcomes: list[Outcome]
    receipt: str | None
    changes: Changes
    dry_run: bool

    @property
    def ids(self) -> list[str | None]:
        """The ids of the edited rows afterwards, in the order of the edits. None: unknown or deleted."""
        return [outcome.id for outcome in self.outcomes]


class Batch:
    """Edits that are committed together, at the end of a `with` block. `Table.edit()` makes one.

    Rows are named by a Row, by an id, or by a path `(section, row)`. Paths of existing rows count before the batch.
    The targets of `insert` and `move` count after the batch. The order of the edits does not matter. A batch may name
    a row only once, or once in `set` and once in `move`.
    """

    def __init__(self, table: Table, dry_run: bool, version: str | None) -> None:
        self._table = table
        self._dry_run = dry_run
        self._version = version
        self._strings = c.Strings()
        self._edits: list[c.Edit] = []
        self._appends: list[tuple[int, c.Edit]] = []
        self._result: EditResult | None = None

    @property
    def result(self) -> EditResult:
        """The result. Raises InvalidState in front of the commit."""
        if self._result is None:
            raise InvalidState("the batch has no result yet; it is committed at the end of the block")
        return self._result

    def __len__(self) -> int:
        """The number of edits."""
        return len(self._edits)

    # Edits

    def set(self, row: Target, cells: Mapping[str, CellValue] | Row | None = None, /, **more: CellValue) -> None:
        """Sets cells of a row, or the `title` of a section.

        Names of columns are keywords, or keys of the mapping `cells`.
        """
        values = _cells(cells, more)
        edit = self._add(_SET, row)
        self._put(edit, values, edit.source.row < 0 and not edit.id.bytes)

    def delete(self, *rows: Target) -> None:
        """Deletes rows. A section is deleted with its rows."""
        for row in rows:
            self._add(_DELETE, row)

    def insert(
        self, at: tuple[int, int], cells: Mapping[str, CellValue] | Row | None = None, /, **more: CellValue
    ) -> None:
        """Inserts a row at a position that counts after the batch. Cells without a value are missing."""
        target, values = pair("at", at, "a pair (section, row)"), _cells(cells, more)
        edit = self._make(_INSERT)
        edit.target = c.IndexPath(*target)
        self._put(edit, values, False)

    def append(
        self, cells: Mapping[str, CellValue] | Row | None = None, /, *, section: int | Section = 0, **more: CellValue
    ) -> None:
        """Inserts a row at the end of a section, whose number counts before the batch."""
        place, values = self._section_number("section", section), _cells(cells, more)
        edit = self._make(_INSERT)
        self._appends.append((place, edit))
        self._put(edit, values, False)

    def insert_section(self, at: int, title: str | None = None) -> None:
        """Inserts an empty section at a position that counts after the batch."""
        target, title = number("at", at), text("title", title)
        edit = self._make(_INSERT)
        edit.target = c.IndexPath(target, -1)
        self._put(edit, {} if title is None else {"title": title}, True)

    def move(self, row: Target, to: tuple[int, int] | int) -> None:
        """Moves a row to a final position `(section, row)`, or a section to a final number."""
        is_section = hasattr(to, "__index__")
        expected = "a pair (section, row), or the number of a section"
        target = (number("to", to), -1) if is_section else pair("to", to, expected)
        edit = self._add(_MOVE, row)
        edit.target = c.IndexPath(*target)

    def _make(self, kind: int) -> c.Edit:
        if self._result is not None:
            raise InvalidState("the batch is committed; begin another one")
        absent = c.IndexPath(-1, -1)
        edit = c.Edit(kind, 0, c.String(None, 0), absent, absent, None, 0)
        self._edits.append(edit)
        return edit

    def _add(self, kind: int, row: Target) -> c.Edit:
        id, path = self._name(row)
        edit = self._make(kind)
        if id is not None:
            edit.id = self._strings.string(id)
        elif path is not None:
            edit.source = c.IndexPath(*path)
        return edit

    def _name(self, row: Target) -> tuple[str | None, Path | None]:
        """The id of a row, or else its path."""
        if isinstance(row, str):
            return row, None
        if isinstance(row, Section):
            return None, Path(self._section_number("row", row), -1)
        source = self._table._open_source()
        if isinstance(row, Row):
            if row.id is not None:
                return row.id, None
            if not row._reader.shows(source):
                raise Conflict("the row has no id, and is not of this version of this table; read it again")
            path = row.path
        else:
            path = Path(*pair("row", row, "a Row, an id, a pair (section, row) or a Section"))
        if path.row >= 0 and source.has_volatile_order():
            raise InvalidArgument("the order of the rows can change at any time; name the row by its id")
        return None, path

    def _section_number(self, name: str, section: Any) -> int:
        if isinstance(section, Section):
            if section._table is not self._table:
                raise InvalidArgument(
                    f"{name} is a section of another table or view; use one of the edited table, or its number"
                )
            return section.number
        if not hasattr(section, "__index__"):
            raise wrong(name, "a Section or its number", section)
        return number(name, section)

    def _put(self, edit: c.Edit, cells: dict[str, CellValue], is_section: bool) -> None:
        made = []
        try:
            for name, value in cells.items():
                if is_section:
                    if name != "title":
                        raise InvalidArgument("a section has only a title")
                    made.append(c.Cell(c.SECTION_TITLE, value_of(value, None, self._strings)))
                else:
                    column = self._table.column(name)
                    made.append(c.Cell(column.number, value_of(value, column, self._strings)))
        except BaseException:
            self._edits = [each for each in self._edits if each is not edit]
            self._appends = [each for each in self._appends if each[1] is not edit]
            raise
        array = (c.Cell * len(made))(*made)
        self._strings.keep(array)
        edit.cells, edit.cell_count = array, len(made)

    # Committing

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None and self._result is None:
            self.commit()

    def commit(self) -> EditResult:
        """Commits the batch now.

        Raises an error if the batch is refused; then nothing was done. If only some edits were done, the error of the
        first other one is raised, and its `result` has all outcomes.
        """
        if self._result is not None:
            raise InvalidState("the batch is committed; begin another one")
        self._place_appends()
        edits = (c.Edit * len(self._edits))(*self._edits)
        flags = c.DRY_RUN if self._dry_run else 0
        batch = c.EditBatch(self._strings.string(self._version), edits, len(self._edits), flags, 0)
        out = c.EmbedEdit()
        with self._table._handle as pointer:
            try:
                call("commit", pointer, byref(batch), byref(out))
            except Error:
                # Something may have been changed: the provider failed, or the receipt could not be stored.
                self._table._moved()
                raise
        if not self._dry_run:
            self._table._moved()
        self._result = result_of(out, self._dry_run)
        if self._result.receipt is not None:
            self._table._receipt = self._result.receipt
        raise_first_failure(self._result)
        return self._result

    def _place_appends(self) -> None:
        """Gives each appended row the last free position of its section."""
        if not self._appends:
            return
        source = self._table._open_source()
        appended = {id(edit) for _, edit in self._appends}
        after = self._sections_after()
        # The rows that the other edits add to a section, or remove from it, by its number after the batch.
        added: dict[int, int] = {}
        for edit in self._edits:
            if id(edit) in appended:
                continue
            if edit.kind in (_DELETE, _MOVE):
                section = self._section(edit)
                place = section if after is None else after.get(section, -1)
                added[place] = added.get(place, 0) - 1
            if edit.kind in (_INSERT, _MOVE) and edit.target.row >= 0:
                added[edit.target.section] = added.get(edit.target.section, 0) + 1
        free: dict[int, int] = {}
        for section, edit in self._appends:
            place = section if after is None else after.get(section, -1)
            if place < 0:
                raise InvalidArgument(f"section {section} cannot take a row, because the batch deletes it")
            if place not in free:
                free[place] = source.row_count(section)[0] + added.get(place, 0)
            edit.target = c.IndexPath(place, free[place])
            free[place] += 1

    def _sections_after(self) -> dict[int, int] | None:
        """The number after the batch of each section that is not deleted. None if all numbers stay."""
        gone: set[int] = set()
        arrivals: dict[int, int] = {}
        for edit in self._edits:
            if edit.kind == _INSERT:
                # A row to append has no target yet.
                if edit.target.row < 0 <= edit.target.section:
                    arrivals[edit.target.section] = -1
            elif edit.kind in (_DELETE, _MOVE) and not edit.id.bytes and edit.source.row < 0:
                gone.add(edit.source.section)
                if edit.kind == _MOVE:
                    arrivals[edit.target.section] = edit.source.section
        if not gone and not arrivals:
            return None
        count = self._table._open_source().section_count()[0]
        stay = iter([section for section in range(count) if section not in gone])
        after: dict[int, int] = {}
        for place in range(count - len(gone) + len(arrivals)):
            section = arrivals[place] if place in arrivals else next(stay, -1)
            if section >= 0:
                after[section] = place
        return after

    def _section(self, edit: c.Edit) -> int:
        """The section of the row that an edit names; -1 for an edit of a section."""
        id = c.text_of(edit.id)
        if id is not None:
            return self._table._open_source().find(id)[0]
        return int(edit.source.section) if edit.source.row >= 0 else -1


def _cells(cells: Any, more: dict[str, CellValue]) -> dict[str, CellValue]:
    """The cells of both kinds of arguments."""
    if cells is None:
        return more
    if isinstance(cells, Row):
        cells = dict(cells)
    if not isinstance(cells, Mapping):
        raise wrong("cells", "a dictionary from names of columns to values", cells)
    return {**cells, **more}


def result_of(struct: c.EmbedEdit, dry_run: bool) -> EditResult:
    """Copies the result of a batch, and releases it."""
    result = struct.result
    receipt = c.text_of(struct.receipt)
    try:
        return EditResult(
            [_outcome(result.outcomes[at]) for at in range(result.outcome_count)],
            None if receipt is None else f"receipt:{receipt}",
            changes_of(result.changes),
            dry_run,
        )
    finally:
        release(result)


def _outcome(one: c.OneOutcome) -> Outcome:
    return Outcome(one.code, c.text_of(one.message), c.text_of(one.id), bool(one.flags & c.FINAL))


def raise_first_failure(result: EditResult) -> None:
    """Raises the error of the first edit that was not done."""
    for outcome in result.outcomes:
        error = outcome.error()
        if error is not None:
            error.result = result
            raise error
