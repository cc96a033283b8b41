"""A good saver and a good remover, and bad ones with one mistake each. The harness must pass the good ones and
detect the others. header.c is a good saver too: it saves with tabella_save.h, as a provider in C does."""

import os
import pathlib
import subprocess

import errors
import full_disk
import kills
import power_cut
import races
import temporaries
import writers
from case import Adder, BigCase, Case
from tree import file

SAVERS = pathlib.Path(__file__).parent / "savers"
HEADERS = pathlib.Path(__file__).parents[2] / "Sources/CTabella/include"

# The mistake, its effect, the sweep that must detect it, the expected verdict, and the place if it matters.
MISTAKES = [
    ("BAD_IN_PLACE", "writes over the file itself", "kill", "torn", ""),
    ("BAD_UNLINKS_FIRST", "removes the file, then renames", "kill", "torn", ""),
    ("BAD_ADOPTS", "goes on with a leftover temporary file", "kill", "next run", ""),
    ("BAD_FORGETS_MODE", "forgets the file's mode", "kill", "not as it should be", ""),
    ("BAD_NO_FSYNC", "does not sync the file", "power-cut", "torn", ""),
    ("BAD_NO_DIRECTORY_FSYNC", "does not sync the directory", "power-cut", "false success", ""),
    ("BAD_RENAMES_FIRST", "renames, then syncs", "power-cut", "torn", ""),
    ("BAD_CLAIMS_EARLY", "says saved, then syncs", "power-cut", "false success", ""),
    ("BAD_IGNORES_WRITE", "ignores that write failed", "errors", "torn", ""),
    ("BAD_RETRIES_FSYNC", "tries a failed fsync again", "errors", "false success", ""),
    ("BAD_DIES_OF_LIMITS", "dies of a limit on the size of files", "full-disk", "status", "no file beyond"),
    ("BAD_SHORT_WRITE", "takes a short write for a whole one", "full-disk", "torn", ""),
    ("BAD_NO_FINGERPRINT", "does not look whether the file changed", "races", "overwritten", "changed in place"),
    ("BAD_BLIND_RENAME", "looks, then renames over whatever is there", "races", "overwritten", "replaced by rename"),
    ("BAD_FOLLOWS_LINK", "follows a link that was put there meanwhile", "races", "overwritten", "replaced by a link"),
    ("BAD_NO_CHECKS", "neither locks nor looks", "writers", "lost", ""),
    ("BAD_PREDICTABLE", "has a temporary name that can be known", "temporaries", "overwritten", ""),
    ("BAD_LOOKS_ONCE", "looks at the file once, then removes what has its name", "removals", "overwritten", "appended to"),
    ("BAD_BLIND_UNLINK", "looks again, then removes what has its name", "removals", "overwritten", "replaced by rename"),
    ("BAD_NO_LEASE", "does not ask who has the file open", "removals", "overwritten", "opened, written to at the end"),
]  # fmt: skip


def kind_of(sweep):
    """The program that a sweep tests: saver.c or remover.c."""
    return "remover" if sweep == "removals" else "saver"


def build(folder, kind, mistake=None):
    """Compiles the program with this mistake unless it exists."""
    program = os.path.join(folder, (mistake or f"good-{kind}").lower())
    if not os.path.exists(program):
        planted = [f"-D{mistake}"] if mistake else []
        subprocess.run(
            ["gcc", "-std=gnu11", "-O1", "-Wall", "-Wno-unused", f"-I{HEADERS}", *planted, "-o", program, SAVERS / f"{kind}.c"],
            check=True,
        )  # fmt: skip
    return program


# The number of bytes per line.
LINE = 43


def lines(count):
    return b"".join(b"line %06d of a file that must stay whole\n" % i for i in range(count))


def middle(program):
    """The saver replaces one line of 160 by a longer one."""
    data = lines(160)
    at, length, text = 80 * LINE, LINE, b"THE NEW LINE, WHICH IS LONGER THAN THE ONE BEFORE IT WAS\n"
    return Case(
        name=f"{os.path.basename(program)}, a line in the middle",
        program=program,
        files={"user/data.csv": file(data, 0o640)},
        command=["@/user/data.csv", str(at), str(length), text.decode()],
        change={"user/data.csv": file(data[:at] + text + data[at + length :], 0o640)},
        follow=["@/user/data.csv", "0", "4", "NEXT"],
    )


