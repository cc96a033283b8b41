#!/usr/bin/env python3
"""Compares `tabella export --format arrow-stream`, read by pyarrow, with `--format jsonl`.

usage: arrow.py TABELLA [ROWS]

TABELLA is the program to test. ROWS is the number of rows of the largest table (default 200000, at least
20000). Needs pyarrow: `python3 -m venv DIRECTORY && DIRECTORY/bin/pip install pyarrow`. Exits with 1 if
there is a difference. The last line contains the number of passed checks.
"""

import base64
import datetime
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import pyarrow as pa

passed = 0
failures = []


class Difference(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Difference(message)


def export(tabella, form, arguments):
    environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC")
    return subprocess.run([tabella, "export", *arguments, "--format", form], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True)


def read(stream):
    """Reads the table in a stream. The stream must end with its last byte."""
    source = pa.BufferReader(stream)
    with pa.ipc.open_stream(source) as reader:
        table = reader.read_all()
    check(stream.endswith(b"\xff\xff\xff\xff\0\0\0\0"), "there is no mark at the end")
    check(source.tell() == len(stream), "bytes follow the end")
    table.validate(full=True)
    for batch in table.to_batches():
        check(batch.num_rows > 0, "a batch is empty")
        for column in batch.columns:
            validity = column.buffers()[0]
            check((validity is None) == (column.null_count == 0),
                  "a validity buffer is there without need, or is not")
            # pyarrow does not verify the count in the stream.
            missing = sum(1 for valid in column.is_valid().to_pylist() if not valid)
            check(column.null_count == missing,
                  f"{column.null_count} missing cells are counted, and {missing} are marked")
    return table


def cell(value, kind):
    """A cell in its JSON form."""
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        second, rest = divmod(value, 10**9)
        text = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=second)).isoformat()
        digits = f"{rest:09}"
        while digits.endswith("000"):
            digits = digits[:-3]
        return text + (f".{digits}" if digits else "") + "Z"
    if pa.types.is_binary(kind):
        return {"base64": base64.b64encode(value).decode()}
    if pa.types.is_floating(kind) and not math.isfinite(value):
        return None
    return value


