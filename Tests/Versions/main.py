"""Two providers, built with different versions of the SDK, run in one process.

One is the provider of Tests/Ledger as the release build has it. The other one has the same source, the same names of
modules and types, and an altered SDK (altered.py): other layouts, other requirements of protocols, another order of
cases, another contract version. It is not optimized, because then generic code asks the runtime for each layout.

Each command opens tables of both in one process, in both orders. It must print and store the same as with each provider
in a worker of its own. The checks of `tabella check` then run on each, with the other one loaded."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import altered

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / ".build/release"
TABELLA = RELEASE / "tabella"
SESSION = ROOT / "Tests/Versions/session.py"
ROWS = {
    "earlier": "name:text count:integer found:date\n# A\nAda\t1\t1815-12-10T00:00:00Z\nBob\t20\t\\N\n# B\nCy\t3\t\\N\n",
    "later": "name:text count:integer found:date\n# C\nDan\t14\t\\N\nEve\t5\t1990-01-01T12:00:00Z\n# D\nFay\t\\N\t\\N\nGus\t7\t\\N\n",
}
# The options of the commands that show both tables. None names a place or a process.
SHOWN = [
    [], ["--json"], ["--format", "csv", "--with-section"], ["--sort", "count:desc"], ["--filter", "count > 3"],
    ["--section-by", "name:letter"], ["--columns", "found,name"], ["--search", "a", "--format", "jsonl"],
    ["--section-by", "found:year", "--sort", "name"], ["-n", "3"], ["--filter", "counts > 3"], ["--rows", "1..2"]]


class Failed(Exception):
    """A difference."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


def compile_later(folder: Path, says) -> Path:
    """Builds the provider with the altered SDK. Returns its library."""
    sources, out = folder / "sources", folder / "out"
    out.mkdir()
    altered.copy(ROOT, sources)
    ledger = (ROOT / "Tests/Ledger/Ledger.swift").read_text()
    named = ledger.replace('static let id = "ledger"', 'static let id = "later"')
    expect(named != ledger, "the id of the ledger is not found")
    (sources / "Ledger.swift").write_text(named)
    common = [
        "swiftc", "-swift-version", "6", "-package-name", "tabella", "-parse-as-library", "-wmo", "-Onone", "-suppress-warnings",
        "-I", str(out), "-Xcc", f"-fmodule-map-file={sources}/modules/module.modulemap",
        "-Xcc", f"-I{sources}/CTabella/include", "-Xcc", f"-I{sources}/CTabellaSystem/include"]
    for part in ["-disable-implicit-concurrency-module-import", "-disable-implicit-string-processing-module-import"]:
        common += ["-Xfrontend", part]
    # The only part of the target in C that the modules call.
    run_compiler(["clang", "-c", "-fPIC", "-D_GNU_SOURCE", f"-I{sources}/CTabellaSystem/include",
                  str(sources / "CTabellaSystem/processors.c"), "-o", f"{out}/processors.o"])
    for module in altered.MODULES:
        files = [str(path) for path in sorted((sources / module).rglob("*.swift"))]
        run_compiler([*common, "-module-name", module, "-emit-module", "-emit-module-path", f"{out}/{module}.swiftmodule",
                      "-c", *files, "-o", f"{out}/{module}.o"])
        says(f"compiled {module}")
    library = folder / "liblater.so"
    run_compiler([*common, "-module-name", "Ledger", "-emit-library", "-use-ld=lld", "-o", str(library), str(sources / "Ledger.swift"),
                  *(f"{out}/{module}.o" for module in altered.MODULES), f"{out}/processors.o", "-Xlinker", "-z", "-Xlinker", "nodelete",
                  "-Xlinker", f"--version-script={ROOT}/Sources/TabellaLinking/provider.map", "-Xlinker", entry_alias()])
    return library


def entry_alias() -> str:
    """The linker flag that gives the entry of a provider in Swift its name."""
    return re.search(r'"(--defsym=tabella_provider_entry=\w+)"', (ROOT / "Package.swift").read_text())[1]


