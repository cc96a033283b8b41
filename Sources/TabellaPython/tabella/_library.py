"""Finds libtabella, loads it once, and guards it against use after fork."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

from .errors import InvalidState, LibraryMissing

NAME = "libtabella.so.0"
VARIABLE = "TABELLA_LIBRARY"

_lock = threading.Lock()
_loaded: ctypes.CDLL | None = None
_forked = False


def library() -> ctypes.CDLL:
    """The loaded library. Loads it at the first call.

    Raises InvalidState in a child process whose parent had loaded the library, and LibraryMissing.
    """
    global _loaded
    if _forked:
        raise InvalidState(
            "this process was forked from one that uses Tabella; "
            "start processes with the method 'spawn', or use Tabella only in the child"
        )
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def usable() -> bool:
    """Whether this process may call the library: it has loaded it, and is no fork."""
    return _loaded is not None and not _forked


def candidates() -> list[str]:
    """The files that are tried, in this order. The first existing one is loaded."""
    own = Path(__file__).parent / "_native" / "lib" / NAME
    if own.exists():
        return [str(own)]
    named = os.environ.get(VARIABLE)
    return [named] if named else [NAME]


def _load() -> ctypes.CDLL:
    (path,) = candidates()
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as problem:
        raise LibraryMissing(
            f"{path} cannot be loaded ({problem}); install the wheel of tabella or the package libtabella0, "
            f"or set the variable {VARIABLE} to the path of {NAME}"
        ) from None


def _after_fork_in_child() -> None:
    global _forked, _lock
    _lock = threading.Lock()
    _forked = _forked or _loaded is not None


os.register_at_fork(after_in_child=_after_fork_in_child)
