"""The sections of the guide that use other packages."""

import os
import subprocess
import sys
import unittest

import support


class GuideToOthers(support.Case):
    def test_all_blocks(self):
        (self.folder / "empty").mkdir()
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "TZ": "UTC",
                       "PYTHONPATH": f"{support.PACKAGES}:{support.ROOT / 'Tests/Python'}"}
        done = subprocess.run(
            [sys.executable, "-B", "-c", "import test_guide; test_guide.main(True)"], capture_output=True, text=True,
            cwd=self.folder / "empty", env=environment, timeout=120)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(done.stdout), 3)


if __name__ == "__main__":
    unittest.main()
