"""A model of a disk that keeps only synced data: the possible contents after the power fails.

The model follows every file and directory below a root, from the log of strace. It relies only on the promises
of POSIX: bytes are safe once their file was synced, names once their directory was. Until then, each write may be
present, absent, present as zeros, or torn at a sector. Each change of names may be present or absent, but changes
of one name keep their order, and one rename is one change."""

import os
import re

import trace
from case import UMASK
from tree import Entry

SECTOR = 512


# Calls that only move the offset of an open file.
READS = {"read", "readv"}

# Calls that may change a file, a directory or a descriptor.
MODELLED = {
    "exit_group", "clone", "clone3", "fork", "vfork", "open", "openat", "openat2", "creat", "close", "dup", "dup2",
    "dup3", "fcntl", "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek", "copy_file_range", "sendfile",
    "splice", "ftruncate", "truncate", "fallocate", "fchmod", "chmod", "fchmodat", "fchmodat2", "fsync",
    "fdatasync", "sync", "syncfs", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat",
    "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "mmap", "ioctl",
}  # fmt: skip


class NotModelled(Exception):
    """The program makes a call that this model does not know."""


class Node:
    """A file, directory or link. Its content is the one that the running system sees."""

    def __init__(self, kind, data=b"", mode=0o644):
        self.kind, self.mode = kind, mode
        self.data = bytearray(data)
        self.entries = {}
        self.first = (bytes(data), mode)
        self.first_entries = {}


class Event:
    """A change that a disk may or may not have kept. It requires the events in `needs`."""

    def __init__(self, kind, text, node=None, **what):
        self.kind, self.text, self.node = kind, text, node
        self.what = what
        self.needs = []
        self.unsynced = set()

    @property
    def choices(self):
        """The possible results of the event before a sync."""
        if self.kind == "write":
            data, offset = self.what["data"], self.what["offset"]
            torn = ["torn"] if offset // SECTOR != (offset + len(data) - 1) // SECTOR else []
            return ["done", "absent", "zeros", *torn]
        return ["done", "absent"]


class OpenFile:
    def __init__(self, node, position=0, append=False, synced=False):
        self.node, self.position, self.append, self.synced = node, position, append, synced


def words(text):
    """The arguments of a call: split at commas outside of brackets and quotes."""
    parts, depth, part, quoted = [], 0, "", False
    for letter in text:
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter in "([{") - (letter in ")]}")
            if letter == "," and depth == 0:
                parts.append(part.strip())
                part = ""
                continue
        part += letter
    return parts + [part.strip()] if part.strip() else parts


def text_of(word):
    """The bytes of a string that strace wrote as \\x2f\\x74."""
    return bytes.fromhex(re.search(r'"((?:\\x[0-9a-f]{2})*)"', word).group(1).replace("\\x", ""))


def number_of(word):
    return int(re.match(r"-?\d+", word.strip("[]")).group())


