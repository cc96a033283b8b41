"""Arrow batches in the form that Spark demands. Needs pyarrow, and does not import pyspark."""

from __future__ import annotations

import mmap
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import IO, Any, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ._fleet import Answer, ask, command_words, printable, pushed_words
from ._spark_filters import filters_of
from ._spark_options import Options
from ._spark_plan import Piece, opened
from .columns import Column, unique_names
from .errors import Conflict, Error, InvalidArgument
from .table import Table

#: The columns that a fleet adds.
HOST, SECTION, ERROR = "host", "section", "error"
_SECTION_COLUMNS = ("section", "section title")
# The option of a provider that names the types of its columns.
_TYPES = "column-types"
# The end of an Arrow stream: a mark and a length of 0.
_END_SIZE = 8
# The first bytes of an Arrow stream.
_CONTINUATION = b"\xff\xff\xff\xff"
_MOMENT = pa.timestamp("us", tz="UTC")


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type of a column that has these types in two locations."""
    if one == other:
        return one
    return pa.float64() if {one, other} == {pa.int64(), pa.float64()} else pa.string()


def plain_type(type: pa.DataType) -> pa.DataType:
    """The type as Spark has it: microseconds in UTC, and texts that are no views."""
    if pa.types.is_timestamp(type):
        return _MOMENT
    if pa.types.is_string_view(type) or pa.types.is_large_string(type):
        return pa.string()
    if pa.types.is_binary_view(type) or pa.types.is_large_binary(type):
        return pa.binary()
    return type


def as_type(array: pa.Array, type: pa.DataType, name: str) -> pa.Array:
    """The array in another type. Raises ValueError if a value has none."""
    if array.type == type:
        return array
    try:
        if pa.types.is_timestamp(array.type) and (pa.types.is_timestamp(type) or pa.types.is_date(type)):
            # Cuts to microseconds, and a date to its day. A cast cuts towards 1970, and this towards the past.
            unit = "day" if pa.types.is_date(type) else "microsecond"
            return pc.cast(pc.floor_temporal(array, unit=unit), type, safe=False)
        if array.type == pa.int64() and pa.types.is_floating(type):
            return pc.cast(array, type, safe=False)
        return pc.cast(array, type)
    except pa.ArrowException as error:
        raise ValueError(f"column {name}: {_line(error)}") from None


def _batch(schema: pa.Schema, count: int, arrays: dict[str, pa.Array]) -> pa.RecordBatch:
    """The columns of the schema by name. A column that is not there is null."""
    return pa.RecordBatch.from_arrays(
        [
            as_type(arrays[field.name], field.type, field.name) if field.name in arrays else pa.nulls(count, field.type)
            for field in schema
        ],
        schema=schema,
    )


def _line(error: BaseException) -> str:
    return " ".join(printable(str(error)).split())


# Locations


def read_piece(piece: Piece, schema: pa.Schema, options: Options, filters: Sequence[Any]) -> Iterator[pa.RecordBatch]:
    """The rows of a part of a location. All errors are `Error` with one line that names the location."""
    try:
        piece.check()
        table, view = matching(piece, schema, options, filters)
        with table:
            yield from _rows(table, view, piece, schema, options)
        piece.check()
    except (Error, ValueError, OSError, pa.ArrowException) as error:
        message = _line(error)
        # Most messages of Tabella name the location already, also those that an Arrow stream passes on.
        if piece.location not in message:
            message = f"{piece.location}: {message}"
        raise (type(error) if isinstance(error, Error) else Error)(message) from None


def matching(piece: Piece, schema: pa.Schema, options: Options, filters: Sequence[Any]) -> tuple[Table, Table]:
    """The location of a piece, and its rows that match the filters. The caller closes the first table."""
    table = _typed(piece, schema, options)
    try:
        kinds = _kinds(schema, options)
        # A column of another type compares in another way than in Spark.
        columns = [column for column in table.columns if column.type == kinds.get(column.name)]
        texts = filters_of(filters, columns, table.columns)
        return table, table.filter(*options.filters, *texts) if options.filters or texts else table
    except BaseException:
        table.close()
        raise


def _kinds(schema: pa.Schema, options: Options) -> dict[str, str]:
    """The comparable types of the columns that locations have."""
    added = _SECTION_COLUMNS if options.with_section else ()
    return {field.name: comparable_type(field.type) for field in schema if field.name not in added}


def _typed(piece: Piece, schema: pa.Schema, options: Options) -> Table:
    """The location, opened so that the cells have the types of the schema.

    A provider that finds types by reading all cells would read a range twice, and find other types in it. So such a
    location is opened as text, with the types of the schema in the option `column-types`.
    """
    range = {} if piece.bytes is None else {"bytes": f"{piece.bytes[0]}-{piece.bytes[1]}"}
    others = {name: value for name, value in options.others.items() if name != "types"}
    # Most often, the columns of the schema are those of the location.
    types = [_type_name(field.type) for field in schema]
    if all(type == "text" for type in types) or "column-types" in others:
        return _open(piece, options, {**others, **range})
    try:
        table = _open(piece, options, {**others, **range, _TYPES: ",".join(types)})
        wanted = column_types(table.columns, schema)
        if wanted[: len(types)] == types[: len(wanted)]:
            return table
        table.close()
        return _open(piece, options, {**others, **range, _TYPES: ",".join(wanted)})
    except InvalidArgument as error:
        if _TYPES not in error.message:
            raise
        return _open(piece, options, {**options.others, **range})


def _open(piece: Piece, options: Options, others: dict[str, str]) -> Table:
    return opened(piece.location, Options(provider=options.provider, others=others))


def column_types(columns: Sequence[Column], schema: pa.Schema) -> list[str]:
    """The types that columns of text must have to agree with a schema."""
    names = ["text"] * len(columns)
    for column in columns:
        at = schema.get_field_index(column.name)
        if at >= 0 and column.is_text:
            names[column.number] = _type_name(schema.field(at).type)
    return names


def _type_name(type: pa.DataType) -> str:
    if pa.types.is_integer(type):
        return "integer"
    if pa.types.is_floating(type) or pa.types.is_decimal(type):
        return "real"
    if pa.types.is_boolean(type):
        return "boolean"
    return "date" if pa.types.is_timestamp(type) or pa.types.is_date(type) else "text"


def comparable_type(type: pa.DataType) -> str:
    """The type of columns whose comparisons mean the same in Tabella and in Spark; "binary" if there is none."""
    if pa.types.is_integer(type):
        return "integer"
    if type == pa.float64():
        return "real"
    if pa.types.is_boolean(type):
        return "boolean"
    if pa.types.is_timestamp(type) and type.tz is not None:
        return "date"
    return "text" if pa.types.is_string(type) else "binary"


def _rows(table: Table, view: Table, piece: Piece, schema: pa.Schema, options: Options) -> Iterator[pa.RecordBatch]:
    added = _SECTION_COLUMNS if options.with_section else ()
    kinds = _kinds(schema, options)
    names = [column.name for column in table.columns if column.name in kinds]
    if piece.sections is not None:
        titles = [(number, table.sections[number].title) for number, _ in piece.sections]
        if tuple(titles) != piece.sections:
            raise Conflict(f"{piece.location}: its sections have changed since the query was planned; run the query again")
    numbers = [None] if piece.sections is None else [number for number, _ in piece.sections]
    for number in numbers:
        stream = view.arrow(names, section=number, text=options.text, with_section=options.with_section)
        for batch in pa.RecordBatchReader.from_stream(stream):
            yield _batch(schema, batch.num_rows, dict(zip([*added, *names], batch.columns)))


# Fleets


def read_hosts(
    hosts: Sequence[str], schema: pa.Schema, options: Options, filters: Sequence[str], columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """The rows of hosts, in the order in which the hosts answer. A host that fails is one row with an error."""
    for answer in answers(hosts, options, pushed_words(columns, filters) if options.pushes else []):
        try:
            batches = [] if answer.file is None else _of_host(answer, schema, options)
        except ValueError as error:
            answer.error, batches = _line(error), []
        if answer.error is not None:
            labels = {HOST: pa.array([answer.host], pa.string()), ERROR: pa.array([answer.error[:1000]], pa.string())}
            batches = [_batch(schema, 1, labels)]
        yield from batches


def answers(hosts: Sequence[str], options: Options, pushed: Sequence[str]) -> Iterator[Answer]:
    """The answers of hosts. At most `concurrency` of them are asked or kept at once."""
    stop, left = threading.Event(), list(hosts)
    running: set[Future[Answer]] = set()
    with ThreadPoolExecutor(options.concurrency) as pool:
        try:
            while left or running:
                while left and len(running) < options.concurrency:
                    host = left.pop(0)
                    words = command_words(options.command or "", host, pushed, options.has_shell)
                    running.add(pool.submit(ask, host, words, options, stop))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            # The commands that still run are killed, and the pool waits for their ends.
            stop.set()


def _of_host(answer: Answer, schema: pa.Schema, options: Options) -> list[pa.RecordBatch]:
    """All rows of a complete and correct stream. Raises ValueError for anything else."""
    assert answer.file is not None
    with answer.file as file:
        theirs, batches = stream_in(file)
    names = far_names(theirs, options)
    missing = [name for name in schema.names if name not in names and name not in (HOST, SECTION, ERROR)]
    if missing:
        raise ValueError(f"the answer has no column {missing[0]}; its columns are {', '.join(theirs.names)}")
    result = []
    for batch in batches:
        arrays = dict(zip(names, batch.columns))
        arrays[HOST] = pa.repeat(pa.scalar(answer.host, pa.string()), batch.num_rows)
        result.append(_batch(schema, batch.num_rows, arrays))
    return result


def far_names(schema: pa.Schema, options: Options) -> list[str]:
    """The names of the columns of an answer in the table of the fleet."""
    names = list(schema.names)
    own = 1 if options.pushes and names[:1] == [SECTION] else 0
    return [SECTION] * own + unique_names([HOST, SECTION, ERROR, *names[own:]])[3:]


def stream_in(file: IO[bytes]) -> tuple[pa.Schema, list[pa.RecordBatch]]:
    """The schema and the batches of a file with one whole Arrow stream. Raises ValueError for anything else."""
    size = file.tell()
    if size == 0:
        raise ValueError("the command printed nothing")
    data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    source = pa.BufferReader(pa.py_buffer(data))
    batches: list[pa.RecordBatch] = []
    try:
        stream = pa.ipc.open_stream(source)
        end = source.tell()
        for batch in stream:
            # A host is not trusted: the offsets in its answer may point anywhere.
            batch.validate(full=True)
            batches.append(batch)
            end = source.tell()
    except (pa.ArrowException, OSError, ValueError) as error:
        if bytes(data[:4]) == _CONTINUATION:
            rows = sum(batch.num_rows for batch in batches)
            raise ValueError(f"the answer breaks off after {rows} rows: {_line(error)}") from None
        start = printable(bytes(data[:60]).decode("utf-8", "replace"))
        raise ValueError(f"the answer is no Arrow stream; it begins with {start!r}") from None
    rows = sum(batch.num_rows for batch in batches)
    if end + _END_SIZE > size:
        raise ValueError(f"the answer breaks off after {rows} rows")
    if source.tell() != size:
        raise ValueError("the answer continues after the end of its Arrow stream")
    return stream.schema, batches


def probe(hosts: Sequence[str], options: Options) -> pa.Schema | None:
    """The schema of the first host that answers, without the columns that a fleet adds. None if no host answers.

    Asks at most three times `concurrency` hosts.
    """
    pushed = pushed_words(None, [], is_probe=True) if options.pushes else []
    for answer in answers(hosts[: 3 * options.concurrency], options, pushed):
        if answer.file is None:
            continue
        with answer.file as file:
            try:
                schema = stream_in(file)[0]
            except ValueError:
                continue
        fields = zip(far_names(schema, options), schema.types)
        return pa.schema([(name, plain_type(type)) for name, type in fields if name != SECTION])
    return None


def schema_of(tables: Iterable[Table], options: Options) -> pa.Schema:
    """The columns of tables, united by name."""
    types: dict[str, pa.DataType] = {}
    for table in tables:
        shown = [column.name for column in table.columns if not column.on_request or column.name in (options.columns or ())]
        stream: Any = table.arrow(shown, count=0, text=options.text)
        for name, type in zip(shown, pa.schema(stream).types):
            types[name] = common_type(types.get(name, type), plain_type(type))
    return pa.schema(list(types.items()))
