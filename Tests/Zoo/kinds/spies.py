"""P37: acts outside of the granted rights. The harness inspects the files and does not trust the output."""

import os
import stat

from animal import Animal, Library

DEEDS = ["reads_a_key", "reads_through_a_link", "reads_shadow", "reads_the_parents_memory", "copies_from_the_parent", "writes_elsewhere",
         "writes_its_location", "removes", "renames", "changes_modes", "changes_times", "calls_out", "calls_out_by_datagram", "listens",
         "ends_the_parent", "runs_a_program", "mounts", "makes_a_device"]  # fmt: skip
SECRET = b"SECRET KEY\n"


def prepare(place):
    for name in ["open", "closed", "closed/empty"]:
        (place / name).mkdir(mode=0o700)
    (place / "open/rows").touch()
    (place / "closed/key").write_bytes(SECRET)
    os.chmod(place / "closed/key", 0o600)
    os.utime(place / "closed/key", (1000, 1000))
    os.symlink("../closed/key", place / "open/link")


def untouched(place, outcome):
    key = place / "closed/key"
    if SECRET.strip() in outcome.out:
        return "what is secret was shown"
    if b"GOT IT" in outcome.out:
        return "it was done"
    if b"refused" not in outcome.out:
        return f"it was not tried: {outcome.out[:80]!r}"
    if sorted(os.listdir(place / "closed")) != ["empty", "key"] or key.read_bytes() != SECRET:
        return f"what was closed is now {sorted(os.listdir(place / 'closed'))}"
    status = key.stat()
    if status.st_mtime != 1000 or stat.S_IMODE(status.st_mode) != 0o600 or os.listxattr(key):
        return "the time, mode or attributes of what was closed are others"
    if (place / "open/rows").stat().st_size != 0:
        return "its location was written to"
    return None


ANIMALS = [
    Animal("P37", name.replace("_", "-"), Library(f"spy.{name.replace('_', '-')}", "spy.c", (f"-DDEED={name}",)),
           ("show", "{library_id}:{place}/open/rows", "-n", "2", "--format", "csv"), status=(0,), says=None, remarks="denied|refused",
           prepare=prepare, after=untouched)  # fmt: skip
    for name in DEEDS
]
