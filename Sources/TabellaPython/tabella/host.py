"""Hosts: they find providers and open locations."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from ctypes import byref, c_void_p
from typing import Mapping, Sequence, Union

from . import _structs as c
from ._native import Handle, call
from .edits import EditResult, raise_first_failure, result_of
from .errors import InvalidArgument, InvalidState
from .table import Location, Table

Option = Union[str, int, bool]

_ISOLATION = {"automatic": 0, "always": 1, "never": 2}


class Host:
    """Finds providers, opens locations, and keeps receipts.

    Calls on one host and its tables wait for each other. A program that reads in several threads at the same time
    makes one host per thread. The functions of the module use one host for the whole process.

    `provider_path` lists the folders of providers. `worker` is the program tabella-worker. `receipts` is the folder
    of receipts. Their defaults are those of the command `tabella`. `isolation` is "automatic" (shipped providers run
    in this process, others in workers), "always" (all in workers) or "never". `weak_isolation` allows edits through
    foreign providers even if the system lacks a part of their confinement.
    """

    def __init__(
        self,
        *,
        provider_path: Sequence[Location] | None = None,
        worker: Location | None = None,
        receipts: Location | None = None,
        isolation: str = "automatic",
        weak_isolation: bool = False,
    ) -> None:
        if isolation not in _ISOLATION:
            raise InvalidArgument(f"isolation must be one of {', '.join(_ISOLATION)}")
        strings = c.Strings()
        folders = None if provider_path is None else b":".join(map(_absolute, provider_path))
        settings = c.Settings(
            strings.string(folders),
            strings.string(None if worker is None else _absolute(worker)),
            strings.string(None if receipts is None else _absolute(receipts)),
            _ISOLATION[isolation],
            1 if weak_isolation else 0,
        )
        out = c_void_p()
        call("host_create", byref(settings), byref(out))
        self._handle = Handle(out.value or 0, "host_release")

    def close(self) -> None:
        """Closes the host. Its tables stay open."""
        self._handle.close()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(
        self,
        location: Location,
        *,
        provider: str | None = None,
        options: Mapping[str, Option] | None = None,
        editing: bool = False,
    ) -> Table:
        """Opens a location: a path, or "scheme:rest". See `tabella.open`."""
        strings = c.Strings()
        pairs = [
            c.OptionValue(strings.string(name), strings.string(_option(value)))
            for name, value in (options or {}).items()
        ]
        array = (c.OptionValue * len(pairs))(*pairs)
        name = os.fsencode(location)
        request = c.Request(
            strings.string(name), strings.string(provider), array, len(pairs), 1 if editing else 0, 0
        )
        out = c_void_p()
        with self._handle as host:
            call("open", host, byref(request), byref(out))
        return Table(self, out.value or 0, os.fsdecode(name), name)

    def join(self, tables: Sequence[Table]) -> Table:
        """Joins tables of this host: their sections one after the other, columns united by name."""
        tables, out = list(tables), c_void_p()
        with ExitStack() as uses:
            pointers = [uses.enter_context(table._handle) for table in tables]
            call("join", (c_void_p * len(pointers))(*pointers), len(pointers), byref(out))
        return Table(self, out.value or 0, " + ".join(table.location for table in tables), None)

    def providers(self) -> Table:
        """A table of the providers that were found, and of the refused ones with the reason."""
        out = c_void_p()
        with self._handle as host:
            call("providers", host, byref(out))
        return Table(self, out.value or 0, "providers", None)

    def log(self, location: Location | None = None) -> Table:
        """A table of the edits of a location, or of all locations, newest first."""
        strings, out = c.Strings(), c_void_p()
        name = None if location is None else os.fsencode(location)
        with self._handle as host:
            call("log", host, strings.string(name), byref(out))
        return Table(self, out.value or 0, "log", None)

    def undo(self, what: Location | EditResult, *, dry_run: bool = False) -> EditResult:
        """Undoes the newest edit of a location, or one edit: "receipt:ID", or its result. See `tabella.undo`."""
        strings, out = c.Strings(), c.EmbedEdit()
        place = what.receipt if isinstance(what, EditResult) else what
        if place is None:
            raise InvalidState("the edit has no receipt, so it cannot be undone")
        name = strings.string(os.fsencode(place))
        with self._handle as host:
            call("undo", host, name, c.DRY_RUN if dry_run else 0, byref(out))
        result = result_of(out, dry_run)
        raise_first_failure(result)
        return result


def _absolute(path: Location) -> bytes:
    return os.path.abspath(os.fsencode(path))


def _option(value: Option) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_lock = threading.Lock()
_default: Host | None = None


def default_host() -> Host:
    """The host of the functions of the module. It is created at the first call."""
    global _default
    if _default is None:
        from ._library import library

        library()
        with _lock:
            if _default is None:
                _default = Host()
    return _default


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)
