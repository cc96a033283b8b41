"""The tested commands of tabella: each command that changes something, on each kind of table."""

from case import Adder, BigCase, Case
from tree import Entry, file

HEADER = b"id,name,price\n"
ROWS = 160
DATA, NOTES = "user/data.csv", "user/notes.txt"


def record(i, price=b"1.25"):
    return b'%d,"row %d, quoted",%s\n' % (i, i, price)


def csv_lines():
    return [record(i) for i in range(ROWS)]


def text_lines():
    return [b"line %d of the notes, as it is\n" % i for i in range(ROWS)]


def link(target):
    return Entry("link", target.encode(), 0)


def csv_case(program, name, command, lines, **more):
    """`lines` are the records afterwards."""
    fields = {
        "files": {DATA: file(HEADER + b"".join(csv_lines()), 0o640)},
        "change": {DATA: file(HEADER + b"".join(lines), 0o640)},
        "follow": ["set", "@/" + DATA, "3", "name=next"],
        "undo": ["undo", "@/" + DATA],
        "whole_leftovers": True,
    }
    return Case(f"csv {name}", program, command=command, **{**fields, **more})


def text_case(program, name, command, lines, **more):
    fields = {
        "files": {NOTES: file(b"".join(text_lines()), 0o640)},
        "change": {NOTES: file(b"".join(lines), 0o640)},
        "follow": ["set", "@/" + NOTES, "3", "line=next"],
        "undo": ["undo", "@/" + NOTES],
        "target": NOTES,
        "whole_leftovers": True,
    }
    return Case(f"text {name}", program, command=command, **{**fields, **more})


def replaced(lines, at, line):
    return lines[:at] + [line] + lines[at + 1 :]


def inserted(lines, at, line):
    return lines[:at] + [line] + lines[at:]


def deleted(lines, at):
    return lines[:at] + lines[at + 1 :]


def moved(lines, source, target):
    rest = deleted(lines, source)
    return inserted(rest, target, lines[source])


BATCH = b"""{"op":"set","row":"0:5","cells":{"price":"9.75"}}
{"op":"delete","row":"0:7"}
{"op":"insert","at":"0:2","cells":{"id":"new","name":"row","price":"3"}}
"""
TEXT_BATCH = b"""{"op":"set","row":"0:5","cells":{"line":"changed"}}
{"op":"delete","row":"0:7"}
{"op":"insert","at":"0:2","cells":{"line":"inserted"}}
"""


def files(program):
    """Commands on files: what a save changes."""
    lines, text = csv_lines(), text_lines()
    data, notes = "@/" + DATA, "@/" + NOTES
    set_words = ["set", data, "80", "price=9.75"]
    changed = replaced(lines, 80, record(80, b"9.75"))
    batch = inserted(deleted(replaced(lines, 5, record(5, b"9.75")), 7), 2, b"new,row,3\n")
    text_batch = inserted(deleted(replaced(text, 5, b"changed\n"), 7), 2, b"inserted\n")
    old = file(HEADER + b"".join(lines), 0o640)
    new = file(HEADER + b"".join(changed), 0o640)
    real = "user/real/data.csv"
    return [
        csv_case(program, "set", set_words, changed),
        csv_case(program, "insert", ["insert", data, "80", "id=7", "name=a", "price=2"], inserted(lines, 80, b"7,a,2\n")),
        csv_case(program, "delete", ["delete", data, "80", "--yes"], deleted(lines, 80)),
        csv_case(program, "move", ["move", data, "10", "100"], moved(lines, 10, 100)),
        csv_case(
            program, "apply", ["apply", data, "@/home/batch"], batch,
            files={DATA: old, "home/batch": file(BATCH)},
        ),
        csv_case(program, "undo", ["undo", data], lines, before=[set_words], undo=None),
        csv_case(
            program, "set --backup", [*set_words, "--backup=.old"], changed,
            change={DATA: new, "user/data.csv.old": old}, extra={"user/data.csv.old": old},
        ),
        csv_case(
            program, "set --in-place", [*set_words, "--in-place"], changed,
            hard_links={"user/twin.csv": DATA}, in_place=True, change={DATA: new, "user/twin.csv": new},
            follow=["set", data, "3", "name=next", "--in-place"],
        ),
        csv_case(
            program, "set through a link", set_words, changed,
            files={real: old, DATA: link("real/data.csv")}, change={real: new}, target=real,
        ),
        text_case(program, "set", ["set", notes, "80", "line=changed"], replaced(text, 80, b"changed\n")),
        text_case(program, "insert", ["insert", notes, "80", "line=changed"], inserted(text, 80, b"changed\n")),
        text_case(program, "delete", ["delete", notes, "80", "--yes"], deleted(text, 80)),
        text_case(program, "move", ["move", notes, "10", "100"], moved(text, 10, 100)),
        text_case(
            program, "apply", ["apply", notes, "@/home/batch"], text_batch,
            files={NOTES: file(b"".join(text), 0o640), "home/batch": file(TEXT_BATCH)},
        ),
        text_case(
            program, "undo", ["undo", notes], text,
            before=[["set", notes, "80", "line=changed"]], undo=None,
        ),
    ]  # fmt: skip


