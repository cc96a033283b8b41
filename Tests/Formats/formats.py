"""Reads tabella's output with common programs: formats.py TABELLA.

docs/table.schema.json checks JSON documents, docs/changes.schema.json lines of changes, and docs/choice.schema.json explanations. jq reads jsonl, Python's csv module reads csv, the rules of
PostgreSQL's COPY read plain text, and a renderer reads Markdown. All results must agree with the JSON.
"""

import base64
import csv
import html.parser
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import jsonschema
import markdown_it

TABELLA = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/table.schema.json").read_text()))
CHANGES = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/changes.schema.json").read_text()))
CHOICE = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/choice.schema.json").read_text()))
passed = 0


def run(*arguments, status=0):
    result = subprocess.run([TABELLA, *arguments], capture_output=True)
    assert result.returncode == status, f"{arguments}: {result.returncode}: {result.stderr}"
    return result.stdout


def check(truth, message):
    global passed
    assert truth, message
    passed += 1


def value(cell):
    """A cell of the JSON as bytes; None if it is missing."""
    if isinstance(cell, dict):
        return base64.b64decode(cell["base64"])
    if cell is None or isinstance(cell, bytes):
        return cell
    if isinstance(cell, bool):
        return b"true" if cell else b"false"
    return str(cell).encode()


def document(*arguments, status=0):
    text = run("show", *arguments, "--json", status=status)
    parsed = json.loads(text)
    errors = [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(parsed)]
    check(not errors, f"{arguments}: {errors[:3]}")
    for section in parsed["sections"]:
        for row in section["rows"]:
            assert len(row["cells"]) == len(parsed["columns"]), f"{arguments}: {row}"
    return parsed


def replayed(lines):
    """The sections that lines of changes describe, by docs/json.md: titles, and rows as (id, cells)."""
    sections = []
    for line in lines:
        change = json.loads(line)
        errors = [error.message for error in CHANGES.iter_errors(change)]
        check(not errors, f"{line}: {errors}")
        kind, section, row = change["change"], change.get("section"), change.get("row")
        if kind == "reset":
            sections = []
        elif row is None and kind == "insert":
            sections.insert(section, [change["title"], []])
        elif row is None and kind == "delete":
            del sections[section]
        elif row is None and kind == "move":
            sections.insert(section, sections.pop(change["from"]["section"]))
        elif row is None:
            sections[section] = [change["title"], [] if kind == "reload" else sections[section][1]]
        else:
            if not sections:
                sections = [[None, []]]
            held = sections[section][1]
            if kind == "insert":
                held.insert(row, (change["id"], change["cells"]))
            elif kind == "delete":
                assert held.pop(row)[0] == change["id"], line
            elif kind == "move":
                held.insert(row, sections[change["from"]["section"]][1].pop(change["from"]["row"]))
            else:
                assert held[row][0] == (change["id"] if kind == "update" else change.get("oldId")), line
                held[row] = (change["id"], change["cells"])
    return sections


def follow(edits, *arguments):
    """Follows a table while the functions `edits` run, and compares the replayed lines with the table at the end."""
    following = subprocess.Popen([TABELLA, "show", *arguments, "--follow", "--format", "jsonl"],
                                 stdout=subprocess.PIPE)
    os.set_blocking(following.stdout.fileno(), False)
    lines = b""

    def expected():
        parsed = document(*arguments)
        names = list(unique([column["name"] for column in parsed["columns"]]))
        return [[section["title"], [(row["id"], dict(zip(names, row["cells"]))) for row in section["rows"]]]
                for section in parsed["sections"]]

    for edit in [lambda: None, *edits]:
        edit()
        end = time.monotonic() + 20
        while True:
            lines += following.stdout.read() or b""
            now = replayed(lines.decode().splitlines()) if lines.endswith(b"\n") else None
            if now == expected() or (now in (None, []) and not any(rows for _, rows in expected())):
                break
            assert time.monotonic() < end, f"{arguments}: {now} is not {expected()}"
            time.sleep(0.05)
    following.terminate()
    following.wait()
    check(True, "the replayed lines are the table")


def rows(parsed):
    return [row["cells"] for section in parsed["sections"] for row in section["rows"]]


def unique(names):
    seen = set()
    for name in names:
        number, candidate = 2, name
        while candidate in seen:
            candidate, number = f"{name} {number}", number + 1
        seen.add(candidate)
        yield candidate


class Tables(html.parser.HTMLParser):
    """The cells of the tables in a page, as text."""

    def __init__(self):
        super().__init__()
        self.rows, self.cell = [], None

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = ""
        else:
            assert tag in ("table", "thead", "tbody", "h2", "p"), f"<{tag}> was rendered"

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self.cell)
            self.cell = None

    def handle_data(self, text):
        if self.cell is not None:
            self.cell += text


