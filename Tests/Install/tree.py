"""The laws of an installed tree. Each returns sentences about the files that break it."""

import ctypes
import os
import platform
import re
import stat
import subprocess
import time

MOST_BYTES = 40 << 20
# The code that a start of the program may map.
MOST_CODE = 5 << 20
# Libraries of the system: those of C, C++ and the compiler.
SYSTEM = re.compile(
    r"(ld-linux.*|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so\.\d+$")
CXX = re.compile(r"(libstdc\+\+|libgcc_s)\.so")
# Pages for people who change Tabella: they describe its sources, and name files of the repository.
ABOUT_SOURCES = re.compile(
    r"(CHANGELOG|CONTRIBUTING|docs/(architecture.*|where-to-change|changing-the-contract|writing-style|claims|"
    r"benchmarks|performance|faults|fuzzing|zoo|decisions/.*))\.md$")
# The run path of a file, by its folder.
RUN_PATHS = {
    "bin": "$ORIGIN/../lib/tabella/runtime/contained:$ORIGIN/../lib/tabella/runtime",
    "libexec/tabella": "$ORIGIN/../../lib/tabella/runtime",
    "lib": "$ORIGIN/tabella/runtime",
    "lib/tabella/providers": "$ORIGIN/../runtime",
    "lib/tabella/runtime": "$ORIGIN",
    # Empty libraries, which need no other one.
    "lib/tabella/runtime/contained": None,
}


def files(root):
    """The paths of all files and links, relative to the root."""
    found = []
    for folder, _, names in os.walk(root):
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    for folder, folders, _ in os.walk(root):
        found += [
            os.path.relpath(os.path.join(folder, name), root)
            for name in folders if os.path.islink(os.path.join(folder, name))]
    return sorted(set(found))


def is_elf(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def binaries(root):
    return [path for path in files(root) if is_elf(os.path.join(root, path))]


def dynamic(path, tag):
    """The texts of a tag in the dynamic section, such as NEEDED."""
    text = subprocess.run(
        ["readelf", "-dW", path], capture_output=True, text=True, check=True,
        env={**os.environ, "LC_ALL": "C"}).stdout
    return re.findall(rf"\({tag}\).*\[(.*)\]", text)


def are_complete(root):
    names = ["bin/tabella", "libexec/tabella/tabella-worker", "share/man/man1/tabella.1",
             "share/bash-completion/completions/tabella", "share/zsh/site-functions/_tabella",
             "share/fish/vendor_completions.d/tabella.fish", "share/doc/tabella/README.md",
             "share/doc/tabella/CHANGELOG.md", "share/doc/tabella/LICENSE",
             "share/doc/tabella/docs/operating.md", "share/doc/tabella/Examples/provider-c/planets.c",
             "share/tabella/swift/Package.swift", "share/tabella/manifest.schema.json",
             "include/tabella/tabella.h", "include/tabella/tabella_batch.h", "include/tabella/tabella_edit.h",
             "include/tabella/tabella_save.h", "include/tabella/tabella_document.h",
             "include/tabella/tabella_embed.h", "lib/libtabella.so", "lib/libtabella.so.0",
             "lib/tabella_sqlite.so",
             "lib/pkgconfig/tabella.pc", "lib/tabella/runtime/libswiftCore.so"]
    for provider in ("csv", "directory", "processes", "text"):
        names += [f"lib/tabella/providers/libtabella-{provider}.so",
                  f"lib/tabella/providers/tabella-{provider}.json"]
    return [f"{name} is missing" for name in names if not os.path.isfile(os.path.join(root, name))]


def are_small(root):
    size = sum(
        os.lstat(os.path.join(root, path)).st_size for path in files(root)
        if path.startswith(("bin/", "libexec/", "lib/tabella/")))
    return [f"programs, providers and runtime have {size} bytes"] if size > MOST_BYTES else []


def have_modes(root):
    wrong = []
    for path in [".", *files(root)]:
        status = os.lstat(os.path.join(root, path))
        if stat.S_ISLNK(status.st_mode):
            continue
        runs = stat.S_ISDIR(status.st_mode) or path.startswith(("bin/", "libexec/"))
        mode = stat.S_IMODE(status.st_mode)
        # Scripts of the examples may be run.
        fits = mode == 0o755 if runs else mode == 0o644 or "/Examples/" in path and mode == 0o755
        if not fits:
            wrong.append(f"{path} has mode {mode:o}")
    for folder, folders, _ in os.walk(root):
        for name in folders:
            mode = stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode)
            if mode != 0o755:
                wrong.append(f"{os.path.join(folder, name)} has mode {mode:o}")
    return wrong


def have_run_paths(root):
    wrong = []
    for path in binaries(root):
        found = dynamic(os.path.join(root, path), "RUNPATH") + dynamic(os.path.join(root, path), "RPATH")
        expected = RUN_PATHS[os.path.dirname(path)]
        # Libraries of the runtime that need no other one have no run path.
        if found != [expected] and not (not found and path.startswith("lib/tabella/runtime/")):
            wrong.append(f"{path} has the run path {found}")
    return wrong


