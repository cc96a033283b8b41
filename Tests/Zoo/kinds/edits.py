"""P28 to P33, P23, P34: lies about edits and changes."""

from animal import WHOLE, Animal, Library

BROKE = "broke the contract"
DEAD = "SIG|ended"
EDITS = Library("edits", "edits.c")
SET = ("set", "{file}", "0:1", "word=changed")
DELETE = ("delete", "{file}", "0:1", "--yes")
INSERT = ("insert", "{file}", "0:1", "word=new")
MOVE = ("move", "{file}", "0:1", "0:5")


def edit(kind, name, status, says=None, command=SET, **more):
    return Animal(kind, more.pop("called", name), EDITS, command, name, status, says=says, **more)


def edits():
    # P28: reported but not done.
    for word, command in [("set", SET), ("delete", DELETE), ("insert", INSERT), ("move", MOVE)]:
        # If rows are equal, nobody can tell whether a move was done. Only the check compares all rows.
        yield edit("P28", "does-nothing", (3,) if word != "move" else (0, 3), BROKE, command, called=f"does-nothing-{word}",
                   check=("edits-replay|dry-runs-change-nothing", "failed"))  # fmt: skip
    yield edit("P28", "does-half", (0, 1, 3), BROKE, ("apply", "{file}", "{place}/batch"), prepare=batch_of_two)
    yield edit("P28", "sets-something-else", (3,), BROKE)
    yield edit("P28", "sets-another", (3,), BROKE)
    # P29: done but not reported.
    for name in ["says-failed", "says-conflict"]:
        yield edit("P29", name, (1, 3), "version went|" + BROKE, after=was_changed)
    yield edit("P29", "says-not-done", (1, 3, 4), "", after=was_changed)
    yield edit("P29", "says-partly", (1, 3), "", after=was_changed)
    # P30, P31: more was done. Only `tabella check` compares all rows.
    for name in ["sets-the-next-too", "drops-a-row", "doubles-a-row", "shuffles"]:
        kind = "P30" if name.startswith("sets") else "P31"
        yield edit(kind, name, (0, 3), BROKE, MOVE if kind == "P31" else SET, check=("edits-replay|dry-runs-change-nothing", "failed"))
    yield edit("P31", "drops-everything", (3,), BROKE, MOVE)
    yield edit("P24", "gives-new-ids", (0, 3), BROKE, check=("set-reads-back", "failed"))
    yield edit("P24", "gives-ids-again", (0, 3), BROKE, INSERT)
    # P32: editability.
    yield edit("P32", "says-read-only", (0, 4), "", check=("refused-edits-change-nothing", "failed"))
    yield edit("P32", "says-columns-read-only", (0, 4), "", check=("refused-edits-change-nothing", "failed"))
    yield edit("P32", "refuses-all", (4,), "not this one either")
    yield edit("P32", "dry-run-does-it", (0, 1, 3), BROKE, (*SET, "--dry-run"), check=("dry-runs-change-nothing", "failed"))
    yield edit("P32", "takes-any-version", (0,), check=("stale-versions-conflict", "failed"))
    yield edit("P32", "strange-answers", (0, 3), BROKE, ("show", "{file}", "--json"))
    yield edit("P35", "writes-beyond", (0, 3), DEAD, ("show", "{file}", "--json"))
    # P33: dies, leaves or hangs in the middle. Then the host knows the outcome, or reports that it is unknown.
    for when, done in [("at-once", False), ("before", False), ("halfway", None), ("after", True)]:
        for how in ["dies", "leaves"] if when != "halfway" else ["dies"]:
            yield edit("P33", f"{how}-{when}", (0, 1, 3), "", after=said_truly(done))
    for when in ["before", "after"]:
        yield edit("P33", f"hangs-{when}", (0, 1, 3), "", slow=True, seconds=40, after=said_truly(when == "after"))
    # False reports.
    for name in ["no-outcomes", "null-outcomes", "an-outcome-too-many", "billion-outcomes", "negative-outcomes", "strange-code",
                 "another-rows-id", "id-of-nobody", "id-of-escapes", "null-changes", "billion-changes", "negative-changes",
                 "strange-change", "change-past-the-end", "change-nowhere", "says-deleted", "says-it-twice",
                 "from-another-version", "to-another-version", "to-the-old-version", "version-of-escapes", "changes-and-reload",
                 "negative-receipt", "receipt-without-end"]:  # fmt: skip
        kind = "P27" if "escapes" in name else "P23" if "change" in name or "says" in name else "P28"
        yield edit(kind, name, (0, 1, 3), "")
    for name in ["wild-outcomes", "wild-outcome-id", "wild-changes", "wild-receipt", "wild-result-release"]:
        yield edit("P10", name, (0, 1, 3), "")
    yield edit("P27", "message-of-escapes", (0, 1, 3), "", remarks="done")
    yield edit("P31", "no-changes", (0, 3), "")
    yield edit("P33", "no-receipt", (0,))
    yield edit("P35", "receipt-of-200-MB", (0, 1, 3), "", slow=True, seconds=40, megabytes=1200)
    yield edit("P35", "nobody-frees-it", (0, 3), "")
    yield edit("P28", "target-nowhere", (1, 3), "", MOVE)
    yield edit("P28", "target-elsewhere", (0,), None, MOVE)
    # Undo.
    for name in ["undo-does-nothing", "undo-dies", "undo-drops-everything"]:
        yield edit("P28" if name != "undo-dies" else "P12", name, (0, 1, 3), "", ("undo", "{file}"), before=SET,
                   check=("undo-restores", "failed"))  # fmt: skip


# The edited file: the words of its first rows, or None if it is still the empty file of the start.


def kept(place):
    file = next((place / "files").iterdir())
    return file.read_bytes()


def was_changed(place, outcome):
    return None if b"changed" in kept(place) else "the edit was not done after all"


def said_truly(done):
    """No confirmed edit may be lost, and no completed edit may be reported as undone."""

    def look(place, outcome):
        changed = b"changed" in kept(place)
        text = outcome.err.decode(errors="replace")
        if outcome.status == 0 and not changed:
            return f"called done, and is not: {text}"
        if changed and "nothing was done" in text:
            return f"called not done, and is: {text}"
        if done is not None and changed != done:
            return f"the animal does not do what it is for: changed is {changed}"
        return None

    return look


def batch_of_two(place):
    (place / "batch").write_text('{"op":"set","row":"0:0","cells":{"word":"changed"}}\n{"op":"set","row":"0:3","cells":{"word":"changed"}}\n')


# P23, P34: changes, and threads

THREADS = Library("threads", "threads.c")


def threads():
    for name in ["tells-without-end", "never-stops", "logs-from-a-thread", "uses-its-own-source", "asks-the-host-nonsense",
                 "tells-in-listen", "listen-fails"]:  # fmt: skip
        yield Animal("P34", name, THREADS, location=name, status=(0, 3), says="", shows=WHOLE)
    yield Animal("P34", "tells-a-wild-listener", THREADS, location="tells-a-wild-listener", says="SIGSEGV")
    for name in ["tells-in-pull", "changes-without-a-version", "came-past-the-end", "came-nowhere", "three-came-of-two", "billion-came",
                 "wild-changes", "wild-pull-version", "grows-in-secret"]:  # fmt: skip
        # `show` does not request changes; `tabella check` does.
        yield Animal("P23", name, THREADS, location=name, status=(0, 3), says="", shows=WHOLE, check=None if name == "tells-in-pull" else ("pulls-replay", "failed"))


ANIMALS = [*edits(), *threads()]
