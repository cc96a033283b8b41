"""Reading: columns, rows, sections, shapes, summaries, joins."""

import copy
import csv
import io
import os
import pathlib
import pickle
import random
import re
import subprocess
import unittest
import warnings
from datetime import datetime, timezone

import support
import tabella
from support import Case

TYPED = (
    "name,count,price,sold,on\nChair,3,5.40,true,2024-02-29\nD\u00e9sk,-7,1e3,FALSE,2024-05-01T12:30:00.25Z\n"
    "Shelf,,,,\n"
)


class Rows(Case):
    def test_a_row_is_a_mapping_and_a_sequence(self):
        table = self.open()
        row = table[1]
        self.assertEqual(dict(row), {"name": "Bob", "city": "Bonn", "born": "1906"})
        self.assertEqual(list(row), ["Bob", "Bonn", "1906"])
        self.assertEqual((row["city"], row[1], row[-1], row[:2]), ("Bonn", "Bonn", "1906", ("Bob", "Bonn")))
        self.assertEqual((len(row), row.keys(), row.values()), (3, ["name", "city", "born"], ("Bob", "Bonn", "1906")))
        self.assertEqual(row.items()[0], ("name", "Bob"))
        self.assertEqual((row.get("city"), row.get("nothing"), row.get("nothing", 1)), ("Bonn", None, 1))
        self.assertEqual(row.path, tabella.Path(0, 1))
        self.assertEqual(table.find(row.id), row)
        self.assertEqual(table.row((0, 1)), row)
        self.assertNotEqual(table[0], row)
        with self.assertRaisesRegex(KeyError, "there is no column town; the columns are name, city, born"):
            row["town"]
        with self.assertRaises(IndexError):
            row[3]
        self.assertIn("'city': 'Bonn'", repr(row))

    def test_a_row_outlives_its_table(self):
        table = self.open()
        rows = list(table)
        table.close()
        self.assertEqual([row["name"] for row in rows], ["Ada", "Bob", "Cy", "D\u00e9e"])
        with self.assertRaises(tabella.InvalidState):
            table[0]

    def test_values_of_all_types(self):
        table = self.open(TYPED, options={"types": "infer"})
        self.assertEqual([column.type for column in table.columns], ["text", "integer", "real", "boolean", "date"])
        utc = timezone.utc
        self.assertEqual(
            self.lists(table),
            [["Chair", 3, 5.4, True, datetime(2024, 2, 29, tzinfo=utc)],
             ["D\u00e9sk", -7, 1000.0, False, datetime(2024, 5, 1, 12, 30, 0, 250000, utc)],
             ["Shelf", None, None, None, None]])  # fmt: skip

    def test_text_that_is_not_utf_8_is_bytes(self):
        table = self.open(b"a,b\nx,\xff\xfe\ny\n")
        with self.assertWarns(tabella.DataWarning):
            self.assertEqual(self.lists(table), [["x", b"\xff\xfe"], ["y", None]])

    def test_a_pickled_row_is_plain_data(self):
        """A row could neither be pickled nor copied: "cannot pickle '_thread.lock' object"."""
        table = self.open(TYPED, options={"types": "infer"})
        for row in (table[1], next(table.rows(["price", "on"])), next(table.rows(ids=False)), table.sections[0][2]):
            for copied in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
                self.assertEqual(copied, row)
                self.assertEqual((copied.id, copied.path, copied.keys()), (row.id, row.path, row.keys()))
                self.assertEqual((copied[0], copied[-1], copied.get("nothing")), (row[0], row[-1], None))
                self.assertEqual(repr(copied), repr(row))
        self.assertEqual(pickle.loads(pickle.dumps(copied)), row)
        with self.assertRaisesRegex(KeyError, "there is no column town; the columns are name"):
            copied["town"]
        self.assertEqual(table.find(pickle.loads(pickle.dumps(table[1])).id), table[1])
        for whole in (table, table.sections[0], self.host):
            with self.assertRaisesRegex(TypeError, "cannot be pickled or copied"):
                pickle.dumps(whole)

    def test_equal_rows_have_one_hash(self):
        """A row had no hash, so a set could not remove repeated rows."""
        table = self.open("a,b\n1,2\n1,2\n2,1\n")
        rows = list(table)
        self.assertEqual(rows[0], rows[1])
        self.assertNotEqual(rows[0].id, rows[1].id)
        self.assertEqual(len(set(rows)), 2)
        self.assertEqual({rows[0]: "x"}[pickle.loads(pickle.dumps(rows[1]))], "x")
        self.assertNotEqual(rows[0], next(self.open("a,c\n1,2\n", "other.csv").rows()))

    def test_warnings_arrive(self):
        """A file with a quote that is never closed was read without a word."""
        broken = 'a,b\n1,2\n3,"4\n'
        table = self.open(broken)
        self.assertEqual(table.warnings, [])
        with self.assertWarnsRegex(tabella.DataWarning, "quote") as caught:
            self.lists(table)
        self.assertEqual(pathlib.Path(caught.filename).name, "support.py")
        self.assertEqual(len(table.warnings), 1)
        self.assertIn("quote", table.warnings[0])
        self.assertEqual(table.warnings, table.filter("a = 1").warnings)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            strict = self.open(broken, "strict.csv")
            with self.assertRaises(tabella.DataWarning):
                self.lists(strict)
            # The warning is reported once, and the rows remain readable.
            self.assertEqual(self.lists(strict), [["1", "2"], ["3", "4\n"]])

    def test_columns_with_one_name(self):
        table = self.open("a,a,b\n1,2,3\n")
        self.assertEqual([column.name for column in table.columns], ["a", "a 2", "b"])
        self.assertEqual(table[0]["a 2"], "2")
        self.assertEqual(self.lists(table.filter("a 2 = 2")), [["1", "2", "3"]])

    def test_positions_and_slices_like_a_list(self):
        chance = random.Random(2)
        for count in (0, 1, 5, 300, 700):
            table = self.open("n\n" + "".join(f"{n}\n" for n in range(count)))
            rows = [[str(n)] for n in range(count)]
            for sequence in (table, table.sections[0]):
                self.assertEqual(len(sequence), count)
                self.assertEqual(bool(sequence), count > 0)
                self.assertEqual([list(row) for row in sequence], rows)
                for at in {0, 1, count - 1, -1, -count, count, -count - 1, 299, 128}:
                    try:
                        wanted = rows[at]
                    except IndexError:
                        with self.assertRaises(IndexError):
                            sequence[at]
                    else:
                        self.assertEqual(list(sequence[at]), wanted)
                for _ in range(25):
                    some = slice(*(chance.choice([None, chance.randint(-count - 3, count + 3)]) for _ in range(2)),
                                 chance.choice([None, 1, 2, 7, -1, -3]))
                    self.assertEqual([list(row) for row in sequence[some]], rows[some], (count, some))

    def test_reading_is_lazy(self):
        text = "n\n" + "".join(f"{n}\n" for n in range(200_000))
        table = self.open(text)
        self.assertEqual([row["n"] for row in table[:3]], ["0", "1", "2"])
        value, exact = table._open_source().row_count(0, 0)
        self.assertTrue(value < 200_000 and not exact, "the first rows read the whole file")
        self.assertEqual(table[150_000]["n"], "150000")

    def test_chosen_columns(self):
        table = self.open()
        rows = list(table.rows(["born", "name"], ids=False))
        self.assertEqual([list(row) for row in rows][:2], [["1815", "Ada"], ["1906", "Bob"]])
        self.assertEqual((rows[0].id, rows[0].keys()), (None, ["born", "name"]))
        with self.assertRaises(KeyError):
            list(table.rows(["town"]))

    def test_a_file_like_pythons_csv(self):
        chance = random.Random(3)
        cells = ["", "a", "1,5", 'say "x"', "two\nlines", "\u00e9\u00df\u20ac", " blank ", "0"]
        for _ in range(20):
            rows = [[chance.choice(cells) for _ in range(4)] for _ in range(chance.randint(1, 600))]
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([["a", "b", "c", "d"], *rows])
            table = self.open(text.getvalue(), options={"delimiter": ",", "quote": '"'})
            self.assertEqual(self.lists(table), rows)

    def test_names_of_files_are_bytes(self):
        path = os.fsencode(self.folder) + b"/\xff\xe9.csv"
        with open(path, "wb") as file:
            file.write(b"a\n1\n")
        self.assertEqual(self.lists(self.host.open(path)), [["1"]])
        self.assertEqual(self.lists(self.host.open(os.fsdecode(path))), [["1"]])


