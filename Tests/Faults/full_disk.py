"""Fills real disks: small file systems in memory of many sizes, few inodes, limits on the size of a file.

Mounting needs a mount namespace. Tests/Faults/run creates one for itself, if the system allows it."""

import os
import re
import resource
import subprocess

import errors
import tree as trees
from case import VERDICTS
from sweep import Sweep

PAGE = 4096
SAYS_SO = re.compile("space|full|large|limit|inode|ENOSPC|EFBIG", re.IGNORECASE)


def can_mount(folder):
    place = os.path.join(folder, "mount-test")
    os.makedirs(place, exist_ok=True)
    if os.environ.get("TABELLA_FAULTS_OWN_MOUNTS") != "1":
        return False
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", place], capture_output=True).returncode == 0
    if mounted:
        trees.unmount(place)
    return mounted


def full_disk_sweep(settings, all_cases, full):
    """`all_cases` have one file of about 200 pages each."""
    sweep = Sweep("full-disk", settings)
    known = sweep.references(all_cases)
    points = []
    for case, reference in known:
        pages = -(-len(reference.old[case.target].data) // PAGE)
        # From no free space to space for two files: about 200 sizes.
        sizes = range(pages + 1, 2 * pages + 9)
        for size in sweep.sample(list(sizes), full // len(known), case.name, "size"):
            points.append((f"{case.name}: {size} pages for the file", case, reference, "user", size, 0))
        for size in range(1, 9):
            points.append((f"{case.name}: {size} pages for the receipts", case, reference, "state", size, 0))
        for inodes in range(2, 10):
            points.append((f"{case.name}: {inodes} inodes for the file", case, reference, "user", 3 * pages, inodes))
            points.append((f"{case.name}: {inodes} inodes for the receipts", case, reference, "state", 64, inodes))
    if not can_mount(settings.folder):
        sweep.not_run.append("no file system can be mounted here: run it as root, or where user namespaces are allowed")
        points = []
    for case, reference in known:
        size = len(reference.new[case.target].data)
        for step in range(20):
            limit = size * step // 20 + 1
            points.append((f"{case.name}: no file beyond {limit} bytes", case, reference, None, limit, 0))

    def body(point, root):
        label, case, reference, where, size, inodes = point
        sweep.count("points")
        if where is None:
            case.set_up(root)
            before = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            outcome = case.run(root, preexec_fn=before)
            return judge(sweep, case, reference, outcome, root, label)
        made = on_small_disk(case, root, where, size, inodes)
        try:
            if made is None:
                return sweep.count("no room for the file itself")
            outcome = case.run(root)
            judge(sweep, case, reference, outcome, root, label)
        finally:
            trees.unmount(os.path.join(root, where))

    sweep.each(sweep.chosen(points), body)
    return sweep.finish()


def on_small_disk(case, root, where, size, inodes):
    """Sets the case up with one of its directories on a file system of this size. Returns None if it does not fit."""
    case.set_up(root)
    place = os.path.join(root, where)
    content = trees.read_tree(place)
    trees.clear(place)
    options = f"size={size * PAGE},nr_inodes={inodes},mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)
    try:
        trees.write_tree(content, place)
    except OSError:
        return None
    return place


def judge(sweep, case, reference, outcome, root, label):
    tree = trees.read_tree(root)
    verdict = case.judge(tree, reference.old, reference.new)
    text = f"status {outcome.status}: {outcome.message!r}"
    if outcome.hung:
        sweep.fail("hang", label, "did not end")
    elif verdict not in VERDICTS:
        sweep.fail("torn", label, f"{text}: {verdict}")
    elif outcome.status == 0 and verdict == "old":
        sweep.fail("false success", label, text)
    elif outcome.status != 0 and verdict == "new" and not errors.says_done(outcome.message):
        sweep.fail("says nothing changed", label, text)
    elif outcome.status not in (0, 1, 4):
        sweep.fail("status", label, text)
    elif outcome.status != 0 and not SAYS_SO.search(outcome.message):
        sweep.fail("message", label, f"{text}: does not say that there is no room")
    elif trees.leftovers(tree):
        sweep.fail("leftover", label, f"leaves {trees.leftovers(tree)}")
    else:
        sweep.count(verdict)
