"""Executes the code blocks of docs/python.md, docs/python-arrow.md and docs/engines.md.

Blocks of a section of python.md and engines.md (`## …`), or of the whole other page, run one after the other in one interpreter, in an
empty folder with the sample files. An expression whose line is followed by a comment `# → TEXT` must have TEXT as its repr or its str. Blocks that are not
marked as `python` are not executed. Tests/Python/matrix runs the sections that need other packages."""

import ast
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import unittest

import support

# The pages, with the start of a heading after which a new program begins.
DOCS = support.ROOT / "docs"
PAGES = {DOCS / "python.md": "## ", DOCS / "python-arrow.md": "# ", DOCS / "engines.md": "## "}
OTHERS = ("pyarrow", "pandas", "polars", "duckdb", "apsw", "dask")
# The extension for SQLite in the guide, and the one that is tested.
EXTENSION = ("/opt/tabella/lib/tabella_sqlite", str(support.ROOT / ".build/release/libtabella-sqlite.so"))


def sections(page):
    """Pairs of a heading and its blocks, each with the number of its first line."""
    found, heading, block, start = {}, "", None, 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is None and line.startswith(PAGES[page]):
            heading = line
        elif block is None and line.startswith("```python"):
            block, start = [], number + 1
        elif block is not None and line.startswith("```"):
            found.setdefault(heading, []).append((start, "\n".join(block) + "\n"))
            block = None
        elif block is not None:
            block.append(line)
    return found


def needs(code):
    return [name for name in OTHERS if re.search(rf"^import {name}|scan_{name}", code, re.MULTILINE)]


def run(page, start, code, names):
    """Runs a block, and compares values and output with the comments."""
    tree = ast.parse("\n" * (start - 1) + code.replace(*EXTENSION), str(page))
    lines = [""] * (start - 1) + code.splitlines()
    for statement in tree.body:
        wanted = re.findall(r"# → (.*)$", "\n".join(lines[statement.lineno - 1 : statement.end_lineno]), re.MULTILINE)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), str(page), "eval"), names)
            else:
                value = exec(compile(ast.Module([statement], []), str(page), "exec"), names)
        said = " / ".join(printed.getvalue().splitlines())
        if wanted and " / ".join(wanted) not in (repr(value), str(value), said):
            raise AssertionError(f"{page.name}:{statement.end_lineno}: {value!r} {said!r}, not {wanted!r}")


def run_all(with_others):
    """Runs the sections that need other packages, or those that need none. Returns the number of blocks."""
    count = 0
    for page in PAGES:
        for blocks in sections(page).values():
            if any(needs(code) for _, code in blocks) != with_others:
                continue
            names = {"__name__": "guide"}
            for start, code in blocks:
                run(page, start, code, names)
                count += 1
    return count


def main(with_others):
    """Runs the guide in this process, whose folder is empty."""
    shutil.copy(support.ROOT / "Examples/cookbook/sales.csv", "sales.csv")
    print(run_all(with_others))


class Guide(support.Case):
    def test_all_blocks(self):
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "TZ": "UTC",
                       "PYTHONPATH": f"{support.PACKAGES}:{support.ROOT / 'Tests/Python'}"}
        (self.folder / "empty").mkdir()
        done = subprocess.run(
            [sys.executable, "-B", "-c", "import test_guide; test_guide.main(False)"], capture_output=True, text=True,
            cwd=self.folder / "empty", env=environment, timeout=120)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(done.stdout), 8)


if __name__ == "__main__":
    unittest.main()
