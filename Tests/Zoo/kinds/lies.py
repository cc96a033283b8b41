"""P9, P10, P20 to P27, P35: false or forbidden answers."""

import build
from animal import WHOLE, Animal, Library

BROKE = "broke the contract"


# P9: entries


def entry(name, code, *flags, says, kind="P9", **more):
    return Animal(kind, name, Library(f"entry.{name}", "entry.c", (f"-DCODE={code}", *flags)), says=says, **more)


def entries():
    mine = "0.9"
    for name, contract, words in [("too-old", "0x00000008u", "0.8"), ("too-new", "0x00020000u", "2.0"),
                                  ("far-too-new", "0x00030002u", "3.2"), ("garbage-contract", "0xDEADBEEFu", "57005.48879")]:  # fmt: skip
        both = f"{words}.*{mine}|{mine}.*{words}"
        yield entry(name, 1, f"-DCONTRACT={contract}", says=both)
        yield entry(f"{name}-says-ok", 0, f"-DCONTRACT={contract}", says=f"{both}|{BROKE}")
    yield entry("newer-that-refuses", 1, "-DCONTRACT=0x00010003u", says=f"1.3.*{mine}")
    yield entry("no-contract", 0, says="0.0|contract")
    own = "-DCONTRACT=TABELLA_CONTRACT_VERSION"
    yield entry("strange-code", -99, own, says="code|" + BROKE)
    yield entry("refuses", "TABELLA_DENIED", own, '-DMESSAGE="no licence today"', says="no licence today", status=(3, 4))
    yield entry("succeeds-and-complains", 0, own, '-DMESSAGE="a success that complains"', says=BROKE + "|succeeded, but reported an error", status=(0, 3))
    yield entry("writes-beyond", 0, own, "-DWITHOUT_LIMITS", says="", status=(0, 3), kind="P10")


# P10: tables of functions

DEAD = "SIG|ended"
LENGTH = BROKE + "|has a length of"
TABLES = {
    "no_table_at_all": BROKE, "wild_table": DEAD, "odd_table": DEAD, "table_of_noise": DEAD, "table_that_is_gone": DEAD,
    "no_release": BROKE, "no_flags": BROKE, "no_version": BROKE, "no_schema": BROKE, "no_row_count": BROKE, "no_rows": BROKE,
    "rows_that_are_no_code": DEAD,
    "no_id": BROKE, "empty_id": BROKE, "other_id": "somebody-else", "id_of_escapes": BROKE + "|says",
    "id_without_end": f"{LENGTH}|{DEAD}", "id_of_negative_length": LENGTH, "id_of_1_GB": f"{BROKE}|{DEAD}",
    "wild_id": DEAD, "no_open": BROKE, "wild_open": DEAD,
    "error_that_nobody_frees": BROKE, "error_that_stays": BROKE, "wild_error": DEAD, "error_of_negative_length": BROKE,
    "error_without_end": f"{BROKE}|{DEAD}", "error_with_a_wild_release": DEAD,
}  # fmt: skip
ABILITIES = ["SECTIONS", "SECTION_INDEX", "IDENTITY", "GATHERING", "CHANGES", "EDITING", "MOVING", "UNDO", "SUPPLEMENTARY",
             "ACCESSORIES", "DISPLAY", "PREFETCHING", "DIAGNOSTICS"]  # fmt: skip


def tables():
    def table(name, says, *flags, **more):
        lie = more.pop("lie", name)
        library = Library(f"tables.{name.replace('_', '-').lower()}", "tables.c", (f"-DLIE={lie}", *flags))
        return Animal(more.pop("kind", "P10"), name.replace("_", "-").lower(), library, says=says, **more)

    for name, says in TABLES.items():
        yield table(name, says)
    for name in ["version_of_escapes", "version_that_is_nowhere", "wild_version", "wild_provider_ability"]:
        # The host may or may not read this table.
        yield table(name, DEAD, status=(0, 3), shows=WHOLE)
    yield table("error_of_1_MB", "EEE", status=(1,))
    yield table("error_of_escapes", "gone", status=(1,), kind="P27")
    yield table("error_of_many_lines", "one", status=(1,), kind="P27")
    yield table("error_in_a_strange_place", "", status=(1, 3))
    for ability in ABILITIES:
        for lie, says in [("ability_of_null_functions", BROKE), ("wild_ability", DEAD), ("ability_of_noise", DEAD)]:
            # Unrequested abilities do no harm.
            yield table(f"{lie}_{ability}", says, f"-DABILITY=TABELLA_{ability}_ID", lie=lie,
                        status=(0, 3), command=("show", "{at}", "--json"))  # fmt: skip
    for code, status, says in [(-1, (1, 3), ""), (4711, (1, 3), ""), (100, (1, 3), ""), (101, (1, 3), ""), ("INT32_MIN", (1, 3), ""),
                               (0, (3,), BROKE)]:  # fmt: skip
        yield table(f"code_{code}", says, f"-DCODE={code}", lie="code", status=status)