class Sections(Case):
    def test_groups(self):
        table = self.open().section_by("city")
        self.assertEqual([(section.title, len(section)) for section in table.sections],
                         [("", 1), ("Bonn", 1), ("Rome", 2)])
        self.assertEqual(table.sections["Rome"][1]["name"], "Cy")
        self.assertEqual(table.sections[-2].number, 1)
        self.assertEqual([section.title for section in table.sections[1:]], ["Bonn", "Rome"])
        self.assertEqual([row["name"] for row in table.sections[2]], ["Ada", "Cy"])
        for part, wanted in ((slice(1, 9), ["Cy"]), (slice(2, 9), []), (slice(100, 110), []), (slice(-9, 1), ["Ada"])):
            self.assertEqual([row["name"] for row in table.sections[2][part]], wanted, part)
        self.assertEqual(table[3].path, tabella.Path(2, 1))
        with self.assertRaises(tabella.NotFound):
            table.sections["Oslo"]
        for number in (3, -4):
            with self.assertRaises(IndexError):
                table.sections[number]

    def test_rows_of_a_section(self):
        """The rows of a section could be iterated, but a section had no `rows` as a table has."""
        section = self.open().section_by("city").sections["Rome"]
        self.assertEqual([list(row) for row in section.rows(["born", "name"])], [["1815", "Ada"], ["", "Cy"]])
        self.assertEqual([row.id for row in section.rows(ids=False)], [None, None])
        self.assertEqual([row.path for row in section.rows()], [row.path for row in section])
        self.assertEqual(len(list(self.open().rows(ids=False))), 4)

    def test_rows_of_many_short_sections(self):
        # Each section was read alone, so that many groups took minutes. Short ones are read together now.
        lines = [f"{number * 7919 % 997},{number % (3 if number % 50 else 1)},r{number}" for number in range(5000)]
        lines += [f"large,9,l{number}" for number in range(700)]
        table = self.open("k,v,w\n" + "\n".join(lines) + "\n")
        for view in (table.section_by("k"), table.filter("v > 0").section_by("k").sort("w"), table.section_by("v")):
            wanted = [(row.path, tuple(row)) for section in view.sections for row in section]
            self.assertEqual([(row.path, tuple(row)) for row in view], wanted)
            self.assertEqual([row["w"] for row in view.rows(["w"], ids=False)], [cells[2] for _, cells in wanted])
            self.assertEqual([(row.path, tuple(row)) for row in view[40:60]], wanted[40:60])

    def test_the_first_row_of_a_filter_does_not_wait_for_the_end(self):
        # The rows of the only section were counted before the first one, so that the whole file was read.
        def bytes_read():
            return int(re.search(r"^rchar: (\d+)$", pathlib.Path("/proc/self/io").read_text(), re.M).group(1))

        text = "n\n" + "".join(f"{number}\n" for number in range(3_000_000))
        rows = iter(self.open(text).filter("n < 3"))
        before = bytes_read()
        self.assertEqual(next(rows)["n"], "0")
        self.assertLess(bytes_read() - before, len(text) / 4)

    def test_the_number_of_a_row_counts_through_sections(self):
        chance = random.Random(4)
        rows = [[str(n), chance.choice("abcdefgh")] for n in range(900)]
        table = self.open("n,g\n" + "".join(f"{n},{g}\n" for n, g in rows)).section_by("g")
        wanted = sorted(rows, key=lambda row: row[1])
        self.assertEqual(self.lists(table), wanted)
        for _ in range(60):
            at, end = sorted(chance.sample(range(900), 2))
            self.assertEqual(list(table[at]), wanted[at])
            self.assertEqual([list(row) for row in table[at:end]], wanted[at:end])
            self.assertEqual(list(table[at - 900]), wanted[at])


