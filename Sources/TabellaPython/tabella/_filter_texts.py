"""Writes comparisons of a column with a value as filters of Tabella.

A filter may keep more rows than the comparison, never fewer, because the program that asks applies the comparison
again. A comparison that has no such filter has no text.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import Any, Callable, List, Sequence, Tuple

from ._values import date_text
from .columns import Column

# Texts that a filter can have in quotes.
_QUOTABLE = re.compile(r"[^'\x00-\x1f]+")

Signs = List[Tuple[str, str]]


def comparison(column: Column, sign: str, value: Any) -> Signs:
    """Pairs of an operator and a value, which together stand for `column SIGN value`.

    `sign` is one of = != < <= > >=. A row must meet all pairs. No pairs: there is no such filter.
    """
    return _TRANSLATIONS[column.type](column, sign, value)


def text_of(column: Column, sign: str, value: str, columns: Sequence[Column]) -> str | None:
    """The text of a filter; None if it would be read as one of a column with a longer name."""
    text = f"{column.name} {sign} {value}"
    longer = (each.name for each in columns if len(each.name) > len(column.name))
    return None if any(text.startswith(name) for name in longer) else text


def pattern_of(text: str) -> str:
    """A regular expression that finds exactly this text. It has only letters, digits, and escapes."""
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isascii():
        return character if character.isalnum() else f"\\x{ord(character):02X}"
    return f"\\u{{{ord(character):X}}}"


def _text(column: Column, sign: str, value: Any) -> Signs:
    if not isinstance(value, str) or sign != "=" or not _QUOTABLE.fullmatch(value):
        return []
    # In quotes it is the exact text, even if it looks like a number, a date, or several conditions.
    return [("=", f"'{value}'")]


def _integer(column: Column, sign: str, value: Any) -> Signs:
    return [(sign, str(value))] if type(value) is int else []


def _real(column: Column, sign: str, value: Any) -> Signs:
    """Cells in text have digits that a double has not, so the bounds are one step wider."""
    if type(value) not in (int, float):
        return []
    try:
        number = float(value)
    except OverflowError:
        return []
    if not math.isfinite(number) or number != value:
        return []
    below, above = math.nextafter(number, -math.inf), math.nextafter(number, math.inf)
    bounds = {
        "=": [(">=", below), ("<=", above)],
        "<": [("<", number)],
        "<=": [("<=", above)],
        # polars and Spark take NaN as greater than all numbers. Text that reads as numbers has no NaN.
        ">": [(">", number)] if column.is_text else [],
        ">=": [(">=", below)] if column.is_text else [],
    }
    return [(sign, repr(bound)) for sign, bound in bounds.get(sign, []) if math.isfinite(bound)]


def _boolean(column: Column, sign: str, value: Any) -> Signs:
    return [(sign, "true" if value else "false")] if type(value) is bool and sign in ("=", "!=") else []


def _date(column: Column, sign: str, value: Any) -> Signs:
    """Python has microseconds, and Tabella has nanoseconds. So a moment of Python is a span of a microsecond."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        return []
    try:
        start = date_text(value)
        end = date_text(value + timedelta(microseconds=1))
    except OverflowError:
        return []
    bounds = {
        "=": [(">=", start), ("<", end)],
        "<": [("<", start)],
        "<=": [("<", end)],
        ">": [(">=", end)],
        ">=": [(">=", start)],
    }
    return bounds.get(sign, [])


def _none(column: Column, sign: str, value: Any) -> Signs:
    return []


_TRANSLATIONS: dict[str, Callable[[Column, str, Any], Signs]] = {
    "text": _text,
    "integer": _integer,
    "real": _real,
    "boolean": _boolean,
    "date": _date,
    "binary": _none,
}
