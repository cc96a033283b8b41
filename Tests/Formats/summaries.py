"""Compares `summarize` with SQLite and DuckDB on generated tables: summaries.py TABELLA [SEED].

The tables have missing cells, decimal numbers, numbers of 30 digits, and dates with and without a time.
"""

import collections
import csv
import datetime
import decimal
import io
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

import duckdb

TABELLA = sys.argv[1]
SEEDS = [int(sys.argv[2])] if len(sys.argv) > 2 else range(8)
COLUMNS = ["k", "place", "n", "x", "long", "d"]
passed = 0


def check(truth, message):
    global passed
    assert truth, message
    passed += 1


def summary(path, *arguments):
    """The rows of the result without its header, as texts; None for an empty cell."""
    done = subprocess.run([TABELLA, "summarize", path, *arguments, "--format", "csv"], capture_output=True)
    assert done.returncode == 0, f"{arguments}: {done.stderr.decode()}"
    rows = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
    return [tuple(cell or None for cell in row) for row in rows[1:]]


def table(draw):
    def cell(make):
        return "" if draw.random() < 0.1 else make()

    def date():
        moment = datetime.datetime(1999, 12, 20) + datetime.timedelta(minutes=draw.randrange(15_000_000))
        return moment.strftime(draw.choice(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M"]))

    return [
        (
            cell(lambda: draw.choice("abcdé")),
            cell(lambda: draw.choice(["north", "south"])),
            cell(lambda: str(draw.randrange(-500, 500))),
            cell(lambda: f"{draw.randrange(-10**9, 10**9)}.{draw.randrange(100):02}"),
            cell(lambda: str(draw.randrange(-(10**30), 10**30))),
            cell(date),
        )
        for _ in range(draw.choice([1, 30, 400]))
    ]


def numbers(rows, first):
    """The rows with their cells from `first` on as numbers, in any order."""
    return collections.Counter(
        (*row[:first], *(None if cell is None else decimal.Decimal(str(cell)) for cell in row[first:])) for row in rows
    )


def same(own, theirs, first, subject):
    own, theirs = numbers(own, first), numbers(theirs, first)
    check(own == theirs, f"{subject}: {list((own - theirs).items())[:3]} {list((theirs - own).items())[:3]}")


def compare_with_sqlite(path, rows, subject):
    database = sqlite3.connect(":memory:")
    database.create_function("week", 1, lambda text: "{}-W{:02}".format(*datetime.date.fromisoformat(text[:10]).isocalendar()[:2]) if text else None)
    database.create_function("weekday", 1, lambda text: datetime.date.fromisoformat(text[:10]).strftime("%A") if text else None)
    database.execute("CREATE TABLE t (k TEXT, place TEXT, n INTEGER, x TEXT, long TEXT, d TEXT)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", [[cell or None for cell in row] for row in rows])

    def query(keys, values):
        return database.execute(f"SELECT {keys}, {values} FROM t GROUP BY {keys}").fetchall()

    values = "count(*), count(DISTINCT n), sum(n), min(n), max(n)"
    compute = "rows, distinct n, sum n, min n, max n"
    same(summary(path, "--by", "k,place", "--compute", compute), query("k, place", values), 2, f"{subject} k, place")
    for kind, key in [
        ("year", "strftime('%Y', d)"), ("month", "strftime('%Y-%m', d)"), ("day", "strftime('%Y-%m-%d', d)"),
        ("hour", "strftime('%Y-%m-%d %H:00', d)"), ("week", "week(d)"), ("weekday", "weekday(d)"),
    ]:  # fmt: skip
        # A missing date is an empty cell here, which is text and no date.
        own = [(None if row[0] == "other" else row[0], *row[1:]) for row in summary(path, "--by", f"d:{kind}", "--compute", compute)]
        same(own, query(key, values), 1, f"{subject} {kind}")


def compare_with_duckdb(path, rows, subject):
    database = duckdb.connect()
    database.execute("CREATE TABLE t (k VARCHAR, place VARCHAR, n BIGINT, x DECIMAL(18, 2), long HUGEINT, d VARCHAR)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", [[cell or None for cell in row] for row in rows])

    def query(sql):
        return database.execute(sql).fetchall()

    compute = "rows, sum x, min x, max x, sum long, min long, distinct long"
    sql = "count(*), sum(x), min(x), max(x), sum(long), min(long), count(DISTINCT long)"
    same(summary(path, "--by", "k", "--compute", compute), query(f"SELECT k, {sql} FROM t GROUP BY k"), 1, f"{subject} k")
    same(summary(path, "--compute", compute), query(f"SELECT {sql} FROM t"), 0, f"{subject} all")
    # DuckDB's bins: the lower bound, as in the title.
    bins = query("SELECT floor(n / 100.0)::BIGINT * 100, count(*), sum(x) FROM t GROUP BY 1")
    own = [(row[0] and row[0].split(" ")[0].replace("other", "") or None, *row[1:]) for row in summary(path, "--by", "n:100", "--compute", "rows, sum x")]
    same(own, [(None if low is None else str(low), *rest) for low, *rest in bins], 1, f"{subject} bins")
    # DuckDB's means are doubles, and so is its median of two integers.
    own = summary(path, "--by", "place", "--compute", "mean x, median n")
    theirs = {place: rest for place, *rest in query("SELECT place, avg(x), median(n) FROM t GROUP BY place")}
    check(len(own) == len(theirs), subject)
    for place, *values in own:
        for value, other in zip(values, theirs[place]):
            if value is None or other is None:
                check(value == other, f"{subject} {place}: {value} {other}")
            else:
                check(abs(float(value) - other) <= 1e-9 * max(1, abs(other)), f"{subject} {place}: {value} {other}")


for seed in SEEDS:
    draw = random.Random(seed)
    rows = table(draw)
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "t.csv")
        with open(path, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
        compare_with_sqlite(path, rows, f"seed {seed}")
        compare_with_duckdb(path, rows, f"seed {seed}")
print(f"{passed} checks")
