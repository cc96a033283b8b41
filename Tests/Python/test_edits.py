"""Edits, dry runs, refusals, receipts, undo, and a random test against a list of lists."""

import csv
import random
import signal
import subprocess
import unittest
from datetime import datetime, timezone

import tabella
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
        reading = self.open()
        with self.assertRaises(tabella.ReadOnly) as caught:
            with reading.edit() as batch:
                batch.delete((0, 0))
        self.assertIsInstance(caught.exception, tabella.Refused)
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
