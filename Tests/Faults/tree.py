"""A directory with all its content, as a value: read from a disk, or computed by the model of a disk."""

import os
import shutil
import stat
import subprocess
import urllib.parse
from typing import NamedTuple

# A killed saver may leave a temporary file behind, with this prefix.
LEFTOVER = ".tabella-"


class Entry(NamedTuple):
    """The object with a name: "file", "link" (data is its target), "directory", "fifo"."""

    kind: str
    data: bytes
    mode: int


def file(data, mode=0o644):
    return Entry("file", data, mode)


def read_tree(root):
    """All entries below `root`, by relative path. Entries that vanish during the read are left out."""
    tree = {}

    def visit(folder, prefix):
        for item in os.scandir(folder):
            path = prefix + os.fsdecode(item.name)
            status = item.stat(follow_symlinks=False)
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                tree[path] = Entry("link", os.fsencode(os.readlink(item.path)), 0)
            elif stat.S_ISDIR(status.st_mode):
                tree[path] = Entry("directory", b"", mode)
                visit(item.path, path + "/")
            elif stat.S_ISREG(status.st_mode):
                with open(item.path, "rb") as stream:
                    tree[path] = Entry("file", stream.read(), mode)
            else:
                tree[path] = Entry("fifo", b"", mode)

    visit(root, "")
    for name, info, content in trash_at_the_top(root):
        with open(info, "rb") as stream:
            tree[f"data/Trash/info/{name}.trashinfo"] = file(stream.read())
        with open(content, "rb") as stream:
            tree[f"data/Trash/files/{name}"] = file(stream.read(), stat.S_IMODE(os.stat(content).st_mode))
    return tree


def trash_at_the_top(root):
    """The entries from `root` in the trash at the top of the file system, with their notes. That trash is used if the
    one in the data folder is not available."""
    top = root
    while top != "/" and os.stat(os.path.dirname(top)).st_dev == os.stat(top).st_dev:
        top = os.path.dirname(top)
    trash = os.path.join(top, f".Trash-{os.geteuid()}")
    found = []
    for note in os.listdir(f"{trash}/info") if os.path.isdir(f"{trash}/info") else []:
        info, name = f"{trash}/info/{note}", note.removesuffix(".trashinfo")
        try:
            with open(info) as stream:
                origin = urllib.parse.unquote(stream.read().partition("Path=")[2].partition("\n")[0])
        except FileNotFoundError:
            continue
        if os.path.join(top, origin).startswith(root + "/") and os.path.isfile(f"{trash}/files/{name}"):
            found.append((name, info, f"{trash}/files/{name}"))
    return found


def write_tree(tree, root):
    """Makes `root` contain exactly this tree."""
    clear(root)
    for path, entry in sorted(tree.items()):
        place = os.path.join(root, path)
        if entry.kind == "directory":
            os.mkdir(place)
            os.chmod(place, entry.mode)
        elif entry.kind == "link":
            os.symlink(os.fsdecode(entry.data), place)
        elif entry.kind == "fifo":
            os.mkfifo(place, entry.mode)
        else:
            with open(place, "wb") as stream:
                stream.write(entry.data)
            os.chmod(place, entry.mode)


def clear(root):
    """Makes `root` an empty directory and unmounts everything in it."""
    os.makedirs(root, exist_ok=True)
    with open("/proc/self/mountinfo") as stream:
        mounted = [line.split()[4] for line in stream]
    for place in mounted:
        if place.startswith(root + "/"):
            unmount(place)
    for _, info, content in trash_at_the_top(root):
        os.unlink(content)
        os.unlink(info)
    for item in os.scandir(root):
        if item.is_dir(follow_symlinks=False):
            shutil.rmtree(item.path)
        else:
            os.unlink(item.path)


def unmount(place):
    # Lazily, because a process that another thread starts may have a file open for a moment.
    subprocess.run(["umount", "--lazy", place], check=True)


def is_leftover(path):
    return any(part.startswith(LEFTOVER) for part in path.split("/"))


def leftovers(tree):
    return sorted(path for path in tree if is_leftover(path))


def users_data(tree):
    """The user's data: the files below user/, and the files in the trash with a note of their origin. A note without a
    file is ignored. A file without a note is reported as lost."""
    seen = {}
    for path, entry in tree.items():
        if path.startswith("user/") and not is_leftover(path):
            seen[path] = entry
        elif path.startswith("data/Trash/files/") and not is_leftover(path):
            name, _, rest = path.removeprefix("data/Trash/files/").partition("/")
            note = tree.get(f"data/Trash/info/{name}.trashinfo")
            origin = [line for line in note.data.split(b"\n") if line.startswith(b"Path=")] if note else []
            where = os.fsdecode(origin[0][5:]) if origin else f"without a note: {name}"
            seen[f"trash {os.path.basename(where)}" + (f"/{rest}" if rest else "")] = entry
    return seen


def difference(have, want):
    """A short description of the differences between two trees."""
    words = []
    for path in sorted(have.keys() | want.keys()):
        a, b = have.get(path), want.get(path)
        if a == b:
            continue
        if a is None or b is None:
            words.append(f"{path} is {'missing' if a is None else 'there'}")
        elif a.kind != b.kind:
            words.append(f"{path} is a {a.kind}, not a {b.kind}")
        elif a.data != b.data:
            at = next((i for i, (x, y) in enumerate(zip(a.data, b.data)) if x != y), min(len(a.data), len(b.data)))
            words.append(f"{path} has {len(a.data)} bytes, not {len(b.data)}, and differs at {at}")
        else:
            words.append(f"{path} has mode {a.mode:o}, not {b.mode:o}")
    return "; ".join(words[:4])
