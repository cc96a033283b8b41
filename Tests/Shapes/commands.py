"""The commands of tabella, and per command the programs that answer the same question."""

import dataclasses
import importlib.util
import shutil
import sys

import answers
import shapes
from programs import DUCKDB, DUCKDB_ARROW, POLARS

# Miller and SQLite need seconds for large files, so they read only smaller ones.
FAR = 3_000_000

NAMES = ["count", "first", "select", "group", "contains", "search", "pattern", "pattern-count", "classes",
         "classes-count", "any-case", "sort", "jsonl", "describe", "arrow", "diff", "filter", "sort-first",
         "summarize"]  # fmt: skip
TOOLS = ["mlr", "sqlite3", "rg", "awk", "cut", "diff", "head", "wc"]
# DuckDB needs pyarrow for one command.
MODULES = ["duckdb", "pyarrow"]


@dataclasses.dataclass
class Program:
    """A program, and how its output becomes an answer. Those that do not read CSV are no part of the gate."""

    name: str
    words: list
    answer: object
    gate: bool = True


@dataclasses.dataclass
class Command:
    name: str
    tabella: Program
    peers: list


def absent():
    """The peers that this machine lacks. Polars also writes the files, so it always exists."""
    return [name for name in TOOLS if not shutil.which(name)] + [name for name in MODULES if not has_module(name)]


def has_module(name):
    return importlib.util.find_spec(name) is not None


