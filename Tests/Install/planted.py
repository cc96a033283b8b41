"""Plants faults in a small tree: each law of Tests/Install/tree.py must find its own."""

import os
import shutil
import subprocess

import tree
from use import expect

LIBRARY = "lib/tabella/providers/libtabella-csv.so"


def write(path, text, mode="w"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode) as file:
        file.write(text)


def library(path, *words):
    """Links a small library."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path, *words], input=b"int answer(void) { return 42; }",
        check=True)
    os.chmod(path, 0o644)


def scattered_program(path):
    """Links a program whose start calls functions in all of its code, and which then waits for its input."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    source = """
        #include <unistd.h>
        __asm__(".text\\ncode: .fill 8388608, 1, 0xc3\\n");
        extern char code[];
        int main(void) {
            char byte;
            for (long at = 0; at < 8388608; at += 4096) ((void (*)(void))(code + at))();
            return read(0, &byte, 1) < 0;
        }"""
    subprocess.run(["gcc", "-w", "-x", "c", "-", "-o", path, "-s"], input=source.encode(), check=True)


def plant(root):
    """Yields a law and the text that its sentence must contain, with the fault in the tree."""
    path = f"{root}/{LIBRARY}"
    good = ["-Wl,-rpath,$ORIGIN/../runtime", "-s"]
    library(path, *good)
    for law in (tree.have_modes, tree.have_run_paths, tree.find_their_libraries, tree.start_without_cxx,
                tree.start_alone, tree.are_stripped, tree.have_good_links, tree.have_pages_that_lead):
        expect(not law(root), f"{law.__name__} refuses a good tree: {law(root)}")
    yield tree.are_complete, "bin/tabella is missing"
    os.chmod(path, 0o664)
    yield tree.have_modes, "664"
    library(path, "-Wl,-rpath,/opt/toolchain:$ORIGIN/../runtime", "-s")
    yield tree.have_run_paths, "/opt/toolchain"
    library(path, "-Wl,-rpath,$ORIGIN/../runtime", "-g")
    yield tree.are_stripped, "not stripped"
    library(f"{root}/elsewhere/libswiftOther.so", "-Wl,-soname,libswiftOther.so", "-s")
    library(path, *good, "-Wl,--no-as-needed", f"-L{root}/elsewhere", "-lswiftOther")
    shutil.rmtree(f"{root}/elsewhere")
    yield tree.find_their_libraries, "libswiftOther"
    runtime = f"{root}/lib/tabella/runtime"
    library(f"{runtime}/libswiftMore.so", "-Wl,-soname,libswiftMore.so", "-Wl,--no-as-needed", "-lstdc++", "-s")
    library(path, *good, "-Wl,--no-as-needed", f"-L{runtime}", "-lswiftMore")
    yield tree.start_without_cxx, "libstdc++.so.6 for lib/tabella/runtime/libswiftMore.so"
    yield tree.start_alone, "libtabella-csv.so loads libswiftMore.so"
    os.remove(f"{runtime}/libswiftMore.so")
    library(path, *good)
    os.symlink("/usr", f"{root}/lib/link")
    yield tree.have_good_links, "/usr"
    os.remove(f"{root}/lib/link")
    page = f"{root}/share/doc/tabella/docs/page.md"
    write(page, "[a](../Examples/gone.c#part)")
    yield tree.have_pages_that_lead, "docs/page.md links to ../Examples/gone.c"
    scattered_program(f"{root}/bin/tabella")
    yield tree.start_in_one_place, "KiB of code"
    os.remove(f"{root}/bin/tabella")
    write(page, "See `Tests/Ledger`.")
    yield tree.have_pages_that_lead, "docs/page.md names Tests/Ledger"
    write(page, "```sh\nmake -C ../Examples/gone\n```")
    yield tree.have_pages_that_lead, "docs/page.md names ../Examples/gone"
    write(f"{root}/lib/note", "made in /build/folder/here")
    yield lambda root: tree.name_no_folder(root, ["/build/folder"]), "/build/folder"
    with open(f"{root}/lib/tabella/big", "wb") as file:
        file.truncate(tree.MOST_BYTES + 1)
    yield tree.are_small, "bytes"


def run(folder):
    place = f"{folder}/planted"
    os.makedirs(place)
    for law, text in plant(f"{place}/tree"):
        found = " ".join(law(f"{place}/tree"))
        expect(text in found, f"a planted fault was not found: {text}; {found}")
    shutil.rmtree(place)
