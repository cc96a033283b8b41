"""The statements of docs/sqlite.md and their results."""

import os
import re
import shutil
import unittest

import support

PAGE = support.ROOT / "docs/sqlite.md"
NOTES = "# Monday\nwrite\n# Tuesday\ncall Ada\n"


def shown(rows):
    cell = lambda value: "" if value is None else str(value)  # noqa: E731
    return " / ".join("|".join(map(cell, row)) for row in rows)


class Guide(support.Case):
    def test_statements(self):
        blocks = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
        self.assertGreater(len(blocks), 4)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        results = 0
        for number, block in enumerate(blocks):
            folder = self.folder / str(number)
            folder.mkdir()
            shutil.copy(support.ROOT / "Examples/cookbook/sales.csv", folder)
            (folder / "notes.md").write_text(NOTES)
            os.chdir(folder)
            db = self.connect()
            rows, statement = [], ""
            for line in block.splitlines():
                if line.startswith("-- →"):
                    self.assertEqual(shown(rows), line.removeprefix("-- →").strip(), block)
                    results += 1
                    continue
                statement += line + "\n"
                if line.endswith(";"):
                    rows, statement = db.execute(statement).fetchall(), ""
            self.assertEqual(statement, "")
        self.assertGreater(results, 6)


if __name__ == "__main__":
    unittest.main()
