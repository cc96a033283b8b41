"""Many hosts: correct rows of those that answer, and one row with an error for each other one."""

import os
import pathlib
import shlex
import sys
import time
import unittest

import cluster

HOST = cluster.HERE / "host.py"


class Fleet(cluster.Case):
    def setUp(self):
        super().setUp()
        self.hanging = self.folder / "hanging"

    def command(self, *words):
        """A command that runs `tabella export` with these words on a simulated host."""
        start = ["env", f"TABELLA_HANGING={self.hanging}", sys.executable, "-B", str(HOST), "{host}"]
        return " ".join(map(shlex.quote, [*start, os.environ["TABELLA"], "export", *map(str, words)]))

    def data(self, host, rows=3):
        """The table of a host."""
        lines = [f"{number},{host} {number},{number % 2 == 0}" for number in range(rows)]
        (self.folder / f"{host}.csv").write_text("n,name,even\n" + "\n".join(map(str.lower, lines)) + "\n")

    def fleet(self, names, **options):
        for host in names:
            self.data(host)
        command = self.command(str(self.folder) + "/{host}.csv", "-o", "types=infer")
        return self.read(**{"hosts": ",".join(names), "command": command, "timeout": "10", **options})

    def assert_gone(self):
        """The processes of hanging hosts were killed, with their children."""
        pids = [int(line) for line in self.hanging.read_text().split()]
        self.assertGreater(len(pids), 1)
        for pid in pids:
            end = time.monotonic() + 10
            while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < end:
                if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ")[-1].startswith("Z"):
                    break
                time.sleep(0.05)
            else:
                self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), pid)

    def test_twenty_hosts_of_which_six_fail(self):
        good = [f"web{number}" for number in range(14)]
        bad = {"dead1": "Connection refused", "hang1": "no complete answer within 10 s", "noise1": "no Arrow stream",
               "half1": "breaks off", "half-end1": "breaks off after 3 rows", "late1": "the disk broke"}  # fmt: skip
        names = sorted([*good, *bad])
        (self.folder / "hosts.txt").write_text("# the fleet\n" + "\n".join(names) + "\n\n")
        frame = self.fleet(names, hosts=f"@{self.folder}/hosts.txt", hostsPerTask="7")
        self.assertEqual(frame.columns, ["host", "section", "n", "name", "even", "error"])
        self.assertEqual(frame.rdd.getNumPartitions(), 3)
        started = time.monotonic()
        rows = frame.collect()
        # Not a measurement: without the time-out, the query would take 1000 seconds.
        self.assertLess(time.monotonic() - started, 300)
        errors = {row["host"]: row for row in rows if row["error"] is not None}
        self.assertEqual(set(errors), set(bad))
        for host, text in bad.items():
            self.assertIn(text, errors[host]["error"])
            self.assertEqual([errors[host][name] for name in ("section", "n", "name", "even")], [None] * 4)
        found = sorted((row["host"], row["n"], row["name"], row["even"]) for row in rows if row["error"] is None)
        self.assertEqual(found, sorted((host, n, f"{host} {n}", n % 2 == 0) for host in good for n in range(3)))
        self.assertEqual(len(rows), 14 * 3 + 6)
        self.assert_gone()

    def test_filters_and_columns_run_on_the_hosts(self):
        evil = "x'; touch pwned; echo $(touch pwned) `touch pwned` \" {host} {pushed} | & \\ é"
        hosts = ["one", "two", "dead1"]
        frame = self.fleet(hosts, columns="name,n")
        self.assertEqual(frame.columns, ["host", "section", "name", "n", "error"])
        rows = frame.where("n = 2 AND name LIKE 'two%'").collect()
        self.assertEqual([(row["host"], row["n"]) for row in rows], [("two", 2)])
        (self.folder / "one.csv").write_text("n,name,even\n" + '1,"' + evil.replace('"', '""') + '",true\n')
        log = self.folder / "words"
        spy = self.folder / "spy"
        spy.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >> {log}\nexec {shlex.quote(os.environ['TABELLA'])} \"$@\"\n")
        spy.chmod(0o755)
        command = self.command(f"{self.folder}/{{host}}.csv", "-o", "types=infer").replace(os.environ["TABELLA"], str(spy))
        frame = self.read(hosts="one,two", command=command, columns="name,n", filter="n >= 0", pushFilters="true")
        rows = frame.where(frame.name == evil).where(frame.n > 0).collect()
        self.assertEqual([row["name"] for row in rows], [evil])
        words = log.read_text()
        self.assertIn("\n--columns=name,n\n", words)
        self.assertIn("\n--filter=n > 0\n", words)
        self.assertIn("\n--filter=n >= 0\n", words)
        self.assertIn("\n--filter=name ~ ^(x\\x27\\x3B", words)
        self.assertFalse([path for path in (cluster.HERE, pathlib.Path.cwd()) if (path / "pwned").exists()])

    def test_a_filter_on_the_host_asks_only_that_host(self):
        frame = self.fleet(["one", "two", "hang1"], schema="host STRING, n LONG, error STRING", pushFilters="true")
        self.assertEqual(frame.where("host IN ('one', 'two') AND n = 1").count(), 2)
        self.assertFalse(self.hanging.exists())

    def test_all_hosts_are_dead(self):
        rows = self.fleet(["dead1", "dead2"]).collect()
        self.assertEqual(sorted(row["host"] for row in rows), ["dead1", "dead2"])
        self.assertTrue(all("Connection refused" in row["error"] for row in rows))
        frame = self.fleet(["dead1", "dead2"], columns="n,name")
        self.assertEqual(frame.columns, ["host", "section", "n", "name", "error"])
        self.assertEqual(frame.where("n IS NULL AND error IS NOT NULL").count(), 2)

    def test_a_provider_that_crashes_on_one_host(self):
        (self.folder / "good.csv").write_text("word,number,weight\na,5,1\n")
        inner = f"case {{host}} in bad) {os.environ['TABELLA']} export fall:x {{pushed}};; *) "
        inner += f"{os.environ['TABELLA']} export {self.folder}/good.csv {{pushed}};; esac"
        schema = "host STRING, word STRING, number STRING, error STRING"
        rows = self.read(hosts="good,bad", command=f"sh -c {shlex.quote(inner)}", schema=schema).collect()
        found = {row["host"]: row for row in rows}
        self.assertEqual(len(rows), 2)
        self.assertEqual((found["good"]["number"], found["good"]["error"]), ("5", None))
        self.assertIn("provider fall", found["bad"]["error"])

    def test_processes_and_sections(self):
        frame = self.read(hosts="a,b", command=self.command("processes:", "--section-by", "user"), columns="pid,user,command")
        mine = frame.where(f"pid = {os.getpid()}").collect()
        self.assertEqual(sorted(row["host"] for row in mine), ["a", "b"])
        self.assertTrue(all(row["section"] == row["user"] and row["error"] is None for row in mine))

    def test_names_of_hosts(self):
        for name in ["-oProxyCommand=x", "a;b", "a b", "$(x)", "a'"]:
            with self.subTest(name):
                self.assertIn("is no name of a host", self.error_of(lambda: self.read(hosts=f"ok,{name}", command="true {host}")))




if __name__ == "__main__":
    unittest.main()
