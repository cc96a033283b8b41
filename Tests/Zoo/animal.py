"""An animal: a bad provider, the command that opens it, and the expected result."""

import dataclasses
import re
from typing import Callable, Optional


@dataclasses.dataclass(frozen=True)
class Library:
    """A source in Animals/ and its compilation. Each library has its own folder with a manifest. `id` is the provider's
    id and scheme. `spoil` changes the bytes of the library, and `manifest` the members of the manifest."""

    id: str
    source: str = "good.c"
    flags: tuple = ()
    spoil: Optional[Callable] = None
    manifest: tuple = ()
    file: str = ""

    @property
    def name(self):
        return self.file or f"{self.id}.so"


# The possible rows in the output of a command.
WHOLE = "whole"  # all rows of a good provider, and nothing else
EMPTY = "nothing"


@dataclasses.dataclass
class Animal:
    """`command` has the words after tabella. {at} is the location, {file} a file of the animal.

    `status` contains the permitted statuses. `says` is a regular expression for the only error line (None: no error
    line). `shows` is WHOLE, EMPTY, a regular expression, or None for the rules that always hold. `seconds` is the
    permitted duration, and `megabytes` the permitted memory of tabella itself.

    `check` is the expected result of `tabella check`: the name of a check and its status. None means that no check
    covers the fault."""

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
    # Permitted lines besides the error: the labelled output of the provider.
    remarks: str = ""
    also: tuple = ()  # further libraries that must exist
    before: tuple = ()  # a command to run first, without judging it
    prepare: Optional[Callable] = None  # (place): before the command
    between: Optional[Callable] = None  # (place): after `before`
    meanwhile: Optional[Callable] = None  # (place, process): during the command
    after: Optional[Callable] = None  # (place, outcome): returns a fault, or None
    check: Optional[tuple] = None
    options: dict = dataclasses.field(default_factory=dict)  # of the run: environment, …

    def __post_init__(self):
        for pattern in (self.says, self.remarks or None):
            if pattern:
                re.compile(pattern)
