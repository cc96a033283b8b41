"""P18, P19: misuse of the worker's own sockets and arena."""

import dataclasses

from animal import WHOLE
from kinds.deeds import deed

def wire(name, moment="rows", **more):
    more = {"status": (3,), "says": "", "seconds": 25, "slow": True, "shows": WHOLE, **more}
    return deed("P19" if name in FORGERIES else "P18", "wire", name, moment, **more)


FORGERIES = {"echoes", "echoes_changed", "answers_by_chance", "steals", "answers_first_and_twice", "exchanges_the_lines"}
SURE = ["sends_a_byte", "sends_text", "sends_zeros", "sends_ones", "sends_chance", "sends_nothing", "shuts_down",
        "shuts_down_writing", "shuts_down_and_never_comes_back", "exchanges_the_lines", "sends_descriptors",
        "sends_a_large_message"]  # fmt: skip
# Deeds that may be in time or too late, and so harm or not.
UNSURE = ["floods", "sends_nothing_aside", "sends_chance_aside", "floods_aside", "shuts_down_reading", "shuts_down_aside", "echoes",
          "echoes_changed", "answers_by_chance", "steals", "answers_first_and_twice", "ruins_the_arena", "shortens_the_arena",
          "seals_the_arena", "talks_to_itself"]  # fmt: skip

# The fields of a packet's head, and invalid values for them.
FIELDS = {"number": 2, "kind": 3, "length": 4, "start": 5, "count": 6}
VALUES = {"0": "0", "4-GiB": "1ull<<32", "endless": "INT64_MAX", "negative": "-1ull", "2": "2"}


def heads():
    for deed_name in ["answers_with_a_strange_head", "announces_strange_pieces"]:
        for field, number in FIELDS.items():
            for value, words in VALUES.items():
                animal = wire(deed_name, status=(0, 3), flags=(f"-DFIELD={number}", f"-DVALUE=({words})"))
                name = f"{animal.name.removesuffix('-in-rows')}-{field}-{value}"
                library = dataclasses.replace(animal.library, id=f"{animal.library.id}.{field}.{value}".lower())
                yield dataclasses.replace(animal, kind="P18", name=name, library=library)


def chances():
    """The same forger with other random numbers, beginning at other moments."""
    for seed in range(1, 17):
        moment = ["rows", "constructor", "version", "count"][seed % 4]
        command = ("show", "{at}", "--json") if moment == "version" else ("show", "{at}")
        animal = wire("answers_by_chance", moment, status=(0, 1, 3), flags=(f"-DSEED={seed}",), command=command, shows=None)
        library = dataclasses.replace(animal.library, id=f"{animal.library.id}.{seed}")
        yield dataclasses.replace(animal, name=f"{animal.name}-{seed}", library=library)


ANIMALS = [
    *chances(),
    *heads(),
    *[wire(name) for name in SURE],
    *[wire(name, status=(0, 3)) for name in UNSURE],
    *[wire(name, "constructor", status=(0, 3)) for name in ["sends_chance", "shuts_down", "answers_by_chance", "steals", "floods"]],
    *[wire(name, "commit", status=(0, 1, 3), shows=None) for name in ["sends_chance", "shuts_down", "answers_by_chance", "floods_aside"]],
]
