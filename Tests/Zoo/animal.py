"""An animal: a bad provider, the command that opens it, and the expected result."""

import dataclasses
import re
from typing import Callable, Optional


@dataclasses.dataclass(frozen=True)
class Library:
    """A source in Animals/ and how it is compiled. Each has a folder of its own with a manifest; its `id`
    is the provider's id and scheme. `spoil` changes the bytes of the library, `manifest` the manifest's
    members."""

    id: str
    source: str = "good.c"
    flags: tuple = ()
    spoil: Optional[Callable] = None
    manifest: tuple = ()
    file: str = ""

    @property
    def name(self):
        return self.file or f"{self.id}.so"


# The states in which what a command says may be.
WHOLE = "whole"  # all the rows of a good provider, and nothing else
EMPTY = "nothing"


@dataclasses.dataclass
class Animal:
    """`command` has the words after tabella; {at} is the location, {file} a file of the animal's own.

    `status` are the statuses allowed, `says` is a regular expression that the one error line matches (None:
    there must be none). `shows`: WHOLE, EMPTY, a regular expression, or None for whatever holds in any
    case. `seconds` is how long the command may take, `megabytes` what tabella itself may need.

    `check` is what `tabella check` must find: the name of a check and how it ends, or None if the fault is
    none that it looks for."""

    kind: str
    name: str
    library: Library
    command: tuple = ("show", "{at}")
    location: str = ""
    status: tuple = (3,)
    says: Optional[str] = None
    shows: Optional[str] = None
    seconds: float = 8
    megabytes: int = 200
    slow: bool = False
    # Lines besides the error that may be there: what the provider said itself, labelled.
    remarks: str = ""
    also: tuple = ()  # libraries that must be there too
    before: tuple = ()  # a command that is run first, without judging
    prepare: Optional[Callable] = None  # (place): before the command
    between: Optional[Callable] = None  # (place): after `before`
    meanwhile: Optional[Callable] = None  # (place, process): beside it
    after: Optional[Callable] = None  # (place, outcome): returns what is wrong, or None
    check: Optional[tuple] = None
    options: dict = dataclasses.field(default_factory=dict)  # of the run: environment, …

    def __post_init__(self):
        for pattern in (self.says, self.remarks or None):
            if pattern:
                re.compile(pattern)
