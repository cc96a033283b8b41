"""Several processes add rows to one file at the same time. Each repeats its edit until it succeeds."""

import os
import threading
import time

import case as cases
import tree as trees
from sweep import Sweep

CONFLICT = 5


def writer_sweep(settings, adder, full):
    """`adder` is a case whose `row(text)` returns the command that adds a row and the bytes that it adds."""
    sweep = Sweep("writers", settings)
    for writers in (2, 8):
        together(sweep, adder, writers, settings.count(full) // 10)
    return sweep.finish()


def together(sweep, adder, writers, each):
    root = sweep.settings.root()
    old = adder.set_up(root)
    label = f"{adder.name}: {writers} writers, {each} rows each"
    done, wrong, conflicts = [], [], [0]

    def write(number):
        for turn in range(each):
            text = f"w{number}n{turn}"
            command, row = adder.row(text)
            until = time.monotonic() + 600
            while not wrong:
                outcome = adder.run(root, command)
                if outcome.status == 0:
                    done.append(row)
                    break
                if outcome.hung or outcome.status != CONFLICT or time.monotonic() > until:
                    wrong.append(f"status {outcome.status}: {outcome.message}")
                    break
                conflicts[0] += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for text in wrong:
        sweep.fail("status", label, text)
    tree = trees.read_tree(root)
    have = tree[adder.target].data
    before = old[adder.target].data
    if not have.startswith(before):
        sweep.fail("torn", label, "what was there before is not as it was")
    rows = have[len(before) :].splitlines(keepends=True)
    if sorted(rows) != sorted(done):
        lost, extra = set(done) - set(rows), set(rows) - set(done)
        sweep.fail(
            "lost", label,
            f"{len(done)} successes, {len(rows)} rows; missing {sorted(lost)[:3]}, unknown {sorted(extra)[:3]}",
        )  # fmt: skip
    if trees.leftovers(tree):
        sweep.fail("leftover", label, f"{trees.leftovers(tree)[:3]}")
    sweep.figures["points"] += len(done)
    sweep.figures["rows"] += len(rows)
    sweep.figures["conflicts"] += conflicts[0]
