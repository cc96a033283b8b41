"""Runs `tabella check` on animals: it must detect each, and none may harm the user."""

import json
import shutil

import build
import keeper

# The limit of silence per call, and the limit for all checks of one animal, in seconds.
SILENCE, SECONDS = 0.3, 240
FINDINGS = ("failed", "crashed", "timed out")


def may_be_checked(animal):
    """Whether the animal is bad on its own, without the harness. Checks of 100,000 columns would take minutes, and that
    provider keeps the contract."""
    if animal.name == "many-columns":
        return False
    return not (animal.prepare or animal.meanwhile or animal.also or animal.options or animal.library.manifest) and animal.kind != "P37"


def check(settings, animal):
    """Runs all checks on an animal. Returns the outcome and the faults."""
    place = settings.folder / f"check-{animal.kind}-{animal.name}"
    place.mkdir(mode=0o700)
    for name in ["home", "state", "data", "cache", "config", "runtime", "files", "library"]:
        (place / name).mkdir(mode=0o700)
    try:
        folder = build.house(animal.library, place / "library")
        arguments = ["check", str(folder / animal.library.name)]
        if any("{file}" in word for word in animal.command):
            file = place / "files" / f"rows.{animal.location or 'x'}"
            file.touch()
            arguments.append(str(file))
        elif animal.location:
            arguments.append(f"{animal.library.id}:{animal.location}")
        if settings.user:
            keeper.hand_over(place, settings.user)
        command = [settings.tabella, *arguments, "--json", "--seed", "1", "--timeout", str(SILENCE)]
        outcome = keeper.execute(settings, command, place, keeper.environment(settings, place, [folder]), SECONDS)
        return outcome, judge(animal, outcome)
    finally:
        if not settings.keep:
            shutil.rmtree(place, ignore_errors=True)


def judge(animal, outcome):
    if outcome.hung:
        return [f"check did not end within {SECONDS} s"]
    wrong = []
    if outcome.left:
        wrong.append(f"check left behind: {', '.join(outcome.left)}")
    if outcome.status not in (0, 1, 3, 4):
        return wrong + [f"check: status {outcome.status}: {outcome.lines[:2]}"]
    if len(outcome.err) > keeper.MOST_ERRORS or keeper.SOME.search(outcome.err):
        wrong.append(f"check: {len(outcome.err)} bytes of errors, or unsafe ones")
    if outcome.peak > max(400, animal.megabytes * 2):
        wrong.append(f"check: tabella needed {outcome.peak} MB")
    try:
        checks = json.loads(outcome.out)["checks"] if outcome.out else []
    except (ValueError, KeyError) as error:
        return wrong + [f"check: no document: {error}"]
    found = {(one["name"], one["status"]) for one in checks if one["status"] in FINDINGS}
    if outcome.status in (3, 4):
        # The library cannot be loaded, and the error reports that.
        return wrong if outcome.lines or found else wrong + ["check: it is not said why"]
    if outcome.status != (1 if found else 0):
        wrong.append(f"check: status {outcome.status} with {len(found)} findings")
    if animal.check and not any(name in animal.check[0].split("|") for name, _ in found):
        wrong.append(f"check does not find {animal.check[0]}, but {sorted(found)}")
    elif not animal.check and animal.status == (3,) and not found:
        wrong.append("check finds nothing")
    return wrong
