"""Edits, dry runs, refusals, receipts, undo, and a random test against a list of lists."""

import csv
import random
import signal
import subprocess
import types
import unittest
from datetime import date, datetime, timezone
from decimal import Decimal

import tabella
from tabella import _structs, _values
from support import PEOPLE, Case


class Edits(Case):
    def edited(self, text=PEOPLE, **arguments):
        return self.open(text, editing=True, **arguments)

    def content(self):
        return (self.folder / "people.csv").read_text()

    def test_a_batch_is_committed_at_the_end_of_the_block(self):
        table = self.edited()
        rows = table[:]
        with table.edit() as batch:
            batch.set(rows[0], city="Oslo", born=1816)
            batch.set(rows[1].id, {"city": ""})
            batch.delete((0, 2))
            batch.insert((0, 0), name="Zo\u00eb", city="Riga")
            self.assertEqual(self.content(), PEOPLE)
            self.assertEqual(len(batch), 4)
        self.assertEqual(self.content(), "name,city,born\nZo\u00eb,Riga,\nAda,Oslo,1816\nBob,,1906\nD\u00e9e,,1950\n")
        self.assertEqual([row["name"] for row in table], ["Zo\u00eb", "Ada", "Bob", "D\u00e9e"])
        result = batch.result
        self.assertEqual([outcome.code for outcome in result.outcomes], [0, 0, 0, 0])
        self.assertEqual(table.find(result.ids[0])["name"], "Ada")
        self.assertRegex(result.receipt, "^receipt:.")
        self.assertFalse(result.dry_run)
        self.assertTrue(result.changes)
        self.assertEqual(result.changes.to_version, table.version)

    def test_an_exception_commits_nothing(self):
        table = self.edited()
        with self.assertRaises(ZeroDivisionError):
            with table.edit() as batch:
                batch.delete(table[0])
                1 // 0
        self.assertEqual(self.content(), PEOPLE)
        with self.assertRaises(tabella.InvalidState):
            batch.result

    def test_a_dry_run_changes_nothing(self):
        table = self.edited()
        with table.edit(dry_run=True) as batch:
            batch.delete(table[0])
        self.assertEqual(self.content(), PEOPLE)
        self.assertTrue(batch.result.dry_run)
        self.assertEqual((batch.result.outcomes[0].code, batch.result.receipt), (0, None))
        with self.assertRaises(tabella.NotFound):
            with table.edit(dry_run=True) as batch:
                batch.delete((0, 9))

    def test_moves_and_appends(self):
        table = self.edited()
        with table.edit() as batch:
            batch.move(table[3], (0, 0))
            batch.delete(table[0].id)
            batch.append(name="Eve")
            batch.append({"name": "Fay", "city": "Ulm"})
        self.assertEqual([row["name"] for row in table], ["D\u00e9e", "Bob", "Cy", "Eve", "Fay"])

    def test_appends_to_several_sections(self):
        """The time grew with the square of the number of appends."""
        table = self.edited("name,city,born\nAda,Rome,1\nBob,Bonn,2\n").section_by("city")
        with table.edit() as batch:
            batch.delete((0, 0))
            for number in range(3000):
                batch.append(name=str(number), section=number % 2)
        rows = [[row["name"] for row in section] for section in table.sections]
        self.assertEqual(rows, [[str(n) for n in range(0, 3000, 2)], ["Ada"] + [str(n) for n in range(1, 3000, 2)]])

    def test_values_become_text(self):
        table = self.edited("a,b,c,d,e\n1,2,3,4,5\n", options={"types": "infer"})
        moment = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
        with table.edit() as batch:
            batch.set(table[0], a=-7)
        self.assertEqual(table[0]["a"], -7)
        plain = self.open("a,b,c,d,e\n1,2,3,4,5\n", editing=True)
        with plain.edit() as batch:
            batch.set(plain[0], a=1.5, b=True, c=moment, d=b"\xc3\xa9", e="\u20ac")
        self.assertEqual(list(plain[0]), ["1.5", "true", "2024-02-29T12:00:00Z", "\u00e9", "\u20ac"])

    def test_values_of_other_types(self):
        """Dates, decimal numbers and scalars of numpy were no values of cells."""

        class Scalar:
            """As those of numpy: not a subclass of Python's type."""

            shape, dtype = (), types.SimpleNamespace(kind="x")

            def __init__(self, value, kind="x"):
                self.value, self.dtype = value, types.SimpleNamespace(kind=kind)

            def item(self):
                return self.value

        class Loud(float):
            def __repr__(self):
                return f"Loud({float(self)})"

        class Index:
            def __index__(self):
                return 7

        class Real:
            def __float__(self):
                return 0.5

        values = [
            (date(2024, 2, 29), "2024-02-29"), (Decimal("1.20"), "1.20"), (Decimal("-7"), "-7"), (Scalar(5), "5"),
            (Scalar(2.5), "2.5"), (Scalar(True), "true"), (Scalar("x"), "x"), (Loud(1.5), "1.5"), (Index(), "7"),
            (Real(), "0.5"), (bytearray(b"ab"), "ab"), (memoryview(b"cd"), "cd"),
        ]  # fmt: skip
        for value, text in values:
            table = self.edited()
            with table.edit() as batch:
                batch.set(table[0], city=value)
            self.assertIn(f"Ada,{text},1815\n", self.content())
        wrong = [object(), [1], {}, Scalar(object()), Scalar(1, "M"), Scalar(1, "m"), 1j, datetime(2024, 1, 1)]
        table = self.edited()
        for value in wrong:
            with self.assertRaises(tabella.InvalidArgument, msg=repr(value)):
                table.edit().set(table[0], city=value)
        with self.assertRaisesRegex(tabella.InvalidArgument, "has no zone"):
            table.edit().set(table[0], city=Scalar(1, "M"))

    def test_values_of_typed_columns(self):
        """Numbers and dates of a foreign table, whose columns are not text."""
        kinds = {"real": 2.5, "integer": 5, "boolean": True, "date": date(2024, 2, 29)}
        texts = {}
        for kind, value in kinds.items():
            column = tabella.Column(0, "c", kind)
            made = [_values.value_of(each, column, _structs.Strings()) for each in (value, Decimal(5), None)]
            texts[kind] = [(each.type, each.integer, each.real) for each in made]
        seconds = int(datetime(2024, 2, 29, tzinfo=timezone.utc).timestamp())
        self.assertEqual(texts["real"], [(3, 0, 2.5), (3, 0, 5.0), (0, 0, 0.0)])
        self.assertEqual(texts["integer"], [(2, 5, 0.0), (2, 5, 0.0), (0, 0, 0.0)])
        self.assertEqual(texts["boolean"][0], (4, 1, 0.0))
        self.assertEqual(texts["date"][0], (5, seconds * 10**9, 0.0))
        # Dates beyond 64 bits were cut to other dates.
        for kind, value in (
            ("date", datetime(3000, 1, 1, tzinfo=timezone.utc)), ("date", date(1600, 1, 1)), ("real", 10**400),
        ):  # fmt: skip
            with self.assertRaises(tabella.InvalidArgument, msg=repr(value)):
                _values.value_of(value, tabella.Column(0, "c", kind), _structs.Strings())

    def test_a_row_of_inferred_types_can_be_written_back(self):
        """None of an empty cell was a Constraint: "born cannot be missing before other cells"."""
        table = self.edited("name,born,city\nAda,1815,Rome\nCy,,Rome\n", options={"types": "infer"})
        self.assertIsNone(table[1]["born"])
        with table.edit() as batch:
            batch.set(table[0], table[1])
            batch.set(table[1], dict(table[0]))
        self.assertEqual(self.content(), "name,born,city\nCy,,Rome\nAda,1815,Rome\n")

    def test_inferred_types_are_kept(self):
        """Any text was written into a column of numbers, which then was a column of text."""
        table = self.edited("name,n,day\nAda,1,2026-01-01\nBob,2,2026-02-01\n", options={"types": "infer"})
        for cells in ({"n": "zwei"}, {"n": 3.5}, {"n": True}, {"day": "tomorrow"}):
            (name,) = cells
            with self.assertRaisesRegex(tabella.Constraint, f"{name}: .* is not "):
                with table.edit() as batch:
                    batch.set(table[0], cells)
            with self.assertRaises(tabella.Constraint):
                with table.edit() as batch:
                    batch.append(cells)
        self.assertEqual(self.content(), "name,n,day\nAda,1,2026-01-01\nBob,2,2026-02-01\n")
        with table.edit() as batch:
            batch.set(table[0], n="7", day=date(2026, 3, 1), name=5)
            batch.set(table[1], n=None)
        self.assertEqual(self.content(), "name,n,day\n5,7,2026-03-01\nBob,,2026-02-01\n")

    def test_rows_without_ids_are_named_by_their_paths(self):
        """A row of `rows(ids=False)` was a Conflict, though nothing had changed."""
        table = self.edited()
        rows = list(table.rows(["name"], ids=False))
        with table.edit() as batch:
            batch.set(rows[1], city="Ulm")
            batch.delete(next(table.sections[0].rows(ids=False)))
        self.assertEqual(self.content(), "name,city,born\nBob,Ulm,1906\nCy,Rome,\nD\u00e9e,,1950\n")
        with self.assertRaisesRegex(tabella.Conflict, "read it again"):
            table.edit().set(rows[1], city="x")
        with self.assertRaises(tabella.Conflict):
            table.edit().set(next(self.edited().rows(ids=False)), city="x")
        processes = self.host.open("processes:", editing=True)
        with self.assertRaisesRegex(tabella.InvalidArgument, "by its id"):
            processes.edit().delete(next(processes.rows(ids=False)))

    def test_a_table_for_reading_refuses_at_once(self):
        """The refusal came at the commit, and named TABELLA_EMBED_EDITING."""
        reading = self.open()
        for table in (reading, reading.filter("city = Rome")):
            with self.assertRaisesRegex(tabella.ReadOnly, "people.csv.*open it with editing=True"):
                table.edit()
        edited = self.edited()
        for table in (edited.summarize(), self.host.join([edited, self.edited()]), self.host.log()):
            with self.assertRaisesRegex(tabella.ReadOnly, "edit the tables of the locations"):
                table.edit(dry_run=True)
        self.assertEqual(len(edited.filter("city = Rome").edit()), 0)

    def test_wrong_arguments(self):
        table = self.edited()
        with self.assertRaises(KeyError):
            with table.edit() as batch:
                batch.set(table[0], town="x")
        with self.assertRaises(tabella.InvalidArgument):
            with table.edit() as batch:
                batch.set(table[0], city=object())
        with self.assertRaises(tabella.InvalidArgument):
            with table.edit() as batch:
                batch.set(table[0], city=datetime(2024, 1, 1))
        with self.assertRaises(tabella.InvalidArgument):
            with table.edit() as batch:
                batch.delete(table[0], table[0])
        self.assertEqual(self.content(), PEOPLE)
        batch = table.edit()
        batch.set(table[0], city="x")
        batch.commit()
        for again in (batch.commit, lambda: batch.delete((0, 0))):
            with self.assertRaises(tabella.InvalidState):
                again()

    def test_an_edit_through_a_view(self):
        table = self.edited().filter("city = Rome").sort("name:desc")
        self.assertEqual([row["name"] for row in table], ["Cy", "Ada"])
        with table.edit() as batch:
            batch.set((0, 0), born=1999)
        self.assertIn("Cy,Rome,1999\n", self.content())
        grouped = self.host.open(self.folder / "people.csv", editing=True).section_by("city")
        with grouped.edit() as batch:
            batch.append(section=grouped.sections["Rome"], name="Gil")
        self.assertIn("Gil,Rome", self.content())

    def test_an_appended_row_keeps_its_section(self):
        """A batch that also deleted, inserted or moved a section appended to the section that got the old number."""
        text = "# A\na1\n# B\nb1\n# C\nc1\nc2\n"
        for edit, wanted in [
            (lambda batch: batch.delete((0, -1)), "# B\nb1\nNEW\n# C\nc1\nc2\n"),
            (lambda batch: batch.insert_section(0, "Z"), "# Z\n# A\na1\n# B\nb1\nNEW\n# C\nc1\nc2\n"),
            (lambda batch: batch.move((2, -1), 0), "# C\nc1\nc2\n# A\na1\n# B\nb1\nNEW\n"),
            (lambda batch: batch.move((1, -1), 2), "# A\na1\n# C\nc1\nc2\n# B\nb1\nNEW\n"),
        ]:
            table = self.open(text, "n.md", options={"sections": "headings"}, editing=True)
            with table.edit() as batch:
                edit(batch)
                batch.append(line="NEW", section=table.sections["B"])
            self.assertEqual((self.folder / "n.md").read_text().split(), wanted.split())
        table = self.open(text, "n.md", options={"sections": "headings"}, editing=True)
        with self.assertRaisesRegex(tabella.InvalidArgument, "the batch deletes it"), table.edit() as batch:
            batch.delete(table.sections["B"])
            batch.append(line="NEW", section=table.sections["B"])
        self.assertEqual((self.folder / "n.md").read_text(), text)

    def test_sections_of_other_tables_are_refused(self):
        # Only the number was used, so another section was deleted with its rows.
        text = "# A\na1\n# B\nb1\n"
        table = self.open(text, "n.md", options={"sections": "headings"}, editing=True)
        view = table.section_by("line:letter")
        for edit in (
            lambda batch: batch.delete(view.sections[1]),
            lambda batch: batch.set(view.sections[1], title="X"),
            lambda batch: batch.move(view.sections[1], 0),
            lambda batch: batch.append(line="NEW", section=view.sections[1]),
        ):
            with self.assertRaisesRegex(tabella.InvalidArgument, "another table or view"), table.edit() as batch:
                edit(batch)
        self.assertEqual((self.folder / "n.md").read_text(), text)

    def test_another_table_of_the_same_source_conflicts_until_it_is_refreshed(self):
        table = self.edited()
        view = table.filter("city = Rome")
        old = table[0]
        with view.edit() as batch:
            batch.delete(view[0])
        with self.assertRaises(tabella.Conflict):
            table[0]
        table.refresh()
        self.assertEqual([row["name"] for row in table], ["Bob", "Cy", "D\u00e9e"])
        self.assertEqual(old["name"], "Ada")
        with table.edit() as batch:
            batch.append(name="Gil", city="Rome")
        with self.assertRaises(tabella.Conflict):
            view[0]
        view.refresh()
        self.assertEqual([row["name"] for row in view], ["Cy", "Gil"])

    def test_a_table_that_was_never_read_is_refreshed(self):
        """A table that was behind before its first reading answered Conflict forever."""
        table = self.edited()
        view = table.filter("city = Rome")
        with view.edit() as batch:
            batch.delete(view[0])
        with self.assertRaises(tabella.Conflict):
            table.columns
        changes = table.refresh()
        # The old rows of this table are not known any more: an empty list was a lie.
        self.assertTrue(changes and changes.everything)
        self.assertEqual([row["name"] for row in table], ["Bob", "Cy", "D\u00e9e"])

    def test_a_table_that_is_behind_can_be_followed(self):
        table = self.edited()
        view = table.filter("city = Rome")
        with view.edit() as batch:
            batch.delete(view[0])
        with table.follow(timeout=0.5) as changes:
            self.assertEqual(list(changes), [])
        self.assertEqual(len(table), 3)

    def test_numbers_are_no_texts(self):
        """`filter(3)` filtered by three zero bytes."""
        table = self.edited()
        for call in (table.filter, table.sort, table.section_by):
            with self.assertRaises(TypeError):
                call(50_000)

    def test_an_argument_of_a_wrong_type_is_named(self):
        """Such arguments failed with errors from within: "argument after * must be an iterable, not int"."""
        table, host = self.edited(), self.host
        batch = table.edit()
        calls = [
            ("row must be a Row, an id, a pair .*, not 0", lambda: batch.set(0, city="x")),
            ("row must be", lambda: batch.delete(None)),
            ("row must be", lambda: batch.delete((1, 2, 3))),
            ("row must be", lambda: batch.move(3.5, (0, 0))),
            ("cells must be a dictionary", lambda: batch.set((0, 0), "x")),
            ("cells must be a dictionary", lambda: batch.append(["x"])),
            ("section must be a Section or its number, not 'North'", lambda: batch.append(section="North")),
            ("section must be", lambda: batch.append(section=None)),
            ("at must be a pair", lambda: batch.insert(3, city="x")),
            ("at must be a pair", lambda: batch.insert("ab", city="x")),
            ("at must be an integer", lambda: batch.insert_section("x")),
            ("title must be a str", lambda: batch.insert_section(0, 3)),
            ("to must be a pair .* or the number of a section", lambda: batch.move((0, 0), "end")),
            ("to must be", lambda: batch.move((0, 0), None)),
            ("version must be a str", lambda: table.edit(version=3)),
            ("a section must be named by its number or its title, not None", lambda: table.sections[None]),
            ("a section must be named", lambda: table.sections[1.5]),
            ("a row must be named by a number", lambda: table["name"]),
            ("a row must be named by a number", lambda: table.sections[0][None]),
            ("id must be a str", lambda: table.find(3)),
            ("id must be a str, not None", lambda: table.find(None)),
            ("path must be a pair", lambda: table.row(3)),
            ("columns must be a list of names, not 'name'", lambda: table.rows("name")),
            ("columns must be a list of names", lambda: table.arrow([0])),
            ("first must be an integer", lambda: table.arrow(first="0")),
            ("section must be an integer", lambda: table.arrow(section="Rome")),
            ("a condition must be a str", lambda: table.filter(None)),
            ("text must be a str", lambda: table.search(3)),
            ("columns must be a str", lambda: table.sort(None)),
            ("columns must be a str", lambda: table.section_by(["city"])),
            ("aggregate must be a str", lambda: table.sections_by(1)),
            ("by must be a str", lambda: table.summarize(3)),
            ("compute must be a str", lambda: table.summarize(compute=["rows"])),
            ("timeout must be a number", lambda: table.follow("1")),
            ("tables must be a list of tables", lambda: tabella.join(table)),
            ("tables must be a list of tables", lambda: host.join([table, "x"])),
            ("tables must be a list of tables", lambda: tabella.join(3)),
            ("location must be a str, bytes or a path object, not None", lambda: tabella.open(None)),
            ("location must be", lambda: host.open(3)),
            ("location must be", lambda: host.log(3)),
            ("what must be", lambda: host.undo(None)),
            ("provider must be a str", lambda: host.open("x", provider=3)),
            ("options must be a dictionary", lambda: host.open("x", options="types=infer")),
            ("the option types must be a str", lambda: host.open("x", options={"types": None})),
            ("provider_path must be a list of folders", lambda: tabella.Host(provider_path="/x")),
            ("a folder of provider_path must be", lambda: tabella.Host(provider_path=[3])),
            ("worker must be", lambda: tabella.Host(worker=3)),
            ("receipts must be", lambda: tabella.Host(receipts=3)),
        ]
        for message, call in calls:
            with self.assertRaisesRegex(TypeError, f"^{message}"):
                call()
        invalid = [
            ("first must be at least 0", lambda: table.arrow(first=-1)),
            ("section must be at least 0", lambda: table.arrow(section=-1)),
            ("text must be one of", lambda: table.arrow(text=None)),
            ("isolation must be one of", lambda: tabella.Host(isolation=3)),
            ("location is empty", lambda: host.open("")),
            ("location is empty", lambda: host.log("")),
            ("what is empty", lambda: host.undo("")),
            ("first must be a number of 64 bits", lambda: table.arrow(first=2**63)),
        ]
        for message, call in invalid:
            with self.assertRaisesRegex(tabella.InvalidArgument, f"^{message}"):
                call()
        self.assertEqual(len(batch), 0, "a refused edit stayed in the batch")

    def test_conflicts(self):
        table = self.edited()
        version = table.version
        (self.folder / "people.csv").write_text(PEOPLE + "Eve,Ulm,1999\n")
        with self.assertRaises(tabella.Conflict) as caught:
            with table.edit() as batch:
                batch.delete((0, 0))
        self.assertEqual((caught.exception.code, caught.exception.name), (5, "conflict"))
        self.assertTrue(self.content().endswith("Eve,Ulm,1999\n") and self.content().startswith(PEOPLE))
        fresh = self.host.open(self.folder / "people.csv", editing=True)
        with self.assertRaises(tabella.Conflict):
            with fresh.edit(version=version) as batch:
                batch.delete((0, 0))
        with fresh.edit(version=fresh.version) as batch:
            batch.delete((0, 0))

    def test_refusals(self):
        table = self.edited()
        with self.assertRaisesRegex(tabella.Constraint, "city cannot be missing before other cells"):
            with table.edit() as batch:
                batch.set(table[1], city=None)
        with self.assertRaises(tabella.Refused):
            self.open().edit()
        sorted_rows = self.edited().sort("name")
        with self.assertRaises(tabella.Error):
            with sorted_rows.edit() as batch:
                batch.move((0, 0), (0, 2))
        processes = self.host.open("processes:", editing=True)
        with self.assertRaisesRegex(tabella.InvalidArgument, "by its id"):
            with processes.edit() as batch:
                batch.delete((0, 0))
        with self.assertRaises(tabella.Refused):
            with processes.edit(dry_run=True) as batch:
                batch.set(processes[0], pid=1)
        self.assertEqual(self.content(), PEOPLE)

    def test_a_signal_is_final(self):
        child = subprocess.Popen(["sleep", "60"])
        self.addCleanup(child.kill)
        table = self.host.open("processes:", editing=True)
        (row,) = table.filter(f"pid = {child.pid}")
        with table.edit() as batch:
            batch.delete(row)
        self.assertEqual(child.wait(10), -signal.SIGTERM)
        self.assertTrue(batch.result.outcomes[0].final)


