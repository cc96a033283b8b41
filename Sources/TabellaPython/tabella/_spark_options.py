"""The options of the data source for Spark. Does not import pyspark."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

from .errors import InvalidArgument

_SIZE = re.compile(r"([0-9]+)\s*([kmgt]?)(i?b)?")
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
# `option.NAME` passes an option to the provider even if NAME is one of this page.
_PREFIX = "option."


@dataclass
class Options:
    """The options of one reading. docs/spark.md describes them."""

    locations: list[str] = field(default_factory=list)
    provider: str | None = None
    columns: list[str] | None = None
    filters: list[str] = field(default_factory=list)
    text: str = "utf8"
    bytes_per_task: int = 64 << 20
    tasks: int | None = None
    splits_sections: bool = False
    with_section: bool = False
    hosts: str | None = None
    command: str | None = None
    timeout: float = 60
    hosts_per_task: int = 64
    concurrency: int = 16
    bytes_per_host: int = 1 << 30
    has_shell: bool = True
    pushes: bool = True
    pushes_filters: bool = False
    #: The options of the provider.
    others: dict[str, str] = field(default_factory=dict)


def options_of(given: Mapping[str, str]) -> Options:
    """Parses the options that Spark passes. Their names ignore case. Raises InvalidArgument."""
    options = Options()
    for name, value in given.items():
        name = name.lower()
        if name.startswith(_PREFIX):
            options.others[name[len(_PREFIX) :]] = value
        elif name in ("path", "paths"):
            options.locations += [value] if name == "path" else _list("paths", value)
        elif name in _OPTIONS:
            attribute, parse = _OPTIONS[name]
            setattr(options, attribute, parse(name, value))
        else:
            options.others[name] = value
    _check(options)
    return options


def _check(options: Options) -> None:
    if options.hosts is None:
        if options.command is not None:
            raise InvalidArgument("the option command needs the option hosts")
        if not options.locations:
            raise InvalidArgument("there is no location: use load(\"LOCATION\"), or the options hosts and command")
        return
    if options.command is None:
        raise InvalidArgument("the option hosts needs the option command, such as \"ssh {host} tabella export processes:\"")
    if options.locations:
        raise InvalidArgument("with the option hosts, the command names the location: use load() without one")
    if options.others:
        name = next(iter(options.others))
        raise InvalidArgument(f"there is no option {name} with hosts: options of a provider are part of the command")


def _text(name: str, value: str) -> str:
    return value


def _list(name: str, value: str) -> list[str]:
    """A JSON array of texts, or else names with commas between them."""
    if value.lstrip().startswith("["):
        try:
            found = json.loads(value)
        except ValueError:
            found = None
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return found
        raise InvalidArgument(f"the option {name} cannot be {value}: it must be a list of texts")
    return [each.strip() for each in value.split(",") if each.strip()]


def _texts(name: str, value: str) -> list[str]:
    """A JSON array of texts, or one text."""
    return _list(name, value) if value.lstrip().startswith("[") else [value]


def _number(name: str, value: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", value.strip()) or int(value) < 1:
        raise InvalidArgument(f"the option {name} cannot be {value}: it must be a number from 1")
    return int(value)


def _seconds(name: str, value: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}([.][0-9]+)?", value.strip()) or float(value) == 0:
        raise InvalidArgument(f"the option {name} cannot be {value}: it must be a number of seconds above 0")
    return float(value)


def _size(name: str, value: str) -> int:
    found = _SIZE.fullmatch(value.strip().lower())
    if found is None or int(found[1]) == 0:
        raise InvalidArgument(f"the option {name} cannot be {value}: it must be a number of bytes, such as 64m")
    return int(found[1]) << _UNITS[found[2]]


def _flag(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise InvalidArgument(f"the option {name} cannot be {value}: it must be true or false")
    return value.lower() == "true"


def _text_form(name: str, value: str) -> str:
    if value not in ("utf8", "binary"):
        raise InvalidArgument(f"the option {name} cannot be {value}: it must be utf8 or binary")
    return value


_OPTIONS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "provider": ("provider", _text),
    "columns": ("columns", _list),
    "filter": ("filters", _texts),
    "text": ("text", _text_form),
    "bytespertask": ("bytes_per_task", _size),
    "tasks": ("tasks", _number),
    "splitsections": ("splits_sections", _flag),
    "withsection": ("with_section", _flag),
    "hosts": ("hosts", _text),
    "command": ("command", _text),
    "timeout": ("timeout", _seconds),
    "hostspertask": ("hosts_per_task", _number),
    "concurrency": ("concurrency", _number),
    "bytesperhost": ("bytes_per_host", _size),
    "shell": ("has_shell", _flag),
    "push": ("pushes", _flag),
    "pushfilters": ("pushes_filters", _flag),
}
