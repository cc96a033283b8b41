"""Capsules of the Arrow PyCapsule interface, made with ctypes.

A capsule has no destructor: a destructor in Python would run while another exception is being raised, and would
lose it. Instead, this module keeps each capsule with its struct. It frees both when nobody else has the capsule,
at the next `sweep()`. Consumers move the content out of the struct, so usually there is little left to free.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any, Union

from . import _structs as c
from ._library import usable
from ._native import release

Struct = Union[c.ArrowSchema, c.ArrowArrayStream]

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

# The name must live as long as the capsules.
_NAMES = {c.ArrowSchema: b"arrow_schema", c.ArrowArrayStream: b"arrow_array_stream"}

_lock = threading.Lock()
_kept: list[tuple[Any, Struct]] = []


def capsule(struct: Struct) -> Any:
    """A capsule that owns this struct."""
    made = _new(ctypes.addressof(struct), _NAMES[type(struct)], None)
    with _lock:
        _kept.append((made, struct))
    return made


def schema_in(capsule: Any) -> c.ArrowSchema:
    """The schema in a consumer's capsule. It is borrowed."""
    return c.ArrowSchema.from_address(_pointer(capsule, b"arrow_schema"))


def _references(entry: tuple[Any, Struct]) -> int:
    return sys.getrefcount(entry[0])


_ALONE = _references((_new(1, b"arrow_schema", None), c.ArrowSchema()))


def sweep() -> int:
    """Frees the capsules that nobody has any more. Returns the number of the others."""
    with _lock:
        # One pass: another thread can drop a capsule at any moment.
        ended: list[tuple[Any, Struct]] = []
        others: list[tuple[Any, Struct]] = []
        for entry in _kept:
            (ended if _references(entry) <= _ALONE else others).append(entry)
        _kept[:] = others
    for _, struct in ended:
        if usable():
            release(struct)
    return len(_kept)
