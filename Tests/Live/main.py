"""Follows live tables while they change, and compares them with a fresh reading at rest."""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time

from acts import Children, Records, Tree
from follower import Follower, difference, fresh, without_ids

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SHAPES = {
    "folder": [
        ["-o", "recursive=true"],
        ["-o", "recursive=true", "--filter", "size > 100"],
        ["-o", "recursive=true", "--section-by", "kind", "--sort", "name:desc"],
        ["-o", "recursive=true", "-o", "sections=folder"],
        ["--sort", "size", "--columns", "name,size"],
    ],
    "csv": [
        [],
        ["--filter", "amount > 500"],
        ["--section-by", "city", "--sort", "amount:desc"],
        ["--sort", "city,amount"],
    ],
    "processes": [
        ["--columns", "pid,parent,command", "--filter", "command = sleep"],
        # A fresh reading would list itself.
        ["--columns", "pid,command", "--filter", "command != tabella", "--section-by", "command", "--sort", "pid:desc"],
    ],
}


class Trial:
    """Followers of one location in several shapes."""

    def __init__(self, tabella, location, shapes, has_lasting_ids=True):
        self.tabella = tabella
        self.has_lasting_ids = has_lasting_ids
        self.words = [[*location, *shape] for shape in shapes]
        self.followers = [Follower(tabella, words) for words in self.words]

    def wait(self):
        for follower in self.followers:
            follower.settle()

    def verdicts(self):
        """Compares each follower with a fresh reading. Returns the number of those that differ."""
        failures = 0
        for words, follower in zip(self.words, self.followers):
            problem = None
            # The last notice may be on its way, so a difference must last.
            for _ in range(20):
                if follower.wrong or follower.process.poll() is not None:
                    break
                contents = [follower.content(), fresh(self.tabella, words)]
                if not self.has_lasting_ids:
                    contents = [without_ids(content) for content in contents]
                problem = difference(*contents)
                if problem is None:
                    break
                time.sleep(0.25)
            if follower.wrong:
                problem = "cannot apply %s: %s" % follower.wrong
            if follower.process.poll() is not None:
                problem = f"ended with {follower.process.returncode}: {follower.errors.decode(errors='replace')}"
            elif follower.stop() != 130:
                problem = problem or f"Ctrl-C ended with {follower.process.returncode}"
            name = " ".join(words[1:]) or "plain"
            if problem:
                failures += 1
                print(f"  WRONG {name}: {problem}")
            else:
                print(f"  {name}: {follower.lines} changes, equal")
        return failures


def folder(options, generator, place):
    root = os.path.join(place, "tree")
    os.mkdir(root)
    tree = Tree(root, generator)
    tree.act(200)
    trial = Trial(options.tabella, [root], SHAPES["folder"])
    trial.wait()
    done = 0
    while done < options.count:
        step = min(generator.randrange(1, 400), options.count - done)
        tree.act(step)
        done += step
        time.sleep(generator.random() * 0.2)
    trial.wait()
    return trial.verdicts()


def csv(options, generator, place):
    path = os.path.join(place, "data.csv")
    records = Records(path, generator)
    # An id contains the offset of its record. An edit in front of the record changes it, and no change says so.
    trial = Trial(options.tabella, [path], SHAPES["csv"], has_lasting_ids=False)
    trial.wait()
    for _ in range(max(options.count // 20, 10)):
        records.act()
        time.sleep(generator.random() * 0.02)
    trial.wait()
    return trial.verdicts()


def processes(options, generator, place):
    children = Children(generator)
    trial = Trial(options.tabella, ["processes:"], SHAPES["processes"])
    time.sleep(1)
    for _ in range(max(options.count // 5, 20)):
        children.act()
        time.sleep(0.0005)
    time.sleep(2.5)
    try:
        # The followers and this script are processes, too. They are not `sleep`, and they stay.
        return trial.verdicts()
    finally:
        children.end()


def rotations(options, generator, place):
    """A log of 10,000 lines per second, filtered, across ten rotations of both kinds."""
    path = os.path.join(place, "app.log")
    open(path, "w").close()
    follower = Follower(options.tabella, ["text:" + path, "--filter", "line ~ keep"])
    time.sleep(1)
    wanted, number = [], 0
    log = open(path, "a")
    # Ten rotations in five seconds or more: a file that comes and goes before anybody opens it cannot be followed.
    total = max(options.count * 10, 50_000)
    begin = time.monotonic()
    for step in range(total // 100):
        block = ""
        for _ in range(100):
            number += 1
            kept = number % 3 == 0
            block += f"line {number} {'keep' if kept else 'drop'}\n"
            if kept:
                wanted.append(f"line {number} keep")
        log.write(block)
        log.flush()
        time.sleep(max(0, begin + number / 10_000 - time.monotonic()))
        if step % max(total // 1100, 1) == max(total // 1100, 1) - 1:
            # A writer that keeps its file open goes on after a rename, as real programs do until they are told.
            if generator.randrange(2) == 0:
                os.rename(path, path + ".1")
                log.close()
                log = open(path, "a")
            else:
                time.sleep(0.3)
                shutil.copy(path, path + ".1")
                os.truncate(path, 0)
    follower.settle()
    text = [cells["line"] for cells in follower.inserted]
    status = follower.stop()
    lost, invented = len(set(wanted) - set(text)), len(text) - len(set(text) & set(wanted))
    print(f"  {len(wanted)} lines expected, {lost} lost, {invented} more than once or invented")
    if follower.wrong or status != 130:
        print(f"  WRONG {follower.wrong} {status} {follower.errors.decode(errors='replace')}")
    return 1 if lost or invented or follower.wrong or status != 130 else 0


TRIALS = {"folder": folder, "csv": csv, "processes": processes, "rotations": rotations}


def main():
    parser = argparse.ArgumentParser(prog="Tests/Live/run", description=__doc__)
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=", ".join(TRIALS) + "; all by default")
    parser.add_argument("--count", type=int, default=1000, help="acts on a folder; others follow from it (1000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tabella", default=os.path.join(ROOT, ".build", "release", "tabella"))
    options = parser.parse_args()
    for name in options.trials:
        if name not in TRIALS:
            parser.error(f"there is no trial {name}")
    failures = 0
    for name in options.trials or TRIALS:
        if name == "processes" and "TABELLA_LIVE_OWN_WORLD" not in os.environ:
            print("processes: skipped, because no namespace of processes can be made")
            continue
        print(f"{name}: seed {options.seed}", flush=True)
        with tempfile.TemporaryDirectory() as place:
            failures += TRIALS[name](options, random.Random(f"{name} {options.seed}"), place)
        sys.stdout.flush()
    print(f"{failures} of the followed tables are wrong" if failures else "all followed tables are right")
    return 1 if failures else 0


sys.exit(main())
