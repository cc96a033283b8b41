"""P43: a worker's limits, memory and mounts, and its granted paths. A reading and an editing provider try each deed,
while the library is loaded and later."""

import fcntl
import os
import stat
import threading
import time

import keeper
from animal import Animal, Library

# Deeds that a limit refuses only to readers.
READERS = ("may_grow_files",)
DEEDS = ("changes_system_modes", "makes_a_memory_file", "runs_what_it_writes", "maps_shared_memory", "reserves_addresses",
         "starts_some_threads", *READERS)  # fmt: skip


def prepare(place):
    (place / "open").mkdir(mode=0o700)
    (place / "open/rows").touch()


def was_refused_to_reader(place, outcome):
    if b"GOT IT" in outcome.out:
        return "it was done"
    return None if b"refused" in outcome.out else f"it was not tried: {outcome.out[:80]!r}"


def was_refused_to_editor(place, outcome):
    if (place / "open/rows.done").exists():
        return "it was done"
    return None if (place / "open/rows.tried").exists() else "it was not tried"


AT = "{library_id}:{place}/open/rows"
READ = ("show", AT, "-n", "2", "--format", "csv")
EDIT = ("set", AT, "0:1", "word=changed")


def refused():
    for deed in DEEDS:
        for when, flags in [("early", ("-DEARLY",)), ("late", ())]:
            name = deed.replace("_", "-")
            library = Library(f"{name}.{when}", "rights.c", (f"-DDEED={deed}", *flags))
            for way, command, after in [("reading", READ, was_refused_to_reader), ("editing", EDIT, was_refused_to_editor)]:
                if way == "reading" or deed not in READERS:
                    yield Animal("P43", f"{name}-{when}-{way}", library, command, status=(0,), prepare=prepare, after=after)


def with_a_folder():
    """An editor may rename within its folder, but must not leave a device behind."""
    library = Library("leaves-a-device", "rights.c", ("-DDEED=leaves_a_device",))

    def judge(place, outcome):
        if not (place / "open/rows.renamed").exists():
            return "it made no file that it could rename"
        return was_refused_to_editor(place, outcome)

    yield Animal("P43", "leaves-a-device", library, EDIT, status=(0,), prepare=prepare, after=judge)


def links():
    """An editor may rename a folder within its folder, but must not replace it by a link, which the next command would
    follow."""

    def prepared(*way):
        def prepare_all(place):
            prepare(place)
            for folder in [("open", "sub"), ("closed",), ("home", "w", "sub"), ("home", "closed")]:
                place.joinpath(*folder).mkdir(mode=0o700, parents=True)
            os.symlink("../closed", place.joinpath(*way, "link"))

        return prepare_all

    def judge(*way):
        def judge_links(place, outcome):
            folder = place.joinpath(*way)
            if not (folder / "sub.aside").is_dir() or (folder / "sub.aside").is_symlink():
                return f"it could not rename: {sorted(os.listdir(folder))}"
            if (folder / "sub").is_symlink() or not (folder / "link").is_symlink():
                return "a link is in the place of a folder"
            return was_refused_to_editor(place, outcome)

        return judge_links

    def granted(place, outcome):
        return None if (place / "home/w/sub").is_symlink() else "it made no link"

    def wishing(name, **more):
        manifest = (("confinement", {"write": ["~/w", "~/w/sub"], **more}),)
        return Library(name, "rights.c", ("-DDEED=plants_a_link", '-DWHERE="/../home/w"'), manifest=manifest)

    own = Library("plants-a-link", "rights.c", ("-DDEED=plants_a_link",))
    command = ("set", "{library_id}:{place}/open", "0:1", "word=changed")
    yield Animal("P43", "plants-a-link-in-its-folder", own, command, status=(0,), prepare=prepared("open"), after=judge("open"))
    wish = wishing("plants-a-link-elsewhere")
    yield Animal("P43", "plants-a-link-in-a-wish", wish, EDIT, status=(0,), before=("providers", "--pin", wish.id),
                 prepare=prepared("home", "w"), after=judge("home", "w"))  # fmt: skip
    wish = wishing("plants-links", links=True)
    yield Animal("P43", "makes-links-where-it-wished", wish, EDIT, status=(0,), before=("providers", "--pin", wish.id),
                 prepare=prepared("home", "w"), after=granted)  # fmt: skip