class Receipts(Case):
    def test_undo_and_log(self):
        table = self.open(editing=True)
        path = self.folder / "people.csv"
        with table.edit() as first:
            first.set(table[0], city="Oslo")
        with table.edit() as second:
            second.delete(table[1])
        log = self.host.log(path)
        self.assertEqual([row["edits"][:7] for row in log], ["deleted", "changed"])
        table.undo(dry_run=True)
        self.assertEqual(len(table), 3)
        table.undo()
        self.assertEqual([row["name"] for row in table], ["Ada", "Bob", "Cy", "D\u00e9e"])
        self.assertIn("Oslo", path.read_text())
        result = self.host.undo(first.result)
        self.assertIsNotNone(result.receipt)
        self.assertEqual(path.read_text(), PEOPLE)
        with self.assertRaises(tabella.NotFound):
            self.host.undo(self.file(name="other.csv"))
        with self.assertRaises(tabella.Error):
            self.host.undo("receipt:nonsense")

    def test_undo_takes_the_ids_of_the_log(self):
        """The log has ids without "receipt:", and `undo` looked for files with such names."""
        table = self.open(editing=True)
        with table.edit() as batch:
            batch.set(table[0], city="Oslo")
        (row,) = self.host.log()
        self.assertEqual(f"receipt:{row[0]}", batch.result.receipt)
        self.host.undo(row[0])
        self.assertEqual((self.folder / "people.csv").read_text(), PEOPLE)
        self.host.undo(f"receipt:{self.host.log()[0][0]}")
        self.assertIn("Oslo", (self.folder / "people.csv").read_text())

    def test_undo_of_changed_rows_is_a_conflict(self):
        table = self.open(editing=True)
        with table.edit() as batch:
            batch.set(table[0], city="Oslo")
        self.file(PEOPLE.replace("Ada", "Eve"))
        with self.assertRaises(tabella.Conflict):
            self.host.undo(batch.result.receipt)


