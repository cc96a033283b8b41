"""P40, P41: libraries that must not be loaded, because others could have written them."""

import os

import build
from animal import EMPTY, WHOLE, Animal, Library

REFUSED = dict(status=(4,), shows=EMPTY, seconds=5)
SOMEBODY = 12345  # neither root nor the user nobody, who runs the animals


def untrusted(kind, name, change, says, **more):
    """`change` receives the folder of the library, and the library."""
    library = Library(f"trust.{name}")

    def prepare(place):
        folder = place / "library" / library.id
        return change(folder, folder / library.name)

    return Animal(kind, name, library, says=says, prepare=prepare, **{**REFUSED, **more})


def moved(folder, library, target):
    """Moves the library elsewhere and leaves a link to it."""
    os.rename(library, target)
    os.symlink(target, library)


def elsewhere(folder, library):
    """Puts the library under a folder that everybody may write to, without a sticky bit."""
    open_folder = folder.parent / "open"
    open_folder.mkdir()
    os.rename(folder, open_folder / folder.name)
    open_folder.chmod(0o777)
    return [open_folder / folder.name]


def somebody_elses(folder, library):
    folder.chmod(0o755)
    os.chown(folder, SOMEBODY, SOMEBODY)


def everybodys_target(folder, library):
    target = folder.parents[1] / "files" / "target"
    target.mkdir()
    target.chmod(0o777)
    moved(folder, library, target / "target.so")


def needing(mode, owner=-1):
    """A library that needs another one by its absolute path, in a folder with this mode and owner."""

    def change(folder, library):
        target = folder.parents[1] / "files" / "needed"
        target.mkdir()
        (target / "inner.c").write_text("int inner(void) { return 1; }\n")
        build.run([build.compiler(), "-shared", "-fPIC", "-o", target / "inner.so", target / "inner.c"])
        build.run([build.compiler(), *build.FLAGS, "-shared", f'-DZOO_ID="{folder.name}"', "-o", library, build.ZOO / "Animals/good.c",
                   "-pthread", "-lm", "-Wl,--no-as-needed", target / "inner.so"])  # fmt: skip
        target.chmod(mode)
        os.chown(target, owner, -1)

    return change


def searching(folder):
    """A library whose dependencies are searched in this folder."""

    def change(own, library):
        build.run([build.compiler(), *build.FLAGS, "-shared", f'-DZOO_ID="{own.name}"', "-o", library, build.ZOO / "Animals/good.c",
                   "-pthread", "-lm", f"-Wl,-rpath,{folder}"])  # fmt: skip

    return change


def trusted():
    yield untrusted("P40", "writable-by-all", lambda folder, library: library.chmod(0o777), r"\(mode\).*777")
    yield untrusted("P40", "writable-by-group", lambda folder, library: library.chmod(0o775), r"\(mode\).*775")
    yield untrusted("P40", "folder-writable-by-all", lambda folder, library: folder.chmod(0o777), r"\(mode\).*777")
    yield untrusted("P40", "folder-writable-by-group", lambda folder, library: folder.chmod(0o770), r"\(mode\).*770")
    yield untrusted("P40", "sticky-folder", lambda folder, library: folder.chmod(0o1777), r"\(sticky\)")
    yield untrusted("P40", "folder-above-writable", elsewhere, r"\(mode\).*777")
    yield untrusted("P40", "link-to-everybodys-folder", everybodys_target, r"\((link|mode)\)")
    if os.geteuid() == 0:
        yield untrusted("P40", "somebody-elses-file", lambda folder, library: os.chown(library, SOMEBODY, SOMEBODY), r"\(owner\)")
        yield untrusted("P40", "somebody-elses-folder", somebody_elses, r"\(owner\)")
    yield untrusted("P40", "needs-a-library-of-everybodys", needing(0o777), r"needs.*\(mode\).*777")
    if os.geteuid() == 0:
        yield untrusted("P40", "needs-a-library-of-somebody-elses", needing(0o755, SOMEBODY), r"needs.*\(owner\)")
    yield untrusted("P40", "needs-a-library-of-its-own", needing(0o700), None, status=(0,), shows=WHOLE)
    yield untrusted("P40", "needs-the-current-directory", searching("/proc/self/cwd"), r"RUNPATH.*\(path\).*leads through /proc")
    yield untrusted("P40", "runs-as-its-owner", lambda folder, library: library.chmod(0o4755), r"\(setuid\)")
    pinned = Library("trust.pinned")
    yield Animal("P40", "not-as-it-was-pinned", pinned, before=("providers", "--pin", pinned.id), between=append_to_library,
                 says=r"\(pin\).*SHA-256", **REFUSED)  # fmt: skip
    yield Animal("P40", "as-it-was-pinned", pinned, before=("providers", "--pin", pinned.id), status=(0,), shows=WHOLE)
    # Correct files are accepted, in any spelling.
    yield untrusted("P40", "read-only-library", lambda folder, library: library.chmod(0o500), None, status=(0,), shows=WHOLE)


def append_to_library(place):
    with open(next((place / "library").glob("*/*.so")), "ab") as stream:
        stream.write(b"\0")


# P41: the environment variables with the locations of providers


def searched(name, path, status, says, shows, **more):
    library = Library(f"path.{name}")
    return Animal("P41", name, library, ("show", "{at}", "--format", "csv"), status=status, says=says, shows=shows,
                  options={"environment": {"TABELLA_PROVIDER_PATH": path}}, **more)  # fmt: skip


def here(place):
    """The place is the current directory. Libraries there must not be found."""
    folder = next((place / "library").iterdir())
    for path in folder.iterdir():
        os.rename(path, place / path.name)


def searches():
    for name, path in [("nothing", ""), ("here", "."), ("relative", "library"), ("empty-parts", "::"), ("parent", "library/.."),
                       ("nonsense", "\x01\xff:\n:~"), ("home", "~/library"), ("long", "/" + "x" * 5000)]:  # fmt: skip
        yield searched(name, path, (3,), "", EMPTY, prepare=here)
    yield searched("here-by-proc", "/proc/self/cwd", (4,), r"\(path\).*leads through /proc", EMPTY, prepare=here)


ANIMALS = [*trusted(), *searches()]
