"""Tests/Faults/run [--count full|tenth] [--seed N] [--tabella PATH] [--only LABEL] [--keep] [--write]
                       [--list] [NAME…]

NAME is planted or a sweep: kill random-kills signals errors full-disk power-cut writers races temporaries dry-run.
Without a NAME, all sweeps run. --list lists the sweeps and the commands that they test. docs/faults.md describes each sweep."""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import commands
import dry_runs
import errors
import full_disk
import kills
import planted
import power_cut
import races
import temporaries
import tree as trees
import writers
from sweep import Settings

ROOT = pathlib.Path(__file__).resolve().parents[2]


def on_a_disk(folder):
    """Whether this directory is on a disk. A file system in memory shows neither syncs nor their cost."""
    best = ("", "")
    with open("/proc/self/mountinfo") as stream:
        for line in stream:
            fields = line.split()
            place, kind = fields[4], fields[fields.index("-") + 1]
            if (folder + "/").startswith(place.rstrip("/") + "/") and len(place) >= len(best[0]):
                best = (place, kind)
    return best[1] not in ("tmpfs", "ramfs")


def run_sweep(name, settings, tabella):
    """One sweep over tabella's commands. The numbers are those of a full run."""
    files, directories = commands.files(tabella), commands.directories(tabella)
    if name == "kill":
        return kills.kill_sweep(settings, files + directories, 4000)
    if name == "random-kills":
        return kills.random_sweep(settings, commands.big(tabella), 1000)
    if name == "signals":
        return kills.signal_sweep(settings, files + directories, 500)
    if name == "errors":
        return errors.error_sweep(settings, files + directories, 6000)
    if name == "full-disk":
        return full_disk.full_disk_sweep(settings, [commands.large(tabella)], 200)
    if name == "power-cut":
        return power_cut.power_cut_sweep(settings, files + directories, 10_000, 100)
    if name == "writers":
        return writers.writer_sweep(settings, commands.adder(tabella), 10_000)
    if name == "races":
        some = [case for case in files + directories if case.name in RACED] + commands.across(tabella)
        return races.race_sweep(settings, some, 2000)
    if name == "dry-run":
        return dry_runs.dry_run_sweep(settings, tabella, 4000)
    return temporaries.temporary_sweep(settings, files)


# Saves in place are missing here, because overwritten bytes cannot be restored.
RACED = {
    "csv set", "csv insert", "csv undo", "csv set --backup", "csv set through a link", "text set",
    "directory set name", "directory delete", "directory delete for good", "directory undo of insert",
    "directory undo of set name",
}  # fmt: skip


def write_figures(options, sweeps, passed, caught):
    """Writes the figures of this run into docs/faults.md."""
    system = os.uname()
    lines = [
        f"`Tests/Faults/run --count {options.count} --seed {options.seed}` on Linux {system.release.partition('-')[0]}, {system.machine}: "
        f"all {'passed' if passed else 'DID NOT PASS'}; {caught} of {len(planted.MISTAKES)} planted mistakes caught.",
        "",
        "| sweep | points | old | new | torn | false success | hung | seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for sweep in sweeps:
        cells = [f"{sweep.figures[key]:,}" for key in ["points", "old", "new", "torn", "false success", "hang"]]
        lines.append(f"| {sweep.name} | {' | '.join(cells)} | {sweep.seconds:.0f} |")
    page = ROOT / "docs/faults.md"
    before, mark, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    page.write_text(before + mark + "\n" + "\n".join(lines) + "\n" + end + after)


BEGIN = "<!-- figures: written by Tests/Faults/run --count full --write -->"
END = "<!-- end of figures -->"


def main():
    parser = argparse.ArgumentParser(prog="Tests/Faults/run", usage=__doc__, add_help=False)
    parser.add_argument("--help", action="help")
    parser.add_argument("--count", choices=["full", "tenth"], default="tenth")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tabella", default=str(ROOT / ".build/release/tabella"))
    parser.add_argument("--only")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    known = ["planted", *planted.SWEEPS, "dry-run"]
    if options.list:
        lines = [f"sweep\t{name}" for name in known]
        lines += [f"mistake\t{mistake}\t{name}" for mistake, _, name, _, _ in planted.MISTAKES]
        lines += [f"command\t{case.name}" for case in commands.files("") + commands.directories("")]
        print("\n".join(lines))
        return 0
    for name in options.names:
        if name not in known:
            parser.error(f"{name} is none of {' '.join(known)}")
    names = options.names or known

    folder = tempfile.mkdtemp(prefix="tabella-faults-", dir=os.environ.get("TABELLA_FAULTS_FOLDER", "/var/tmp"))
    if not on_a_disk(folder):
        print(f"NOTE: {folder} is in memory; TABELLA_FAULTS_FOLDER names a directory on a disk", flush=True)
    # The folder is removed even if a time limit ends the run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    passed = True
    sweeps = []
    try:
        share = 1.0 if options.count == "full" else 0.1
        settings = Settings(folder, options.seed, share, options.only, options.keep)
        if "planted" in names:
            savers = os.path.join(folder, "savers")
            os.mkdir(savers)
            # Always complete, because this tests the harness itself.
            passed, caught = planted.planted(Settings(savers, options.seed), savers)
        elif options.write:
            parser.error("--write wants the planted mistakes too")
        for name in names:
            if name != "planted":
                sweep = run_sweep(name, settings, options.tabella)
                sweep.report()
                passed &= sweep.passed and not sweep.not_run
                sweeps.append(sweep)
        if options.write:
            write_figures(options, sweeps, passed, caught)
    finally:
        # Entries that went to a trash outside of the folder are removed with the folder.
        for root in os.scandir(folder):
            if root.is_dir() and not options.keep:
                trees.clear(root.path)
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"faults: {'passed' if passed else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
