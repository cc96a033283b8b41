"""Hosts: they find providers and open locations."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from ctypes import byref, c_void_p
from typing import Any, Sequence, Union

from . import _arguments as arguments
from . import _structs as c
from ._arguments import Location, wrong
from ._native import Handle, call
from .edits import EditResult, raise_first_failure, result_of
from .errors import InvalidArgument, InvalidState
from .table import Table

Option = Union[str, int, float, bool]

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
        if not isinstance(isolation, str) or isolation not in _ISOLATION:
            raise InvalidArgument(f"isolation must be one of {', '.join(_ISOLATION)}, not {isolation!r}")
        strings = c.Strings()
        settings = c.Settings(
            strings.string(None if provider_path is None else _path(provider_path)),
            strings.string(None if worker is None else _absolute("worker", worker)),
            strings.string(None if receipts is None else _absolute("receipts", receipts)),
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
        strings, out = c.Strings(), c_void_p()
        pairs = [
            c.OptionValue(strings.string(name), strings.string(value)) for name, value in _options(options)
        ]
        array = (c.OptionValue * len(pairs))(*pairs)
        name = arguments.location("location", location)
        chosen = strings.string(arguments.text("provider", provider))
        request = c.Request(strings.string(name), chosen, array, len(pairs), 1 if editing else 0, 0)
        with self._handle as host:
            call("open", host, byref(request), byref(out))
        read_only = None if editing else "it is open for reading only; open it with editing=True"
        # The program can change its current directory before an undo. A location with a scheme is no path.
        is_relative = not os.path.isabs(name) and os.path.lexists(name)
        root = os.path.join(os.getcwdb(), name) if is_relative else name
        return Table(self, out.value or 0, os.fsdecode(name), root, read_only)

    def join(self, tables: Sequence[Table]) -> Table:
        """Joins tables of this host: their sections one after the other, columns united by name."""
        tables, out = tables_of(tables), c_void_p()
        with ExitStack() as uses:
            pointers = [uses.enter_context(table._handle) for table in tables]
            call("join", (c_void_p * len(pointers))(*pointers), len(pointers), byref(out))
        return Table(self, out.value or 0, " + ".join(table.location for table in tables))

    def providers(self) -> Table:
        """A table of the providers that were found, and of the refused ones with the reason."""
        out = c_void_p()
        with self._handle as host:
            call("providers", host, byref(out))
        return Table(self, out.value or 0, "providers")

    def log(self, location: Location | None = None) -> Table:
        """A table of the edits of a location, or of all locations, newest first."""
        strings, out = c.Strings(), c_void_p()
        name = None if location is None else arguments.location("location", location)
        with self._handle as host:
            call("log", host, strings.string(name), byref(out))
        return Table(self, out.value or 0, "log")

    def undo(self, what: Location | EditResult, *, dry_run: bool = False) -> EditResult:
        """Undoes the newest edit of a location, or one edit: its receipt, or its result. See `tabella.undo`."""
        strings, out = c.Strings(), c.EmbedEdit()
        place = what.receipt if isinstance(what, EditResult) else what
        if isinstance(what, EditResult) and place is None:
            raise InvalidState("the edit has no receipt, so it cannot be undone")
        name = strings.string(arguments.location("what", place))
        with self._handle as host:
            call("undo", host, name, c.DRY_RUN if dry_run else 0, byref(out))
        result = result_of(out, dry_run)
        raise_first_failure(result)
        return result


    def __reduce__(self) -> Any:
        raise TypeError("a host cannot be pickled or copied; create one in each process")


def tables_of(tables: Any) -> list[Table]:
    """A list of tables."""
    found = None if isinstance(tables, Table) else arguments.items(tables)
    if found is None or not all(isinstance(each, Table) for each in found):
        raise wrong("tables", "a list of tables", tables)
    return found


def _path(folders: Any) -> bytes:
    """Folders, separated by colons."""
    found = None if isinstance(folders, (str, bytes)) else arguments.items(folders)
    if found is None:
        raise wrong("provider_path", "a list of folders", folders)
    return b":".join(_absolute("a folder of provider_path", each) for each in found)


def _absolute(name: str, path: Any) -> bytes:
    return os.path.abspath(arguments.location(name, path))


def _options(options: Any) -> list[tuple[str, str]]:
    """Pairs of names and texts."""
    if options is None:
        return []
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise wrong("options", "a dictionary from names to values", options)
    return [(name, _option(name, value)) for name, value in options.items()]


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise wrong(f"the option {name}", "a str, a number or a bool", value)


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
