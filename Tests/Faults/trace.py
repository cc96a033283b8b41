"""Reads the log of strace: the system calls of a run, in order."""

import os
import re
from typing import NamedTuple

# Calls that name a path but do not change it.
ONLY_NAMES = {"execve", "getcwd", "readlink", "chdir"}


class Call(NamedTuple):
    """One system call. `ordinal` counts the calls of this name in this thread, from 1."""

    thread: int
    name: str
    arguments: str
    result: str
    ordinal: int


CALL = re.compile(r"^(\w+)\((.*)\)\s+= (.*)$", re.DOTALL)


def parse(text):
    """Returns the calls in the order of their ends, without signals and ends of threads."""
    unfinished = {}
    counts = {}
    calls = []
    for line in text.splitlines():
        thread, _, rest = line.partition(" ")
        if not thread.isdigit():
            continue
        thread, rest = int(thread), rest.lstrip()
        if rest.endswith("<unfinished ...>"):
            unfinished[thread] = rest.removesuffix("<unfinished ...>")
            continue
        if rest.startswith("<... "):
            rest = unfinished.pop(thread, "") + rest.partition(" resumed>")[2]
        match = CALL.match(rest)
        if not match:
            continue
        name, arguments, result = match.groups()
        counts[thread, name] = counts.get((thread, name), 0) + 1
        calls.append(Call(thread, name, arguments, result.strip(), counts[thread, name]))
    return calls


def read_log(path):
    with open(path, encoding="latin-1") as stream:
        return stream.read()


def record(case, root, *options):
    """Runs the case under strace. Returns its outcome and the log."""
    log = root + ".log"
    outcome = case.run(root, wrapper=["strace", "-f", "-qq", "-e", "signal=none", "-o", log, *options])
    text = read_log(log)
    os.unlink(log)
    return outcome, text


def calls_of(case, root):
    """The calls from the first one that touches the root. Earlier calls belong to the loader."""
    case.set_up(root)
    outcome, text = record(case, root)
    assert outcome.status == 0, f"{case.name} under strace: {outcome.status}: {outcome.message}"
    calls = parse(text)
    first = next(
        i for i, call in enumerate(calls) if root in call.arguments and call.name not in ONLY_NAMES
    )
    return calls[first:]


def points_of(case, root):
    """The points for faults: (name of a call, ordinal), each once, in order.

    strace counts in each thread separately, so one ordinal can mean a call in several threads."""
    return list(dict.fromkeys((call.name, call.ordinal) for call in calls_of(case, root)))


def injection(name, what, when, log="/dev/null"):
    """The words in front of a command that inject a fault."""
    return ["strace", "-f", "-qq", "-o", log, "-e", f"trace={name}", "-e", f"inject={name}:{what}:when={when}"]
