"""What the tests share: a folder, connections with the extension, providers in C."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = os.environ["TABELLA_SQLITE"]
COMMAND = os.environ["TABELLA"]
COUNT = int(os.environ.get("TABELLA_SQLITE_COUNT", "40"))
SEED = int(os.environ.get("TABELLA_SQLITE_SEED", "1"))


def connect(path=":memory:", library=LIBRARY, **arguments):
    """A connection with the extension. It begins transactions only by BEGIN."""
    connection = sqlite3.connect(path, isolation_level=None, **arguments)
    connection.enable_load_extension(True)
    connection.load_extension(library)
    connection.enable_load_extension(False)
    return connection


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def command(*words, **environment):
    """Runs `tabella`. Returns what it printed."""
    done = subprocess.run(
        [COMMAND, *map(str, words)], capture_output=True, timeout=120, env={**os.environ, **environment}
    )
    if done.returncode != 0:
        raise AssertionError(f"{words}: status {done.returncode}: {done.stderr.decode()}")
    return done.stdout


class Case(unittest.TestCase):
    """A test with a folder and a connection. Receipts lie in the folder."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tabella-sqlite-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        for name, value in {"XDG_STATE_HOME": str(self.folder / "state"), "TABELLA_PROVIDER_PATH": ""}.items():
            self.set_variable(name, value)
        self.db = self.connect()

    def set_variable(self, name, value):
        old = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if old is None else os.environ.update({name: old}))

    def connect(self, *arguments, **options):
        connection = connect(*arguments, **options)
        self.addCleanup(connection.close)
        return connection

    def file(self, text, name="data.csv"):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def declare(self, name, location, *options, db=None):
        words = ", ".join([quoted(location), *options])
        (db or self.db).execute(f"CREATE VIRTUAL TABLE {name} USING tabella({words})")

    def rows(self, sql, *values, db=None):
        return (db or self.db).execute(sql, values).fetchall()

    def fails(self, sql, *words, db=None, error=sqlite3.Error):
        """Runs a statement that must fail with one line that contains these words."""
        with self.assertRaises(error) as caught:
            (db or self.db).execute(sql).fetchall()
        message = str(caught.exception)
        self.assertEqual(len(message.splitlines()), 1, message)
        for word in words:
            self.assertIn(word, message)
        return message


def house(folder, id, source, *flags, **manifest):
    """Compiles a provider in C, and writes its manifest. Returns the folder for TABELLA_PROVIDER_PATH."""
    own = folder / id
    own.mkdir(mode=0o700)
    compiler = shutil.which("gcc") or shutil.which("clang") or "cc"
    library = own / f"{id}.so"
    includes = [f"-I{ROOT / 'Sources/CTabella/include'}", f"-I{ROOT / 'Tests/Zoo'}"]
    subprocess.run(
        [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden", *includes, *flags,
         f'-DZOO_ID="{id}"', "-o", library, ROOT / source, "-pthread", "-lm"],
        check=True, capture_output=True)  # fmt: skip
    facts = {"id": id, "version": "1", "contract": "0.9", "library": library.name, "schemes": [id], **manifest}
    (own / f"{id}.tabella.json").write_text(json.dumps(facts))
    return own


def animal(folder, id, deed, moment, of="crash"):
    """A provider of the zoo that does a deed at a moment."""
    return house(folder, id, f"Tests/Zoo/Animals/{of}.c", f"-DDEED={deed}", f"-DMOMENT={moment}")
