"""Reads text cells as values of other types, for columns that have such a type."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Union

from .columns import Column

Value = Union[str, int, float, bool, datetime, bytes, None]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_REAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.]([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2})))?"
)


def date_of(nanoseconds: int) -> datetime:
    """The moment in UTC, cut to a microsecond towards the past."""
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


def converter(column: Column) -> Callable[[Any], Value] | None:
    """The function that reads the text cells of a column; None if the cells are the values."""
    if not column.is_text or column.type == "text":
        return None
    return _real_with_comma if column.type == "real" and column.decimal_comma else _CONVERTERS[column.type]


def integer(text: Any) -> int | None:
    """An integer of 64 bits without leading zeros."""
    if not isinstance(text, str) or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def real(text: Any) -> float | None:
    """A JSON number."""
    if not isinstance(text, str) or not _REAL.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _real_with_comma(text: Any) -> float | None:
    return real(text.replace(",", ".")) if isinstance(text, str) and "." not in text else None


def boolean(text: Any) -> bool | None:
    """`true` or `false` in any case."""
    return {"true": True, "false": False}.get(text.lower()) if isinstance(text, str) else None


def date(text: Any) -> datetime | None:
    """An RFC 3339 date with a zone, or a day, which begins at midnight UTC."""
    found = _DATE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = found.groups()
    try:
        moment = datetime(int(year), int(month), int(day), tzinfo=timezone.utc)
    except ValueError:
        return None
    if hour is None:
        return moment
    if any(int(part or 0) > most for part, most in zip((hour, minute, second, hours, minutes), (23, 59, 59, 23, 59))):
        return None
    clock = timedelta(hours=int(hour), minutes=int(minute), seconds=int(second))
    shift = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    part = timedelta(microseconds=int((fraction or "").ljust(6, "0")[:6]))
    return moment + clock + part - (-shift if sign == "-" else shift)


_CONVERTERS: dict[str, Callable[[Any], Value]] = {
    "integer": integer,
    "real": real,
    "boolean": boolean,
    "date": date,
    "binary": lambda text: text.encode() if isinstance(text, str) else text,
}