class Commands:
    """Writes the commands for the two files of a shape."""

    def __init__(self, tabella, shape, first, second):
        self.program, self.shape = tabella, shape
        self.first, self.second = str(first), str(second)
        self.wide = shape.columns > 1
        self.plain = shape.quoting == "none"
        self.csv = f"read_csv('{first}', all_varchar=true, header=true, delim=',', quote='\"', escape='\"')"
        middle = shapes.code(shape.distinct // 2, shapes.width_for(shape.distinct))
        self.column, self.phrase = ("note", shapes.PHRASE) if self.wide else ("key", middle)

    def all(self):
        makers = [self.count, self.first_rows, self.select, self.group, self.contains, self.search, self.pattern,
                  self.pattern_count, self.classes, self.classes_count, self.any_case, self.sort, self.jsonl,
                  self.describe, self.arrow, self.diff]
        if self.wide:
            makers += [self.filter, self.sort_first, self.summarize]
        return [maker() for maker in makers]

    # Programs

    def command(self, name, words, answer, *peers):
        ours = Program("tabella", [self.program, *words], answer)
        return Command(name, ours, [peer for peer in peers if peer])

    def polars(self, expression, answer):
        code = POLARS.replace("EXPRESSION", expression)
        return Program("polars", [sys.executable, "-c", code, self.first, self.second], answer)

    def duckdb(self, query, answer, code=DUCKDB):
        if all(map(has_module, MODULES if code == DUCKDB_ARROW else MODULES[:1])):
            return Program("duckdb", [sys.executable, "-c", code, query], answer)

    def duckdb_csv(self, query, answer):
        return self.duckdb(f"copy ({query}) to '/dev/stdout' (header)", answer)

    def tool(self, words, answer, when=True, gate=True):
        if when and shutil.which(words[0]):
            return Program(words[0], words, answer, gate)

    def mlr(self, words, answer):
        return self.tool(["mlr", *words, self.first], answer, self.shape.bytes < FAR)

    def sqlite(self, query, answer, *modes):
        words = ["sqlite3", ":memory:", *modes, f".import --csv {self.first} t", query]
        return self.tool(words, answer, self.shape.bytes < FAR)

    def rg(self, *words, answer=answers.lines_as_rows):
        """The lines with a match. They are rows if no cell contains the end of a line."""
        return self.tool(["rg", "--no-config", *words, self.first], answer, self.shape.quoting != "ends")

    def lines(self, words, answer):
        """A tool that knows lines but no quotes."""
        return self.tool(words, answer, self.plain, gate=False)

    # Commands

    def count(self):
        return self.command(
            "count", ["count", self.first], answers.number,
            self.duckdb(f"copy (select count(*) from {self.csv}) to '/dev/stdout' (header false)", answers.number),
            self.polars("print(q(F).select(pl.len()).collect().item(), flush=True)", answers.number),
            self.mlr(["--icsv", "--ojson", "count"], answers.number),
            self.sqlite("select count(*) from t", answers.number),
            self.lines(["wc", "-l", self.first], answers.without_header))

    def first_rows(self):
        return self.command(
            "first", ["show", self.first, "-n", "20", "--format", "csv"], answers.rows,
            self.duckdb_csv(f"from {self.csv} limit 20", answers.rows),
            self.polars("q(F).head(20).collect().write_csv(out)", answers.rows),
            self.mlr(["--csv", "head", "-n", "20"], answers.rows),
            self.lines(["head", "-n", "21", self.first], answers.rows))

    def select(self):
        names = ["key", "amount"] if self.wide else ["key"]
        joined = ",".join(names)
        return self.command(
            "select", ["export", self.first, "--columns", joined, "--format", "csv"], answers.rows,
            self.duckdb_csv(f"select {joined} from {self.csv}", answers.rows),
            self.polars(f"q(F).select({names}).sink_csv(out)", answers.rows),
            self.mlr(["--csv", "cut", "-o", "-f", joined], answers.rows),
            self.sqlite(f"select {joined} from t", answers.rows, "-csv", "-header"),
            self.lines(["cut", "-d,", f"-f1-{len(names)}", self.first], answers.rows))

    def group(self):
        tabs = "write_csv(out,separator='\\t',include_header=False,quote_style='never')"
        awk = 'NR>1{n[$1]++} END{for(c in n) print c "\\t" n[c]}'
        return self.command(
            "group", ["count", self.first, "--section-by", "key"], answers.groups,
            self.duckdb(f"copy (select key, count(*) from {self.csv} group by key) to '/dev/stdout' "
                        "(header false, delimiter '\\t', quote '')", answers.groups),
            self.polars(f"q(F).group_by('key').len().collect().{tabs}", answers.groups),
            self.mlr(["--icsv", "--onidx", "--ofs", "tab", "count", "-g", "key"], answers.groups),
            self.sqlite("select key, count(*) from t group by key", answers.groups, "-tabs"),
            self.lines(["awk", "-F,", awk, self.first], answers.groups))

    def summarize(self):
        tabs = "write_csv(out,separator='\\t',include_header=False,quote_style='never',float_precision=2)"
        words = ["summarize", self.first, "--by", "key", "--compute", "rows, sum amount", "--format", "plain"]
        return self.command(
            "summarize", words, answers.groups,
            self.duckdb(f"copy (select key, count(*), sum(amount::decimal(18,2)) from {self.csv} group by key) to "
                        "'/dev/stdout' (header false, delimiter '\\t', quote '')", answers.groups),
            self.polars(f"i(F).group_by('key').agg(pl.len(),pl.sum('amount').round(2)).collect().{tabs}",
                        answers.groups),
            self.mlr(["--icsv", "--onidx", "--ofs", "tab", "stats1", "-a", "count,sum", "-f", "amount", "-g", "key"],
                     answers.groups))

    def filter(self):
        return self.command(
            "filter", ["export", self.first, "--filter", "amount > 900", "--format", "csv"], answers.rows,
            self.duckdb_csv(f"from {self.csv} where amount::double > 900", answers.rows),
            self.polars("q(F).filter(pl.col('amount').cast(pl.Float64)>900).sink_csv(out)", answers.rows),
            self.mlr(["--csv", "filter", "$amount > 900"], answers.rows))

    def contains(self):
        words = ["export", self.first, "--no-header", "--filter", f"{self.column} ~ {self.phrase}", "--format", "csv"]
        return self.command(
            "contains", words, answers.lines_as_rows,
            self.duckdb(f"copy (from {self.csv} where contains({self.column}, '{self.phrase}')) to '/dev/stdout' "
                        "(header false)", answers.lines_as_rows),
            self.polars(f"q(F).filter(pl.col('{self.column}').str.contains('{self.phrase}',literal=True))"
                        ".sink_csv(out,include_header=False)", answers.lines_as_rows),
            self.rg(self.phrase))

    def search(self):
        anywhere = " or ".join(f"contains(lower(\"{name}\"), '{self.phrase}')" for name in self.names())
        words = ["export", self.first, "--no-header", "--search", self.phrase, "--format", "csv"]
        return self.command(
            "search", words, answers.lines_as_rows,
            self.duckdb(f"copy (from {self.csv} where {anywhere}) to '/dev/stdout' (header false)",
                        answers.lines_as_rows),
            self.polars(f"q(F).filter(pl.any_horizontal(pl.all().str.contains('(?i){self.phrase}')))"
                        ".sink_csv(out,include_header=False)", answers.lines_as_rows),
            self.rg("-i", self.phrase))

    def matching(self, name, pattern, flags=""):
        """The rows in which a cell of one column matches a regular expression."""
        condition = f"{self.column} ~ (?{flags}){pattern}" if flags else f"{self.column} ~ {pattern}"
        words = ["export", self.first, "--no-header", "--filter", condition, "--format", "csv"]
        return self.command(
            name, words, answers.lines_as_rows,
            self.duckdb(f"copy (from {self.csv} where {self.sql_match(pattern, flags)}) to '/dev/stdout' "
                        "(header false)", answers.lines_as_rows),
            self.polars(f"q(F).filter({self.polars_match(pattern, flags)}).sink_csv(out,include_header=False)",
                        answers.lines_as_rows),
            self.rg(*[f"-{flag}" for flag in flags], pattern))

    def counted(self, name, pattern):
        """The number of these rows."""
        return self.command(
            name, ["count", self.first, "--filter", f"{self.column} ~ {pattern}"], answers.number,
            self.duckdb(f"copy (select count(*) from {self.csv} where {self.sql_match(pattern)}) to '/dev/stdout' "
                        "(header false)", answers.number),
            self.polars(f"print(q(F).filter({self.polars_match(pattern)}).select(pl.len()).collect().item(), "
                        "flush=True)", answers.number),
            self.rg("--count", "--include-zero", pattern, answer=answers.number))

    def sql_match(self, pattern, flags=""):
        return f"regexp_matches({self.column}, '{pattern}', '{flags or 'c'}')"

    def polars_match(self, pattern, flags=""):
        pattern = f"(?{flags}){pattern}" if flags else pattern
        return f"pl.col('{self.column}').str.contains(r'{pattern}')"

    def with_text(self):
        """A pattern that contains a fixed text. No match contains a comma between two cells, so lines are fair."""
        return "juniper [k-m]elp q[a-z]+" if self.wide else f"{self.phrase}[b-w, ]*"

    def without_text(self):
        """A pattern of classes and an alternation, without any fixed text."""
        if self.wide:
            return r"([b-h]|[p-z])\s[a-m][n-z][a-n]"
        # In a file of keys, each class has a letter of the key and the letter before it.
        before = {letter: shapes.LETTERS[index - 1] for index, letter in enumerate(shapes.LETTERS)}
        return "".join(f"[{before[letter]}{letter}]" for letter in self.phrase)

    def pattern(self):
        return self.matching("pattern", self.with_text())

    def pattern_count(self):
        return self.counted("pattern-count", self.with_text())

    def classes(self):
        return self.matching("classes", self.without_text())

    def classes_count(self):
        return self.counted("classes-count", self.without_text())

    def any_case(self):
        """The pattern has capitals and small letters, and so have the notes."""
        return self.matching("any-case", "juniper [K-M]ELP" if self.wide else self.phrase.upper(), "i")

    def names(self):
        return ["key", "amount", "note"][: self.shape.columns] + [f"c{n}" for n in range(3, self.shape.columns)]

    def sort(self):
        """All rows by text, then by number. Peers may swap equal rows."""
        order, sql = ("note,amount:desc", "note, amount::double desc") if self.wide else ("key", "key")
        answer = answers.ordered_by(2, 1) if self.wide else answers.ordered_by(0)
        numbers = "pl.col('amount').cast(pl.Float64)"
        polars = f"sort(pl.col('note'),{numbers},descending=[False,True])" if self.wide else "sort('key')"
        return self.command(
            "sort", ["export", self.first, "--sort", order, "--format", "csv"], answer,
            self.duckdb_csv(f"from {self.csv} order by {sql}", answer),
            self.polars(f"q(F).{polars}.collect().write_csv(out)", answer))

    def sort_first(self):
        answer = answers.first_by(1)
        return self.command(
            "sort-first", ["show", self.first, "--sort", "amount", "-n", "20", "--format", "csv"], answer,
            self.duckdb_csv(f"from {self.csv} order by amount::double limit 20", answer),
            self.polars("q(F).sort(pl.col('amount').cast(pl.Float64)).head(20).collect().write_csv(out)", answer),
            self.mlr(["--csv", "top", "-n", "20", "-f", "amount", "--min", "-a"], answer))

    def jsonl(self):
        return self.command(
            "jsonl", ["export", self.first, "--format", "jsonl"], answers.objects,
            self.duckdb(f"copy (from {self.csv}) to '/dev/stdout' (format json)", answers.objects),
            self.polars("q(F).sink_ndjson(out)", answers.objects),
            self.mlr(["-S", "--icsv", "--ojsonl", "cat"], answers.objects))

    def describe(self):
        """Types that fit every row. Polars takes quoted numbers as text, so it does not answer for those files."""
        polars = "print(sum(t!=pl.String for t in t(F).collect_schema().values()), flush=True)"
        sniffed = f"read_csv('{self.first}', sample_size=-1, header=true)"
        return self.command(
            "describe", ["describe", self.first, "-o", "types=infer", "--json"], answers.types,
            self.duckdb(f"copy (select count(*) from (describe from {sniffed}) where column_type <> 'VARCHAR') "
                        "to '/dev/stdout' (header false)", answers.number),
            self.polars(polars, answers.number) if self.shape.quoting != "all" else None)

    def arrow(self):
        words = ["export", self.first, "-o", "types=infer", "--format", "arrow-stream"]
        typed = f"from read_csv('{self.first}', sample_size=-1, header=true)"
        exported = "t(F)" if self.shape.quoting != "all" or not self.wide else "i(F)"
        return self.command(
            "arrow", words, answers.typed,
            self.duckdb(typed, answers.typed, DUCKDB_ARROW),
            self.polars(f"{exported}.collect().write_ipc_stream(out)", answers.typed))

    def diff(self):
        csv = self.csv.replace(self.first, self.second)
        return self.command(
            "diff", ["diff", self.first, self.second], answers.changes,
            self.duckdb(f"copy (select count(*) from (from {csv} except all from {self.csv})) to '/dev/stdout' "
                        "(header false)", answers.number),
            self.tool(["diff", self.first, self.second], answers.diff_lines, self.shape.quoting != "ends"))
