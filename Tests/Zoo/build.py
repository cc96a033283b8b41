"""Compiles animals. .build/zoo keeps the results for the same source and flags."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess

ZOO = pathlib.Path(__file__).resolve().parent
ROOT = ZOO.parents[1]
INCLUDE = ROOT / "Sources/CTabella/include"
CACHE = ROOT / ".build/zoo"
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O0", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
         "-Wno-infinite-recursion", f"-I{ZOO}", f"-I{INCLUDE}"]  # fmt: skip


def compiler():
    for name in ["clang", "cc", "gcc"]:
        path = shutil.which(name)
        if path:
            return path
    raise SystemExit("Tests/Zoo: there is no C compiler")


def compile_animal(library):
    """The path of the compiled library in the cache. Any number of processes may call this at the same time."""
    source = ZOO / "Animals" / library.source
    if library.source.endswith(".swift"):
        key = digest_of([source, source.with_suffix(".c")], library)
    else:
        key = digest_of([source], library)
    made = CACHE / f"{library.id}-{key}.so"
    if made.exists():
        return made
    CACHE.mkdir(parents=True, exist_ok=True)
    begun = CACHE / f"{made.name}.{os.getpid()}"
    identity = [f'-DZOO_ID="{library.id}"', *library.flags]
    if library.source.endswith(".swift"):
        part = f"{begun}.o"
        run([compiler(), *FLAGS, *identity, "-c", "-o", part, source.with_suffix(".c")])
        run(["swiftc", "-swift-version", "6", "-parse-as-library", "-module-name", "ZooTraps", "-Onone",
             "-module-cache-path", CACHE / "modules", "-emit-library", "-o", begun, source, part])  # fmt: skip
        os.unlink(part)
    elif library.source.endswith(".cc"):
        run([shutil.which("clang++") or "g++", *[flag for flag in FLAGS if not flag.startswith("-std")], "-shared",
             *identity, "-o", begun, source])  # fmt: skip
    else:
        run([compiler(), *FLAGS, "-shared", *identity, "-o", begun, source, "-pthread", "-lm"])
    os.rename(begun, made)
    return made


def digest_of(sources, library):
    digest = hashlib.sha256(repr((FLAGS, library.id, library.flags)).encode())
    for path in [*sources, *sorted(ZOO.glob("*.h")), *sorted(INCLUDE.glob("*.h"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run(command, folder=None):
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")


def house(library, folder):
    """Creates a folder with a library and its manifest. Returns the folder."""
    own = folder / library.id
    if own.exists():
        return own
    own.mkdir(mode=0o700)
    place = own / library.name
    data = compile_animal(library).read_bytes() if library.source else b""
    if library.spoil:
        data = library.spoil(data)
    place.write_bytes(data)
    place.chmod(0o755)
    manifest = {"id": library.id, "version": "1", "contract": "0.9", "library": library.name,
                "schemes": [library.id], **dict(library.manifest)}  # fmt: skip
    (own / f"{library.id}.tabella.json").write_text(json.dumps(manifest))
    return own
