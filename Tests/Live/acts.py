"""Random acts on folders, files and processes."""

import os
import shutil
import subprocess


class Tree:
    """A folder that changes at random: entries are created, renamed, moved, written and deleted."""

    def __init__(self, root, random):
        self.root = root
        self.random = random
        self.number = 0

    def _folders(self):
        return [folder for folder, _, _ in os.walk(self.root)]

    def _entries(self):
        return [
            os.path.join(folder, name)
            for folder, folders, files in os.walk(self.root) for name in folders + files
        ]

    def act(self, count):
        """Does `count` acts. The lists of folders and entries are renewed now and then, because walking is slow."""
        done = 0
        while done < count:
            folders, entries = self._folders(), self._entries()
            self.random.shuffle(entries)
            for _ in range(min(40, count - done)):
                done += 1
                try:
                    self._one(folders, entries)
                except OSError:
                    pass  # An earlier act of this round took the entry away.

    def _new(self, folders):
        self.number += 1
        return os.path.join(self.random.choice(folders), f"n{self.number}")

    def _one(self, folders, entries):
        kind = self.random.randrange(12)
        if kind < 4 or not entries:
            with open(self._new(folders), "w") as file:
                file.write("x" * self.random.randrange(300))
        elif kind == 4:
            os.mkdir(self._new(folders))
        elif kind < 7:
            os.rename(entries.pop(), self._new(folders))
        elif kind == 7:
            with open(self.random.choice(entries), "a") as file:
                file.write("more")
        elif kind == 8:
            os.chmod(self.random.choice(entries), self.random.choice([0o600, 0o644, 0o755]))
        elif kind == 9:
            os.symlink("nowhere", self._new(folders))
        else:
            gone = entries.pop()
            # Large trees go rarely, or nothing would be left.
            if not os.path.isdir(gone) or os.path.islink(gone):
                os.unlink(gone)
            elif self.random.randrange(4) == 0:
                shutil.rmtree(gone)


class Records:
    """A CSV file that another program appends to, edits in place, truncates and replaces."""

    header = b"id,city,amount\n"

    def __init__(self, path, random):
        self.path = path
        self.random = random
        self.number = 0
        with open(path, "wb") as file:
            file.write(self.header + b"".join(self._record() for _ in range(50)))

    def _record(self):
        self.number += 1
        city = self.random.choice([b"Bonn", b"Cork", b'"Oslo, N"', b"Rome"])
        return b"%d,%s,%d\n" % (self.number, city, self.random.randrange(1000))

    def act(self):
        kind = self.random.randrange(10)
        if kind < 6:
            with open(self.path, "ab") as file:
                for _ in range(self.random.randrange(1, 20)):
                    file.write(self._record())
        elif kind == 6:
            with open(self.path, "r+b") as file:
                lines = file.read().splitlines(keepends=True)
                if len(lines) < 3:
                    return
                chosen = self.random.randrange(1, len(lines))
                lines[chosen] = self._record()
                file.seek(0)
                file.write(b"".join(lines))
                file.truncate()
        elif kind == 7:
            with open(self.path, "r+b") as file:
                lines = file.read().splitlines(keepends=True)
                file.truncate(sum(map(len, lines[:1 + self.random.randrange(len(lines))])))
        elif kind == 8:
            with open(self.path + ".new", "wb") as file:
                file.write(self.header + b"".join(self._record() for _ in range(self.random.randrange(40))))
            os.rename(self.path + ".new", self.path)
        else:
            # An edit that leaves the size, and an append right behind it.
            with open(self.path, "r+b") as file:
                content = file.read()
                at = content.rfind(b",") + 1
                if at > len(self.header):
                    file.seek(at)
                    file.write(b"7")
                file.seek(0, 2)
                file.write(self._record())


class Children:
    """Processes that start and end at random."""

    def __init__(self, random):
        self.random = random
        self.running = []

    def act(self):
        if self.running and self.random.randrange(2) == 0:
            child = self.running.pop(self.random.randrange(len(self.running)))
            child.kill()
            child.wait()
        else:
            self.running.append(subprocess.Popen(["sleep", "1000"]))

    def end(self):
        for child in self.running:
            child.kill()
            child.wait()
