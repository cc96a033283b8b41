"""Simulates power cuts: after every call, with every possible content of the disk.

The case runs once under strace. disk_model computes the possible contents of the disk after each call. In each
state the user must have the old or the new file; from the moment at which the command reports success, only the new
one. Some states are created on a real disk, and the next run must work there."""

import itertools
import math
import os
import subprocess

import case as cases
import disk_model
import kills
import trace
import tree as trees
from sweep import Sweep

EXHAUSTIVE = 1 << 10


def recorded(case, root):
    """The disk after the whole run."""
    case.set_up(root)
    disk = disk_model.Disk(root)
    outcome, text = trace.record(case, root, *disk_model.OPTIONS)
    assert outcome.status == 0, f"{case.name} under strace: {outcome.status}: {outcome.message}"
    disk.run(trace.parse(text), outcome.status)
    # The model must agree with the running system.
    thought, real = disk.state(len(disk.events), {}), trees.read_tree(root)
    assert thought == real, f"{case.name}: the model of the disk is wrong: {trees.difference(thought, real)}"
    return disk


def choices(disk, end, exhaustive, budget, generator):
    """The possible results of the pending events after `end` events: all combinations, or `budget` random ones."""
    pending = disk.pending(end)
    ways = [event.choices for event in pending]
    if math.prod(map(len, ways)) <= exhaustive:
        return [dict(zip(pending, way)) for way in itertools.product(*ways)]
    # The share of lost events varies, because few losses are as informative as many.
    picked = [{}]
    for _ in range(budget):
        share = generator.random()
        picked.append(
            {
                event: generator.choice(way[1:]) if generator.random() < share else "done"
                for event, way in zip(pending, ways)
            }
        )
    return picked


def power_cut_sweep(settings, all_cases, samples, real):
    sweep = Sweep("power-cut", settings)

    def body(point, root):
        label, case, reference = point
        generator = settings.random("power-cut", case.name)
        disk = recorded(case, root)
        kept = {path: entry for path, entry in trees.read_tree(root).items() if is_receipt(path, entry)}
        exhaustive = settings.count(EXHAUSTIVE)
        budget = max(1, settings.count(samples) // max(1, len(disk.events)))
        seen = {}
        claimed = False
        for end in range(len(disk.events) + 1):
            claimed = claimed or (end > 0 and disk.events[end - 1].kind == "claim")
            for way in choices(disk, end, exhaustive, budget, generator):
                state = disk.state(end, way)
                sweep.count("points")
                key = (claimed, frozenset(state.items()))
                if key in seen:
                    continue
                verdict = seen[key] = check(sweep, case, reference, state, claimed, kept, disk, end, way)
        sweep.figures["states"] += len(seen)
        whole = [(state, verdict) for (_, state), verdict in seen.items() if verdict != "wrong"]
        for _, verdict in whole:
            sweep.count(verdict)
        wanted = min(len(whole), settings.count(real, 3))
        for state, verdict in generator.sample(sorted(whole, key=lambda pair: sorted(pair[0])), wanted):
            put(case, dict(state), root)
            sweep.count("states on a disk")
            kills.next_run(sweep, case, reference, verdict, root, label, [])

    known = [(case.name, case, reference) for case, reference in sweep.references(all_cases)]
    sweep.each(known, body)
    return sweep.finish()


def put(case, state, root):
    """Creates a state on a disk, with the attributes of the file's inode."""
    trees.write_tree(state, root)
    target = os.path.join(root, case.target)
    for name in case.hard_links:
        os.unlink(os.path.join(root, name))
        os.link(target, os.path.join(root, name))
    for path in cases.kept_bytes(state) if case.in_place else []:
        folder = os.path.dirname(os.path.join(root, path))
        inode, born = subprocess.check_output(["stat", "-c", "%i %.9W", target], text=True).split()
        os.rename(os.path.join(root, path), f"{folder}/{int(inode):x}-{int(born.replace('.', '')):x}")


def is_receipt(path, entry):
    """Whether the entry is a receipt, which must be durable when the command reports success."""
    return path.startswith("state/") and entry.kind == "file" and not trees.is_leftover(path) and entry.data


def check(sweep, case, reference, state, claimed, kept, disk, end, way):
    verdict = case.judge(state, reference.old, reference.new)
    lost = {event: fate for event, fate in way.items() if fate != "done"}
    story = "; ".join(f"{event.text} is {fate}" for event, fate in list(lost.items())[:6]) or "nothing is lost"
    last = disk.events[end - 1].text if end else "the start"
    where = f"power cut after event {end}, {last}; {story}"
    if verdict not in cases.VERDICTS:
        sweep.fail("torn", case.name, f"{where}: {verdict}")
    elif claimed and verdict != "new":
        sweep.fail("false success", case.name, f"{where}: it was called done, but the user's files are {verdict}")
    elif claimed and any(state.get(path) != entry for path, entry in kept.items()):
        missing = [path for path, entry in kept.items() if state.get(path) != entry]
        sweep.fail("false success", case.name, f"{where}: it was called done, but not kept: {missing}")
    else:
        return verdict
    return "wrong"