def values(column):
    """The cells of a column in their JSON form. Dates keep their nanoseconds."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        check(kind == pa.timestamp("ns", tz="UTC"), f"dates are {kind}")
        column = column.cast(pa.int64())
    return [cell(value, kind) for value in column.to_pylist()]


def compare(table, lines):
    names = table.schema.names
    check(len(set(names)) == len(names), "names are repeated")
    rows = [json.loads(line) for line in lines]
    check(table.num_rows == len(rows) or not names,
          f"{table.num_rows} rows where jsonl has {len(rows)}")
    for name, column in zip(names, table.columns):
        for number, (got, row) in enumerate(zip(values(column), rows)):
            expected = row[name]
            # jsonl writes 1.0 as 1 or 1.0; both are the number.
            same = type(got) is type(expected) or pa.types.is_floating(column.type)
            check(same and got == expected,
                  f"row {number}, column {name!r}: {got!r} where jsonl has {expected!r}")
        check(all(list(row) == names for row in rows[:10]), "names are not those of jsonl")


def same(tabella, title, arguments, columns=None, batches=None, rows=None):
    """Checks that both exports contain the same cells. `columns` are the expected types, if known."""
    global passed
    try:
        stream = export(tabella, "arrow-stream", arguments)
        check(stream.returncode == 0, f"status {stream.returncode}: {stream.stderr.decode()}")
        table = read(stream.stdout)
        text = export(tabella, "jsonl", arguments)
        check(text.returncode == 0, f"jsonl: status {text.returncode}")
        compare(table, text.stdout.split(b"\n")[:-1])
        if columns is not None:
            types = [str(field.type) for field in table.schema]
            check(types == columns, f"types are {types}")
        check(all(field.nullable for field in table.schema), "a field is not nullable")
        if batches is not None:
            count = len(table.to_batches())
            check(count >= batches, f"there are {count} batches, not {batches} or more")
        check(rows is None or table.num_rows == rows, f"there are {table.num_rows} rows")
        passed += 1
        return table
    except (Difference, pa.ArrowException, ValueError, KeyError) as error:
        failures.append(title)
        print(f"FAILED {title}: {error}")


def ends(tabella, title, arguments, row, column, prefix=None):
    """Checks that the export fails at a row, and that the stream is complete up to it."""
    global passed
    try:
        stream = export(tabella, "arrow-stream", arguments)
        error = stream.stderr.decode()
        check(stream.returncode == 1, f"status {stream.returncode}")
        check(error.count("\n") == 1, f"not one line of error: {error!r}")
        table = read(stream.stdout)
        text = export(tabella, "jsonl", arguments)
        lines = text.stdout.split(b"\n")[:-1]
        if row is None:
            row = next(number for number, line in enumerate(lines)
                       if isinstance(json.loads(line)[column], dict))
        check(f"row {row}," in error and f'"{column}"' in error, f"says {error!r}")
        check(table.num_rows == row, f"{table.num_rows} rows, not {row}")
        compare(table, lines[:row])
        passed += 1
    except (Difference, pa.ArrowException, ValueError, KeyError) as error:
        failures.append(title)
        print(f"FAILED {title}: {error}")


def random_csv(seed, rows):
    """Random cells: short and long, missing, empty, quoted, with characters of every length in UTF-8."""
    source = random.Random(seed)
    letters = "ab ,\"\n'é߀漢🦤\u200d\ufeff\0"[:-1]
    columns = source.randint(1, 9)

    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    def field():
        kind = source.random()
        if kind < 0.2:
            return ""
        if kind < 0.3:
            return '""'
        length = source.choice([1, 3, 8, 40])
        return quoted("".join(source.choice(letters) for _ in range(length)))

    lines = [",".join(f"column {number}" for number in range(columns))]
    for _ in range(rows):
        # Some rows are short, so their last cells are missing.
        width = columns if source.random() < 0.8 else source.randint(1, columns)
        lines.append(",".join(field() for _ in range(width)))
    return ("\n".join(lines) + "\n").encode()


def typed_csv(rows):
    """Columns of every inferred type, with missing cells."""
    source = random.Random(rows)
    lines = ["i,r,b,d,t,often missing"]
    for row in range(rows):
        day = datetime.datetime(1900, 1, 1) + datetime.timedelta(
            seconds=source.randrange(10**9 * 6), milliseconds=source.choice([0, 0, 1, 250]))
        cells = [
            str(source.randint(-2**63, 2**63 - 1)),
            repr(source.uniform(-1e9, 1e9)),
            source.choice(["true", "false"]),
            day.isoformat(timespec="milliseconds") + "Z",
            source.choice(["x", "ünï", "a b"]),
            str(row) if row % 97 == 0 else "",
        ]
        lines.append(",".join("" if source.random() < 0.05 else cell for cell in cells))
    return ("\n".join(lines) + "\n").encode()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    tabella = os.path.abspath(sys.argv[1])
    rows = max(20_000, int(sys.argv[2])) if len(sys.argv) == 3 else 200_000
    with tempfile.TemporaryDirectory() as folder:

        def file(name, content):
            path = os.path.join(folder, name)
            with open(path, "wb") as out:
                out.write(content if isinstance(content, bytes) else content.encode())
            return path

        text = "string"
        # Small and tricky
        same(tabella, "empty file", [file("empty.csv", "")], columns=[])
        same(tabella, "zero rows", [file("zero.csv", "a,b\n")], columns=[text, text], rows=0)
        same(tabella, "one cell", [file("one.csv", "a\nx\n")], columns=[text], rows=1)
        same(tabella, "repeated names", [file("names.csv", "a,a,a 2,,\n1,2,3,4,5\n")])
        quotes = file("quotes.csv", 'a,"b ""c"""\n"x,""y""","two\nlines"\n"",\n"é",漢🦤\nshort\n')
        same(tabella, "quotes, line ends, unicode", [quotes], rows=4)
        same(tabella, "no header shown", [quotes, "--no-header"])
        same(tabella, "two files joined", [quotes, quotes], rows=8)
        same(tabella, "a wide table",
             [file("wide.csv", (",".join(f"c{n}" for n in range(2000)) + "\n") * 3)], rows=2)
        long = file("long.csv", "a,b\n" + "x" * 3_000_000 + ",é\n" + "y,\n" + "é" * 200_000 + ",z\n")
        same(tabella, "long cells", [long], rows=3)
        for seed in range(40):
            path = file("random.csv", random_csv(seed, seed * 7))
            same(tabella, f"random file {seed}", [path])
            same(tabella, f"part of random file {seed}", [path, "--rows", f"{seed}..{seed * 4}"])

        # Types
        types = ["int64", "double", "bool", "timestamp[ns, tz=UTC]", text, "int64"]
        infer = ["-o", "types=infer"]
        for count in (1, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 5000):
            path = file("typed.csv", typed_csv(count))
            known = types if count > 1000 else None
            same(tabella, f"types of {count} rows", [path, *infer], columns=known, rows=count)
        same(tabella, "types, filtered", [path, *infer, "--filter", "b = true"], columns=types)
        same(tabella, "types, sorted", [path, *infer, "--sort", "d:desc"], columns=types, rows=5000)
        same(tabella, "types, sections", [path, *infer, "--section-by", "t"], columns=types)
        same(tabella, "types, many sections", [path, *infer, "--section-by", "often missing"])
        same(tabella, "types, from the middle", [path, *infer, "--rows", "1003..3333"],
             columns=types, rows=2331)
        same(tabella, "types, some columns", [path, *infer, "--columns", "b,d,i"],
             columns=["bool", "timestamp[ns, tz=UTC]", "int64"])
        same(tabella, "edges of numbers", [
            file("edges.csv", "i,r\n-9223372036854775808,1e308\n9223372036854775807,-0.0\n0,5e-324\n"),
            *infer], columns=["int64", "double"])

        # Many rows
        path = file("many.csv", typed_csv(rows))
        same(tabella, "many rows", [path], batches=5, rows=rows)
        same(tabella, "many rows, types", [path, *infer], columns=types, batches=5, rows=rows)
        same(tabella, "many rows, filtered", [path, "--filter", "t = x"], batches=2)
        same(tabella, "many rows, sorted", [path, "--sort", "i", "-n", "30000"],
             rows=min(rows, 30000))

        # Other providers
        files = os.path.join(folder, "files")
        os.mkdir(files)
        for number in range(50):
            name = os.path.join(files, f"{number} ü,\"x\".txt")
            with open(name, "wb") as out:
                out.write(b"x" * number)
            os.utime(name, ns=(0, random.Random(number).randrange(-2**40, 2**60)))
        table = same(tabella, "a directory", [files], rows=50)
        if table is not None:
            units = {field.name: field.metadata[b"unit"] for field in table.schema if field.metadata}
            if b"bytes" not in units.values():
                failures.append("units")
                print(f"FAILED units: {units}")
        same(tabella, "a text", [__file__])
        same(tabella, "processes", ["processes:", "--columns", "pid,parent,started,command",
                                    "--filter", f"pid = {os.getpid()}"], rows=1)

        # Bytes that Arrow's text cannot contain
        with open(os.path.join(os.fsencode(files), b"\xff.txt"), "wb"):
            pass
        ends(tabella, "a name that is not UTF-8", [files], None, "name")
        ends(tabella, "the same, sorted to the end", [files, "--sort", "name"], 50, "name")
        bad = bytearray(typed_csv(rows))
        last = bad.rindex(b"\n", 0, len(bad) - 1)
        ends(tabella, "the last of many rows",
             [file("bad.csv", bytes(bad[:last + 1]) + b"1,2,true,,\xe9,\n")], rows - 1, "t")
        ends(tabella, "the first row", [file("first.csv", b"a,b\n\xff,x\n1,2\n")], 0, "a")
        ends(tabella, "half a character a cell", [file("half.csv", b"a,b\n\xc3\xa9,x\n\xc3,\xa9\n")],
             1, "a")
        ends(tabella, "half a character a row", [file("rows.csv", b"a\nx\n\xc3\n\xa9\n")], 1, "a")
        # The largest code points, a surrogate, and an overlong form.
        same(tabella, "the last character", [file("max.csv", b"a\n\xf4\x8f\xbf\xbf\n")], rows=1)
        for name, sequence in (("beyond the last", b"\xf4\x90\x80\x80"),
                               ("a surrogate", b"\xed\xa0\x80"), ("overlong", b"\xc0\xaf")):
            ends(tabella, name, [file("seq.csv", b"a\nx\n" + sequence + b"\n")], 1, "a")

    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