# P24 to P27: words

WORDS = Library("words", "words.c")


def words():
    def word(kind, name, status=(0,), says=None, **more):
        more.setdefault("command", ("show", "{at}"))
        return Animal(kind, name, WORDS, location=name, status=status, says=says, **more)

    # Permitted, although unusual.
    for name in ["same-names", "empty-name", "name-of-spaces", "name-of-lines", "no-columns"]:
        yield word("P25", name, (0, 3), BROKE)
    for name in ["name-of-escapes", "broken-name", "name-of-1-MB", "no-name"]:
        yield word("P27" if "escapes" in name else "P25", name, (0, 3), BROKE)
    for name in ["no-format", "list-format", "endless-format", "no-struct", "billion-columns", "negative-columns",
                 "no-children", "null-child", "metadata-of-many-pairs", "metadata-of-negative-pairs", "metadata-of-long-keys",
                 "metadata-of-long-values", "metadata-of-negative-keys", "released-schema"]:  # fmt: skip
        yield word("P10", name, (0, 3), f"{BROKE}|{DEAD}")
    for name in ["wild-name", "wild-format", "wild-child", "its-own-child", "wild-metadata"]:
        yield word("P10", name, (3,), f"{DEAD}|{BROKE}")
    yield word("P25", "many-columns", (0, 3), "", command=("count", "{at}"), seconds=20)
    for name in ["title-of-escapes", "broken-title", "title-of-1-MB", "title-with-a-nul"]:
        yield word("P27" if "escapes" in name else "P25", name, (0, 3), BROKE, command=("show", "{at}", "--format", "table"), megabytes=300)
    for name in ["title-of-4-GB", "negative-title", "wild-title", "freed-title"]:
        yield word("P25", name, (0, 3), f"{BROKE}|{DEAD}", command=("show", "{at}", "--format", "table"))
    for name in ["version-of-escapes", "version-of-1-MB", "wild-version"]:
        yield word("P27" if "escapes" in name else "P25", name, (3,), f"{BROKE}|{DEAD}", command=("show", "{at}", "--json"))
    yield word("P20", "many-sections", (0, 1, 3), "", command=("show", "{at}", "-n", "3", "--format", "csv"))
    yield word("P20", "negative-sections", (3,), BROKE)
    yield word("P20", "no-sections", (0,))
    for name in ["cell-of-escapes", "broken-cell", "cell-with-nuls", "odd-numbers"]:
        yield word("P27" if "escapes" in name else "P26", name, (0,), command=("show", "{at}", "--section", "0", "-n", "1", "--json"))
        yield word("P27" if "escapes" in name else "P26", name, (0,), command=("show", "{at}", "--section", "0", "-n", "1", "--format", "table"))
    yield word("P26", "cell-of-300-MB", (0, 3), "", command=("show", "{at}", "--section", "0", "-n", "1", "--format", "table"),
               megabytes=2500, slow=True, seconds=60)  # fmt: skip
    yield word("P26", "cell-of-2-GB", (0, 3), "", command=("show", "{at}", "--section", "0", "-n", "1", "--format", "table"),
               megabytes=7000, slow=True, seconds=90)  # fmt: skip
    yield word("P27", "failing-rows", (1,), "red")
    yield word("P24", "id-of-1-MB", (3,), BROKE, command=("show", "{at}", "--json"))
    yield word("P27", "id-of-escapes", (3,), BROKE, command=("show", "{at}", "--json"))
    yield word("P24", "found-nowhere", (3,), BROKE, command=("describe", "{at}", "id:r3"))
    for name in ["badge-of-escapes", "badge-of-1-MB", "table-in-table"]:
        yield word("P27" if "escapes" in name else "P26", name, (0, 3), BROKE, command=("show", "{at}", "--format", "table"), megabytes=300)
    for name in ["wild-badge", "wild-spans", "billion-spans", "spans-nowhere", "wild-table", "billion-kinds", "negative-kinds", "no-kinds-but-some"]:
        yield word("P26", name, (0, 3), f"{BROKE}|{DEAD}", command=("show", "{at}", "--format", "table"))
    for name in ["remark-of-escapes", "remark-of-1-MB", "remarks-without-end", "wild-remark"]:
        yield word("P27" if "escapes" in name else "P26", name, (0, 3), "", command=("show", "{at}", "--format", "table"), remarks="31m|RRR|again|cut")
    yield word("P26", "billion-titles", (0, 1, 3), "", command=("show", "{at}", "--at-index", "A"))
    for name in ["leads-to-escapes", "leads-to-a-nul"]:
        yield word("P27" if "escapes" in name else "P26", name, (0, 3), BROKE, command=("describe", "{at}", "0"))
    yield word("P26", "leads-nowhere", (3,), DEAD, command=("describe", "{at}", "0"))


