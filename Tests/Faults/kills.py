"""Ends a run by a signal: at every system call, or at a random moment."""

import os
import signal
import subprocess
import time

import case as cases
import trace
import tree as trees
from sweep import Sweep


def points(sweep, all_cases, what):
    found = []
    for case, reference in sweep.references(all_cases):
        for name, ordinal in trace.points_of(case, sweep.settings.root()):
            for each in what:
                found.append((f"{case.name}: {name}#{ordinal} {each}", case, reference, name, ordinal, each))
    return found


def judge(sweep, case, reference, outcome, root, label, arguments):
    """Counts and returns the verdict; None for a fault."""
    tree = trees.read_tree(root)
    if outcome.hung:
        sweep.fail("hang", label, "did not end", arguments)
        return None
    verdict = case.judge(tree, reference.old, reference.new)
    if verdict not in cases.VERDICTS:
        sweep.fail("torn", label, f"status {outcome.status}: {verdict}", arguments)
        return None
    if outcome.status == 0 and verdict != "new":
        sweep.fail("false success", label, f"status 0, but the user's files are {verdict}", arguments)
        return None
    partial = cases.partial_leftovers(case, tree, reference, verdict)
    if partial:
        sweep.fail("leftover", label, f"the file is {verdict}, and these are not whole: {partial}", arguments)
        return None
    sweep.count(verdict)
    if trees.leftovers(tree):
        sweep.count("with a leftover")
    return verdict


def kill_sweep(settings, all_cases, full):
    """SIGKILL at every system call of every case."""
    sweep = Sweep("kill", settings)

    def body(point, root):
        label, case, reference, name, ordinal, what = point
        case.set_up(root)
        wrapper = trace.injection(name, f"signal={what}", ordinal)
        arguments = [*wrapper, *case.arguments(root)]
        outcome = case.run(root, wrapper=wrapper)
        sweep.count("points", *(["not reached"] if outcome.status == 0 else []))
        verdict = judge(sweep, case, reference, outcome, root, label, arguments)
        if verdict:
            next_run(sweep, case, reference, verdict, root, label, arguments)

    sweep.each(sweep.sample(points(sweep, all_cases, ["KILL"]), full), body)
    return sweep.finish()


def next_run(sweep, case, reference, verdict, root, label, arguments):
    """The next run must work. After an interrupted change in place, it may name the file with the old bytes instead,
    and must work after they are copied back and removed, as it says."""
    kept = cases.kept_bytes(trees.read_tree(root)) if case.in_place else []
    if kept:
        outcome = case.run(root, case.follow)
        if os.path.basename(kept[0]) not in outcome.message or outcome.status != 4:
            text = f"the next run does not name the old bytes: {outcome.status}: {outcome.message}"
            return sweep.fail("next run", label, text, arguments)
        sweep.count("announced")
        with open(os.path.join(root, kept[0]), "rb") as old, open(os.path.join(root, case.target), "wb") as file:
            file.write(old.read())
        os.unlink(os.path.join(root, kept[0]))
        verdict = "old"
    return sweep.next_run_works(case, reference, verdict, root, label, arguments)


def signal_sweep(settings, all_cases, full):
    """The signals of a terminal, a session or a limit, at system calls of every case."""
    sweep = Sweep("signals", settings)

    def body(point, root):
        label, case, reference, name, ordinal, what = point
        case.set_up(root)
        wrapper = trace.injection(name, f"signal={what}", ordinal)
        arguments = [*wrapper, *case.arguments(root)]
        outcome = case.run(root, wrapper=wrapper)
        sweep.count("points")
        number = getattr(signal, f"SIG{what}")
        if not outcome.hung and outcome.status not in (0, 1, -number, 128 + number):
            sweep.fail("status", label, f"status {outcome.status}: {outcome.message}", arguments)
        verdict = judge(sweep, case, reference, outcome, root, label, arguments)
        if verdict:
            next_run(sweep, case, reference, verdict, root, label, arguments)

    sweep.each(sweep.sample(points(sweep, all_cases, ["INT", "TERM", "HUP", "QUIT", "XCPU"]), full), body)
    return sweep.finish()


def random_sweep(settings, big, full):
    """SIGKILL at random moments of the save of a large file. `big` has two edits, there and back."""
    sweep = Sweep("random-kills", settings)
    root = settings.root()
    big.set_up(root)
    target = os.path.join(root, big.target)
    with open(target, "rb") as stream:
        versions = [stream.read()]
    times = []
    for edit in (big.there, big.back, big.there):
        began = time.monotonic()
        outcome = big.run(root, edit)
        times.append(time.monotonic() - began)
        if outcome.status != 0:
            sweep.fail("not as it should be", big.name, f"status {outcome.status}: {outcome.message}")
            return sweep.finish()
    # The first run has a cold cache.
    longest = max(times[1:])
    with open(target, "rb") as stream:
        versions.append(stream.read())
    if versions[1] != big.new_bytes:
        sweep.fail("not as it should be", big.name, "the edit does not do what it should")
        return sweep.finish()
    generator = settings.random("random-kills")
    now = 1
    for turn in range(settings.count(full)):
        edit = big.back if now == 1 else big.there
        delay = generator.uniform(0, longest * 1.1)
        label = f"{big.name}: turn {turn}, after {delay:.4f} s"
        process = subprocess.Popen(
            big.arguments(root, edit),
            env=big.environment(root),
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        sweep.count("points", *(["ended before"] if process.returncode == 0 else []))
        with open(target, "rb") as stream:
            have = stream.read()
        if have not in versions:
            sweep.fail("torn", label, f"{len(have)} bytes, neither old nor new")
            break
        then = versions.index(have)
        if process.returncode == 0 and then == now:
            sweep.fail("false success", label, "status 0, but the file is old")
        sweep.count("new" if then != now else "old")
        now = then
        for name in os.listdir(os.path.dirname(target)):
            if name.startswith(trees.LEFTOVER):
                os.unlink(os.path.join(os.path.dirname(target), name))
                sweep.count("with a leftover")
            elif os.path.join(os.path.dirname(big.target), name) not in big.files:
                sweep.fail("torn", label, f"leaves {name}")
    outcome = big.run(root, big.back if now == 1 else big.there)
    if outcome.status != 0:
        sweep.fail("next run", big.name, f"status {outcome.status}: {outcome.message}")
    trees.clear(root)
    return sweep.finish()
