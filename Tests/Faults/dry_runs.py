"""Compares `--dry-run` with the real run, over flags, modes, owners, links, mounts, space and limits of all kinds."""

import collections
import contextlib
import json
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

# The user nobody, and another user.
ORDINARY, OTHER = 65534, 12345

CSV = commands.HEADER + b"".join(commands.csv_lines())
# A NUL shortly after the first 8 KiB, which determine whether a file is text.
NUL = commands.HEADER + b"".join(b"%d,row,%s\n" % (i, b"\0" if i == 845 else b"x") for i in range(900))
assert 8192 < NUL.index(0) < 8192 + 300, "deleting rows does not bring it there"
TEXT = b"".join(commands.text_lines())

KINDS = {
    "csv": CSV,
    "csv with a NUL": NUL,
    "text": TEXT,
    "directory": CSV,
    "across": CSV,
    "large csv": commands.HEADER + b"".join(commands.record(i) for i in range(20_000)),
}

# The edits of a folder and its entry data.csv, whose id replaces ROW.
DIRECTORY = {
    "rename": ["set", "ROW", "name=other.csv"],
    "mode": ["set", "ROW", "mode=0600"],
    "time": ["set", "ROW", "modified=2001-01-01"],
    "make": ["insert", "end", "name=new.csv"],
    "trash": ["delete", "ROW", "--yes"],
    "remove": ["delete", "ROW", "--yes", "-o", "permanent=true"],
}

# The edits of the files in the folders `here` and `there`, on different file systems: the target of each, or
# None for a permanent deletion. `there/old` exists already; a name without a file is created.
LONG = "n" * 255
ACROSS = {
    "one": {"here/data.csv": "there/data.csv"},
    "several": {"here/a": "there/a", "here/data.csv": "there/data.csv", "here/b": "there/b"},
    "link": {"here/link": "there/link"},
    "all": {"here/a": "there/a", "here/link": "there/link", "here/data.csv": "there/d", "here/b": "there/b"},
    "long name": {"here/data.csv": f"there/{LONG}"},
    "too long a name": {"here/data.csv": f"there/{LONG}n"},
    "instead": {"there/old": None, "here/data.csv": "there/data.csv", "here/a": "there/a"},
    "both ways": {"there/old": "here/old", "here/data.csv": "there/data.csv"},
    "and back": {"here/data.csv": "there/data.csv", "there/old": "here/old", "here/a": "there/a"},
    "and new": {"here/data.csv": "there/data.csv", "there/new": "made", "here/new": "made"},
}
# The sizes of the files besides data.csv, which has about 200 lines.
SIZES = {"here/a": 9000, "here/b": 1, "there/old": 20_000}

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
    # The other file system, and the folder that has the modes, flags and owners above.
    "other disk": ["large"] * 3 + ["small"] * 4 + ["few inodes", "few inodes", "small ext4", "small ext4", "the same, mounted again"],
    "folder": ["there", "there", "here"],
    "writer": ["none"] * 6 + ["another program"],
}
OF_ACROSS = ("other disk", "folder", "writer")


class Situation:
    def __init__(self, number, seed):
        self.random = random.Random(f"{seed} dry-run {number}")
        self.of = {name: "root" if name == "user" else values[0] for name, values in DIMENSIONS.items()}
        # Few conditions at once, so that one does not hide the others.
        names = [name for name in DIMENSIONS if name not in OF_ACROSS]
        for name in ["kind", "edit", "options", *self.random.sample(names, self.random.choice([1, 1, 2, 2, 3, 4, 6]))]:
            self.of[name] = self.random.choice(DIMENSIONS[name])
        if self.of["kind"] == "across":
            self.of |= {name: self.random.choice(DIMENSIONS[name]) for name in OF_ACROSS}
            self.of |= {"options": [], "edit": self.random.choice([*ACROSS, "undo", "undo"]), "links": "none"}
            if self.of["mount"] in ("small", "the file", "the file, read-only"):
                self.of["mount"] = "none"
        if self.of["kind"] == "directory":
            self.of |= {"options": [], "edit": self.random.choice([*DIRECTORY, "undo"])}
            # Only creating a name or a trash shows whether there is space for it.
            if self.of["mount"] == "small":
                self.of["mount"] = "none"
        self.label = f"#{number}: " + ", ".join(f"{name} {value if not isinstance(value, int) else oct(value)}" for name, value in self.of.items() if value != DIMENSIONS[name][0] or name in ("kind", "edit"))

    def __getitem__(self, name):
        return self.of[name]


def chattr(flags, path):
    return subprocess.run(["chattr", flags, path], capture_output=True).returncode == 0


