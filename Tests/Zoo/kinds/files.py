"""P1 to P9, P38, P39, P42: files that are no libraries, or not the original ones."""

import os
import struct
import threading
import time

import build
from animal import EMPTY, WHOLE, Animal, Library

NOT = dict(status=(3,), shows=EMPTY, seconds=5)


def spoilt(name, spoil, says, kind, file="", **more):
    return Animal(kind, name, Library(f"file.{name}".lower(), spoil=spoil, file=file), says=says, **{**NOT, **more})


def cut(share):
    return lambda data: data[: int(len(data) * share)]


def put(offset, form, value):
    def change(data):
        data = bytearray(data)
        struct.pack_into(form, data, offset, value)
        return bytes(data)

    return change


# Segment headers, each 56 bytes, from byte 64 on in the files of all compilers.
def in_segments(kind, offset, form, value):
    def change(data):
        data = bytearray(data)
        table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
        for header in range(table, table + count * 56, 56):
            if struct.unpack_from("<I", data, header)[0] == kind:
                struct.pack_into(form, data, header + offset, value)
        return bytes(data)

    return change


def script(data):
    return b"#!/bin/sh\necho RUBBISH\n"


def no_files():
    yield spoilt("zero-bytes", lambda data: b"", "ELF", "P1")
    yield spoilt("one-byte", lambda data: b"\x7f", "ELF", "P1")
    yield spoilt("text", lambda data: b"This is a library of books.\n" * 40, "ELF", "P2")
    yield spoilt("script", script, "ELF", "P2")
    yield spoilt("archive", lambda data: b"!<arch>\n" + bytes(200), "ELF", "P2")
    yield spoilt("linker-script", lambda data: b"INPUT ( /lib/libc.so.6 )\n" * 10, "ELF", "P2")
    yield spoilt("magic-only", lambda data: b"\x7fELF" + bytes(500), "damaged: its class", "P2")
    yield spoilt("zeros", lambda data: bytes(100_000), "ELF", "P2")
    for share in [0.002, 0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.7]:
        yield spoilt(f"cut-at-{share * 100:g}-percent", cut(share), "truncated|damaged|ELF|segment|function", "P3")
    # The bytes after the loaded part are names for debuggers.
    yield spoilt("cut-by-sections", cut(0.97), "", "P3", status=(0, 3), shows=WHOLE)
    yield spoilt("arm64", put(18, "<H", 183), "machine", "P4")
    yield spoilt("machine-of-no-name", put(18, "<H", 0xFFFF), "machine", "P4")
    yield spoilt("32-bit", put(4, "<B", 1), "32-bit ELF file", "P4")
    yield spoilt("big-endian", put(5, "<B", 2), "little-endian|machine", "P4")
    yield spoilt("another-system", put(7, "<B", 9), "system|ABI", "P4", status=(0, 3), shows=WHOLE)
    yield spoilt("elf-version", put(6, "<B", 7), "", "P4", status=(0, 3), shows=WHOLE)
    yield spoilt("a-program", put(16, "<H", 2), "shared library", "P4")
    yield spoilt("a-core", put(16, "<H", 4), "shared library", "P4")
    for name, offset, form, value in [
        ("headers-at-the-end", 32, "<Q", 1 << 62), ("headers-of-a-byte", 54, "<H", 1), ("65535-headers", 56, "<H", 0xFFFF),
        ("no-headers", 56, "<H", 0),
    ]:  # fmt: skip
        yield spoilt(name, put(offset, form, value), "", "P3")
    for name, kind, offset, form, value in [
        ("segment-beyond-the-file", 1, 32, "<Q", 1 << 40), ("segment-from-beyond", 1, 8, "<Q", 1 << 40),
        ("segment-of-all-memory", 1, 40, "<Q", 1 << 62), ("segment-that-is-misaligned", 1, 48, "<Q", 3),
        ("segment-less-in-memory", 1, 40, "<Q", 1), ("dynamic-section-elsewhere", 2, 8, "<Q", 0),
        ("dynamic-section-of-negative-size", 2, 32, "<Q", (1 << 64) - 16), ("interpreter-of-nothing", 0x6474E551, 0, "<I", 3),
    ]:  # fmt: skip
        # The loader may ignore the damage. Then the provider must work.
        yield spoilt(name, in_segments(kind, offset, form, value), "", "P3", status=(0, 3), shows=WHOLE)


