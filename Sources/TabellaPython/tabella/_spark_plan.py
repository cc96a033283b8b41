"""Divides locations into tasks: ranges of bytes of large files, several small files, sections. Does not import pyspark."""

from __future__ import annotations

import bisect
import glob
import os
import stat
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterable, Sequence

from ._source import Source
from ._spark_options import Options
from .errors import Conflict, Error, NotFound
from .host import default_host
from .table import Table

# A gap of fewer bytes between matching rows is read, because a task reads up to 1 MiB to open a file.
_GAP = 4 << 20
# A location that is no file weighs as much as a file of this size.
_USUAL_WEIGHT = 1 << 20


@dataclass(frozen=True)
class Piece:
    """The part of a location that one task reads.

    `file` is the size and the modification time in nanoseconds at planning. `bytes` is a range of the file, and
    `sections` are numbers and titles of sections.
    """

    location: str
    weight: int = _USUAL_WEIGHT
    file: tuple[int, int] | None = None
    bytes: tuple[int, int] | None = None
    sections: tuple[tuple[int, object], ...] | None = None

    def check(self) -> None:
        """Raises Conflict if the file is not the one that was planned."""
        if self.bytes is not None and _file(self.location) != self.file:
            raise Conflict(f"{self.location} has changed since the query was planned; run the query again")


def locations_of(given: Iterable[str]) -> list[str]:
    """The locations that exist: patterns of paths are expanded, and relative paths become absolute.

    A task can have another current folder. Raises NotFound if a pattern has no match.
    """
    found: list[str] = []
    for location in given:
        if os.path.exists(location):
            found.append(os.path.abspath(location))
        elif glob.has_magic(location) and not _scheme(location):
            matches = sorted(path for path in glob.glob(location, recursive=True) if os.path.isfile(path))
            if not matches:
                raise NotFound(f"no file matches {location}")
            found += map(os.path.abspath, matches)
        else:
            scheme = _scheme(location)
            rest = location[len(scheme) :]
            is_relative = scheme and rest and not os.path.isabs(rest) and os.path.exists(rest)
            found.append(scheme + os.path.abspath(rest) if is_relative else location)
    return found


def _scheme(location: str) -> str:
    """The scheme of a location with its colon; empty for a path."""
    name, colon, _ = location.partition(":")
    return name + colon if colon and "/" not in name and name else ""


def _file(location: str) -> tuple[int, int] | None:
    """Size and modification time of a regular file; None for other locations."""
    for path in (location, location[len(_scheme(location)) :]):
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None
    return None


def opened(location: str, options: Options, **more: str) -> Table:
    """A location, opened with the options of the reading. The caller closes it."""
    return default_host().open(location, provider=options.provider, options={**options.others, **more})


#: Opens the location of a piece for a query: the table, and the rows of it that match the filters.
Matching = Callable[[Piece], "tuple[Table, Table]"]


