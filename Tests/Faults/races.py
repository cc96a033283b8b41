"""Another program changes the file while the case runs: at every system call, in every way.

The case is stopped at a call, the other program acts, the case goes on. Whatever the other program did
must be there at the end, unless it came before the case had read the file or after it had saved."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import time

import errors
import trace
import tree as trees
from case import Outcome
from sweep import Sweep

# How long a run takes at most; it has little to do.
PATIENCE = 20
MARK = b"ANOTHER PROGRAM WAS HERE"


def in_place(path):
    """The same number of bytes: only the times tell."""
    with open(path, "r+b") as stream:
        stream.seek(os.path.getsize(path) * 2 // 3)
        stream.write(MARK)


def append(path):
    with open(path, "ab") as stream:
        stream.write(MARK + b"\n")


def truncate(path):
    os.truncate(path, os.path.getsize(path) // 2)


def rename_over(path):
    """As an editor saves."""
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
    os.unlink(path)
    os.mkfifo(path, 0o644)


def swap_for_link(path):
    """The name leads to somebody else's file now."""
    os.unlink(path)
    os.symlink("victim", path)


def change_mode(path):
    os.chmod(path, 0o600)


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


def stopped_run(case, root, name, ordinal, act):
    """Runs the case, stops it at that call, acts, lets it go on. Returns its outcome, and whether it
    was stopped."""
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
        # Each thread counts its calls for itself, so that it may stop more than once.
        for thread in stopped_threads(log)[stops:]:
            if stops == 0:
                act()
            stops += 1
            # The log may be read later than the case ended.
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
    """Writes into a FIFO that somebody waits for."""
    try:
        if stat.S_ISFIFO(os.lstat(target).st_mode):
            descriptor = os.open(target, os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, MARK + b"\n")
            os.close(descriptor)
    except OSError:
        # Nobody waits for it.
        return


def race_sweep(settings, all_cases, full):
    sweep = Sweep("races", settings)
    found = []
    for case, reference in sweep.references(all_cases):
        allowed = {event: allowed_ends(case, act, settings.root()) for event, act in EVENTS.items()}
        for name, ordinal in trace.points_of(case, settings.root()):
            for event in EVENTS:
                found.append((f"{case.name}: {name}#{ordinal} {event}", case, name, ordinal, event, allowed[event]))

    def body(point, root):
        label, case, name, ordinal, event, allowed = point
        with_victim(case, root)
        arguments = [*trace.injection(name, "signal=STOP", ordinal), *case.arguments(root)]
        path = os.path.join(root, case.target)
        outcome, stopped = stopped_run(case, root, name, ordinal, lambda: EVENTS[event](path))
        sweep.count("points")
        if not stopped:
            return sweep.count("not reached")
        have = trees.users_data(trees.read_tree(root))
        if outcome.hung:
            return sweep.fail("hang", label, "did not end", arguments)
        if outcome.status not in (0, 1, 3, 4, 5):
            return sweep.fail("status", label, f"status {outcome.status}: {outcome.message}", arguments)
        success = outcome.status == 0 or errors.says_done(outcome.message)
        for end, (tree, of_success) in allowed.items():
            if have == tree and success == of_success:
                if end == "theirs":
                    sweep.count("conflict (5)" if outcome.status == 5 else "refused otherwise")
                return sweep.count(end)
        differences = "; ".join(f"{end}: {trees.difference(have, tree)}" for end, (tree, _) in allowed.items())
        kind = "false success" if success and have == allowed["theirs"][0] else "overwritten"
        return sweep.fail(kind, label, f"status {outcome.status}: {outcome.message!r}: {differences}", arguments)

    sweep.each(sweep.sample(found, full), body)
    return sweep.finish()


def with_victim(case, root):
    old = case.set_up(root)
    victim = os.path.join(root, os.path.dirname(case.target), "victim")
    shutil.copy(os.path.join(root, case.target), victim)
    os.chmod(victim, 0o644)
    old[os.path.join(os.path.dirname(case.target), "victim")] = old[case.target]
    return old


def allowed_ends(case, act, root):
    """How it may end, and whether with success: what the other program made of the old file and nothing
    else; what it made of the new one; the edit done on what it had made."""
    path = os.path.join(root, case.target)
    ends = {}
    with_victim(case, root)
    act(path)
    ends["theirs"] = (trees.users_data(trees.read_tree(root)), False)
    # What opens the FIFO must not wait for a writer.
    if case.run(root, timeout=3).status == 0:
        ends["ours on theirs"] = (trees.users_data(trees.read_tree(root)), True)
    with_victim(case, root)
    assert case.run(root).status == 0
    act(path)
    ends["theirs on ours"] = (trees.users_data(trees.read_tree(root)), True)
    return ends
