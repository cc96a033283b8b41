"""The data source for Spark, as far as it needs neither pyspark nor pyarrow: filters, tasks, and the commands of fleets."""

import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import threading
import time
import unittest
from collections import namedtuple
from datetime import datetime, timezone

import support
from tabella import InvalidArgument, NotFound, _spark_plan
from tabella._filter_texts import pattern_of
from tabella._fleet import ask, command_words, groups_of, hosts_of, pushed_words
from tabella._spark_filters import filters_of, values_of
from tabella._spark_options import options_of
from tabella._spark_plan import locations_of, opened, packed, pieces_of
from tabella.columns import Column

# Filters have the names and the members of those in pyspark.sql.datasource.
EqualTo, In, GreaterThan, LessThanOrEqual, StringStartsWith, StringContains = (
    namedtuple(name, "attribute value")
    for name in ("EqualTo", "In", "GreaterThan", "LessThanOrEqual", "StringStartsWith", "StringContains")
)
IsNotNull, IsNull, Not = namedtuple("IsNotNull", "attribute"), namedtuple("IsNull", "attribute"), namedtuple("Not", "child")

WORDS = ["x", "X", "", " x", "x ", "=x", "'x'", '"x"', "{x}", "a b", "a|b", "(x)", "x.y", "\\", "\n", "\t", "é", "\u00a0", "😀", "1", "01", "1.0",
         "today", "-7d", "2024", "~x", "!x", "<", "null", "a,b", "*", "^x$", "\x00", "\x1b"]  # fmt: skip


class Filters(support.Case):
    def setUp(self):
        super().setUp()
        lines = ["word,n,r,flag"]
        for number, word in enumerate(WORDS):
            quoted = word.replace('"', '""')
            lines.append(f'"{quoted}",{number - 10},{number / 4},{str(number % 2 == 0).lower()}')
        self.table = self.open("\n".join(lines) + "\n", options={"types": "infer", "delimiter": ","})

    def kept(self, *filters):
        texts = filters_of(filters, self.table.columns)
        return [row["word"] for row in (self.table.filter(*texts) if texts else self.table)]

    def test_texts_and_patterns_are_exact(self):
        word = ("word",)
        for text in WORDS:
            with self.subTest(text):
                kept = self.kept(EqualTo(word, text))
                self.assertIn(text, kept)
                # A filter may keep a few rows too many, such as 1.0 for 1, but it must keep few.
                self.assertLess(len(kept), 4)
                self.assertEqual(self.kept(In(word, (text, "no such word"))), [text])
                if text:
                    self.assertEqual(self.kept(StringStartsWith(word, text)), [each for each in WORDS if each.startswith(text)])
                    self.assertEqual(self.kept(StringContains(word, text)), [each for each in WORDS if text in each])
                self.assertRegex(pattern_of(text), r"\A([A-Za-z0-9]|\\x[0-9A-F]{2}|\\u\{[0-9A-F]+\})*\Z")

    def test_other_types(self):
        cases = [
            (EqualTo(("n",), 0), ["n = 0"]),
            (In(("n",), (0, 5)), ["n ~ ^(-?0|5)$"]),
            (GreaterThan(("n",), 3), ["n > 3"]),
            (GreaterThan(("r",), 0.5), ["r > 0.5"]),
            (EqualTo(("flag",), True), ["flag = true"]),
            (IsNotNull(("word",)), ["word ~ ^"]),
            (In(("r",), (2.0, 1.0)), ["r >= 0.9999999999999999", "r <= 2.0000000000000004"]),
        ]
        for filter, wanted in cases:
            self.assertEqual(filters_of([filter], self.table.columns), wanted)
        self.assertEqual(len(self.kept(In(("n",), (0, 5)))), 2)
        at = Column(0, "at", "date")
        moment = datetime(2024, 1, 2, 3, 4, 5, 6, timezone.utc)
        self.assertEqual(filters_of([LessThanOrEqual(("at",), moment)], [at]), ["at < 2024-01-02T03:04:05.000007Z"])

    def test_what_is_left_to_spark(self):
        cases = [
            IsNull(("word",)), IsNotNull(("n",)), Not(EqualTo(("word",), "x")), EqualTo(("word", "x"), "x"), EqualTo(("other",), "x"),
            EqualTo(("n",), 1.0), EqualTo(("n",), True), EqualTo(("word",), 1), GreaterThan(("word",), "x"), EqualTo(("r",), float("nan")),
            In(("r",), (1.0, float("nan"))), In(("n",), ()), In(("n",), tuple(range(501))), StringContains(("word",), ""), EqualTo(("n",), None),
        ]  # fmt: skip
        for filter in cases:
            with self.subTest(filter):
                self.assertEqual(filters_of([filter], self.table.columns), [])
        # NaN of a real column that is no text is greater than all numbers in Spark, and in Tabella it matches nothing.
        self.assertEqual(filters_of([GreaterThan(("r",), 0.5)], [Column(0, "r", "real")]), [])
        # The filter would be read as one of the column "a = '1".
        for name, wanted in (("a = '1", []), ("a = 1", ["a = '1 x'"])):
            columns = [Column(0, "a", "text"), Column(1, name, "text")]
            self.assertEqual(filters_of([EqualTo(("a",), "1 x")], columns), wanted)

    def test_the_values_of_a_column(self):
        filters = [In(("host",), ("a", "b", "c")), EqualTo(("host",), "b"), EqualTo(("n",), 1)]
        self.assertEqual(values_of(filters, "host"), ["b"])
        self.assertIsNone(values_of(filters[2:], "host"))


