#!/usr/bin/env python3
"""A simulated ssh: `host.py HOST WORD…` joins the words and runs them in a shell, as the far side of ssh does.

The first letters of the name of a host say what it does: dead, hang, noise, half, late, or else it answers."""

import os
import subprocess
import sys
import time

host, command = sys.argv[1], " ".join(sys.argv[2:])
if host.startswith("dead"):
    sys.exit(f"ssh: connect to host {host} port 22: Connection refused")
if host.startswith("hang"):
    # A child of its own, which a kill of this process alone would leave.
    child = subprocess.Popen(["sleep", "1000"])
    with open(os.environ["TABELLA_HANGING"], "a") as file:
        file.write(f"{os.getpid()}\n{child.pid}\n")
    time.sleep(1000)
done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE)
output = done.stdout
if host.startswith("noise"):
    output = b"Welcome to " + host.encode() + b"\n" + os.urandom(5000)
if host.startswith("half"):
    # The end of the stream is missing, and the status is 0.
    output = output[: len(output) - (8 if host.startswith("half-end") else len(output) // 2)]
if host.startswith("late"):
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    sys.exit("the disk broke")
sys.stdout.buffer.write(output)
sys.exit(done.returncode)
