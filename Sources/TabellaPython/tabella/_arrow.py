"""Decodes Arrow arrays of the contract into Python values, with ctypes only."""

from __future__ import annotations

import ctypes
import weakref
from ctypes import c_double, c_int32, c_int64
from typing import Any, Callable, Sequence

from . import _structs as c
from ._library import usable
from ._texts import Value, converter, date_of
from .columns import Column

# A column that is read cell by cell more often than this is decoded as a whole.
_PATIENCE = 16


class Cells:
    """The cells of one column in a batch. Decodes single cells at first, and then all of them at once."""

    __slots__ = ("_array", "_one", "_all", "_convert", "_length", "_read", "_values")

    def __init__(self, array: c.ArrowArray, column: Column) -> None:
        self._array = array
        self._length: int = array.length
        self._one, self._all = _DECODERS["text" if column.is_text else column.type]
        self._convert = converter(column)
        self._read = 0
        self._values: list[Value] | None = None

    def __getitem__(self, row: int) -> Value:
        if self._values is not None:
            return self._values[row]
        self._read += 1
        if self._read > _PATIENCE:
            return self.values()[row]
        array = self._array
        bits = array.buffers[0]
        at = array.offset + row
        if bits and not ctypes.string_at(bits + (at >> 3), 1)[0] >> (at & 7) & 1:
            return None
        value = self._one(array, at)
        return value if self._convert is None else self._convert(value)

    def values(self) -> list[Value]:
        """All cells. The list belongs to this object."""
        if self._values is None:
            values = self._all(self._array, self._length) if self._length else []
            if self._convert is not None:
                values = list(map(self._convert, values))
            self._values = _with_missing(values, self._array, self._length)
        return self._values


def _with_missing(values: list[Value], array: c.ArrowArray, length: int) -> list[Value]:
    bits = array.buffers[0] if length else None
    if not bits or array.null_count == 0:
        return values
    first, offset = array.offset >> 3, array.offset & 7
    data = ctypes.string_at(bits + first, (offset + length + 7) >> 3)
    return [
        value if data[at >> 3] >> (at & 7) & 1 else None for at, value in enumerate(values, offset)
    ]


def _fixed(kind: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    size = ctypes.sizeof(kind)

    def one(array: c.ArrowArray, at: int) -> Any:
        return kind.from_address(array.buffers[1] + at * size).value

    def every(array: c.ArrowArray, length: int) -> list[Any]:
        return list((kind * length).from_address(array.buffers[1] + array.offset * size))

    return one, every


_integer, _integers = _fixed(c_int64)
_real, _reals = _fixed(c_double)


def _boolean(array: c.ArrowArray, at: int) -> bool:
    return bool(ctypes.string_at(array.buffers[1] + (at >> 3), 1)[0] >> (at & 7) & 1)


def _booleans(array: c.ArrowArray, length: int) -> list[bool]:
    first, offset = array.offset >> 3, array.offset & 7
    data = ctypes.string_at(array.buffers[1] + first, (offset + length + 7) >> 3)
    return [bool(data[at >> 3] >> (at & 7) & 1) for at in range(offset, offset + length)]


def _date(array: c.ArrowArray, at: int) -> Any:
    return date_of(_integer(array, at))


def _dates(array: c.ArrowArray, length: int) -> list[Any]:
    return [date_of(each) for each in _integers(array, length)]


def _binary(array: c.ArrowArray, at: int) -> bytes:
    start, end = (c_int32 * 2).from_address(array.buffers[1] + at * 4)
    return ctypes.string_at(array.buffers[2] + start, end - start) if end > start else b""


def _offsets_and_bytes(array: c.ArrowArray, length: int) -> tuple[list[int], bytes]:
    """The offsets of the cells from the first one, and the bytes of all cells."""
    ends = list((c_int32 * (length + 1)).from_address(array.buffers[1] + array.offset * 4))
    first, last = ends[0], ends[-1]
    data = ctypes.string_at(array.buffers[2] + first, last - first) if last > first else b""
    return ([end - first for end in ends] if first else ends), data


def _binaries(array: c.ArrowArray, length: int) -> list[bytes]:
    ends, data = _offsets_and_bytes(array, length)
    return [data[start:end] for start, end in zip(ends, ends[1:])]


def _text(array: c.ArrowArray, at: int) -> str | bytes | None:
    return c.text_or_bytes(_binary(array, at))


def _texts(array: c.ArrowArray, length: int) -> Sequence[str | bytes | None]:
    ends, data = _offsets_and_bytes(array, length)
    if data.isascii():
        text = data.decode("ascii")
        return [text[start:end] for start, end in zip(ends, ends[1:])]
    return [c.text_or_bytes(data[start:end]) for start, end in zip(ends, ends[1:])]


_DECODERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "text": (_text, _texts),
    "integer": (_integer, _integers),
    "real": (_real, _reals),
    "boolean": (_boolean, _booleans),
    "date": (_date, _dates),
    "binary": (_binary, _binaries),
}


_ID = Column(0, "id", "text", is_text=True)


class Batch:
    """Rows that the library returned. It frees them when it is collected, on any thread."""

    __slots__ = ("length", "cells", "ids", "__weakref__")

    def __init__(self, struct: c.BatchOfRows, columns: Sequence[Column], has_ids: bool) -> None:
        array = struct.array
        weakref.finalize(self, _release_batch, struct).atexit = False
        self.length: int = array.length
        self.cells = [Cells(array.children[at].contents, each) for at, each in enumerate(columns)]
        self.ids = Cells(array.children[len(columns)].contents, _ID) if has_ids else None


def _release_batch(struct: c.BatchOfRows) -> None:
    if usable() and struct.array.release:
        c.Release(struct.array.release)(ctypes.addressof(struct.array))
