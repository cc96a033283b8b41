"""Errors are one line, and never the end of the process."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import support

HEADER = "/usr/include/sqlite3ext.h"
MEMBERS = """declare_vtab free libversion_number result_double result_int64 result_null value_blob value_bytes value_double
value_int64 value_text value_type create_module_v2 vtab_config malloc64 result_blob64 result_text64 vtab_nochange
value_nochange vtab_collation vtab_in vtab_in_first vtab_in_next""".split()
# Tabella's name, and SQLite's.
STRUCTS = {
    ("vtab", "sqlite3_vtab"): {"module": "pModule", "references": "nRef", "error": "zErrMsg"},
    ("cursor", "sqlite3_vtab_cursor"): {"table": "pVtab"},
    ("constraint", "struct sqlite3_index_constraint"): {"column": "iColumn", "op": "op", "usable": "usable"},
    ("order", "struct sqlite3_index_orderby"): {"column": "iColumn", "descends": "desc"},
    ("usage", "struct sqlite3_index_constraint_usage"): {"argument": "argvIndex", "omits": "omit"},
    ("index", "sqlite3_index_info"): {
        "constraint_count": "nConstraint", "constraints": "aConstraint", "order_count": "nOrderBy", "order": "aOrderBy",
        "usage": "aConstraintUsage", "text": "idxStr", "frees_text": "needToFreeIdxStr",
        "order_is_consumed": "orderByConsumed", "cost": "estimatedCost", "rows": "estimatedRows", "flags": "idxFlags",
        "columns_used": "colUsed",
    },
    ("module", "sqlite3_module"): {
        "version": "iVersion", "create": "xCreate", "connect": "xConnect", "best_index": "xBestIndex",
        "disconnect": "xDisconnect", "destroy": "xDestroy", "open": "xOpen", "close": "xClose", "filter": "xFilter",
        "next": "xNext", "eof": "xEof", "column": "xColumn", "row_id": "xRowid", "update": "xUpdate", "begin": "xBegin",
        "sync": "xSync", "commit": "xCommit", "rollback": "xRollback", "find_function": "xFindFunction",
        "rename": "xRename", "savepoint": "xSavepoint", "release": "xRelease", "rollback_to": "xRollbackTo",
    },
}  # fmt: skip
NUMBERS = {
    **{name: name for name in "OK ERROR ABORT READONLY INTERRUPT SCHEMA CONSTRAINT AUTH INTEGER TEXT BLOB NULL".split()},
    "REAL": "FLOAT", "SCAN_UNIQUE": "INDEX_SCAN_UNIQUE", "DIRECTONLY": "VTAB_DIRECTONLY",
    **{name: f"INDEX_CONSTRAINT_{name}" for name in "EQ GT LE LT GE LIKE GLOB ISNULL LIMIT OFFSET".split()},
}  # fmt: skip


class Errors(support.Case):
    def test_the_header(self):
        if not os.path.exists(HEADER):
            self.skipTest(f"there is no {HEADER}")
        lines = ["#include <stddef.h>", f'#include "{HEADER}"', '#include "tabella_sqlite.h"']
        for name in MEMBERS:
            lines.append(
                f"_Static_assert(offsetof(tabella_sqlite_api, {name}) == "
                f'offsetof(struct sqlite3_api_routines, {name}), "{name}");'
            )
        for (own, other), members in STRUCTS.items():
            for name, theirs in members.items():
                lines.append(
                    f"_Static_assert(offsetof(tabella_sqlite_{own}, {name}) == offsetof({other}, {theirs}) && "
                    f"sizeof(((tabella_sqlite_{own} *)0)->{name}) == sizeof((({other} *)0)->{theirs}), "
                    f'"{own}.{name}");'
                )
        for own, other in (("constraint", "constraint"), ("order", "orderby"), ("usage", "constraint_usage")):
            lines.append(f'_Static_assert(sizeof(tabella_sqlite_{own}) == sizeof(struct sqlite3_index_{other}), "{own}");')
        for name, theirs in NUMBERS.items():
            lines.append(f'_Static_assert(TABELLA_SQLITE_{name} == SQLITE_{theirs}, "{name}");')
        source = self.file("\n".join(lines) + "\n", "header.c")
        include = support.ROOT / "Sources/CTabellaSQLite/include"
        command = ["gcc", "-std=c11", "-fsyntax-only", f"-I{include}", str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        source.write_text(source.read_text().replace("api, free)", "api, malloc64)"))
        self.assertNotEqual(subprocess.run(command, capture_output=True).returncode, 0, "a wrong offset is found")

    def test_locations_and_options(self):
        path = self.file("a\n1\n")
        self.fails("CREATE VIRTUAL TABLE t USING tabella", "name a location")
        self.fails("CREATE VIRTUAL TABLE t USING tabella('')", "name a location")
        self.fails("CREATE VIRTUAL TABLE t USING tabella('nothing.csv')", "nothing.csv", "No such file")
        self.fails("CREATE VIRTUAL TABLE t USING tabella('nothing:')", "nothing:")
        self.fails(f"CREATE VIRTUAL TABLE t USING tabella('{path}', types)", "not an option")
        self.fails(f"CREATE VIRTUAL TABLE t USING tabella('{path}', type=infer)", "type")
        self.fails(f"CREATE VIRTUAL TABLE t USING tabella('{path}', types=infer, types=infer)", "twice")
        self.fails(f"CREATE VIRTUAL TABLE t USING tabella('{path}', types=wrong)", "types")
        self.fails("SELECT * FROM tabella", "name a location")
        self.fails("SELECT * FROM tabella()", "name a location")
        self.fails("SELECT * FROM tabella('nothing.csv')", "nothing.csv", "No such file")
        self.fails(f"SELECT * FROM tabella('{path}', 'header')", "not an option")
        self.assertEqual(self.rows("SELECT * FROM tabella(NULL)"), [])
        wide = self.file(",".join(f"c{number}" for number in range(2500)) + "\n", "wide.csv")
        self.fails(f"CREATE VIRTUAL TABLE t USING tabella('{wide}')", "2502 columns")
        self.assertEqual(self.rows(f"SELECT c1 FROM tabella('{path}')"), [("1",)])

    def test_crashes(self):
        for number, (deed, moment) in enumerate(
            [("writes_to_null", "open"), ("aborts", "rows"), ("kills_itself", "rows"), ("recurses", "rows"),
             ("traps", "count"), ("calls_nowhere", "schema")]
        ):  # fmt: skip
            with self.subTest(deed=deed, moment=moment):
                name = f"crash{number}"
                house = support.animal(self.folder, name, deed, moment)
                os.environ["TABELLA_PROVIDER_PATH"] = str(house)
                db = self.connect()
                for _ in range(2):
                    what = "count(*)" if moment == "count" else "*"
                    self.fails(f"SELECT {what} FROM tabella('{name}:x')", name, db=db)
                path = self.file("a\n1\n")
                self.assertEqual(self.rows(f"SELECT c1 FROM tabella('{path}')", db=db), [("1",)])

    def test_a_provider_that_hangs(self):
        # The host ends a worker that gives no sign of life for ten seconds.
        house = support.animal(self.folder, "deaf", "sleeps_deaf", "rows", of="hang")
        self.set_variable("TABELLA_PROVIDER_PATH", str(house))
        self.fails("SELECT * FROM tabella('deaf:x')", "deaf", "10 s")
        self.assertEqual(self.rows(f"SELECT c1 FROM tabella('{self.file('a' + chr(10) + '1')}')"), [("1",)])

    def test_a_crash_in_a_commit(self):
        house = support.animal(self.folder, "trip", "writes_to_null", "commit")
        self.set_variable("TABELLA_PROVIDER_PATH", str(house))
        self.declare("t", "trip:x")
        self.db.execute("CREATE TABLE own(a)")
        self.db.execute("BEGIN")
        self.db.execute("INSERT INTO own VALUES (1)")
        self.db.execute("UPDATE t SET number = 5 WHERE rowid = (SELECT rowid FROM t LIMIT 1)")
        self.fails("COMMIT", "trip")
        self.assertFalse(self.db.in_transaction)
        self.assertEqual(self.rows("SELECT * FROM own"), [])
        self.assertEqual(self.rows("SELECT count(*) FROM t"), [(300,)], "the location is opened again")

    def test_lies(self):
        house = support.house(self.folder, "liar", "Tests/Python/liar.c")
        self.set_variable("TABELLA_PROVIDER_PATH", str(house))
        self.fails("SELECT * FROM tabella('liar:x')", "liar")

    def test_threads(self):
        path = self.file("a\n" + "".join(f"{number}\n" for number in range(20000)))
        shared = self.connect(check_same_thread=False)
        self.declare("t", path, "types=infer", db=shared)
        failures = []

        def work(own):
            try:
                db = support.connect() if own else shared
                for _ in range(10):
                    sql = f"SELECT sum(c1) FROM tabella('{path}', 'types=infer')" if own else "SELECT sum(a) FROM t"
                    if db.execute(sql).fetchall() != [(199990000,)]:
                        failures.append(sql)
                if own:
                    db.close()
            except Exception as error:
                failures.append(repr(error))

        threads = [threading.Thread(target=work, args=(number % 2 == 0,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_forked_child(self):
        path = self.file("a\n1\n")
        self.declare("t", path)
        # Now the file is old enough to be known by its times.
        time.sleep(2.1)
        self.assertEqual(self.rows("SELECT a FROM t"), [("1",)])
        for fetch in (
            lambda: support.connect().execute(f"SELECT c1 FROM tabella('{path}')").fetchall(),
            # The connection and the table of the parent, which needs not be opened again.
            lambda: self.rows("SELECT a FROM t"),
        ):
            pid = os.fork()
            if pid == 0:
                try:
                    fetch()
                    os._exit(1)
                except BaseException as error:
                    os._exit(0 if "forked" in str(error) else 2)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        # A child may be the first to use it.
        code = (
            "import os, sys; sys.path.insert(0, sys.argv[1]); import support\n"
            "pid = os.fork()\n"
            "if pid == 0: os._exit(support.connect().execute(\"SELECT c1 FROM tabella('%s')\").fetchall() != [('1',)])\n"
            "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
        ) % path
        here = str(pathlib.Path(__file__).parent)
        self.assertEqual(subprocess.run([sys.executable, "-B", "-c", code, here]).returncode, 0)

    def test_many_connections(self):
        path = self.file("a\n1\n")
        for _ in range(30):
            db = support.connect()
            self.assertEqual(db.execute(f"SELECT c1 FROM tabella('{path}')").fetchall(), [("1",)])
            db.close()

    def test_an_unfinished_scan(self):
        path = self.file("a\n" + "1\n" * 5000)
        db = support.connect()
        db.execute(f"CREATE VIRTUAL TABLE t USING tabella('{path}')")
        scan = db.execute("SELECT a FROM t")
        scan.fetchone()
        db.execute("BEGIN")
        db.execute("INSERT INTO t VALUES ('2')")
        db.execute("ROLLBACK")
        del scan
        db.close()

    def test_a_moved_installation(self):
        """The extension finds the providers relative to itself: in an installed tree, which is moved."""
        tree = pathlib.Path(support.LIBRARY).parents[1]
        if pathlib.Path(support.LIBRARY).name != "tabella_sqlite.so":
            # A build folder is moved: the libraries alone.
            tree = self.folder / "moved"
            tree.mkdir()
            for library in pathlib.Path(support.LIBRARY).parent.glob("*tabella*"):
                if library.suffix in (".so", ".json") or library.name == "tabella-worker":
                    shutil.copy(library, tree)
            library = tree / pathlib.Path(support.LIBRARY).name
        else:
            moved = self.folder / "moved"
            shutil.copytree(tree, moved, symlinks=True)
            library = moved / "lib/tabella_sqlite.so"
        path = self.file("a\n1\n")
        code = (
            "import sqlite3, sys; db = sqlite3.connect(':memory:'); db.enable_load_extension(True)\n"
            "db.load_extension(sys.argv[1]); print(db.execute('SELECT c1 FROM tabella(?)', (sys.argv[2],)).fetchall())"
        )
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [sys.executable, "-c", code, str(library).removesuffix(".so"), str(path)],
                capture_output=True, text=True, env={"HOME": home, "PATH": "/usr/bin:/bin"})  # fmt: skip
        self.assertEqual(done.stdout, "[('1',)]\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
