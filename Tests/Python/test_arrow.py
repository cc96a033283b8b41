"""The decoder of Arrow arrays, compared with a naive reading, and the capsules."""

import ctypes
import random
import struct
import unittest
from datetime import datetime, timedelta, timezone

from tabella import _capsules
from tabella import _structs as c
from tabella import _texts
from tabella._arrow import Cells
from tabella.columns import Column, metadata, unique_names

TYPES = ["text", "integer", "real", "boolean", "date", "binary"]


class MadeArray:
    """An Arrow array with an offset, made from Python values."""

    def __init__(self, type, values, offset):
        dead = [None] * offset + list(values)
        bits = bytearray((len(dead) + 7) // 8 + 1)
        for at, value in enumerate(dead):
            if value is not None:
                bits[at // 8] |= 1 << (at % 8)
        buffers = [bytes(bits), *self.buffers(type, dead)]
        self.kept = [ctypes.create_string_buffer(data, len(data) + 1) for data in buffers]
        pointers = [ctypes.addressof(buffer) for buffer in self.kept]
        missing = sum(value is None for value in values)
        if missing == 0:
            pointers[0] = None
        self.pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        self.array = c.ArrowArray(len(values), missing, offset, len(pointers), 0, self.pointers)

    @staticmethod
    def buffers(type, values):
        if type == "boolean":
            bits = bytearray(len(values) // 8 + 1)
            for at, value in enumerate(values):
                bits[at // 8] |= bool(value) << (at % 8)
            return [bytes(bits)]
        if type in ("integer", "date"):
            return [struct.pack(f"={len(values)}q", *(value or 0 for value in values))]
        if type == "real":
            return [struct.pack(f"={len(values)}d", *(value or 0.0 for value in values))]
        data, ends = b"", [0]
        for value in values:
            data += value or b""
            ends.append(len(data))
        return [struct.pack(f"={len(ends)}i", *ends), data]


def drawn(chance, type):
    if chance.random() < 0.2:
        return None
    if type == "boolean":
        return chance.random() < 0.5
    if type in ("integer", "date"):
        return chance.randint(-(2**63), 2**63 - 1)
    if type == "real":
        return chance.uniform(-1e9, 1e9)
    return chance.choice([b"", b"plain", "Zo\u00eb \U0001f600".encode(), b"\xff\xfe", b"a" * 50])


def expected(type, value):
    if value is None:
        return None
    if type == "date":
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=value // 1000)
    if type == "text":
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value


class Decoding(unittest.TestCase):
    def test_all_types_with_offsets_and_missing_cells(self):
        chance = random.Random(1)
        for turn in range(600):
            type = TYPES[turn % len(TYPES)]
            values = [drawn(chance, type) for _ in range(chance.randint(0, 40))]
            if turn % 3 == 0:
                values = [value for value in values if value is not None]
            made = MadeArray(type, values, chance.randint(0, 17))
            column = Column(0, "a", type, is_text=type == "text")
            wanted = [expected(type, value) for value in values]
            self.assertEqual(Cells(made.array, column).values(), wanted)
            one_by_one = Cells(made.array, column)
            order = chance.choices(range(len(values)), k=40) if values else []
            self.assertEqual([one_by_one[at] for at in order], [wanted[at] for at in order])

    def test_text_that_reads_as_values(self):
        def read(type, text, comma=False):
            return _texts.converter(Column(0, "a", type, is_text=True, decimal_comma=comma))(text)

        self.assertEqual([read("integer", text) for text in ["-12", "012", "", "9" * 19, "\u0663", b"\xff", None]],
                         [-12, None, None, None, None, None, None])
        self.assertEqual([read("real", text) for text in ["5.40", "-2e10", ".5", "1.", "NaN", "1e999"]],
                         [5.4, -2e10, None, None, None, None])
        self.assertEqual([read("real", text, True) for text in ["5,40", "5.40"]], [5.4, None])
        self.assertEqual([read("boolean", text) for text in ["true", "FALSE", "yes"]], [True, False, None])
        utc = timezone.utc
        self.assertEqual(
            [read("date", text) for text in
             ["2024-02-29", "2024-02-29T12:30:00.1234567+01:00", "2024-02-30", "2024-02-29T12:30:00", "1969-12-31T23:59:59Z"]],
            [datetime(2024, 2, 29, tzinfo=utc), datetime(2024, 2, 29, 11, 30, 0, 123456, utc), None, None,
             datetime(1969, 12, 31, 23, 59, 59, 0, utc)])  # fmt: skip

    def test_names_that_occur_twice(self):
        self.assertEqual(unique_names(["a", "b", "a", "a"]), ["a", "b", "a 2", "a 3"])
        self.assertEqual(unique_names(["a", "a", "a 2"]), ["a", "a 3", "a 2"])

    def test_metadata(self):
        self.assertEqual(metadata(None), {})
        data = struct.pack("=ii1si2s", 1, 1, b"k", 2, b"vv")
        buffer = ctypes.create_string_buffer(data, len(data))
        self.assertEqual(metadata(ctypes.addressof(buffer)), {"k": "vv"})


class Capsules(unittest.TestCase):
    def test_a_capsule_lives_as_long_as_its_user(self):
        before = _capsules.sweep()
        capsules = [_capsules.capsule(c.ArrowSchema()) for _ in range(3)]
        self.assertEqual(_capsules.sweep(), before + 3)
        capsules.pop()
        self.assertEqual(_capsules.sweep(), before + 2)
        holder = {"key": capsules.pop(0)}
        self.assertEqual(_capsules.sweep(), before + 2)
        holder.clear()
        capsules.clear()
        self.assertEqual(_capsules.sweep(), before)
