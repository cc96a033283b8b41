"""The programs of the matrix that embed Tabella: rows.c with libtabella, and Rows in Swift."""

import os
import pathlib
import subprocess
from datetime import timedelta

import subjects
import support

BUILT = support.ROOT / ".build/release"


def with_sections(rows):
    """Rows whose first two values are the number and the title of the section."""
    return [(row[0], row[1], list(row[2:])) for row in rows]


class Program:
    """A program that prints the rows of a table as rows.c does."""

    def __init__(self, name, words, per_microsecond, real):
        self.name, self.words = name, words
        self.per_microsecond, self.real = per_microsecond, real

    def rows(self, subject, table, columns, text):
        words = [word for key, value in subject.options.items() for word in ("-o", f"{key}={value}")]
        words += [word for text_ in subject.filters for word in ("-f", text_)]
        words += ["-g", subject.section_by] if subject.section_by else []
        words += ["-s", subject.sort] if subject.sort else []
        words += [word for name in subject.columns or [] for word in ("-c", str(table.column(name).number))]
        words += ["-b", "1"] if text == "binary" else []
        folders = [*map(str, subject.path), str(BUILT)]
        environment = {**os.environ, "TABELLA_PROVIDER_PATH": ":".join(folders)}
        done = subprocess.run([*self.words, *words, subject.location], capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        types = ["integer", "binary" if text == "binary" else "text"]
        types += ["binary" if text == "binary" and type == "text" else type for _, type in columns]
        return with_sections(
            [[self.value(word, type) for word, type in zip(line.split(), types)] for line in done.stdout.splitlines()]
        )

    def value(self, word, type):
        if word == "-":
            return None
        if type in ("text", "binary"):
            data = bytes.fromhex(word[1:])
            return data.decode() if type == "text" else data
        if type == "date":
            return subjects.EPOCH + timedelta(microseconds=int(word) // self.per_microsecond)
        return {"integer": int, "real": self.real, "boolean": lambda word: word == "1"}[type](word)


def in_c(folder):
    """rows.c, compiled with gcc and linked with the library. Dates are microseconds, reals hexadecimal."""
    library = pathlib.Path(os.environ["TABELLA_LIBRARY"]).resolve()
    (folder / "libtabella.so.0").symlink_to(library)
    program = folder / "rows"
    subprocess.run(
        ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{support.ROOT}/Sources/CTabella/include",
         f"-I{support.ROOT}/Sources/CTabellaEmbed/include", "-o", program,
         support.ROOT / "Tests/Python/rows.c", library, f"-Wl,-rpath,{folder}:{library.parent}"],
        check=True)  # fmt: skip
    return Program("C", [program], 1, float.fromhex)


SWIFT = BUILT / "tabella-rows"


def in_swift():
    """The executable target `tabella-rows`, which links the providers. Dates are nanoseconds, reals decimal."""
    return Program("Swift", [SWIFT, "rows"], 1000, float)
