"""Tests/Zoo/run [--count full|tenth] [--seed N] [--in KIND] [--user NAME] [--tabella PATH] [--keep] [--verbose]
                     [--no-check] [--check-only] [--house FOLDER] [--write] [--list] [NAME…]

NAME is a part of animals' names. --house only puts their libraries into a folder. docs/zoo.md describes the
results, and how to add an animal."""

import argparse
import collections
import concurrent.futures
import importlib
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

import build
import check
import keeper
import planted
from animal import Animal

HERDS = ["deeds", "traps", "lies", "edits", "wire", "spies", "rights", "files", "trust"]
# The machine has two cores. The slow animals mostly wait.
AT_ONCE, SLOW_AT_ONCE = 2, 6


def all_animals():
    animals = [animal for herd in HERDS for animal in importlib.import_module(f"kinds.{herd}").ANIMALS]
    counts = collections.Counter((animal.kind, animal.name) for animal in animals)
    twice = [key for key, count in counts.items() if count > 1]
    # The same lie in two commands counts as two animals.
    numbers = collections.Counter()
    for animal in animals:
        key = (animal.kind, animal.name)
        if key in twice:
            numbers[key] += 1
            animal.name += f"-{numbers[key]}"
    return animals


def chosen(animals, options):
    if options.kind:
        animals = [animal for animal in animals if animal.kind == options.kind]
    if options.names:
        return [animal for animal in animals if any(name in animal.name for name in options.names)]
    if options.count == "full" or options.kind:
        return animals
    # One of each kind, and a tenth of all. Slow animals are for the full run, except one of each kind.
    generator = random.Random(options.seed)
    kinds = collections.defaultdict(list)
    for animal in animals:
        kinds[animal.kind].append(animal)
    picked = [generator.choice([a for a in group if not a.slow] or group) for group in kinds.values()]
    rest = [animal for animal in animals if animal not in picked and not animal.slow]
    slow = [animal for animal in animals if animal not in picked and animal.slow]
    picked += generator.sample(rest, max(0, len(animals) // 10 - len(picked)))
    picked += generator.sample(slow, min(12, len(slow)))
    return picked


def to_be_checked(animals, options, generator):
    """The animals with an expected finding, and some of the others, because all checks of one animal take seconds."""
    able = {(animal.library.id, animal.location): animal for animal in animals if check.may_be_checked(animal)}
    sure = [animal for animal in able.values() if animal.check]
    rest = [animal for animal in able.values() if not animal.check]
    if options.names or options.kind:
        return list(able.values())
    if options.count == "full":
        return sure + generator.sample(rest, min(60, len(rest)))
    return generator.sample(sure, min(4, len(sure))) + generator.sample(rest, min(4, len(rest)))


# The values that a process which runs animals inherits from its parent.
SETTINGS, ANIMALS = None, []


def begin(settings, animals, priority):
    global SETTINGS, ANIMALS
    SETTINGS, ANIMALS = settings, animals
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keeper.adopt_orphans()
    os.nice(priority)


def meet(number, form):
    animal = ANIMALS[number]
    try:
        outcome, wrong = check.check(SETTINGS, animal) if form == "check" else keeper.meet(SETTINGS, animal, form)
        return animal.kind, animal.name, outcome, wrong
    except Exception as error:
        return animal.kind, animal.name, None, [f"the harness failed: {type(error).__name__}: {error}"]


def run_all(animals, settings, forms, report):
    """Runs animals, two at a time, with the slow ones in parallel. Calls `report` with each result."""
    context = multiprocessing.get_context("fork")

    def pool(count, priority):
        return concurrent.futures.ProcessPoolExecutor(count, context, begin, (settings, animals, priority))

    with pool(AT_ONCE, 0) as quick, pool(SLOW_AT_ONCE, 5) as slow:
        futures = [
            (slow if animal.slow else quick).submit(meet, number, form)
            for number, (animal, form) in enumerate(zip(animals, forms))
        ]
        for future in concurrent.futures.as_completed(futures):
            report(*future.result())


def good_rows(settings):
    """The output for a good provider. Nothing is judged until that works."""
    outcome, wrong = keeper.meet(settings, Animal("P0", "good", keeper.GOOD, status=(0,)), "csv")
    if outcome.status != 0 or outcome.out.count(b"\n") != 301 or wrong:
        raise SystemExit(f"Tests/Zoo: the good provider does not work: {outcome} {wrong}")
    return outcome.out


def house_all(animals, folder):
    """Creates a folder with the libraries of all animals that only need to be opened, and a list of them, for a program
    that uses all of them."""
    folder.mkdir(mode=0o700, parents=True)
    lines = []
    for animal in animals:
        if not (animal.prepare or animal.meanwhile or animal.also or animal.options or animal.library.manifest):
            build.house(animal.library, folder)
            lines.append(f"{animal.library.id}\t{animal.location}")
    (folder / "animals.tsv").write_text("\n".join(dict.fromkeys(lines)) + "\n")


class Report:
    def __init__(self, verbose):
        self.verbose = verbose
        self.failures = []
        self.counts = collections.Counter()
        self.statuses = collections.Counter()
        self.seconds, self.peak, self.errors = [], 0, 0

    def __call__(self, kind, name, outcome, wrong):
        self.counts[kind] += 1
        if outcome:
            self.statuses[outcome.status] += 1
            self.seconds.append(outcome.seconds)
            self.peak = max(self.peak, outcome.peak)
            self.errors = max(self.errors, len(outcome.err))
        if wrong:
            self.failures.append((kind, name))
        if wrong or self.verbose:
            told = f"status {outcome.status}, {outcome.seconds:.2f} s, {outcome.peak} MB: {outcome.lines[:3]}" if outcome else ""
            print(f"{'WRONG' if wrong else 'ok'} {kind} {name}: {told}", flush=True)
            for line in wrong:
                print(f"      {line}", flush=True)

    def line(self):
        seconds = sorted(self.seconds)
        middle = seconds[len(seconds) // 2] if seconds else 0
        return (
            f"{sum(self.counts.values())} animals of {len(self.counts)} kinds, {len(self.failures)} not as promised; "
            f"median {middle * 1000:.0f} ms, longest {max(seconds, default=0):.1f} s; tabella needed {self.peak} MB at most, "
            f"wrote {self.errors} bytes of errors at most"
        )


def place_for(options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tabella-zoo-", dir=os.environ.get("TABELLA_ZOO_FOLDER", "/var/tmp")))
    folder.chmod(0o711 if options.user else 0o700)
    return folder


def main():
    parser = argparse.ArgumentParser(prog="Tests/Zoo/run", usage=__doc__, add_help=False)
    parser.add_argument("--help", action="help")
    parser.add_argument("--count", choices=["full", "tenth"], default="tenth")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in", dest="kind")
    parser.add_argument("--user", default="")
    parser.add_argument("--tabella", default=str(build.ROOT / ".build/release/tabella"))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--check-only", action="store_true")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--house", metavar="FOLDER")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    animals = all_animals()
    if options.list:
        for animal in animals:
            print(f"{animal.kind}\t{animal.name}\t{animal.library.source}\t{' '.join(animal.command)}")
        return 0
    animals = chosen(animals, options)
    if options.house:
        house_all(animals, pathlib.Path(options.house))
        return 0
    folder = place_for(options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    try:
        settings = keeper.Settings(os.path.abspath(options.tabella), folder, user=options.user, keep=options.keep)
        settings.good_csv = good_rows(settings)
        passed, caught = True, "none"
        if not options.names and not options.kind:
            passed, caught = planted.planted(settings)
        report, checks = Report(options.verbose), Report(options.verbose)
        generator = random.Random(options.seed)
        if not options.check_only:
            run_all(animals, settings, [generator.choice(["csv", "json"]) for _ in animals], report)
            print(f"zoo: {report.line()}", flush=True)
        checked = [] if options.no_check else to_be_checked(animals, options, generator)
        run_all(checked, settings, ["check"] * len(checked), checks)
        print(f"zoo: check: {checks.line()}", flush=True)
        passed &= not report.failures and not checks.failures
        print(f"zoo: {'passed' if passed else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
        if options.write:
            planted.write_figures(options, report, checks, caught, passed)
        return 0 if passed else 1
    finally:
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