def pieces_of(locations: Sequence[str], options: Options, matching: Matching | None = None) -> list[Piece]:
    """What the tasks read, in order. With `matching`, large parts of a divided file without a matching row are left out."""
    if options.splits_sections:
        return [piece for location in locations for piece in _sections(location, options)]
    whole = []
    for location in locations:
        file = _file(location)
        whole.append(Piece(location, _USUAL_WEIGHT if file is None else file[0], file))
    limit = _limit(whole, options)
    pieces: list[Piece] = []
    for piece in whole:
        parts = -(-piece.weight // limit) if piece.file is not None else 1
        pieces += _ranges(piece, parts, options, matching) if parts > 1 else [piece]
    return pieces


def _limit(pieces: Sequence[Piece], options: Options) -> int:
    """The most bytes of a task."""
    if options.tasks is None:
        return options.bytes_per_task
    return max(1, -(-sum(piece.weight for piece in pieces) // options.tasks))


def _ranges(piece: Piece, parts: int, options: Options, matching: Matching | None) -> list[Piece]:
    """Ranges of a file with about as many bytes each. A file whose provider has no offsets stays whole.

    Reads the file to find its rows, and those that match.
    """
    found = None
    if matching is not None:
        try:
            table, view = matching(piece)
            with table:
                found = _divided(piece, parts, options, table, view)
        except Error:
            # A cell that cannot be compared, for example. The task that reads it says so, with its row.
            pass
    if found is None:
        with _untyped(piece.location, options) as table:
            found = _divided(piece, parts, options, table, table)
    return found


def _divided(piece: Piece, parts: int, options: Options, table: Table, view: Table) -> list[Piece]:
    # In this order, one reading finds the rows that match and all rows.
    matches = None if view is table else _Offsets.of(view)
    rows = _Offsets.of(table)
    if not rows:
        return [piece]

    def offset(row: int) -> int:
        return rows[row] if 0 < row < len(rows) else piece.weight * min(row, 1)

    kept = [range(len(rows))] if matches is None else _kept(matches, rows, piece.weight)
    sizes = [offset(part.stop) - offset(part.start) for part in kept]
    size = options.bytes_per_task if options.tasks is None else max(1, -(-sum(sizes) // parts))
    ranges: list[tuple[int, int]] = []
    for part, bytes in zip(kept, sizes):
        count = -(-bytes // size)
        cuts = sorted({offset(part.start + len(part) * number // count) for number in range(count + 1)})
        ranges += zip(cuts, cuts[1:])
    return [replace(piece, bytes=(start, end), weight=end - start) for start, end in ranges]


class _Offsets(Sequence[int]):
    """The offsets of a table's rows in their file, which are looked up as needed."""

    def __init__(self, source: Source, count: int) -> None:
        self._source, self._count = source, count
        self._known: dict[int, int] = {}

    @classmethod
    def of(cls, table: Table) -> _Offsets | None:
        """None if the rows have no offsets, or are in sections."""
        source = table._open_source()
        if source.section_count()[0] != 1:
            return None
        if source.row_count(0, 1)[0] > 0 and source.element("offset", 0, 0) is None:
            return None
        return cls(source, len(table))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: Any) -> Any:
        if row not in self._known:
            self._known[row] = int(self._source.element("offset", 0, row) or 0)
        return self._known[row]


def _kept(matches: _Offsets, rows: _Offsets, size: int) -> list[range]:
    """The ranges of rows that contain all matching rows, without gaps of more than `_GAP` bytes."""
    if not matches:
        return []
    # At most some thousands of ranges.
    gap, last = max(_GAP, size >> 12), len(matches) - 1
    starts, ends = [0], []
    left = [(0, last)]
    while left:
        first, second = left.pop()
        if matches[second] - matches[first] <= gap:
            continue
        if second - first == 1:
            ends.append(first)
            starts.append(second)
        else:
            middle = (first + second) // 2
            # The earlier half comes first.
            left += [(middle, second), (first, middle)]
    return [
        range(bisect.bisect_left(rows, matches[start]), bisect.bisect_right(rows, matches[end]))
        for start, end in zip(starts, [*ends, last])
    ]


def _untyped(location: str, options: Options) -> Table:
    """A location whose cells are text, so that no types are found by reading."""
    others = {name: value for name, value in options.others.items() if name != "types"}
    return opened(location, replace(options, others=others))


def _sections(location: str, options: Options) -> list[Piece]:
    with opened(location, options) as table:
        titles = [(section.number, section.title) for section in table.sections]
    parts = min(len(titles), options.tasks or 8)
    groups = [titles[len(titles) * part // parts : len(titles) * (part + 1) // parts] for part in range(parts)]
    # Each group is a task of its own.
    return [Piece(location, options.bytes_per_task, sections=tuple(group)) for group in groups]


def packed(pieces: Sequence[Piece], options: Options) -> list[list[Piece]]:
    """The pieces of each task: as many as have the wanted number of bytes together."""
    limit, tasks, size = _limit(pieces, options), [], 0
    if options.splits_sections:
        return [[piece] for piece in pieces]
    for piece in pieces:
        if not tasks or size + piece.weight > limit:
            tasks.append([])
            size = 0
        tasks[-1].append(piece)
        size += piece.weight
    return tasks
