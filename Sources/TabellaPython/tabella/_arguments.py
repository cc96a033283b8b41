"""Checks the arguments of calls. An error names the argument, and what it must be."""

from __future__ import annotations

import os
from operator import index
from typing import Any, Iterable, Union

from .errors import InvalidArgument

Location = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def wrong(name: str, expected: str, value: object) -> TypeError:
    """The error for an argument of a wrong type."""
    text = repr(value)
    if len(text) > 80:
        text = f"an object of the type {type(value).__name__}"
    return TypeError(f"{name} must be {expected}, not {text}")


def text(name: str, value: Any) -> Any:
    """A str or bytes, or None."""
    if value is None or isinstance(value, (str, bytes)):
        return value
    raise wrong(name, "a str", value)


def needed_text(name: str, value: Any) -> Any:
    """A str or bytes."""
    if value is None:
        raise wrong(name, "a str", value)
    return text(name, value)


def location(name: str, value: Any) -> bytes:
    """The bytes of a location or of a path."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise wrong(name, "a str, bytes or a path object", value)
    found = os.fsencode(value)
    if not found:
        raise InvalidArgument(f"{name} is empty")
    return found


def number(name: str, value: Any) -> int:
    """An integer, also one of numpy."""
    try:
        found = index(value)
    except TypeError:
        raise wrong(name, "an integer", value) from None
    if abs(found) >= 2**63:
        raise InvalidArgument(f"{name} must be a number of 64 bits, not {found}")
    return found


def pair(name: str, value: Any, expected: str) -> tuple[int, int]:
    """Two integers."""
    if isinstance(value, (str, bytes)):
        raise wrong(name, expected, value)
    try:
        first, second = value
        return number(name, first), number(name, second)
    except InvalidArgument:
        raise
    except (TypeError, ValueError):
        raise wrong(name, expected, value) from None


def names(name: str, value: Any) -> list[str]:
    """A list of names."""
    # The letters of a name are no names.
    found = None if isinstance(value, (str, bytes)) else items(value)
    if found is None or not all(isinstance(each, str) for each in found):
        raise wrong(name, "a list of names", value)
    return found


def items(value: Any) -> list[Any] | None:
    """The items of an iterable; None for another object."""
    return list(value) if isinstance(value, Iterable) else None
