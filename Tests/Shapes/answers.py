"""Answers: the part of an output that must be the same for tabella and its peers.

Each function takes the bytes of an output and returns a small value. Tables are read with polars, so that the way in
which a program quotes a cell does not count."""

import io
import re

import numpy
import polars


def number(output):
    """The first number of the output."""
    return int(re.search(rb"\d+", output).group())


def without_header(output):
    """The number of lines, without the one for the header."""
    return number(output) - 1


def table(output, header=True, separator=",", quote='"'):
    """The cells as text, with numbers as names of columns."""
    if not output.strip():
        return polars.DataFrame()
    frame = polars.read_csv(io.BytesIO(output), infer_schema=False, has_header=header, separator=separator,
                            quote_char=quote)
    frame.columns = [str(index) for index in range(frame.width)]
    return frame


def in_order(frame):
    """A value for the rows in their order."""
    if not frame.height:
        return (0,)
    return frame.height, frame.width, mixed(frame.with_row_index("at"))


def any_order(frame):
    """A value for the rows in any order."""
    if not frame.height:
        return (0,)
    sorted_hashes = frame.hash_rows(seed=1).sort().to_frame("hash")
    return frame.height, frame.width, mixed(sorted_hashes.with_row_index("at"))


def mixed(frame):
    """One number for rows that all differ."""
    return int(numpy.bitwise_xor.reduce(frame.hash_rows(seed=1).to_numpy()))


def rows(output):
    return in_order(table(output))


def lines_as_rows(output):
    """Rows of a program that prints no header."""
    return in_order(table(output, header=False))


def ordered_by(*columns):
    """The cells of the sorted columns in their order, and the rows in any order."""
    def answer(output):
        frame = table(output)
        return in_order(chosen(frame, columns)), any_order(frame)
    return answer


def first_by(*columns):
    """The cells of the sorted columns. Which of several equal rows comes first is not the same in all programs."""
    def answer(output):
        frame = table(output)
        return in_order(chosen(frame, columns))
    return answer


def chosen(frame, columns):
    """The columns with these positions."""
    return frame.select([str(column) for column in columns]) if frame.height else frame


def groups(output):
    """Lines of a title, a tab and numbers, in any order. A number may lack the zeros at its end."""
    found = table(output, header=False, separator="\t", quote=None)
    cents = [(polars.col(name).cast(polars.Float64) * 100).round().cast(polars.Int64).cast(polars.String)
             for name in found.columns[1:]]
    return any_order(found.with_columns(cents)) if found.height else (0,)


def typed(output):
    """Per column of an Arrow stream: whether it holds numbers, and their sum or a value for the texts."""
    frame = polars.read_ipc_stream(io.BytesIO(output))
    values = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype.is_numeric():
            # A sum of whole hundredths does not depend on the order of the additions.
            cents = (column.cast(polars.Float64) * 100).round().cast(polars.Int64)
            values.append(("number", int(cents.sum())))
        else:
            values.append(("text", in_order(column.cast(polars.String).to_frame("text"))))
    return frame.height, tuple(values)


def objects(output):
    """The values of JSON lines in order."""
    frame = polars.read_ndjson(io.BytesIO(output), infer_schema_length=1)
    frame.columns = [str(index) for index in range(frame.width)]
    return in_order(frame.cast(polars.String))


def types(output):
    """The number of columns that are not text, as `describe --json` lists them."""
    columns = re.search(rb'"columns":(\[.*?\]),"index"', output, re.DOTALL).group(1)
    return len(re.findall(rb'"type":"(?!text")', columns))


def changes(output):
    """The number of rows of the second file that the first lacks, in the output of `tabella diff`."""
    return len(re.findall(rb"^\s*[~+] ", output, re.MULTILINE))


def diff_lines(output):
    """The same in the output of `diff`."""
    return len(re.findall(rb"^> ", output, re.MULTILINE))