class NotHere(Exception):
    """The part of a situation that cannot be created here."""


class Scene:
    """A situation on the disk. `lacking` names a part of it that cannot be created here."""

    def __init__(self, situation, root, program):
        self.of, self.root, self.program = situation, root, program
        self.folder, self.state = root + "/user", root + "/state"
        self.data = self.folder + ("/data.txt" if situation["kind"] == "text" else "/data.csv")
        # The folder with the modes, flags and owners.
        self.place = self.folder
        if situation["kind"] == "across":
            self.data = self.folder + "/here/data.csv"
            self.place = f"{self.folder}/{situation['folder']}"
        self.lacking = None
        self.writer = None
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
        for folder in [self.folder, self.folder + "/here", self.folder + "/there"]:
            if os.path.isdir(folder):
                os.chmod(folder, 0o755)
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
        if of["kind"] == "across":
            self.make_folders(data)
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
        elif of["kind"] == "across":
            self.words = ["apply", self.folder, self.root + "/batch", "--yes", *self.options]
            with open(self.root + "/batch", "w") as stream:
                stream.write("\n".join(self.edits(ACROSS.get(of["edit"], ACROSS["all"]))))
        if of["edit"] == "undo":
            if self.run(*self.words, limited=False).status != 0:
                raise NotHere("an edit that can be taken back")
            self.words = ["undo", self.words[1], *(word for word in of["options"] if not word.startswith("--backup"))]
            if of["kind"] == "across":
                self.fill(self.folder + "/here")
        self.harden()
        if of["writer"] != "none" and os.path.exists(self.data):
            with contextlib.suppress(OSError):
                self.writer = self.undone.enter_context(open(self.data, "ab"))

    # Moves to another file system

    options = ["-o", "recursive=true", "-o", "across=true", "-o", "permanent=true"]

    def make_folders(self, data):
        """Creates two folders on different file systems. The second has about as much free space as needed."""
        of = self.of
        there = self.folder + "/there"
        for folder in [self.folder + "/here", there]:
            os.mkdir(folder)
            self.own(folder, self.uid)
        pages = lambda size: -(-size // 4096)
        moved = [name for name in ACROSS.get(of["edit"], ACROSS["all"]) if name in SIZES or name.endswith(".csv")]
        room = sum(pages(SIZES.get(name, len(data))) for name in {*moved, "there/old"}) + of.random.randrange(-6, 5)
        kind = of["other disk"]
        # An undo moves files back, so the first folder is small.
        small = self.folder + "/here" if of["edit"] == "undo" else there
        options = {
            "small": f"size={room * 4096}", "few inodes": f"nr_inodes={len(moved) + of.random.randrange(1, 5)}",
        }  # fmt: skip
        if kind == "the same, mounted again":
            self.mount("--bind", there, there)
        elif of["edit"] == "undo" and kind != "large":
            # At first everything fits. The filler comes later.
            self.mount("-t", "tmpfs", "-o", "size=1m,mode=755", "none", small)
        elif kind == "small ext4":
            self.make_disk(there, room)
        else:
            self.mount("-t", "tmpfs", "-o", f"{options.get(kind, 'size=64m')},mode=755", "none", there)
        for folder in [self.folder + "/here", there]:
            self.own(folder, self.uid)
        os.symlink("t" * of.random.choice([5, 127, 128, 300]), self.folder + "/here/link")
        self.own(self.folder + "/here/link", self.uid)
        for name, size in SIZES.items():
            try:
                with open(f"{self.folder}/{name}", "wb") as stream:
                    stream.write(name.encode() * (size // len(name)) + b"x" * (size % len(name)))
            except OSError:
                raise NotHere("room for the file itself")
            self.own(f"{self.folder}/{name}", self.uid)

    def make_disk(self, place, room):
        """An ext4 file system with `room` free pages. Its space accounting is that of real disks."""
        image = self.root + "/image"
        with open(image, "wb") as stream:
            stream.truncate(4 << 20)
        features = ["-O", "^has_journal", "-E", "lazy_itable_init=0", "-m", "0", "-N", "64"]
        made = subprocess.run(["mkfs.ext4", "-q", "-F", "-b", "4096", *features, image], capture_output=True)
        if made.returncode != 0:
            raise NotHere("mounts")
        self.mount("-o", "loop", image, place)
        os.rmdir(place + "/lost+found")
        free = os.statvfs(place).f_bavail
        # The file system takes some of the last pages for its own books: then the disk is full already.
        with contextlib.suppress(OSError), open(place + "/filler", "wb") as stream:
            stream.write(b"x" * max(0, free - room) * 4096)
        os.sync()

    def edits(self, wanted):
        listed = self.run("show", self.folder, "--format", "plain", "--columns", "name", "--with-row", *self.options, limited=False)
        rows = {name: row for row, name in (line.split("\t", 1) for line in listed.out.decode().splitlines())}
        for name, place in wanted.items():
            if name not in rows:
                yield json.dumps({"op": "insert", "at": "0:end", "cells": {"name": name}})
            elif place is None:
                yield json.dumps({"op": "delete", "row": rows[name]})
            else:
                yield json.dumps({"op": "set", "row": rows[name], "cells": {"name": place}})

    def fill(self, folder):
        """Leaves about as much free space in a small file system as the moved files need."""
        if self.of["other disk"] in ("large", "the same, mounted again"):
            return
        system = os.statvfs(folder)
        need = -(-(len(KINDS["across"]) + sum(SIZES.values())) // 4096)
        with open(folder + "/filler", "wb") as stream:
            stream.write(b"x" * max(0, system.f_bavail - need - self.of.random.randrange(-4, 8)) * 4096)

    def row(self):
        """The id of the edited entry."""
        listed = self.run("show", self.folder, "--format", "plain", "--columns", "name", "--with-row", limited=False)
        return next(row for row, name in (line.split("\t") for line in listed.out.decode().splitlines()) if name == "data.csv")

    def harden(self):
        of = self.of
        if of["edit"] == "undo" and of["kind"] == "across":
            self.data = self.folder + "/there/d"
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
            self.own(self.place, OTHER)
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
        os.chmod(self.place, of["folder mode"])
        if of["folder flag"]:
            self.flag("+" + of["folder flag"], self.place)
        if of["mount"].startswith("read-only"):
            place = self.state if of["mount"].endswith("state") else self.place
            if os.path.isdir(place):
                self.mount("--bind", place, place)
                self.mount("-o", "remount,bind,ro", place, again=True)
        if of["mount"].startswith("the file"):
            self.mount("--bind", self.data, self.data)
            if of["mount"].endswith("only"):
                self.mount("-o", "remount,bind,ro", self.data, again=True)

    def empty_state(self):
        if self.of["edit"] == "undo":
            # The state folder contains the receipt to undo, so it stays.
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
        """All files as root sees them, without access times. For a disk, its content."""
        seen = {}
        for folder, folders, names in os.walk(self.root):
            for path in [os.path.join(folder, name) for name in folders + names]:
                if path == self.root + "/image":
                    continue
                status = os.lstat(path)
                data = None
                if stat.S_ISREG(status.st_mode):
                    with contextlib.suppress(OSError), open(path, "rb") as stream:
                        data = stream.read()
                seen[path] = (status.st_mode, status.st_uid, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, data)
        return seen


def lost(situation, done, before, after):
    """The fault after moves to another file system; None if there is none. Each move must be done or not done."""
    content = lambda seen: collections.Counter(data for _, data in seen.values() if data)
    if any(".tabella-" in path for path in after):
        return "a temporary name is left"
    if done.status != 0 and "edits failed" not in done.message and "changes were undone" not in done.message:
        return None if after == before else "refused, but the user's files changed"
    missing = content(before) - content(after)
    deleted = None in ACROSS.get(situation["edit"], {}).values()
    return "content is gone, or there twice" if missing.total() > deleted or content(after) - content(before) else None


def dry_run_sweep(settings, program, full):
    sweep = Sweep("dry-run", settings)
    lacking = collections.Counter()
    # An ordinary user must be able to reach its content.
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
        if "nothing would be done" in foreseen.message and "would be undone" in foreseen.message:
            return fail("disagree", "the dry run says both that a part would be done and that nothing would")
        user = lambda seen: {path: entry for path, entry in seen.items() if path.startswith(scene.folder)}
        if done.status not in (0, 1, 4, 5):
            return fail("status", "is none that a save has")
        data = lambda seen: {path: (entry[0], entry[5]) for path, entry in user(seen).items()}
        if situation["kind"] == "across":
            problem = lost(situation, done, data(before), data(after))
            if problem:
                return fail("torn", problem)
        elif done.status != 0 and data(after) != data(before):
            return fail("torn", "refused, but the user's files changed")
        sweep.count("refused by both" if done.status else "done")

    numbers = range(settings.count(full))
    sweep.each(sweep.chosen([(situation.label, situation) for situation in (Situation(n, settings.seed) for n in numbers)]), body)
    for what, count in lacking.items():
        if what in ("mounts", "flags of chattr", "other owners", "a user who can run tabella"):
            print(f"  dry-run: {count} situations want {what}, which cannot be had here", flush=True)
        sweep.figures["not to be made"] += count
    return sweep.finish()
