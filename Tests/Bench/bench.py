"""Times tabella beside the tools that everybody has, interleaved in one run.

    python3 Tests/Bench/bench.py --rows 1000000 --rounds 7

Prints a Markdown table: medians of wall and CPU time, the peak of memory, and the ratio of CPU time to
that of the first command of each case. Output goes to /dev/null. Only ratios of one run mean anything.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
tabella = os.path.join(root, ".build", "release", "tabella")


def make_csv(path, rows):
    """The same file at every run."""
    state = 1
    with open(path, "w", newline="") as file:
        file.write("id,name,city,amount,ratio,note\n")
        for row in range(rows):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            note = f'"says ""{row % 97}"", often"' if row % 11 == 0 else f"note {row % 1000}"
            file.write(
                f"{row},name {state % 9973},city {state >> 40 & 63},{state >> 20 & 0xFFFFF},"
                f"{(state >> 8 & 0xFFFF) / 65536:.4f},{note}\n"
            )


def measure(command):
    """Wall seconds, CPU seconds, peak MiB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "bench.csv")
        small = os.path.join(folder, "small.csv")
        make_csv(file, options.rows)
        make_csv(small, 3)
        middle = options.rows // 2
        cases = {
            "start-up": [["ls", small], [tabella, "--version"], [tabella, "show", small]],
            "count": [["wc", "-l", file], [tabella, "count", file]],
            "first 20 rows": [["head", "-n", "21", file], [tabella, "show", file, "-n", "20"]],
            "rows from the middle": [
                ["sed", "-n", f"{middle},{middle + 50}p;{middle + 50}q", file],
                [tabella, "show", file, "--rows", f"{middle}..{middle + 50}"],
            ],
            "two columns": [
                ["cut", "-d,", "-f2,4", file],
                [tabella, "show", file, "--columns", "name,amount", "--format", "csv"],
            ],
            "processes": [
                ["ps", "-eo", "pid,ppid,user,stat,ni,pcpu,rss,lstart,comm,args"],
                [tabella, "show", "processes:"],
            ],
        }
        print(f"{options.rows} rows, {os.path.getsize(file)} bytes, {options.rounds} rounds\n")
        print("| case | command | wall s | CPU s | peak MiB | CPU ratio |\n|---|---|---|---|---|---|")
        for case, commands in cases.items():
            results = [[] for _ in commands]
            for round_number in range(options.rounds + 1):
                for number, command in enumerate(commands):
                    result = measure(command)
                    if round_number > 0:  # the first one warms up
                        results[number].append(result)
            floor = statistics.median(cpu for _, cpu, _ in results[0])
            for command, result in zip(commands, results):
                wall, cpu, peak = (statistics.median(column) for column in zip(*result))
                words = " ".join(os.path.basename(word) for word in command)
                print(
                    f"| {case} | `{words}` | {wall:.4f} | {cpu:.4f} | {peak:.0f} "
                    f"| {cpu / max(floor, 1e-6):.2f} |"
                )


main()
