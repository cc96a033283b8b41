"""The rows of locations: the same as without Spark, for every provider, with filters, sections and errors."""

import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime, timedelta, timezone

import cluster

sys.path.append(str(cluster.ROOT / "Tests/Python"))
import subjects  # noqa: E402

import counted  # noqa: E402
import pyarrow as pa  # noqa: E402
import tabella  # noqa: E402

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
WORDS = ["x", "1", "1.0", "today", "a b", " a", "a ", '"q"', "=x", "~", "\u00e9", "", "a=b", "-7d", "{n}", "a\nb", "10%", "x.y"]


def plain(rows):
    """Rows as lists of values that compare: moments in UTC."""
    def value(cell):
        if isinstance(cell, datetime):
            return cell.replace(tzinfo=timezone.utc) if cell.tzinfo is None else cell
        return bytes(cell) if isinstance(cell, bytearray) else cell

    return sorted(([value(cell) for cell in row] for row in rows), key=repr)


class Locations(cluster.Case):
    def test_every_provider(self):
        children = [subprocess.Popen(["sleep", "600"]) for _ in range(3)]
        self.addCleanup(lambda: [(child.kill(), child.wait()) for child in children])
        for subject in subjects.all_subjects(self.folder, children):
            if "bytes" in subject.name or "not UTF-8" in subject.name:
                continue
            with self.subTest(subject.name):
                self.compare(subject)

    def compare(self, subject):
        table = tabella.open(subject.location, options=subject.options)
        names = subject.columns or [column.name for column in table.columns if not column.on_request]
        filters = subject.filters or []
        wanted = pa.table(table.filter(*filters).arrow(names) if filters else table.arrow(names)).to_pylist()
        more = {"filter": json.dumps(filters)} if filters else {}
        frame = self.read(subject.location, columns=json.dumps(names), **subject.options, **more)
        self.assertEqual(frame.columns, names)
        self.assertEqual(plain(frame.collect()), plain([row.values() for row in wanted]))

    def test_text_that_is_not_utf8(self):
        path = self.folder / "latin.csv"
        path.write_bytes(b"a,b\nx,1\n\xff\xfe,2\n")
        line = self.error_of(self.read(path))
        self.assertIn("latin.csv", line)
        self.assertIn("not UTF-8", line)
        self.assertEqual(plain(self.read(path, text="binary").collect()), [[b"\xff\xfe", b"2"], [b"x", b"1"]])

    def test_many_files_in_few_tasks(self):
        for number in range(40):
            (self.folder / f"part {number}.csv").write_text(f"n,only{number % 2}\n{number},a\n{number}.5,b\n" if number % 3 else f"n\n{number}\n")
        frame = self.read(self.folder / "part *.csv", types="infer")
        self.assertEqual(set(frame.columns), {"n", "only0", "only1"})
        self.assertEqual(frame.rdd.getNumPartitions(), 1)
        wanted = [number + half for number in range(40) for half in ([0, 0.5] if number % 3 else [0])]
        self.assertEqual(sorted(row["n"] for row in frame.collect()), wanted)
        self.assertEqual(self.read(*sorted(self.folder.glob("*.csv")), bytesPerTask="1k").count(), len(wanted))

    def test_sections(self):
        path = self.folder / "notes.md"
        path.write_text("# One\na\nb\n# Two\nc\n# Three\n")
        frame = self.read(path, sections="headings", splitSections="true", withSection="true", tasks="2")
        self.assertEqual(frame.rdd.getNumPartitions(), 2)
        table = tabella.open(path, options={"sections": "headings"})
        wanted = [[section.number, section.title, row["line"]] for section in table.sections for row in section]
        self.assertEqual(plain(frame.select("section", "section title", "line").collect()), plain(wanted))

    def test_a_schema_of_the_user(self):
        path = self.folder / "data.csv"
        path.write_text("id,day,price\n1,2024-02-29,1.5\n2,2024-03-01,\n")
        frame = self.read(path, schema="price DOUBLE, id INT, day DATE, other STRING")
        rows = [tuple(row) for row in frame.orderBy("id").collect()]
        self.assertEqual([(row[0], row[1], str(row[2]), row[3]) for row in rows], [(1.5, 1, "2024-02-29", None), (None, 2, "2024-03-01", None)])

    def test_errors_are_one_line(self):
        path = self.folder / "data.csv"
        path.write_text("a,b\n1,2\nx,4\n")
        cases = [
            (lambda: self.read(self.folder / "none.csv"), "none.csv"),
            (lambda: self.read(self.folder / "none*.csv"), "no file matches"),
            (lambda: self.read(path, columns="a,c"), "there is no column c; the columns are a, b"),
            (lambda: self.read(path, delimter=";"), "has no option delimter"),
            (lambda: self.read(path, tasks="0"), "the option tasks cannot be 0"),
            (lambda: self.read(path, hosts="a"), "the option hosts needs the option command"),
            (lambda: self.read(path, filter="zz > 1"), "zz > 1: must be COLUMN OP VALUE"),
            (lambda: self.read(path, schema="a LONG, b STRING"), 'column "a": "x" does not have the type integer'),
        ]
        for frame, wanted in cases:
            with self.subTest(wanted):
                line = self.error_of(frame)
                self.assertIn(wanted, line)
                # A misfit in a task once named its file twice.
                self.assertLessEqual(line.count(str(path)), 1, line)

    def test_a_provider_that_crashes_fails_the_task_with_one_line(self):
        line = self.error_of(lambda: self.read("fall:x"))
        self.assertIn("fall", line)

    def test_a_file_that_is_gone(self):
        source = self.folder / "data.csv"
        source.write_text("a\n1\n")
        frame = self.read(source)
        source.unlink()
        line = self.error_of(frame)
        self.assertIn("data.csv", line)


