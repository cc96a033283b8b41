"""Opens and closes in great numbers, in threads and in children; memory; fork."""

import ctypes
import gc
import os
import threading
import unittest

import support
import tabella
from support import Case
from tabella import _capsules

# Reads, edits, follows and exports a file, and closes everything.
CYCLE = """
import sys, tabella
from tabella import _capsules
def cycle(host, path, number):
    with host.open(path, editing=True) as table:
        view = table.filter("city = Rome").section_by("born")
        assert [row["name"] for row in table] == ["Ada", "Bob", "Cy", "D\u00e9e"]
        assert len(view) == 2 and view.sections[-1].title != "no"
        if number % 4 == 0:
            capsule = view.__arrow_c_stream__()
            del capsule
        if number % 8 == 1:
            with table.edit(dry_run=True) as batch:
                batch.delete(table[0])
        if number % 16 == 2:
            with table.follow(timeout=0) as follower:
                assert follower.wait(0) is None
        view.close()
    _capsules.sweep()
"""
exec(CYCLE)


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def live_bytes():
    """The bytes that malloc has given out, mapped blocks included."""
    gc.collect()
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    info = mallinfo()
    return info.uordblks + info.hblkhd


# Changes the current directory to one with files of the same names.
ELSEWHERE = """
import os, pathlib, sys, tabella
isolation, folder = sys.argv[1], pathlib.Path(sys.argv[2])
for name, text in ("a", "id,c\\n1,A\\n"), ("b", "id,c\\n1,WRONG\\n2,OTHER\\n"):
    (folder / name / "d").mkdir(parents=True)
    for file in "x.csv", "x.txt", "d/f":
        (folder / name / file).write_text(text)
(folder / "b/d/g").touch()
host = tabella.Host(receipts=folder / "receipts", isolation=isolation, weak_isolation=True)
os.chdir(folder / "a")
table, text, tree = (host.open(name, editing=True) for name in ("x.csv", "x.txt", "d"))
read = host.open("x.csv")
assert [len(each) for each in (table, text, tree, read)] == [1, 2, 1, 1]
os.chdir("../b")
for each in table, text, tree, read:
    with each.follow(timeout=0) as follower:
        assert follower.wait(0) is None, each
with open(folder / "a/x.csv", "a") as file:
    file.write("3,C\\n")
os.replace(folder / "a/x.txt", folder / "a/old")
(folder / "a/x.txt").write_text("new\\n")
(folder / "a/d/h").touch()
for each in table, text, tree, read:
    each.refresh()
assert [row["c"] for row in table] == [row["c"] for row in read] == ["A", "C"]
assert [row["line"] for row in text] == ["new"]
assert [row["name"] for row in tree] == ["f", "h"]
with table.edit() as batch:
    batch.set(table[0], c="Q")
with tree.edit() as batch:
    batch.set(tree[0], name="k")
assert (folder / "a/x.csv").read_text() == "id,c\\n1,Q\\n3,C\\n"
assert sorted(os.listdir(folder / "a/d")) == ["h", "k"]
table._receipt = tree._receipt = None  # As if the edits were made by another program.
table.undo()
tree.undo()
assert (folder / "a/x.csv").read_text() == "id,c\\n1,A\\n3,C\\n"
assert sorted(os.listdir(folder / "a/d")) == ["f", "h"]
assert (folder / "b/x.csv").read_text() == "id,c\\n1,WRONG\\n2,OTHER\\n"
assert sorted(os.listdir(folder / "b/d")) == ["f", "g"]
# The name of a working directory that stays the same does not matter.
os.chdir(folder / "a")
again = host.open("x.csv", editing=True)
os.rename(folder / "a", folder / "z")
with again.edit() as batch:
    batch.set(again[0], c="Z")
assert (folder / "z/x.csv").read_text() == "id,c\\n1,Z\\n3,C\\n"
"""


