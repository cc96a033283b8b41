"""Tests/Lines/run [--count N] [--seed N] [--first N] [--tabella PATH] [--jobs N] [--verbose] [--keep]

Draws N random command lines with their environments, limits and descriptors. Runs each in a folder of small files,
and checks its end: the status is one of docs/cli.md, each failure has a message, nothing crashed, and the user's files
changed only where the line says so. --first N with --count 1 repeats one line."""

import argparse
import collections
import concurrent.futures
import fcntl
import json
import os
import pathlib
import pty
import random
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from typing import NamedTuple

import world as worlds
from draw import Draw
from grammar import Grammar

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 60
STATUSES = {0, 1, 2, 3, 4, 5}
CRASHES = re.compile(rb"Program crashed|Fatal error|Swift runtime failure|\*\*\* Signal |Backtrac(e took|ing from)|terminate called|stack smashing")
EDITS = {"set", "insert", "delete", "move", "apply", "edit", "undo"}


class Case:
    """One line with its environment, identified by its number."""

    def __init__(self, number, seed, grammar, world):
        draw = Draw(random.Random(f"{seed} {number}"), grammar, world)
        self.number = number
        self.words = draw.line()
        self.environment = worlds.draw_environment(draw, world)
        self.limits = worlds.draw_limits(draw)
        self.batch = draw.batch()
        self.closed = [n for n in range(3) if draw.chance(0.03)]
        self.input = draw.pick(["null", "null", "null", "batch", "pipe", "folder"])
        self.output = draw.pick(["pipe"] * 12 + ["gone", "full", "file", "terminal", "terminal"])
        if "--json" in self.words and self.output == "terminal" and draw.chance(0.5):
            self.output = "pipe"
        self.size = (draw.pick([0, 1, 2, 24, 65_535]), draw.pick([0, 1, 2, 3, 10, 80, 65_535]))
        self.answers = draw.pick([b"y\n", b"n\n", b"\x04", b"\n" * 3, b"1\n", b"99999999999999999999\n"])
        self.cwd_is_gone = draw.chance(0.01)

    def shown(self):
        limits = " ".join(f"{name}={value}{'' if hard else ' (soft)'}" for name, value, hard in self.limits)
        return f"line {self.number}: {shlex.join(['tabella', *self.words])}\n    limits: {limits or '-'}; closed: {self.closed or '-'}; input {self.input}; output {self.output} {self.size if self.output == 'terminal' else ''}{'; folder gone' if self.cwd_is_gone else ''}\n    environment: { {k: v[:60] for k, v in list(self.environment.items())[:12]} }"


class Ended:
    def __init__(self, status, out, err, hung=False):
        self.status, self.out, self.err, self.hung = status, out, err, hung


def changes(case, changed, world):
    """Whether the line may change these files: an edit any, `new-provider` only a folder that was not there."""
    if case.words[:1] and case.words[0] in EDITS:
        return "--dry-run" not in case.words
    if case.words[:1] != ["new-provider"]:
        return False
    folders = {os.fsencode(os.path.join(world.user, word)) for word in case.words[1:]}
    return all(
        any(path == folder or path.startswith(folder + b"/") for folder in folders - world.state.keys())
        for path in changed
    )


