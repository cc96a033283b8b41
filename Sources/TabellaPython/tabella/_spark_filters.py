"""Translates filters of Spark into filters of Tabella. Does not import pyspark.

Spark applies its filters again to the rows that it receives. So a translation may keep more rows, never fewer.
"""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from ._filter_texts import comparison, pattern_of, text_of
from .columns import Column

_SIGNS = {
    "EqualTo": "=", "EqualNullSafe": "=", "GreaterThan": ">", "GreaterThanOrEqual": ">=", "LessThan": "<",
    "LessThanOrEqual": "<=",
}  # fmt: skip
_PATTERNS = {"StringStartsWith": "^{}", "StringEndsWith": "{}$", "StringContains": "{}"}
# A longer list of values is left to Spark.
_MOST_VALUES = 500


def filters_of(filters: Iterable[Any], columns: Sequence[Column], others: Sequence[Column] = ()) -> list[str]:
    """The texts for filters of `pyspark.sql.datasource`. A row must meet all of them.

    Only filters on `columns` have texts. `others` are further columns of the table.
    """
    named = {column.name: column for column in columns}
    texts: list[str] = []
    for filter in filters:
        column = _column(filter, named)
        if column is None:
            continue
        for sign, value in _conditions(type(filter).__name__, filter, column):
            text = text_of(column, sign, value, [*columns, *others])
            if text is not None and text not in texts:
                texts.append(text)
    return texts


def values_of(filters: Iterable[Any], name: str) -> list[Any] | None:
    """The values that `name = …` and `name IN (…)` allow; None if no filter says so."""
    allowed: list[Any] | None = None
    for filter in filters:
        kind = type(filter).__name__
        if getattr(filter, "attribute", None) != (name,) or kind not in ("EqualTo", "EqualNullSafe", "In"):
            continue
        values = list(filter.value) if kind == "In" else [filter.value]
        allowed = values if allowed is None else [value for value in allowed if value in values]
    return allowed


def _column(filter: Any, named: dict[str, Column]) -> Column | None:
    # A longer path names a field of a struct, and Tabella has none.
    path = getattr(filter, "attribute", ())
    return named.get(path[0]) if len(path) == 1 else None


def _conditions(kind: str, filter: Any, column: Column) -> list[tuple[str, str]]:
    if kind == "IsNotNull":
        # An empty cell that is no text is null for Spark, and an empty text is not.
        return [("~", "^")] if column.type == "text" else []
    value = filter.value if hasattr(filter, "value") else None
    if kind == "In":
        return _one_of(column, [each for each in value if each is not None])
    if kind in _PATTERNS:
        matches = column.type == "text" and isinstance(value, str) and value
        return [("~", _PATTERNS[kind].format(pattern_of(value)))] if matches else []
    if kind not in _SIGNS or value is None:
        return []
    found = comparison(column, _SIGNS[kind], value)
    return found or (_one_of(column, [value]) if _SIGNS[kind] == "=" else [])


def _one_of(column: Column, values: list[Any]) -> list[tuple[str, str]]:
    """The filter for a list of values."""
    if not 0 < len(values) <= _MOST_VALUES:
        return []
    if len(values) == 1:
        found = comparison(column, "=", values[0])
        if found:
            return found
    if column.type == "text" and all(isinstance(value, str) for value in values):
        return [("~", f"^({'|'.join(map(pattern_of, values))})$")]
    if column.type == "integer" and all(type(value) is int for value in values):
        # Text that reads as an integer can be "-0".
        return [("~", f"^({'|'.join(str(value) if value else '-?0' for value in values)})$")]
    is_ordered = len({type(value) for value in values}) == 1 and all(value == value for value in values)
    if column.type in ("real", "date") and is_ordered:
        try:
            low, high = min(values), max(values)
        except TypeError:
            return []
        return comparison(column, ">=", low) + comparison(column, "<=", high)
    return []
