"""The data source, with a count of the bytes that each process reads.

Tabella reads files with `pread`, and the kernel adds the bytes of every such call to `rchar` of /proc/PID/io, whether the
file is in its cache or not. A mapped file would not be counted, so the count also fails if the file is mapped."""

import os
import pathlib
import time

from tabella.spark import TabellaDataSource


def read_bytes():
    for line in pathlib.Path("/proc/self/io").read_text().splitlines():
        if line.startswith("rchar: "):
            return int(line.split()[1])


def note(folder, kind, start, location):
    size = read_bytes() - start
    if location in pathlib.Path("/proc/self/maps").read_text():
        size = 1 << 60
    write(folder, kind, size)


def write(folder, kind, number):
    (pathlib.Path(folder) / f"{kind}.{os.getpid()}.{time.monotonic_ns()}").write_text(str(number))


def take(folder, kind):
    """The numbers of a kind so far, which are then forgotten: bytes read by "schema", "plan" and "task", or "rows"."""
    paths = list(pathlib.Path(folder).glob(f"{kind}.*"))
    numbers = [int(path.read_text()) for path in paths]
    for path in paths:
        path.unlink()
    return numbers


def counting(kind):
    """A reader of this class that counts."""

    class Counting(kind):
        def partitions(self):
            start = read_bytes()
            found = super().partitions()
            note(self.folder, "plan", start, self.location)
            return found

        def read(self, partition):
            start, rows = read_bytes(), 0
            for batch in super().read(partition):
                rows += batch.num_rows
                yield batch
            note(self.folder, "task", start, self.location)
            write(self.folder, "rows", rows)

    return Counting


class CountedDataSource(TabellaDataSource):
    """The format "counted": the option `counts` is the folder for the numbers."""

    @classmethod
    def name(cls):
        return "counted"

    def __init__(self, options):
        super().__init__(options)
        self.folder = self.options.pop("counts")

    def schema(self):
        start = read_bytes()
        found = super().schema()
        note(self.folder, "schema", start, self.options["path"])
        return found

    def reader(self, schema):
        reader = super().reader(schema)
        reader.__class__ = counting(type(reader))
        reader.folder, reader.location = self.folder, self.options["path"]
        return reader
