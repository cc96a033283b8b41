"""Errors: their classes and details; foreign providers that refuse, crash and misbehave; a missing library."""

import threading
import time
import unittest

import support
import tabella
from support import Case


class Codes(Case):
    def test_a_class_per_code(self):
        cases = {1: "Unsupported", 2: "InvalidArgument", 3: "InvalidState", 4: "NotFound", 5: "Conflict",
                 6: "ReadOnly", 7: "Constraint", 8: "StorageError", 9: "Cancelled", 10: "Timeout", 11: "Denied",
                 12: "ProviderFailed", 100: "ProviderMisbehaved", 101: "NoProvider", 77: "ProviderFailed"}  # fmt: skip
        for code, name in cases.items():
            kind = tabella.errors.error_class(code)
            self.assertEqual(kind.__name__, name)
            error = kind("what failed", section=1, row=2, column=3)
            self.assertEqual((str(error), error.message, error.section, error.row, error.column),
                             ("what failed", "what failed", 1, 2, 3))
            self.assertIsInstance(error, tabella.Error)

    def test_openings_that_fail(self):
        with self.assertRaises(tabella.NotFound) as caught:
            self.host.open(self.folder / "nothing.csv")
        self.assertIn("nothing.csv", str(caught.exception))
        self.assertIsInstance(caught.exception, LookupError)
        with self.assertRaises(tabella.NoProvider):
            self.host.open("nowhere:x")
        with self.assertRaises(tabella.Error):
            self.host.open(self.file(), provider="nobody")
        with self.assertRaises(tabella.InvalidArgument):
            tabella.Host(isolation="perhaps")

    def test_a_closed_host_and_its_tables(self):
        table = self.open()
        self.host.close()
        self.assertEqual(len(table), 4)
        with self.assertRaises(tabella.InvalidState):
            self.host.open(self.file())

    def test_a_cancelled_call(self):
        rows = "".join(f"{n % 1000},{n}\n" for n in range(400_000))
        table = self.open("a,b\n" + rows).sort("a,b:desc")
        ended = []

        def read():
            try:
                table[0]
            except tabella.Cancelled as error:
                ended.append(error)

        # A cancel that comes too early or too late does nothing, so it is repeated.
        for _ in range(50):
            thread = threading.Thread(target=read)
            thread.start()
            while thread.is_alive():
                table.cancel()
                time.sleep(0.001)
            thread.join()
            if ended:
                break
            table = self.open("a,b\n" + rows).sort("a,b:desc")
        self.assertTrue(ended, "no call was cancelled")


class Foreign(Case):
    def host_with(self, *folders):
        host = tabella.Host(provider_path=folders, receipts=self.folder / "receipts", weak_isolation=True)
        self.addCleanup(host.close)
        return host

    def test_a_foreign_table(self):
        host = self.host_with(support.planets(self.folder))
        table = host.open("planets:")
        self.assertEqual([section.title for section in table.sections], ["Inner", "Outer"])
        mercury = table[0]
        self.assertEqual((mercury["name"], mercury["moons"], mercury["rings"]), ("Mercury", 0, False))
        with self.assertRaises(tabella.Error) as caught:
            with host.open("planets:", editing=True).edit() as batch:
                batch.delete((0, 0))
        self.assertIn(type(caught.exception), (tabella.Unsupported, tabella.ReadOnly))

    def test_a_crash_while_reading(self):
        host = self.host_with(support.animal(self.folder, "fall", "aborts", "rows"))
        table = host.open("fall:x")
        self.assertEqual([column.name for column in table.columns], ["word", "number", "weight"])
        with self.assertRaises(tabella.ProviderError) as caught:
            list(table)
        self.assertIn("fall", str(caught.exception))
        with self.assertRaises(tabella.ProviderError):
            len(table)
        self.assertEqual(len(self.open()), 4, "the host serves other tables")

    def test_a_crash_while_editing(self):
        host = self.host_with(support.animal(self.folder, "trip", "writes_to_null", "commit"))
        table = host.open("trip:x", editing=True)
        with self.assertRaises(tabella.ProviderError):
            with table.edit() as batch:
                batch.set(table[0], number=5)

    def test_an_edit_of_a_foreign_table(self):
        host = self.host_with(support.animal(self.folder, "calm", "aborts", "destructor"))
        table = host.open("calm:x", editing=True)
        self.assertEqual(len(table), 300)
        with table.edit() as batch:
            batch.set(table[0], {"number": 5, "weight": 2.5})
            batch.delete(table[1].id)
        self.assertEqual(list(table[0])[1:], [5, 2.5])
        self.assertEqual(len(table), 299)

    def test_a_lie_is_misbehaviour(self):
        host = self.host_with(support.house(self.folder, "liar", "Tests/Python/liar.c", '-DZOO_ID="liar"'))
        with self.assertRaises(tabella.ProviderMisbehaved):
            list(host.open("liar:x"))

    def test_a_partly_done_batch(self):
        # The first outcome is done, the second is refused.
        host = self.host_with(support.house(self.folder, "half", "Tests/Python/half.c", '-DZOO_ID="half"'))
        table = host.open("half:x", editing=True)
        with self.assertRaises(tabella.Constraint) as caught:
            with table.edit() as batch:
                batch.set(table[0], number=1)
                batch.set(table[1], number=2)
        result = caught.exception.result
        self.assertEqual([outcome.code for outcome in result.outcomes], [0, 7])
        self.assertEqual(str(caught.exception), "only one at a time")
        self.assertIs(batch.result, result)


if __name__ == "__main__":
    unittest.main()