class Shapes(Case):
    def test_the_texts_of_the_command_line(self):
        path = support.ROOT / "Examples/cookbook/sales.csv"
        table = self.host.open(path, options={"types": "infer"})
        chosen = table.filter("amount > 300").section_by("region").sort("amount:desc").sections_by("rows:desc")
        with open(path, newline="") as file:
            rows = [row for row in csv.DictReader(file) if float(row["amount"] or 0) > 300]
        groups = {}
        for row in rows:
            groups.setdefault(row["region"], []).append(float(row["amount"]))
        self.assertEqual({section.title: [row["amount"] for row in section] for section in chosen.sections},
                         {title: sorted(amounts, reverse=True) for title, amounts in groups.items()})
        counts = [len(section) for section in chosen.sections]
        self.assertEqual(counts, sorted(counts, reverse=True))

    def test_search_and_several_filters(self):
        table = self.open()
        self.assertEqual([row["name"] for row in table.search("rom")], ["Ada", "Cy"])
        self.assertEqual([row["name"] for row in table.filter("born > 1850", "born < 1940")], ["Bob"])
        with self.assertRaisesRegex(tabella.InvalidArgument, "town"):
            table.filter("town = x")
        with self.assertRaises(ValueError):
            table.sort("nothing")

    def test_summaries(self):
        table = self.open(TYPED, options={"types": "infer"})
        whole = table.summarize(compute="rows, sum count, mean price")
        self.assertEqual(self.lists(whole), [[3, -4, 502.7]])
        self.assertEqual(whole.provider, "summary")
        by_city = self.open().summarize(by="city")
        self.assertEqual({row["city"]: row["rows"] for row in by_city if row["city"]}, {"Bonn": 1, "Rome": 2})

    def test_columns_as_values_and_percentiles(self):
        table = self.open("team,spent,limit\nA,3,5\nB,7,5\nC,,5\n", "budget.csv")
        self.assertEqual([row["team"] for row in table.filter("spent > {limit}")], ["B"])
        self.assertEqual([row["team"] for row in table.filter("spent != {limit}").search("a")], ["A"])
        self.assertEqual(self.lists(table.summarize(compute="p95 spent, empty *")), [[7, 0, 1, 0]])
        with self.assertRaisesRegex(tabella.InvalidArgument, "did you mean limit"):
            table.filter("spent > {limt}")

    def test_joins(self):
        tables = [self.open("a,b\n1,2\n", "x.csv"), self.open("b,c\n3,4\n", "y.csv")]
        joined = tabella.join(tables)
        self.assertEqual([column.name for column in joined.columns], ["a", "b", "c"])
        self.assertEqual(self.lists(joined), [["1", "2", None], [None, "3", "4"]])
        self.assertEqual((joined.provider, len(joined.sections)), ("joined", 2))
        other = tabella.Host(receipts=self.folder).open(self.file())
        with self.assertRaises(tabella.InvalidArgument):
            tabella.join([tables[0], other])
        with self.assertRaises(tabella.InvalidArgument):
            tabella.join([])

    def test_empty_texts_ask_for_nothing(self):
        """An empty text was the same as none in `sort`, and an error in `filter`."""
        table = self.open()
        views = [table.filter(""), table.filter("", "city = Rome", ""), table.search(""), table.sort(""),
                 table.section_by(""), table.sections_by(""), table.summarize("", "")]  # fmt: skip
        self.assertEqual([len(view) for view in views], [4, 2, 4, 4, 4, 4, 1])
        self.assertEqual(len(self.open(provider="")), 4)

    def test_a_text_that_is_no_number_is_wrong_data(self):
        """The sum of a column with other text was a StorageError: "reading or writing failed"."""
        with self.assertRaisesRegex(tabella.WrongData, 'no sum of city: "Rome" is not a number') as caught:
            self.open().summarize(compute="sum city")
        self.assertIsInstance(caught.exception, ValueError)
        self.assertEqual((caught.exception.row, caught.exception.column, caught.exception.code), (0, 1, 102))

    def test_columns_on_request(self):
        (self.folder / "tree").mkdir()
        (self.folder / "tree" / "a.txt").write_text("12345")
        table = self.host.open(self.folder / "tree")
        asked = [column.name for column in table.columns if column.on_request]
        self.assertIn("extension", asked)
        row = table[0]
        self.assertNotIn("extension", row.keys())
        self.assertEqual(row["extension"], "txt")
        self.assertEqual([list(row) for row in table.rows(["name", "extension"])], [["a.txt", "txt"]])


