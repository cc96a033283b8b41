"""A command that changes a user's files, with the files before it and the expected files after it."""

import dataclasses
import json
import os
import signal
import subprocess
from typing import Callable, NamedTuple

import tree as trees

TIMEOUT = 60


class Outcome(NamedTuple):
    status: int  # as waitpid gives it: negative is a signal
    out: bytes
    err: bytes
    hung: bool

    @property
    def message(self):
        return self.err.decode(errors="replace").strip()


@dataclasses.dataclass
class Case:
    """`files` are what there is before, by path below a root directory; `before` are commands that are
    run first. In a command `@/` is the root. `change` are the paths that the command changes, and to
    what (None: away). `follow` is the command that must work afterwards, whatever happened.

    `whole_leftovers` says that a file under a temporary name beside the target is complete: old or new, as the
    target is the other.

    `extra` is what may be there too while nothing is changed yet: a backup. `in_place` says that the
    weaker promise is meant: old, or new, or the old bytes are kept where the next run says.

    `heeds_writers` says that the command must leave a file alone that another program has open for writing.
    `disk` is a directory below root that is a file system of its own; where that cannot be had the case
    cannot be run. `origin` is what a copy, the target, is made of: a race may leave both.

    A word `id-of:NAME` in a command stands for the id of the row of the directory user/ with that name."""

    name: str
    program: str
    files: dict
    command: list
    change: dict
    follow: list
    before: list = dataclasses.field(default_factory=list)
    extra: dict = dataclasses.field(default_factory=dict)
    target: str = "user/data.csv"
    in_place: bool = False
    whole_leftovers: bool = False
    undo: list = None
    hard_links: dict = dataclasses.field(default_factory=dict)
    heeds_writers: bool = False
    disk: str = None
    origin: str = None
    prepare: Callable = None

    def set_up(self, root):
        """Makes the root as it is before the command, and returns what the user has."""
        trees.clear(root)
        for folder in ["user", "home", "state", "data"]:
            os.mkdir(os.path.join(root, folder))
        if self.disk:
            place = os.path.join(root, self.disk)
            os.mkdir(place)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", place], check=True)
        for path, entry in self.files.items():
            place = os.path.join(root, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if entry.kind == "link":
                os.symlink(os.fsdecode(entry.data), place)
            elif entry.kind == "directory":
                os.mkdir(place)
            else:
                with open(place, "wb") as stream:
                    stream.write(entry.data)
                os.chmod(place, entry.mode)
        for name, original in self.hard_links.items():
            os.link(os.path.join(root, original), os.path.join(root, name))
        for command in self.before:
            outcome = self.run(root, command)
            assert outcome.status == 0, f"{self.name}: {command}: {outcome}"
        if self.prepare:
            self.prepare(root)
        return trees.users_data(trees.read_tree(root))

    def new(self, old):
        """What the user has after the command, given what there is before."""
        after = dict(old)
        for path, entry in self.change.items():
            after.pop(path, None)
            if entry is not None:
                after[path] = entry
        return after

    def arguments(self, root, command=None):
        words = self.command if command is None else command
        return [self.program, *(self.id_of(word, root) if word.startswith("id-of:") else word.replace("@/", root + "/") for word in words)]

    def id_of(self, word, root):
        name = word.removeprefix("id-of:")
        listed = execute([self.program, "show", f"{root}/user", "--json"], self.environment(root), root)
        for row in json.loads(listed.out)["sections"][0]["rows"]:
            if row["cells"][0] == name:
                return f"id:{row['id']}"
        # A missing row has no id; the command must say so.
        return "id:none"

    def environment(self, root):
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "LC_ALL": "C",
            "HOME": root + "/home",
            "XDG_STATE_HOME": root + "/state",
            "XDG_DATA_HOME": root + "/data",
            # A Swift program that crashes would start a program that outlives it.
            "SWIFT_BACKTRACE": "enable=no",
        }

    def run(self, root, command=None, wrapper=(), timeout=TIMEOUT, **more):
        """Runs it, in a process group of its own, and ends all of the group if it takes too long."""
        return execute(
            [*wrapper, *self.arguments(root, command)], self.environment(root), root, timeout, **more
        )

    def judge(self, tree, old, new):
        """What has become of all that there was: "old", "new", or what is wrong with it. "new without
        backup": an interruption came between the two, the old bytes are in a leftover. "half, old kept":
        a save in place was cut short."""
        have = trees.users_data(tree)
        if have == new:
            return "new"
        if have == old or (self.extra and have == {**old, **self.extra}):
            return "old"
        spare = [tree[path].data for path in trees.leftovers(tree)]
        if self.extra and {**have, **self.extra} == new and old[self.target].data in spare:
            return "new without backup"
        if self.in_place and kept_bytes(tree, old[self.target].data):
            names = {self.target, *self.hard_links}
            if all(have.get(path) == entry for path, entry in old.items() if path not in names):
                return "half, old kept"
        return f"torn: {trees.difference(have, old)} (from old); {trees.difference(have, new)} (from new)"


