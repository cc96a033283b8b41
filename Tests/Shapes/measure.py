"""Runs a command of tabella and its peers in turns, compares their answers, and computes ratios."""

import dataclasses
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

# If tabella needs less than this part of the best peer's time, two rounds are enough.
CLEAR = 0.6
# A peer that needs this many times the time of the best one takes no part in the rounds.
HOPELESS = 2.5
# Rounds of a pair end after this many seconds.
PATIENCE = 5


class WrongAnswer(Exception):
    """An answer that differs, or a program that ended with an error."""


@dataclasses.dataclass
class Run:
    """The seconds of one run. `work` is less than `whole` in programs of Python, which measure it themselves."""

    whole: float
    work: float


@dataclasses.dataclass
class Pair:
    """The result of a command on a shape."""

    command: str
    shape: object
    rounds: int = 0
    seconds: float = 0
    whole: dict = dataclasses.field(default_factory=dict)
    work: dict = dataclasses.field(default_factory=dict)
    lines: dict = dataclasses.field(default_factory=dict)
    peers: dict = dataclasses.field(default_factory=dict)
    agree: list = dataclasses.field(default_factory=list)
    wrong: list = dataclasses.field(default_factory=list)
    failed: dict = dataclasses.field(default_factory=dict)

    def best(self, kind="whole"):
        """The largest ratio and its peer; nothing if no peer answered."""
        ratios = getattr(self, kind)
        peer = max(ratios, key=ratios.get, default=None)
        return (ratios[peer], peer) if peer else (None, None)

    def behind(self, kind="whole"):
        ratio, _ = self.best(kind)
        return ratio is not None and ratio > 1


class Meter:
    """Runs programs. Their output goes to a file in memory if the system has a place for one.

    Without rounds, only answers count. Then one process, `together`, runs all programs in Python."""

    def __init__(self, folder, together=None):
        self.together = together
        memory = pathlib.Path("/dev/shm")
        place = memory if os.access(memory, os.W_OK) else folder
        self.output = place / f"tabella-shapes-{os.getpid()}.out"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.output.unlink(missing_ok=True)

    def run(self, program):
        """One run. The program writes to an empty file."""
        self.output.unlink(missing_ok=True)
        if self.together and program.words[0] == sys.executable:
            error = self.together.run(program.words, self.output)
            if error:
                raise WrongAnswer(error[-300:])
            return None
        with open(self.output, "wb") as output:
            start = time.perf_counter()
            done = subprocess.run(program.words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE)
            whole = time.perf_counter() - start
        # The status 1 of diff means that the files differ, and that of rg that no line matches.
        if done.returncode != 0 and not (program.name in ("diff", "rg") and done.returncode == 1):
            raise WrongAnswer(done.stderr.decode(errors="replace").strip()[-300:] or f"status {done.returncode}")
        work = re.search(rb"^seconds (\S+)$", done.stderr, re.MULTILINE)
        return Run(whole, float(work.group(1)) if work else whole)

    def answer(self, program):
        run = self.run(program)
        try:
            return run, program.answer(self.output.read_bytes())
        except Exception as error:  # An output that cannot be read is wrong, whatever the reason.
            raise WrongAnswer(f"unreadable output: {error}") from error

    def measure(self, command, shape, rounds):
        """The pair of a command and a shape. The first turn of each program is not part of the ratios. Without rounds,
        there is no other turn."""
        pair = Pair(command.name, shape)
        first = self.compare(command, pair)
        if rounds and "tabella" in first and len(first) > 1:
            try:
                self.repeat(command, pair, contenders(command, first), rounds)
            except WrongAnswer as error:
                pair.wrong.append(f"a later run failed: {error}")
        return pair

    def repeat(self, command, pair, peers, rounds):
        """Runs the peers in turns with tabella, until the ratios are good enough."""
        turns = [self.turn(command, peers)]
        started = time.perf_counter()
        turns.append(self.turn(command, peers))
        wanted = 2 if is_clear(turns, command, peers) else rounds
        while len(turns) < wanted and time.perf_counter() - started < PATIENCE:
            turns.append(self.turn(command, peers))
        summarize(pair, turns, peers)
        # Noise can put a pair behind, so that it is measured again before it counts.
        if pair.behind() and pair.best()[0] < 1.5:
            while len(turns) < 3 * rounds and time.perf_counter() - started < PATIENCE:
                turns.append(self.turn(command, peers))
            summarize(pair, turns, peers)

    def turn(self, command, peers):
        return {program.name: self.run(program) for program in [command.tabella, *peers]}

    def compare(self, command, pair):
        """Runs all programs once. Notes wrong answers, and returns the runs of those that answered."""
        runs, found = {}, {}
        for program in [command.tabella, *command.peers]:
            try:
                runs[program.name], found[program.name] = self.answer(program)
            except WrongAnswer as error:
                pair.failed[program.name] = str(error)
        if "tabella" not in found:
            pair.wrong.append(f"tabella: {pair.failed['tabella']}")
        for name, answer in found.items():
            if "tabella" in found and answer != found["tabella"]:
                agrees = [other for other in found if other != "tabella" and found[other] == found["tabella"]]
                others = f"{', '.join(agrees)} agrees with tabella" if agrees else "no peer agrees with tabella"
                pair.wrong.append(f"{name} {str(answer)[:120]}, tabella {str(found['tabella'])[:120]}; {others}")
                del runs[name]
        pair.agree = [name for name in runs if name != "tabella" and "tabella" in runs]
        return runs


def contenders(command, first):
    """The peers that have a chance to be the best, by the whole process or by their work."""
    peers = [peer for peer in command.peers if peer.name in first]
    gate = [peer for peer in peers if peer.gate] or peers
    best = min(first[peer.name].whole for peer in gate)
    best_work = min(first[peer.name].work for peer in gate)
    return [peer for peer in peers
            if first[peer.name].whole < HOPELESS * best or first[peer.name].work < HOPELESS * best_work]


def is_clear(turns, command, peers):
    """Whether tabella is far ahead of every peer of the gate, also by their work."""
    return all(turn["tabella"].whole < CLEAR * turn[peer.name].work for turn in turns for peer in peers if peer.gate)


def summarize(pair, turns, peers):
    """Puts the medians of the ratios into the pair. A ratio is that of one turn."""
    pair.rounds = len(turns)
    pair.seconds = statistics.median(turn["tabella"].whole for turn in turns)
    for peer in peers:
        runs = [(turn["tabella"].whole, turn[peer.name]) for turn in turns]
        whole = statistics.median(ours / run.whole for ours, run in runs)
        pair.peers[peer.name] = {"whole": statistics.median(run.whole for _, run in runs),
                                 "work": statistics.median(run.work for _, run in runs)}  # fmt: skip
        if not peer.gate:
            pair.lines[peer.name] = whole
            continue
        pair.whole[peer.name] = whole
        pair.work[peer.name] = statistics.median(ours / run.work for ours, run in runs)
