"""Checks temporary files: nobody can predict the name, and only the owner can read the file."""

import os
import re

import trace
import tree as trees
from sweep import Sweep

SECRET = b"nobody but me"


def created(case, root, umask):
    """The files that a run creates and removes again: path, and the call that created it."""
    case.set_up(root)
    log = root + ".log"
    outcome = case.run(
        root, wrapper=["strace", "-f", "-qq", "-y", "-e", "signal=none", "-o", log], umask=umask
    )
    assert outcome.status == 0, f"{case.name}: {outcome.status}: {outcome.message}"
    calls = trace.parse(trace.read_log(log))
    os.unlink(log)
    made = {}
    for call in calls:
        if call.name in ("open", "openat", "creat") and "O_CREAT" in call.arguments:
            path = re.search(r"<(.*?)>", call.result)
            if path and path.group(1).startswith(root + "/user/"):
                made[path.group(1)] = call
        elif call.name == "linkat" and "/proc/self/fd" in call.arguments:
            folder, name = re.search(r'<([^>]*)>, "([^"]*)", AT_', call.arguments).groups()
            if folder.startswith(root + "/user"):
                made[f"{folder}/{name}"] = call
    return {path: call for path, call in made.items() if not os.path.exists(path)}


def temporary_sweep(settings, all_cases):
    sweep = Sweep("temporaries", settings)

    def body(point, root):
        label, case, reference = point
        first, second = (created(case, root, umask) for umask in (0o022, 0))
        sweep.figures["points"] += len(first) + len(second)
        for path, call in {**first, **second}.items():
            if call.name == "linkat":
                continue
            if "O_EXCL" not in call.arguments:
                sweep.fail("not exclusive", label, f"{path}: {call.arguments}")
            mode = re.search(r"\b0[0-7]+$", call.arguments)
            if mode and int(mode.group(), 8) & 0o077:
                sweep.fail("readable", label, f"{path} is made with mode {mode.group()}")
        for path in first.keys() & second.keys():
            sweep.fail("predictable", label, f"{path} has the same name each time")
        for path in first.keys() | second.keys():
            if re.search(rf"(?<![0-9a-z]){call_of(path, first, second).thread}(?![0-9a-z])", os.path.basename(path)):
                sweep.fail("predictable", label, f"{path} has the name of the process")
        # The run must not write through a link that has the previous temporary name.
        case.set_up(root)
        victim = os.path.join(root, "home", "secret")
        with open(victim, "wb") as stream:
            stream.write(SECRET)
        for path in first.keys() | second.keys():
            os.symlink(victim, path)
        case.run(root)
        sweep.count("points")
        with open(victim, "rb") as stream:
            if stream.read() != SECRET:
                sweep.fail("overwritten", label, "writes through a link that waits under its temporary name")

    sweep.each([(case.name, case, ref) for case, ref in sweep.references(all_cases)], body)
    return sweep.finish()


def call_of(path, first, second):
    return first.get(path) or second[path]
