"""Lets another program change the file while the case runs: at every system call, in every way.

The harness stops the case at a call, the other program acts, and the case continues. The change of the other program
must be there at the end, unless it happened before the case read the file or after it saved. This includes commands
that remove files: a file that another program wrote to or replaced stays."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import threading
import time
from typing import NamedTuple

import case as cases
import errors
import full_disk
import trace
import tree as trees
from case import Outcome
from sweep import Sweep

# The maximum duration of a run, which has little to do.
PATIENCE = 20
MARK = b"ANOTHER PROGRAM WAS HERE"


def in_place(path):
    """Overwrites the same number of bytes, so only the times differ."""
    with open(path, "r+b") as stream:
        stream.seek(os.path.getsize(path) * 2 // 3)
        stream.write(MARK)


def append(path):
    with open(path, "ab") as stream:
        stream.write(MARK + b"\n")


def truncate(path):
    os.truncate(path, os.path.getsize(path) // 2)


def rename_over(path):
    """Saves like an editor."""
    with open(path, "rb") as stream:
        data = stream.read()
    other = os.path.join(os.path.dirname(path), "others-new")
    with open(other, "wb") as stream:
        stream.write(data + MARK + b"\n")
    os.chmod(other, 0o644)
    os.rename(other, path)


def delete(path):
    os.unlink(path)


def make_fifo(path):
    close = unlink_keeping(path)
    os.mkfifo(path, 0o644)
    return close


def swap_for_link(path):
    """The name now leads to another file."""
    close = unlink_keeping(path)
    os.symlink("victim", path)
    return close


def unlink_keeping(path):
    """Removes the name, but keeps the inode in use until the command has ended. An id consists of inode and path, so it
    would also name a new file with both."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    os.unlink(path)
    return lambda: os.close(descriptor)


def change_mode(path):
    os.chmod(path, 0o600)


def hold_open(path):
    """Opens the file now, and writes to it after the command has ended."""
    stream = open(path, "ab", buffering=0)

    def finish():
        with stream:
            stream.write(MARK)

    return finish


EVENTS = {
    "changed in place": in_place,
    "appended to": append,
    "truncated": truncate,
    "replaced by rename": rename_over,
    "deleted": delete,
    "replaced by a FIFO": make_fifo,
    "replaced by a link": swap_for_link,
    "mode changed": change_mode,
}
WRITERS = {"opened, written to at the end": hold_open}