def unescape(text):
    """Decodes a field of PostgreSQL's COPY in text format."""
    if text == b"\\N":
        return None
    names = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"\\": b"\\"}
    return re.sub(
        rb"\\(x[0-9a-f]{2}|.)",
        lambda match: bytes([int(match[1][1:], 16)]) if match[1][:1] == b"x" else names[match[1]],
        text,
    )


def compare(arguments, exact=True):
    """Checks that all formats of an unchanging table contain the same data as its JSON."""
    parsed = document(*arguments)
    names = [column["name"] for column in parsed["columns"]]
    expected = [[value(cell) for cell in row] for row in rows(parsed)]

    text = run("show", *arguments, "--format", "jsonl")
    keyed = subprocess.run(
        ["jq", "-c", "."], input=text, capture_output=True, check=True
    ).stdout.splitlines()
    objects = [dict(zip(unique(names), row)) for row in rows(parsed)]
    check([json.loads(line) for line in keyed] == objects, f"{arguments}: jsonl through jq")

    text = run("export", *arguments, "--format", "csv")
    lines = list(csv.reader(io.StringIO(text.decode("latin-1"), newline=""), strict=True))
    header = [name.encode().decode("latin-1") for name in names]
    check(lines[0] == header, f"{arguments}: the header of csv: {lines[0]}")
    plain = [[(cell or b"").decode("latin-1") for cell in row] for row in expected]
    check(lines[1:] == plain, f"{arguments}: csv")

    text = run("export", *arguments, "--format", "plain")
    check(all(0x20 <= byte < 0x7F or byte >= 0x80 or byte in b"\t\n" for byte in text), "controls")
    fields = [[unescape(field) for field in line.split(b"\t")] for line in text.split(b"\n")[:-1]]
    check(fields == expected, f"{arguments}: plain")

    text = run("export", *arguments, "--format", "tsv")
    fields = [[unescape(field) for field in line.split(b"\t")] for line in text.split(b"\n")[1:-1]]
    check(fields == [[cell or b"" for cell in row] for row in expected], f"{arguments}: tsv")

    if exact:
        text = run("show", *arguments, "--format", "markdown").decode()
        page = Tables()
        page.feed(markdown_it.MarkdownIt("commonmark").enable("table").render(text))
        shown = [[cell for cell in row] for row in page.rows if row != names]
        wanted = [[readable(cell) for cell in row] for row in expected]
        check(shown == wanted, f"{arguments}: markdown: {shown} {wanted}")


def reads_back(name):
    """Checks that csv, tsv and plain exports of a CSV file read back equal, with the options that the manual names."""
    parsed = document(name)
    for form, options in [
        ("csv", ["delimiter=comma"]),
        ("tsv", ["escapes=true"]),
        ("plain", ["escapes=true", "header=false"]),
    ]:
        back = f"back.{form}.csv"
        pathlib.Path(back).write_bytes(run("export", name, "--format", form))
        again = document(back, *(word for option in options for word in ["-o", option]))
        wanted = rows(parsed)
        if form != "plain":
            wanted = [["" if cell is None else cell for cell in row] for row in wanted]
            check(again["columns"] == parsed["columns"], f"{name}: columns through {form}")
        check(rows(again) == wanted, f"{name}: through {form}: {rows(again)} {wanted}")