class Tasks(support.Case):
    def test_small_files_are_packed_and_large_ones_divided(self):
        for number in range(30):
            self.file(f"a,b\n{number},x\n", f"small{number:02}.csv")
        lines = [f'{number},"x{chr(10) * (number % 3)}"\n' for number in range(5000)]
        large = self.file("a,b\n" + "".join(lines), "large.csv")
        for size in (400, 5000, 10**6):
            options = options_of({"path": str(self.folder / "*.csv"), "bytesPerTask": str(size)})
            pieces = pieces_of(locations_of(options.locations), options)
            tasks = packed(pieces, options)
            self.assertEqual([piece for task in tasks for piece in task], pieces)
            self.assertTrue(all(len(task) == 1 or sum(piece.weight for piece in task) <= size for task in tasks))
            rows = []
            for piece in pieces:
                if piece.location == str(large):
                    more = {} if piece.bytes is None else {"bytes": "%d-%d" % piece.bytes}
                    with opened(piece.location, options, **more) as table:
                        rows += [list(row) for row in table]
            self.assertEqual(rows, [[str(number), "x" + "\n" * (number % 3)] for number in range(5000)])

    def test_tasks_of_one_file(self):
        large = self.file("a\n" + "".join(f"{number}\n" for number in range(1000)), "large.csv")
        for count in (1, 2, 4, 8):
            options = options_of({"path": str(large), "tasks": str(count)})
            pieces = pieces_of([str(large)], options)
            self.assertEqual(len(packed(pieces, options)), count)
            self.assertEqual(sum(piece.weight for piece in pieces), large.stat().st_size)

    def test_parts_without_a_matching_row_are_left_out(self):
        """All matching rows remain, and no range contains a long part without one."""
        self.addCleanup(setattr, _spark_plan, "_GAP", _spark_plan._GAP)
        chance = random.Random(5)
        for turn in range(60):
            _spark_plan._GAP = gap = chance.choice([1, 10, 60, 300])
            rows = [(number, chance.choice("abc"), "x" * chance.randint(0, 20) + chance.choice(["", "\n", '""'])) for number in range(120)]
            if turn % 3 == 0:
                rows.sort(key=lambda row: row[1])
            text = "n,key,text\n" + "".join(f'{number},{key},"{text}"\n' for number, key, text in rows)
            path = self.file(text, f"rows{turn}.csv")
            low, high = sorted(chance.choices(range(-5, 125), k=2))
            condition = chance.choice(["key = a", "key = d", f"n >= {low}", "text ~ xx"])
            filters = [condition, f"n <= {high}"][: chance.randint(1, 2)]
            options = options_of({"path": str(path), "tasks": str(chance.choice([2, 3, 8])), "types": "infer"})

            def matching(piece):
                table = opened(piece.location, options)
                return table, table.filter(*filters)

            pieces = pieces_of([str(path)], options, matching)
            with opened(str(path), options) as table:
                wanted = [list(row) for row in table.filter(*filters)]
            found, covered = [], 0
            for piece in pieces:
                with opened(str(path), options, bytes="%d-%d" % piece.bytes) as table:
                    mine = [list(row) for row in table.filter(*filters)]
                found += mine
                covered += piece.bytes[1] - piece.bytes[0]
            self.assertEqual(found, wanted, (turn, filters))
            longest = max(len(line) for line in text.splitlines()) + 3
            self.assertLessEqual(covered, (len(wanted) + 1) * (gap + longest), (turn, filters, pieces))
            self.assertTrue(all(one.bytes[1] <= other.bytes[0] for one, other in zip(pieces, pieces[1:])))

    def test_a_file_without_offsets_stays_whole(self):
        commented = self.file("a\n#\n1\n2\n3\n", "commented.csv")
        options = options_of({"path": str(commented), "tasks": "2", "comment": "#"})
        self.assertEqual([piece.bytes for piece in pieces_of([str(commented)], options)], [None])

    def test_sections(self):
        notes = self.file("# One\na\n# Two\nb\n# Three\n", "notes.md")
        options = options_of({"path": str(notes), "sections": "headings", "splitSections": "true", "tasks": "2"})
        pieces = pieces_of([str(notes)], options)
        self.assertEqual([len(piece.sections) for piece in pieces], [1, 2])
        self.assertEqual(packed(pieces, options), [[piece] for piece in pieces])

    def test_locations(self):
        self.file(name="a [1].csv")
        self.file(name="b.csv")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        folder = pathlib.Path.cwd()
        self.assertEqual(locations_of(["*.csv"]), [f"{folder}/a [1].csv", f"{folder}/b.csv"])
        self.assertEqual(locations_of(["a [1].csv", "csv:b.csv"]), [f"{folder}/a [1].csv", f"csv:{folder}/b.csv"])
        self.assertEqual(locations_of(["processes:", "none.csv"]), ["processes:", "none.csv"])
        with self.assertRaises(NotFound):
            locations_of(["none*.csv"])

    def test_options(self):
        options = options_of({"PATHS": '["a,b", "c"]', "Columns": "x, y", "option.columns": "9", "delimiter": ";", "bytesPerTask": "2MiB"})
        self.assertEqual(options.locations, ["a,b", "c"])
        self.assertEqual((options.columns, options.bytes_per_task), (["x", "y"], 2 << 20))
        self.assertEqual(options.others, {"columns": "9", "delimiter": ";"})
        for wrong in ({}, {"path": "a", "command": "b"}, {"hosts": "a"}, {"hosts": "a", "command": "b", "path": "c"},
                      {"path": "a", "timeout": "0"}, {"path": "a", "tasks": "x"}, {"path": "a", "columns": "[1]"},
                      {"hosts": "a", "command": "b", "delimiter": ";"}):  # fmt: skip
            with self.subTest(wrong), self.assertRaises(InvalidArgument):
                options_of(wrong)


