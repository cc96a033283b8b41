"""P11 to P17 and P36: a deed at a moment."""

from animal import WHOLE, Animal, Library

# The commands that reach a moment. All other moments occur when rows are shown.
COMMANDS = {
    "find": ("describe", "{at}", "id:r3"),
    "editable": ("show", "{at}", "--json"),
    "version": ("show", "{at}", "--json"),
    "element": ("describe", "{at}", "0"),
    "kinds": ("describe", "{at}", "0"),
    "display": ("show", "{at}", "--format", "table"),
    "diagnostics": ("show", "{at}", "--format", "table"),
    "commit": ("set", "{file}", "0:1", "word=changed"),
    "undo": ("undo", "{file}"),
}
BEFORE = {"undo": ("set", "{file}", "0:1", "word=changed")}
# Moments after the output is complete. An error is permitted but not required.
LATE = ("batch_release", "release", "destructor")
MOMENTS = ("constructor", "entry", "open", "ability", "flags", "version", "schema", "sections", "title",
           "count", "rows", "find", "kinds", "element", "display", "diagnostics", "editable", "commit",
           "undo", *LATE)  # fmt: skip


def words(name):
    return name.replace("_", "-").lower()


def deed(kind, source, name, moment="rows", says="", flags=(), **more):
    library = Library(
        f"{words(name)}.{words(moment)}", f"{source}.c", (f"-DDEED={name}", f"-DMOMENT={moment}", *flags)
    )
    more.setdefault("command", COMMANDS.get(moment, ("show", "{at}")))
    more.setdefault("before", BEFORE.get(moment, ()))
    if moment in LATE:
        more["status"] = tuple({0, *more.get("status", (3,))})
    return Animal(kind, f"{words(name)}-in-{words(moment)}", library, says=says, **more)


# The words of the error, by deed.
CRASHES = {
    "writes_to_null": "SIGSEGV", "calls_nowhere": "SIGSEGV|SIGILL", "runs_off_a_file": "SIGBUS", "divides": "SIGFPE",
    "traps": "SIGILL|SIGTRAP", "aborts": "SIGABRT", "asserts": "SIGABRT", "recurses": "SIGSEGV",
    "kills_itself": "SIGKILL", "terminates_itself": "SIGTERM", "interrupts_itself": "SIGINT",
    "pipes_itself": "SIGPIPE", "signals_its_group": "SIGKILL", "sets_an_alarm": "SIGALRM",
    "frees_twice": "SIGABRT", "ruins_the_heap": "SIGABRT|SIGSEGV", "smashes_the_stack": "SIGSEGV|SIGABRT|SIGBUS",
    "jumps": "SIGSEGV|SIGABRT|SIGBUS", "crashes_from_a_thread": "SIGSEGV",
    "exits_0": "with exit status 0", "exits_3": "with exit status 3", "leaves_0": "with exit status 0", "leaves_quickly": "with exit status 0",
    "leaves_by_system_call": "with exit status 0", "ends_the_thread": "ended|exit|silent",
    "ends_the_thread_by_system_call": "ended|exit|silent", "exits_from_a_thread": "with exit status 0",
}  # fmt: skip
# A deed that ends only a thread may leave the rest of the process silent.
SILENT = {"ends_the_thread", "ends_the_thread_by_system_call"}
# The call of the host when the provider ended, by moment.
OPERATIONS = {
    "constructor": "load", "entry": "load", "open": "open", "ability": "open", "flags": "open", "schema": "open",
    "version": "version", "sections": "sections.count", "title": "sections.title", "count": "row_count", "rows": "rows",
    "find": "identity.find", "kinds": "supplementary.kinds", "element": "supplementary.element",
    "display": "display.will_display", "diagnostics": "diagnostics.next", "editable": "editing.editable",
    "commit": "editing.commit", "undo": "undo.undo",
}  # fmt: skip
# Refused deeds, which have no effect.
REFUSED = {"signals_its_group"}
EVERYWHERE = ("writes_to_null", "leaves_0", "exits_0", "aborts", "recurses")


def ended(name, moment="rows"):
    """The error: the kind of the end, and the function of the contract if it is certain."""
    return f"({CRASHES[name]}).* in {OPERATIONS[moment]}" if moment in OPERATIONS else CRASHES[name]


def crashing():
    for name, says in CRASHES.items():
        kind = "P12" if "exit" in name or "leaves" in name or "ends" in name or name == "aborts" else "P13"
        silent = name in SILENT
        statuses = (0, 3) if name in REFUSED else (3,)
        yield deed(kind, "crash", name, "rows", says if silent else ended(name), slow=silent, seconds=20 if silent else 10, status=statuses)
        if name not in EVERYWHERE and not silent:
            yield deed("P11", "crash", name, "constructor", ended(name, "constructor"), status=statuses)
    for name in EVERYWHERE:
        for moment in MOMENTS:
            if moment != "rows":
                kind = "P11" if moment in ("constructor", "destructor") else "P13" if "SIG" in CRASHES[name] else "P12"
                # At that moment the rows are already complete.
                last = {"status": (0,), "shows": "Den - 200 rows"} if moment == "diagnostics" else {}
                yield deed(kind, "crash", name, moment, ended(name, moment), **last)
    # Refusing to start the program leaves everything as it was.
    yield deed("P12", "crash", "becomes_another_program", "rows", status=(0, 3), shows=WHOLE)
    yield deed("P13", "crash", "crashes_a_little_later", "rows", "SIGSEGV", status=(0, 3))


SILENCE = "10 seconds|10 s|silent"


