"""Measures large tables: limits.py TABELLA [ROWS]. Memory is the peak of the program itself."""

import os
import sys
import tempfile

TABELLA = sys.argv[1]
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
passed = 0


def run(arguments, output, status=0, threads=None):
    """Runs tabella, with a number of threads or the usual one, and returns its peak memory, in MiB."""
    pid = os.posix_spawn(
        TABELLA,
        [TABELLA, *arguments],
        os.environ if threads is None else {**os.environ, "TABELLA_THREADS": str(threads)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
        ],
    )
    _, code, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(code) == status, f"{arguments}: {os.waitstatus_to_exitcode(code)}"
    return usage.ru_maxrss / 1024


def check(truth, message):
    global passed
    assert truth, message
    passed += 1


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    block = "".join(f"{number},Müller {number},{number * 7919 % 100000},2026-01-02\n" for number in range(10000))
    with open("rows.csv", "w") as file:
        file.write("id,name,amount,day\n")
        for _ in range(ROWS // 10000):
            file.write(block)
    for arguments, most in (
        (["export", "rows.csv"], 24),
        (["export", "rows.csv", "--format", "tsv"], 24),
        (["export", "rows.csv", "--format", "plain"], 24),
        (["export", "rows.csv", "--format", "jsonl"], 24),
        (["export", "rows.csv", "--format", "arrow-stream"], 24),
        # A view stores the number of each hit in four bytes.
        (["export", "rows.csv", "--filter", "amount > 50000"], 80),
        # A table holds back as many rows as it can measure in 50 ms, at most 100,000.
        (["show", "rows.csv"], 28),
        (["show", "rows.csv", "--format", "json"], 24),
    ):
        # A second thread needs no more memory than the limit of one.
        for threads in (1, 2):
            memory = run(arguments, "/dev/null", threads=threads)
            print(f"  {memory:6.1f} MiB  {' '.join(arguments)}, threads: {threads}", file=sys.stderr)
            check(memory < most, f"{arguments} took {memory:.1f} MiB with {threads} threads")
    os.remove("rows.csv")

    columns = 100_000
    with open("wide.csv", "w") as file:
        file.write(",".join(f"c{number}" for number in range(columns)) + "\n")
        for row in range(20):
            file.write(",".join(str(number + row) for number in range(columns)) + "\n")
    for arguments in (
        ["show", "wide.csv"],
        ["show", "wide.csv", "--width", "80"],
        ["show", "wide.csv", "--width", "80", "--vertical", "never"],
        ["show", "wide.csv", "--style", "collection", "--width", "80"],
        ["show", "wide.csv", "--format", "markdown"],
        ["show", "wide.csv", "--json"],
        ["export", "wide.csv", "--format", "jsonl"],
        ["export", "wide.csv", "--format", "arrow-stream"],
    ):
        memory = run(arguments, "out")
        print(f"  {memory:6.1f} MiB  {' '.join(arguments)}", file=sys.stderr)
        check(os.path.getsize("out") > 0 and memory < 1500, f"{arguments} took {memory:.0f} MiB")
    run(["export", "wide.csv"], "out")
    check(open("out", "rb").read() == open("wide.csv", "rb").read(), "wide.csv as it was")

    with open("long.csv", "w") as file:
        file.write("a,b\n1," + "é" * 50_000_000 + "\n2,x\n")
    run(["export", "long.csv"], "out")
    check(open("out", "rb").read() == open("long.csv", "rb").read(), "long.csv as it was")
    for arguments in (
        ["show", "long.csv"],
        ["show", "long.csv", "--width", "80"],
        ["show", "long.csv", "--vertical", "always"],
        ["show", "long.csv", "--json"],
        ["show", "long.csv", "--format", "markdown"],
        ["export", "long.csv", "--format", "plain"],
        ["export", "long.csv", "--format", "arrow-stream"],
    ):
        memory = run(arguments, "out")
        print(f"  {memory:6.1f} MiB  {' '.join(arguments)}", file=sys.stderr)
        check(os.path.getsize("out") > 0 and memory < 2000, f"{arguments} took {memory:.0f} MiB")

print(f"{passed} passed, 0 failed")
