"""Asks many hosts for Arrow streams with commands such as ssh. Does not import pyspark or pyarrow."""

from __future__ import annotations

import ctypes
import os
import re
import selectors
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import IO, Iterable, Sequence

from ._spark_options import Options
from .errors import InvalidArgument, NotFound

# Such a name means nothing to a shell, and is no option of a command.
_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:@%-]*")
_PLACES = re.compile(r"\{(host|pushed)\}")
_BLOCK, _KEPT_ERRORS = 1 << 18, 4096
_KILL_WITH_PARENT = 1
_prctl = getattr(ctypes.CDLL(None), "prctl", None)


def hosts_of(text: str) -> list[str]:
    """The names of hosts: "a,b,c", or "@FILE" with one name per line. Each name counts once."""
    if text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as file:
                names = [line.split("#")[0].strip() for line in file]
        except OSError as error:
            raise NotFound(f"the file of hosts {text[1:]} cannot be read: {error.strerror}") from None
    else:
        names = [name.strip() for name in text.split(",")]
    hosts = list(dict.fromkeys(name for name in names if name))
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise InvalidArgument(f"{host!r} is no name of a host: it has letters, digits and . _ : @ % -, and begins with no -")
    if not hosts:
        raise InvalidArgument("there are no hosts")
    return hosts


def pushed_words(columns: Sequence[str] | None, filters: Iterable[str], *, is_probe: bool = False) -> list[str]:
    """The arguments of `tabella export` for columns and filters. A probe asks for the columns and no rows."""
    words = ["--format=arrow-stream", "--with-section"]
    # The option separates names with commas, and a name that begins with ! is excluded.
    is_plain = columns and not any("," in name or name != name.strip() or name.startswith("!") for name in columns)
    if columns and is_plain:
        words.append(f"--columns={','.join(columns)}")
    words += [f"--filter={text}" for text in filters]
    return words + (["-n", "0"] if is_probe else [])


def command_words(command: str, host: str, pushed: Sequence[str], has_shell: bool) -> list[str]:
    """The words of the command for one host. No local shell reads them.

    `{host}` stands for the host, and `{pushed}` for the pushed arguments, which otherwise follow the command. With
    `has_shell`, a shell on the other side reads these arguments, as that of ssh does. So each is quoted for it.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidArgument(f"the command {command!r} cannot be split into words: {error}") from None
    if not words:
        raise InvalidArgument("the command is empty")
    texts = [shlex.quote(word) for word in pushed] if has_shell else list(pushed)
    if "{pushed}" not in command:
        words.append("{pushed}")
    result: list[str] = []
    for word in words:
        if word == "{pushed}":
            result += texts
        else:
            # One pass: what is inserted is not examined again.
            result.append(_PLACES.sub(lambda place: host if place[1] == "host" else " ".join(texts), word))
    return result


def groups_of(hosts: Sequence[str], per_task: int) -> list[list[str]]:
    """The hosts of each task, as evenly as possible."""
    tasks = -(-len(hosts) // per_task)
    return [list(hosts[len(hosts) * task // tasks : len(hosts) * (task + 1) // tasks]) for task in range(tasks)]


@dataclass
class Answer:
    """What a host sent: a file with the bytes, or the reason why there is no complete answer."""

    host: str
    file: IO[bytes] | None = None
    error: str | None = None


def ask(host: str, words: Sequence[str], options: Options, stop: threading.Event) -> Answer:
    """Runs a command, and returns all that it printed if it ended well in time.

    The command has a session of its own. At the end, all of its process group is killed.
    """
    try:
        file = tempfile.TemporaryFile(prefix="tabella-host-")
    except OSError as error:
        return Answer(host, error=f"the answer cannot be stored: {error.strerror}")
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=_die_with_parent if _prctl else None, bufsize=0)  # fmt: skip
    except (OSError, ValueError) as error:
        file.close()
        return Answer(host, error=f"cannot run {words[0]}: {getattr(error, 'strerror', None) or error}")
    errors = bytearray()
    try:
        problem = _collect(process, file, errors, options, stop)
        file.flush()
    except OSError as error:
        problem = f"the answer cannot be stored: {error.strerror}"
    finally:
        try:
            # The process is not yet waited for, so its number is still its own.
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    if problem is None and process.returncode != 0:
        problem = _status(process.returncode)
    if problem is None:
        return Answer(host, file)
    file.close()
    remark = _last_line(bytes(errors))
    return Answer(host, error=f"{problem}: {remark}" if remark else problem)


def _die_with_parent() -> None:
    """Runs in the new process: the kernel kills it if the task is killed."""
    _prctl(_KILL_WITH_PARENT, int(signal.SIGKILL), 0, 0, 0)


def _collect(
    process: subprocess.Popen[bytes], file: IO[bytes], errors: bytearray, options: Options, stop: threading.Event
) -> str | None:
    """Reads until the command has ended. Returns the problem, if there is one."""
    end, size = time.monotonic() + options.timeout, 0
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ)
        is_open = True
        while is_open or not _has_ended(process):
            left = end - time.monotonic()
            if left <= 0:
                return f"no complete answer within {options.timeout:g} s ({size} bytes arrived)"
            if stop.is_set():
                return "the query has ended"
            for key, _ in selector.select(min(left, 0.1)):
                block = _read(key.fd)
                if block is None:
                    continue
                is_output = key.fileobj is process.stdout
                if not block:
                    selector.unregister(key.fileobj)
                    is_open = is_open and not is_output
                elif is_output:
                    size += len(block)
                    if size > options.bytes_per_host:
                        return f"the answer has more than {options.bytes_per_host} bytes"
                    file.write(block)
                else:
                    errors += block
                    del errors[:-_KEPT_ERRORS]
            if not is_open and not _has_ended(process):
                stop.wait(0.005)
    return None


def _read(descriptor: int) -> bytes | None:
    try:
        return os.read(descriptor, _BLOCK)
    except BlockingIOError:
        return None


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the command has ended. Does not wait for it, so that its number stays reserved."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _status(code: int) -> str:
    return f"the command ended with status {code}" if code >= 0 else f"the command ended with signal {-code}"


def _last_line(data: bytes) -> str:
    """The last line that a command wrote to its standard error, without control characters."""
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return printable(lines[-1])[:300] if lines else ""


def printable(text: str) -> str:
    """The text in one line."""
    return "".join(each if each.isprintable() else " " for each in text)
