"""Converts Python values to values of cells."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Union

from . import _structs as c
from ._texts import EPOCH, Value
from .columns import Column
from .errors import InvalidArgument

CellValue = Union[Value, "memoryview", "bytearray"]


def value_of(value: CellValue, column: Column | None, strings: c.Strings) -> c.Value:
    """The value for a cell of this column. None stands for the title of a section, which is text.

    Raises InvalidArgument for a value of another Python type, and for a datetime without a zone.
    """
    if value is None:
        return c.Value(0, 0, 0, 0.0, c.String(None, 0))
    if column is None or column.is_text:
        return _bytes(c.TEXT, _text(value, column is not None and column.decimal_comma), strings)
    if isinstance(value, bool):
        return _number(c.BOOLEAN, int(value))
    if isinstance(value, int):
        if column.type == "real":
            return c.Value(c.REAL, 0, 0, float(value), c.String(None, 0))
        if not -(2**63) <= value < 2**63:
            raise InvalidArgument(f"{value} has more than 64 bits")
        return _number(c.INTEGER, value)
    if isinstance(value, float):
        return c.Value(c.REAL, 0, 0, value, c.String(None, 0))
    if isinstance(value, datetime):
        return _number(c.DATE, nanoseconds_of(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(c.BINARY, bytes(value), strings)
    return _bytes(c.TEXT, _text(value), strings)


def nanoseconds_of(moment: datetime) -> int:
    """The nanoseconds since 1970 in UTC."""
    if moment.tzinfo is None:
        raise InvalidArgument(f"{moment} has no zone; add tzinfo=timezone.utc")
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000


def date_text(moment: datetime) -> str:
    """The moment in RFC 3339, in UTC, with a fraction only if there is one."""
    if moment.tzinfo is None:
        raise InvalidArgument(f"{moment} has no zone; add tzinfo=timezone.utc")
    return moment.astimezone(EPOCH.tzinfo).replace(tzinfo=None).isoformat() + "Z"


def _text(value: object, decimal_comma: bool = False) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return str(value).encode()
    if isinstance(value, float):
        text = repr(value)
        return (text.replace(".", ",") if decimal_comma else text).encode()
    if isinstance(value, datetime):
        return date_text(value).encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise InvalidArgument(f"{value!r} is no value of a cell; use str, int, float, bool, datetime, bytes or None")


def _number(type: int, number: int) -> c.Value:
    return c.Value(type, 0, number, 0.0, c.String(None, 0))


def _bytes(type: int, data: bytes, strings: c.Strings) -> c.Value:
    return c.Value(type, 0, 0, 0.0, strings.string(data))
