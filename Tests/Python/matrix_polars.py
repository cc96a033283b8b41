"""Lazy reading with polars: pushed-down columns, filters and limits give the rows of an eager query."""

import csv
import pathlib
import random
import tempfile
import unittest
from datetime import datetime, timedelta, timezone

import polars as pl

import tabella
from tabella._polars_filters import filters_of
from tabella.table import Table

UTC = timezone.utc
START = datetime(2024, 1, 1, tzinfo=UTC)
WORDS = [
    "x", "1", "1.0", "01", "2024", "2024-01-01", "today", "a b", " a", "a ", '"q"', "=x", "~", "\u00e9", "", "a=b", "-7d",
    "a and n = 1", "a or b > c", "it's", "{n}",
]


class Lazy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="tabella-polars-")
        cls.addClassCleanup(holder.cleanup)
        cls.path = pathlib.Path(holder.name) / "data.csv"
        chance = random.Random(5)
        rows = []
        for number in range(4000):
            at = START + timedelta(microseconds=chance.randint(-3, 3))
            stamp = at.replace(tzinfo=None).isoformat(timespec="microseconds") + f"{chance.randint(0, 999):03}Z"
            real = chance.choice(["0.1", "0.10000000000000000001", "1e3", "2.5", "-0.0", str(chance.random())])
            row = [chance.choice(WORDS), chance.randint(-3, 3), real, chance.choice(["true", "false"]), stamp, "a = 1"]
            rows.append([None if chance.random() < 0.1 else value for value in row])
        with open(cls.path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["word", "n", "r", "flag", "at", "n = 1"])
            writer.writerows(rows)
        cls.options = {"types": "infer", "delimiter": ","}
        cls.eager = pl.DataFrame(tabella.open(cls.path, options=cls.options))

    def setUp(self):
        self.requests, self.filters = [], []
        arrow, filter = Table.arrow, Table.filter

        def recorded_arrow(table, columns=None, **arguments):
            self.requests.append((columns, arguments.get("count")))
            return arrow(table, columns, **arguments)

        def recorded_filter(table, *texts, **arguments):
            self.filters.append(texts)
            return filter(table, *texts, **arguments)

        Table.arrow, Table.filter = recorded_arrow, recorded_filter
        self.addCleanup(setattr, Table, "arrow", arrow)
        self.addCleanup(setattr, Table, "filter", filter)

    def lazy(self):
        return tabella.scan_polars(self.path, options=self.options)

    def test_random_queries(self):
        chance = random.Random(6)
        for turn in range(150):
            predicate = self.predicate(chance)
            columns = chance.sample(self.eager.columns, chance.randint(1, 6))
            limit = chance.choice([None, 0, 1, 7, 10_000])
            lazy, eager = self.lazy(), self.eager.lazy()
            shape = chance.choice(["filter", "filter, limit", "limit, filter", "limit"])

            def query(frame):
                if shape.startswith("limit") and limit is not None:
                    frame = frame.head(limit)
                if "filter" in shape:
                    frame = frame.filter(predicate)
                if shape.endswith(", limit") and limit is not None:
                    frame = frame.head(limit)
                return frame.select(columns)

            self.assertTrue(query(lazy).collect().equals(query(eager).collect()), f"{turn}: {shape} {limit} {predicate}")
        self.assertGreater(len(self.filters), 25)

    def predicate(self, chance):
        parts = [self.comparison(chance) for _ in range(chance.randint(1, 3))]
        whole = parts[0]
        for part in parts[1:]:
            whole = (whole & part) if chance.random() < 0.8 else (whole | part)
        return whole

    def comparison(self, chance):
        name = chance.choice(["word", "n", "r", "flag", "at", "n = 1"])
        column = pl.col(name)
        if name == "flag" and chance.random() < 0.5:
            return chance.choice([column, ~column])
        value = {
            "word": lambda: chance.choice(WORDS), "n": lambda: chance.randint(-4, 4),
            "r": lambda: chance.choice([0.1, 2.5, 1000.0, 0.0, 3, float("inf"), float("nan")]),
            "flag": lambda: chance.random() < 0.5, "n = 1": lambda: "a = 1",
            "at": lambda: START + timedelta(microseconds=chance.randint(-3, 3)),
        }[name]  # fmt: skip
        acts = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]
        if chance.random() < 0.1:
            return column.is_between(pl.lit(value()), pl.lit(value()), closed=chance.choice(["both", "left", "right", "none"]))
        if chance.random() < 0.1:
            return chance.choice([column.is_null(), column.is_not_null(), column.is_in([value()])])
        if chance.random() < 0.2:
            return getattr(pl.lit(value()), chance.choice(acts))(column)
        return getattr(column, chance.choice(acts))(value())

    def test_only_the_needed_columns_are_read(self):
        self.lazy().filter(pl.col("n") > 2).select("flag").collect()
        columns = [names for names, count in self.requests[1:]]
        self.assertTrue(columns and all(names == ["n", "flag"] for names in columns), columns)
        self.assertEqual(self.filters, [("n > 2",)])

    def test_a_limit_is_pushed_down(self):
        self.assertEqual(self.lazy().head(5).collect().rows(), self.eager.head(5).rows())
        self.assertEqual([count for _, count in self.requests[1:]], [5])

    def test_the_filters(self):
        at = "2024-01-01T00:00:00"
        cases = [
            (pl.col("n") >= 2, ["n >= 2"]),
            ((pl.col("word") == "x") & (3 > pl.col("n")), ["word = 'x'", "n < 3"]),
            (pl.col("word") == " a", ["word = ' a'"]),
            (pl.col("word") == "it's", []),
            (pl.col("word") == "", []),
            (pl.col("word") > "a", []),
            ((pl.col("n") > 1) | (pl.col("n") < 0), []),
            (~pl.col("flag"), ["flag = false"]),
            (pl.col("at") <= START, [f"at < {at}.000001Z"]),
            (pl.col("at") == START, [f"at >= {at}Z", f"at < {at}.000001Z"]),
            (pl.col("n = 1") == "a = 1", ["n = 1 = 'a = 1'"]),
            (pl.col("n") == 1, []),
            (pl.col("n").is_between(-1, 2, closed="left"), ["n >= -1", "n < 2"]),
            (pl.col("word").str.contains("x"), []),
            (pl.col("n").map_elements(lambda n: len(str(n)) > 1, return_dtype=pl.Boolean), []),
        ]
        columns = tabella.open(self.path, options=self.options).columns
        for predicate, wanted in cases:
            self.assertEqual(filters_of(predicate, columns), wanted, str(predicate))

    def test_a_scan_reads_the_newest_data(self):
        path = self.path.parent / "growing.csv"
        path.write_text("a\n1\n")
        frame = tabella.scan_polars(path)
        self.assertEqual(frame.collect().rows(), [("1",)])
        path.write_text("a\n1\n2\n")
        self.assertEqual(frame.select(pl.len()).collect().item(), 2)

    def test_a_scan_of_a_view_with_sections_and_ids(self):
        view = tabella.open(self.path, options=self.options).section_by("flag")
        frame = tabella.scan_polars(view, with_section=True, with_id=True)
        counts = dict(frame.group_by("section title").agg(pl.len()).collect().rows())
        self.assertEqual(counts, {section.title: len(section) for section in view.sections})
        self.assertEqual(frame.select("id").head(3).collect()["id"].to_list(), [row.id for row in view[:3]])


if __name__ == "__main__":
    unittest.main()
