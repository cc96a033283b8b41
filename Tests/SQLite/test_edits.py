"""Edits: the same statements change a table of SQLite, which is the model, and the files."""

import csv
import json
import os
import random
import signal
import sqlite3
import subprocess
import unittest

import support

WORDS = ["a", "b", "", "x,y", 'q"q', "two\nlines", "é", "10"]


class Model(support.Case):
    """A CSV file and a table of SQLite that receive the same statements in the same transactions."""

    def start(self, chance, typed):
        self.path = self.folder / "model.csv"
        rows = [(number, chance.choice(WORDS), chance.randrange(5)) for number in range(chance.choice([0, 1, 4, 12]))]
        self.write(rows)
        self.declare("t", self.path, *(["types=infer"] if typed else []))
        self.db.execute("CREATE TABLE m(id, w, k)")
        self.db.executemany("INSERT INTO m VALUES (?, ?, ?)", rows if typed and rows else self.texts(rows))
        self.next = 100

    @staticmethod
    def texts(rows):
        return [tuple(str(cell) for cell in row) for row in rows]

    def write(self, rows):
        with open(self.path, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("id", "w", "k"), *rows])

    def of_file(self):
        with open(self.path, newline="") as file:
            return [tuple(row) for row in list(csv.reader(file))[1:]]

    def of(self, table):
        # An empty cell and a missing one are one cell of a file.
        return [tuple("" if cell is None else str(cell) for cell in row) for row in self.rows(f"SELECT * FROM {table}")]

    def check(self, context):
        self.assertEqual(self.of("t"), self.of("m"), context)

    def change(self, chance):
        """A random statement, for both tables."""
        kind = chance.randrange(8)
        value = chance.choice(WORDS)
        k = chance.randrange(5)
        if kind < 2:
            self.next += 1
            sql, values = "INSERT INTO {}(id, w, k) VALUES (?, ?, ?)", (self.next, value, k)
        elif kind == 2:
            sql, values = "INSERT INTO {}(id, w, k) SELECT id + 1000, w, k FROM {} WHERE +k = ?", (k,)
        elif kind == 3:
            sql, values = "UPDATE {} SET w = ? WHERE +k = ?", (value, k)
        elif kind == 4:
            sql, values = "UPDATE {} SET w = w || ?, k = ? WHERE +k = ?", (value, chance.randrange(5), k)
        elif kind == 5:
            sql, values = "DELETE FROM {} WHERE +k = ?", (k,)
        elif kind == 6:
            sql, values = "UPDATE {} SET w = ?", (value,)
        else:
            sql, values = "DELETE FROM {} WHERE w = ?", (value,)
        if kind in (3, 4) and not self.typed:
            values = (*values[:-1], str(values[-1]))
        if kind in (2, 5) and not self.typed:
            values = (str(k),)
        changed = []
        for table in ("t", "m"):
            statement = sql.replace("{}", table)
            if table == "m" and not self.typed:
                # The cells of the file are text.
                statement = statement.replace("VALUES (?, ?, ?)", "VALUES (CAST(? AS TEXT), ?, CAST(? AS TEXT))")
                statement = statement.replace("id + 1000", "CAST(id + 1000 AS TEXT)")
                statement = statement.replace("k = ? WHERE", "k = CAST(? AS TEXT) WHERE")
            changed.append(self.db.execute(statement, values).rowcount)
        self.assertEqual(*changed, sql)
        return sql, values

    def run_sequence(self, seed):
        chance = random.Random(seed)
        self.typed = chance.random() < 0.5
        self.start(chance, self.typed)
        types = [column[2] for column in self.rows("PRAGMA table_info(t)")]
        self.typed = self.typed and types == ["INTEGER", "TEXT", "INTEGER"]
        if not self.typed:
            self.db.execute("DROP TABLE t")
            self.declare("t", self.path)
            # A column of words that are all numbers has another type than the model assumes.
            self.db.execute("UPDATE m SET id = CAST(id AS TEXT), k = CAST(k AS TEXT)")
        trail = []
        for _ in range(chance.randrange(2, 6)):
            before = self.of_file()
            # A savepoint without BEGIN is a transaction, too.
            names = chance.choice([[], ["outer"]])
            trail.append("SAVEPOINT outer" if names else "BEGIN")
            self.db.execute(trail[-1])
            for _ in range(chance.randrange(1, 12)):
                kind = chance.randrange(10)
                if kind == 0:
                    names.append(f"s{len(names)}")
                    trail.append(f"SAVEPOINT {names[-1]}")
                elif kind == 1 and names:
                    at = chance.randrange(len(names))
                    trail.append(f"ROLLBACK TO {names[at]}")
                    del names[at + 1 :]
                elif kind == 2 and names and names[-1] != "outer":
                    at = chance.randrange(names[0] == "outer", len(names))
                    trail.append(f"RELEASE {names[at]}")
                    del names[at:]
                else:
                    trail.append(str(self.change(chance)))
                    self.check(trail)
                    continue
                self.db.execute(trail[-1])
                self.check(trail)
            self.assertEqual(self.of_file(), before, "nothing is written before COMMIT")
            end = chance.randrange(8)
            if end == 0:
                trail.append("ROLLBACK")
                self.db.execute("ROLLBACK")
                self.assertEqual(self.of_file(), before)
            elif end == 1:
                staged = self.of("t") != [tuple(row) for row in before]
                # Another program appends a row before COMMIT.
                trail.append("a write by another program, COMMIT")
                self.write([*before, ("999", "other", "9")])
                try:
                    self.db.execute("COMMIT")
                    self.assertFalse(staged, trail)
                except sqlite3.OperationalError as error:
                    self.assertEqual(len(str(error).splitlines()), 1)
                    self.assertIn("changed", str(error))
                self.assertFalse(self.db.in_transaction)
                self.assertEqual(self.of_file()[-1], ("999", "other", "9"))
                self.assertEqual(self.of_file()[:-1], before)
                self.db.execute("INSERT INTO m VALUES (?, ?, ?)", (999, "other", 9) if self.typed else ("999", "other", "9"))
            else:
                trail.append("COMMIT")
                self.db.execute("COMMIT")
                self.assertEqual(self.of_file(), self.of("m"), trail)
            self.check(trail)
            if self.typed and self.rows("SELECT count(*) FROM m") == [(0,)]:
                return

    def test_random_transactions(self):
        for seed in range(support.SEED, support.SEED + support.COUNT):
            with self.subTest(seed=seed):
                self.db = self.connect()
                self.run_sequence(seed)