# P20 to P22 and others: the liar of the host's tests, here in a worker.

LIAR = Library("liar", str(build.ROOT / "Tests/TabellaTests/Host/Libraries/liar.c"))
# By the law that is broken. A lie that a command never meets breaks nothing for it.
LIES = {
    "counts-hold": ["wrong-count", "negative-count", "falling-count", "changing-count", "count-neither-exact", "endless-count"],
    "cuts-agree": ["overlapping-cut"],
    "projection-agrees": ["wrong-projection"],
    "cells-hold": ["changing-cells"],
    "ids-identify": ["duplicate-id", "changed-id", "empty-id", "id-leads-elsewhere"],
    "titles-in-bounds": ["title-out-of-bounds", "absurd-string"],
    "index-in-bounds": ["index-out-of-bounds"],
    "sections-counted": ["phantom-section", "endless-sections"],
    "refusals": ["accepts-any-section", "accepts-any-row", "error-without-release", "unknown-code"],
    "batches-valid": ["success-with-error", "no-release", "bad-offsets", "negative-first-offset", "bad-null-count", "huge-null-count",
                      "uncounted-length", "misaligned-offsets", "bad-length", "negative-length", "negative-offset", "missing-buffer",
                      "missing-column", "false-utf8", "too-many-rows", "release-not-cleared"],
    "version-holds": ["unprintable-version"],
    "supplements-answer": ["failing-kinds", "failing-element", "span-beyond-text", "unknown-form", "lying-table"],
    "opens": ["no-source", "no-rows-function", "unknown-format", "schema-without-release", "table-without-function"],
}  # fmt: skip
KINDS = {"counts-hold": "P20", "cuts-agree": "P21", "cells-hold": "P22", "ids-identify": "P24", "sections-counted": "P20",
         "batches-valid": "P21", "refusals": "P21"}  # fmt: skip


def liars():
    for law, lies in LIES.items():
        for lie in lies:
            sure = law in ("batches-valid", "opens", "version-holds") and lie not in ("false-utf8", "too-many-rows")
            yield Animal(KINDS.get(law, "P10"), f"liar-{lie}", LIAR, ("show", "{at}", "--json"), lie, (3,) if sure else (0, 1, 3),
                         says=BROKE if sure else "", check=(law, "failed"))  # fmt: skip


# P35: memory

MEMORY = Library("memory", "memory.c")
HARMLESS_IN_A_WORKER = [
    "writes-the-request", "keeps-the-request", "keeps-the-error", "released-twice", "released-and-used", "frees-the-columns",
    "frees-the-location", "writes-beyond-the-source", "writes-beyond-the-error", "flickering-batch", "scribbles-in-the-arena",
    "flickering-offsets", "flickering-child", "buffers-in-the-arena", "unmaps-the-arena", "protects-the-arena", "freed-buffers",
    "freed-child", "short-buffers", "null-buffers", "its-own-child", "billion-buffers", "billion-children", "dictionary",
]  # fmt: skip


def memories():
    for name in HARMLESS_IN_A_WORKER:
        # The worker may crash, the host may find the fault, or nobody notices. The host must survive and never show
        # nonsense as a certain answer. The kept memory may belong to another request by then, for example to one for a
        # missing section.
        status = (0, 1, 3) if name.startswith("keeps") else (0, 3)
        yield Animal("P35", name, MEMORY, ("show", "{at}", "--json"), name, status, says="", slow=True, seconds=20)
    for name in ["wild-buffers", "forbidden-buffers", "wild-batch-release", "null-children", "endless-length", "endless-offset"]:
        yield Animal("P35", name, MEMORY, ("show", "{at}", "--json"), name, (3,), says=f"{DEAD}|{BROKE}")


ANIMALS = [*entries(), *tables(), *words(), *liars(), *memories()]
