"""The use of an installed tabella, as a user would try it: read, count, edit, undo, follow, with every provider."""

import glob
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import threading

# A command that does not end within these seconds has failed.
PATIENCE = 60


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


class Machine:
    """A place where programs run: this machine, a part of it, or another root folder.

    `way` precedes each command. `folder` is an empty folder for data, and `seen` is its path for the commands.
    """

    def __init__(self, way, folder, seen=None, home=None):
        self.way, self.folder = way, folder
        self.seen = seen or folder
        os.makedirs(f"{folder}/home", exist_ok=True)
        self.environment = {
            "HOME": f"{self.seen}/home", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def run(self, *words, status=0, **environment):
        """Runs a command and returns its standard output, and its standard error if another status is expected."""
        done = subprocess.run(
            [*self.way, *words], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
            cwd="/", env={**self.environment, **environment})
        expect(done.returncode == status,
               f"{' '.join(words)}: status {done.returncode}, expected {status}: {done.stdout}{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def start(self, *words, **environment):
        return subprocess.Popen(
            [*self.way, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            cwd="/", env={**self.environment, **environment}, text=True, start_new_session=True)

    def write(self, name, text):
        path = f"{self.folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return f"{self.seen}/{name}"

    def read(self, name):
        with open(f"{self.folder}/{name}") as file:
            return file.read()


class Follower:
    """`tabella show --follow`: each expected change must arrive."""

    def __init__(self, machine, *words):
        self.process = machine.start(*words, "--follow", "--format", "jsonl")
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def wait_for(self, text):
        """Returns the first following change that contains the text."""
        seen = []
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise Failed(f"no change contains {text} after {seen}") from None
            expect(line is not None, f"show --follow ended before {text}: {seen}")
            seen.append(line)
            if text in line:
                return json.loads(line)

    def end(self):
        # The way may be a chain of programs, so the whole session ends.
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(PATIENCE)


def use_csv(machine, tabella, options):
    before = "name,amount\nAda,300\nBo,20\n"
    path = machine.write("csv/data.csv", before)
    shown = machine.run(tabella, "show", path, "--format", "csv", "--filter", "amount > 100", *options)
    expect(shown == "name,amount\nAda,300\n", f"csv: shows {shown}")
    expect(machine.run(tabella, "count", path, *options) == "2\n", "csv: counts another number")
    machine.run(tabella, "set", path, "0", "amount=301", *options)
    expect(machine.read("csv/data.csv") == before.replace("300", "301"), "csv: the edit is not in the file")
    machine.run(tabella, "undo", path, *options)
    expect(machine.read("csv/data.csv") == before, "csv: undo left another file")
    follower = Follower(machine, tabella, "show", path, *options)
    follower.wait_for("Bo")
    with open(f"{machine.folder}/csv/data.csv", "a") as file:
        file.write("Cy,7\n")
    change = follower.wait_for("Cy")
    expect(change["change"] == "insert" and change["cells"] == {"name": "Cy", "amount": "7"}, f"csv: {change}")
    follower.end()


def use_text(machine, tabella, options):
    path = machine.write("text/notes.txt", "one\ntwo\n")
    shown = machine.run(tabella, "show", path, "--format", "plain", *options)
    expect(shown == "one\ntwo\n", f"text: shows {shown}")
    expect(machine.run(tabella, "count", path, *options) == "2\n", "text: counts another number")
    machine.run(tabella, "set", path, "0", "line=uno", *options)
    expect(machine.read("text/notes.txt") == "uno\ntwo\n", "text: the edit is not in the file")
    machine.run(tabella, "undo", path, *options)
    expect(machine.read("text/notes.txt") == "one\ntwo\n", "text: undo left another file")
    follower = Follower(machine, tabella, "show", path, *options)
    follower.wait_for("two")
    with open(f"{machine.folder}/text/notes.txt", "a") as file:
        file.write("three\n")
    expect(follower.wait_for("three")["cells"] == {"line": "three"}, "text: another line arrives")
    follower.end()


def use_directory(machine, tabella, options):
    path = os.path.dirname(machine.write("folder/a.txt", "hi"))
    machine.write("folder/b.txt", "ho")
    shown = machine.run(tabella, "show", path, "--columns", "name,size", "--format", "csv", *options)
    expect(shown == "name,size\na.txt,2\nb.txt,2\n", f"directory: shows {shown}")
    expect(machine.run(tabella, "count", path, *options) == "2\n", "directory: counts another number")
    machine.run(tabella, "set", path, "--filter", "name = a.txt", "name=c.txt", "--yes", *options)
    folder = f"{machine.folder}/folder"
    expect(sorted(os.listdir(folder)) == ["b.txt", "c.txt"], "directory: the file was not renamed")
    machine.run(tabella, "undo", path, *options)
    expect(sorted(os.listdir(folder)) == ["a.txt", "b.txt"], "directory: undo left another name")
    follower = Follower(machine, tabella, "show", path, *options)
    follower.wait_for("b.txt")
    machine.write("folder/z.txt", "")
    expect(follower.wait_for("z.txt")["change"] == "insert", "directory: no row was inserted")
    follower.end()


def use_processes(machine, tabella, options):
    # Each program of the way replaces itself by the next one, so the process keeps its number.
    sleeper = machine.start("sleep", "1000")
    chosen = ["--filter", f"pid = {sleeper.pid}"]
    follower = Follower(machine, tabella, "show", "processes:", *chosen, *options)
    follower.wait_for('"command":"sleep"')
    expect(machine.run(tabella, "count", "processes:", *chosen, *options) == "1\n", "processes: is not counted")
    named = machine.run(
        tabella, "show", "processes:", *chosen, "--columns", "command", "--format", "csv", *options)
    expect(named == "command\nsleep\n", f"processes: shows {named}")
    machine.run(tabella, "delete", "processes:", *chosen, "--yes", *options)
    ended = sleeper.wait(PATIENCE)
    expect(ended == -signal.SIGTERM, f"processes: the process ended with {ended}")
    follower.wait_for('"delete"')
    machine.run(tabella, "undo", "processes:", *options, status=4)
    follower.end()


def use_shipped(machine, tabella):
    """All shipped providers, in the program's process and in a worker."""
    listed = json.loads(machine.run(tabella, "providers", "--json"))
    ids = [provider["id"] for provider in listed["providers"]]
    expect(ids == ["csv", "directory", "processes", "text"] and not listed["refused"], f"providers lists {listed}")
    for options in ([], ["--isolate"]):
        for use in (use_csv, use_text, use_directory, use_processes):
            shutil.rmtree(machine.folder)
            os.makedirs(f"{machine.folder}/home")
            use(machine, tabella, options)


def use_foreign(machine, tabella, providers, expected):
    """Foreign providers in C and Swift, which run in the worker. `providers` is their folder."""
    described = json.loads(machine.run(tabella, "describe", "planets:", "--json", TABELLA_PROVIDER_PATH=providers))
    expect(described["worker"], f"planets: runs in no worker: {described}")
    for location, file in (("planets:", "provider-c.txt"), ("primes:40", "provider-swift.txt")):
        with open(f"{expected}/{file}") as text:
            shown = machine.run(tabella, "show", location, TABELLA_PROVIDER_PATH=providers)
            expect(shown == text.read(), f"{location} shows {shown}")
    # The program contains parts of the runtime. In its process, a provider in Swift uses these.
    machine.run(tabella, "show", "primes:40", "--in-process", TABELLA_PROVIDER_PATH=providers,
                LD_DEBUG="files", LD_DEBUG_OUTPUT=f"{machine.seen}/loader")
    said = ""
    for path in glob.glob(f"{machine.folder}/loader.*"):
        with open(path) as file:
            said += file.read()
        os.remove(path)
    loaded = re.findall(r"calling init: (.*/libswift(?:Core|Glibc|Synchronization)\.so)", said)
    expect(loaded and all("/contained/" in path for path in loaded), f"the process loaded {loaded}")
    expect("libswift_Concurrency.so" in said, "the process did not load the provider's libraries")


def use_library(machine, example, packages, folder, providers, expected):
    """The examples in C compile against the pkg-config file in `packages`, and do what `expected` says.

    `folder` is for the programs, in `machine.folder`. It must not exist.
    """
    place = f"{machine.folder}/{folder}"
    shutil.copytree(example, place)
    done = subprocess.run(
        ["make", "-C", place], capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_LIBDIR": packages})
    expect(done.returncode == 0, f"{example}: {done.stdout}{done.stderr}")
    shutil.copy(f"{expected}/people.csv", place)
    machine.write(f"{folder}/amounts.csv", "city,amount\nRome,10\nOslo,20\nBonn,5\nRome,30\n")

    def run(*words, **more):
        return machine.run("env", "-C", f"{machine.seen}/{folder}", *words, **more)

    said = run("./rows", "planets:", TABELLA_PROVIDER_PATH=providers) + run("./rows", "people.csv")
    said += run("./rows", "nowhere.csv", status=1) + "status 1\n" + run("./changes", "amounts.csv")
    with open(f"{expected}/embed-c.txt") as text:
        expect(said == text.read(), f"the examples in C print {said}")


PYTHON = """
import pathlib, tabella
table = tabella.open("amounts.csv", editing=True).filter("amount > 10")
before = pathlib.Path("amounts.csv").read_bytes()
with table.edit() as batch:
    batch.set((0, 0), amount="21")
assert [row["amount"] for row in table] == ["21"], list(table)
table.undo()
assert pathlib.Path("amounts.csv").read_bytes() == before
assert [row["name"] for row in tabella.open("planets:")][0] == "Mercury"
assert len(tabella.open("processes:")) > 0
print("used")
"""


def use_python(machine, python, providers):
    """The Python package works with the installed library, without further settings."""
    path = machine.write("python/amounts.csv", "city,amount\nOslo,20\nBonn,5\n")
    said = machine.run(
        "env", "-C", os.path.dirname(path), python, "-B", "-c", PYTHON, TABELLA_PROVIDER_PATH=providers)
    expect(said == "used\n", f"Python says {said}")


SQL = """
import sqlite3, sys
db = sqlite3.connect(":memory:", isolation_level=None)
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
db.execute("CREATE VIRTUAL TABLE t USING tabella('amounts.csv', types=infer)")
db.execute("UPDATE t SET amount = amount + 1 WHERE city = 'Bonn'")
print(db.execute("SELECT sum(amount) FROM t").fetchall(), open("amounts.csv").read().split())
"""


def use_sqlite(machine, python, extension):
    """The extension for SQLite works without further settings."""
    path = machine.write("sql/amounts.csv", "city,amount\nOslo,20\nBonn,5\n")
    said = machine.run("env", "-C", os.path.dirname(path), python, "-B", "-c", SQL, extension)
    expect(said == "[(26,)] ['city,amount', 'Oslo,20', 'Bonn,6']\n", f"SQLite says {said}")
