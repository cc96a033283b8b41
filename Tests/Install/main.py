"""Installs, uses, moves and removes tabella: Tests/Install/run --help."""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import authors
import debian
import planted
import tree
import use
from use import Machine, expect

ROOT = os.path.realpath(f"{os.path.dirname(os.path.realpath(__file__))}/../..")
BUILD = f"{ROOT}/.build/release"
RUNTIME = next(
    folder for folder in tree.dynamic(f"{BUILD}/tabella", "RUNPATH")[0].split(":")
    if os.path.exists(f"{folder}/libswiftCore.so"))
TOOLCHAIN = os.path.realpath(f"{RUNTIME}/../../../..")
# No installed file may contain these.
FOLDERS = [ROOT, os.path.realpath(f"{RUNTIME}/..")]


def make(target, *variables, **environment):
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, target, *variables], capture_output=True, text=True,
        env={**os.environ, **environment})
    expect(done.returncode == 0, f"make {target} {variables}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def snapshot(folder):
    """What a write would change: inode, size and both times of each file, and the entries of each folder."""
    found = {}
    for path in [folder] + [os.path.join(at, name) for at, ones, others in os.walk(folder) for name in ones + others]:
        status = os.lstat(path)
        found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


def contents(folder):
    """The files of a folder and its empty folders, without times."""
    found = {}
    for at, folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            found[os.path.relpath(path, folder)] = os.lstat(path).st_size
        if not folders and not names:
            found[os.path.relpath(at, folder)] = None
    return found


def without_toolchain(*folders):
    """A way to run a command that sees neither the toolchain nor the sources nor the build."""
    script = 'for at do [ "$at" != -- ] || break; shift; mount -t tmpfs -o mode=755 none "$at"; done; shift; exec "$@"'
    for user in ([], ["--map-root-user"]):
        way = ["unshare", "--mount", *user, "sh", "-ec", script, "sh", *folders, "--"]
        if subprocess.run([*way, "true"], capture_output=True).returncode == 0:
            return way
    raise use.Failed("this machine cannot make a mount namespace")


class Trial:
    """One run. Each method is a step, and the steps follow each other."""

    def __init__(self, folder):
        self.folder = folder
        self.prefix = f"{folder}/first place/tabella"
        self.hidden = without_toolchain(TOOLCHAIN, ROOT)
        self.machine = Machine(self.hidden, f"{folder}/data")
        self.providers = f"{folder}/providers"
        self.expected = f"{ROOT}/Examples/expected"

    @property
    def tabella(self):
        return f"{self.prefix}/bin/tabella"

    def install(self):
        """An installed tree keeps the laws of Tests/Install/tree.py."""
        make("install", f"PREFIX={self.prefix}")
        wrong = tree.broken_laws(self.prefix, FOLDERS)
        expect(not wrong, "; ".join(wrong))

    def install_again(self):
        """A second `make install` builds nothing and writes nothing."""
        installed, built = snapshot(self.prefix), snapshot(f"{BUILD}/")
        said = make("install", f"PREFIX={self.prefix}")
        expect(not re.search(r"Compiling|Linking", said), f"make install built again: {said}")
        # SwiftPM notes each run in its own files.
        products = {path: facts for path, facts in built.items() if re.search(r"(\.so|\.o|/tabella[a-z-]*)$", path)}
        now = snapshot(f"{BUILD}/")
        changed = [path for path in products if now.get(path) != products[path]]
        expect(products and not changed, f"make install changed products: {changed}")
        now = snapshot(self.prefix)
        changed = [path for path in {*installed, *now} if installed.get(path) != now.get(path)]
        expect(not changed, f"make install wrote again: {changed}")

    def hides_the_toolchain(self):
        """The program of the build folder does not start where the installed one must."""
        copy = f"{self.folder}/copy"
        shutil.copy(f"{BUILD}/tabella", copy)
        said = self.machine.run(copy, "--version", status=127)
        expect("libswiftCore" in said, f"the toolchain is not hidden: {said}")

    def use(self):
        use.use_shipped(self.machine, self.tabella)

    def make_providers(self):
        """The example in C compiles against the installed headers; the one in Swift was built with the toolchain."""
        shutil.copytree(f"{self.prefix}/share/doc/tabella/Examples/provider-c", self.providers)
        done = subprocess.run(
            ["make", "-C", self.providers], capture_output=True, text=True,
            env={**os.environ, "PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig"})
        expect(done.returncode == 0, f"Examples/provider-c: {done.stdout}{done.stderr}")
        example = f"{ROOT}/Examples/provider-swift"
        subprocess.run(
            ["swift", "build", "--quiet", "-c", "release", "--package-path", example], check=True)
        shutil.copy(f"{example}/.build/release/libprimes.so", self.providers)
        with open(f"{example}/primes.tabella.json") as manifest:
            text = manifest.read().replace(".build/release/", "")
        with open(f"{self.providers}/primes.tabella.json", "w") as manifest:
            manifest.write(text)
        needed = tree.dynamic(f"{self.providers}/libprimes.so", "NEEDED")
        expect("libswift_Concurrency.so" in needed, f"the example needs less of the runtime than others: {needed}")

    def use_foreign(self):
        use.use_foreign(self.machine, self.tabella, self.providers, self.expected)

    def use_library(self):
        """Programs in C compile against the installed library, after a move again, and run without the toolchain."""
        name = f"c {os.path.basename(self.prefix)}"
        use.use_library(
            self.machine, f"{self.prefix}/share/doc/tabella/Examples/embed-c", f"{self.prefix}/lib/pkgconfig",
            name, self.providers, self.expected)

    def use_sqlite(self):
        """The installed extension for SQLite, if there is a Python that can load one."""
        python = "/usr/bin/python3"
        code = "import sqlite3; sqlite3.Connection.enable_load_extension"
        if subprocess.run([python, "-c", code], capture_output=True).returncode != 0:
            expect("TABELLA_NO_SKIPS" not in os.environ, f"{python} cannot load extensions of SQLite")
            print("skipped: the extension for SQLite")
            return
        use.use_sqlite(self.machine, python, f"{self.prefix}/lib/tabella_sqlite.so")

    def become_an_author(self):
        """Follows docs/first-provider.md with the installed files: C and Rust without Swift, Swift without the sources."""
        for language, program, hidden in (
                ("c", "cc", self.hidden), ("rust", "rustc", self.hidden), ("swift", "swift", without_toolchain(ROOT))):
            if not authors.found(program) and "TABELLA_NO_SKIPS" not in os.environ:
                print(f"skipped: a provider in {language}, because there is no {program}")
                continue
            author = authors.Author(hidden, self.prefix, f"{self.folder}/authors/{language}")
            authors.have_own_rows(author, language)
            if language == "swift":
                authors.write_minimal_provider(author)
                # The SDK that the first provider compiled serves here, too.
                authors.build_example(
                    author, language, "ln -s ../planets/.build .build",
                    'export SWIFTFLAGS="--scratch-path ../planets/.build"')
            else:
                authors.build_example(author, language)
            if language == "c":
                authors.follow_the_guide(author)
                self.build_sqlite(author)

    def build_sqlite(self, author):
        if os.path.exists("/usr/include/sqlite3.h") or "TABELLA_NO_SKIPS" in os.environ:
            authors.build_example(author, "sqlite")
        else:
            print("skipped: provider-sqlite, because there is no sqlite3.h (libsqlite3-dev)")

    def need_the_worker(self):
        """Without the worker of this prefix, a foreign provider cannot run, and the error says where it must lie."""
        worker = f"{self.prefix}/libexec/tabella/tabella-worker"
        os.rename(worker, f"{worker}.away")
        said = self.machine.run(
            self.tabella, "show", "planets:", TABELLA_PROVIDER_PATH=self.providers, status=3)
        expect("libexec/tabella" in said, f"the error does not name the folder of the worker: {said}")
        os.rename(f"{worker}.away", worker)

    def link_to_it(self):
        """A symbolic link to the program finds the providers and the worker, too."""
        link = f"{self.folder}/link"
        os.symlink(self.tabella, link)
        path = self.machine.write("linked.csv", "a\n1\n")
        expect(self.machine.run(link, "count", path, "--isolate") == "1\n", "a link does not work")

    def move(self):
        other = f"{self.folder}/moved"
        os.rename(self.prefix, other)
        self.prefix = other

    def update_while_it_runs(self):
        """A running program keeps its files, because an update replaces them by renaming."""
        followed = self.machine.write("update/data.csv", "a\n1\n")
        changed = [self.tabella, *(f"{self.prefix}/{path}" for path in (
            "lib/tabella/runtime/libswiftCore.so", "lib/tabella/providers/libtabella-csv.so",
            "libexec/tabella/tabella-worker"))]
        # An older version: the same files with other bytes after their end.
        for path in changed:
            with open(path, "ab") as file:
                file.write(b"older")
        stale = f"{self.prefix}/lib/tabella/providers/libtabella-older.so"
        shutil.copy(changed[2], stale)
        with open(f"{self.prefix}/lib/tabella/installed", "a") as file:
            file.write("file lib/tabella/providers/libtabella-older.so\n")
        followers = [use.Follower(self.machine, self.tabella, "show", followed, *options)
                     for options in ([], ["--isolate"])]
        for follower in followers:
            follower.wait_for('"1"')
        before = {path: os.stat(path).st_ino for path in changed}
        held = [open(path, "rb") for path in changed]
        make("install", f"PREFIX={self.prefix}")
        for path, file in zip(changed, held):
            expect(os.stat(path).st_ino != before[path], f"{path} was overwritten")
            file.seek(-5, os.SEEK_END)
            expect(file.read() == b"older", f"the open file {path} was overwritten")
            file.close()
        expect(not os.path.exists(stale), "a file of the older version stays")
        wrong = tree.broken_laws(self.prefix, FOLDERS)
        expect(not wrong, "; ".join(wrong))
        with open(f"{self.machine.folder}/update/data.csv", "a") as file:
            file.write("2\n")
        for follower in followers:
            follower.wait_for('"2"')
            follower.end()

    def uninstall_from_elsewhere(self):
        """After a move, `make uninstall` removes all installed files, and nothing else."""
        own = f"{self.prefix}/lib/tabella/providers/mine.so"
        with open(own, "w") as file:
            file.write("mine")
        make("uninstall", f"PREFIX={self.prefix}")
        left = contents(self.prefix)
        expect(left == {"lib/tabella/providers/mine.so": 4}, f"uninstall left {left}")
        expect(os.path.isdir(f"{self.folder}/first place"), "uninstall removed a folder elsewhere")
        shutil.rmtree(self.prefix)
        os.rmdir(f"{self.folder}/first place")

    def uninstall(self):
        """`make install` and then `make uninstall` leave no file and no folder."""
        around = f"{self.folder}/around"
        os.makedirs(f"{around}/usr/share/man")
        before = contents(around)
        destination, prefix = f"DESTDIR={around}/new one", "PREFIX=/opt/deep/tabella"
        make("install", destination, prefix)
        installed = f"{around}/new one/opt/deep/tabella"
        wrong = tree.broken_laws(installed, FOLDERS)
        expect(not wrong, "; ".join(wrong))
        make("install", f"DESTDIR={around}", "PREFIX=/usr")
        other = {path: size for path, size in contents(f"{around}/usr").items() if path != "lib/tabella/installed"}
        for path in other:
            expect(filecmp.cmp(f"{around}/usr/{path}", f"{installed}/{path}", shallow=False), f"{path} differs")
        make("uninstall", destination, prefix)
        make("uninstall", f"DESTDIR={around}", "PREFIX=/usr")
        expect(contents(around) == before, f"uninstall left {contents(around)}")
        shutil.rmtree(around)

    def install_as_user(self):
        """An ordinary user installs the build of somebody else into the own home folder."""
        if os.geteuid() != 0:
            return
        home, seen = f"{self.folder}/user", f"{self.folder}/sources"
        os.makedirs(home)
        os.makedirs(seen)
        os.chown(home, 65534, 65534)
        # The user may have no access to the folders above the sources.
        script = ('mount --bind "$1" "$2"; exec setpriv --reuid 65534 --regid 65534 --clear-groups '
                  'env HOME="$3" make --no-print-directory -C "$2" install PREFIX="$3/.local"')
        before = snapshot(f"{ROOT}/.build/stage")
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", script, "sh", ROOT, seen, home], capture_output=True, text=True)
        expect(done.returncode == 0, f"make install as a user: {done.stdout}{done.stderr}")
        expect(snapshot(f"{ROOT}/.build/stage") == before, "make install as a user wrote into the build folder")
        wrong = tree.broken_laws(f"{home}/.local", FOLDERS)
        expect(not wrong, "; ".join(wrong))
        for user in ([], ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]):
            machine = Machine([*self.hidden, *user], f"{home}/data")
            path = machine.write("data.csv", "a\n1\n")
            for options in ([], ["--isolate"]):
                counted = machine.run(f"{home}/.local/bin/tabella", "count", path, *options)
                expect(counted == "1\n", f"{user} counts {counted}")
        shutil.rmtree(home)