def other_file(name, make, says, kind, **more):
    """The library is not a regular file."""

    def prepare(place):
        folder = place / "library" / f"file.{name}"
        path = folder / f"file.{name}.so"
        make(path)

    return Animal(kind, name, Library(f"file.{name}"), says=says, prepare=prepare, **{**NOT, "status": (3, 4), **more})


def strange_files():
    def replaced(make):
        def change(path):
            os.unlink(path)
            make(path)

        return change

    yield other_file("is-gone", os.unlink, "does not exist|No such", "P1")
    yield other_file("is-a-folder", replaced(os.mkdir), "regular|does not exist|directory|folder", "P2")
    yield other_file("is-a-pipe", replaced(os.mkfifo), "regular|does not exist", "P2")
    yield other_file("is-a-device", replaced(lambda path: os.symlink("/dev/zero", path)), "", "P2")
    yield other_file("is-a-link-to-nothing", replaced(lambda path: os.symlink("nothing", path)), "does not exist|No such|link", "P2")
    yield other_file("is-a-link-to-itself", replaced(lambda path: os.symlink(path.name, path)), "", "P2")
    yield other_file("is-endless", lambda path: os.truncate(path, 1 << 42), "2 GiB|large", "P1")


def loaded():
    def loading(kind, name, flags, status=(3,), says="", **more):
        return Animal(kind, name, Library(f"loading.{name.lower()}", "loading.c", flags), status=status, says=says, **more)

    yield loading("P8", "lost-function", ("-DWITH_LOST_FUNCTION",), says="zoo_function_that_nobody_has")
    yield Animal("P7", "needs-a-library", Library("file.needy"), says="libzoo-missing.so", prepare=put_needy, **NOT)
    yield Animal("P7", "needs-a-library-here", Library("file.needy-here"), says="libzoo-here.so|relative", prepare=put_needy_here,
                 **{**NOT, "status": (3, 4)})  # fmt: skip
    yield loading("P11", "resolver-dies", ("-DWITH_RESOLVER=__builtin_trap()",), says="SIGILL|SIGTRAP")
    yield loading("P11", "resolver-leaves", ("-DWITH_RESOLVER=_exit(0)",), (3, 0), says="ended|exit|SIG")
    yield loading("P16", "thread-memory", ("-DWITH_THREAD_MEMORY",), (0, 3), "TLS|memory", shows=WHOLE)
    yield loading("P16", "zeros-of-1-TB", ("-DWITH_ZEROS=1024", "-mcmodel=large", "-Wl,-z,norelro"), (3,), "memory|map|segment")
    yield loading("P36", "wants-to-run-its-stack", ("-Wl,-z,execstack",), (0, 3), "stack", shows=WHOLE)
    # Two libraries with the same names, and with names of the host: each uses its own.
    yield loading("P42", "names-of-others", ("-DWITH_NAMES",), (0,), None, shows=WHOLE)
    other = Library("loading.second", "loading.c", ("-DWITH_SHARED_NAME",))
    yield Animal("P42", "one-name-in-two", Library("loading.first", "loading.c", ("-DWITH_SHARED_NAME",)),
                 ("show", "{at}", f"{other.id}:", "--format", "csv", "--with-section"), status=(0,), also=(other,),
                 shows="(?s)loading.first.*loading.second")  # fmt: skip
    yield Animal("P5", "libz", Library("file.other-library"), says="tabella_provider_entry", prepare=put_system_library, **NOT)
    yield Animal("P6", "entry-is-data", Library("file.data-entry"), says="tabella_provider_entry", prepare=put_data_entry, **NOT)
    yield Animal("P5", "entry-of-another", Library("file.outer"), says="tabella_provider_entry", prepare=put_outer, **NOT)


def compile_to(place, target, text, *flags):
    source = place / "own.c"
    source.write_text(text)
    target.unlink(missing_ok=True)
    build.run([build.compiler(), "-shared", "-fPIC", "-o", target, source, *flags], place)


def compile_into(place, identity, text, *flags):
    """Replaces the existing library."""
    compile_to(place, place / "library" / identity / f"{identity}.so", text, *flags)


def put_data_entry(place):
    compile_into(place, "file.data-entry", "int tabella_provider_entry = 1;\n")


def put_outer(place):
    good = place / "library/file.outer/libinner.so"
    good.write_bytes((place / "library/file.outer/file.outer.so").read_bytes())
    compile_into(place, "file.outer", "int outer(void);\nint outer(void) { return 1; }\n", "-Wl,--no-as-needed", good, "-Wl,-rpath,$ORIGIN")


