"""Shows the first rows of a table in a notebook."""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    from .table import Table

# At most this many rows and sections are shown, and at most this many characters of a cell.
_ROWS, _SECTIONS, _CHARACTERS = 20, 20, 200
_NUMBERS = ("integer", "real")


def html_of(table: Table) -> str:
    """A table in HTML. All text from the table is escaped."""
    columns = table._reader().columns
    head = "".join(f"<th>{_escaped(column.name)}</th>" for column in columns)
    body = "".join(_lines(table, [column.type in _NUMBERS for column in columns]))
    return f'<table class="tabella"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _lines(table: Table, right: list[bool]) -> Iterator[str]:
    left = _ROWS
    for section in table.sections:
        if left <= 0 or section.number == _SECTIONS:
            yield _line("…", len(right))
            return
        if section.title is not None:
            yield _line(f"<b>{_escaped(section.title)}</b>", len(right))
        rows = section[: left + 1]
        for row in rows[:left]:
            yield "<tr>" + "".join(map(_cell, row.values(), right)) + "</tr>"
        if len(rows) > left:
            yield _line("…", len(right))
            return
        left -= len(rows)


def _line(html: str, width: int) -> str:
    return f'<tr><td colspan="{max(1, width)}" style="text-align:left">{html}</td></tr>'


def _cell(value: Any, right: bool) -> str:
    style = ' style="text-align:right"' if right else ' style="text-align:left"'
    return f"<td{style}>{'' if value is None else _escaped(value)}</td>"


def _escaped(value: Any) -> str:
    if isinstance(value, datetime):
        text = value.isoformat(sep=" ").replace("+00:00", "Z")
    elif isinstance(value, bytes):
        text = repr(value)
    else:
        text = str(value)
    if len(text) > _CHARACTERS:
        text = text[: _CHARACTERS - 1] + "…"
    return escape(text.encode("utf-8", "replace").decode("utf-8"))
