"""The world of a line: a folder of small files, a home, unusual environments, limits and descriptors."""

import os
import resource
import shutil
import stat

FILES = {
    "data.csv": b'id,name,price,when\n1,Rome,10,2026-01-01\n2,"Os,lo",20.5,2026-02-28T12:00:00Z\n3,Bern,1e400,\n4,,9223372036854775807,1677-09-20\n',
    "typed.csv": b"n,real,flag,when\n" + b"".join(b"%d,%d.5,true,2026-01-%02d\n" % (9 * 10**18 + i, i, i % 28 + 1) for i in range(40)),
    "many.csv": b"a,b\n" + b"".join(b"%d,row %d\n" % (i, i % 7) for i in range(3000)),
    "nul.csv": b"a,b\n" + b"".join(b"%d,row\n" % i for i in range(1100)) + b"\0,\0\n",
    "header.csv": b"a,b,a",
    "empty.csv": b"",
    "open.csv": b'a,b\n1,"never closed\n2,3\n',
    "latin.csv": b"n\xefm,b\n\xe9,1\n",
    "notes.md": b"before\n# First\none\n\n## 3\ntwo\nthree\n# Last\n",
    "notes.txt": b"line one\nline two\r\n\nline four\n" * 20,
    "bytes.bin": bytes(range(256)) * 8,
    "folder/apple.txt": b"apple\n",
    "folder/b/pear.TXT": b"pear\n",
    "folder/.hidden": b"",
    "odd \xc3\xa9\nname.csv": b"x\n1\n",
    "not-\xff.csv": b"x\n1\n",
}

LINKS = {"link.csv": "data.csv", "loop": "loop", "gone.csv": "nowhere/at/all"}


