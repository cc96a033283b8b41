"""Prints the results on one screen, and writes all figures as JSON."""

import collections
import dataclasses
import json
import statistics

# The gate of the issue: so many shapes may be behind, and none by more than this.
SHAPES_BEHIND = 5
WORST = 1.3
# A pair with a smaller difference is behind by the time that programs need to start.
START = 0.010


def screen(pairs):
    """The lines of the summary."""
    names = f"{'command':13} {'pairs':>5} {'behind':>6} {'on work':>7} {'lines':>5} {'median':>6} {'worst':>6}"
    yield f"{names}  worst shape, best peer"
    for name in dict.fromkeys(pair.command for pair in pairs):
        yield line(name, [pair for pair in pairs if pair.command == name and pair.whole])
    yield ""
    yield from verdict(pairs)


def line(name, pairs):
    if not pairs:
        return f"{name:13} {0:5}"
    ratios = [pair.best()[0] for pair in pairs]
    worst = max(pairs, key=lambda pair: pair.best()[0])
    behind = sum(pair.behind() for pair in pairs)
    work = sum(pair.behind("work") for pair in pairs)
    lines = sum(pair.behind("lines") for pair in pairs)
    return (f"{name:13} {len(pairs):5} {behind:6} {work:7} {lines:5} {statistics.median(ratios):6.2f} "
            f"{max(ratios):6.2f}  {worst.shape.short}, {worst.best()[1]}")


def answers(pairs):
    """The lines of the summary of a run that compares only answers: the peers that agree with tabella."""
    yield f"{'command':13} {'pairs':>5} {'wrong':>5}  peers that agree"
    for name in dict.fromkeys(pair.command for pair in pairs):
        chosen = [pair for pair in pairs if pair.command == name]
        agree = collections.Counter(peer for pair in chosen for peer in pair.agree)
        peers = ", ".join(f"{peer} {count}" for peer, count in agree.most_common())
        yield f"{name:13} {len(chosen):5} {sum(len(pair.wrong) for pair in chosen):5}  {peers}"
    yield ""
    shapes = {pair.shape for pair in pairs}
    compared = sum(len(pair.agree) for pair in pairs)
    yield (f"{len(shapes)} shapes, {compared} answers of peers agree, {sum(len(pair.wrong) for pair in pairs)} wrong, "
           f"{len(alone(pairs))} answers of tabella without a peer")


def alone(pairs):
    """The pairs that no peer answered, so that nothing is compared."""
    return [pair for pair in pairs if not pair.agree and not pair.wrong]


def shapes_behind(pairs, kind="whole"):
    """Per shape that is behind, its worst ratio."""
    found = {}
    for pair in pairs:
        if pair.behind(kind):
            found[pair.shape] = max(found.get(pair.shape, 0), pair.best(kind)[0])
    return found


def by_start(pair):
    """Whether the best peer is ahead by less than the start of a program."""
    return pair.behind() and pair.seconds - pair.peers[pair.best()[1]]["whole"] < START


def verdict(pairs):
    shapes = {pair.shape for pair in pairs}
    behind, work = shapes_behind(pairs), shapes_behind(pairs, "work")
    large = shapes_behind([pair for pair in pairs if not by_start(pair)])
    wrong = sum(len(pair.wrong) for pair in pairs)
    yield f"shapes behind, whole process: {len(behind)} of {len(shapes)}, worst {max(behind.values(), default=0):.2f}"
    yield f"  by {START * 1000:.0f} ms or more: {len(large)} of {len(shapes)}, " \
        f"worst {max(large.values(), default=0):.2f}"
    yield f"shapes behind, work only:     {len(work)} of {len(shapes)}, worst {max(work.values(), default=0):.2f}"
    yield f"wrong answers: {wrong}"
    yield f"gate (at most {SHAPES_BEHIND} shapes behind, none above {WORST}): {'met' if met(pairs) else 'NOT met'}"


def met(pairs):
    behind = shapes_behind(pairs)
    return len(behind) <= SHAPES_BEHIND and max(behind.values(), default=0) <= WORST


def write(path, pairs, options):
    """Writes every figure. Times are in seconds, and ratios are tabella's time divided by the peer's."""
    figures = [{**dataclasses.asdict(pair), "shape": dataclasses.asdict(pair.shape), "name": pair.shape.short,
                "best": pair.best()[1], "ratio": pair.best()[0], "best_on_work": pair.best("work")[1],
                "ratio_on_work": pair.best("work")[0]} for pair in pairs]
    document = {"seed": options.seed, "count": options.count, "rounds": options.rounds, "gate": met(pairs),
                "pairs": figures}
    with open(path, "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