def hanging():
    def hang(name, moment="rows", **more):
        return deed("P11" if moment == "constructor" else "P14", "hang", name, moment, SILENCE, slow=True, seconds=25, **more)

    for name in ["loops", "sleeps", "waits_for_itself", "stops_itself", "loops_deaf", "sleeps_deaf", "runs_away_and_loops",
                 "loops_with_children", "hangs_in_print", "reads_the_keyboard"]:  # fmt: skip
        yield hang(name)
    for moment in ["constructor", "entry", "open", "schema", "count", "commit", "release", "destructor"]:
        yield hang("sleeps", moment)
    yield hang("loops_deaf", "constructor")
    yield deed("P15", "hang", "takes_three_seconds", slow=True, shows=WHOLE, status=(0,), says=None, seconds=15)
    # Each row is a sign of life: slow, but not silent.
    yield Animal("P15", "a-row-each-10-ms", Library("drip", "drip.c", ("-DPAUSE=10000",)), status=(0,), shows=WHOLE, slow=True, seconds=30)
    yield Animal("P15", "the-first-row-of-many-slow-ones", Library("drip.slow", "drip.c", ("-DPAUSE=500000",)),
                 ("show", "{at}", "-n", "4", "--format", "csv"), status=(0,), shows="(?s)ant 0.*dog 3", slow=True, seconds=15)  # fmt: skip


def eating():
    ended = "memory|SIG|ended|exit|limit|silent"
    yield deed("P16", "eater", "eats_memory", says=ended, slow=True, seconds=30)
    yield deed("P16", "eater", "eats_memory", "constructor", says=ended, slow=True, seconds=30)
    yield deed("P16", "eater", "eats_shared_memory", says=ended, slow=True, seconds=30)
    yield deed("P16", "eater", "eats_its_stack", says="SIGSEGV")
    for name in ["reserves_the_address_space", "forks_and_forks", "starts_threads", "opens_and_opens", "watches_and_times",
                 "fills_memory_files", "fills_disks"]:  # fmt: skip
        # A refused resource may end the animal; nothing else may happen.
        yield deed("P16", "eater", name, says="", status=(0, 3), shows=WHOLE, slow=True, seconds=60)
    for name in ["leaves_a_child", "leaves_a_daemon", "burns"]:
        yield deed("P16", "eater", name, status=(0,), says=None, shows=WHOLE)
    yield deed("P16", "eater", "leaves_a_child", "constructor", status=(0,), says=None, shows=WHOLE)


def noisy():
    def noise(name, moment="rows", **more):
        more = {"status": (0,), "says": None, "shows": WHOLE, **more}
        return deed("P11" if moment == "constructor" else "P17", "noise", name, moment, **more)

    for name in ["prints", "prints_later", "prints_half_a_document", "prints_an_error", "prints_escapes",
                 "prints_without_a_line_end", "prints_zeros", "opens_the_terminal", "opens_standard_output_again",
                 "prints_for_ever", "logs", "logs_escapes", "logs_nonsense"]:  # fmt: skip
        yield noise(name)
    for name in ["prints", "prints_half_a_document", "prints_an_error", "prints_escapes"]:
        yield noise(name, "constructor")
    for name in ["prints_100_MB", "complains_100_MB", "complains_one_line_of_100_MB", "logs_a_million_lines",
                 "logs_a_line_of_100_MB"]:  # fmt: skip
        yield noise(name, seconds=20, slow=True)
    yield noise("prints", "release")
    yield noise("prints", "destructor")
    yield deed("P17", "noise", "logs_what_is_not_there", says="SIGSEGV")


# A meddler breaks only its own worker; most deeds have no effect on others.
MEDDLERS = [
    "goes_elsewhere", "has_no_mask", "speaks_german", "clears_the_environment", "poisons_the_environment",
    "handles_all_signals", "ignores_all_signals", "dies_of_pipes", "has_a_strange_signal_stack",
    "closes_standard_streams", "closes_6", "lets_children_inherit", "allows_no_files",
    "allows_a_second", "wants_a_core", "wants_no_limits", "is_nice", "is_idle", "outlives_its_parent",
    "has_another_name", "cannot_be_looked_at", "has_a_session_of_its_own", "has_strange_ways", "rounds_up",
    "locks_memory", "ticks", "ticks_restlessly", "is_traced", "lives_in_a_cell", "is_nobody", "hangs_at_the_end",
    "crashes_at_the_end",
]  # fmt: skip
BREAKERS = ["closes_everything", "closes_a_range", "closes_3", "closes_4", "closes_5", "puts_others_in_their_place",
            "does_not_block", "wants_signals_for_input", "allows_no_memory", "allows_no_stack", "traps_floats", "forbids_itself_to_speak"]  # fmt: skip


def meddling():
    for name in MEDDLERS:
        yield deed("P36", "meddler", name, "entry", status=(0,), says=None, shows=WHOLE)
    # The worker cannot give up its rights in that state, so it is not used.
    yield deed("P36", "meddler", "allows_no_descriptors", "entry", says="cannot be confined", status=(0, 1), shows=WHOLE)
    for name in BREAKERS:
        yield deed("P36", "meddler", name, "open", says="ended|SIG|closed|silent|worker|memory|exit", status=(0, 3), shows=WHOLE, slow=True, seconds=20)
    for name in ["closes_everything", "ignores_all_signals", "goes_elsewhere"]:
        yield deed("P36", "meddler", name, "constructor", says="", status=(0, 3), shows=WHOLE, slow=True, seconds=20)


ANIMALS = [*crashing(), *hanging(), *eating(), *noisy(), *meddling()]
