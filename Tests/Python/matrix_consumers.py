"""Every shipped provider in every consumer, and in programs in C and Swift: the same rows as the command."""

import math
import os
import pathlib
import random
import subprocess
import tempfile
import unittest
from datetime import datetime, timedelta, timezone

import duckdb
import numpy
import pandas
import polars
import pyarrow

import programs
import subjects
import support
import tabella
from programs import with_sections
from tabella import _capsules


def by_python(table, columns):
    return [
        (section.number, section.title, list(row))
        for section in table.sections
        for row in ([row[name] for name in columns or row.keys()] for row in section)
    ]


def by_pyarrow(stream):
    table = pyarrow.table(stream)
    table.validate(full=True)
    return with_sections(zip(*(column.to_pylist() for column in table.columns)))


def by_pandas(stream):
    frame = pandas.DataFrame.from_arrow(stream)
    pandas.testing.assert_frame_equal(frame, stream.to_pandas())

    def cell(value):
        if value is None or value is pandas.NaT or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, pandas.Timestamp):
            return value.to_pydatetime()
        return value.item() if hasattr(value, "item") else value

    return with_sections([[cell(value) for value in row] for row in frame.itertuples(index=False, name=None)])


def by_polars(stream):
    return with_sections(polars.DataFrame(stream).rows())


def by_duckdb(stream):
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        rows = connection.execute("SELECT * FROM stream").fetchall()
        again = connection.execute("SELECT count(*) FROM stream").fetchone()
    if again != (len(rows),):
        raise AssertionError("the second query reads other rows")
    return with_sections(rows)


CONSUMERS = {"pyarrow": by_pyarrow, "pandas": by_pandas, "polars": by_polars, "duckdb": by_duckdb}


