"""The structs of tabella.h and tabella_embed.h, for ctypes."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p

OK = 0
UTF8_PROMISE = 1
WITH_IDS = 1
DRY_RUN = 1
FINAL = 1
VOLATILE_ORDER = 1
ELEMENT_TEXT = 1
SECTION_TITLE = -1

TEXT, INTEGER, REAL, BOOLEAN, DATE, BINARY = 1, 2, 3, 4, 5, 6


class String(Structure):
    """Bytes with a length. A null pointer means that the string is absent."""

    _fields_ = [("bytes", c_void_p), ("length", c_int64)]


class IndexPath(Structure):
    """The position of a row, or of a section: then the row is -1."""

    _fields_ = [("section", c_int64), ("row", c_int64)]


class Count(Structure):
    """A number of things, exact or at least."""

    _fields_ = [("value", c_int64), ("exact", c_int32), ("reserved", c_int32)]


class Failure(Structure):
    """tabella_error: the details of a failure."""

    _fields_ = [
        ("message", String),
        ("path", IndexPath),
        ("column", c_int64),
        ("located", c_int32),
        ("retryable", c_int32),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowSchema(Structure):
    """The schema of the Arrow C Data Interface."""


class ArrowArray(Structure):
    """The array of the Arrow C Data Interface."""


ArrowSchema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))),
    ("dictionary", POINTER(ArrowSchema)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]

ArrowArray._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(ArrowArray))),
    ("dictionary", POINTER(ArrowArray)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]


class ArrowArrayStream(Structure):
    """The stream of the Arrow C Stream Interface."""

    _fields_ = [
        ("get_schema", c_void_p),
        ("get_next", c_void_p),
        ("get_last_error", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class RowRequest(Structure):
    """A request for rows of one section."""

    _fields_ = [
        ("section", c_int64),
        ("first", c_int64),
        ("count", c_int64),
        ("columns", POINTER(c_int64)),
        ("column_count", c_int64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class GatherRequest(Structure):
    """A request for rows at any paths."""

    _fields_ = [
        ("paths", POINTER(IndexPath)),
        ("path_count", c_int64),
        ("columns", POINTER(c_int64)),
        ("column_count", c_int64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class BatchOfRows(Structure):
    """tabella_batch: rows as an Arrow array, with flags."""

    _fields_ = [("array", ArrowArray), ("flags", c_uint64)]


class Value(Structure):
    """The value of a cell."""

    _fields_ = [
        ("type", c_int32),
        ("reserved", c_int32),
        ("integer", c_int64),
        ("real", c_double),
        ("bytes", String),
    ]


class Cell(Structure):
    """A value with the number of its column."""

    _fields_ = [("column", c_int64), ("value", Value)]


class Edit(Structure):
    """One edit of a batch."""

    _fields_ = [
        ("kind", c_int32),
        ("reserved", c_int32),
        ("id", String),
        ("source", IndexPath),
        ("target", IndexPath),
        ("cells", POINTER(Cell)),
        ("cell_count", c_int64),
    ]


class EditBatch(Structure):
    """Edits that are committed together."""

    _fields_ = [
        ("version", String),
        ("edits", POINTER(Edit)),
        ("edit_count", c_int64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class OneChange(Structure):
    """One change between two versions."""

    _fields_ = [("kind", c_int32), ("reserved", c_int32), ("source", IndexPath), ("target", IndexPath)]


class ListOfChanges(Structure):
    """The changes from one version to another."""

    _fields_ = [
        ("from_version", String),
        ("to_version", String),
        ("changes", POINTER(OneChange)),
        ("change_count", c_int64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class OneOutcome(Structure):
    """The outcome of one edit."""

    _fields_ = [("code", c_int32), ("flags", c_uint32), ("message", String), ("id", String)]


class ResultOfEdits(Structure):
    """The outcome of a batch."""

    _fields_ = [
        ("outcomes", POINTER(OneOutcome)),
        ("outcome_count", c_int64),
        ("receipt", String),
        ("changes", ListOfChanges),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class EmbedEdit(Structure):
    """tabella_embed_edit: a committed or undone batch, with the id of its receipt."""

    _fields_ = [("result", ResultOfEdits), ("receipt", String)]


class Settings(Structure):
    """tabella_embed_settings: how a host works."""

    _fields_ = [
        ("provider_path", String),
        ("worker", String),
        ("receipts", String),
        ("isolation", c_int32),
        ("flags", c_uint32),
    ]


class OptionValue(Structure):
    """The name and the value of an option."""

    _fields_ = [("name", String), ("value", String)]


class Request(Structure):
    """tabella_embed_request: a location to open."""

    _fields_ = [
        ("location", String),
        ("provider", String),
        ("options", POINTER(OptionValue)),
        ("option_count", c_int64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class Shape(Structure):
    """tabella_embed_shape: filters, groups and orders."""

    _fields_ = [
        ("filters", POINTER(String)),
        ("filter_count", c_int64),
        ("search", String),
        ("section_by", String),
        ("sort", String),
        ("sections_by", String),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class StreamRequest(Structure):
    """tabella_embed_stream_request: the rows and columns of a stream."""

    _fields_ = [
        ("columns", POINTER(c_int64)),
        ("column_count", c_int64),
        ("section", c_int64),
        ("first", c_int64),
        ("count", c_int64),
        ("rows_per_batch", c_int64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class SourceTable(Structure):
    """tabella_source_table: the core functions of a source."""


class Source(Structure):
    """tabella_source: the functions of a source and its state."""

    _fields_ = [("table", POINTER(SourceTable)), ("source", c_void_p)]


class Element(Structure):
    """tabella_element: an element in addition to the cells."""

    _fields_ = [
        ("form", c_int32),
        ("reserved", c_int32),
        ("text", String),
        ("spans", c_void_p),
        ("span_count", c_int64),
        ("table", Source),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class Diagnostic(Structure):
    """tabella_diagnostic: a remark about the data."""

    _fields_ = [("severity", c_int32), ("reserved", c_int32), ("message", String)]


Release = CFUNCTYPE(None, c_void_p)
GetSchema = CFUNCTYPE(ctypes.c_int, c_void_p, POINTER(ArrowSchema))
_Flags = CFUNCTYPE(c_uint64, c_void_p)
_Ability = CFUNCTYPE(c_void_p, c_void_p, String)
_Version = CFUNCTYPE(c_int32, c_void_p, POINTER(String), POINTER(Failure))
_Schema = CFUNCTYPE(c_int32, c_void_p, POINTER(ArrowSchema), POINTER(Failure))
_RowCount = CFUNCTYPE(c_int32, c_void_p, c_int64, c_int64, POINTER(Count), POINTER(Failure))
_Rows = CFUNCTYPE(c_int32, c_void_p, POINTER(RowRequest), POINTER(BatchOfRows), POINTER(Failure))
_Gather = CFUNCTYPE(c_int32, c_void_p, POINTER(GatherRequest), POINTER(BatchOfRows), POINTER(Failure))
_SectionCount = CFUNCTYPE(c_int32, c_void_p, c_int64, POINTER(Count), POINTER(Failure))
_Title = CFUNCTYPE(c_int32, c_void_p, c_int64, c_int32, POINTER(String), POINTER(Failure))
_Find = CFUNCTYPE(c_int32, c_void_p, String, POINTER(IndexPath), POINTER(Failure))
_Element = CFUNCTYPE(c_int32, c_void_p, String, IndexPath, POINTER(Element), POINTER(Failure))
_Next = CFUNCTYPE(c_int32, c_void_p, POINTER(Diagnostic))
_Pull = CFUNCTYPE(c_int32, c_void_p, POINTER(ListOfChanges), POINTER(Failure))

SourceTable._fields_ = [
    ("release", Release),
    ("cancel", c_void_p),
    ("ability", _Ability),
    ("flags", _Flags),
    ("version", _Version),
    ("schema", _Schema),
    ("row_count", _RowCount),
    ("rows", _Rows),
]


class Sections(Structure):
    """tabella.sections/1."""

    _fields_ = [("count", _SectionCount), ("title", _Title)]


class Gathering(Structure):
    """tabella.gathering/1."""

    _fields_ = [("rows", _Gather)]


class Identity(Structure):
    """tabella.identity/1."""

    _fields_ = [("find", _Find)]


class Supplementary(Structure):
    """tabella.supplementary/1."""

    _fields_ = [("kinds", c_void_p), ("element", _Element)]


class Diagnostics(Structure):
    """tabella.diagnostics/1."""

    _fields_ = [("next", _Next)]


class ChangesTable(Structure):
    """tabella.changes/1."""

    _fields_ = [("listen", c_void_p), ("pull", _Pull)]


class Strings:
    """Makes structs of text, and keeps the bytes alive."""

    def __init__(self) -> None:
        self._kept: list[object] = []

    def string(self, text: bytes | str | None) -> String:
        """A struct with these bytes. None makes an absent string."""
        if text is None:
            return String(None, 0)
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        buffer = ctypes.create_string_buffer(data, len(data) + 1)
        self._kept.append(buffer)
        return String(ctypes.addressof(buffer), len(data))

    def keep(self, thing: object) -> None:
        """Keeps an object as long as this one."""
        self._kept.append(thing)


def raw(string: String) -> bytes | None:
    """A copy of the bytes. None if the string is absent."""
    if not string.bytes:
        return None
    return ctypes.string_at(string.bytes, string.length)


def text_of(string: String) -> str | None:
    """The text for a message. Bytes that are not UTF-8 become U+FFFD."""
    data = raw(string)
    return None if data is None else data.decode("utf-8", "replace")


def text_or_bytes(data: bytes | None) -> str | bytes | None:
    """The text, or the bytes if they are not UTF-8."""
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data