def run(case, world, tabella):
    with open(world.user + "/batch", "wb") as stream:
        stream.write(case.batch)
    world.state = world.look()
    folder = world.user
    if case.cwd_is_gone:
        folder = world.home + "/gone"
        os.mkdir(folder)
    opened = []

    def opens(path, flags):
        opened.append(os.open(path, flags))
        return opened[-1]

    stdin = {
        "null": lambda: opens("/dev/null", os.O_RDONLY),
        "batch": lambda: opens(world.user + "/batch", os.O_RDONLY),
        "folder": lambda: opens(world.user, os.O_RDONLY),
        "pipe": lambda: piped(b"a,b\n1,2\n", opened),
    }[case.input]()
    stdout = stderr = subprocess.PIPE
    master = None
    if case.output == "full":
        stdout = opens("/dev/full", os.O_WRONLY)
    elif case.output == "file":
        stdout = opens(world.home + "/out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    elif case.output == "gone":
        reader, stdout = os.pipe()
        opened.append(stdout)
        os.close(reader)
    elif case.output == "terminal":
        master, slave = pty.openpty()
        opened.append(slave)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *case.size, 0, 0))
        stdin = stdout = stderr = slave

    def before():
        worlds.set_limits(case.limits)
        if case.cwd_is_gone:
            os.rmdir(folder)
        for number in case.closed:
            os.close(number)

    try:
        process = subprocess.Popen(
            [tabella, *case.words], env=case.environment, cwd=folder, stdin=stdin, stdout=stdout, stderr=stderr,
            start_new_session=True, preexec_fn=before,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        # A limit of the kernel: the arguments are too long, or no process is available.
        if master is not None:
            os.close(master)
        return Ended(None, b"", str(error).encode())
    finally:
        for number in opened:
            os.close(number)
    if master is not None:
        return on_terminal(process, master, case)
    try:
        out, err = process.communicate(timeout=TIMEOUT)
        return Ended(process.returncode, out or b"", err or b"")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Ended(process.returncode, out or b"", err or b"", hung=True)


def piped(data, opened):
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    opened.append(reader)
    return reader


def on_terminal(process, master, case):
    """Reads the output, and types the answers when no output comes."""
    shown, typed, idle, began = b"", 0, 0, time.monotonic()
    while True:
        ready, _, _ = select.select([master], [], [], 0.2)
        try:
            if ready:
                part = os.read(master, 1 << 16)
                if not part:
                    break
                shown, idle = shown + part, 0
                if re.search(rb"\[y/N\] $|to do it: $", shown) and typed < 5:
                    os.write(master, case.answers)
                    typed += 1
            elif process.poll() is not None:
                break
            else:
                # The program may be reading the terminal; an end of file ends that.
                idle += 1
                if idle % 5 == 0:
                    os.write(master, b"\x04")
        except OSError:
            break
        if time.monotonic() - began > TIMEOUT:
            os.killpg(process.pid, signal.SIGKILL)
            os.close(master)
            return Ended(process.wait(), shown, b"", hung=True)
    os.close(master)
    try:
        status = process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return Ended(process.wait(), shown, b"", hung=True)
    return Ended(status, shown, b"")


def is_started(case, tabella):
    """Whether the limits allow the loader and the Swift runtime to start tabella. With --version, tabella has no other
    work."""
    control = subprocess.run(
        [tabella, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=case.environment, preexec_fn=lambda: worlds.set_limits(case.limits),
    )  # fmt: skip
    return 0 <= control.returncode < 127


def judge(case, ended, world, tabella):
    """The faults, and the category under which the run counts."""
    names = {name for name, _, _ in case.limits}
    status, said = ended.status, ended.out + ended.err
    if status is None:
        return [], "not started"
    if (status == 127 or status < 0) and names & {"AS", "NOFILE", "DATA", "STACK"} and not is_started(case, tabella):
        return [], "not started"
    wrong = []
    if ended.hung:
        wrong.append(f"did not end in {TIMEOUT} s")
    if CRASHES.search(said):
        wrong.append("crashed")
    if status < 0:
        sent = {-signal.SIGPIPE} if case.output == "gone" or case.closed else set()
        if "CPU" in names:
            sent |= {-signal.SIGXCPU, -signal.SIGKILL}
        if case.output == "terminal":
            sent |= {-signal.SIGHUP}
        if status not in sent and not ended.hung:
            wrong.append(f"ended by {signal.Signals(-status).name}")
    elif status == 141:
        if case.output not in ("gone", "terminal"):
            wrong.append("status 141, but the reader is there")
    elif status not in STATUSES:
        wrong.append(f"status {status} is none of docs/cli.md")
    # `diff --exit-code` reports a difference by its status alone.
    tells = status == 1 and "--exit-code" in case.words
    is_mute = tells or 2 in case.closed or case.output == "terminal" or status in (0, 141) or status < 0
    if not is_mute and not ended.err.strip() and case.words[:1] not in (["check"], ["complete"]):
        wrong.append(f"status {status} without a word")
    state = world.look()
    if state != world.state:
        changed = {k for k in state.keys() | world.state.keys() if state.get(k) != world.state.get(k)}
        # A signal may arrive after the edit is complete.
        may = changes(case, changed, world) and (status in (0, 1) or status < 0 and not wrong)
        if not may and status != 141:
            wrong.append(f"status {status}, but the user's files changed: {sorted(changed)[:3]}")
        world.make()
    return wrong, f"status {status}" if status >= 0 else signal.Signals(-status).name


def work(settings, numbers):
    """Runs some lines in a separate folder. Returns the counts and the faults."""
    folder, seed, tabella, verbose, grammar, known = settings
    world = worlds.World(tempfile.mkdtemp(dir=folder))
    world.ids, world.tables = known
    world.make()
    counts, failures = collections.Counter(), []
    for number in numbers:
        case = Case(number, seed, grammar, world)
        try:
            ended = run(case, world, tabella)
            wrong, kind = judge(case, ended, world, tabella)
        except Exception as error:  # A mistake of the harness must not count as a success.
            ended, wrong, kind = Ended(None, b"", b""), [f"harness error: {type(error).__name__}: {error}"], "harness error"
            world.make()
        counts[kind] += 1
        if verbose:
            print(f"{case.shown()}\n    {kind}: {(ended.err or ended.out)[:300]!r}", flush=True)
        for text in wrong:
            failures.append((text, case.shown(), (ended.err or ended.out)[-1500:].decode(errors="replace")))
    return counts, failures


class Table(NamedTuple):
    columns: list
    options: list


def known_tables(tabella, world):
    """The ids of some rows, and the columns and provider options of each file."""

    def run(*words):
        shown = subprocess.run([tabella, *words], cwd=world.user, env=world.environment(), capture_output=True)
        return json.loads(shown.stdout) if shown.returncode == 0 else None

    ids, tables = [], {}
    for name in sorted(set(world.files)):
        if described := run("describe", name, "--json"):
            tables[name] = Table([column["name"] for column in described["columns"]], described["options"])
        # The ids of processes differ each time.
        if name != "processes:" and (shown := run("show", name, "--json", "-n", "3")):
            ids += [row["id"] for section in shown["sections"] for row in section["rows"] if row.get("id")]
    return ids, tables


def main():
    parser = argparse.ArgumentParser(prog="Tests/Lines/run", usage=__doc__, add_help=False)
    parser.add_argument("--help", action="help")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tabella", default=str(ROOT / ".build/release/tabella"))
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="tabella-lines-", dir="/var/tmp")
    has_own_world = os.environ.get("TABELLA_LINES_OWN_WORLD") == "1"
    # In this case, the trash at the top of the file system is in the folder, too.
    if has_own_world:
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    else:
        print("NOTE: no namespaces here: what a line throws away may go to the trash of the file system", flush=True)
    began = time.monotonic()
    try:
        first = worlds.World(folder + "/first")
        first.make()
        grammar = Grammar(options.tabella, first.environment(), first.user)
        known = known_tables(options.tabella, first)
        settings = (folder, options.seed, options.tabella, options.verbose, grammar, known)
        numbers = range(options.first, options.first + options.count)
        step = 100
        parts = [numbers[start : start + step] for start in range(0, len(numbers), step)]
        counts, failures = collections.Counter(), []
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            for more, wrong in pool.map(work, [settings] * len(parts), parts):
                counts += more
                failures += wrong
    finally:
        if has_own_world and not options.keep:
            subprocess.run(["umount", "--lazy", folder], check=False)
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    kinds = collections.Counter(re.sub(r"\d+", "N", text) for text, _, _ in failures)
    printed = collections.Counter()
    for text, shown, said in failures:
        kind = re.sub(r"\d+", "N", text)
        printed[kind] += 1
        if printed[kind] <= 8:
            print(f"WRONG: {text}\n  {shown}\n    said: {said}\n    again: Tests/Lines/run --seed {options.seed} --first {shown.split()[1].rstrip(':')} --count 1 --verbose")
    for kind, count in kinds.items():
        print(f"  {count} times: {kind}")
    words = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(f"lines: {options.count} from seed {options.seed}: {words}; {len(failures)} wrong ({time.monotonic() - began:.0f} s)", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
