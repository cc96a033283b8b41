"""Texts with one fault each that Tests/Prose/run must report, and texts without faults that it must accept."""

LONG = "One " + "word " * 40 + "more."
FINE = "A sentence names its subject."

# Each fault: its name, the lines of a page, and the start of the only report as (line, fault).
PAGES = [
    ("what", ["# Title", "", FINE + " What is", "displaced is compared."], (3, '"What" opens')),
    ("where", ["Where it stands, nothing is said."], (1, '"Where" opens')),
    ("who", ["- Who can write can read."], (1, '"Who" opens')),
    ("whoever", ["1. **Whoever repeats** a delete says so."], (1, '"Whoever" opens')),
    ("whatever", ["> Whatever is refused is named."], (1, '"Whatever" opens')),
    ("whichever", ["(Whichever comes first is taken.)"], (1, '"Whichever" opens')),
    ("in a list", ["1. " + FINE, "2. " + FINE, "   What remains is lost."], (3, '"What" opens')),
    ("after a question", ["Is it? What is it is known."], (1, '"What" opens')),
    ("in a cell", ["| a | b |", "|---|---|", "| x | Y. What is refused is named. |"], (3, '"What" opens')),
    ("long sentence", [FINE, LONG], (2, "42 words in a sentence")),
    ("long cell", ["| a |", "|---|", "| " + "word " * 61 + "|"], (3, "61 words in a cell")),
    ("long page", ["# Title"] + [""] * 260, (261, "261 lines in a page")),
]

PAGES_WITHOUT_FAULTS = [
    ["# What is promised", "", "What is it? (Where is it?) " + FINE],
    ["```sh", LONG, "```", "", "`What` is a word, and so is `a.b. Where c`.", "", "No. 1 is e.g. What it was."],
    [" ".join(["word"] * 37) + " [`Where` it is](a/b.c).", "", "| " + "word " * 60 + "|"],
    ["# Title"] + [""] * 259,
]

COMMENTS = [
    ("docstring", "a.swift", ["let a = 1", "  /// A name.", "  /// What it is."], (3, '"What" opens')),
    ("comment", "a.swift", ["// Where it was."], (1, '"Where" opens')),
    ("comment after code", "a.swift", ["let a = 1  // What it is."], (1, '"What" opens')),
    ("block", "a.h", ["/* A name.", " * " + LONG + " */"], (2, "42 words in a sentence")),
    ("docstring of a block", "a.h", ["/** What it is. */"], (1, '"What" opens')),
    ("python", "a.py", ["x = 1", "# What it is."], (2, '"What" opens')),
]

COMMENTS_WITHOUT_FAULTS = [
    ("a.swift", ['let a = "What is it. http://x.y // What"', "/// A name.", "let what = 1", "/// - a: What?"]),
    ("a.h", ["int what; /* a name */", "int where;"]),
]


def missed(check_page, check_comments):
    """The names of the faults that the two functions do not report, or not in the right place."""
    import pathlib

    missed = []
    for name, lines, (line, fault) in PAGES:
        found = [(one[0], one[1]) for one in check_page("page.md", lines)]
        if len(found) != 1 or found[0][0] != line or not found[0][1].startswith(fault):
            missed.append(f"{name}: {found}")
    for name, path, lines, (line, fault) in COMMENTS:
        found = [(one[0], one[1]) for one in check_comments(pathlib.Path(path), lines)]
        if len(found) != 1 or found[0][0] != line or not found[0][1].startswith(fault):
            missed.append(f"{name}: {found}")
    for lines in PAGES_WITHOUT_FAULTS:
        missed += [f"without a fault: {one}" for one in check_page("page.md", lines)]
    for path, lines in COMMENTS_WITHOUT_FAULTS:
        missed += [f"without a fault: {one}" for one in check_comments(pathlib.Path(path), lines)]
    return missed