class World:
    """`folder` is emptied first. Below it, only edits may change `user`."""

    def __init__(self, folder):
        self.folder = folder
        self.user = os.path.join(folder, "user")
        self.home = os.path.join(folder, "home")
        names = [os.fsdecode(name if isinstance(name, bytes) else name.encode("latin-1")) for name in FILES]
        self.files = [*names, *LINKS, "folder", ".", "processes:", "data.csv", "data.csv", "many.csv", "notes.md"]
        self.columns = ["id", "name", "price", "when", "a", "b", "a 2", "n", "real", "flag", "line", "size", "modified", "mode", "kind", "pid", "nice", "memory", "cpu", "started", "x", "offset"]
        self.titles = ["First", "3", "Last", "a", "A", "f", "b"]
        self.ids = []
        self.tables = {}

    def make(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in [self.user, self.home, self.home + "/runtime"]:
            os.makedirs(folder)
        for name, data in FILES.items():
            place = os.path.join(self.user.encode(), name.encode("latin-1"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as stream:
                stream.write(data)
        for name, target in LINKS.items():
            os.symlink(target, os.path.join(self.user, name))
        self.state = self.look()

    def look(self):
        """The state of the user's files. A changed file has another state."""
        state = {}
        for folder, folders, names in os.walk(self.user.encode()):
            for name in folders + names:
                status = os.lstat(os.path.join(folder, name))
                is_folder = stat.S_ISDIR(status.st_mode)
                state[os.path.join(folder, name)] = (
                    status.st_mode, status.st_uid, status.st_nlink,
                    *(() if is_folder else (status.st_ino, status.st_size, status.st_mtime_ns)),
                )  # fmt: skip
        return state

    def environment(self):
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self.home,
            "LC_ALL": "C.UTF-8",
            "TABELLA_PAGER": "cat",
            "TMPDIR": self.home,
            # An editor that waits for a person would never end.
            "VISUAL": "true",
        }

    def harmless(self, command, words, draw):
        """A harmless variant of the line, which kills nothing and ends by itself."""
        edits = command in ("set", "insert", "delete", "move", "apply", "edit", "undo")
        if edits and any("processes" in word for word in words):
            # It comes first, so that no option takes it as its argument.
            return ["--dry-run", *words]
        if command == "check":
            words = [word for word in words if not word.startswith("--edit")]
            return [*words, "--only", draw.pick(["loads", "entry-is-quick", "opens", "nothing"]), "--timeout", "5"]
        return words


ODD = ["", " ", "/", ".", "relative", "/nowhere/at/all", "/dev/null", "/proc", "\udcff", "x" * 5000, "0", "1", "-1", "99999999999999999999", "é", ":", "::", "/:/", "%s"]
VARIABLES = {
    "HOME": ODD,
    "XDG_STATE_HOME": ODD,
    "XDG_DATA_HOME": ODD,
    "XDG_CONFIG_HOME": ODD,
    "XDG_CACHE_HOME": ODD,
    "TMPDIR": ODD,
    "PATH": ODD,
    "LC_ALL": ["", "C", "C.UTF-8", "xx_YY.utf8", *ODD],
    "LANG": ["", "C", "tr_TR.UTF-8", *ODD],
    "TERM": ["", "dumb", "xterm", "linux", *ODD],
    "COLUMNS": ["80", "1", "0", "10001", "2147483648", *ODD],
    "LINES": ["24", "1", "0", *ODD],
    "NO_COLOR": ["", "1"],
    "CLICOLOR": ["", "0", "1", *ODD],
    "CLICOLOR_FORCE": ["", "0", "1", *ODD],
    "FORCE_COLOR": ["", "0", "1"],
    "PAGER": ["", "cat", "false", "no-such-program", "head -n 1"],
    "TABELLA_PAGER": ["", "cat", "false", "no-such-program", "head -n 1"],
    "VISUAL": ["true", "false", "no-such-program", "sed -i 2d", "sed -i 's/a/b/'", "sed -i '$p'", "rm"],
    "TABELLA_PROVIDER_PATH": ODD,
    "TABELLA_TRACE": ["", "-", "/dev/null", "/dev/full", "/nowhere/at/all", "../home/trace"],
    "SWIFT_BACKTRACE": ["enable=no", "", "x"],
    "TZ": ["", "UTC", "Pacific/Kiritimati", *ODD],
}


def draw_environment(draw, world):
    environment = world.environment()
    for _ in range(draw.pick([0, 0, 1, 2, 3])):
        name = draw.pick(list(VARIABLES))
        if draw.chance(0.2) and name != "VISUAL":
            environment.pop(name, None)
        else:
            environment[name] = draw.pick(VARIABLES[name])
    if draw.chance(0.02):
        return {"VISUAL": "true"}
    if draw.chance(0.01):
        environment.update({f"FILL_{n}": "x" * 1000 for n in range(500)})
    return environment


# The limits of a process. With less stack, descriptors or memory, the loader cannot start a program.
LIMITS = {
    "FSIZE": [0, 1, 511, 512, 1024, 4096, 20_480, 65_535, 65_536, 65_537, 102_400],
    "NOFILE": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 64],
    "AS": [mib << 20 for mib in (1, 8, 16, 20, 24, 28, 32, 48, 64, 80, 88, 92, 96, 100, 112, 128, 256, 1024)],
    "DATA": [mib << 20 for mib in (0, 1, 4, 16, 64, 66, 68, 70, 72, 80, 96, 128, 256)],
    "STACK": [kib << 10 for kib in (32, 64, 128, 256, 260, 300, 512, 1024, 8192)],
    "CPU": [0, 1, 2],
    "NPROC": [0, 1, 2, 5],
    "CORE": [0],
    "MEMLOCK": [0],
}


def draw_limits(draw):
    """Pairs of a limit and its value: the soft limit alone, or both as `ulimit` sets them."""
    limits = []
    for _ in range(draw.pick([0, 0, 0, 0, 1, 1, 2])):
        name = draw.pick(list(LIMITS))
        limits.append((name, draw.pick(LIMITS[name]), draw.chance(0.7)))
    return limits


def set_limits(limits):
    for name, value, is_hard in limits:
        number = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(number)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(number, (value, value if is_hard else hard))
