"""Translates comparisons of polars into filters of Tabella.

A filter may keep more rows than the comparison, never fewer, because polars applies the comparison again. An
expression that has no such filter is left to polars.
"""

from __future__ import annotations

import json
import math
import re
from datetime import timedelta
from typing import Any, Callable, Iterable, List, Sequence, Tuple

from ._texts import EPOCH
from ._values import date_text
from .columns import Column

_SIGNS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_MIRRORED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_INTEGERS = {"Int", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"}
_REALS = {"Float", "Float32", "Float64"}
# Texts that a filter reads as they are: no quotes, no blanks at the ends, no operator at the start.
_PLAIN = re.compile(r"[^\s\"'=<>~!{\x00-\x1f]([^\"'\x00-\x1f]*[^\s\"'\x00-\x1f])?")


def filters_of(predicate: Any, columns: Sequence[Column]) -> list[str]:
    """The filters for a predicate, which is a polars expression. A row must meet all of them."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:
        # The expression contains something that has no JSON form, such as a Python function.
        return []
    named = {column.name: column for column in columns}
    texts = []
    for part in _parts(tree):
        for column, sign, value in _comparisons(part, named):
            text = f"{column.name} {sign} {value}"
            longer = (each.name for each in columns if len(each.name) > len(column.name))
            if not any(text.startswith(name) for name in longer):
                texts.append(text)
    return texts


def _parts(tree: Any) -> Iterable[Any]:
    """The parts of a conjunction."""
    binary = _only(tree, "BinaryExpr")
    if binary and binary.get("op") in ("And", "LogicalAnd"):
        yield from _parts(binary["left"])
        yield from _parts(binary["right"])
        return
    between = _between(tree)
    if between:
        yield from between
        return
    yield tree


def _between(tree: Any) -> list[Any]:
    """`a.is_between(x, y)` as two comparisons."""
    function = _only(tree, "Function") or {}
    kind = function.get("function")
    boolean = kind.get("Boolean") if isinstance(kind, dict) else None
    closed = boolean.get("IsBetween", {}).get("closed") if isinstance(boolean, dict) else None
    if closed is None:
        return []
    value, low, high = function["input"]
    lower = "GtEq" if closed in ("Both", "Left") else "Gt"
    upper = "LtEq" if closed in ("Both", "Right") else "Lt"
    return [
        {"BinaryExpr": {"left": value, "op": lower, "right": low}},
        {"BinaryExpr": {"left": value, "op": upper, "right": high}},
    ]


def _comparisons(tree: Any, named: dict[str, Column]) -> list[tuple[Column, str, str]]:
    """The filters (column, sign, value) for one part."""
    flag = _flag(tree, named)
    if flag:
        return [flag]
    binary = _only(tree, "BinaryExpr")
    if not binary or binary.get("op") not in _SIGNS:
        return []
    left, op, right = binary["left"], binary["op"], binary["right"]
    if _only(left, "Literal") is not None:
        left, op, right = right, _MIRRORED[op], left
    column = named.get(_only(left, "Column") or "")
    kind, value = _literal(right)
    if column is None or kind is None:
        return []
    return [(column, sign, text) for sign, text in _TRANSLATIONS[column.type](column, op, kind, value)]


def _flag(tree: Any, named: dict[str, Column]) -> tuple[Column, str, str] | None:
    """A column of booleans alone, or its negation."""
    function = _only(tree, "Function")
    is_negated = bool(function) and function.get("function") == {"Boolean": "Not"}
    column = named.get(_only(function["input"][0] if is_negated else tree, "Column") or "")
    if column is None or column.type != "boolean":
        return None
    return column, "=", "false" if is_negated else "true"


def _literal(tree: Any) -> tuple[str | None, Any]:
    """The type and the value of a literal."""
    literal = _only(tree, "Literal")
    inner = _only(literal, "Scalar") or _only(literal, "Dyn")
    if not isinstance(inner, dict) or len(inner) != 1:
        return None, None
    ((kind, value),) = inner.items()
    return kind, value


def _only(tree: Any, key: str) -> Any:
    return tree[key] if isinstance(tree, dict) and len(tree) == 1 and key in tree else None


_Signs = List[Tuple[str, str]]


def _text(column: Column, op: str, kind: str, value: Any) -> _Signs:
    # A comma as the decimal separator makes a number of "1,5" and none of "1.5".
    if kind != "String" or op != "Eq" or column.decimal_comma or not _PLAIN.fullmatch(value):
        return []
    return [("=", value)]


def _integer(column: Column, op: str, kind: str, value: Any) -> _Signs:
    return [(_SIGNS[op], str(value))] if kind in _INTEGERS else []


def _real(column: Column, op: str, kind: str, value: Any) -> _Signs:
    """Cells in text have digits that a double has not, so the bounds are one step wider."""
    if kind not in _INTEGERS | _REALS or not isinstance(value, (int, float)):
        return []
    number = float(value)
    if not math.isfinite(number) or number != value:
        return []
    below, above = math.nextafter(number, -math.inf), math.nextafter(number, math.inf)
    bounds = {
        "Eq": [(">=", below), ("<=", above)],
        "Lt": [("<", number)],
        "LtEq": [("<=", above)],
        # polars takes NaN as greater than all numbers. Text that reads as numbers has no NaN.
        "Gt": [(">", number)] if column.is_text else [],
        "GtEq": [(">=", below)] if column.is_text else [],
    }
    return [(sign, repr(bound)) for sign, bound in bounds.get(op, []) if math.isfinite(bound)]


def _boolean(column: Column, op: str, kind: str, value: Any) -> _Signs:
    return [(_SIGNS[op], "true" if value else "false")] if kind == "Boolean" and op in ("Eq", "NotEq") else []


def _date(column: Column, op: str, kind: str, value: Any) -> _Signs:
    """polars has microseconds, and Tabella has nanoseconds. So a moment of polars is a span of a microsecond."""
    if kind != "Datetime" or value[1] != "Microseconds":
        return []
    try:
        start = date_text(EPOCH + timedelta(microseconds=value[0]))
        end = date_text(EPOCH + timedelta(microseconds=value[0] + 1))
    except OverflowError:
        return []
    bounds = {
        "Eq": [(">=", start), ("<", end)],
        "Lt": [("<", start)],
        "LtEq": [("<", end)],
        "Gt": [(">=", end)],
        "GtEq": [(">=", start)],
    }
    return bounds.get(op, [])


def _none(column: Column, op: str, kind: str, value: Any) -> _Signs:
    return []


_TRANSLATIONS: dict[str, Callable[[Column, str, str, Any], Any]] = {
    "text": _text,
    "integer": _integer,
    "real": _real,
    "boolean": _boolean,
    "date": _date,
    "binary": _none,
}
