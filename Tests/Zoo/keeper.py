"""Runs a command on an animal, watches the resources that it uses and leaves behind, and judges it."""

import ctypes
import dataclasses
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import time

import build
from animal import EMPTY, WHOLE, Library

GOOD = Library("good")
# No animal may bring this onto standard output, or onto standard error without its label.
RUBBISH = b"RUBBISH"
MOST_ERRORS = 64 * 1024
SOME = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
# The start of a line that tabella passes on from a provider.
LABEL = re.compile(r"^tabella: provider \S+: (says|was denied): ")

# Reports of editing commands on standard error.
EDITS = ("set", "insert", "delete", "move", "apply", "undo")
REPORT = re.compile(r"^tabella: [^ ]+: (done|undo|receipt|dry run): ")


@dataclasses.dataclass
class Settings:
    tabella: str
    folder: pathlib.Path
    good_csv: bytes = b""
    user: str = ""
    keep: bool = False


@dataclasses.dataclass
class Outcome:
    status: int
    out: bytes
    err: bytes
    seconds: float
    hung: bool
    peak: int  # of tabella itself, in MB
    whole_peak: int  # of the largest process, in MB
    left: list

    @property
    def lines(self):
        return self.err.decode(errors="replace").splitlines()


def adopt_orphans():
    """Makes this process the new parent of orphaned descendants."""
    PR_SET_CHILD_SUBREAPER = 36
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


# Leftovers


def children(process):
    try:
        tasks = os.listdir(f"/proc/{process}/task")
        return [int(word) for task in tasks for word in pathlib.Path(f"/proc/{process}/task/{task}/children").read_text().split()]
    except OSError:
        return []


def name_of(process):
    try:
        words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return words or pathlib.Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return "?"


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass


def left_behind(patience=1.5):
    """The processes that outlive tabella. Kills them, too."""
    limit = time.monotonic() + patience
    while True:
        reap()
        living = children(os.getpid())
        if not living or time.monotonic() > limit:
            break
        time.sleep(0.02)
    names = [name_of(process) for process in living]
    while living:
        for process in living:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        reap()
        living = children(os.getpid())
    return names


def peak_of(process):
    try:
        with open(f"/proc/{process}/status") as stream:
            for line in stream:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) // 1024
    except (OSError, ValueError):
        pass
    return 0


# Running


def environment(settings, place, folders):
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "LC_ALL": "C",
        "NO_COLOR": "1",
        "HOME": str(place / "home"),
        "XDG_STATE_HOME": str(place / "state"),
        "XDG_DATA_HOME": str(place / "data"),
        "XDG_CACHE_HOME": str(place / "cache"),
        "XDG_CONFIG_HOME": str(place / "config"),
        "XDG_RUNTIME_DIR": str(place / "runtime"),
        "TABELLA_PROVIDER_PATH": ":".join(map(str, folders)),
    }


