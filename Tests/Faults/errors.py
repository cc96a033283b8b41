"""Makes system calls fail: once, or permanently from one call on."""

import os
import re
import signal

import trace
import tree as trees
from case import VERDICTS
from sweep import Sweep

ERRORS = ["ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES", "EINTR", "EMFILE", "ENOMEM"]
STATUSES = {0, 1, 3, 4, 5}

# Calls about memory fail only if memory is exhausted, and then a Swift program ends by a signal.
MEMORY = {"mmap", "mprotect", "brk", "mremap", "munmap", "madvise", "clone", "clone3"}

# Calls that cannot fail, or whose failure is a fault of the C library and not of the system.
NEVER = {
    "exit", "exit_group", "futex", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid",
    "getpid", "getuid", "geteuid", "getgid", "getegid", "sched_yield", "set_robust_list", "rseq", "prctl",
    "arch_prctl", "set_tid_address", "restart_syscall", "umask", "tgkill", "sched_getaffinity", "prlimit64",
    "clock_nanosleep", "nanosleep", "wait4", "poll", "ppoll", "sysinfo", "uname",
}  # fmt: skip

# The words of a message if the change was made nonetheless.
DONE_NONETHELESS = re.compile("was saved, but|was done|done, but|half written; the old bytes are in|may be done in part")

SAYS_NOTHING = re.compile("nothing was (done|changed)")


def says_done(message):
    """Whether an error says that the edit was done nevertheless."""
    return bool(DONE_NONETHELESS.search(message)) and not SAYS_NOTHING.search(message)


SYNC = {"fsync", "fdatasync", "syncfs", "sync_file_range"}


def points(sweep, all_cases):
    found = []
    for case, reference in sweep.references(all_cases):
        for name, ordinal in trace.points_of(case, sweep.settings.root()):
            if name in NEVER:
                continue
            for error in ["ENOMEM"] if name in MEMORY else ERRORS:
                # No system returns EINTR forever, so a retry loop is correct.
                for when in [f"{ordinal}", f"{ordinal}..{ordinal + 2}" if error == "EINTR" else f"{ordinal}+"]:
                    label = f"{case.name}: {name}#{when} {error}"
                    found.append((label, case, reference, name, when, error))
    return found


def chosen(sweep, found, full):
    """First one of each kind of call, error and case, then others at random."""
    found = sweep.chosen(found)
    wanted = sweep.settings.count(full)
    shuffled = sweep.settings.random("errors").sample(found, len(found))
    seen, first, rest = set(), [], []
    for point in shuffled:
        _, case, _, name, when, error = point
        kind = (name, error, when.isdigit())
        (rest if kind in seen else first).append(point)
        seen.add(kind)
    return (first + rest)[:wanted]


def error_sweep(settings, all_cases, full):
    sweep = Sweep("errors", settings)

    def body(point, root):
        label, case, reference, name, when, error = point
        case.set_up(root)
        log = root + ".log"
        wrapper = trace.injection(name, f"error={error}", when, log)
        arguments = [*wrapper, *case.arguments(root)]
        outcome = case.run(root, wrapper=wrapper)
        injected = [line for line in trace.read_log(log).splitlines() if line.endswith("(INJECTED)")]
        os.unlink(log)
        tree = trees.read_tree(root)
        sweep.count("points")
        if not injected:
            sweep.count("not reached")
        sweep.figures["injected calls"] += len(injected)
        verdict = case.judge(tree, reference.old, reference.new)
        status = outcome.status
        mute = any(re.search(r"write\(2[,<]", line) for line in injected)

        def fail(kind, text):
            sweep.fail(kind, label, f"status {status}: {outcome.message!r}: {text}", arguments)

        if outcome.hung:
            return fail("hang", "did not end")
        if verdict not in VERDICTS:
            return fail("torn", verdict)
        if status == 0 and verdict != "new":
            return fail("false success", f"the user's files are {verdict}")
        if status == 0 and name in SYNC and injected and error != "EINTR":
            return fail("false success", "what was not made durable is called done")
        if status not in STATUSES:
            if name in MEMORY and status in (-signal.SIGILL, -signal.SIGTRAP, -signal.SIGABRT, -signal.SIGSEGV):
                return sweep.count(verdict, "ended by a signal for want of memory")
            return fail("status", "is none of the documented")
        said = says_done(outcome.message)
        if status != 0 and verdict != "old" and not mute and not said:
            return fail("says nothing changed", f"the user's files are {verdict}")
        lines = [line for line in outcome.message.splitlines() if "warning: " not in line]
        if status != 0 and verdict == "old" and not mute and len(lines) != 1:
            return fail("message", "is not one line")
        named = all(os.path.basename(path) in outcome.message for path in trees.leftovers(tree))
        if not named and not name.startswith("unlink") and "+" not in when:
            return fail("leftover", f"leaves {trees.leftovers(tree)}")
        sweep.count(verdict, "status 0" if status == 0 else "refused" if verdict == "old" else "done but")
        if status == 0 and case.undo:
            undone = case.run(root, case.undo)
            have = trees.users_data(trees.read_tree(root))
            have = {path: entry for path, entry in have.items() if path not in case.extra}
            if undone.status != 0 or have != reference.old:
                wrong = trees.difference(have, reference.old)
                fail("false success", f"undo: {undone.status}: {undone.message!r}: {wrong}")

    sweep.each(chosen(sweep, points(sweep, all_cases), full), body)
    return sweep.finish()
