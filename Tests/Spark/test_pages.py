"""The blocks of docs/spark.md and the comments with their results. They run in one program, in an empty folder."""

import os
import shutil
import sys
import unittest

import cluster

sys.path.append(str(cluster.ROOT / "Tests/Python"))
import test_guide as guide_of_python  # noqa: E402

PAGE = cluster.ROOT / "docs/spark.md"


class Pages(cluster.Case):
    def test_all_blocks(self):
        guide_of_python.PAGES[PAGE] = "# "
        shutil.copy(cluster.ROOT / "Examples/cookbook/sales.csv", cluster.home())
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(cluster.home())
        blocks = [block for found in guide_of_python.sections(PAGE).values() for block in found]
        self.assertGreater(len(blocks), 5)
        names = {"__name__": "guide"}
        for start, code in blocks:
            guide_of_python.run(PAGE, start, code, names)


if __name__ == "__main__":
    unittest.main()
