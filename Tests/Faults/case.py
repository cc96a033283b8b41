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
    status: int  # from waitpid; negative for a signal
    out: bytes
    err: bytes
    hung: bool

    @property
    def message(self):
        return self.err.decode(errors="replace").strip()


@dataclasses.dataclass
class Case:
    """`files` are the files before, by path below a root directory. `before` are commands to run first. In a command,
    `@/` is the root. `change` contains the paths that the command changes, with their new content (None: removed).
    `follow` is the command that must work afterwards in every case.

    `whole_leftovers` means that a file with a temporary name next to the target must be complete: the old version if
    the target is new, and the new version if it is old.

    `extra` contains files that may exist before the change is done, such as a backup. `in_place` selects the weaker
    promise: old, or new, or the old bytes are kept in a file that the next run names.

    `heeds_writers` means that the command must not touch a file that another program has open for writing. `disk` is a
    directory below root on its own file system; on a machine without that possibility, the case is skipped. `origin` is
    the source of the target, which is a copy; after a race, both may remain.

    The word `id-of:NAME` in a command is replaced by the id of the row with that name in the directory user/."""

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
        """Creates the root for the command. Returns the user's files."""
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
        """The user's files after the command, for given files before it."""
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
        """Runs the command in its own process group. Kills the group after the timeout."""
        return execute(
            [*wrapper, *self.arguments(root, command)], self.environment(root), root, timeout, **more
        )

    def judge(self, tree, old, new):
        """The state of the user's files: "old", "new", or a description of the fault. "new without backup" means that
        the run was interrupted between the two, and a leftover has the old bytes. "half, old kept" means that a save in
        place was interrupted."""
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
    """The files next to the target that are neither the old nor the new version."""
    if not case.whole_leftovers:
        return []
    folder = os.path.dirname(case.target)
    want = reference.new if verdict == "old" else reference.old
    left = [path for path in trees.leftovers(tree) if os.path.dirname(path) == folder]
    return [path for path in left if tree[path].data != want[case.target].data]


VERDICTS = {"old", "new", "new without backup", "half, old kept"}


def kept_bytes(tree, data=None):
    """The files in which an interrupted save in place has kept the old bytes."""
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
    """A large file with an edit `there`, which leads to `new_bytes`, and an edit `back`."""

    there: list = None
    back: list = None
    new_bytes: bytes = b""


@dataclasses.dataclass
class Adder(Case):
    """`row(text)` returns a command that appends a row with this text, and the appended bytes."""

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
    """The results of a case without faults."""

    old: dict
    new: dict
    next_old: dict  # after `follow`, starting with old
    next_new: dict  # after `follow`, starting with new
    state: dict  # files below state/ after the command

    def following(self, verdict):
        return self.next_new if verdict.startswith("new") else self.next_old


def reference(case, root):
    """Runs the case without faults. Raises AssertionError if the result is not the expected one."""
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