class Other:
    """The other program. Its event may block until the case continues, for example because the file is leased."""

    def __init__(self, event, path):
        self.event, self.path = event, path
        self.finish = self.error = self.thread = None
        # A missing file is left alone.
        self.has_acted = False

    def act(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        self.thread.join(0.3)

    def run(self):
        try:
            self.finish = self.event(self.path)
            self.has_acted = True
        except FileNotFoundError:
            return
        except Exception as error:
            self.error = error

    def end(self):
        """Call this after the case has ended."""
        if self.thread:
            self.thread.join()
        if self.error:
            raise self.error
        if self.finish:
            self.finish()


def stopped_run(case, root, name, ordinal, act):
    """Runs the case, stops it at the call, acts, and lets it continue. Returns its outcome, and whether it was
    stopped."""
    log = root + ".log"
    process = subprocess.Popen(
        [*trace.injection(name, "signal=STOP", ordinal, log), *case.arguments(root)],
        env=case.environment(root),
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    stops = 0
    out_and_err = None
    end = time.monotonic() + PATIENCE
    while out_and_err is None and time.monotonic() < end:
        # Each thread counts its own calls, so the case may stop more than once.
        for thread in stopped_threads(log)[stops:]:
            if stops == 0:
                act()
            stops += 1
            # The log may be read after the end of the case.
            with contextlib.suppress(ProcessLookupError):
                os.kill(thread, signal.SIGCONT)
        try:
            out_and_err = process.communicate(timeout=0.002)
        except subprocess.TimeoutExpired:
            if time.monotonic() > end - PATIENCE + 2:
                feed(os.path.join(root, case.target))
    if out_and_err is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    outcome = Outcome(process.returncode, *(out_and_err or process.communicate()), out_and_err is None)
    if os.path.exists(log):
        os.unlink(log)
    return outcome, stops > 0


def stopped_threads(log):
    """The threads that were stopped, in order."""
    try:
        lines = trace.read_log(log).splitlines()
    except FileNotFoundError:
        return []
    return [int(line.split()[0]) for line in lines if "--- stopped by SIGSTOP" in line]


def feed(target):
    """Writes into a FIFO that another process reads."""
    try:
        if stat.S_ISFIFO(os.lstat(target).st_mode):
            descriptor = os.open(target, os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, MARK + b"\n")
            os.close(descriptor)
    except OSError:
        # No process reads it.
        return


def race_sweep(settings, all_cases, full):
    sweep = Sweep("races", settings)
    found = []
    if any(case.disk for case in all_cases) and not full_disk.can_mount(settings.folder):
        sweep.not_run.append("no file system can be mounted here: run it as root, or where user namespaces are allowed")
        all_cases = [case for case in all_cases if not case.disk]
    for case, reference in sweep.references(all_cases):
        events = {**EVENTS, **(WRITERS if case.heeds_writers else {})}
        allowed = {event: allowed_ends(case, act, settings.root()) for event, act in events.items()}
        for name, ordinal in trace.points_of(case, settings.root()):
            for event, act in events.items():
                found.append((f"{case.name}: {name}#{ordinal} {event}", case, name, ordinal, act, allowed[event]))

    def body(point, root):
        label, case, name, ordinal, event, allowed = point
        with_victim(case, root)
        arguments = [*trace.injection(name, "signal=STOP", ordinal), *case.arguments(root)]
        other = Other(event, os.path.join(root, case.target))
        outcome, stopped = stopped_run(case, root, name, ordinal, other.act)
        other.end()
        sweep.count("points")
        if not stopped:
            return sweep.count("not reached")
        have = trees.users_data(trees.read_tree(root))
        if outcome.hung:
            return sweep.fail("hang", label, "did not end", arguments)
        if outcome.status not in (0, 1, 3, 4, 5):
            return sweep.fail("status", label, f"status {outcome.status}: {outcome.message}", arguments)
        success = outcome.status == 0 or errors.says_done(outcome.message)
        for end in allowed:
            if (have, success, other.has_acted) == end[1:]:
                if end.name == "theirs":
                    # After another program has saved, a new attempt succeeds. This status says that none can.
                    if event is rename_over and outcome.status == 4:
                        return sweep.fail("status", label, f"status {outcome.status}: {outcome.message}", arguments)
                    sweep.count("conflict (5)" if outcome.status == 5 else "refused otherwise")
                return sweep.count(end.name)
        differences = "; ".join(f"{end.name}: {trees.difference(have, end.tree)}" for end in allowed)
        kind = "false success" if success and have == allowed[0].tree else "overwritten"
        return sweep.fail(kind, label, f"status {outcome.status}: {outcome.message!r}: {differences}", arguments)

    sweep.each(sweep.sample(found, full), body)
    return sweep.finish()


def with_victim(case, root):
    case.set_up(root)
    target = os.path.join(root, case.target)
    victim = os.path.join(os.path.dirname(target), "victim")
    with open(victim, "wb") as stream:
        stream.write(MARK)
    if os.path.exists(target):
        shutil.copy(target, victim)
    os.chmod(victim, 0o644)


class End(NamedTuple):
    """A permitted end: the user's files, whether the command reports success, and whether the other program has
    acted."""

    name: str
    tree: dict
    success: bool
    has_acted: bool


def allowed_ends(case, event, root):
    """The permitted ends: the other program's change of the old file alone, its change of the new file, or the edit on
    top of its change. If the case copies a file and removes the original: also the original with the changed copy. If
    the other program found nothing to change, the edit."""
    path = os.path.join(root, case.target)

    def end(name, success, has_acted):
        return End(name, trees.users_data(trees.read_tree(root)), success, has_acted)

    def act():
        other = Other(event, path)
        other.act()
        return other

    with_victim(case, root)
    other = act()
    other.end()
    ends = [end("theirs", False, other.has_acted)]
    with_victim(case, root)
    # The command means the row that existed before.
    arguments = case.arguments(root)
    other = act()
    # A command that opens the FIFO must not wait for a writer.
    outcome = cases.execute(arguments, case.environment(root), root, timeout=3)
    other.end()
    if outcome.status == 0 and event not in WRITERS.values():
        ends.append(end("ours on theirs", True, other.has_acted))
    with_victim(case, root)
    before = trees.users_data(trees.read_tree(root))
    assert case.run(root).status == 0
    ends.append(end("new", True, False))
    other = act()
    other.end()
    ends.append(end("theirs on ours", True, other.has_acted))
    if case.origin:
        both = {**ends[-1].tree, case.origin: before[case.origin]}
        # A remaining copy counts as partially done, but a replaced one does not.
        ends += [End("theirs on ours, and the original", both, success, other.has_acted) for success in (False, True)]
    return ends
