"""Writes delimited text files with the rows that Python's csv module reads from them.

Usage: python3 csv_cases.py SEED COUNT OUTPUT_DIR

Writes COUNT files OUTPUT_DIR/000000.csv, 000001.csv, ... and OUTPUT_DIR/expected.jsonl, which has
one JSON object per line and file:

    {"file": "000000.csv", "options": {"header": "false", ...}, "rows": [["text", null], ...]}

A reader that opens the file with these options must return these rows; null is a missing cell. The
same seed produces the same files. The delimiter is always an option, so sniffing has no effect.

The rows are those of csv.reader over text with its original line ends (newline=""). They differ only
in the points where docs/providers/csv.md differs deliberately:

- An empty line is a row with one empty cell, not an empty list.
- Rows are padded with null to the longest one. All files are below 1 MiB, so no row has a surplus.

Not generated, because the two differ or Python reports an error:

- NUL, a byte order mark, bytes that are not UTF-8, a first line that begins with "sep=";
- an escape character without one after it at the end of the file;
- an escape character right after a closing quote, where Python treats it as plain text.
"""

import csv
import io
import json
import os
import random
import sys

DELIMITERS = [",", ",", ";", "\t", "|"]
QUOTES = ['"', '"', '"', '"', '"', '"', "'", "none"]
ESCAPES = [None, None, None, "\\"]
LINE_ENDS = ["\n", "\r\n", "\r"]
LETTERS = list("abcxyzABC0123456789=+-.:#@")
# Characters of two, three and four bytes. Some look like line ends, or contain the bytes of separators in UTF-16.
WIDE = list("äß€Ωжłה日本語ไ🙂𝄞é\u00a0\u0085\u2028\u2029\u2c0a\u220d") + ["e\u0301", "🇩🇪"]
CONTROLS = list("\x01\x08\x0b\x0c\x1a\x1c\x1d\x1e\x1f\x7f")


def options_for(rng):
    delimiter = rng.choice(DELIMITERS)
    options = {
        "header": "false",
        "delimiter": "tab" if delimiter == "\t" else delimiter,
        "quote": rng.choice(QUOTES),
    }
    escape = rng.choice(ESCAPES)
    if escape is not None:
        options["escape"] = escape
    return options


def dialect_of(options):
    """The delimiter, quote and escape; None for those that are off."""
    delimiter = "\t" if options["delimiter"] == "tab" else options["delimiter"]
    quote = None if options["quote"] == "none" else options["quote"]
    return delimiter, quote, options.get("escape")


def plain(rng, length):
    """Text without separators."""
    alphabet = [LETTERS, LETTERS, LETTERS, [" "], WIDE, CONTROLS]
    return "".join(rng.choice(rng.choice(alphabet)) for _ in range(length))


