"""Translates comparisons of polars into filters of Tabella.

A filter may keep more rows than the comparison, never fewer, because polars applies the comparison again. An
expression that has no such filter is left to polars.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Iterable, Sequence

from ._filter_texts import comparison, text_of
from ._texts import EPOCH
from .columns import Column

_SIGNS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_MIRRORED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_KINDS = {"Int", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float", "Float32", "Float64"}
_KINDS |= {"String", "Boolean"}


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
            text = text_of(column, sign, value, columns)
            if text is not None:
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
    value = _literal(right)
    if column is None or value is None:
        return []
    return [(column, sign, text) for sign, text in comparison(column, _SIGNS[op], value)]


def _flag(tree: Any, named: dict[str, Column]) -> tuple[Column, str, str] | None:
    """A column of booleans alone, or its negation."""
    function = _only(tree, "Function")
    is_negated = bool(function) and function.get("function") == {"Boolean": "Not"}
    column = named.get(_only(function["input"][0] if is_negated else tree, "Column") or "")
    if column is None or column.type != "boolean":
        return None
    return column, "=", "false" if is_negated else "true"


def _literal(tree: Any) -> Any:
    """The value of a literal; None for a value of a type that no filter compares."""
    literal = _only(tree, "Literal")
    inner = _only(literal, "Scalar") or _only(literal, "Dyn")
    if not isinstance(inner, dict) or len(inner) != 1:
        return None
    ((kind, value),) = inner.items()
    if kind == "Datetime":
        try:
            return EPOCH + timedelta(microseconds=value[0]) if value[1] == "Microseconds" else None
        except OverflowError:
            return None
    return value if kind in _KINDS else None


def _only(tree: Any, key: str) -> Any:
    return tree[key] if isinstance(tree, dict) and len(tree) == 1 and key in tree else None
