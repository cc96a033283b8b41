"""P18, P19: on the worker's own sockets and in its arena."""

from animal import WHOLE, Animal
from kinds.deeds import deed

# How long the head of a message is, with its token: what a forger leaves as it is.
HEAD = 32


def wire(name, moment="rows", **more):
    more = {"status": (3,), "says": "", "seconds": 25, "slow": True, "shows": WHOLE, **more}
    return deed("P19" if name in FORGERIES else "P18", "wire", name, moment, flags=(f"-DHEAD={HEAD}",), **more)


FORGERIES = {"echoes", "echoes_changed", "answers_by_chance", "steals", "answers_first_and_twice", "exchanges_the_lines"}
SURE = ["sends_a_byte", "sends_text", "sends_zeros", "sends_ones", "sends_chance", "sends_nothing", "sends_large", "shuts_down",
        "shuts_down_writing", "shuts_down_and_never_comes_back", "floods", "exchanges_the_lines", "talks_to_itself", "sends_descriptors",
        "floods_both_and_never_comes_back", "sends_a_large_message"]  # fmt: skip
# What may be in time or too late, harm or not.
UNSURE = ["sends_nothing_aside", "sends_chance_aside", "floods_aside", "shuts_down_reading", "shuts_down_aside", "echoes",
          "echoes_changed", "answers_by_chance", "steals", "answers_first_and_twice", "ruins_the_arena", "shortens_the_arena",
          "seals_the_arena"]  # fmt: skip

ANIMALS = [
    *[wire(name) for name in SURE if name != "sends_large"],
    *[wire(name, status=(0, 3)) for name in UNSURE],
    *[wire(name, "constructor", status=(0, 3)) for name in ["sends_chance", "shuts_down", "answers_by_chance", "steals", "floods"]],
    *[wire(name, "commit", status=(0, 1, 3)) for name in ["sends_chance", "shuts_down", "answers_by_chance", "floods_aside"]],
]
