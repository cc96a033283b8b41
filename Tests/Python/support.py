"""What the tests share: a folder, a host of their own, providers in C."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tabella

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The folder of the package that is tested: the source tree, or an installed wheel.
PACKAGES = pathlib.Path(tabella.__file__).resolve().parents[1]
PEOPLE = "name,city,born\nAda,Rome,1815\nBob,Bonn,1906\nCy,Rome,\nDée,,1950\n"


class Case(unittest.TestCase):
    """A test with a folder and a host, whose receipts lie in the folder."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tabella-python-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.host = tabella.Host(receipts=self.folder / "receipts")
        self.addCleanup(self.host.close)

    def file(self, text=PEOPLE, name="people.csv"):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def open(self, text=PEOPLE, name="people.csv", **arguments):
        table = self.host.open(self.file(text, name), **arguments)
        self.addCleanup(table.close)
        return table

    def lists(self, table):
        return [list(row) for row in table]


def house(folder, id, source, *flags, **manifest):
    """Compiles a provider in C, and writes its manifest. Returns the folder for `provider_path`."""
    own = folder / id
    own.mkdir(mode=0o700)
    compiler = shutil.which("gcc") or shutil.which("clang") or "cc"
    library = own / f"{id}.so"
    includes = [f"-I{ROOT / 'Sources/CTabella/include'}", f"-I{ROOT / 'Tests/Zoo'}"]
    subprocess.run(
        [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden", *includes, *flags,
         "-o", library, ROOT / source, "-pthread", "-lm"],
        check=True, capture_output=True)  # fmt: skip
    facts = {"id": id, "version": "1", "contract": "0.9", "library": library.name, "schemes": [id], **manifest}
    (own / f"{id}.tabella.json").write_text(json.dumps(facts))
    return own


def animal(folder, id, deed, moment):
    """A provider of the zoo that does a deed at a moment."""
    return house(folder, id, "Tests/Zoo/Animals/crash.c", f'-DZOO_ID="{id}"', f"-DDEED={deed}", f"-DMOMENT={moment}")


def planets(folder):
    """The example in C: a read-only table with all types and two sections."""
    return house(folder, "planets", "Examples/provider-c/planets.c")


def python(code, *arguments, **environment):
    """Runs a program in a new interpreter. Returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(PACKAGES), **environment},
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
