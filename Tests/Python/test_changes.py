"""Following a table: changes of files, of edits, by other threads; the end of an iteration."""

import signal
import threading
import time
import unittest

import support
import tabella
from support import PEOPLE, Case


def applied(rows, changes, table):
    """The rows after the changes, by the rules of UIKit. New and changed rows are read from the table."""
    gone = {change.source.row for change in changes if change.kind in ("delete", "move")}
    old = {change.target.row: rows[change.source.row] for change in changes if change.kind == "move"}
    placed = {change.target.row: list(table[change.target.row]) for change in changes if change.kind == "insert"}
    placed.update(old)
    kept = iter([row for at, row in enumerate(rows) if at not in gone])
    count = len(rows) - len(gone) + len(placed)
    new = [placed[at] if at in placed else next(kept) for at in range(count)]
    if any(change.kind in ("reload", "reconfigure") for change in changes):
        return [list(row) for row in table]
    return new


class Following(Case):
    def test_changes_of_a_file(self):
        table = self.open()
        rows = self.lists(table)
        path = self.folder / "people.csv"
        texts = [PEOPLE + "Eve,Ulm,1999\n", PEOPLE.replace("Bob,Bonn,1906\n", ""), "name,city,born\n", PEOPLE]
        with table.follow(timeout=30) as follower:
            for text in texts:
                path.write_text(text)
                wanted = [line.split(",") for line in text.splitlines()[1:]]
                wanted = [[*row[:2], row[2]] for row in wanted]
                while rows != wanted:
                    changes = next(follower)
                    self.assertFalse(changes.everything)
                    rows = applied(rows, changes, table)
                    self.assertEqual(rows, self.lists(table))

    def test_an_edit_of_another_host_arrives(self):
        table = self.open()
        other = tabella.Host(receipts=self.folder / "receipts").open(self.folder / "people.csv", editing=True)
        with table.follow(timeout=30) as follower:
            with other.edit() as batch:
                batch.delete(other[1])
            changes = next(follower)
        self.assertEqual(len(table), 3)
        self.assertEqual([(change.kind, change.source) for change in changes if change.kind == "delete"],
                         [("delete", tabella.Path(0, 1))])  # fmt: skip
        self.assertFalse(changes[0].is_section)

    def test_an_edit_of_the_same_table_arrives(self):
        table = self.open(editing=True)
        rows = self.lists(table)
        with table.follow() as follower:
            with table.edit() as batch:
                batch.insert((0, 0), name="Zoe")
            changes = follower.wait(30)
        self.assertEqual(applied(rows, changes, table), [["Zoe", "", ""], *rows])

    def test_the_time_without_changes_ends_the_iteration(self):
        table = self.open()
        with table.follow(timeout=0.05) as follower:
            self.assertEqual(list(follower), [])
            self.assertIsNone(follower.wait(0))

    def test_close_ends_an_iteration_in_another_thread(self):
        table = self.open()
        follower = table.follow()
        seen = []
        thread = threading.Thread(target=lambda: seen.extend(follower))
        thread.start()
        time.sleep(0.05)
        follower.close()
        thread.join(30)
        self.assertFalse(thread.is_alive())
        self.assertEqual(seen, [])
        self.assertIsNone(follower.wait(5))
        follower.close()

    def test_a_signal_handler_runs_during_a_wait(self):
        table = self.open()

        class Rang(Exception):
            pass

        def ring(*_):
            raise Rang

        before = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with table.follow() as follower:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with self.assertRaises(Rang):
                follower.wait(30)

    def test_changes_of_a_view(self):
        table = self.open().filter("city = Rome").section_by("born")
        with table.follow(timeout=30) as follower:
            self.file(PEOPLE + "Eve,Rome,1900\n")
            changes = next(follower)
        self.assertTrue(any(change.is_section for change in changes))
        self.assertIn("1900", [section.title for section in table.sections])

    def test_refresh(self):
        table = self.open()
        self.assertEqual(len(table), 4)
        self.assertFalse(table.refresh())
        self.file(PEOPLE + "Eve,Ulm,1999\n")
        self.assertTrue(table.refresh())
        self.assertEqual(table[-1]["name"], "Eve")

    def test_a_view_does_not_use_another_column(self):
        """After another program had added a column, a view filtered by the column with the old number, and a deletion through
        it removed wrong rows."""
        table = self.open("name,price\nAda,500\nBob,20\nCy,300\n", editing=True)
        made = {
            "filter": table.filter("price < 100"),
            "sort": table.sort("price"),
            "section_by": table.section_by("price"),
            "sections_by": table.section_by("name").sections_by("sum price"),
            "stacked": table.filter("price < 100").sort("name"),
            "summarize": table.summarize("name", "sum price"),
        }
        for view in made.values():
            self.lists(view)
        kept = table.filter("name != Bob")
        new = "name,stock,price\nAda,3,500\nBob,7,20\nCy,900,300\n"
        self.file(new)
        for name, view in made.items():
            with self.subTest(name), self.assertRaisesRegex(tabella.Conflict, "columns of the table changed"):
                view.refresh()
                if name == "summarize":
                    continue
                self.lists(view)
            if name != "summarize":
                with self.subTest(name), self.assertRaises(tabella.Conflict), view.edit() as batch:
                    batch.delete((0, 0))
        # A view whose columns stay goes on.
        kept.refresh()
        self.assertEqual([row["name"] for row in kept], ["Ada", "Cy"])
        self.assertEqual((self.folder / "people.csv").read_text(), new)

    def test_a_column_that_comes_back(self):
        table = self.open("name,price\nAda,500\nBob,20\n")
        view = table.filter("price < 100")
        self.assertEqual([row["name"] for row in view], ["Bob"])
        self.file("name,stock,price\nAda,3,500\n")
        view.refresh()
        with self.assertRaises(tabella.Conflict):
            self.lists(view)
        self.file("name,price\nCy,7\nDora,700\n")
        with self.assertRaises(tabella.Conflict):
            view.refresh()
        table.refresh()
        self.assertEqual([row["name"] for row in table.filter("price < 100")], ["Cy"])

    def test_a_joined_table_follows_a_file_that_is_rewritten(self):
        """The refresh asked for the version of the rewritten file, which is a conflict, and so never pulled it."""
        first, second = self.open("k,n\na,1\n", "a.csv"), self.open("k,n\nb,2\n", "b.csv")
        joined = tabella.join([first, second])
        self.addCleanup(joined.close)
        view = joined.sort("k:desc")
        self.assertEqual(self.lists(joined), [["a", "1"], ["b", "2"]])
        for text in ("k,n\na,7\n", "k,n\n", "k,n\nc,1\nd,2\n"):
            self.file(text, "a.csv")
            self.assertIsNotNone(joined.refresh())
            self.assertEqual(self.lists(joined), [line.split(",") for line in text.split()[1:]] + [["b", "2"]])
        view.refresh()
        self.assertEqual([row["k"] for row in view], ["d", "c", "b"])

    def test_a_table_without_changes(self):
        folder = support.planets(self.folder)
        host = tabella.Host(provider_path=[folder], receipts=self.folder)
        table = host.open("planets:")
        with self.assertRaises(tabella.Unsupported):
            table.follow()
        with self.assertRaises(tabella.Unsupported):
            table.refresh()


if __name__ == "__main__":
    unittest.main()