class Filters(cluster.Case):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="tabella-spark-filters-")
        cls.addClassCleanup(holder.cleanup)
        cls.path = os.path.join(holder.name, "data.csv")
        chance = random.Random(5)
        with open(cls.path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["word", "n", "r", "flag", "at", "n = 1"])
            for _ in range(3000):
                at = START + timedelta(microseconds=chance.randint(-3, 3))
                stamp = at.replace(tzinfo=None).isoformat(timespec="microseconds") + f"{chance.randint(0, 999):03}Z"
                real = chance.choice(["0.1", "0.10000000000000000001", "1e3", "2.5", "-0.0", str(chance.random())])
                whole = chance.choice(["-0", *map(str, range(-3, 4))])
                row = [chance.choice(WORDS), whole, real, chance.choice(["true", "false"]), stamp, "a = 1"]
                writer.writerow([None if chance.random() < 0.1 else value for value in row])

    def test_random_filters(self):
        """The same rows whether filters are pushed or not."""
        chance = random.Random(7)
        frame = self.read(self.path, types="infer", delimiter=",")
        # In memory, Spark applies the filters alone.
        eager = frame.cache()
        self.addCleanup(eager.unpersist)
        counts = self.folder / "counts"
        counts.mkdir()
        fewer = 0
        for _ in range(60 if cluster.ALL else 10):
            condition = " AND ".join(self.condition(chance) for _ in range(chance.randint(1, 2)))
            # Pushed filters need a data frame for each query.
            lazy = self.read(
                self.path, format="counted", counts=counts, types="infer", delimiter=",", tasks="2", pushFilters="true")
            with self.subTest(condition):
                self.assertEqual(plain(lazy.where(condition).collect()), plain(eager.where(condition).collect()))
                fewer += sum(counted.take(counts, "rows")) < 3000
        self.assertGreater(fewer, 3)

    def test_one_frame_in_several_queries(self):
        """Spark kept the filters of a query for the next one, whose rows were missing."""
        frame = self.read(self.path, types="infer", delimiter=",", tasks="2")
        eager = frame.cache()
        self.addCleanup(eager.unpersist)
        lazy = self.read(self.path, types="infer", delimiter=",", tasks="2")
        self.assertGreater(lazy.where("n = 2").count(), 0)
        self.assertEqual(lazy.count(), 3000)
        for condition in ("n = 1", "n < 0 OR n < -1", "NOT n = 2"):
            self.assertEqual(lazy.where(condition).count(), eager.where(condition).count(), condition)
        both = lazy.where("n = 1").union(lazy.where("n = 2"))
        self.assertEqual(both.count(), eager.where("n IN (1, 2)").count())

    def condition(self, chance):
        column = chance.choice(["word", "n", "r", "flag", "at", "`n = 1`"])
        literal = {
            "word": lambda: "'" + chance.choice(WORDS).replace("\\", "\\\\").replace("'", "\\'") + "'",
            "n": lambda: str(chance.randint(-4, 4)), "r": lambda: chance.choice(["0.1D", "2.5D", "1000D", "0D", "double('NaN')"]),
            "flag": lambda: chance.choice(["true", "false"]), "`n = 1`": lambda: "'a = 1'",
            "at": lambda: f"timestamp'{(START + timedelta(microseconds=chance.randint(-3, 3))).isoformat()}'",
        }[column]  # fmt: skip
        shapes = ["{c} = {v}", "{c} <=> {v}", "{c} < {v}", "{c} <= {v}", "{c} > {v}", "{c} >= {v}", "{c} IN ({v}, {v}, {v})",
                  "{c} BETWEEN {v} AND {v}", "NOT {c} = {v}", "{c} IS NOT NULL", "{c} IS NULL", "({c} = {v} OR {c} > {v})"]  # fmt: skip
        if column == "word":
            shapes += ["startswith({c}, {v})", "contains({c}, {v})", "endswith({c}, {v})"] * 2
        shape = chance.choice(shapes)
        while "{v}" in shape:
            shape = shape.replace("{v}", literal(), 1)
        return shape.replace("{c}", column)

    def test_without_pushing(self):
        def found():
            return self.read(self.path, types="infer", delimiter=",", pushFilters="true").where("n = 2").count()

        pushed = found()
        self.spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
        self.addCleanup(self.spark.conf.set, "spark.sql.python.filterPushdown.enabled", "true")
        self.assertEqual(found(), pushed)
        self.assertGreater(pushed, 0)


if __name__ == "__main__":
    unittest.main()
