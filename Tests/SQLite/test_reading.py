"""Rows and types: the same as the command prints."""

import json
import os
import sqlite3
import subprocess
import time
import unittest

import support

TYPES = {"text": "TEXT", "date": "TEXT", "integer": "INTEGER", "real": "REAL", "boolean": "BOOLEAN", "binary": "BLOB"}
TABLE = (
    "name,n,x,flag,day,note\n"
    "Ada,1,1.5,true,2024-05-01,\n"
    'Bob,-7,1e3,false,2024-05-02T10:00:00Z,"a ""b"", c"\n'
    "Cy,9223372036854775807,0.1,TRUE,2023-01-01,Zoë\n"
    ",,,,,\n"
)


def bytes_read():
    """The bytes that this process has read."""
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])


def settle(path):
    """Waits until the file is so old that each further change gets another time."""
    while time.time() - path.stat().st_ctime < 2.1:
        time.sleep(0.1)


class Reading(support.Case):
    def by_the_command(self, location, *words):
        """The columns and rows that the command prints as JSON, as SQL has them."""
        table = json.loads(support.command("show", location, "--json", *words))
        columns = [column.get("reads", column["type"]) for column in table["columns"]]
        rows = []
        for section in table["sections"]:
            for row in section["rows"]:
                cells = row["cells"]
                rows.append(tuple(int(cell) if isinstance(cell, bool) else cell for cell in cells))
        return [column["name"] for column in table["columns"]], columns, rows

    def check_equal(self, location, words, options, ignored=()):
        self.declare("t", location, *options)
        names, types, rows = self.by_the_command(location, *words)
        info = self.rows("PRAGMA table_info(t)")
        self.assertEqual([column[1] for column in info], names)
        self.assertEqual([column[2] for column in info], [TYPES[type] for type in types])
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        wanted = [tuple(cell for name, cell in zip(names, row) if name not in ignored) for row in rows]
        shown = self.rows(f"SELECT {columns} FROM t")
        shown = [tuple(cell for name, cell in zip(names, row) if name not in ignored) for row in shown]
        self.assertEqual(shown, wanted)
        function = ", ".join([support.quoted(location), *map(support.quoted, options)])
        generic = ", ".join(f"c{number + 1}" for number in range(len(names)))
        again = self.rows(f"SELECT {generic} FROM tabella({function})")
        again = [tuple(cell for name, cell in zip(names, row) if name not in ignored) for row in again]
        self.assertEqual(again, wanted)
        self.assertEqual(self.rows("SELECT count(*) FROM t"), [(len(rows),)])
        return rows

    def test_csv(self):
        rows = self.check_equal(self.file(TABLE.replace("2024-05-02T10:00:00Z", "2024-05-02")), [], [])
        self.assertEqual(len(rows), 4)

    def test_csv_with_types(self):
        path = self.file(TABLE)
        self.check_equal(path, ["-o", "types=infer"], ["types=infer"], ignored=("day",))
        # A text that reads as a date stays as it is written, which the command does not.
        days = self.rows("SELECT day FROM t")
        self.assertEqual(days, [("2024-05-01",), ("2024-05-02T10:00:00Z",), ("2023-01-01",), (None,)])
        kinds = self.rows("SELECT typeof(name), typeof(n), typeof(x), typeof(flag), typeof(day) FROM t LIMIT 1")
        self.assertEqual(kinds, [("text", "integer", "real", "integer", "text")])

    def test_text(self):
        path = self.file("# A\none\ntwo\n\n# B\nthree\n", "notes.md")
        self.check_equal(path, [], [])

    def test_text_with_sections(self):
        path = self.file("# A\none\ntwo\n\n# B\nthree\n", "notes.md")
        self.check_equal(path, ["-o", "sections=headings"], ["sections=headings"])
        sections = self.rows("SELECT section, section_title, line FROM t WHERE line IN ('one', 'three')")
        self.assertEqual(sections, [(0, "A", "one"), (1, "B", "three")])
        self.assertEqual(self.rows("SELECT line FROM t WHERE section = 1"), [("three",)])
        self.assertEqual(self.rows("SELECT line FROM t WHERE section = 7"), [])
        self.assertEqual(self.rows("SELECT count(*) FROM t WHERE section = '1'"), [(1,)])

    def test_directory(self):
        for name in ("b.txt", "a.csv", "ä.bin"):
            self.file("x" * len(name), name)
        (self.folder / "inner").mkdir()
        self.check_equal(self.folder, [], [])

    def test_processes(self):
        # Other processes come and go, so a few columns of our own ones are compared.
        child = subprocess.Popen(["sleep", "60"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        names, _, rows = self.by_the_command("processes:")
        place = {name: number for number, name in enumerate(names)}
        self.declare("t", "processes:")
        self.assertEqual([column[1] for column in self.rows("PRAGMA table_info(t)")], names)
        for pid in (os.getpid(), child.pid):
            wanted = [(row[place["pid"]], row[place["command"]]) for row in rows if row[place["pid"]] == pid]
            self.assertEqual(self.rows("SELECT pid, command FROM t WHERE pid = ?", pid), wanted)
        c = place["pid"] + 1
        self.assertEqual(
            self.rows(f"SELECT c{c} FROM tabella('processes:') WHERE c{c} = ?", child.pid), [(child.pid,)])  # fmt: skip
        child.kill()
        child.wait()
        self.assertEqual(self.rows("SELECT pid FROM t WHERE pid = ?", child.pid), [])

    def test_columns_on_request_are_hidden(self):
        path = self.file("abc\n", "a.txt")
        self.declare("t", self.folder)
        hidden = [column[1] for column in self.rows("PRAGMA table_xinfo(t)") if column[6]]
        self.assertEqual(hidden[-2:], ["section", "section_title"])
        described = json.loads(support.command("describe", self.folder, "--json"))
        wanted = [column["name"] for column in described["columns"] if column.get("on request")]
        self.assertEqual(hidden[:-2], wanted)
        self.assertTrue(wanted, "a folder has columns on request")
        for name in wanted:
            self.assertEqual(len(self.rows(f'SELECT "{name}" FROM t WHERE name = ?', path.name)), 1)

    def test_bytes_and_large_cells(self):
        path = self.file(b"a,b\n\xff\xfe,1\n" + b"x" * 100000 + b",2\n")
        self.declare("t", path, "types=infer")
        self.db.text_factory = bytes
        self.assertEqual(self.rows("SELECT a FROM t"), [(b"\xff\xfe",), (b"x" * 100000,)])

    def test_values_at_the_edges(self):
        # Numbers that fit no type make a column of text; a NUL byte and empty cells stay what they are.
        cells = {
            "integer": ["9223372036854775807", "-9223372036854775808", "0"],
            "beyond": ["9223372036854775808", "1", "2"],
            "real": ["1e308", "-0.5", "5e-324"],
            "words": ["nan", "inf", "-inf"],
            "flag": ["true", "FALSE", "true"],
            "nul": ["a\0b", "\0", "c"],
            "gap": ["x", "", "y"],
        }
        lines = [",".join(cells), *(",".join(row) for row in zip(*cells.values()))]
        path = self.file("\n".join(lines) + "\n")
        for options in ([], ["types=infer"]):
            self.db = self.connect()
            self.declare("t", path, *options)
            names, types, rows = self.by_the_command(path, *(["-o", *options] if options else []))
            self.assertEqual(self.rows("SELECT * FROM t"), rows)
            self.assertEqual([column[2] for column in self.rows("PRAGMA table_info(t)")], [TYPES[t] for t in types])
        self.assertEqual(self.rows("SELECT count(*) FROM t WHERE integer = 9223372036854775807"), [(1,)])
        self.assertEqual(self.rows("SELECT count(*) FROM t WHERE integer < -9223372036854775807"), [(1,)])
        self.assertEqual(self.rows("SELECT typeof(words), count(*) FROM t GROUP BY 1"), [("text", 3)])
        self.assertEqual(self.rows("SELECT hex(nul) FROM t"), [("610062",), ("00",), ("63",)])
        # An empty cell of text is empty text, and not NULL.
        self.assertEqual(self.rows("SELECT gap IS NULL, gap = '' FROM t"), [(0, 0), (0, 1), (0, 0)])

    def test_lists_of_numbers_beyond_doubles(self):
        """A list is passed on as a range, and two of these integers are the same double."""
        numbers = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2]
        self.declare("t", self.file("n\n" + "".join(f"{n}\n" for n in numbers)), "types=infer")
        for few in ([2**53, 2**53 + 1], [2**53 + 1, 2**53 + 2], [2**53 - 1, 2**53 + 1]):
            text = ", ".join(map(str, few))
            self.assertEqual(self.rows(f"SELECT n FROM t WHERE n IN ({text})"), [(n,) for n in few])

    def test_a_real_that_is_no_number(self):
        """SQLite has NULL for it, so a search for NULL must find it."""
        house = support.house(self.folder, "words", "Tests/Zoo/Animals/words.c")
        self.set_variable("TABELLA_PROVIDER_PATH", str(house))
        self.declare("t", "words:odd-numbers")
        self.assertEqual(self.rows("SELECT number, weight FROM t LIMIT 1"), [(-(2**63), None)])
        every = self.rows("SELECT number, weight FROM t")
        wanted = [(number,) for number, weight in every if weight is None]
        self.assertEqual(self.rows("SELECT number FROM t WHERE weight IS NULL"), wanted)

    def test_two_tables_and_an_attached_database(self):
        left = self.file("k,v\n1,a\n2,b\n3,c\n", "left.csv")
        right = self.file("k,w\n2,x\n3,y\n3,z\n4,q\n", "right.csv")
        self.db.execute(f"ATTACH '{self.folder}/other.db' AS other")
        self.declare("t", left, "types=infer")
        self.declare("other.u", right, "types=infer")
        wanted = [(2, "b", "x"), (3, "c", "y"), (3, "c", "z")]
        self.assertEqual(self.rows("SELECT t.k, v, w FROM t JOIN other.u ON t.k = u.k ORDER BY 1, 3"), wanted)
        function = f"tabella('{right}', 'types=infer')"
        self.assertEqual(self.rows(f"SELECT t.k, v, c2 FROM t JOIN {function} ON t.k = c1 ORDER BY 1, 3"), wanted)
        self.db.execute("BEGIN")
        self.db.execute("UPDATE t SET v = (SELECT max(w) FROM other.u WHERE u.k = t.k) WHERE k > 1")
        self.db.execute("DELETE FROM other.u WHERE k NOT IN (SELECT k FROM t)")
        self.db.execute("COMMIT")
        self.assertEqual(left.read_text(), "k,v\n1,a\n2,x\n3,z\n")
        self.assertEqual(right.read_text(), "k,w\n2,x\n3,y\n3,z\n")
        self.db.execute("DETACH other")
        self.db.execute(f"ATTACH '{self.folder}/other.db' AS again")
        self.assertEqual(self.rows("SELECT count(*) FROM again.u"), [(3,)])

    def test_names_of_columns(self):
        path = self.file('A,a,"q""x",section,,select\n1,2,3,4,5,6\n')
        self.declare("t", path)
        names = [column[1] for column in self.rows("PRAGMA table_xinfo(t)")]
        self.assertEqual(len({name.lower() for name in names}), len(names))
        self.assertEqual(self.rows("SELECT * FROM t"), [("1", "2", "3", "4", "5", "6")])
        self.assertEqual(self.rows('SELECT "q""x", "a 2" FROM t'), [("3", "2")])

    def test_many_equal_names(self):
        # Each repeated name was counted up from 2, so that 32,000 of them took minutes.
        count = 1900
        self.declare("t", self.file(",".join(["a"] * count) + "\n"))
        names = [column[0] for column in self.db.execute("SELECT * FROM t").description]
        self.assertEqual(names, ["a"] + [f"a {number}" for number in range(2, count + 1)])

    def test_arguments(self):
        path = self.file("a;b\n1;x,y\n", "it's.csv")
        self.db.execute(f"CREATE VIRTUAL TABLE t USING tabella({support.quoted(path)}, delimiter=';', 'types=infer')")
        self.assertEqual(self.rows("SELECT * FROM t"), [(1, "x,y")])
        words = ", ".join(map(support.quoted, (path, "delimiter=;", "types=infer")))
        self.assertEqual(
            self.rows(f"SELECT c1, c2, location, option1, option2 FROM tabella({words})"),
            [(1, "x,y", str(path), "delimiter=;", "types=infer")])  # fmt: skip
        self.assertEqual(self.rows(f"SELECT c1 FROM tabella({words}) WHERE location = 'other'"), [])

    def test_the_function_in_a_join(self):
        self.db.execute("CREATE TABLE files(path)")
        for number in range(40):
            path = self.file(f"a\n{number}\n", f"f{number}.csv")
            self.db.execute("INSERT INTO files VALUES (?)", (str(path),))
        sql = "SELECT sum(c1) FROM files, tabella(files.path, 'types=infer')"
        self.assertEqual(self.rows(sql), [(sum(range(40)),)])
        self.assertEqual(self.rows(sql), [(sum(range(40)),)])

    def test_joins_and_nested_scans(self):
        path = self.file("k,v\n1,a\n2,b\n3,c\n")
        self.declare("t", path, "types=infer")
        wanted = [(1, "b"), (1, "c"), (2, "c")]
        self.assertEqual(self.rows("SELECT x.k, y.v FROM t x JOIN t y ON y.k > x.k"), wanted)
        self.db.execute("CREATE TABLE n(k, w)")
        self.db.execute("INSERT INTO n VALUES (2, 'two'), (9, 'nine')")
        sql = "SELECT n.k, v, w FROM n LEFT JOIN t ON t.k = n.k ORDER BY n.k"
        self.assertEqual(self.rows(sql), [(2, "b", "two"), (9, None, "nine")])

    def test_a_changed_file_is_read_again(self):
        path = self.file("a\n1\n")
        self.declare("t", path)
        self.assertEqual(self.rows("SELECT a FROM t"), [("1",)])
        path.write_text("a\n1\n2\n")
        self.assertEqual(self.rows("SELECT a FROM t"), [("1",), ("2",)])
        path.unlink()
        self.fails("SELECT a FROM t", "data.csv", "No such file")
        path.write_text("a\n3\n")
        self.assertEqual(self.rows("SELECT a FROM t"), [("3",)])
        path.write_text("b,c\n3,4\n")
        self.fails("SELECT a FROM t", "the columns have changed")

    def test_changed_columns_are_refused_by_every_statement(self):
        # Only the first statement was refused. Later ones used the columns of the old file: they changed other cells.
        path = self.file("price,stock,name\n1,2,y\n")
        self.declare("t", path)
        text = "stock,price,name\n5,6,y\n"
        path.write_text(text)
        settle(path)
        statements = ["SELECT * FROM t", "SELECT * FROM t ORDER BY name", "UPDATE t SET price = 99", "DELETE FROM t",
                      "INSERT INTO t(price, name) VALUES (7, 'z')"]
        for statement in statements * 2:
            self.fails(statement, "the columns have changed")
        path.write_text("price\n1\n")
        settle(path)
        for statement in statements * 2:
            self.fails(statement, "the columns have changed")
        self.assertEqual(path.read_text(), "price\n1\n")
        path.write_text("price,stock,name\n8,9,x\n")
        self.assertEqual(self.rows("SELECT stock FROM t"), [("9",)])
        # The table function has no declared columns.
        sql = f"SELECT c1, c2 FROM tabella({support.quoted(path)})"
        self.assertEqual(self.rows(sql), [("8", "9")])
        path.write_text("other\n4\n")
        self.assertEqual(self.rows(sql), [("4", None)])

    def test_a_pattern_of_a_left_join(self):
        # SQLite before 3.51.1 passes such a pattern to the left table, although all its rows belong to the result.
        self.declare("t", self.file("c\nx\ny\n"), "delimiter=comma")
        self.db.execute("CREATE TABLE k(z)")
        self.db.execute("INSERT INTO k VALUES (1)")
        for condition in ("c LIKE 'x%'", "c GLOB 'x*'", "c = 'x'", "c >= 'x' AND c < 'y'"):
            rows = self.rows(f"SELECT c, z FROM t LEFT JOIN k ON {condition}")
            self.assertEqual(rows, [("x", 1), ("y", None)], condition)

    def test_an_offset_counts_rows_that_pass(self):
        # SQLite before 3.46 passes an offset although it tests `a = b` itself. Rows were left out, and others returned.
        self.declare("t", self.file("a,b\n1,2\n3,3\n5,4\n7,7\n9,9\n"), "types=infer")
        self.assertEqual(self.rows("SELECT a FROM t WHERE a = b LIMIT 5 OFFSET 0"), [(3,), (7,), (9,)])
        self.assertEqual(self.rows("SELECT a FROM t WHERE a = b LIMIT 1 OFFSET 1"), [(7,)])
        self.assertEqual(self.rows("SELECT a FROM t LIMIT 1 OFFSET 1"), [(3,)])

    def test_the_first_rows_of_a_large_file(self):
        # The first statement read the whole file, to follow its changes.
        path = self.file("a,b\n" + f"{'x' * 40},1\n" * 1_000_000)
        self.declare("t", path)
        before = bytes_read()
        self.assertEqual(len(self.rows("SELECT * FROM t LIMIT 20")), 20)
        self.assertLess(bytes_read() - before, path.stat().st_size / 10)

    def test_a_change_that_leaves_size_and_time(self):
        path = self.file("a,b\n1,2\n")
        settle(path)
        self.declare("t", path)
        self.assertEqual(self.rows("SELECT * FROM t"), [("1", "2")])
        status = path.stat()
        for text in ("a,b\n3,4\n", "a,b\n5,6\n"):
            path.write_text(text)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            self.assertEqual(self.rows("SELECT * FROM t"), [tuple(text.split()[1].split(","))])
        settle(path)
        self.assertEqual(self.rows("SELECT * FROM t"), [("5", "6")])
        moved = path.with_name("moved.csv")
        path.rename(moved)
        self.fails("SELECT * FROM t", "data.csv", "No such file")
        path.symlink_to(moved)
        self.assertEqual(self.rows("SELECT * FROM t"), [("5", "6")])
        other = self.file("a,b\n7,8\n", "other.csv")
        path.unlink()
        path.symlink_to(other)
        self.assertEqual(self.rows("SELECT * FROM t"), [("7", "8")])

    def test_changes_within_one_tick_of_the_clock(self):
        """Two changes can give a file the same size and times."""
        path = self.file("a\n0\n")
        self.declare("t", path)
        for number in range(100):
            self.file(f"a\n{number % 10}\n")
            self.assertEqual(self.rows("SELECT a FROM t"), [(str(number % 10),)])

    def test_a_type_that_changes(self):
        path = self.file("k,w\n1,1\n2,2\n")
        self.declare("t", path, "types=infer")
        order = "SELECT k, w FROM t ORDER BY k DESC"
        self.assertEqual(self.rows(order), [(2, 2), (1, 1)])
        path.write_text("k,w\n1,1\nx,2\n10,3\n")
        # The statement was planned for a column of integers.
        self.assertEqual(self.rows(order), [("x", 2), ("10", 3), ("1", 1)])
        self.assertEqual(self.rows("SELECT w FROM t WHERE k = 10"), [(3,)])
        self.assertEqual(self.rows("SELECT w FROM t WHERE k < 5"), [(1,)])
        path.write_text("k,w\n1,1\n2.5,2\n10,3\n")
        self.assertEqual(self.rows(order), [(10.0, 3), (2.5, 2), (1.0, 1)])
        self.assertEqual(self.rows("SELECT w FROM t WHERE k > 2"), [(2,), (3,)])

    def test_numbers_of_rows_and_sections(self):
        """The largest section number ended the process, and text as a row id found no row."""
        self.declare("t", self.file("k\n1\n2\n"))
        for section in (2**63 - 1, -(2**63), 1):
            self.assertEqual(self.rows("SELECT k FROM t WHERE section = ?", section), [])
        rowid = self.rows("SELECT rowid FROM t WHERE k = '2'")[0][0]
        for value in (rowid, str(rowid), f" {rowid} ", f"+{rowid}"):
            self.assertEqual(self.rows("SELECT k FROM t WHERE rowid = ?", value), [("2",)], repr(value))
        for value in ("x", "", "1.5", None, b"1"):
            self.assertEqual(self.rows("SELECT k FROM t WHERE rowid = ?", value), [], repr(value))

    def test_a_pattern_ends_at_a_nul(self):
        self.declare("t", self.file("k\nabcdef\n"))
        for pattern in ("k LIKE 'abc%' || char(0) || 'longer'", "k GLOB 'abc*' || char(0) || 'longer'"):
            self.assertEqual(self.rows(f"SELECT k FROM t WHERE {pattern}"), [("abcdef",)])

    def test_one_version_per_statement(self):
        path = self.file("k\n1\n2\n")
        self.declare("t", path, "types=infer")
        self.db.execute("CREATE TABLE u(a)")
        self.db.execute("INSERT INTO u VALUES (1), (2)")

        def change(number):
            path.write_text("k\n1\n2\n3\n")
            return number

        self.db.create_function("change", 1, change)
        try:
            counts = self.rows("SELECT u.a, count(*) FROM u CROSS JOIN t WHERE change(u.a) = u.a GROUP BY u.a")
            self.assertEqual(len({count for _, count in counts}), 1, counts)
        except sqlite3.OperationalError as error:
            self.assertIn("changed", str(error))
        self.assertEqual(self.rows("SELECT count(*) FROM t"), [(3,)])

    def test_a_table_of_a_database_file(self):
        path = self.file("a\n1\n")
        first = self.connect(self.folder / "x.db")
        self.declare("t", path, db=first)
        first.close()
        second = self.connect(self.folder / "x.db")
        self.assertEqual(self.rows("SELECT a FROM t", db=second), [("1",)])
        second.execute("ALTER TABLE t RENAME TO u")
        self.assertEqual(self.rows("SELECT a FROM u", db=second), [("1",)])
        second.execute("DROP TABLE u")

    def test_views_cannot_use_it(self):
        self.declare("t", self.file("a\n1\n"))
        self.db.execute("CREATE VIEW v AS SELECT * FROM t")
        self.db.execute("CREATE VIEW w AS SELECT * FROM tabella('processes:')")
        self.fails("SELECT * FROM v", "unsafe use of virtual table")
        self.fails("SELECT * FROM w", "unsafe use of virtual table")

    def test_offsets_and_limits(self):
        path = self.file("a\n" + "".join(f"{number}\n" for number in range(50000)))
        self.declare("t", path, "types=infer")
        self.assertEqual(self.rows("SELECT a FROM t LIMIT 2 OFFSET 49999"), [(49999,)])
        self.assertEqual(self.rows("SELECT a FROM t LIMIT -1 OFFSET 49998"), [(49998,), (49999,)])
        self.assertEqual(self.rows("SELECT a FROM t LIMIT 3 OFFSET 60000"), [])
        self.assertEqual(self.rows("SELECT a FROM t LIMIT 0"), [])
        self.assertEqual(self.rows("SELECT a FROM t ORDER BY a DESC LIMIT 2 OFFSET 1"), [(49998,), (49997,)])
        plan = self.rows("EXPLAIN QUERY PLAN SELECT a FROM t ORDER BY a DESC LIMIT 2")
        self.assertNotIn("B-TREE", str(plan))


if __name__ == "__main__":
    unittest.main()