def soup(rng, delimiter, quote, escape, size):
    """Pieces in random order: mostly malformed."""
    mark = quote or '"'
    # A lone quote swallows the text after it, so some files have few quotes.
    quotes = rng.choice([0, 2, 8, 20])
    pieces = [
        (18, [delimiter]),
        (quotes, [mark]),
        (quotes // 2, [mark * 2]),
        (quotes // 2, [delimiter + mark, mark + delimiter, mark + "\n", "\n" + mark]),
        (10, LINE_ENDS),
        (2, ["\n\n", "\r\r", "\n\r", "\r\r\n", delimiter * 3]),
        (6, [" "]),
        (20, LETTERS),
        (5, WIDE),
        (2, CONTROLS),
        (3, list(",;|\t\"'")),
        (12 if escape else 2, ["\\"]),
        (3 if escape else 0, ["\\\n", "\\\r\n", "\\\r", "\\" + delimiter, "\\" + mark, "\\\\"]),
    ]
    weights = [weight for weight, _ in pieces]
    chosen = rng.choices([piece for _, piece in pieces], weights, k=size)
    return "".join(map(rng.choice, chosen))


def cell(rng, delimiter, quote, escape):
    """One cell in its encoded form: mostly well-formed."""
    kind = rng.randrange(20)
    text = plain(rng, rng.randrange(9))
    if quote is None or kind < 7:
        if kind == 6:
            text += rng.choice("\"'")
    elif kind < 10:
        text = ""
    elif kind < 15:
        inner = [text, delimiter, quote * 2, "\n", "\r\n", "\r", " ", "x"]
        text = quote + "".join(rng.choices(inner, k=rng.randrange(6))) + quote
    elif kind == 15:
        text = quote + quote
    elif kind == 16:
        text = quote + text + quote + rng.choice([" ", "b", "b" + quote, "b" + quote + "c", "é"])
    elif kind == 17:
        text = text + quote + plain(rng, 2) + rng.choice(["", quote])
    elif kind == 18:
        text = " " + quote + text + quote
    else:
        text = quote * rng.randrange(1, 7)
    if escape and rng.randrange(3) == 0:
        at = rng.randrange(len(text) + 1)
        after = rng.choice(["", "", delimiter, quote or '"', escape, "\n", "\r", "\r\n", "é"])
        text = text[:at] + escape + after + text[at:]
    return text


def records(rng, delimiter, quote, escape, size):
    """Records of similar width."""
    width = rng.randrange(1, 7)
    ends = rng.choice([["\n"], ["\r\n"], ["\r"], LINE_ENDS])
    text = []
    while size > 0:
        count = width if rng.randrange(5) else rng.randrange(0, 2 * width + 1)
        record = delimiter.join(cell(rng, delimiter, quote, escape) for _ in range(count))
        text += [record, rng.choice(ends)]
        size -= len(record) + 1
    if text and rng.randrange(3) == 0:
        text.pop()
    return "".join(text)


def without_differing_escapes(text, delimiter, quote, escape):
    """Removes escapes after closing quotes, and a final escape without a character to escape."""
    kept = []
    start, unquoted, quoted, closed = range(4)
    state = start
    is_escaped = False
    for character in text:
        if character == escape and state == closed:
            continue
        kept.append(character)
        if is_escaped:
            is_escaped = False
        elif character == escape:
            is_escaped = True
            if state == start:
                state = unquoted
        elif state == quoted:
            if character == quote:
                state = closed
        elif character == quote and state in (start, closed):
            state = quoted
        elif character == delimiter or character in "\r\n":
            state = start
        else:
            state = unquoted
    if is_escaped:
        kept.pop()
    return "".join(kept)


def text_for(rng, options):
    delimiter, quote, escape = dialect_of(options)
    size = rng.choice([rng.randrange(12), rng.randrange(60), rng.randrange(200)])
    if rng.randrange(50) == 0:
        size = rng.randrange(3000)
    text = rng.choice([soup, records])(rng, delimiter, quote, escape, size)
    if escape:
        text = without_differing_escapes(text, delimiter, quote, escape)
    if text.lower().startswith("sep="):
        text = "x" + text
    return text


def expected_rows(text, options):
    delimiter, quote, escape = dialect_of(options)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quotechar=quote,
        escapechar=escape,
        quoting=csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL,
        doublequote=True,
        skipinitialspace=False,
        strict=False,
    )
    rows = [row or [""] for row in reader]
    width = max(map(len, rows), default=0)
    return [row + [None] * (width - len(row)) for row in rows]


def cases(seed, count):
    """Yields the name, the options, the text and the rows of each file."""
    csv.field_size_limit(1 << 30)
    rng = random.Random(seed)
    for number in range(count):
        options = options_for(rng)
        text = text_for(rng, options)
        yield f"{number:06}.csv", options, text, expected_rows(text, options)


def main(arguments):
    if len(arguments) != 3:
        sys.exit("usage: python3 csv_cases.py SEED COUNT OUTPUT_DIR")
    seed, count, directory = int(arguments[0]), int(arguments[1]), arguments[2]
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "expected.jsonl"), "w", encoding="ascii") as expected:
        for name, options, text, rows in cases(seed, count):
            with open(os.path.join(directory, name), "wb") as file:
                file.write(text.encode("utf-8"))
            case = {"file": name, "options": options, "rows": rows}
            expected.write(json.dumps(case, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
