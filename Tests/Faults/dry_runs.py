"""What `--dry-run` says, the run does: over flags, modes, owners, links, mounts, room and limits of all kinds."""

import collections
import contextlib
import os
import random
import resource
import shutil
import stat
import subprocess

import case as cases
import commands
import full_disk
import tree as trees
from sweep import Sweep

# Nobody, and somebody else.
ORDINARY, OTHER = 65534, 12345

CSV = commands.HEADER + b"".join(commands.csv_lines())
# A NUL just behind the 8 KiB that decide what is text.
NUL = commands.HEADER + b"".join(b"%d,row,%s\n" % (i, b"\0" if i == 845 else b"x") for i in range(900))
assert 8192 < NUL.index(0) < 8192 + 300, "deleting rows does not bring it there"
TEXT = b"".join(commands.text_lines())

KINDS = {
    "csv": CSV,
    "csv with a NUL": NUL,
    "text": TEXT,
    "directory": CSV,
    "large csv": commands.HEADER + b"".join(commands.record(i) for i in range(20_000)),
}

# What is done to a folder and its entry data.csv, whose id stands for ROW.
DIRECTORY = {
    "rename": ["set", "ROW", "name=other.csv"],
    "mode": ["set", "ROW", "mode=0600"],
    "time": ["set", "ROW", "modified=2001-01-01"],
    "make": ["insert", "end", "name=new.csv"],
    "trash": ["delete", "ROW", "--yes"],
    "remove": ["delete", "ROW", "--yes", "-o", "permanent=true"],
}

BATCHES = {
    "set": '{"op":"set","row":"0:5","cells":{COLUMN:"changed"}}',
    "grow": '{"op":"set","row":"0:5","cells":{COLUMN:"%s"}}' % ("x" * 9000),
    "insert": '{"op":"insert","at":"0:2","cells":{COLUMN:"new"}}',
    "delete": "\n".join('{"op":"delete","row":"0:%d"}' % row for row in range(40)),
    "move": '{"op":"move","row":"0:3","to":"0:end"}',
    "NUL": '{"op":"set","row":"0:5","cells":{COLUMN:"\\u0000"}}',
    "nothing": "",
}

DIMENSIONS = {
    "kind": list(KINDS),
    "edit": [*BATCHES, "undo", "undo"],
    "options": [[], [], ["--in-place"], ["--backup"], ["--backup=.old"], ["--in-place", "--backup"]],
    "mode": [0o644] * 6 + [0o444, 0o200, 0o000, 0o666, 0o4755],
    "flag": [""] * 5 + ["a", "i", "A"],
    "folder mode": [0o755] * 6 + [0o555, 0o333, 0o1777, 0o700, 0o000],
    "folder flag": [""] * 8 + ["a", "i"],
    "owner": ["own"] * 4 + ["other"],
    "folder owner": ["own"] * 4 + ["other"],
    "links": ["none"] * 4 + ["hard", "symbolic"],
    "earlier backup": ["none"] * 3 + ["file", "folder", "link", "append-only", "immutable", "other's", "fifo"],
    "mount": ["none"] * 6 + ["small", "small", "read-only", "the file", "the file, read-only", "small state", "read-only state"],
    "limit": [None] * 4 + ["small", "receipt", "file", "near"],
    "state": ["there"] * 4 + ["not there", "sealed", "a file", "relative"],
    "user": ["root", "ordinary"],
}


class Situation:
    def __init__(self, number, seed):
        self.random = random.Random(f"{seed} dry-run {number}")
        self.of = {name: "root" if name == "user" else values[0] for name, values in DIMENSIONS.items()}
        # Few things at once, so that one does not hide the others.
        for name in ["kind", "edit", "options", *self.random.sample(list(DIMENSIONS), self.random.choice([1, 1, 2, 2, 3, 4, 6]))]:
            self.of[name] = self.random.choice(DIMENSIONS[name])
        if self.of["kind"] == "directory":
            self.of |= {"options": [], "edit": self.random.choice([*DIRECTORY, "undo"])}
            # Whether a name or a trash finds room only making them tells.
            if self.of["mount"] == "small":
                self.of["mount"] = "none"
        self.label = f"#{number}: " + ", ".join(f"{name} {value if not isinstance(value, int) else oct(value)}" for name, value in self.of.items() if value != DIMENSIONS[name][0] or name in ("kind", "edit"))

    def __getitem__(self, name):
        return self.of[name]


def chattr(flags, path):
    return subprocess.run(["chattr", flags, path], capture_output=True).returncode == 0


class NotHere(Exception):
    """What of a situation cannot be made."""