class Lifetimes(Case):
    def test_a_relative_path_keeps_its_meaning_in_another_directory(self):
        """A table followed chdir(): it showed, edited and undid a file of the same name elsewhere."""
        for isolation in "never", "always":
            with self.subTest(isolation):
                support.python(ELSEWHERE, isolation, self.folder / isolation)

    def test_a_thousand_opens_and_closes_leave_no_memory(self):
        path = self.file()
        for number in range(200):
            cycle(self.host, path, number)  # noqa: F821
        before, files = live_bytes(), len(os.listdir("/proc/self/fd"))
        for number in range(1000):
            cycle(self.host, path, number)  # noqa: F821
        growth = live_bytes() - before
        # A leak of one allocation per cycle is at least 16000 bytes; Python's own caches vary by less.
        self.assertLess(growth, 16_000)
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)

    def test_hosts_leave_no_memory(self):
        def use():
            tabella.Host(receipts=self.folder).close()

        for _ in range(100):
            use()
        before = live_bytes()
        for _ in range(300):
            use()
        self.assertLess(live_bytes() - before, 16_000)

    def test_a_host_keeps_only_its_providers(self):
        path = self.file()

        def use(count):
            with tabella.Host(receipts=self.folder) as host:
                for number in range(count):
                    cycle(host, path, number)  # noqa: F821

        def growth(count):
            before = live_bytes()
            for _ in range(100):
                use(count)
            return live_bytes() - before

        growth(1)
        # A provider lives until the process ends, once per host that loaded it. Tables add nothing.
        self.assertLess(growth(1), 100 * 8192)
        self.assertLess(growth(5) - growth(1), 16_000)

    def test_collected_objects_are_freed(self):
        path = self.file()

        def use():
            table = self.host.open(path)
            follower = table.follow()
            rows = [*table.sort("name"), follower]
            stream = table.arrow().__arrow_c_stream__()
            del rows, stream

        for _ in range(100):
            use()
        _capsules.sweep()
        before, files = live_bytes(), len(os.listdir("/proc/self/fd"))
        for _ in range(300):
            use()
        _capsules.sweep()
        self.assertLess(live_bytes() - before, 16_000)
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)

    def test_eight_threads(self):
        path, failures = self.file(), []

        def work(host):
            try:
                for number in range(125):
                    cycle(host, path, number)  # noqa: F821
            except BaseException as error:
                failures.append(error)

        own = [tabella.Host(receipts=self.folder) for _ in range(4)]
        threads = [threading.Thread(target=work, args=(host,)) for host in [*own, *[self.host] * 4]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_one_table_in_eight_threads(self):
        table = self.open("n\n" + "".join(f"{n}\n" for n in range(5000)))
        failures = []

        def work(start):
            try:
                for at in range(start, 5000, 61):
                    assert table[at]["n"] == str(at)
                assert sum(int(row["n"]) for row in table) == 12_497_500
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_table_that_another_thread_closes(self):
        path = self.file("n\n" + "".join(f"{n}\n" for n in range(3000)))
        for _ in range(60):
            table, ended = self.host.open(path), []

            def read(table=table, ended=ended):
                try:
                    while True:
                        list(table)
                except tabella.InvalidState:
                    ended.append(True)

            threads = [threading.Thread(target=read) for _ in range(2)]
            for thread in threads:
                thread.start()
            table.close()
            for thread in threads:
                thread.join()
            self.assertEqual(ended, [True, True])


class Forks(Case):
    def test_children_forked_before_the_first_use(self):
        code = CYCLE + """
import os
path = sys.argv[1]
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        host = tabella.Host(receipts=sys.argv[2])
        for number in range(125):
            cycle(host, path, number)
        os._exit(0)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""
        self.assertEqual(support.python(code, self.file(), self.folder), f"{[0] * 8}\n")

    def test_a_child_of_a_process_that_used_the_library(self):
        code = """
import gc, os, sys, tabella
from tabella import _library
table = tabella.open(sys.argv[1])
rows = [*table, table[0]]
section, follower, view = table.sections[0], table.follow(), table.sort("name")
stream = table.__arrow_c_stream__()
child = os.fork()
if child == 0:
    calls = [lambda: tabella.open(sys.argv[1]), lambda: table[0], lambda: list(section), lambda: len(table),
             lambda: next(follower), lambda: follower.wait(0), lambda: table.filter("name = x"),
             lambda: table.__arrow_c_stream__(), lambda: table.version, lambda: tabella.Host(),
             lambda: table.edit().commit(), lambda: tabella.log(), lambda: view.sections[0].title,
             lambda: tabella.undo("x"), lambda: table.provider, lambda: table.refresh()]
    for call in calls:
        try: call()
        except tabella.InvalidState as error: assert "fork" in str(error)
        else: os._exit(2)
    assert rows[0]["name"] == "Ada"
    table.close(); follower.close(); view.close()
    del table, rows, section, follower, view, stream
    gc.collect()
    sys.exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(status, len(table), follower.wait(0))
"""
        self.assertEqual(support.python(code, self.file()), "0 4 None\n")

    def test_multiprocessing_with_fork(self):
        code = """
import multiprocessing, sys, tabella
def names(path):
    with tabella.open(path) as table:
        return [row["name"] for row in table]
with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
    print(pool.map(names, [sys.argv[1]] * 4) == [["Ada", "Bob", "Cy", "D\u00e9e"]] * 4)
"""
        self.assertEqual(support.python(code, self.file(), "fork"), "True\n")

    def test_the_end_of_the_interpreter(self):
        code = """
import sys, threading, tabella
table = tabella.open(sys.argv[1])
follower = table.follow()
rows = iter(table)
print(next(rows)["name"])
threading.Thread(target=lambda: list(follower), daemon=True).start()
stream = table.__arrow_c_stream__()
"""
        self.assertEqual(support.python(code, self.file()), "Ada\n")


if __name__ == "__main__":
    unittest.main()