def directories(program):
    """Commands on a folder. Each changes one name. `race_sweep` checks that they notice changes by other programs."""
    there = {f"user/{name}.txt": file(name.encode() * 50) for name in ["apple", "pear", "plum"]}
    pear = there["user/pear.txt"]
    rename = ["set", "@/user", "id-of:pear.txt", "name=quince.txt"]
    remove = ["delete", "@/user", "id-of:pear.txt", "--yes"]

    def directory(name, command, change, **more):
        return Case(
            f"directory {name}", program, there, command, change,
            follow=["set", "@/user", "id-of:apple.txt", "name=melon.txt"],
            **{"undo": ["undo", "@/user"], "target": "user/pear.txt", **more},
        )  # fmt: skip

    insert = ["insert", "@/user", "end", "name=fig.txt"]
    return [
        directory("set name", rename, {"user/pear.txt": None, "user/quince.txt": pear}),
        directory("set mode", ["set", "@/user", "id-of:pear.txt", "mode=0600"], {"user/pear.txt": pear._replace(mode=0o600)}),
        directory("insert", insert, {"user/fig.txt": file(b"")}),
        directory("delete", remove, {"user/pear.txt": None, "trash pear.txt": pear}),
        directory("delete for good", [*remove, "-o", "permanent=true"], {"user/pear.txt": None}, undo=None),
        directory("undo of set name", ["undo", "@/user"], {"user/quince.txt": None, "user/pear.txt": pear}, before=[rename], undo=None, target="user/quince.txt"),
        directory(
            "undo of insert", ["undo", "@/user"], {"user/fig.txt": None}, before=[insert], undo=None,
            target="user/fig.txt", heeds_writers=True,
        ),
        directory("undo of delete", ["undo", "@/user"], {"trash pear.txt": None, "user/pear.txt": pear}, before=[remove], undo=None),
    ]


def across(program):
    """A move to another file system. It consists of a copy and a removal, and other programs may change either file."""
    apple, pear = file(b"apple" * 50), file(b"pear" * 50)
    return [
        Case(
            f"directory {name} across", program, {"user/apple.txt": apple, "user/pear.txt": pear},
            ["set", "@/user", "id-of:pear.txt", "name=disk/pear.txt", "-o", "recursive=true", "-o", "across=true"],
            {"user/pear.txt": None, "user/disk/pear.txt": pear},
            follow=["set", "@/user", "id-of:apple.txt", "name=melon.txt"], disk="user/disk",
            target=target, origin=origin, heeds_writers=origin is None,
        )
        for name, target, origin in [
            ("original", "user/pear.txt", None), ("copy", "user/disk/pear.txt", "user/pear.txt"),
        ]
    ]  # fmt: skip


def large(program, pages=200):
    """A file of about 200 pages. The command appends a row."""
    lines = [record(i) for i in range(pages * 4096 // 27)]
    data = HEADER + b"".join(lines)
    return Case(
        f"csv insert, {pages} pages", program, {DATA: file(data)},
        ["insert", "@/" + DATA, "0", "id=7", "name=a", "price=2"],
        {DATA: file(HEADER + b"7,a,2\n" + b"".join(lines))},
        follow=["set", "@/" + DATA, "3", "name=next"],
    )  # fmt: skip


def big(program, size=50_000_000):
    lines = [record(i) for i in range(size // 30)]
    at = len(lines) // 2
    data = "@/" + DATA
    return BigCase(
        f"csv set, {size // 1_000_000} MB", program, {DATA: file(HEADER + b"".join(lines))}, [], {}, [],
        there=["set", data, str(at), "price=9.75"], back=["set", data, str(at), "price=1.25"],
        new_bytes=HEADER + b"".join(replaced(lines, at, record(at, b"9.75"))),
    )  # fmt: skip


def adder(program):
    return Adder(
        "csv insert by many", program, {DATA: file(HEADER + b"".join(csv_lines()[:10]))}, [], {}, [],
        row=lambda text: (["insert", "@/" + DATA, "end", f"id={text}", "name=n", "price=1"], f"{text},n,1\n".encode()),
    )  # fmt: skip
