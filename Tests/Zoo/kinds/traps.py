"""P13, P14 in Swift: the reactions of the runtime to a careless author."""

from animal import WHOLE, Animal, Library

TRAPS = Library("traps", "traps.swift")

ANIMALS = [
    Animal("P13", f"swift-{name}", TRAPS, location=name, says="SIGILL|SIGTRAP|SIGABRT|SIGSEGV|SIGFPE")
    for name in ["index", "overflow", "narrow", "negative-range", "divide", "unwrap", "cast", "try", "fatal", "precondition",
                 "recursion", "exclusivity", "mutex", "main-sync"]  # fmt: skip
] + [
    Animal("P14", f"swift-{name}", TRAPS, location=name, says="10 seconds|10 s|silent", slow=True, seconds=25)
    for name in ["actor", "never"]
] + [
    # The main thread serves calls. The runtime reports the mistake or waits.
    Animal("P14", "swift-main-queue", TRAPS, location="main-queue", says="10 seconds|10 s|silent|SIGILL|SIGTRAP", slow=True, seconds=25),
    Animal("P12", "swift-exit", TRAPS, location="exit", says="ended|exit"),
    Animal("P17", "swift-prints", TRAPS, location="prints", status=(0,), shows=WHOLE),
    Animal("P36", "swift-pool", TRAPS, location="pool", status=(0, 3), says="", shows=WHOLE, slow=True, seconds=25),
    Animal("P15", "swift-busy-pool", TRAPS, location="busy-pool", status=(0,), shows=WHOLE, slow=True, seconds=25),
    Animal("P36", "swift-conformance", TRAPS, location="errors-everywhere", status=(0,), shows=WHOLE),
]  # fmt: skip
