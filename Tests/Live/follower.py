"""A table that follows `tabella show --follow --format jsonl`, and a fresh reading to compare it with."""

import json
import subprocess
import threading
import time


class Follower:
    """Applies each line of the command to a list of sections, as docs/following.md describes it."""

    def __init__(self, tabella, words):
        self.command = [tabella, "show", *words, "--follow", "--format", "jsonl"]
        self.sections = []  # each is [title, rows]; a row is [id, cells]
        self.inserted = []  # the cells of all rows that were ever inserted or reloaded, in order
        self.lines = 0
        self.wrong = None  # the first line that could not be applied
        self.last = time.monotonic()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.errors = b""
        self.threads = [threading.Thread(target=self._read), threading.Thread(target=self._complain)]
        for thread in self.threads:
            thread.daemon = True
            thread.start()

    def _complain(self):
        for line in self.process.stderr:
            self.errors += line

    def _read(self):
        for line in self.process.stdout:
            self.lines += 1
            if self.wrong is None:
                try:
                    self._apply(json.loads(line))
                except (IndexError, KeyError, ValueError) as error:
                    self.wrong = (repr(error), line)
            self.last = time.monotonic()

    def _rows(self, number):
        # A table without sections has no objects about sections.
        if number == 0 and not self.sections:
            self.sections.append([None, []])
        return self.sections[number][1]

    def _apply(self, change):
        kind, section, row = change["change"], change.get("section"), change.get("row")
        if kind == "reset":
            # The rows until now are void. Those that still exist are inserted again.
            void = {id(cells) for _, rows in self.sections for _, cells in rows}
            self.inserted = [cells for cells in self.inserted if id(cells) not in void]
            self.sections = []
        elif row is None:
            self._apply_to_section(kind, section, change)
        elif kind == "insert":
            rows = self._rows(section)
            if not 0 <= row <= len(rows):
                raise IndexError(f"insert at {row} of {len(rows)}")
            rows.insert(row, [change["id"], change["cells"]])
            self.inserted.append(change["cells"])
        elif kind == "delete":
            del self._rows(section)[row]
        elif kind == "move":
            moved = self._rows(change["from"]["section"]).pop(change["from"]["row"])
            self._rows(section).insert(row, moved)
        elif kind == "update":
            self._rows(section)[row] = [change["id"], change["cells"]]
        elif kind == "reload":
            self._rows(section)[row] = [change["id"], change["cells"]]
            self.inserted.append(change["cells"])
        else:
            raise ValueError(kind)

    def _apply_to_section(self, kind, section, change):
        if kind == "insert":
            self.sections.insert(section, [change["title"], []])
        elif kind == "delete":
            del self.sections[section]
        elif kind == "move":
            self.sections.insert(section, self.sections.pop(change["from"]["section"]))
        elif kind == "update":
            self.sections[section][0] = change["title"]
        elif kind == "reload":
            self.sections[section] = [change["title"], []]
        else:
            raise ValueError(kind)

    def settle(self, quiet=1.5, most=120.0):
        """Waits until no line came for `quiet` seconds. Returns false if lines still come after `most` seconds."""
        end = time.monotonic() + most
        while time.monotonic() < end:
            if self.process.poll() is not None or time.monotonic() - self.last > quiet:
                return True
            time.sleep(0.05)
        return False

    def stop(self):
        """Ends the command as Ctrl-C does. Returns its status."""
        if self.process.poll() is None:
            self.process.send_signal(2)
        status = self.process.wait(timeout=20)
        for thread in self.threads:
            thread.join()
        # A shell reports a program that ended by a signal as 128 plus the number of the signal.
        return status if status >= 0 else 128 - status

    def content(self):
        return [[title, rows] for title, rows in self.sections if rows]


def fresh(tabella, words):
    """The sections with rows of a fresh reading, in the form of `Follower.content`."""
    result = subprocess.run([tabella, "show", *words, "--json"], capture_output=True, check=True)
    table = json.loads(result.stdout)
    names = [column["name"] for column in table["columns"]]
    return [
        [section["title"], [[row["id"], dict(zip(names, row["cells"]))] for row in section["rows"]]]
        for section in table["sections"] if section["rows"]
    ]


def without_ids(content):
    return [[title, [cells for _, cells in rows]] for title, rows in content]


def difference(followed, read):
    """The first difference of two contents in one line; None if they are equal."""
    for number in range(max(len(followed), len(read))):
        ours = followed[number] if number < len(followed) else None
        theirs = read[number] if number < len(read) else None
        if ours == theirs:
            continue
        if ours is None or theirs is None or ours[0] != theirs[0]:
            return f"section {number}: followed {ours and ours[0]}, fresh {theirs and theirs[0]}"
        for row in range(max(len(ours[1]), len(theirs[1]))):
            left = ours[1][row] if row < len(ours[1]) else None
            right = theirs[1][row] if row < len(theirs[1]) else None
            if left != right:
                return (f"section {number} ({ours[0]}), row {row} of {len(ours[1])} and {len(theirs[1])}: "
                        f"followed {left}, fresh {right}")
    return None
