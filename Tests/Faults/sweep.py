"""The common parts of all sweeps: points, the pool of workers, counts and failures."""

import collections
import concurrent.futures
import itertools
import os
import random
import shlex
import sys
import threading
import time

import case as cases
import tree as trees

JOBS = 2


class Settings:
    """The amount of work, and its folder."""

    def __init__(self, folder, seed=1, share=1.0, only=None, keep=False):
        self.folder, self.seed, self.share, self.only, self.keep = folder, seed, share, only, keep
        self.local = threading.local()
        self.numbers = itertools.count()

    def random(self, *of):
        return random.Random(f"{self.seed} {of}")

    def root(self):
        """The directory of this thread. Its length is always the same."""
        if not hasattr(self.local, "root"):
            self.local.root = f"{self.folder}/{next(self.numbers):04}"
            os.makedirs(self.local.root)
        return self.local.root

    def count(self, full, least=1):
        return max(least, round(full * self.share))


class Sweep:
    """One kind of fault, injected at many points. Counts verdicts and collects the faults."""

    def __init__(self, name, settings):
        self.name, self.settings = name, settings
        self.figures = collections.Counter()
        self.failures = []
        self.not_run = []
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.seconds = 0.0

    def count(self, *what):
        with self.lock:
            for word in what:
                self.figures[word] += 1

    def fail(self, kind, label, text, arguments=()):
        """Counts a fault of a kind: torn, false success, hang, …"""
        with self.lock:
            self.figures[kind] += 1
            self.failures.append((kind, label, text, shlex.join(arguments)))

    def references(self, all_cases):
        """The cases that work without faults, each with its reference."""
        known = []
        only = self.settings.only
        for each in all_cases:
            if only and only not in each.name and each.name not in only:
                continue
            try:
                known.append((each, cases.reference(each, self.settings.root())))
            except AssertionError as error:
                self.fail("not as it should be", each.name, str(error))
        return known

    def each(self, points, body):
        """Runs `body(point, root)` for all points, several at a time. A point has a label."""
        def one(point):
            try:
                body(point, self.settings.root())
            except Exception as error:  # A mistake of the harness must not count as a success.
                self.fail("harness error", point[0], f"{type(error).__name__}: {error}")

        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            collections.deque(pool.map(one, points), 0)

    def chosen(self, points):
        """The points that `--only` selects."""
        only = self.settings.only
        return [point for point in points if not only or only in point[0]]

    def sample(self, points, full, *of):
        """The points of this run: all or a sample."""
        points = self.chosen(points)
        wanted = self.settings.count(full)
        if len(points) <= wanted:
            return points
        return self.settings.random(self.name, *of).sample(points, wanted)

    def next_run_works(self, case, reference, verdict, root, label, arguments):
        """The next run must do its edit on the present files and ignore leftovers."""
        outcome = case.run(root, case.follow)
        if outcome.hung:
            self.fail("hang", label, "the next run hangs", arguments)
        elif outcome.status != 0:
            self.fail("next run", label, f"the next run: {outcome.status}: {outcome.message}", arguments)
        else:
            have = trees.users_data(trees.read_tree(root))
            want = reference.following(verdict)
            if have != want and {k: v for k, v in have.items() if k not in case.extra} != {
                k: v for k, v in want.items() if k not in case.extra
            }:
                self.fail("next run", label, f"after the next run: {trees.difference(have, want)}", arguments)

    def finish(self):
        self.seconds = time.monotonic() - self.began
        return self

    @property
    def passed(self):
        return not self.failures

    def line(self):
        order = ["points", "old", "new"]
        rest = sorted(set(self.figures) - set(order))
        words = [f"{self.figures[key]} {key}" for key in order + rest if self.figures[key]]
        bad = [word for word in ["torn", "false success", "hang"] if not self.figures[word]]
        words += [f"0 {word}" for word in bad]
        return f"{self.name}: {', '.join(words)} ({self.seconds:.0f} s)"

    def report(self, most=5):
        """Prints the counts, and some faults of each kind."""
        print(self.line(), flush=True)
        for reason in self.not_run:
            print(f"  NOT RUN: {reason}", flush=True)
        printed = collections.Counter()
        for kind, label, text, command in self.failures:
            printed[kind] += 1
            if printed[kind] > most:
                continue
            print(f"  WRONG ({kind}): {label}\n    {text}", flush=True)
            if command:
                print(f"    {command}")
            again = ["Tests/Faults/run", self.name, "--only", label, "--seed", str(self.settings.seed), "--keep"]
            print(f"    again: {shlex.join(again)}")
        for kind, count in printed.items():
            if count > most:
                print(f"  … and {count - most} more: {kind}")
        sys.stdout.flush()