class Disk:
    """Follows the calls of a run, beginning with the present files below `root`."""

    def __init__(self, root):
        self.root = root
        self.top = self.load(root)
        self.events = []
        self.files = {}
        self.shared = {}

    def load(self, path, known=None):
        known = {} if known is None else known
        status = os.lstat(path)
        if status.st_ino in known:
            return known[status.st_ino]
        mode = status.st_mode & 0o7777
        if os.path.islink(path):
            return Node("link", os.fsencode(os.readlink(path)), 0)
        if os.path.isdir(path):
            node = Node("directory", b"", mode)
            node.entries = {name: self.load(os.path.join(path, name), known) for name in os.listdir(path)}
            node.first_entries = dict(node.entries)
            return node
        with open(path, "rb") as stream:
            known[status.st_ino] = Node("file", stream.read(), mode)
        return known[status.st_ino]

    # Names

    def table(self, thread):
        """The descriptors of the thread's process."""
        if thread not in self.shared:
            self.shared[thread] = next(iter(self.shared.values()), {})
        return self.shared[thread]

    def place(self, path, at=None, follow=True, hops=0):
        """The (directory, name, node) of a path; None if it is outside of the root or has no directory."""
        path = os.fsdecode(path)
        if hops > 20:
            return None
        if not path.startswith("/"):
            if at is None:
                return None
            parts, where = path.split("/"), at
        elif path == self.root or path.startswith(self.root + "/"):
            parts, where = path[len(self.root) :].split("/"), self.top
        else:
            return None
        trail = []
        parts = [part for part in parts if part not in ("", ".")]
        if not parts:
            return (None, "", where)
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            if where is None or where.kind != "directory":
                return None
            if part == "..":
                # Outside of the root, nothing is followed.
                where = trail.pop() if trail else None
                continue
            node = where.entries.get(part)
            if node is not None and node.kind == "link" and (follow or not last):
                rest = "/".join([os.fsdecode(bytes(node.data)), *parts[i + 1 :]])
                return self.place(rest, where, follow, hops + 1)
            if last:
                return (where, part, node)
            trail.append(where)
            where = node
        return (None, "", where) if where else None

    def find(self, thread, word_at, word_path, follow=True):
        path = text_of(word_path)
        through = re.match(rb"/proc/(?:self|\d+)/fd/(\d+)$", path)
        if through:
            opened = self.table(thread).get(int(through.group(1)))
            return (None, "", opened.node) if opened else None
        if path.startswith(b"/"):
            return self.place(path, None, follow)
        if word_at.startswith("AT_FDCWD"):
            return self.place(os.path.join(os.fsencode(self.root), path), None, follow)
        opened = self.table(thread).get(number_of(word_at))
        return self.place(path, opened.node, follow) if opened and opened.node else None

    # Events

    def add(self, kind, call, node=None, **what):
        text = f"{call.name}({readable(call.arguments)}) = {call.result.split()[0]}"
        event = Event(kind, text, node, **what)
        if kind == "entries":
            touched = {(id(folder), name) for folder, name, _ in what["changes"]}
            event.unsynced = {id(folder) for folder, _, _ in what["changes"]}
            event.needs = [
                earlier
                for earlier in self.events
                if earlier.kind == "entries"
                and touched & {(id(folder), name) for folder, name, _ in earlier.what["changes"]}
            ]
            for folder, name, entry in what["changes"]:
                if entry is None:
                    folder.entries.pop(name, None)
                else:
                    folder.entries[name] = entry
        self.events.append(event)

    def write(self, call, opened, data, offset):
        node = opened.node
        if offset > len(node.data):
            node.data.extend(bytes(offset - len(node.data)))
        node.data[offset : offset + len(data)] = data
        self.add("write", call, node, offset=offset, data=bytes(data))
        if opened.synced:
            self.add("sync", call, node)

    def resize(self, call, node, size):
        node.data[:] = bytes(node.data[:size]).ljust(size, b"\0")
        self.add("size", call, node, size=size)

    def run(self, calls, status):
        """Follows all calls. With status 0, output during the run is a claim."""
        for call in calls:
            self.follow(call, status)
        return self

    def follow(self, call, status):
        name, thread = call.name, call.thread
        if name in READS:
            # The bytes that are read may be long, and do not matter.
            source = self.table(thread).get(number_of(call.arguments))
            if source and call.result[0].isdigit():
                source.position += number_of(call.result)
            return None
        if name not in MODELLED:
            return None
        arguments = words(call.arguments)
        if name == "exit_group" and status == 0 and number_of(arguments[0]) == 0:
            return self.add("claim", call)
        result = re.match(r"-?\d+", call.result)
        if result is None or result.group().startswith("-"):
            return None
        result = int(result.group())
        files = self.table(thread)

        def opened(word):
            return files.get(number_of(word))

        if name in ("clone", "clone3", "fork", "vfork"):
            alike = "CLONE_FILES" in call.arguments or "CLONE_THREAD" in call.arguments
            self.shared[result] = files if alike else dict(files)
        elif name in ("open", "openat", "creat", "openat2"):
            at, path, flags = (
                ("AT_FDCWD", arguments[0], arguments[1] if name == "open" else "O_CREAT|O_TRUNC")
                if name in ("open", "creat")
                else (arguments[0], arguments[1], arguments[2])
            )
            found = self.find(thread, at, path, "O_NOFOLLOW" not in flags)
            files.pop(result, None)
            if found is None:
                return None
            folder, last, node = found
            if "O_TMPFILE" in flags:
                node = Node("file", b"", int(arguments[-1].rstrip("})"), 8) & ~UMASK)
            elif node is None:
                mode = re.search(r"\b0[0-7]+\b", " ".join(arguments[2:] if name != "openat" else arguments[3:]))
                node = Node("file", b"", (int(mode.group(), 8) if mode else 0o666) & ~UMASK)
                self.add("entries", call, changes=[(folder, last, node)])
            elif "O_TRUNC" in flags and node.data:
                self.resize(call, node, 0)
            files[result] = OpenFile(node, 0, "O_APPEND" in flags, "SYNC" in flags.replace("O_ASYNC", ""))
        elif name == "close":
            files.pop(number_of(arguments[0]), None)
        elif name in ("dup", "dup2", "dup3") or (name == "fcntl" and "F_DUPFD" in arguments[1]):
            if opened(arguments[0]):
                files[result] = opened(arguments[0])
            else:
                files.pop(result, None)
        elif name in ("write", "writev", "pwrite64", "pwritev", "pwritev2"):
            target = opened(arguments[0])
            if target is None:
                if number_of(arguments[0]) in (1, 2) and status == 0:
                    self.add("claim", call)
                return None
            data = b"".join(
                text_of(word) for word in re.findall(r'"(?:\\x[0-9a-f]{2})*"', ", ".join(arguments[1:]))
            )[:result]
            if name.startswith("p"):
                self.write(call, target, data, number_of(arguments[3]))
            else:
                offset = len(target.node.data) if target.append else target.position
                self.write(call, target, data, offset)
                target.position = offset + result
        elif name == "lseek" and opened(arguments[0]):
            opened(arguments[0]).position = result
        elif name in ("copy_file_range", "sendfile", "splice"):
            self.copy(call, arguments, result, files)
        elif name == "ftruncate" and opened(arguments[0]):
            self.resize(call, opened(arguments[0]).node, number_of(arguments[1]))
        elif name == "truncate":
            found = self.find(thread, "AT_FDCWD", arguments[0])
            if found:
                self.resize(call, found[2], number_of(arguments[1]))
        elif name == "fallocate" and opened(arguments[0]):
            if arguments[1] != "0":
                raise NotModelled(f"{name}({call.arguments})")
            node, end = opened(arguments[0]).node, number_of(arguments[2]) + number_of(arguments[3])
            self.resize(call, node, max(end, len(node.data)))
        elif name in ("fchmod", "chmod", "fchmodat", "fchmodat2"):
            if name == "fchmod":
                node, mode = opened(arguments[0]) and opened(arguments[0]).node, arguments[1]
            elif name == "chmod":
                found, mode = self.find(thread, "AT_FDCWD", arguments[0]), arguments[1]
                node = found and found[2]
            else:
                found, mode = self.find(thread, arguments[0], arguments[1]), arguments[2]
                node = found and found[2]
            if node:
                node.mode = int(mode, 8)
                self.add("mode", call, node, mode=node.mode)
        elif name in ("fsync", "fdatasync") and opened(arguments[0]):
            self.add("sync", call, opened(arguments[0]).node)
        elif name in ("sync", "syncfs"):
            self.add("sync", call, None)
        elif name in ("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"):
            self.link(call, arguments)
        elif name in ("unlink", "unlinkat", "rmdir"):
            at, path = ("AT_FDCWD", arguments[0]) if name != "unlinkat" else arguments[:2]
            found = self.find(thread, at, path, False)
            if found:
                self.add("entries", call, changes=[(found[0], found[1], None)])
        elif name in ("mkdir", "mkdirat"):
            at, path, mode = ("AT_FDCWD", *arguments) if name == "mkdir" else arguments
            found = self.find(thread, at, path)
            if found:
                self.add("entries", call, changes=[(found[0], found[1], Node("directory", b"", int(mode, 8) & ~UMASK))])
        elif name == "mmap" and "MAP_SHARED" in arguments[3] and "PROT_WRITE" in arguments[2]:
            if opened(arguments[4]):
                raise NotModelled("a file written through memory")
        elif name == "ioctl" and "FICLONE" in call.arguments:
            raise NotModelled("a cloned range")
        return None

    def copy(self, call, arguments, count, files):
        if call.name == "sendfile":
            target, source = arguments[0], arguments[1]
            from_offset, to_offset = arguments[2], "NULL"
        else:
            source, from_offset, target, to_offset = arguments[:4]
        source, target = files.get(number_of(source)), files.get(number_of(target))
        if target is None:
            return
        if source is None:
            raise NotModelled(f"{call.name} from elsewhere")
        # strace prints an offset as it was before the call, or as before => after.
        start = source.position if from_offset == "NULL" else number_of(from_offset)
        to = target.position if to_offset == "NULL" else number_of(to_offset)
        data = bytes(source.node.data[start : start + count])
        if from_offset == "NULL":
            source.position += count
        if to_offset == "NULL":
            target.position += count
        self.write(call, target, data, to)

    def link(self, call, arguments):
        name, thread = call.name, call.thread
        if name.startswith("symlink"):
            at, path = ("AT_FDCWD", arguments[1]) if name == "symlink" else arguments[1:3]
            found = self.find(thread, at, path, False)
            if found:
                self.add("entries", call, changes=[(found[0], found[1], Node("link", text_of(arguments[0]), 0))])
            return
        if name in ("rename", "link"):
            arguments = ["AT_FDCWD", arguments[0], "AT_FDCWD", arguments[1], "0"]
        flags = arguments[4] if len(arguments) > 4 else "0"
        follow = "AT_SYMLINK_FOLLOW" in flags
        if "AT_EMPTY_PATH" in flags:
            opened = self.table(thread).get(number_of(arguments[0]))
            source = (None, "", opened.node) if opened else None
        else:
            source = self.find(thread, arguments[0], arguments[1], follow)
        target = self.find(thread, arguments[2], arguments[3], False)
        if source is None and target is None:
            return
        if source is None or target is None:
            raise NotModelled(f"{name} over the border of the root")
        if name.startswith("link"):
            changes = [(target[0], target[1], source[2])]
        elif "RENAME_EXCHANGE" in flags:
            changes = [(source[0], source[1], target[2]), (target[0], target[1], source[2])]
        elif source[2] is target[2]:
            changes = []
        else:
            changes = [(source[0], source[1], None), (target[0], target[1], source[2])]
        self.add("entries", call, changes=changes)

    # The possible contents of the disk

    def pending(self, end):
        """The events before `end` that may be missing on the disk."""
        loose = []
        for event in self.events[:end]:
            if event.kind == "sync":
                for earlier in loose:
                    if event.node is not None and earlier.kind == "entries":
                        earlier.left.discard(id(event.node))
                loose = [
                    earlier
                    for earlier in loose
                    if event.node is not None
                    and (earlier.left if earlier.kind == "entries" else earlier.node is not event.node)
                ]
            elif event.kind != "claim":
                event.left = set(event.unsynced)
                loose.append(event)
        return loose

    def state(self, end, chosen):
        """The tree after the events before `end`. `chosen` has the results of the pending events."""
        fate = {event: "done" for event in self.events[:end] if event.kind not in ("sync", "claim")}
        fate.update(chosen)
        # An event on the disk requires the events that it needs.
        for event in reversed(self.events[:end]):
            if fate.get(event) == "done" and event.kind == "entries":
                for earlier in event.needs:
                    fate[earlier] = "done"
        content, mode, entries = {}, {}, {}
        for event in self.events[:end]:
            done = fate.get(event)
            if done is None or done == "absent":
                continue
            node = event.node
            if event.kind == "entries":
                for folder, name, entry in event.what["changes"]:
                    names = entries.setdefault(id(folder), dict(folder.first_entries))
                    if entry is None:
                        names.pop(name, None)
                    else:
                        names[name] = entry
            elif event.kind == "mode":
                mode[id(node)] = event.what["mode"]
            else:
                data = content.setdefault(id(node), bytearray(node.first[0]))
                if event.kind == "size":
                    size = event.what["size"]
                    data[:] = bytes(data[:size]).ljust(size, b"\0")
                else:
                    put = event.what["data"]
                    offset = event.what["offset"]
                    if done == "zeros":
                        put = bytes(len(put))
                    elif done == "torn":
                        first = SECTOR - offset % SECTOR
                        put = put[: first + (len(put) - first) // 2 // SECTOR * SECTOR]
                    if offset > len(data):
                        data.extend(bytes(offset - len(data)))
                    data[offset : offset + len(put)] = put
        tree = {}

        def visit(folder, prefix):
            for name, node in entries.get(id(folder), folder.first_entries).items():
                data = bytes(content.get(id(node), node.first[0]))
                tree[prefix + name] = Entry(node.kind, data, mode.get(id(node), node.first[1]))
                if node.kind == "directory":
                    visit(node, prefix + name + "/")

        visit(self.top, "")
        return tree


def readable(arguments):
    """Hexadecimal strings as text; long ones are cut."""
    def text(match):
        raw = bytes.fromhex(match.group().replace("\\x", "")).decode(errors="replace")
        return raw if len(raw) < 60 else raw[:40] + "…"

    return re.sub(r"(?:\\x[0-9a-f]{2})+", text, arguments)


# The question marks allow calls that this machine or this strace lacks.
OPTIONS = ["-y", "-xx", "-s", "100000000", "-e", "trace=" + ",".join(f"?{name}" for name in sorted(MODELLED | READS))]

