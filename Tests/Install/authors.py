"""What an author of providers does with only an installation: the pages are followed to the letter."""

import os
import re
import shutil
import subprocess

import tree
from use import expect

PAGE = "share/doc/tabella/docs/first-provider.md"
# The words that make a Swift function the entry, and what a careless author writes instead.
ENTRY = "@c @implementation\npublic func tabella_provider_entry(_ entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {"
WRONG_ENTRIES = {
    "without @c": ENTRY.replace("@c ", ""),
    "without @implementation": ENTRY.replace("@implementation", ""),
    "without both words": ENTRY.replace("@c @implementation\n", ""),
    "with another name": ENTRY.replace("provider_entry", "entry_of_provider"),
    "with another type": ENTRY.replace("-> Int32", "-> Int"),
}


class Author:
    """A shell in a folder of its own, that finds the installed program and the compilers.

    `way` leads into the root folder `root`, below which `prefix` and `folder` are.
    """

    def __init__(self, way, prefix, folder, root=""):
        self.way, self.prefix, self.folder, self.root = way, prefix, folder, root
        os.makedirs(f"{root}{folder}")
        path = "/usr/bin:/bin" if root else os.environ["PATH"]
        self.environment = {
            **os.environ, "PATH": f"{prefix}/bin:{path}", "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "PKG_CONFIG_LIBDIR": f"{prefix}/lib/pkgconfig", "XDG_STATE_HOME": f"{folder}.state"}

    def run(self, line, status=0):
        done = subprocess.run(
            [*self.way, "sh", "-c", 'cd "$0" && eval "$1"', self.folder, line], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, env=self.environment)
        expect(status is None or done.returncode == status, f"{line}: status {done.returncode}: {done.stdout}")
        return done.stdout if status is not None else (done.returncode, done.stdout)

    def follow(self, session):
        """Types the lines of a console block, and compares what they print."""
        steps = ("\n" + session).split("\n$ ")[1:]
        expect(steps[0] == 'cd "$(mktemp -d)"' and len(steps) <= 1 + 5, f"the block has other steps: {session}")
        for step in steps[1:]:
            line, *shown = step.split("\n")
            said = self.run(line)
            expect(said == "".join(f"{one}\n" for one in shown), f"{line} prints {said}")

    def test(self, name):
        """`make test` passes without a warning."""
        # The rows of the sample are the author's own.
        self.run(f"sed -i 's/^Ada     /Uranus  /; s/1815$/1781/' {name}/expected/sample.txt")
        said = self.run(f"make -s -C {name} test")
        expect("warning" not in said and said.count(" passed, ") == 2, f"{name}: make test says {said}")


def sessions(author):
    """The console blocks of the page by language, and the smallest provider in Swift."""
    with open(f"{author.root}{author.prefix}/{PAGE}") as file:
        text = file.read()
    blocks = re.findall(r"^```console\n(.*?)\n```$", text, re.M | re.S)
    provider = re.findall(r"^```swift\n(import TabellaSDK\n.*?)\n```$", text, re.M | re.S)
    languages = {re.search(r"--language (\w+)", block).group(1): block for block in blocks}
    expect(list(languages) == ["c", "rust", "swift"] and len(provider) == 1, f"{PAGE} has other blocks")
    return languages, provider[0]


def have_own_rows(author, language):
    """From `tabella new-provider` to rows of one's own: the block of the page, then the test of the template."""
    author.follow(sessions(author)[0][language])
    author.test("planets")


def write_minimal_provider(author):
    """The smallest provider of the page: at most 15 lines, one symbol, no finding; wrong entries do not build."""
    code = sessions(author)[1]
    lines = [line for line in code.split("\n") if line.strip()]
    expect(len(lines) <= 15, f"the smallest provider has {len(lines)} lines")
    source = f"{author.folder}/planets/Sources/Provider.swift"
    with open(f"{author.folder}/planets/planets.tabella.json", "w") as file:
        file.write('{"id": "moons", "version": "1.0", "contract": "0.9", "library": "planets.so", "schemes": ["moons"]}')

    def build(text, status):
        with open(source, "w") as file:
            file.write(text)
        return author.run("make -C planets", status)

    expect(ENTRY in code, "the page has another entry")
    for name, entry in WRONG_ENTRIES.items():
        status, said = build(code.replace(ENTRY, entry), None)
        expect(status != 0 and "error:" in said, f"an entry {name} builds: {said}")
        expect(name != "without @implementation" or "needs_at_c_at_implementation" in said,
               f"an entry {name}: the error does not name it: {said}")
    build(code, 0)
    library = f"{author.folder}/planets/planets.so"
    shown = author.run("TABELLA_PROVIDER_PATH=$PWD/planets tabella show moons: --format csv")
    expect(shown == "planet,moons\nMars,2\nSaturn,146\n", f"moons: shows {shown}")
    checked = author.run("tabella check planets/planets.so moons: --quiet --seed 1")
    expect("warning" not in checked, f"the smallest provider: {checked}")
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True).stdout.split("\n")
    names = [line.split()[-1] for line in symbols if line]
    expect(names == ["tabella_provider_entry"], f"it exports {names}")
    expect(tree.dynamic(library, "RUNPATH") == ["$ORIGIN"], f"its run path is {tree.dynamic(library, 'RUNPATH')}")


def build_example(author, language, *before):
    """Types the first block of an example's README: it copies the folder, builds it, and runs its test.

    The lines of `before` are typed in the copy first.
    """
    examples = f"{author.prefix}/share/doc/tabella/Examples"
    with open(f"{author.root}{examples}/provider-{language}/README.md") as file:
        block = re.search(r"^```sh\n(.*?)\n```$", file.read(), re.M | re.S).group(1)
    copy, *lines = block.split("\n")
    expect(copy == f'cp -r "$(pkg-config --variable=examplesdir tabella)/provider-{language}" .' and
           lines == [f"cd provider-{language}", "make", "make test"], f"provider-{language} has other lines: {block}")
    # pkg-config writes a backslash in front of a space, for a line that a shell reads.
    named = author.run('eval "printf %s $(pkg-config --variable=examplesdir tabella)"')
    expect(os.path.samefile(f"{author.root}{named}", f"{author.root}{examples}"), f"pkg-config names {named}")
    copy = f'cp -r "{named}/provider-{language}" .'
    said = author.run(" && ".join([copy, lines[0], *before, *lines[1:]]))
    expect("warning:" not in said, f"provider-{language}: {said}")


def follow_the_guide(author):
    """Types the first block of the guide, in the folder where `build_example` has made the copy in C."""
    with open(f"{author.root}{author.prefix}/share/doc/tabella/docs/writing-a-provider.md") as file:
        text = file.read()
    copy, *lines = re.search(r"^```sh\n(.*?)\n```$", text, re.M | re.S).group(1).split("\n")
    expect(copy == 'cp -r "$(pkg-config --variable=examplesdir tabella)/provider-c" .', f"the guide copies with {copy}")
    said = author.run(" && ".join(lines))
    shown = re.search(r"^```text\n(.*?\n)```$", text, re.M | re.S).group(1)
    expect(said.endswith(shown), f"the guide shows {said}")


def found(program):
    return shutil.which(program) is not None
