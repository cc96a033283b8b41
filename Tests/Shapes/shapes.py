"""The shapes, and the files that have them.

A shape is a point on six axes. Its file has the columns `key`, `amount` and `note`, and more columns of text; a file
of one column has only `key`. The same seed makes the same shapes and the same files."""

import dataclasses
import itertools

import numpy
import polars

ROWS = (10, 1_000, 20_000, 200_000, 1_000_000)
# Of 100 shapes, this many have each number of rows.
WEIGHTS = (20, 22, 26, 22, 10)
COLUMNS = (1, 3, 8, 40, 200)
LENGTHS = (1, 8, 40, 400, "mixed")
KEYS = (1, 10, 1_000, "tenth", "rows", "skewed")
QUOTING = ("none", "all", "some", "doubled", "ends")
ORDERS = ("sorted", "reversed", "random", "equal", "skewed")

# A file may have this many bytes before its quotes.
LARGEST = 130_000_000
# No word of these letters reads as a number, a date or a boolean. Their order is the same by bytes and in natural
# order, because there are no digits and no capitals.
LETTERS = "bcdghjklmpqrsvwz"
PHRASE = "juniper kelp quince"
# The cells of a column of text come from this many texts.
POOL = len(LETTERS) ** 3


@dataclasses.dataclass(frozen=True)
class Shape:
    number: int
    rows: int
    columns: int
    length: object
    keys: object
    quoting: str
    order: str

    def __str__(self):
        return (f"#{self.number} {self.rows}x{self.columns} length={self.length} keys={self.keys} "
                f"quoting={self.quoting} order={self.order}")

    @property
    def short(self):
        return f"#{self.number} {self.rows}x{self.columns} l={self.length} k={self.keys} q={self.quoting} {self.order}"

    @property
    def distinct(self):
        """The number of different keys that the file can have."""
        named = {"tenth": self.rows // 10, "rows": self.rows, "skewed": 1_000}
        return max(1, min(self.rows, named.get(self.keys, self.keys)))

    @property
    def bytes(self):
        """The expected size of the file without quotes."""
        length = 50 if self.length == "mixed" else self.length
        return self.rows * (8 + self.columns * (length + 1))


def generate(count, seed):
    """`count` shapes in a random order. Each axis goes through all its values before it repeats one."""
    random = numpy.random.default_rng(seed)
    rows = spread(ROWS, count, random, WEIGHTS)
    axes = [spread(axis, count, random) for axis in (COLUMNS, LENGTHS, KEYS, QUOTING, ORDERS)]
    return [fitted(Shape(number, *values)) for number, values in enumerate(zip(rows, *axes))]


def spread(values, count, random, weights=None):
    """`count` of the values in a random order, each about as often as its weight says."""
    weights = weights or [1] * len(values)
    shares = [weight / sum(weights) for weight in weights]
    chosen, wanted = [], [0.0] * len(values)
    for _ in range(count):
        wanted = [have + share for have, share in zip(wanted, shares)]
        best = max(range(len(values)), key=wanted.__getitem__)
        wanted[best] -= 1
        chosen.append(values[best])
    return [chosen[index] for index in random.permutation(count)]


def fitted(shape):
    """The shape with shorter cells and fewer columns, in turns, until its file is not too large."""
    lengths = (1, 8, 40, "mixed", 400)
    while shape.bytes > LARGEST:
        length, columns = lengths.index(shape.length), COLUMNS.index(shape.columns)
        if length >= columns:
            shape = dataclasses.replace(shape, length=lengths[length - 1])
        else:
            shape = dataclasses.replace(shape, columns=COLUMNS[columns - 1])
    return shape


def code(index, width):
    """The number as a word of `width` letters. Words of one width have the order of their numbers."""
    word = ""
    for _ in range(width):
        index, letter = divmod(index, len(LETTERS))
        word = LETTERS[letter] + word
    return word


def width_for(count):
    """The letters that a word needs for `count` different ones."""
    return next(width for width in itertools.count(1) if len(LETTERS) ** width >= count)


def text(index, width, shape, special):
    """The text with this number. Its first letters differ from those of all others, so they decide its order."""
    length = 1 + index * 37 % 100 if shape.length == "mixed" else shape.length
    filler = " ".join([LETTERS[index % 16] * 7] * (length // 8 + 1))
    word = code(index, width) + special
    return word + filler[: max(0, length - len(word))].rstrip()


def special_of(index, quoting):
    """The characters that need quotes, in every third text."""
    if index % 3:
        return ""
    return {"some": ",", "doubled": '"', "ends": "\n"}.get(quoting, "")


class Data:
    """Makes the columns of a shape."""

    def __init__(self, shape, seed):
        self.shape = shape
        self.random = numpy.random.default_rng([seed, shape.number])

    def ranks(self, distinct):
        """A number below `distinct` per row, in the order of the shape."""
        shape, random = self.shape, self.random
        ranks = random.integers(0, distinct, shape.rows)
        if shape.order == "skewed":
            ranks[random.random(shape.rows) < 0.9] = distinct // 2
        elif shape.order == "equal":
            ranks[:] = distinct // 2
        return self.ordered(ranks)

    def ordered(self, ranks):
        if self.shape.order in ("sorted", "reversed"):
            ranks = numpy.sort(ranks)
        return ranks[::-1].copy() if self.shape.order == "reversed" else ranks

    def key_ranks(self):
        shape, random = self.shape, self.random
        if shape.keys == "skewed":
            return self.ordered((shape.distinct * random.random(shape.rows) ** 8).astype(numpy.int64))
        if shape.keys == "rows":
            return self.ordered(random.permutation(shape.rows))
        return self.ordered(random.integers(0, shape.distinct, shape.rows))

    def keys(self):
        """Keys have no quotes or line ends, because line tools print groups by them."""
        shape = self.shape
        comma = "," if shape.quoting == "some" else ""
        width = width_for(shape.distinct)
        pool = [text(index, width, shape, comma if index % 3 == 0 else "") for index in range(shape.distinct)]
        return polars.Series("key", pool).gather(self.key_ranks())

    def amounts(self):
        cents = polars.Series("amount", self.ranks(100_000))
        whole, rest = (cents // 100).cast(polars.String), (cents % 100).cast(polars.String).str.zfill(2)
        return (whole + "." + rest).alias("amount")

    def notes(self):
        shape = self.shape
        width = min(3, shape.length) if shape.length != "mixed" else 2
        pool = [text(index, width, shape, special_of(index, shape.quoting)) for index in range(len(LETTERS) ** width)]
        # One row in 100 has a note with the phrase, and one in the middle always has. A quarter of these notes has
        # capitals. They decide no order, because the words before them differ.
        phrases = [PHRASE.title() if index % 4 == 3 else PHRASE for index in range(len(LETTERS))]
        pool += [code(index, width) + " " + phrase for index, phrase in enumerate(phrases)]
        ranks = self.ranks(len(LETTERS) ** width)
        found = self.random.random(shape.rows) < 0.01
        found[shape.rows // 2] = True
        ranks[found] = len(LETTERS) ** width + ranks[found] % len(LETTERS)
        return polars.Series("note", pool).gather(ranks)

    def fill(self, number):
        shape = self.shape
        width = min(3, shape.length) if shape.length != "mixed" else 2
        pool = [text(index, width, shape, special_of(index, shape.quoting)) for index in range(len(LETTERS) ** width)]
        return polars.Series(f"c{number}", pool).gather(self.random.integers(0, len(pool), shape.rows))

    def frame(self):
        columns = [self.keys()]
        if self.shape.columns > 1:
            columns += [self.amounts(), self.notes()]
        # Files of many columns repeat a few, which makes them faster to generate.
        fills = [self.fill(number) for number in range(min(5, self.shape.columns - len(columns)))]
        while fills and len(columns) < self.shape.columns:
            columns.append(fills[len(columns) % len(fills)].alias(f"c{len(columns)}"))
        return polars.DataFrame(columns)


def write(shape, seed, folder):
    """Writes the file of the shape, and a second one in which a thousandth of the rows differs."""
    frame = Data(shape, seed).frame()
    style = "always" if shape.quoting == "all" else "necessary"
    first, second = folder / f"shape-{shape.number}.csv", folder / f"shape-{shape.number}-changed.csv"
    frame.write_csv(first, quote_style=style)
    changed = frame.with_row_index("row")
    differs = polars.col("row") % 1_000 == min(5, shape.rows - 1)
    # Rows next to each other never differ, and no changed cell equals another one.
    name = "note" if shape.columns > 1 else "key"
    word = polars.concat_str(polars.lit("changed "), polars.col("row").cast(polars.String))
    changed = changed.with_columns(polars.when(differs).then(word).otherwise(polars.col(name)).alias(name))
    changed.drop("row").write_csv(second, quote_style=style)
    return first, second
