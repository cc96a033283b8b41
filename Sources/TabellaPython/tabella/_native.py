"""The functions of libtabella with their types, and calls that raise errors."""

from __future__ import annotations

import ctypes
import threading
import weakref
from ctypes import POINTER, byref, c_int32, c_int64, c_uint32, c_void_p
from typing import Any, Callable

from . import _structs as c
from ._library import library, usable
from .errors import Error, InvalidState, error_class

_FAILURE = POINTER(c.Failure)
_OUT = POINTER(c_void_p)

# The arguments in front of the last one, which is always a tabella_error.
_CODES: dict[str, list[Any]] = {
    "host_create": [POINTER(c.Settings), _OUT],
    "providers": [c_void_p, _OUT],
    "open": [c_void_p, POINTER(c.Request), _OUT],
    "join": [POINTER(c_void_p), c_int64, _OUT],
    "shaped": [c_void_p, POINTER(c.Shape), _OUT],
    "summarize": [c_void_p, c.String, c.String, c_uint32, _OUT],
    "source": [c_void_p, POINTER(c.Source)],
    "stream": [c_void_p, POINTER(c.StreamRequest), POINTER(c.ArrowArrayStream)],
    "commit": [c_void_p, POINTER(c.EditBatch), POINTER(c.EmbedEdit)],
    "undo": [c_void_p, c.String, c_uint32, POINTER(c.EmbedEdit)],
    "log": [c_void_p, c.String, _OUT],
    "follow": [c_void_p, _OUT],
    "pull": [c_void_p, POINTER(c.ListOfChanges)],
    "listen": [c_void_p, c_void_p, c_void_p],
}
_PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "version": (c.String, []),
    "host_release": (None, [c_void_p]),
    "table_release": (None, [c_void_p]),
    "follower_release": (None, [c_void_p]),
    "cancel": (None, [c_void_p]),
    "provider": (c.String, [c_void_p]),
}
_functions: dict[str, Any] = {}


def function(name: str) -> Any:
    """The function tabella_embed_NAME, declared. Raises as `library()` does."""
    loaded = library()
    found = _functions.get(name)
    if found is None:
        found = getattr(loaded, "tabella_embed_" + name)
        if name in _CODES:
            found.restype, found.argtypes = c_int32, [*_CODES[name], _FAILURE]
        else:
            found.restype, found.argtypes = _PLAIN[name]
        _functions[name] = found
    return found


def call(name: str, *arguments: Any) -> None:
    """Calls tabella_embed_NAME. Raises the error that it reports."""
    failure = c.Failure()
    code = function(name)(*arguments, byref(failure))
    if code != c.OK:
        raise error_of(code, failure)


def error_of(code: int, failure: c.Failure) -> Error:
    """Copies the details of a failure, and releases them."""
    message = c.text_of(failure.message)
    located = failure.located
    kind = error_class(code)
    error = kind(
        message or kind.name,
        section=failure.path.section if located & 1 else None,
        row=failure.path.row if located & 2 else None,
        column=failure.column if located & 4 else None,
        retryable=bool(failure.retryable),
        code=code,
    )
    release(failure)
    return error


def release(struct: Any) -> None:
    """Calls the release function of a struct, if it is set."""
    if struct.release:
        c.Release(struct.release)(ctypes.addressof(struct))


class Handle:
    """A pointer of the library that this object owns.

    `close()` releases the pointer, at the latest when the calls that use it have ended. A handle that is collected
    is closed. Any thread may do either. `kept` lives until the release.
    """

    def __init__(self, pointer: int, release_name: str, kept: object = None) -> None:
        self._pointer = pointer
        self._lock = threading.Lock()
        self._users = 0
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _release_pointer, function(release_name), pointer, kept)
        self._finalizer.atexit = False

    @property
    def is_closed(self) -> bool:
        """Whether `close()` was called."""
        return self._is_closed

    @property
    def is_released(self) -> bool:
        """Whether the pointer is released."""
        return not self._finalizer.alive

    def __enter__(self) -> int:
        """The pointer, for one call. Raises InvalidState after `close()`."""
        library()
        with self._lock:
            if self._is_closed:
                raise InvalidState("the object is closed")
            self._users += 1
            return self._pointer

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            ends = self._is_closed and self._users == 0
        if ends:
            self._finalizer()

    def close(self) -> None:
        """Closes the handle. Calling it twice is allowed."""
        if not usable():
            self._is_closed = True
            return
        with self._lock:
            self._is_closed = True
            ends = self._users == 0
        if ends:
            self._finalizer()


def _release_pointer(how: Callable[[int], None], pointer: int, _kept: object) -> None:
    if usable():
        how(pointer)
