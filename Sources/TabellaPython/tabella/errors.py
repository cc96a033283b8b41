"""The errors of Tabella.

Each class stands for one code, or for a group of codes. `Error` catches all of them.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from .edits import EditResult

__all__ = [
    "Error",
    "Unsupported",
    "InvalidArgument",
    "InvalidState",
    "NotFound",
    "Conflict",
    "Refused",
    "ReadOnly",
    "Constraint",
    "Denied",
    "StorageError",
    "Cancelled",
    "Timeout",
    "ProviderError",
    "ProviderFailed",
    "ProviderMisbehaved",
    "NoProvider",
    "LibraryMissing",
    "WrongData",
    "DataWarning",
]


class Error(Exception):
    """An error that Tabella reports.

    `message` is one line for people. `section`, `row` and `column` are numbers from 0, or None if the error
    concerns none. `retryable` is true if the same call may succeed later. `result` is the result of a batch whose
    edits were done in part, otherwise None.
    """

    #: The number of the code in tabella.h.
    code: int = 0
    #: The name of the code in messages and JSON.
    name: str = "error"

    def __init__(
        self,
        message: str,
        *,
        section: int | None = None,
        row: int | None = None,
        column: int | None = None,
        retryable: bool = False,
        code: int | None = None,
        result: EditResult | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.section = section
        self.row = row
        self.column = column
        self.retryable = retryable
        self.result = result
        if code is not None:
            self.code = code


class Unsupported(Error):
    """The table does not have this ability or operation. Nothing was done."""

    code, name = 1, "not-supported"


class InvalidArgument(Error, ValueError):
    """An argument makes no sense, such as an unknown column or a malformed filter."""

    code, name = 2, "invalid-argument"


class InvalidState(Error):
    """The state of the object forbids the call: it is closed, or this process is a fork."""

    code, name = 3, "invalid-state"


class NotFound(Error, LookupError):
    """The location, section, row, id or title does not exist."""

    code, name = 4, "not-found"


class Conflict(Error):
    """The data changed since it was read. Nothing was done. Call `Table.refresh()`, or open the location again."""

    code, name = 5, "conflict"


class Refused(Error):
    """The edit or the opening is refused. Nothing was done."""

    name = "refused"


class ReadOnly(Refused):
    """This table, row or cell cannot be changed."""

    code, name = 6, "read-only"


class Constraint(Refused):
    """The value or the move breaks a rule of the data."""

    code, name = 7, "constraint"


class Denied(Refused, PermissionError):
    """Permissions or trust forbid the operation."""

    code, name = 11, "denied"

    def __str__(self) -> str:
        return self.message


class StorageError(Error):
    """Reading or writing failed."""

    code, name = 8, "io"


class Cancelled(Error):
    """`Table.cancel()` ended the call."""

    code, name = 9, "cancelled"


class Timeout(Error, TimeoutError):
    """The call took too long."""

    code, name = 10, "timeout"

    def __str__(self) -> str:
        return self.message


class ProviderError(Error):
    """A provider failed: it has a bug, it crashed, it broke the contract, or it is missing."""

    code, name = 12, "internal"


class ProviderFailed(ProviderError):
    """The provider reports a bug of its own."""

    code, name = 12, "internal"


class ProviderMisbehaved(ProviderError):
    """The provider broke the contract, or its process ended."""

    code, name = 100, "misbehaved"


class NoProvider(ProviderError):
    """No provider was found, or it could not be loaded."""

    code, name = 101, "no-provider"


class WrongData(Error, ValueError):
    """A cell has a value that the call cannot use, such as a text in a column that is summed."""

    code, name = 102, "wrong-data"


class LibraryMissing(Error, ImportError):
    """The library libtabella.so.0 was not found or could not be loaded."""

    name = "library-missing"

    def __str__(self) -> str:
        return self.message


_CLASSES: dict[int, type[Error]] = {
    each.code: each
    for each in (
        Unsupported, InvalidArgument, InvalidState, NotFound, Conflict, ReadOnly, Constraint, StorageError,
        Cancelled, Timeout, Denied, ProviderFailed, ProviderMisbehaved, NoProvider, WrongData,
    )
}  # fmt: skip


def error_class(code: int) -> type[Error]:
    """The class for a code. An unknown code means a bug of the provider."""
    return _CLASSES.get(code, ProviderFailed)


class DataWarning(UserWarning):
    """A warning of a provider about its data: the data was read, but perhaps not as its author meant it."""


def warn(messages: Iterable[str]) -> None:
    """Issues warnings about the line of the program that called this package."""
    for message in messages:
        warnings.warn(message, DataWarning, stacklevel=_depth())


def _depth() -> int:
    """The level of the first caller outside this package, counted from the caller of this function."""
    own, level, frame = f"{Path(__file__).parent}/", 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        level, frame = level + 1, frame.f_back
    return level