def readable(cell):
    """The form of text in a table: control characters as escapes. Markdown removes blanks at the ends."""
    text = (cell or b"").decode()
    return "".join(
        {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(letter)
        or (f"\\x{ord(letter):02x}" if ord(letter) < 0x20 or ord(letter) == 0x7F else letter)
        for letter in text
    ).strip()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    tricky = [
        ["", "a", "b c", " blank ", "*star* _under_ `code`", "[link](x)", "<b>&amp;</b>"],
        ["a|b", "\\|", "a\nb", "tab\there", "\x1b[31m", "é漢👩‍👩‍👧", '"quoted"', "1. x", "~~no~~"],
        ["![x](y)", "http", "\\", "\\N", "# h", "- x", "> q", "||", "\\\\", "a\r\nb", "=", "{#id}"],
    ]
    cells = [cell for line in tricky for cell in line]
    with open("tricky.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "value", "name"])
        for number, cell in enumerate(cells):
            writer.writerow([f"n{number}", cell, cells[-number]])
        file.write("short\n")
    compare(["tricky.csv"])
    reads_back("tricky.csv")
    compare(["tricky.csv", "--columns", "value"])
    compare(["tricky.csv", "--rows", "3..9", "--sort", "value"])
    pathlib.Path("bytes.csv").write_bytes(b"a,b\n\xff,\xc3\xa9\n\xc2\x9b,\xe2\x80\xae\n")
    compare(["bytes.csv"], exact=False)
    reads_back("bytes.csv")
    pathlib.Path("typed.csv").write_text("i,r,b,d\n1,2.5,true,2026-01-02\n,,,\n-3,1e300,false,1999-12-31\n")
    compare(["typed.csv"], exact=False)
    typed = ["typed.csv", "-o", "types=infer"]
    check(rows(document(*typed)) == [
        [1, 2.5, True, "2026-01-02T00:00:00Z"], [None] * 4, [-3, 1e300, False, "1999-12-31T00:00:00Z"]
    ], "inferred types are values in JSON")
    for form in ["csv", "tsv", "plain", "markdown"]:
        # In Markdown, the second line contains the alignment, which differs for numbers.
        kept = [[line for number, line in enumerate(run("show", *words, "--format", form).split(b"\n"))
                 if form != "markdown" or number != 1] for words in [typed, ["typed.csv"]]]
        check(kept[0] == kept[1], f"inferred types rewrite nothing in {form}")
    os.mkdir("folder")
    for name in [b"plain", b"with blank", b"\xff\xfe", b"new\nline", b"-dash", b"\x1b]0;title\x07"]:
        open(b"folder/" + name, "w").close()
    compare(["folder"], exact=False)
    pathlib.Path("notes.md").write_text("x\n# One\na|b\n\n# Two\n*c*\n")
    compare(["notes.md", "-o", "sections=headings"])

    # Documents of every provider and shape.
    document("processes:")
    document("processes:", "--section-by", "user", "--sort", "memory:desc")
    document("folder", "-o", "sections=folder", "-o", "recursive=true")
    document("notes.md", "-o", "sections=headings", "--at-index", "Two")
    document("tricky.csv", "notes.md", "folder")
    document("tricky.csv", "--section-by", "name:letter")
    document("tricky.csv", "--filter", "name = nobody")
    pathlib.Path("empty.csv").write_text("")
    document("empty.csv")
    # After an error in the middle, the document is complete and contains the reason.
    pathlib.Path("many.csv").write_text("a\n" + "1\n" * 5000 + '"never closed\n')
    check("sections" in document("many.csv"), "a quote that is not closed is a remark")

    # The choice of a provider, for each way to choose one that needs no added provider.
    def choice(*arguments):
        found = json.loads(run("describe", *arguments, "--json"))["choice"]
        errors = [f"{error.json_path}: {error.message}" for error in CHOICE.iter_errors(found)]
        check(not errors, f"{arguments}: {errors[:3]}")
        return [(candidate["by"], candidate["provider"]) for candidate in found["candidates"]]

    check(choice("empty.csv") == [("pattern", "csv"), ("pattern", "text")], "a pattern chooses")
    check(choice("csv:notes.md") == [("scheme", "csv")], "a scheme chooses")
    check(choice("notes.md", "--provider", "csv") == [("name", "csv")], "a name chooses")
    check(choice("folder") == [("pattern", "directory")], "a folder has one provider")

    # Lines of changes, replayed.
    def write(name, text):
        return lambda: pathlib.Path(name).write_text(text)

    def append(name, text):
        def act():
            with open(name, "a") as file:
                file.write(text)
        return act

    write("log", "# A\none\n# B\ntwo\n")()
    follow([append("log", "three\n"), append("log", "# C\nfour\n"), write("log", "# B\ntwo\n")],
           "log", "-o", "sections=headings")
    write("live.csv", "a,b\n1,x\n2,y\n3,x\n")()
    edits = [append("live.csv", "4,z\n0,x\n"), write("live.csv", "a,b\n9,x\n3,z\n"), write("live.csv", "a,b\n")]
    for shape in [[], ["--sort", "a:desc"], ["--section-by", "b"], ["--filter", "a > 1"]]:
        write("live.csv", "a,b\n1,x\n2,y\n3,x\n")()
        follow(edits, "live.csv", *shape)
    os.mkdir("live")
    follow([write("live/b", "1"), write("live/a", ""), lambda: os.rename("live/b", "live/c"),
            lambda: os.remove("live/a")], "live", "--columns", "name,size", "--sort", "name:desc")

    # The section as a column.
    lines = run("export", "notes.md", "-o", "sections=headings", "--with-section").splitlines()
    check(lines == [b"section,line", b",x", b"One,a|b", b"One,", b"Two,*c*"], f"{lines}")
    line = run("export", "notes.md", "-o", "sections=headings", "--with-section", "--format", "jsonl")
    check(json.loads(line.splitlines()[1]) == {"section": "One", "line": "a|b"}, f"{line}")

print(f"{passed} passed, 0 failed")