def execute(settings, arguments, place, variables, seconds, meanwhile=None, open_input=None):
    """Runs a command in its own session and waits for it, but not for its leftovers. `open_input` receives the place
    and returns a descriptor for standard input, which is empty otherwise."""
    standard_input = open_input(place) if open_input else os.open(os.devnull, os.O_RDONLY)
    out, err = place / "out", place / "err"
    as_user = {"user": settings.user, "group": "nogroup", "extra_groups": []} if settings.user else {}
    began = time.monotonic()
    with open(out, "wb") as to_out, open(err, "wb") as to_err:
        process = subprocess.Popen(
            arguments, env=variables, cwd=place, stdin=standard_input, stdout=to_out, stderr=to_err,
            start_new_session=True, **as_user)  # fmt: skip
    os.close(standard_input)
    if meanwhile:
        meanwhile(place, process)
    peak, hung, pause = 0, False, 0.002
    while True:
        peak = max(peak, peak_of(process.pid))
        found, status, usage = os.wait4(process.pid, os.WNOHANG)
        if found:
            break
        if time.monotonic() - began > seconds and not hung:
            hung = True
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.2, 0.05)
    took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    left = left_behind(0 if hung else 1.5)
    return Outcome(process.returncode, head(out), head(err), took, hung, peak, usage.ru_maxrss // 1024, left)


def head(path, most=4 << 20):
    with open(path, "rb") as stream:
        return stream.read(most)


def words_of(animal, place, form):
    at = f"{animal.library.id}:{animal.location}"
    file = place / "files" / f"rows.{animal.location or 'x'}"
    values = {"at": at, "library_id": animal.library.id, "file": f"{animal.library.id}:{file}", "place": str(place), "library": str(place / "library" / animal.library.id / animal.library.name)}

    def filled(command):
        words = [word.format(**values) for word in command]
        if words[0] == "show" and "--format" not in words and "--json" not in words:
            words[1:1] = ["--json"] if form == "json" else ["--format", "csv"]
        return words

    return filled


def meet(settings, animal, form="csv"):
    """Runs an animal. Returns the outcome and the faults."""
    place = settings.folder / f"{animal.kind}-{animal.name}"
    place.mkdir(mode=0o700)
    for name in ["home", "state", "data", "cache", "config", "runtime", "files", "library"]:
        (place / name).mkdir(mode=0o700)
    try:
        folders = [build.house(library, place / "library") for library in (animal.library, *animal.also)]
        if any("{file}" in word for word in animal.command):
            (place / "files" / f"rows.{animal.location or 'x'}").touch()
        if settings.user:
            hand_over(place, settings.user)
        if animal.prepare:
            folders = animal.prepare(place) or folders
        # The owner of the library matters only for trust.
        if settings.user and animal.kind != "P40":
            hand_over(place, settings.user)
        variables = {**environment(settings, place, folders), **animal.options.get("environment", {})}
        filled = words_of(animal, place, form)
        if animal.before:
            execute(settings, [settings.tabella, *filled(animal.before)], place, variables, 30)
        if animal.between:
            animal.between(place)
        outcome = execute(settings, [settings.tabella, *filled(animal.command)], place, variables, animal.seconds, animal.meanwhile,
                          animal.options.get("input"))  # fmt: skip
        wrong = judge(settings, animal, outcome, "--json" in filled(animal.command))
        if animal.after:
            complaint = animal.after(place, outcome)
            wrong += [complaint] if complaint else []
        return outcome, wrong
    finally:
        if not settings.keep:
            shutil.rmtree(place, ignore_errors=True)


def hand_over(place, user):
    """Gives the files of this process to the user. Files of others keep their owner."""
    number = pwd.getpwnam(user).pw_uid
    for folder, _, files in os.walk(place):
        for path in [folder, *(os.path.join(folder, name) for name in files)]:
            if os.lstat(path).st_uid == os.geteuid():
                os.chown(path, number, -1, follow_symlinks=False)


# Judging


def judge(settings, animal, outcome, is_json):
    wrong = []
    if outcome.hung:
        return [f"did not end within {animal.seconds} s"]
    if outcome.status not in animal.status:
        wrong.append(f"status {outcome.status}, not {' or '.join(map(str, animal.status))}")
    wrong += judge_errors(animal, outcome, is_json)
    wrong += judge_output(settings, animal, outcome, is_json)
    if outcome.peak > animal.megabytes:
        wrong.append(f"tabella needed {outcome.peak} MB, more than {animal.megabytes}")
    if outcome.left:
        wrong.append(f"left behind: {', '.join(outcome.left)}")
    return wrong


def judge_errors(animal, outcome, is_json):
    """Checks standard error: one line, bytes within bounds, and labels for the provider's output."""
    wrong = []
    if len(outcome.err) > MOST_ERRORS:
        wrong.append(f"{len(outcome.err)} bytes on standard error")
    lines = [line for line in outcome.lines if not LABEL.match(line)]
    if animal.command[0] in EDITS:
        lines = [line for line in lines if not REPORT.search(line)]
    if animal.remarks:
        lines = [line for line in lines if not re.search(animal.remarks, line)]
    if SOME.search(outcome.err):
        wrong.append(f"control characters on standard error: {outcome.err[:200]!r}")
    if any("RUBBISH" in line for line in lines):
        wrong.append(f"what the provider wrote is not labelled: {lines}")
    if outcome.status == 0 or animal.says is None:
        if lines and animal.says is None:
            wrong.append(f"an error line that should not be there: {lines[0]}")
        return wrong
    if len(lines) != 1:
        return wrong + [f"{len(lines)} error lines, not one: {lines[:4]}"]
    line = lines[0]
    if is_json:
        try:
            error = json.loads(line)["error"]
            line = error["message"]
            if error["status"] != outcome.status:
                wrong.append(f"the error has status {error['status']}, the command {outcome.status}")
        except (ValueError, KeyError, TypeError):
            return wrong + [f"no error object: {line}"]
    elif not line.startswith("tabella: "):
        wrong.append(f"no error line of tabella: {line}")
    if not re.search(animal.says, line):
        wrong.append(f"says: {line}\n      not: {animal.says}")
    return wrong


def judge_output(settings, animal, outcome, is_json):
    wrong = []
    if RUBBISH in outcome.out:
        wrong.append("what the provider wrote is on standard output")
    if animal.shows == EMPTY and outcome.out:
        wrong.append(f"standard output has {outcome.out[:80]!r}")
    document = None
    if is_json and outcome.out:
        try:
            document = json.loads(outcome.out)
            if outcome.status != 0 and "error" not in document:
                wrong.append("the document does not say that it is not whole")
        except ValueError as error:
            wrong.append(f"no JSON document: {error}: {outcome.out[-80:]!r}")
    elif is_json and outcome.status == 0:
        wrong.append("no document")
    if animal.shows == WHOLE and outcome.status == 0:
        if is_json:
            rows = [row["cells"] for section in (document or {}).get("sections", []) for row in section["rows"]]
            wrong += [] if len(rows) == 300 and rows[0] == ["ant 0", 0, 0] else [f"shows {len(rows)} rows"]
        elif outcome.out != settings.good_csv:
            wrong.append(f"does not show the rows: {outcome.out[:80]!r}")
    elif animal.shows not in (None, WHOLE, EMPTY) and not re.search(animal.shows.encode(), outcome.out):
        wrong.append(f"shows {outcome.out[:200]!r}, not {animal.shows}")
    return wrong