def removal(program):
    """The remover removes a file that another program may need."""
    return Case(
        name=f"{os.path.basename(program)}, a file",
        program=program,
        files={"user/data.csv": file(lines(10), 0o640), "user/more.csv": file(lines(10))},
        command=["undo", "@/user/data.csv", "@/state/data"],
        change={"user/data.csv": None},
        follow=["undo", "@/user/more.csv", "@/state/more"],
        before=[["note", f"@/user/{name}.csv", f"@/state/{name}"] for name in ["data", "more"]],
        heeds_writers=True,
    )


def through_link(program):
    case = middle(program)
    case.name = f"{os.path.basename(program)}, through a link"
    case.files = {"user/real/data.csv": case.files["user/data.csv"], "user/data.csv": link("real/data.csv")}
    case.change = {"user/real/data.csv": case.change["user/data.csv"]}
    case.target = "user/real/data.csv"
    return case


def link(target):
    return file(target.encode())._replace(kind="link", mode=0)


def large(program, pages=200):
    """A file of about 200 pages. The saver appends one."""
    data = lines(pages * 4096 // LINE)
    return Case(
        name=f"{os.path.basename(program)}, {pages} pages",
        program=program,
        files={"user/data.csv": file(data)},
        command=["@/user/data.csv", "0", "0", "FIRST\n"],
        change={"user/data.csv": file(b"FIRST\n" + data)},
        follow=["@/user/data.csv", "0", "4", "NEXT"],
    )


def big(program, size):
    data = lines(size // LINE)
    return BigCase(
        name=f"{os.path.basename(program)}, {size // 1_000_000} MB",
        program=program,
        files={"user/data.csv": file(data)},
        command=[],
        change={},
        follow=[],
        there=["@/user/data.csv", str(100 * LINE), "4", "LINE"],
        back=["@/user/data.csv", str(100 * LINE), "4", "line"],
        new_bytes=data[: 100 * LINE] + b"LINE" + data[100 * LINE + 4 :],
    )


def adder(program):
    return Adder(
        name=f"{os.path.basename(program)}, rows at the end",
        program=program,
        files={"user/data.csv": file(lines(10))},
        command=[],
        change={},
        follow=[],
        row=lambda text: (["@/user/data.csv", "end", "0", text + "\n"], text.encode() + b"\n"),
    )


def run_sweep(name, settings, program):
    """One sweep over the saver or remover, large enough to reach each of its calls."""
    if name == "removals":
        return races.race_sweep(settings, [removal(program)], 500)
    small = [middle(program)]
    if name == "kill":
        return kills.kill_sweep(settings, small, 1000)
    if name == "signals":
        return kills.signal_sweep(settings, small, 60)
    if name == "random-kills":
        return kills.random_sweep(settings, big(program, 5_000_000), 30)
    if name == "errors":
        return errors.error_sweep(settings, small, 250)
    if name == "full-disk":
        return full_disk.full_disk_sweep(settings, [large(program)], 30)
    if name == "power-cut":
        return power_cut.power_cut_sweep(settings, small, 2000, 10)
    if name == "writers":
        return writers.writer_sweep(settings, adder(program), 400)
    if name == "races":
        return races.race_sweep(settings, small, 500)
    return temporaries.temporary_sweep(settings, small)


SWEEPS = ["kill", "random-kills", "signals", "errors", "full-disk", "power-cut", "writers", "races", "temporaries"]


def planted(settings, folder):
    """Prints a line for each mistake. Returns whether all results are as expected, and the number of caught
    mistakes."""
    passed = True
    good = [(name, "saver") for name in SWEEPS] + [("removals", "remover")] + [(name, "header") for name in SWEEPS]
    for name, kind in good:
        sweep = run_sweep(name, settings, build(folder, kind))
        sweep.name = name
        print(f"  good {kind}: {sweep.line()}", flush=True)
        if not sweep.passed:
            passed = False
            sweep.report()
    good_passes, caught = passed, 0
    for mistake, words, name, kind, where in MISTAKES:
        program = kind_of(name)
        sweep = run_sweep(name, settings, build(folder, program, mistake))
        found = [failure for failure in sweep.failures if failure[0] == kind and where in failure[1]]
        if found:
            caught += 1
            print(f"  caught by {name}: a {program} that {words} ({found[0][0]}: {found[0][1]})", flush=True)
        elif sweep.not_run and not sweep.failures:
            print(f"  NOT RUN: {name} for a {program} that {words}: {sweep.not_run[0]}", flush=True)
            passed = False
        else:
            print(f"  NOT CAUGHT by {name}: a {program} that {words}: {sweep.line()}", flush=True)
            passed = False
    print(f"planted: the good ones {'pass' if good_passes else 'FAIL'}; {caught} of {len(MISTAKES)} mistakes caught")
    return passed, caught
