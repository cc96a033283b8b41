"""The tables of the matrix: every shipped provider, all column types, missing cells, sections."""

import base64
import json
import os
import subprocess
from datetime import datetime, timedelta, timezone

import support
import tabella

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

TYPED = (
    "name,count,price,sold,day,at,empty\n"
    "Chair,3,5.40,true,2024-02-29,2024-05-01T12:30:00.123456789Z,\n"
    '"two\nlines",-9223372036854775808,-2e10,FALSE,1969-12-31,1677-09-22T00:00:00Z,\n'
    ",,,,,,\n"
    "Zo\u00eb \U0001f600,9007199254740991,0.1,TRUE,2262-04-10,1969-12-31T23:59:59.999999999+02:00,\n"
    '"say ""x""",0,1e-300,false,1970-01-01,2000-01-01T00:00:00+14:00,\n'
)
NOTES = "before\n# One\na\n\nb\n# Two\n# Three \u00e9\nc\n"


class Subject:
    """A table in a location, and how the command opens and shapes it."""

    def __init__(self, name, location, options=None, filters=(), section_by=None, sort=None, columns=None, path=()):
        self.name, self.location, self.options = name, str(location), options or {}
        self.filters, self.section_by, self.sort = filters, section_by, sort
        self.columns, self.path = columns, path

    def open(self, folder):
        host = tabella.Host(provider_path=self.path or None, receipts=folder / "receipts")
        table = host.open(self.location, options=self.options)
        table = table.filter(*self.filters) if self.filters else table
        table = table.section_by(self.section_by) if self.section_by else table
        return table.sort(self.sort) if self.sort else table

    def by_the_command(self):
        """The columns' names and types, and the rows with the number and the title of their section, from JSON."""
        words = [support.ROOT / ".build/release/tabella", "show", self.location, "--json", "--utc"]
        words += [word for key, value in self.options.items() for word in ("-o", f"{key}={value}")]
        words += [word for text in self.filters for word in ("--filter", text)]
        for option, text in [("--section-by", self.section_by), ("--sort", self.sort)]:
            words += [option, text] if text else []
        words += ["--columns", ",".join(self.columns)] if self.columns else []
        environment = {**os.environ, "TZ": "UTC"}
        if self.path:
            environment["TABELLA_PROVIDER_PATH"] = ":".join(map(str, self.path))
        done = subprocess.run(words, capture_output=True, env=environment)
        if done.returncode != 0:
            raise AssertionError(done.stderr.decode())
        document = json.loads(done.stdout)
        columns = [(column["name"], column["type"]) for column in document["columns"]]
        rows = [
            (number, section["title"], [self.value(cell, type) for cell, (_, type) in zip(row["cells"], columns)])
            for number, section in enumerate(document["sections"])
            for row in section["rows"]
        ]
        return columns, rows

    @staticmethod
    def value(cell, type):
        if isinstance(cell, dict):
            return base64.b64decode(cell["base64"])
        if type == "date" and cell is not None:
            return moment(cell)
        if type == "real" and cell is not None:
            return float(cell)
        return cell


def moment(text):
    """An RFC 3339 date in UTC, cut to a microsecond towards the past."""
    base, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(base).replace(tzinfo=timezone.utc) + timedelta(
        microseconds=int((fraction + "000000")[:6])
    )


def all_subjects(folder, children):
    """The subjects, in a folder for their files. `children` are processes that sleep."""
    typed, notes, latin, blob = (folder / name for name in ("typed.csv", "notes.md", "latin.csv", "blob.bin"))
    typed.write_bytes(TYPED.encode())
    notes.write_bytes(NOTES.encode())
    latin.write_bytes(b"a,b\n\xff\xfe,1\n,2\nplain,3\n")
    blob.write_bytes(bytes(range(256)) * 2 + b"\x00")
    tree = folder / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "a.txt").write_text("12345")
    (tree / "inner" / "b \u00e9").write_text("")
    (tree / "link").symlink_to("a.txt")
    (tree / ".hidden").write_text("x")
    os.utime(tree / "a.txt", ns=(0, -1))
    pids = "|".join(str(child.pid) for child in children)
    sales = support.ROOT / "Examples/cookbook/sales.csv"
    steady = ["pid", "parent", "user", "nice", "started", "command", "arguments"]
    return [
        Subject("csv, all types", typed, {"types": "infer"}),
        Subject("csv, as text", typed),
        Subject("csv, groups", sales, {"types": "infer"}, ["amount > 100"], "region,date:month", "amount:desc"),
        Subject("csv, no rows", sales, {"types": "infer"}, ["amount > 1e9"]),
        Subject("csv, not UTF-8", latin),
        Subject("text", notes),
        Subject("text, headings", notes, {"sections": "headings"}),
        Subject("text, bytes", blob),
        Subject("directory", tree, {"hidden": "true"}),
        Subject("directory, folders", tree, {"recursive": "true", "sections": "folder"}),
        Subject("processes", "processes:", {}, [f"pid ~ ^({pids})$"], "command", columns=steady),
        Subject("a foreign provider in C", "planets:", path=[support.planets(folder)]),
    ]  # fmt: skip