def put_needy(place):
    """The library that it needs exists when it is created."""
    other = place / "libzoo-missing.so"
    compile_to(place, other, "int zoo_other(void) { return 1; }\n", "-Wl,-soname,libzoo-missing.so")
    compile_into(place, "file.needy", ENTRY, "-Wl,--no-as-needed", other)
    other.unlink()


def put_needy_here(place):
    """The library that it needs is in the current directory, from which nothing may be loaded."""
    other = place / "libzoo-here.so"
    compile_to(place, other, '__attribute__((constructor)) void f(void) { __builtin_printf("RUBBISH"); __builtin_trap(); }\n')
    compile_into(place, "file.needy-here", ENTRY, "-Wl,--no-as-needed", "./libzoo-here.so")


ENTRY = '__attribute__((visibility("default"))) int tabella_provider_entry(void *entry) { return entry == 0; }\n'


def put_system_library(place):
    compile_into(place, "file.other-library", '__attribute__((constructor)) void f(void) { __builtin_printf("RUBBISH"); }\n')


# P38: ids and schemes of other providers


def shadow(name, manifest, command, shows, status=(0,), says=None, **more):
    library = Library(f"shadow.{name}", manifest=manifest)
    return Animal("P38", name, library, command, status=status, says=says, shows=shows, **more)


def csv_file(place):
    (place / "data.csv").write_text("a,b\n1,2\n")


def shadows():
    csv = ("show", "{place}/data.csv", "--format", "csv")
    yield shadow("id-of-csv", (("id", "csv"), ("schemes", []), ("patterns", ["*.csv"])), csv, "^a,b\n1,2\n$", prepare=csv_file)
    yield shadow("scheme-of-csv", (("schemes", ["csv"]),), ("show", "csv:{place}/data.csv", "--format", "csv"), "^a,b\n1,2\n$", prepare=csv_file)
    yield shadow("scheme-of-processes", (("schemes", ["processes"]),), ("show", "processes:", "--columns", "pid", "--format", "csv"), "^pid\n")
    yield shadow("pattern-of-csv", (("patterns", ["*.csv"]), ("schemes", [])), csv, "^a,b\n1,2\n$", prepare=csv_file)
    yield shadow("library-of-csv", (("library", str(build.ROOT / ".build/release/libtabella-csv.so")),), ("show", "{at}"), None, (3, 4), "csv|trust|own", prepare=csv_file)
    # Of two providers with the same id, the first on the path is always used, and the other is listed as refused.
    second = Library("shadow.second", "loading.c", ("-DWITH_SHARED_NAME",), manifest=(("id", "good"), ("schemes", ["good"])))
    yield Animal("P38", "same-id", Library("good"), ("providers",), status=(0,), also=(second,), remarks="refused: ",
                 after=lambda place, outcome: None if b"the id good is taken" in outcome.err else "it is not said that the id is taken")  # fmt: skip
    yield Animal("P38", "same-id-first-one-serves", Library("good"), ("show", "good:"), status=(0,), also=(second,), shows=WHOLE)


# P39: changed during use


def while_it_sleeps(change):
    def meanwhile(place, process):
        def act():
            time.sleep(0.5)
            change(next((place / "library").glob("*/*.so")))

        threading.Thread(target=act, daemon=True).start()

    return meanwhile


def replace(path):
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[::-1])


def overwrite(path):
    with open(path, "r+b") as stream:
        stream.write(os.urandom(path.stat().st_size))


def changed():
    sleeper = ("-DDEED=takes_a_second", "-DMOMENT=rows")
    for name, change, status in [("truncated-in-use", lambda path: os.truncate(path, 0), (0, 3)), ("replaced-in-use", replace, (0,)),
                                 ("removed-in-use", os.unlink, (0,)), ("overwritten-in-use", overwrite, (0, 3))]:  # fmt: skip
        yield Animal("P39", name, Library(f"file.{name}", "hang.c", sleeper), status=status, says="SIG|ended|silent|broke", shows=None,
                     meanwhile=while_it_sleeps(change), slow=True, seconds=20)  # fmt: skip


# P9: manifests


def manifests():
    def refused(name, members, says):
        return Animal("P9", name, Library(f"manifest.{name}", manifest=tuple(members.items())), says=says, **NOT)

    yield refused("manifest-too-new", {"contract": "9.9"}, "no provider|9.9|scheme")
    yield refused("manifest-without-version", {"version": None}, "no provider|version|scheme")


ANIMALS = [*no_files(), *strange_files(), *loaded(), *shadows(), *changed(), *manifests()]
