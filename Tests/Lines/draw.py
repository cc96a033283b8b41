"""Draws the parts of a line at random: numbers at the limits of types, and texts that only look like numbers."""

import json

BORDERS = sorted(
    {0, 1, 2, 3, 9, 59, 60, 64, 99, 100, 255, 256, 1000, 10_000, 65_535, 65_536, 100_000, 1_000_000}
    | {sign * ((1 << bits) + by) for bits in (15, 31, 32, 52, 53, 56, 62, 63, 64) for by in (-2, -1, 0, 1, 2) for sign in (1, -1)}
    | {10**40, -(10**40)}
)
# Numbers whose sums overflow.
SHARPEST = [(1 << 63) - 1] * 3 + [(1 << 63) - 2, 1 << 63, -(1 << 63), (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 56, (1 << 64) - 1]
NO_NUMBERS = [
    "", " ", "+1", "-0", "00", "007", "0x10", "0b1", "0o7", "1_000", "1,000", "1.5", ".5", "5.", "1e3", "1e19", "1e400", "-1e400", "1e-400",
    "1e99999999999999999999", "nan", "NaN", "-nan", "inf", "-inf", "infinity", "½", "٣", "１", "²", "Ⅷ", "1 ", " 1", "1\n", "\t1", "--1", "+-1",
    "true", "null", "9" * 400, "0." + "9" * 400, "0" * 400 + "1",
]  # fmt: skip
DATES = [
    "1970-01-01", "2026-02-28", "2026-02-30", "0000-00-00", "0001-01-01", "9999-12-31", "10000-01-01", "-0001-01-01", "1677-09-21", "1677-09-20",
    "2262-04-11", "2262-04-12", "2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775808Z", "1677-09-21T00:12:43.145224192Z",
    "2026-01-01T00:00:00+99:99", "2026-01-01T24:00:00Z", "2026-12-31T23:59:60Z", "2026-01-01T00:00:00." + "9" * 40 + "Z", "2026", "2026-13", "2026-02",
    "99999999999999999999-01-01",
]  # fmt: skip
PATTERNS = [
    "a", ".", "^", "$", "", "(", ")", "[", "]", "[z-a]", "a**", "a{3", "a{2,1}", "a{1000}", "a{1000000}", "a{99999999999999999999}", "a{0}", "(a{1000}){1000}",
    "\\", "\\q", "\\x", "\\x{110000}", "\\u{FFFFFFFF}", "(?i)A", "(?x)", "(?=a)", "(a|b)*c", "(a*)*b", "(" * 300, "(" * 60 + ")" * 60, "|" * 300, "[[:alpha:]]", "\\p{L}", "\\b", "é", "\\d+",
]  # fmt: skip
TEXTS = [
    "", " ", "a", "é", "名前", "\u202eabc", "\x1b[31m", "\x7f", "\n", "\r\n", "\t", "a=b", "=", "==", ",", ";", "\"", "'", "\\", "/", "..", ".", "-", "--", "~", "*", "%n%s", "$HOME",
    "x" * 300, "x" * 5000, "\udcff", "a\udc80b", "0:0", "id:", "title:", "title:3", ":", "::", "end", "0:end",
]  # fmt: skip


class Draw:
    """`random` makes all decisions. `grammar` and `world` contain the possible values."""

    def __init__(self, random, grammar, world):
        self.random, self.grammar, self.world = random, grammar, world
        # The table of the line: its columns, and the options of its provider.
        self.table = None
        # The share of odd parts. A line with many mistakes reports only the first.
        self.oddness = random.choice([0.03, 0.15, 1.0])

    def is_odd(self):
        return self.chance(self.oddness)

    def chance(self, share):
        return self.random.random() < share

    def pick(self, of):
        return self.random.choice(of)

    def number(self):
        draw = self.random.random()
        if draw < 0.2 or not self.is_odd():
            return str(self.random.randrange(6))
        if draw < 0.6:
            return str(self.pick(SHARPEST))
        return str(self.pick(BORDERS)) if draw < 0.85 else self.pick(NO_NUMBERS)

    def text(self):
        if not self.is_odd():
            return self.pick(["1", "a", "x", "Rome", "line one", "2026-02-28"])
        return self.pick([self.number, lambda: self.pick(TEXTS), lambda: self.pick(DATES), self.word])()

    def word(self):
        return "".join(self.pick("abcxyz019 é:=,.-_/~\\\"'%\t") for _ in range(self.random.randrange(8)))

    def column(self):
        columns = self.table.columns if self.table and not (self.is_odd() and self.chance(0.2)) else self.world.columns
        return self.pick(columns) if columns and not (self.is_odd() and self.chance(0.1)) else self.text()

    def row(self):
        kind = self.random.randrange(10 if self.is_odd() else 6)
        if kind < 4:
            return self.number() if self.chance(0.5) else str(self.random.randrange(4))
        if kind < 6:
            return f"{self.number() if self.chance(0.3) else 0}:{self.number()}"
        if kind == 6:
            return f"{self.number()}:end" if self.chance(0.5) else "end"
        if kind == 7:
            return "id:" + self.pick(self.world.ids)
        if kind == 8:
            return "id:" + self.pick([self.number(), self.text(), f"{self.number()}.{self.number()}", "f" * 16, "7" + "f" * 15, "f" * 16 + ".0", "8000000000000000.1", "1~" + self.number()])
        return self.pick([f"{self.number()}..{self.number()}", self.text(), f"{self.number()}:{self.number()}:{self.number()}"])

    def condition(self):
        operator = self.pick(["=", "!=", "<", "<=", ">", ">=", "~", "!~", *(["==", "<>", "&", ""] if self.is_odd() else [])])
        value = self.pick(PATTERNS if self.is_odd() else ["a", ".", "^1", "o+"]) if "~" in operator else self.pick([self.number, lambda: self.pick(DATES), self.text])()
        if self.chance(0.2):
            value += self.pick(["K", "M", "G", "T", "P", "E", "KiB", "B", "%", "s"])
        return f"{self.column()}{self.pick([' ', ''])}{operator}{self.pick([' ', ''])}{value}"

    def classed(self):
        return self.column() + self.pick(["", ""] if not self.is_odd() else ["", "", ":letter", ":day", ":month", ":year", ":hour", ":week", ":weekday", ":size", ":extension", ":desc", ":asc", f":{self.number()}"])

    def aggregate(self):
        names = ["rows", "distinct", "sum", "mean", "median", "min", "max", "first", "last"]
        name = self.pick(names + (["avg", "", "SUM", "rows x"] if self.is_odd() else []))
        return name if name == "rows" else f"{name}{self.pick([' ', '  ']) if self.is_odd() else ' '}{self.column()}"

    def option_value(self, option):
        if option["choices"] and self.chance(0.8):
            return self.pick(option["choices"])
        if option["type"] == "boolean" and self.chance(0.8):
            return self.pick(["true", "false"])
        if option["type"] == "integer":
            return self.number()
        return option["default"] if not self.is_odd() else self.pick([option["default"], self.text(), "none", "auto", ",", "tab", "latin1", "UTF-16", "UTF-32", "TERM", "0"])

    def provider_option(self):
        if self.is_odd() and self.chance(0.05):
            return self.text()
        options = self.table.options if self.table and not (self.is_odd() and self.chance(0.2)) else self.grammar.provider_options
        if not options:
            return self.text()
        option = self.pick(options)
        return f"{option['name']}={self.option_value(option)}"

    def argument(self, option):
        """The argument of an option, chosen by its name in the help."""
        kind = option.argument
        if option.choices and not (self.is_odd() and self.chance(0.4)):
            return self.pick(option.choices)
        if "KEY=VALUE" in kind:
            return self.provider_option()
        if kind == "AGGREGATE[:desc]":
            return self.aggregate() + self.pick(["", ":desc", ":asc"])
        if "AGGREGATE" in kind:
            return self.pick([", ", ","]).join(self.aggregate() for _ in range(self.pick([1, 1, 2, 4])))
        if "OP" in kind:
            return self.condition()
        if "A..B" in kind:
            ends = [self.number() if self.chance(0.8) else "" for _ in range(2)]
            return self.pick(["..", "..", "..", "-", "...", "…"]).join(ends) if self.is_odd() else f"{self.number()}.."
        if "INDEX" in kind or "TITLE" in kind:
            return self.pick([self.number(), self.number(), "title:" + self.number(), self.pick(self.world.titles), self.text()])
        if kind.startswith("A,B"):
            return ",".join(self.column() for _ in range(self.random.randrange(1, 5)))
        if "COLUMN" in kind:
            return ",".join(self.classed() for _ in range(self.pick([1, 1, 1, 2, 3])))
        if kind == "SUFFIX":
            return self.pick(["~", ".old", self.text()])
        if kind == "ID":
            return self.pick([*self.grammar.providers, self.text()])
        if kind == "VERSION":
            return self.pick([self.text(), self.word()])
        return self.number() if self.chance(0.7) else self.text()

    def location(self):
        draw = self.random.random()
        if draw < 0.9 or not self.is_odd():
            name = self.pick(self.world.files)
            self.table = self.world.tables.get(name)
            return name
        if draw < 0.95:
            return f"{self.pick(self.grammar.providers)}:{self.pick([*self.world.files, '', self.text()])}"
        return self.pick(["-", "nothing.csv", "/dev/null", "/proc/self/status", "receipt:" + self.text(), "receipt:20260101T000000.000000Z-00000a", self.text()])

    def assignment(self):
        return f"{self.column()}={self.pick([self.number(), self.text(), self.pick(DATES), 'x'])}" if self.chance(0.95) else self.text()

    def operands(self, command):
        """The operands that the help requires; sometimes one too few or too many."""
        words = []
        for name in command.operands.replace("[", "").replace("]", "").split():
            many = name.endswith("…") and self.chance(0.4)
            for _ in range(self.random.randrange(2, 4) if many else 1):
                words.append(self.operand(name.rstrip("…"), command))
        if words and self.is_odd() and self.chance(0.1):
            words.pop(self.random.randrange(len(words)))
        if self.is_odd() and self.chance(0.05):
            words.append(self.text())
        return words

    def operand(self, name, command):
        if name.startswith("LIBRARY|PROVIDER"):
            return self.pick([*self.grammar.providers, "data.csv", "nothing.so"])
        if name.startswith("LOCATION") or name in ("A", "B"):
            if "PROVIDER" in name and self.chance(0.3):
                return self.pick(self.grammar.providers)
            return self.location()
        if name == "ROW":
            return self.row()
        if name.startswith("COLUMN"):
            return self.assignment()
        if name.startswith("FILE"):
            return self.pick(["batch", "batch", "batch", "-", self.location()])
        if name == "WORD":
            return self.pick([self.pick(self.grammar.commands).name, self.pick(["--rows", "--filter", "-o", "--sort", "--columns", "-", "--"]), self.text(), self.location()])
        if name == "COMMAND":
            return self.pick(self.grammar.commands).name
        return self.pick(["bash", "zsh", "fish", self.text()])

    def line(self):
        """The words after `tabella`, and the input of an apply."""
        # Most commands take a table, so most lines use these.
        tables = [command for command in self.grammar.commands if ("LOCATION" in command.operands or command.operands == "A B") and command.name != "check"]
        command = self.pick(tables if self.chance(0.85) else self.grammar.commands)
        self.table = None
        operands = self.operands(command)
        words = []
        for _ in range(self.pick([0, 1, 1, 2, 2, 3, 4, 8]) if command.options else 0):
            option = self.pick(command.options)
            if option.name in ("--provider", "--if-version", "--help", "--in-place", "--backup") and not self.is_odd():
                continue
            if option.argument is None:
                words.append((option.name,))
            elif option.attached or self.chance(0.3):
                words.append((f"{option.name}={self.argument(option)}" if option.name.startswith("--") else option.name + self.argument(option),))
            else:
                words.append((option.name, self.argument(option)))
        # Options may appear anywhere; operands keep their order.
        places = sorted(self.random.randrange(len(words) + 1) for _ in operands)
        for operand, place in reversed(list(zip(operands, places))):
            words.insert(place, (operand,))
        line = [word.replace("\0", "") for group in words for word in group]
        if command.name in ("set", "insert", "delete", "move", "apply", "edit") and self.chance(0.5):
            line.append("--yes")
        if self.chance(0.02):
            line.insert(self.random.randrange(len(line) + 1), "--")
        line = self.world.harmless(command.name, line, self)
        if self.chance(0.01):
            return self.pick([[], [self.text()], ["--version"], ["--help"], [command.name, "--help"]])
        return [command.name, *line]

    def batch(self):
        """Lines for `apply`. Most of them are valid."""
        return "\n".join(self.edit() for _ in range(self.random.randrange(0, 6))).encode("utf-8", "surrogateescape")

    def json_value(self, depth=0):
        draw = self.random.randrange(9) if self.is_odd() else 3
        if draw < 3:
            return self.number()
        if draw < 6:
            return self.quoted(self.text())
        if draw == 6:
            return self.pick(["null", "true", '"\\u0000"', '"\\ud800"', '{"base64":"AA=="}', '{"base64":"A"}'])
        if draw == 7:
            levels = self.pick([1, 99, 100, 101, 20_000])
            return "[" * levels + self.pick(["", "]" * levels])
        return "{" + f'{self.quoted(self.column())}:{self.json_value(depth + 1) if depth < 3 else 0}' + "}"

    def quoted(self, text):
        return json.dumps(text, ensure_ascii=self.chance(0.5))

    def edit(self):
        if self.is_odd() and self.chance(0.2):
            return self.json_value()
        kind = self.pick(["set", "insert", "delete", "move", *([self.text()] if self.is_odd() else [])])
        members = {"op": self.quoted(kind)}
        if kind != "insert":
            members["row"] = self.json_value() if self.is_odd() and self.chance(0.1) else self.quoted(self.row())
        if kind == "insert":
            members["at"] = self.quoted(self.row())
        if kind == "move":
            members["to"] = self.quoted(self.row())
        if kind in ("set", "insert"):
            members["cells"] = "{" + ",".join(f"{self.quoted(self.column())}:{self.json_value()}" for _ in range(self.random.randrange(3))) + "}"
        return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"