def find_their_libraries(root):
    wrong = []
    for path in binaries(root):
        for name in dynamic(os.path.join(root, path), "NEEDED"):
            if not SYSTEM.match(name) and not os.path.exists(os.path.join(root, "lib/tabella/runtime", name)):
                wrong.append(f"{path} needs {name}")
    return wrong


def start_without_cxx(root):
    """The libraries of C++ are loaded only for providers that others wrote: their symbols take a sixth of a start."""
    wrong = []
    for first in binaries(root):
        if os.path.dirname(first) == "lib/tabella/runtime":
            continue
        seen, queue = set(), [first]
        while queue:
            path = queue.pop()
            for name in dynamic(os.path.join(root, path), "NEEDED"):
                if name in seen:
                    continue
                seen.add(name)
                if CXX.match(name):
                    wrong.append(f"{first} loads {name} for {path}")
                runtime = f"lib/tabella/runtime/{name}"
                if os.path.exists(os.path.join(root, runtime)):
                    queue.append(runtime)
    return wrong


def start_alone(root):
    """The program and the shipped providers load no library of Swift: the program contains the runtime and the core."""
    program = os.path.join(root, "bin/tabella")
    own = dynamic(program, "SONAME") if is_elf(program) else []
    return [
        f"{path} loads {name}"
        for path in binaries(root) if path.startswith(("bin/", "lib/tabella/providers/"))
        for name in dynamic(os.path.join(root, path), "NEEDED") if not SYSTEM.match(name) and name not in own]


def can_trace():
    """Whether this machine lets Sources/Packaging/link find the order of functions."""
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0 else 1)  # PTRACE_TRACEME
    return platform.machine() == "x86_64" and os.waitpid(child, 0)[1] == 0


def mapped_code(program, process):
    """The bytes of a program's code that a process has mapped."""
    with open(f"/proc/{process}/smaps") as file:
        of_code = re.search(rf"^\S+ r-xp .*{re.escape(program)}\n(?:\w+: .*\n)*?Rss: +(\d+) kB$", file.read(), flags=re.M)
    return int(of_code[1]) << 10


def start_in_one_place(root):
    """The functions of a start lie next to each other, so that few pages of the program are mapped."""
    program = os.path.realpath(os.path.join(root, "bin/tabella"))
    with subprocess.Popen([program, "count", "/dev/stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        # It starts, and then it waits for its input.
        waits = 0
        while waits < 5 and started.poll() is None:
            time.sleep(0.02)
            with open(f"/proc/{started.pid}/stat") as file:
                waits = waits + 1 if file.read().rpartition(")")[2].split()[0] == "S" else 0
        code = mapped_code(program, started.pid)
        started.communicate()
    return [f"bin/tabella maps {code >> 10} KiB of code when it starts"] if code > MOST_CODE and can_trace() else []


def are_stripped(root):
    wrong = []
    for path in binaries(root):
        text = subprocess.run(
            ["readelf", "-SW", os.path.join(root, path)], capture_output=True, text=True, check=True).stdout
        if " .symtab " in text or ".debug_" in text:
            wrong.append(f"{path} is not stripped")
    return wrong


def have_good_links(root):
    wrong = []
    for path in files(root):
        full = os.path.join(root, path)
        if not os.path.islink(full):
            continue
        target = os.readlink(full)
        if os.path.isabs(target) or not os.path.exists(full):
            wrong.append(f"{path} leads to {target}")
    return wrong


def name_no_folder(root, folders):
    """No file contains a folder of the machine that built it."""
    wrong = []
    for path in files(root):
        full = os.path.join(root, path)
        if os.path.islink(full):
            continue
        with open(full, "rb") as file:
            content = file.read()
        wrong += [f"{path} contains {folder}" for folder in folders if folder.encode() in content]
    return wrong


def have_pages_that_lead(root):
    """Every link of a page leads to a file, and every path of the sources that it names is installed, too.

    An installation contains the folders `docs` and `Examples` of the repository, and in the SDK some of `Sources`.
    """
    wrong = []
    top = os.path.join(root, "share/doc/tabella")
    for path in files(top):
        if not path.endswith(".md") or ABOUT_SOURCES.match(path):
            continue
        with open(os.path.join(top, path)) as file:
            text = file.read()
        folder = os.path.dirname(os.path.join(top, path))
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target and not os.path.exists(os.path.join(folder, target)):
                wrong.append(f"{path} links to {target}")
        # Some sessions show files of the repository. A comment is for those who change the page.
        shown = re.sub(r"^```(console|text)\n.*?^```$|^<!--.*?-->$", "", text, flags=re.M | re.S)
        bases = [top, folder, os.path.join(root, "share/tabella/swift")]
        for name in re.findall(r"(?<![\w./-])(?:\.\./)*(?:Sources|Plugins|Tests|Examples|docs)/[\w./-]*\w", shown):
            if not any(os.path.exists(os.path.join(base, name)) for base in bases):
                wrong.append(f"{path} names {name}")
    return wrong


def broken_laws(root, folders):
    laws = [are_complete, are_small, have_modes, have_run_paths, find_their_libraries, start_without_cxx,
            start_alone, start_in_one_place, are_stripped, have_good_links, have_pages_that_lead, lambda root: name_no_folder(root, folders)]
    return [sentence for law in laws for sentence in law(root)]
