"""Bad programs in place of tabella, with one fault each: the harness must detect every one."""

import os
import pathlib

import check
import keeper
from animal import WHOLE, Animal

GOOD = Animal("P0", "good", keeper.GOOD, status=(0,), shows=WHOLE)
BAD = Animal("P0", "bad", keeper.GOOD, says="believe me")

# The program, in a shell; `rows` contains the output of a good one. Then the expected complaint.
FAULTS = [
    (GOOD, "a status of its own", 'cat "$rows"; exit 5', "status 5"),
    (GOOD, "dies", "kill -SEGV $$", "status -11"),
    (GOOD, "shows half", 'head -n 100 "$rows"', "does not show the rows"),
    (GOOD, "lets rubbish through", 'cat "$rows"; echo RUBBISH', "on standard output"),
    (GOOD, "lets rubbish through as if it were its own", 'cat "$rows"; echo "tabella: RUBBISH" >&2', "not labelled"),
    (GOOD, "complains of nothing", 'cat "$rows"; echo "tabella: good: perhaps" >&2', "should not be there"),
    (GOOD, "hangs", "sleep 60", "did not end"),
    (GOOD, "leaves a process", 'cat "$rows"; setsid sleep 60 &', "left behind: sleep"),
    (GOOD, "leaves a daemon", 'cat "$rows"; (setsid sh -c "sleep 60 & sleep 61" &)', "left behind: "),
    (GOOD, "takes memory", "exec python3 -c 'import os; a = bytearray(400 << 20); import time; time.sleep(0.2); os.write(1, open(os.environ[\"rows\"], \"rb\").read())'", "MB"),
    (BAD, "succeeds", "exit 0", "status 0"),
    (BAD, "says nothing", "exit 3", "0 error lines"),
    (BAD, "says two things", "echo 'tabella: believe me' >&2; echo 'tabella: believe me' >&2; exit 3", "2 error lines"),
    (BAD, "says something else", "echo 'tabella: never mind' >&2; exit 3", "not: believe me"),
    (BAD, "forgets who it is", "echo 'believe me' >&2; exit 3", "no error line of tabella"),
    (BAD, "lets escapes through", "printf 'tabella: believe me \\033[31m\\n' >&2; exit 3", "control characters"),
    (BAD, "says too much", "echo 'tabella: believe me' >&2; head -c 100000 /dev/zero | tr '\\0' x >&2; exit 3", "bytes on standard error"),
    (BAD, "is loaded in process", "echo RUBBISH; echo 'tabella: believe me' >&2; exit 3", "on standard output"),
]  # fmt: skip

FOUND = '{"checks":[{"name":"opens","status":"failed"}]}'
LIAR = Animal("P0", "liar", keeper.GOOD, check=("rows-hold", "failed"))
# The same for checks.
CHECK_FAULTS = [
    (BAD, "finds nothing", "echo '{\"checks\":[]}'", "finds nothing"),
    (LIAR, "finds something else", f"echo '{FOUND}'; exit 1", "does not find rows-hold"),
    (BAD, "finds something and says that all is well", f"echo '{FOUND}'", "status 0 with 1 findings"),
    (BAD, "dies of what it checks", "kill -SEGV $$", "status -11"),
    (BAD, "ends in the middle of what it says", "echo '{\"checks\":['; exit 1", "no document"),
    (BAD, "cannot load and does not say why", "exit 3", "not said why"),
    (BAD, "leaves a worker behind", f"echo '{FOUND}'; setsid sleep 60 & exit 1", "left behind: sleep"),
]  # fmt: skip


def planted(settings):
    """Prints a line for each missed fault. Returns whether all were caught, and their number."""
    caught = 0
    rows = settings.folder / "rows.csv"
    rows.write_bytes(settings.good_csv)
    rows.chmod(0o644)
    keeper.adopt_orphans()
    faults = [(*fault, keeper.meet) for fault in FAULTS] + [(*fault, check.check) for fault in CHECK_FAULTS]
    for number, (animal, words, script, complaint, meet) in enumerate(faults):
        program = settings.folder / f"planted-{number}"
        program.write_text(f"#!/bin/bash\nexport rows='{rows}'\n{script}\n")
        program.chmod(0o755)
        own = keeper.Settings(str(program), settings.folder, settings.good_csv)
        animal.seconds = 2
        _, wrong = meet(own, animal)
        if any(complaint in line for line in wrong):
            caught += 1
        else:
            print(f"  NOT CAUGHT: a tabella that {words}: {wrong or 'nothing was wrong'}", flush=True)
    print(f"planted: {caught} of {len(faults)} faults of tabella itself are noticed", flush=True)
    return caught == len(faults), f"{caught} of {len(faults)}"


BEGIN = "<!-- figures: written by Tests/Zoo/run --count full --write -->"
END = "<!-- end of figures -->"


def write_figures(options, report, checks, caught, passed):
    """Writes the figures of this run into docs/zoo.md."""
    system = os.uname()
    lines = [
        f"`Tests/Zoo/run --count {options.count} --seed {options.seed}` on Linux {system.release.partition('-')[0]}, {system.machine}, "
        f"as {options.user or 'root' if os.geteuid() == 0 else 'an ordinary user'}: {'all as promised' if passed else 'NOT AS PROMISED'}.",
        f"{report.line()}. Of `tabella check`: {checks.line()}. {caught} planted faults noticed.",
        "",
        "| kind | animals |",
        "| --- | ---: |",
    ]
    for kind in sorted(report.counts, key=lambda kind: int(kind[1:])):
        lines.append(f"| {kind} | {report.counts[kind]} |")
    page = pathlib.Path(__file__).resolve().parents[2] / "docs/zoo.md"
    before, mark, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    page.write_text(before + mark + "\n" + "\n".join(lines) + "\n" + end + after)
