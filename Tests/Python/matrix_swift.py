"""A program in Swift: errors of its own language, edits, changes, memory, threads and children."""

import os
import subprocess
import unittest

import programs
import support
from support import Case


class Swift(Case):
    def words(self, *words, path=()):
        environment = {**os.environ, "TABELLA_PROVIDER_PATH": ":".join(map(str, path)), "SWIFT_BACKTRACE": "enable=no"}
        return {"args": [programs.SWIFT, *map(str, words)], "env": environment, "text": True}

    def run_program(self, *words, path=()):
        """The output, and the one line of the error; None if there is none."""
        done = subprocess.run(**self.words(*words, path=path), capture_output=True, input="\n", timeout=120)
        self.assertIn((done.returncode, bool(done.stderr)), [(0, False), (1, True)], done.stderr)
        lines = done.stderr.splitlines()
        self.assertLessEqual(len(lines), 1, done.stderr)
        return done.stdout, lines[0] if lines else None

    def start(self, *words):
        """Starts the program, and waits until it is ready."""
        program = subprocess.Popen(
            **self.words(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def numbers(self):
        return self.file("a,b\n1,x\n2,y\n3,z\n", "numbers.csv")

    def test_an_edit_arrives_with_its_receipt(self):
        path, state = self.numbers(), self.folder / "receipts"
        output, error = self.run_program("edit", path, state)
        self.assertEqual((output, error), ("ready\ndone 1 changed 1 row (b): 2\n", None))
        self.assertEqual(path.read_text(), "a,b\n1,x\n2,changed\n3,z\n")
        self.host.undo(path)
        self.assertEqual(path.read_text(), "a,b\n1,x\n2,y\n3,z\n")

    def test_a_conflict(self):
        path = self.numbers()
        program = self.start("edit", path, self.folder / "receipts")
        path.write_text("a,b\n0,w\n2,other\n")
        output, error = program.communicate("\n", timeout=60)
        self.assertEqual((program.returncode, output), (1, ""))
        self.assertRegex(error, r"\Aconflict: .*numbers\.csv.*\n\Z")
        self.assertEqual(path.read_text(), "a,b\n0,w\n2,other\n")

    def test_a_refusal(self):
        path = self.numbers()
        _, error = self.run_program("edit", "-r", "1", path, self.folder / "receipts")
        self.assertRegex(error, r"\Aread-only: ")
        self.assertEqual(path.read_text(), "a,b\n1,x\n2,y\n3,z\n")

    def test_a_crash_while_reading(self):
        output, error = self.run_program("rows", "fall:x", path=[support.animal(self.folder, "fall", "aborts", "rows")])
        self.assertRegex(error, r"\Amisbehaved: .*fall.*(SIGABRT|abort)")

    def test_text_that_is_not_utf_8(self):
        path = self.file(b"a,b\n\xff,1\n", "latin.csv")
        _, error = self.run_program("rows", path)
        self.assertRegex(error, r"\Aconstraint: a: .*not text in UTF-8; read it as \[UInt8\] \(row 0\)")

    def test_changes_arrive(self):
        path = self.numbers()
        program = self.start("follow", path, 2)
        # A file that is written in place is empty for a moment, and then it has no columns.
        self.file("a,b\n1,x\n3,z\n4,w\n", "new.csv").replace(path)
        output, error = program.communicate(timeout=60)
        self.assertEqual((program.returncode, error), (0, ""))
        *changes, rows = output.splitlines()
        self.assertEqual(rows, "rows 3")
        self.assertEqual(sorted(change.split("(")[0] for change in changes), ["delete", "insert"])

    def test_openings_leave_nothing(self):
        self.assertEqual(self.run_program("cycles", self.file()), ("", None))

    def test_an_actor_and_its_tasks_leave_nothing(self):
        self.assertEqual(self.run_program("async", self.file()), ("", None))

    def test_eight_threads(self):
        self.assertEqual(self.run_program("threads", self.file()), ("", None))

    def test_children_forked_before_the_first_use(self):
        self.assertEqual(self.run_program("forks", self.file()), ("", None))


if __name__ == "__main__":
    unittest.main()