def run_compiler(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expect(done.returncode == 0, f"the later provider cannot be built:\n{done.stdout}")


class World:
    """A folder with a table of each provider, its manifests and its receipts."""

    def __init__(self, folder: Path, libraries: dict, way: str):
        self.folder, self.way = folder, way
        folder.mkdir()
        self.files = {}
        for name, library in libraries.items():
            scheme = provider_id(name)
            (folder / f"{scheme}.tabella.json").write_text(json.dumps({
                "id": scheme, "version": "1", "contract": "0.9" if name == "earlier" else "0.10", "library": str(library),
                "schemes": [scheme], "options": []}))
            self.files[name] = folder / f"{name}.rows"
            self.files[name].write_text(ROWS[name])

    def run(self, verb, order, *arguments):
        locations = [f"{provider_id(name)}:{self.files[name].name}" for name in order]
        return self.tabella(verb, *locations, *arguments, self.way)

    def tabella(self, *arguments, preload=None):
        environment = {
            **os.environ, "TABELLA_PROVIDER_PATH": str(self.folder), "XDG_STATE_HOME": f"{self.folder}/state",
            "LC_ALL": "C.UTF-8", "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no"}
        if preload:
            environment["LD_PRELOAD"] = str(preload)
            environment["LD_LIBRARY_PATH"] = str(Path(shutil.which("swiftc")).resolve().parents[1] / "lib/swift/linux")
        done = subprocess.run(
            [TABELLA, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def session(self, isolation, order, seed, count):
        """The lines that session.py prints."""
        environment = {
            **os.environ, "PYTHONPATH": f"{ROOT}/Sources/TabellaPython", "TABELLA_LIBRARY": f"{RELEASE}/libtabella-embed.so",
            "SWIFT_BACKTRACE": "enable=no"}
        locations = [f"{provider_id(name)}:{self.files[name].name}" for name in order]
        done = subprocess.run(
            [sys.executable, "-B", SESSION, isolation, str(seed), str(count), *locations], cwd=self.folder,
            env=environment, capture_output=True, text=True, timeout=300)
        expect(done.returncode == 0, f"{isolation}, {order}: status {done.returncode}: {done.stdout[-500:]}{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def contents(self):
        return {name: path.read_text() for name, path in self.files.items()}


def provider_id(name):
    return "ledger" if name == "earlier" else "later"


def show_both(together, apart, order):
    for options in SHOWN:
        said, expected = (world.run("show", order, *options) for world in (together, apart))
        expect(said == expected, f"show {order} {options}: {said}, but in workers {expected}")
        expect(said[0] in (0, 2), f"show {order} {options}: {said}")


def edit_both(together, apart, order, seed, count):
    """Random edits of both tables in turn, in one process (session.py). Returns the number of edits that were done."""
    said, expected = (
        world.session(isolation, order, seed, count) for world, isolation in ((together, "never"), (apart, "always")))
    for mine, other in zip(said, expected):
        expect(mine == other, f"edit {order}: {mine}, but in workers {other}")
    expect(len(said) == len(expected) == count + 1, f"edit {order}: {len(said)} lines, in workers {len(expected)}")
    done, is_restored = said[-1]
    expect(is_restored and together.contents() == ROWS, f"undo led to {together.contents()}")
    expect(done > count / 5, f"only {done} of {count} edits were done")
    return done


def check_each(folder, libraries):
    """The checks that a library passes alone, in one process in which the other library is loaded, too.

    The ledger of the tests keeps not all rules."""
    world = World(folder, libraries, "--in-process")
    for name, other in [("later", "earlier"), ("earlier", "later")]:
        check = ["check", str(libraries[name]), str(world.files[name]), "--seed", "1"]
        alone = re.findall(r"^passed +(\S+)$", world.tabella(*check)[1], re.M)
        expect(len(alone) > 40, f"check {name} passes only {alone}")
        status, out, errors = world.tabella(*check, "--only", ",".join(alone), world.way, preload=libraries[other])
        expect(status == 0, f"check {name} with {other}: {status} {out} {errors}")
        expect("passed" in out and "crashed" not in out, f"check {name} with {other}: {out}")


def main():
    words = argparse.ArgumentParser(prog="Tests/Versions/run", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--count", type=int, default=60, help="the number of edits in each order (60)")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--keep", action="store_true", help="keep the folder, with the altered sources")
    arguments = words.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tabella-versions-"))
    start = time.monotonic()

    def says(text):
        print(f"{time.monotonic() - start:6.1f} s  {text}", flush=True)

    try:
        libraries = {"earlier": RELEASE / "libledger.so", "later": compile_later(folder, says)}
        says("built the provider with the later SDK")
        for order in [("earlier", "later"), ("later", "earlier")]:
            together, apart = (
                World(folder / f"{order[0]}-{way}", libraries, f"--{way}") for way in ("in-process", "isolate"))
            show_both(together, apart, order)
            done = edit_both(together, apart, order, arguments.seed, arguments.count)
            says(f"read and edited, {order[0]} first: {done} of {arguments.count} edits done and undone")
        check_each(folder / "checked", libraries)
        says("checked, each with the other one loaded")
    except (Failed, altered.Unaltered) as failure:
        print(f"Tests/Versions/run: {failure}", file=sys.stderr)
        return 1
    finally:
        if arguments.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
