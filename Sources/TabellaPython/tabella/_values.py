"""Converts Python values to values of cells."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import index
from typing import Any, Union

from . import _structs as c
from ._texts import EPOCH, Value
from .columns import Column
from .errors import InvalidArgument

CellValue = Union[Value, date, Decimal, "memoryview", "bytearray"]

_TYPES = "use str, int, float, bool, Decimal, date, datetime, bytes, a number of numpy, or None"


def value_of(value: Any, column: Column | None, strings: c.Strings) -> c.Value:
    """The value for a cell of this column. The column None stands for the title of a section, which is text.

    Raises InvalidArgument for a value of another Python type, and for a moment without a zone.
    """
    value = _plain(value)
    if value is None:
        # In a column that reads its text as another type, None stands for empty text, too.
        if column is not None and column.is_text and column.type != "text":
            return _bytes(c.TEXT, b"", strings)
        return c.Value(0, 0, 0, 0.0, c.String(None, 0))
    if column is None or column.is_text:
        return _bytes(c.TEXT, _text(value, column is not None and column.decimal_comma), strings)
    if isinstance(value, bool):
        return _number(c.BOOLEAN, int(value))
    if isinstance(value, Decimal):
        is_integer = column.type == "integer" and value.is_finite() and value == int(value)
        value = int(value) if is_integer else float(value)
    if isinstance(value, int):
        if column.type == "real":
            try:
                return c.Value(c.REAL, 0, 0, float(value), c.String(None, 0))
            except OverflowError:
                raise InvalidArgument("the number is too large for a column of reals") from None
        if not -(2**63) <= value < 2**63:
            raise InvalidArgument(f"{value} has more than 64 bits")
        return _number(c.INTEGER, value)
    if isinstance(value, float):
        return c.Value(c.REAL, 0, 0, value, c.String(None, 0))
    if isinstance(value, datetime):
        return _number(c.DATE, nanoseconds_of(value))
    if isinstance(value, date):
        return _number(c.DATE, nanoseconds_of(datetime(value.year, value.month, value.day, tzinfo=EPOCH.tzinfo)))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(c.BINARY, bytes(value), strings)
    return _bytes(c.TEXT, _text(value), strings)


def _plain(value: Any) -> Any:
    """The value as a type of the standard library. Scalars of numpy are converted, without numpy."""
    if isinstance(value, datetime):
        if value != value:
            raise InvalidArgument(f"{value} is no moment; use None for a missing cell")
        return value
    if value is None or isinstance(value, (str, int, float, date, Decimal, bytes, bytearray, memoryview)):
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind and kind in "mM":
        raise InvalidArgument(f"{value} has no zone; use a datetime with a zone")
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        item = value.item()
        if type(item) is not type(value):
            return _plain(item)
    for name, convert in (("__index__", index), ("__float__", float)):
        if hasattr(value, name):
            with suppress(TypeError):
                return convert(value)
    raise InvalidArgument(f"{value!r} is no value of a cell; {_TYPES}")


def nanoseconds_of(moment: datetime) -> int:
    """The nanoseconds since 1970 in UTC."""
    _check_zone(moment)
    nanoseconds = (moment - EPOCH) // timedelta(microseconds=1) * 1000
    if not -(2**63) <= nanoseconds < 2**63:
        raise InvalidArgument(f"{moment} is no date of a table: these are from 1677-09-21 to 2262-04-11")
    return nanoseconds


def date_text(moment: datetime) -> str:
    """The moment in RFC 3339, in UTC, with a fraction only if there is one."""
    _check_zone(moment)
    return moment.astimezone(EPOCH.tzinfo).replace(tzinfo=None).isoformat() + "Z"


def _check_zone(moment: datetime) -> None:
    if moment.tzinfo is None:
        raise InvalidArgument(f"{moment} has no zone; add tzinfo=timezone.utc")


def _text(value: Any, decimal_comma: bool = False) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return int.__repr__(value).encode()
    if isinstance(value, (float, Decimal)):
        # The text of a subclass can contain the name of the class.
        text = float.__repr__(value) if isinstance(value, float) else str(value)
        return (text.replace(".", ",") if decimal_comma else text).encode()
    if isinstance(value, datetime):
        return date_text(value).encode()
    if isinstance(value, date):
        return value.isoformat().encode()
    return bytes(value)


def _number(type: int, number: int) -> c.Value:
    return c.Value(type, 0, number, 0.0, c.String(None, 0))


def _bytes(type: int, data: bytes, strings: c.Strings) -> c.Value:
    return c.Value(type, 0, 0, 0.0, strings.string(data))
