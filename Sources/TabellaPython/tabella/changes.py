"""Changes of a table, and following them."""

from __future__ import annotations

import atexit
import ctypes
import time
import weakref
from collections.abc import Sequence
from ctypes import byref, c_int, c_long, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator

from . import _structs as c
from ._arguments import wrong
from ._library import library, usable
from ._native import Handle, call, release
from .errors import InvalidState
from .rows import Path

if TYPE_CHECKING:
    from .table import Table

_KINDS = {1: "insert", 2: "delete", 3: "move", 4: "reload", 5: "reconfigure"}


@dataclass(frozen=True)
class Change:
    """One change of a row or of a section.

    `kind` is "insert", "delete", "move", "reload" (another row at the same position) or "reconfigure" (the same row
    with other cells; a section: another title). `source` counts in the old version, and `target` in the new one. A
    path that does not apply is None. The row of a section's path is -1.
    """

    kind: str
    source: Path | None
    target: Path | None

    @property
    def is_section(self) -> bool:
        """Whether the change concerns a section."""
        path = self.source or self.target
        return path is not None and path.row < 0


class Changes(Sequence):  # type: ignore[type-arg]
    """The changes from one version of a table to another: a sequence of `Change`.

    If `everything` is true, the list is empty, and the program must read the table again.
    """

    def __init__(
        self, changes: list[Change], from_version: str | None, to_version: str | None, everything: bool
    ) -> None:
        self._changes = changes
        self.from_version = from_version
        self.to_version = to_version
        self.everything = everything

    def __len__(self) -> int:
        return len(self._changes)

    def __getitem__(self, key: Any) -> Any:
        return self._changes[key]

    def __bool__(self) -> bool:
        return bool(self._changes) or self.everything

    def __repr__(self) -> str:
        return f"<tabella.Changes {'everything' if self.everything else self._changes!r}>"


def changes_of(struct: c.ListOfChanges) -> Changes:
    """Copies changes."""
    copied = [_change(struct.changes[at]) for at in range(struct.change_count)]
    return Changes(copied, c.text_of(struct.from_version), c.text_of(struct.to_version), bool(struct.flags & 1))


def _change(one: c.OneChange) -> Change:
    return Change(_KINDS.get(one.kind, f"kind {one.kind}"), _path(one.source), _path(one.target))


def _path(path: c.IndexPath) -> Path | None:
    return None if path.section < 0 else Path(path.section, path.row)


class _Signal:
    """A semaphore of the C library. The library's thread posts it without running any Python code."""

    class _Time(ctypes.Structure):
        _fields_ = [("seconds", c_long), ("nanoseconds", c_long)]

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], c_void_p
        libc.free.argtypes, libc.free.restype = [c_void_p], None
        # At the end of the interpreter, the memory is kept: a listener may still post.
        self.address: int = libc.malloc(64)
        weakref.finalize(self, libc.free, self.address).atexit = False
        self._wait = libc.sem_clockwait
        self._wait.argtypes, self._wait.restype = [c_void_p, c_int, ctypes.POINTER(self._Time)], c_int
        self._post = libc.sem_post
        self._post.argtypes, self._post.restype = [c_void_p], c_int
        self._try = libc.sem_trywait
        self._try.argtypes, self._try.restype = [c_void_p], c_int
        libc.sem_init.argtypes = [c_void_p, c_int, ctypes.c_uint]
        libc.sem_init(self.address, 0, 0)

    @property
    def poster(self) -> int:
        """The address of sem_post, as a function that takes the semaphore."""
        return ctypes.cast(self._post, c_void_p).value or 0

    def post(self) -> None:
        self._post(self.address)

    def wait(self, seconds: float) -> bool:
        """Waits for a post, and takes all posts. A Python signal handler may run in between."""
        moment = time.clock_gettime(time.CLOCK_MONOTONIC) + seconds
        until = self._Time(int(moment), int(moment % 1 * 1e9))
        if self._wait(self.address, time.CLOCK_MONOTONIC, byref(until)) != 0:
            return False
        while self._try(self.address) == 0:
            pass
        return True


class Follower:
    """Lists the changes of a table. `Table.follow()` makes one.

    Iteration waits for the next changes. It ends after `close()`, which any thread may call, or if `timeout` seconds
    pass without a change. Each step moves the table to the newest version, so one thread at a time should use both.
    """

    # A wait is at most this long, so that Python's signal handlers run.
    _STEP = 3600.0

    def __init__(self, table: Table, timeout: float | None = None) -> None:
        if timeout is not None and not hasattr(timeout, "__float__"):
            raise wrong("timeout", "a number of seconds", timeout)
        self._table = table
        self._timeout = timeout
        self._signal = _Signal()
        self._closed = False
        out = c_void_p()
        with table._handle as pointer:
            call("follow", pointer, byref(out))
        self._handle = Handle(out.value or 0, "follower_release", self._signal)
        _open.add(self)
        try:
            call("listen", out.value, self._signal.poster, self._signal.address)
        except BaseException:
            self._handle.close()
            raise
        # A change between the two calls above has no notice.
        self._signal.post()

    def wait(self, timeout: float | None = None) -> Changes | None:
        """The next changes, or None after `timeout` seconds without a change, or after `close()`."""
        library()
        end = None if timeout is None else time.monotonic() + timeout
        while not self._closed:
            left = self._STEP if end is None else end - time.monotonic()
            if self._signal.wait(max(0.0, min(left, self._STEP))):
                changes = self._pull()
                if changes:
                    return changes
            elif end is not None and time.monotonic() >= end:
                return None
        return None

    def _pull(self) -> Changes | None:
        struct = c.ListOfChanges()
        try:
            with self._handle as pointer:
                call("pull", pointer, byref(struct))
        except InvalidState:
            if self._closed and usable():
                return None
            raise
        try:
            changes = changes_of(struct)
        finally:
            release(struct)
        if changes:
            self._table._moved()
        return changes

    def __iter__(self) -> Iterator[Changes]:
        return self

    def __next__(self) -> Changes:
        changes = self.wait(self._timeout)
        if changes is None:
            raise StopIteration
        return changes

    def close(self) -> None:
        """Ends the iteration, also one that waits in another thread."""
        _open.discard(self)
        self._closed = True
        self._signal.post()
        self._handle.close()

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_open: weakref.WeakSet[Follower] = weakref.WeakSet()
# At the exit, a daemon thread has this many seconds to end its pull.
_PATIENCE = 5.0


@atexit.register
def _close_all() -> None:
    """Removes the listeners in front of the end of the interpreter."""
    if not usable():
        return
    ending = list(_open)
    for follower in ending:
        follower.close()
    end = time.monotonic() + _PATIENCE
    while not all(follower._handle.is_released for follower in ending) and time.monotonic() < end:
        time.sleep(0.001)


__all__ = ["Change", "Changes", "Follower"]
