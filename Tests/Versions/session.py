"""One process that edits the tables of two providers in turn: session.py ISOLATION SEED COUNT LOCATION…

Prints a line of JSON for each step: the edit, its outcome, and the rows of all tables."""

import json
import os
import random
import sys

import tabella

NAMES = ["Ida", "Joe", "Kim", "Lea", "Moe"]


def contents(tables):
    return [[[section.title, [[str(cell) for cell in row] for row in section]] for section in table.sections] for table in tables]


def one_edit(numbers, number, batch):
    """Adds a random edit. Some name a row that does not exist, or have a value of another type."""
    row = (numbers.randrange(2), numbers.choice([0, 0, 1, 2, 9]))
    cells = {"name": f"{numbers.choice(NAMES)}{number}", "count": numbers.choice([number, None, 1 << 40])}
    kind = numbers.choice(["set", "insert", "delete", "move", "title"])
    if kind == "set":
        batch.set(row, cells)
    elif kind == "insert":
        batch.insert(row, cells)
    elif kind == "delete":
        batch.delete(row)
    elif kind == "move":
        batch.move(row, (numbers.randrange(2), 0))
    else:
        batch.set((row[0], -1), title=cells["name"])
    return [kind, row, cells]


def main():
    isolation, seed, count, *locations = sys.argv[1:]
    numbers = random.Random(int(seed))
    host = tabella.Host(provider_path=[os.getcwd()], receipts=f"{os.getcwd()}/receipts", isolation=isolation)
    tables = [host.open(location, editing=True) for location in locations]
    start, done = contents(tables), []
    for number in range(int(count)):
        table = tables[number % len(tables)]
        batch = table.edit()
        edit = one_edit(numbers, number, batch)
        try:
            result = batch.commit()
            outcome = result.ids
            if result.receipt is not None:
                done.append(result)
        except tabella.Error as error:
            outcome = [type(error).__name__, str(error)]
        print(json.dumps([edit, outcome, contents(tables)]), flush=True)
    for result in reversed(done):
        host.undo(result)
    for table in tables:
        table.close()
    tables = [host.open(location) for location in locations]
    print(json.dumps([len(done), contents(tables) == start]), flush=True)


main()