def partial_leftovers(case, tree, reference, verdict):
    """The files beside the target that are not what it was, or is to be."""
    if not case.whole_leftovers:
        return []
    folder = os.path.dirname(case.target)
    want = reference.new if verdict == "old" else reference.old
    left = [path for path in trees.leftovers(tree) if os.path.dirname(path) == folder]
    return [path for path in left if tree[path].data != want[case.target].data]


VERDICTS = {"old", "new", "new without backup", "half, old kept"}


def kept_bytes(tree, data=None):
    """The files in which an interrupted save in place has left the old bytes."""
    return [
        path
        for path, entry in tree.items()
        if path.startswith("state/tabella/in-place/")
        and not trees.is_leftover(path)
        and entry.kind == "file"
        and (data is None or entry.data == data)
    ]


@dataclasses.dataclass
class BigCase(Case):
    """A large file with an edit `there`, after which it is `new_bytes`, and one `back`."""

    there: list = None
    back: list = None
    new_bytes: bytes = b""


@dataclasses.dataclass
class Adder(Case):
    """`row(text)` is a command that adds a row with this text at the end, and the bytes it adds."""

    row: Callable = None


# The umask of the commands, and of the model of the disk.
UMASK = 0o022


def execute(arguments, environment, folder, timeout=TIMEOUT, **more):
    process = subprocess.Popen(
        arguments,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **{"umask": UMASK, **more},
    )
    try:
        out, err = process.communicate(timeout=timeout)
        return Outcome(process.returncode, out, err, False)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        out, err = process.communicate()
        return Outcome(process.returncode, out, err, True)


class Reference(NamedTuple):
    """What a case does when nothing goes wrong."""

    old: dict
    new: dict
    next_old: dict  # after `follow` from old
    next_new: dict  # after `follow` from new
    state: dict  # below state/, after the command

    def following(self, verdict):
        return self.next_new if verdict.startswith("new") else self.next_old


def reference(case, root):
    """Runs the case undisturbed. Raises AssertionError if it does not do what it says."""
    old = case.set_up(root)
    new = case.new(old)
    outcome = case.run(root)
    whole = trees.read_tree(root)
    have = trees.users_data(whole)
    assert outcome.status == 0, f"{case.name}: status {outcome.status}: {outcome.message}"
    assert have == new, f"{case.name}: does not do what it should: {trees.difference(have, new)}"
    assert not trees.leftovers(whole), f"{case.name}: leaves {trees.leftovers(whole)}"
    state = {path: entry for path, entry in whole.items() if path.startswith("state/")}

    def follow():
        outcome = case.run(root, case.follow)
        assert outcome.status == 0, f"{case.name}: next run: {outcome.status}: {outcome.message}"
        return trees.users_data(trees.read_tree(root))

    next_new = follow()
    case.set_up(root)
    next_old = follow()
    assert next_new != new and next_old != old, f"{case.name}: the next run changes nothing"
    return Reference(old, new, next_old, next_new, state)
