"""The columns of a table."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import Iterable

from . import _structs as c

_TYPES = {"l": "integer", "g": "real", "b": "boolean"}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `name` is unique within the table: of several columns with one name, the later ones have " 2", " 3" and so on
    after it. `type` is the type of the values: "text", "integer", "real", "boolean", "date" or "binary". `unit` is
    "bytes", "percent", "seconds" or None. An `on_request` column is computed only if it is named. The cells of an
    `is_text` column are stored as text, also if their values have another type.
    """

    number: int
    name: str
    type: str
    unit: str | None = None
    on_request: bool = False
    is_text: bool = False
    decimal_comma: bool = False


def columns_of(schema: c.ArrowSchema) -> list[Column]:
    """The columns that a struct schema describes."""
    fields = [schema.children[number].contents for number in range(schema.n_children)]
    names = unique_names((field.name or b"").decode("utf-8", "surrogateescape") for field in fields)
    return [_column(number, field, names[number]) for number, field in enumerate(fields)]


def _column(number: int, field: c.ArrowSchema, name: str) -> Column:
    facts = metadata(field.metadata)
    stored = _type(field.format.decode("ascii"), facts)
    return Column(
        number,
        name,
        facts.get("tabella.reads", stored),
        facts.get("tabella.unit"),
        facts.get("tabella.on-request") == "true",
        stored == "text",
        facts.get("tabella.decimal") == ",",
    )


def _type(form: str, facts: dict[str, str]) -> str:
    if form == "z":
        return "text" if facts.get("tabella.type") == "text" else "binary"
    return "date" if form.startswith("ts") else _TYPES[form]


def metadata(address: int | None) -> dict[str, str]:
    """Reads the metadata of a field: a number of pairs, each with two lengths and two texts."""
    if not address:
        return {}
    found, at = {}, address

    def number() -> int:
        nonlocal at
        (value,) = struct.unpack("=i", ctypes.string_at(at, 4))
        at += 4
        return int(value)

    def text() -> str:
        nonlocal at
        length = number()
        data = ctypes.string_at(at, length)
        at += length
        return data.decode("utf-8", "replace")

    for _ in range(number()):
        key = text()
        found[key] = text()
    return found


def unique_names(names: Iterable[str]) -> list[str]:
    """The names, with " 2", " 3" and so on after repeated ones, as in filters and groups."""
    names = list(names)
    taken, seen = set(names), set()
    following: dict[str, int] = {}
    result = []
    for name in names:
        if name not in seen:
            seen.add(name)
            result.append(name)
            continue
        number = following.get(name, 2)
        while f"{name} {number}" in taken:
            number += 1
        taken.add(f"{name} {number}")
        following[name] = number + 1
        result.append(f"{name} {number}")
    return result
