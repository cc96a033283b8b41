"""Consumers of Arrow release everything: many readings in one process, in eight threads, and in forked children."""

import gc
import os
import threading

import support
from matrix_consumers import CONSUMERS
from support import Case
from tabella import _capsules
from test_lifetime import live_bytes

READ = """
import sys, tabella
from matrix_consumers import CONSUMERS
def read(host, path, consume, number):
    with host.open(path) as table:
        stream = table.section_by("city").arrow(with_section=True) if number % 2 else table.arrow(with_section=True)
        rows = consume(stream)
        assert sorted(values[0] for _, _, values in rows) == ["Ada", "Bob", "Cy", "D\u00e9e"], rows
"""
exec(READ)


class Consumers(Case):
    def test_a_thousand_readings_leave_no_memory(self):
        path = self.file()
        for name, consume in CONSUMERS.items():
            with self.subTest(consumer=name):

                def use(count, consume=consume):
                    for number in range(count):
                        read(self.host, path, consume, number)  # noqa: F821
                    gc.collect()
                    self.assertEqual(_capsules.sweep(), 0)

                use(200)
                before, files = live_bytes(), len(os.listdir("/proc/self/fd"))
                use(1000)
                # A leak of one allocation of the library per reading is at least 16000 bytes.
                self.assertLess(live_bytes() - before, 16_000)
                self.assertEqual(len(os.listdir("/proc/self/fd")), files)

    def test_eight_threads(self):
        path = self.file()
        for name, consume in CONSUMERS.items():
            with self.subTest(consumer=name):
                failures = []

                def work(consume=consume, failures=failures):
                    try:
                        for number in range(125):
                            read(self.host, path, consume, number)  # noqa: F821
                    except BaseException as error:
                        failures.append(error)

                threads = [threading.Thread(target=work) for _ in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual(failures, [])

    def test_children_forked_before_the_first_use(self):
        # The consumers are imported before the fork, and used after it.
        code = READ + """
import os
path, receipts, name = sys.argv[1:]
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        host = tabella.Host(receipts=receipts)
        for number in range(25):
            read(host, path, CONSUMERS[name], number)
        os._exit(0)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""
        for name in CONSUMERS:
            with self.subTest(consumer=name):
                packages = f"{support.PACKAGES}:{support.ROOT / 'Tests/Python'}"
                output = support.python(code, self.file(), self.folder, name, PYTHONPATH=packages)
                self.assertEqual(output, f"{[0] * 8}\n")