class Fleets(support.Case):
    def options(self, **more):
        return options_of({"hosts": "a", "command": "x", "timeout": "10", **more})

    def ask(self, code, **more):
        return ask("a", [sys.executable, "-B", "-c", code], self.options(**more), threading.Event())

    def test_no_text_reaches_a_shell_as_code(self):
        """What a shell makes of the words, after ssh has joined them with blanks, are the words."""
        chance = random.Random(4)
        parts = ["'", '"', "$(touch x)", "`touch x`", ";", "&&", "|", ">", "*", "?", "~", "#", "!", "\\", "\n", " ", "{host}", "{pushed}", "-", "é", "a"]
        for _ in range(150):
            texts = ["".join(chance.choices(parts, k=chance.randint(1, 6))) for _ in range(2)]
            pushed = pushed_words(None, texts)
            words = command_words("ssh {host} tabella export x", "web1", pushed, True)
            self.assertEqual(words[:5], ["ssh", "web1", "tabella", "export", "x"])
            joined = " ".join(words[2:]).replace("tabella", shlex.join([sys.executable, "-c", "import sys; print(sys.argv[1:])"]), 1)
            done = subprocess.run(["sh", "-c", joined], capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.stdout, f"{['export', 'x', *pushed]}\n")
            inner = command_words("sh -c 'tabella export x {pushed} | cat'", "web1", pushed, True)
            self.assertEqual(shlex.split(inner[2]), ["tabella", "export", "x", *pushed, "|", "cat"])
            self.assertEqual(command_words("tabella export x", "web1", pushed, False)[3:], pushed)
        self.assertEqual(sorted(self.folder.iterdir()), [self.folder / "receipts"] if (self.folder / "receipts").exists() else [])

    def test_the_pushed_words(self):
        start = ["--format=arrow-stream", "--with-section"]
        self.assertEqual(pushed_words(["a", "b c"], ["a > 1"]), [*start, "--columns=a,b c", "--filter=a > 1"])
        for name in ("a,b", "!a", " a"):
            self.assertEqual(pushed_words([name], []), start)
        self.assertEqual(pushed_words(None, [], is_probe=True), [*start, "-n", "0"])

    def test_hosts(self):
        self.assertEqual(hosts_of("a, b,a,,me@c.example:22"), ["a", "b", "me@c.example:22"])
        file = self.file("a # first\n\n# none\nb\n", "hosts.txt")
        self.assertEqual(hosts_of(f"@{file}"), ["a", "b"])
        for wrong in ("-oProxyCommand=x", "-G", "a b", "a;b", "$x", "a'", "*", "a\nb", "~", "[::1]"):
            with self.subTest(wrong), self.assertRaises(InvalidArgument):
                hosts_of(wrong)
        with self.assertRaises(NotFound):
            hosts_of(f"@{self.folder}/none")
        self.assertEqual([len(group) for group in groups_of(list(range(130)), 64)], [43, 43, 44])

    def test_answers(self):
        answer = self.ask("import sys; sys.stdout.write('x' * 500000); sys.stderr.write('e' * 500000)")
        self.assertIsNone(answer.error)
        self.assertEqual(answer.file.tell(), 500000)
        answer.file.close()
        cases = [
            ("import sys; print('x'); sys.exit('a\\nbad \\x1b[1mthing')", "the command ended with status 1: bad  [1mthing"),
            ("import os; os.abort()", "the command ended with signal 6"),
            ("print('x' * 3000)", "the answer has more than 2048 bytes"),
        ]
        for code, wanted in cases:
            with self.subTest(wanted):
                self.assertEqual(self.ask(code, bytesPerHost="2k").error, wanted)
        self.assertIn("cannot run /none/such", ask("a", ["/none/such"], self.options(), threading.Event()).error)

    def test_a_hanging_command_is_killed_with_its_children(self):
        pids = self.folder / "pids"
        code = (
            "import os, subprocess, sys, time; print('some bytes', flush=True); child = subprocess.Popen(['sleep', '1000'])\n"
            f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}'); time.sleep(1000)"
        )
        answer = self.ask(code, timeout="1.5")
        self.assertEqual(answer.error, "no complete answer within 1.5 s (11 bytes arrived)")
        self.assert_gone(pids)

    def test_a_child_that_outlives_the_command_is_killed(self):
        pids = self.folder / "pids"
        code = (
            "import os, subprocess, sys; child = subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL)\n"
            f"open({str(pids)!r}, 'w').write(f'{{child.pid}}'); print('done')"
        )
        answer = self.ask(code)
        self.assertIsNone(answer.error)
        answer.file.close()
        self.assert_gone(pids)

    def assert_gone(self, file):
        for pid in file.read_text().split():
            end = time.monotonic() + 10
            while time.monotonic() < end and self.is_alive(pid):
                time.sleep(0.02)
            self.assertFalse(self.is_alive(pid), pid)

    def is_alive(self, pid):
        try:
            return not re.search(r"\) Z", pathlib.Path(f"/proc/{pid}/stat").read_text())
        except FileNotFoundError:
            return False


if __name__ == "__main__":
    unittest.main()
