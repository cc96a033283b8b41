"""The package in the source tree: its library, and the receipts that it shares with the command."""

import subprocess
import unittest

import support
from support import PEOPLE, Case


class Command(Case):
    def test_edits_of_the_command(self):
        path = self.file()
        environment = {"XDG_STATE_HOME": str(self.folder / "state"), "PATH": "/usr/bin:/bin"}
        command = support.ROOT / ".build/release/tabella"
        subprocess.run([command, "set", path, "0", "city=Oslo"], check=True, capture_output=True, env=environment)
        printed = support.python(
            "import sys, tabella; tabella.undo(sys.argv[1]); print(len(tabella.log(sys.argv[1])))", path,
            XDG_STATE_HOME=environment["XDG_STATE_HOME"])  # fmt: skip
        self.assertEqual((path.read_text(), printed), (PEOPLE, "2\n"))

    def test_a_missing_library(self):
        code = (
            "import tabella\n"
            "try: tabella.open('x.csv')\n"
            "except tabella.LibraryMissing as error: print(isinstance(error, ImportError), error)\n"
        )
        printed = support.python(code, TABELLA_LIBRARY="/nowhere/libtabella.so.0")
        self.assertTrue(printed.startswith("True /nowhere/libtabella.so.0 cannot be loaded"), printed)
        self.assertIn("TABELLA_LIBRARY", printed)


if __name__ == "__main__":
    unittest.main()