def with_a_shared_input():
    """The command's input is open in other programs, too. Its flags and its offset must stay the same for them."""
    library = Library("changes-its-input", "rights.c", ("-DDEED=changes_its_input",))
    command = ("show", "-", "--provider", library.id, "-n", "2", "--format", "csv")

    def pipe(place):
        read, write = os.pipe()
        os.close(write)
        os.fchmod(read, 0o666)
        return share(place, read)

    def file(place):
        (place / "input").write_bytes(b"x" * 8192)
        return share(place, os.open(place / "input", os.O_RDONLY))

    def share(place, input):
        inputs[place] = os.dup(input)
        return input

    def judge(place, outcome):
        ours = inputs.pop(place)
        flags = fcntl.fcntl(ours, fcntl.F_GETFL)
        position = os.lseek(ours, 0, os.SEEK_CUR) if stat.S_ISREG(os.fstat(ours).st_mode) else 0
        os.close(ours)
        if flags & (os.O_NONBLOCK | os.O_APPEND):
            return f"the shared input has the flags {flags:#o}"
        return f"the shared input stands at {position}" if position else was_refused_to_reader(place, outcome)

    yield Animal("P43", "changes-its-input-a-pipe", library, command, status=(0,), after=judge, options={"input": pipe})
    yield Animal("P43", "changes-its-input-a-file", library, command, status=(0,), after=judge, options={"input": file})


def with_an_input():
    """Standard input may be open for writing. The provider receives it for reading only."""
    library = Library("writes-to-its-input", "rights.c", ("-DDEED=writes_to_its_input",))
    command = ("show", "-", "--provider", library.id, "-n", "2", "--format", "csv")

    def terminal(place):
        ours, theirs = os.openpty()
        inputs[place] = ours
        os.fchmod(theirs, 0o666)
        return theirs

    def file(place):
        path = place / "input"
        path.write_bytes(b"x" * 8192)
        path.chmod(0o666)
        return os.open(path, os.O_RDWR)

    def judge_terminal(place, outcome):
        ours = inputs.pop(place)
        os.set_blocking(ours, False)
        try:
            shown = os.read(ours, 4096)
        except OSError:
            shown = b""
        os.close(ours)
        return f"the terminal shows {shown!r}" if shown else was_refused_to_reader(place, outcome)

    def judge_file(place, outcome):
        return "its input was written" if (place / "input").read_bytes() != b"x" * 8192 else was_refused_to_reader(place, outcome)

    yield Animal("P43", "writes-to-its-terminal", library, command, status=(0,), after=judge_terminal, options={"input": terminal})
    yield Animal("P43", "writes-to-its-input", library, command, status=(0,), after=judge_file, options={"input": file})


# The other ends of terminals, by place.
inputs = {}


def soon(place, outcome):
    """Checks the duration. The deed sleeps for a second; the rest is the start and the end of the command."""
    return None if outcome.seconds < 1 else f"it lived for {outcome.seconds:.1f} s"


def with_too_many_threads():
    for when, flags in [("early", ("-DEARLY",)), ("late", ())]:
        library = Library(f"starts-threads.{when}", "rights.c", ("-DDEED=starts_threads", *flags))
        for way, command in [("reading", READ), ("editing", EDIT)]:
            yield Animal("P43", f"starts-threads-{when}-{way}", library, command, says="threads.*64 are allowed", prepare=prepare, after=soon)


# A folder that becomes a link after the host has examined it


class Swapper:
    """Replaces the location's folder by a link to another folder as soon as there is a worker."""

    running = {}

    @staticmethod
    def prepare(place):
        prepare(place)
        (place / "closed").mkdir(mode=0o700)
        (place / "closed/rows").touch()

    @staticmethod
    def after(seconds):
        def start(place, process):
            def swap():
                limit = time.monotonic() + 5
                while not keeper.children(process.pid) and time.monotonic() < limit:
                    pass
                time.sleep(seconds)
                os.rename(place / "open", place / "aside")
                os.symlink("closed", place / "open")

            Swapper.running[place] = threading.Thread(target=swap)
            Swapper.running[place].start()

        return start

    @staticmethod
    def judge(place, outcome):
        Swapper.running.pop(place).join()
        found = os.listdir(place / "closed")
        if found != ["rows"] or (place / "closed/rows").stat().st_size:
            return f"it wrote into the link's target: {found}"
        return None


def swapped():
    library = Library("writes-beside", "rights.c", ("-DDEED=does_nothing",))
    for number in range(20):
        yield Animal("P43", f"follows-no-new-link-{number}", library, EDIT, status=(0, 1, 3, 4, 5), says="",
                     prepare=Swapper.prepare, meanwhile=Swapper.after(number / 2000), after=Swapper.judge)  # fmt: skip


ANIMALS = [*refused(), *with_a_folder(), *links(), *with_a_shared_input(), *with_an_input(), *with_too_many_threads(), *swapped()]