class Tables(Case):
    def test_facts(self):
        table = self.open()
        self.assertEqual(table.provider, "csv")
        self.assertEqual(table.location, str(self.folder / "people.csv"))
        self.assertTrue(table.version)
        self.assertIn("people.csv': name, city, born>", repr(table))
        table.close()
        table.close()
        self.assertIn("closed", repr(table))
        self.assertTrue(tabella.library_version())

    def test_a_table_is_a_context(self):
        with self.host.open(self.file()) as table:
            view = table.filter("city = Rome")
        self.assertEqual(len(view), 2)
        with self.assertRaises(tabella.InvalidState):
            len(table)

    def test_providers(self):
        names = {row["provider"] for row in self.host.providers()}
        self.assertLessEqual({"csv", "directory", "processes", "text"}, names)

    def test_processes(self):
        child = subprocess.Popen(["sleep", "60"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        rows = list(self.host.open("processes:").filter(f"pid = {child.pid}"))
        self.assertEqual([(row["pid"], row["parent"]) for row in rows], [(child.pid, os.getpid())])

    def test_html_is_escaped_and_short(self):
        text = "a<b,n\n" + "<script>alert('x')&</script>,1\n" + "\u00e9,2\n" * 50
        html = self.open(text)._repr_html_()
        self.assertNotIn("<script>", html)
        self.assertIn("&lt;script&gt;alert(&#x27;x&#x27;)&amp;&lt;/script&gt;", html)
        self.assertIn("<th>a&lt;b</th>", html)
        self.assertEqual(html.count("<tr>"), 1 + 20 + 1)
        self.assertTrue(html.rstrip("<>/abletdrody").endswith("\u2026"))
        grouped = self.open().section_by("city")._repr_html_()
        self.assertIn("<b>Rome</b>", grouped)
        self.assertLess(grouped.index("<b>Bonn</b>"), grouped.index("<b>Rome</b>"))

    def test_options(self):
        table = self.open("1;2\n", options={"header": False, "delimiter": ";"})
        self.assertEqual([column.name for column in table.columns], ["column 1", "column 2"])
        with self.assertRaises(tabella.InvalidArgument):
            self.open(options={"nonsense": 1})
        self.assertEqual(self.lists(self.open("a,b\n", provider="text")), [["a,b"]])


if __name__ == "__main__":
    unittest.main()