QUICK = [
    Trial.install, Trial.install_again, Trial.hides_the_toolchain, Trial.use, Trial.make_providers,
    Trial.use_foreign, Trial.use_library, Trial.use_sqlite, Trial.become_an_author,
    Trial.need_the_worker, Trial.link_to_it, Trial.move, Trial.use, Trial.use_foreign,
    Trial.use_library, Trial.use_sqlite, Trial.update_while_it_runs,
    Trial.uninstall_from_elsewhere, Trial.uninstall, Trial.install_as_user]


def main():
    words = argparse.ArgumentParser(prog="Tests/Install/run", description=__doc__)
    words.add_argument("--packages", action="store_true", help="also build Debian packages and use them in a clean root")
    words.add_argument("--keep", action="store_true", help="keep the folder of the trial")
    arguments = words.parse_args()
    os.umask(0o022)
    folder = tempfile.mkdtemp(prefix="tabella install ")
    os.chmod(folder, 0o755)
    start = time.monotonic()
    try:
        planted.run(folder)
        trial = Trial(folder)
        for step in QUICK:
            step(trial)
            print(f"{time.monotonic() - start:6.1f} s  {step.__name__.replace('_', ' ')}", flush=True)
        if arguments.packages:
            debian.trial(ROOT, FOLDERS, trial.providers, trial.expected)
            print(f"{time.monotonic() - start:6.1f} s  packages", flush=True)
    except use.Failed as failure:
        print(f"Tests/Install/run: {failure}", file=sys.stderr)
        return 1
    finally:
        if arguments.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