class Model(Case):
    """Random batches, compared with the same edits of a list of lists."""

    SEQUENCES, BATCHES = 25, 12

    def draw(self, chance, table, rows):
        """Puts random edits into a batch, and returns the rows that must result."""
        existing = list(range(len(rows)))
        chance.shuffle(existing)
        deleted = [existing.pop() for _ in range(min(len(existing), chance.choice([0, 0, 1, 3])))]
        moved = [existing.pop() for _ in range(min(len(existing), chance.choice([0, 1, 2])))]
        changed = chance.sample(existing + moved, min(len(existing + moved), chance.choice([0, 1, 4])))
        fresh = [self.cells(chance) for _ in range(chance.choice([0, 1, 2]))]
        count = len(rows) - len(deleted) + len(fresh)
        targets = chance.sample(range(count), len(moved) + len(fresh))
        batch = table.edit()
        acts = []
        new = [list(row) for row in rows]

        def name(at):
            return chance.choice([lambda: (0, at), lambda: table[at], lambda: table[at].id])()

        for at in deleted:
            acts.append(lambda at=at: batch.delete(name(at)))
        for at in changed:
            column, value = chance.choice([0, 1, 2]), self.value(chance)
            new[at][column] = value
            acts.append(lambda at=at, column=column, value=value: batch.set(name(at), {"abc"[column]: value}))
        placed = {}
        for at, target in zip(moved, targets):
            placed[target] = new[at]
            acts.append(lambda at=at, target=target: batch.move(name(at), (0, target)))
        for cells, target in zip(fresh, targets[len(moved) :]):
            placed[target] = cells
            acts.append(lambda cells=cells, target=target: batch.insert((0, target), dict(zip("abc", cells))))
        chance.shuffle(acts)
        for act in acts:
            act()
        others = iter([new[at] for at in range(len(rows)) if at not in deleted and at not in moved])
        return batch, [placed[at] if at in placed else next(others) for at in range(count)]

    def value(self, chance):
        return chance.choice(["x", "1", "a,b", 'q"q', "two\nlines", "\u00e9", " "]) + str(chance.randint(0, 10**6))

    def cells(self, chance):
        return [self.value(chance) for _ in range(3)]

    def test_batches_in_any_order(self):
        for seed in range(self.SEQUENCES):
            chance = random.Random(seed)
            rows = [self.cells(chance) for _ in range(chance.randint(0, 12))]
            path = self.folder / f"model-{seed}.csv"
            with open(path, "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([["a", "b", "c"], *rows])
            table = self.host.open(path, editing=True, options={"delimiter": ",", "quote": '"'})
            for turn in range(self.BATCHES):
                place = f"seed {seed}, batch {turn}"
                batch, wanted = self.draw(chance, table, rows)
                if len(batch) == 0:
                    continue
                result = batch.commit()
                self.assertEqual([list(row) for row in table], wanted, place)
                with open(path, newline="") as file:
                    self.assertEqual(list(csv.reader(file))[1:], wanted, place)
                for outcome in result.outcomes:
                    self.assertEqual(outcome.code, 0, place)
                if chance.random() < 0.3 and result.receipt:
                    table.undo()
                    self.assertEqual([list(row) for row in table], rows, place)
                else:
                    rows = wanted
            table.close()


if __name__ == "__main__":
    unittest.main()