def plain(value):
    """A value in a form that all consumers share."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    return value


def same(rows):
    return [(section, title, [plain(value) for value in values]) for section, title, values in rows]


class Matrix(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="tabella-matrix-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        children = [subprocess.Popen(["sleep", "300"]) for _ in range(3)]
        for child in children:
            cls.addClassCleanup(child.wait)
            cls.addClassCleanup(child.kill)
        cls.subjects = subjects.all_subjects(cls.folder, children)

    def each(self, check):
        """Runs a check for each subject: its table, and the columns and rows that the command prints."""
        for subject in self.subjects:
            with self.subTest(subject.name), subject.open(self.folder) as table:
                check(subject, table, *subject.by_the_command())

    def stream(self, subject, table, rows, **arguments):
        has_bytes = any(isinstance(value, bytes) for _, _, values in rows for value in values)
        text = "binary" if has_bytes and subject.name == "csv, not UTF-8" else "utf8"
        return table.arrow(subject.columns, with_section=True, text=text, **arguments), text

    def expected(self, rows, text):
        if text != "binary":
            return rows
        coded = [(n, t, [v.encode() if isinstance(v, str) else v for v in values]) for n, t, values in rows]
        return [(n, t.encode() if isinstance(t, str) else t, values) for n, t, values in coded]

    def test_python(self):
        def check(subject, table, columns, rows):
            self.assertEqual(same(by_python(table, subject.columns)), rows)
            types = {column.name: column.type for column in table.columns}
            self.assertEqual([(name, types[name]) for name, _ in columns], columns)
            self.assertEqual(len(table), len(rows))

        self.each(check)

    def test_programs(self):
        both = [programs.in_c(self.folder), programs.in_swift()]

        def check(subject, table, columns, rows):
            text = self.stream(subject, table, rows)[1]
            for program in both:
                with self.subTest(program=program.name):
                    self.assertEqual(program.rows(subject, table, columns, text), self.expected(rows, text))

        self.each(check)

    def test_consumers(self):
        def check(subject, table, columns, rows):
            for name, read in CONSUMERS.items():
                with self.subTest(consumer=name):
                    stream, text = self.stream(subject, table, rows)
                    self.assertEqual(same(read(stream)), self.expected(rows, text))

        self.each(check)

    def test_small_batches_and_ranges(self):
        def check(subject, table, columns, rows):
            for first, count, size in [(0, None, 1), (1, 3, 2), (2, 100, 65536), (len(rows), None, 0), (0, 0, 0)]:
                for name, read in CONSUMERS.items():
                    with self.subTest(consumer=name, first=first, count=count):
                        stream, text = self.stream(subject, table, rows, first=first, count=count, rows_per_batch=size)
                        wanted = self.expected(rows, text)[first : None if count is None else first + count]
                        self.assertEqual(same(read(stream)), wanted)

        self.each(check)

    def test_string_views(self):
        def check(subject, table, columns, rows):
            if any(isinstance(value, bytes) for _, _, values in rows for value in values):
                return
            for name in ("pyarrow", "polars", "duckdb", "pandas"):
                with self.subTest(consumer=name):
                    stream = table.arrow(subject.columns, with_section=True, text="utf8_view")
                    self.assertEqual(same(CONSUMERS[name](stream)), rows)

        self.each(check)

    def test_string_views_of_every_length(self):
        """A view contains up to 12 bytes of the text itself. The last texts have no bytes behind them."""
        generator = random.Random(1)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lengths.csv"
            for _ in range(60):
                lengths = [generator.randrange(30) for _ in range(generator.randrange(1, 40))]
                texts = ["".join(generator.choices("abcäö€", k=length)) for length in lengths]
                # A line with one cell has a missing one.
                texts = [text if generator.randrange(5) else None for text in texts]
                lines = ["1" if text is None else f"1,{text}" for text in texts]
                path.write_text("n,text\n" + "".join(f"{line}\n" for line in lines))
                table = tabella.open(path, options={"delimiter": ","})
                views = pyarrow.table(table.arrow(["text"], text="utf8_view", first=generator.randrange(2)))
                views.validate(full=True)
                self.assertIn(len(texts) - views.num_rows, (0, 1))
                self.assertEqual(views["text"].to_pylist(), texts[len(texts) - views.num_rows :])

    def test_columns_in_any_order_and_ids(self):
        def check(subject, table, columns, rows):
            if subject.name == "csv, not UTF-8" or len(columns) < 2:
                return
            names = [columns[-1][0], columns[0][0]]
            read = pyarrow.table(table.arrow(names, with_id=True))
            has_ids = table._open_source().has_ids
            self.assertEqual(read.column_names, [*names, "id"])
            self.assertEqual(
                [[plain(row[name]) for name in names] for row in read.to_pylist()],
                [[values[-1], values[0]] for _, _, values in rows])  # fmt: skip
            if has_ids:
                self.assertEqual([row["id"] for row in read.to_pylist()], [row.id for row in table])

        self.each(check)

    def test_one_section(self):
        def check(subject, table, columns, rows):
            if subject.name == "csv, not UTF-8":
                return
            for section in table.sections:
                read = polars.DataFrame(table.arrow(subject.columns, section=section.number)).rows()
                wanted = [values for number, _, values in rows if number == section.number]
                self.assertEqual([[plain(value) for value in row] for row in read], wanted)

        self.each(check)

    def test_a_section_is_taken_as_a_table_is(self):
        """A section had no `arrow`, and consumers took it as a list of objects."""

        def check(subject, table, columns, rows):
            for section in table.sections:
                wanted = [row for row in rows if row[0] == section.number]
                for name, read in CONSUMERS.items():
                    with self.subTest(consumer=name, section=section.number):
                        text = self.stream(subject, table, rows)[1]
                        stream = section.arrow(subject.columns, with_section=True, text=text)
                        self.assertEqual(same(read(stream)), self.expected(wanted, text))
                if subject.name == "csv, not UTF-8":
                    continue
                shapes = [pyarrow.table(section).shape, pandas.DataFrame.from_arrow(section).shape,
                          polars.DataFrame(section).shape]  # fmt: skip
                self.assertEqual(shapes, [(len(wanted), len(table._reader().columns))] * 3)
                self.assertEqual(duckdb.sql("SELECT count(*) FROM section").fetchall(), [(len(wanted),)])

        self.each(check)

    def test_values_of_numpy_and_pandas(self):
        """Scalars of numpy were refused, or written as "np.float64(1.5)"."""
        path = self.folder / "numpy.csv"
        # The second row keeps the column a one of text.
        path.write_text("a,n\nx,1\ntext,2\n")
        table = tabella.Host(receipts=self.folder / "receipts").open(path, editing=True, options={"types": "infer"})
        values = [
            (numpy.int64(5), "5"), (numpy.uint8(200), "200"), (numpy.float64(1.5), "1.5"), (numpy.float32(0.5), "0.5"),
            (numpy.bool_(True), "true"), (numpy.str_("z"), "z"), (numpy.array(7), "7"), (numpy.longdouble(2.5), "2.5"),
            (pandas.Timestamp("2024-02-29T12:00:00.5Z"), "2024-02-29T12:00:00.500000Z"),
            (pyarrow.scalar(3).as_py(), "3"),
        ]  # fmt: skip
        for value, text in values:
            with table.edit() as batch:
                batch.set(table[0], a=value)
            self.assertEqual(path.read_text().splitlines()[1], f"{text},1", repr(value))
        wrong = [numpy.datetime64("2024-02-29"), numpy.datetime64("2024-02-29T00:00:00.000000001"),
                 numpy.timedelta64(1, "s"), numpy.array([1, 2]), pandas.NaT, pandas.NA]  # fmt: skip
        for value in wrong:
            with self.assertRaises(tabella.InvalidArgument, msg=repr(value)):
                table.edit().set(table[0], a=value)
        self.assertEqual(table[numpy.int64(0)], table[0])
        self.assertEqual(polars.DataFrame(table.arrow(first=numpy.int32(0))).height, 2)

    def test_text_that_is_not_utf_8(self):
        (subject,) = [each for each in self.subjects if each.name == "csv, not UTF-8"]
        with subject.open(self.folder) as table:
            for name, read in CONSUMERS.items():
                with self.subTest(consumer=name):
                    with self.assertRaisesRegex(Exception, "(?i)utf-?8"):
                        read(table.arrow(with_section=True))

    def test_a_wish_for_a_schema(self):
        (subject,) = [each for each in self.subjects if each.name == "csv, all types"]
        with subject.open(self.folder) as table:
            usual = pyarrow.table(table).schema
            self.assertEqual(usual.field("name").type, pyarrow.string())
            self.assertEqual(usual.field("at").type, pyarrow.timestamp("us", "UTC"))
            for type in (pyarrow.string_view(), pyarrow.binary(), pyarrow.string()):
                wish = pyarrow.schema([f.with_type(type) if f.type == pyarrow.string() else f for f in usual])
                self.assertEqual(pyarrow.table(table, schema=wish).schema.field("name").type, type)
            other = pyarrow.schema([pyarrow.field("x", pyarrow.int8())])
            capsule = table.__arrow_c_stream__(other.__arrow_c_schema__())
            self.assertEqual(pyarrow.RecordBatchReader._import_from_c_capsule(capsule).schema, usual)
            self.assertEqual(pyarrow.schema(table), usual)

    def test_edits_and_changes_arrive(self):
        path = self.folder / "edited.csv"
        path.write_text("a,b\n1,x\n2,y\n3,z\n")
        host = tabella.Host(receipts=self.folder / "receipts")
        table = host.open(path, editing=True)
        stream = table.arrow(with_section=True)
        with table.follow(timeout=30) as follower:
            for name, read in CONSUMERS.items():
                self.assertEqual([values for _, _, values in read(stream)], [["1", "x"], ["2", "y"], ["3", "z"]], name)
            with table.edit() as batch:
                batch.delete(table[1])
                batch.append(a="4", b="\u00e9")
            self.assertEqual(len(next(follower)), 2)
            for name, read in CONSUMERS.items():
                self.assertEqual([values for _, _, values in read(stream)], [["1", "x"], ["3", "z"], ["4", "\u00e9"]], name)
            path.write_text("a,b\n5,w\n")
            next(follower)
            for name, read in CONSUMERS.items():
                self.assertEqual([values for _, _, values in read(stream)], [["5", "w"]], name)

    def test_nothing_is_left(self):
        def check(subject, table, columns, rows):
            for read in CONSUMERS.values():
                read(self.stream(subject, table, rows)[0])
                self.assertEqual(_capsules.sweep(), 0)

        self.each(check)


if __name__ == "__main__":
    unittest.main()