class Edits(support.Case):
    def people(self):
        path = self.file("name,n\nAda,1\nBob,2\nCy,3\n")
        self.declare("t", path, "types=infer")
        return path

    def test_each_statement_alone(self):
        path = self.people()
        self.db.execute("UPDATE t SET n = n + 10 WHERE name = 'Bob'")
        self.assertEqual(path.read_text(), "name,n\nAda,1\nBob,12\nCy,3\n")
        self.db.execute("INSERT INTO t VALUES ('Dé', 4), ('E', NULL)")
        self.assertEqual(path.read_text(), "name,n\nAda,1\nBob,12\nCy,3\nDé,4\nE,\n")
        self.db.execute("DELETE FROM t WHERE n < 5")
        self.assertEqual(path.read_text(), "name,n\nBob,12\nE,\n")
        self.assertEqual(self.rows("SELECT * FROM t"), [("Bob", 12), ("E", None)])
        log = json.loads(support.command("log", path, "--json"))
        self.assertEqual(sum(len(section["rows"]) for section in log["sections"]), 3, "each COMMIT has a receipt")
        support.command("undo", path)
        self.assertEqual(self.rows("SELECT count(*) FROM t"), [(5,)])

    def test_null_empties_a_cell_of_a_typed_column(self):
        """`UPDATE t SET n = n + 1` failed as soon as one cell was empty."""
        path = self.file("name,n,day\nAda,,x\nBob,2,y\n")
        self.declare("t", path, "types=infer")
        self.db.execute("UPDATE t SET n = n + 1")
        self.assertEqual(path.read_text(), "name,n,day\nAda,,x\nBob,3,y\n")
        self.db.execute("UPDATE t SET n = NULL WHERE name = 'Bob'")
        self.assertEqual(path.read_text(), "name,n,day\nAda,,x\nBob,,y\n")
        with self.assertRaisesRegex(sqlite3.Error, "cannot be missing before other cells"):
            self.db.execute("UPDATE t SET name = NULL")

    def test_only_named_cells_are_written(self):
        path = self.file('a,b\n"x",1\n"y","2"\n')
        self.declare("t", path, "types=infer")
        self.db.execute("UPDATE t SET b = 3 WHERE a = 'x'")
        self.assertEqual(path.read_text(), 'a,b\n"x",3\n"y","2"\n')

    def test_text_that_reads_as_numbers_stays_text(self):
        path = self.file("a\nx\n")
        self.declare("t", path, "types=infer")
        self.db.execute("UPDATE t SET a = '10'")
        self.assertEqual(self.rows("SELECT a FROM t"), [("10",)])
        self.db.execute("UPDATE t SET a = 'y'")
        self.assertEqual(path.read_text(), "a\ny\n")

    def test_one_batch_per_transaction(self):
        path = self.people()
        self.db.execute("BEGIN")
        self.db.execute("UPDATE t SET n = 0")
        self.db.execute("DELETE FROM t WHERE name = 'Ada'")
        self.db.execute("INSERT INTO t VALUES ('New', 9)")
        self.assertEqual(self.db.execute("SELECT last_insert_rowid()").fetchone(), (-1,))
        self.db.execute("UPDATE t SET n = n + 1 WHERE rowid = -1")
        self.assertEqual(self.rows("SELECT * FROM t ORDER BY n DESC LIMIT 1"), [("New", 10)])
        self.db.execute("COMMIT")
        self.assertEqual(path.read_text(), "name,n\nBob,0\nCy,0\nNew,10\n")
        log = json.loads(support.command("log", path, "--json"))
        self.assertEqual(sum(len(section["rows"]) for section in log["sections"]), 1)

    def test_the_row_id_of_an_inserted_row_is_never_used_again(self):
        self.people()
        self.db.execute("BEGIN")
        self.db.execute("INSERT INTO t VALUES ('New', 9)")
        old = self.rows("SELECT last_insert_rowid()")[0][0]
        self.db.execute("ROLLBACK")
        self.db.execute("BEGIN")
        self.db.execute("INSERT INTO t VALUES ('Other', 8)")
        self.assertNotEqual(self.rows("SELECT last_insert_rowid()"), [(old,)])
        self.fails(f"DELETE FROM t WHERE rowid = {old}", "transaction that is over")
        self.assertEqual(self.rows("SELECT name FROM t WHERE n = 8"), [("Other",)])
        self.db.execute("ROLLBACK")

    def test_a_failing_statement_leaves_the_transaction(self):
        path = self.people()
        self.db.execute("BEGIN")
        self.db.execute("UPDATE t SET n = 7 WHERE name = 'Ada'")
        self.fails("UPDATE t SET n = CASE name WHEN 'Cy' THEN 'many' ELSE 8 END", "n", "many", "integer")
        self.assertEqual(self.rows("SELECT n FROM t"), [(7,), (2,), (3,)], "the whole statement is undone")
        self.db.execute("COMMIT")
        self.assertEqual(path.read_text(), "name,n\nAda,7\nBob,2\nCy,3\n")

    def test_a_row_id_names_one_version(self):
        path = self.people()
        ids = [row[0] for row in self.rows("SELECT rowid FROM t")]
        other = self.connect()
        self.declare("t", path, "types=infer", db=other)
        self.assertEqual([row[0] for row in self.rows("SELECT rowid FROM t", db=other)], ids)
        self.db.execute("UPDATE t SET n = 5 WHERE rowid = ?", (ids[1],))
        self.assertEqual(self.rows("SELECT n FROM t"), [(1,), (5,), (3,)])
        for db in (self.db, other):
            self.fails(f"UPDATE t SET n = 6 WHERE rowid = {ids[1]}", "another version", db=db)
            self.fails(f"DELETE FROM t WHERE rowid = {ids[2]}", "another version", db=db)
        self.assertEqual(path.read_text(), "name,n\nAda,1\nBob,5\nCy,3\n")
        path.write_text("name,n\nZoe,0\nAda,1\nBob,5\nCy,3\n")
        new = self.rows("SELECT rowid FROM t WHERE name = 'Ada'")[0][0]
        path.write_text("name,n\nAda,1\nBob,5\nCy,3\nX,1\n")
        self.fails(f"DELETE FROM t WHERE rowid = {new}", "another version")
        self.fails("DELETE FROM t WHERE rowid = -1", "transaction that is over")

    def test_the_row_ids_of_a_running_statement(self):
        """A statement that still read the old version gave row ids of the new one, which named other rows."""
        path = self.file("k\n1\n2\n3\n4\n5\n6\n")
        self.declare("t", path, "types=infer")
        found = self.db.execute("SELECT rowid, k FROM t")
        wanted = [row for row in (found.fetchone() for _ in range(6)) if row[1] in (1, 3)]
        self.db.execute("DELETE FROM t WHERE rowid = ?", wanted[0][:1])
        self.fails(f"DELETE FROM t WHERE rowid = {wanted[1][0]}", "another version")
        found.close()
        statement = self.db.execute("SELECT rowid, k FROM t")
        deleted = []
        with self.assertRaisesRegex(sqlite3.OperationalError, "another version"):
            for rowid, k in statement:
                if k in (2, 4):
                    self.db.execute("DELETE FROM t WHERE rowid = ?", (rowid,))
                    deleted.append(k)
        statement.close()
        self.assertEqual(deleted, [2])
        self.assertEqual(path.read_text(), "k\n3\n4\n5\n6\n")

    def test_a_row_id_as_text(self):
        """SQLite converts it. The statement changed nothing, without an error."""
        path = self.file("k\n1\n2\n3\n")
        self.declare("t", path)
        for statement, k in (("UPDATE t SET k = 'two' WHERE rowid = ?", "2"), ("DELETE FROM t WHERE rowid = ?", "3")):
            rowid = self.rows("SELECT rowid FROM t WHERE k = ?", k)[0][0]
            self.db.execute(statement, (str(rowid),))
        self.assertEqual(path.read_text(), "k\n1\ntwo\n")

    def test_an_update_from_another_table(self):
        self.people()
        self.db.execute("CREATE TABLE o(name, n)")
        self.db.execute("INSERT INTO o VALUES ('Ada', 9)")
        self.fails("UPDATE t SET n = o.n FROM o WHERE o.name = t.name", "UPDATE … FROM", "SELECT")
        self.db.execute("UPDATE t SET n = (SELECT o.n FROM o WHERE o.name = t.name) WHERE name = 'Ada'")
        self.assertEqual(self.rows("SELECT n FROM t"), [(9,), (2,), (3,)])

    def test_a_conflict_between_statement_and_commit(self):
        path = self.people()
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM t WHERE name = 'Bob'")
        path.write_text("name,n\nX,0\nAda,1\nBob,2\nCy,3\n")
        self.fails("COMMIT", "data.csv", "changed")
        self.assertFalse(self.db.in_transaction)
        self.assertEqual(path.read_text(), "name,n\nX,0\nAda,1\nBob,2\nCy,3\n")
        self.assertEqual(self.rows("SELECT count(*) FROM t"), [(4,)])
        self.db.execute("DELETE FROM t WHERE name = 'Bob'")
        self.assertEqual(path.read_text(), "name,n\nX,0\nAda,1\nCy,3\n")

    def test_a_later_failure_undoes_the_batch(self):
        first = self.people()
        second = self.file("a\n1\n", "second.csv")
        self.declare("u", second)
        old = first.read_bytes()
        self.db.execute("BEGIN")
        self.db.execute("UPDATE t SET n = 9")
        self.db.execute("UPDATE u SET a = 9")
        second.write_text("a\n2\n")
        self.fails("COMMIT", "second.csv", "changed")
        self.assertEqual(first.read_bytes(), old)
        self.assertEqual(self.rows("SELECT n FROM t"), [(1,), (2,), (3,)])

    def test_an_insert_into_a_changed_file(self):
        # An INSERT starts no scan. It met the old version, and failed until the next SELECT.
        path = self.file("a,b\n1,2\n")
        self.declare("t", path)
        self.assertEqual(self.rows("SELECT a FROM t"), [("1",)])
        path.write_text("a,b\n3,4\n")
        self.db.execute("INSERT INTO t VALUES ('5', '6')")
        self.assertEqual(path.read_text(), "a,b\n3,4\n5,6\n")

    def test_what_cannot_be_edited(self):
        self.people()
        self.fails("INSERT INTO t(rowid, name) VALUES (5, 'x')", "row id")
        self.fails("UPDATE t SET rowid = 5", "row id")
        self.fails("UPDATE t SET section = 1", "section")
        self.fails("INSERT INTO t(name, section) VALUES ('x', 1)", "no section 1")
        self.fails(f"UPDATE tabella SET c1 = 1 WHERE location = '{self.folder}/data.csv'", "read-only")
        self.fails("DELETE FROM tabella WHERE location = 'processes:'", "read-only")

    def test_sections(self):
        path = self.file("# A\none\n# B\ntwo\n", "notes.md")
        self.declare("t", path, "sections=headings")
        self.db.execute("INSERT INTO t(line, section) VALUES ('first', 0)")
        self.db.execute("INSERT INTO t(line) VALUES ('last')")
        self.db.execute("UPDATE t SET line = 'TWO' WHERE section = 1 AND line = 'two'")
        self.assertEqual(path.read_text(), "# A\none\nfirst\n# B\nTWO\nlast\n")
        ids = [row[0] for row in self.rows("SELECT rowid FROM t")]
        self.assertEqual(len(set(ids)), len(ids))
        for id, line in self.rows("SELECT rowid, line FROM t"):
            self.assertEqual(self.rows("SELECT line FROM t WHERE rowid = ?", id), [(line,)])

    def test_a_folder(self):
        for name in ("a", "b", "c"):
            self.file(name, name)
        inner = self.folder / "inner"
        inner.mkdir()
        for name in ("x", "y", "z"):
            (inner / name).write_text(name)
        self.declare("t", inner)
        self.db.execute("BEGIN")
        self.db.execute("UPDATE t SET name = 'renamed' WHERE name = 'y'")
        self.assertEqual(sorted(os.listdir(inner)), ["x", "y", "z"])
        (inner / "new").write_text("by another program")
        self.db.execute("COMMIT")
        self.assertEqual(sorted(os.listdir(inner)), ["new", "renamed", "x", "z"])
        self.fails("UPDATE t SET size = 5 WHERE name = 'x'", "size")
        # A new entry has cells that are fixed later.
        self.db.execute("INSERT INTO t(name, kind) VALUES ('folder', 'directory')")
        self.db.execute("INSERT INTO t(name, kind, target) VALUES ('link', 'link', 'x')")
        self.assertTrue((inner / "folder").is_dir())
        self.assertEqual(os.readlink(inner / "link"), "x")
        self.fails("INSERT INTO t(name, size) VALUES ('large', 5)", "size cannot be chosen")
        self.fails("UPDATE t SET kind = 'file' WHERE name = 'folder'", "kind")

    def test_a_process(self):
        child = subprocess.Popen(["sleep", "60"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.declare("t", "processes:")
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM t WHERE pid = ?", (child.pid,))
        self.assertEqual(self.rows("SELECT pid FROM t WHERE pid = ?", child.pid), [])
        self.assertIsNone(child.poll())
        self.db.execute("ROLLBACK")
        self.assertIsNone(child.poll())
        self.db.execute("DELETE FROM t WHERE pid = ?", (child.pid,))
        self.assertEqual(child.wait(10), -signal.SIGTERM)

    def test_no_folder_for_receipts(self):
        path = self.people()
        blocked = self.file("", "blocked")
        os.environ["XDG_STATE_HOME"] = str(blocked)
        self.fails("DELETE FROM t", "receipt")
        self.assertEqual(path.read_text(), "name,n\nAda,1\nBob,2\nCy,3\n")

    def test_a_scan_keeps_the_rows_of_its_start(self):
        self.people()
        self.db.execute("BEGIN")
        self.db.execute("INSERT INTO t VALUES ('New', 9)")
        scan = self.db.execute("SELECT name FROM t")
        names = [next(scan)[0]]
        self.db.execute("DELETE FROM t WHERE name IN ('Bob', 'New')")
        self.assertEqual(names + [name for (name,) in scan], ["Ada", "Bob", "Cy", "New"])
        self.assertEqual(self.rows("SELECT name FROM t"), [("Ada",), ("Cy",)])
        self.db.execute("ROLLBACK")

    def test_foreign_rows(self):
        house = support.animal(self.folder, "calm", "aborts", "destructor")
        self.set_variable("TABELLA_PROVIDER_PATH", str(house))
        self.declare("t", "calm:x")
        self.db.execute("BEGIN")
        self.db.execute("UPDATE t SET number = 5, weight = 2.5 WHERE rowid = (SELECT rowid FROM t LIMIT 1)")
        self.db.execute("DELETE FROM t WHERE rowid = (SELECT rowid FROM t LIMIT 1 OFFSET 1)")
        self.assertEqual(self.rows("SELECT count(*) FROM t"), [(299,)])
        self.assertEqual(self.rows("SELECT number, weight FROM t LIMIT 1"), [(5, 2.5)])
        try:
            self.db.execute("COMMIT")
        except sqlite3.Error as error:
            # This system cannot confine the worker completely.
            self.assertIn("isolation", str(error))

    def test_a_partly_done_batch(self):
        house = support.house(self.folder, "half", "Tests/Python/half.c")
        self.set_variable("TABELLA_PROVIDER_PATH", str(house))
        self.declare("t", "half:x")
        self.db.execute("BEGIN")
        self.db.execute("UPDATE t SET number = 1 WHERE rowid IN (SELECT rowid FROM t LIMIT 2)")
        self.fails("COMMIT", "only one at a time")
        self.assertFalse(self.db.in_transaction)


if __name__ == "__main__":
    unittest.main()