class Scene:
    """A situation on the disk. What of it cannot be made there is named by `lacking`."""

    def __init__(self, situation, root, program):
        self.of, self.root, self.program = situation, root, program
        self.folder, self.state = root + "/user", root + "/state"
        self.data = self.folder + ("/data.txt" if situation["kind"] == "text" else "/data.csv")
        self.lacking = None
        self.undone = contextlib.ExitStack()
        self.uid = ORDINARY if situation["user"] == "ordinary" and os.geteuid() == 0 else os.geteuid()

    def __enter__(self):
        try:
            self.make()
        except NotHere as what:
            self.lacking = str(what)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.undone.close()
        for folder, _, names in os.walk(self.root):
            for path in [folder, *(os.path.join(folder, name) for name in names)]:
                if not os.path.islink(path) and os.geteuid() == 0 and (stat.S_ISREG(os.lstat(path).st_mode) or os.path.isdir(path)):
                    chattr("-ai", path)
        if os.path.isdir(self.folder):
            os.chmod(self.folder, 0o755)
        if os.path.isdir(self.state):
            os.chmod(self.state, 0o755)
        trees.clear(self.root)

    def own(self, path, user):
        try:
            os.lchown(path, user, -1)
        except OSError:
            raise NotHere("other owners")

    def run(self, *words, limited=True):
        def before():
            if limited and self.limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.limit))
            if self.uid != os.geteuid():
                os.setgroups([])
                os.setresgid(self.uid, self.uid, self.uid)
                os.setresuid(self.uid, self.uid, self.uid)

        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "HOME": self.root + "/home",
            "XDG_STATE_HOME": "state" if self.of["state"] == "relative" and limited else self.state,
            "SWIFT_BACKTRACE": "enable=no",
        }  # fmt: skip
        if self.of["state"] == "relative":
            environment.pop("HOME")
        return cases.execute([self.program, *words], environment, self.root, preexec_fn=before)

    def make(self):
        of = self.of
        data = KINDS[of["kind"]]
        self.limit = None
        for folder in [self.folder, self.state, self.root + "/home"]:
            os.mkdir(folder)
            self.own(folder, self.uid)
        os.chmod(self.root, 0o755)
        if of["mount"] == "small":
            self.mount("-t", "tmpfs", "-o", f"size={(len(data) * 2 // 4096 + of.random.randrange(-2, 5)) * 4096 + 4096},mode=755", "none", self.folder)
        if of["mount"] == "small state":
            self.mount("-t", "tmpfs", "-o", f"size={of.random.randrange(1, 40) * 4096},mode=755", "none", self.state)
        self.own(self.folder, self.uid)
        self.own(self.state, self.uid)
        try:
            with open(self.data, "wb") as stream:
                stream.write(data)
        except OSError:
            raise NotHere("room for the file itself")
        column = '"line"' if of["kind"] == "text" else '"name"'
        with open(self.root + "/batch", "w") as stream:
            stream.write(BATCHES.get(of["edit"], BATCHES["set"]).replace("COLUMN", column))
        self.own(self.data, self.uid)
        if self.run("count", self.data, limited=False).status != 0:
            raise NotHere("a user who can run tabella")
        self.words = ["apply", self.data, self.root + "/batch", "--yes", *of["options"]]
        if of["kind"] == "directory":
            command, *words = DIRECTORY.get(of["edit"], DIRECTORY["mode"])
            self.words = [command, self.folder, *(self.row() if word == "ROW" else word for word in words)]
        if of["edit"] == "undo":
            if self.run(*self.words, limited=False).status != 0:
                raise NotHere("an edit that can be taken back")
            self.words = ["undo", self.words[1], *of["options"]]
        self.harden()

    def row(self):
        """The entry of the folder that is edited, by its id."""
        listed = self.run("show", self.folder, "--format", "plain", "--columns", "name", "--with-row", limited=False)
        return next(row for row, name in (line.split("\t") for line in listed.out.decode().splitlines()) if name == "data.csv")

    def harden(self):
        of = self.of
        size = os.stat(self.data).st_size
        suffix = {"--backup": "~", "--backup=.old": ".old"}.get((of["options"] or [""])[-1])
        backup = self.data + (suffix or "~")
        if os.path.lexists(backup):
            os.unlink(backup)
        earlier = of["earlier backup"]
        if earlier == "folder":
            os.mkdir(backup)
        elif earlier == "link":
            os.symlink("nowhere", backup)
        elif earlier == "fifo":
            os.mkfifo(backup)
        elif earlier != "none":
            with contextlib.suppress(OSError), open(backup, "wb") as stream:
                stream.write(b"earlier")
        if earlier != "none" and os.path.lexists(backup):
            self.own(backup, OTHER if earlier == "other's" else self.uid)
        if of["links"] == "hard":
            os.link(self.data, self.folder + "/twin")
        elif of["links"] == "symbolic":
            os.rename(self.data, self.folder + "/real")
            os.symlink("real", self.data)
        self.limit = {
            None: None, "small": of.random.choice([0, 1, 4096, 20_000]), "receipt": of.random.choice([65_535, 65_536, 65_537]),
            "file": size + of.random.choice([-1, 0, 1, 9000]), "near": of.random.randrange(size // 2, size * 2),
        }[of["limit"]]  # fmt: skip
        if of["owner"] == "other":
            self.own(os.path.realpath(self.data), OTHER)
        if of["folder owner"] == "other":
            self.own(self.folder, OTHER)
        os.chmod(self.data, of["mode"])
        if of["state"] == "not there":
            self.empty_state()
        elif of["state"] == "a file" and of["mount"] != "small state" and of["edit"] != "undo":
            self.empty_state()
            os.rmdir(self.state)
            with open(self.state, "wb"):
                pass
        elif of["state"] == "sealed":
            os.chmod(self.state, 0o555)
        if earlier in ("append-only", "immutable") and os.path.lexists(backup):
            self.flag("+a" if earlier == "append-only" else "+i", backup)
        if of["flag"]:
            self.flag("+" + of["flag"], self.data)
        os.chmod(self.folder, of["folder mode"])
        if of["folder flag"]:
            self.flag("+" + of["folder flag"], self.folder)
        if of["mount"].startswith("read-only"):
            place = self.state if of["mount"].endswith("state") else self.folder
            if os.path.isdir(place):
                self.mount("--bind", place, place)
                self.mount("-o", "remount,bind,ro", place, again=True)
        if of["mount"].startswith("the file"):
            self.mount("--bind", self.data, self.data)
            if of["mount"].endswith("only"):
                self.mount("-o", "remount,bind,ro", self.data, again=True)

    def empty_state(self):
        if self.of["edit"] == "undo":
            # Its receipt is there.
            return
        for name in os.listdir(self.state):
            shutil.rmtree(os.path.join(self.state, name))

    def flag(self, flag, path):
        path = os.path.realpath(path)
        if os.geteuid() != 0 or not os.path.isfile(path) and not os.path.isdir(path) or not chattr(flag, path):
            raise NotHere("flags of chattr")

    def mount(self, *words, again=False):
        if os.environ.get("TABELLA_FAULTS_OWN_MOUNTS") != "1" or subprocess.run(["mount", *words], capture_output=True).returncode != 0:
            raise NotHere("mounts")
        if not again:
            self.undone.callback(trees.unmount, os.path.realpath(words[-1]))

    def look(self):
        """All there is, as root sees it, without the times at which it was read."""
        seen = {}
        for folder, folders, names in os.walk(self.root):
            for name in folders + names:
                path = os.path.join(folder, name)
                status = os.lstat(path)
                data = None
                if stat.S_ISREG(status.st_mode):
                    with contextlib.suppress(OSError), open(path, "rb") as stream:
                        data = stream.read()
                seen[path] = (status.st_mode, status.st_uid, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, data)
        return seen


def dry_run_sweep(settings, program, full):
    sweep = Sweep("dry-run", settings)
    lacking = collections.Counter()
    # An ordinary user must come to what lies in it.
    os.chmod(settings.folder, 0o755)

    def body(point, root):
        label, situation = point
        with Scene(situation, root, program) as scene:
            if scene.lacking:
                lacking[scene.lacking] += 1
                return
            before = scene.look()
            foreseen = scene.run(*scene.words, "--dry-run")
            between = scene.look()
            done = scene.run(*scene.words)
            after = scene.look()
        sweep.count("points")
        arguments = [program, *scene.words]

        def fail(kind, text):
            sweep.fail(kind, label, f"{text}\n      dry run: {foreseen.status}: {foreseen.message}\n      run: {done.status}: {done.message}", arguments)

        if foreseen.hung or done.hung:
            return fail("hang", "did not end")
        if before != between:
            return fail("not dry", f"the dry run changed {sorted(k for k in before.keys() | between.keys() if before.get(k) != between.get(k))}")
        if foreseen.status != done.status:
            return fail("disagree", "another status")
        user = lambda seen: {path: entry for path, entry in seen.items() if path.startswith(scene.folder)}
        if done.status not in (0, 1, 4, 5):
            return fail("status", "is none that a save has")
        data = lambda seen: {path: (entry[0], entry[5]) for path, entry in user(seen).items()}
        if done.status != 0 and data(after) != data(before):
            return fail("torn", "refused, but the user's files changed")
        sweep.count("refused by both" if done.status else "done")

    numbers = range(settings.count(full))
    sweep.each(sweep.chosen([(situation.label, situation) for situation in (Situation(n, settings.seed) for n in numbers)]), body)
    for what, count in lacking.items():
        if what in ("mounts", "flags of chattr", "other owners", "a user who can run tabella"):
            print(f"  dry-run: {count} situations want {what}, which cannot be had here", flush=True)
        sweep.figures["not to be made"] += count
    return sweep.finish()
