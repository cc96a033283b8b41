"""Builds the Debian packages, and installs, uses and removes them in a clean root folder of debootstrap."""

import glob
import os
import re
import shutil
import subprocess
import tempfile

import authors
import tree
import use
from use import Machine, expect


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    expect(done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def mirror():
    """The repository and the release that this machine uses."""
    with open("/etc/os-release") as file:
        codename = re.search(r"^VERSION_CODENAME=(\w+)", file.read(), re.M).group(1)
    words = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    if not run(*words):
        run("apt-get", "update", "-qq")
    for line in run(*words).splitlines():
        repository, release = line.split()
        if release == codename:
            return repository, codename
    raise use.Failed(f"the sources of apt have no release {codename}")


def listing(root):
    """The files and folders of a root that packages own. Programs in Python write byte code beside themselves."""
    found = set()
    for top in ("usr", "etc", "opt"):
        for at, folders, names in os.walk(f"{root}/{top}"):
            folders[:] = [name for name in folders if name != "__pycache__"]
            found |= {os.path.relpath(os.path.join(at, name), root) for name in folders + names}
    return found


def use_packages(root, providers, expected):
    # The root becomes a mount point, because the confinement of workers changes how it is mounted.
    script = 'mount --bind "$0" "$0"; mount -t proc proc "$0/proc"; exec chroot "$0" "$@"'
    machine = Machine(
        ["unshare", "--mount", "sh", "-ec", script, root], f"{root}/srv/data", "/srv/data")
    wrong = [path for path in tree.binaries(f"{root}/usr/lib/tabella") if "swift" in path.lower()]
    expect(wrong and not os.path.exists(f"{root}/usr/bin/swift"), "the root is not without a toolchain")
    use.use_shipped(machine, "/usr/bin/tabella")
    shutil.copytree(providers, f"{root}/srv/providers")
    use.use_foreign(machine, "tabella", "/srv/providers", expected)
    # The loader's cache names the library, because the package triggers ldconfig.
    expect("libtabella.so.0" in machine.run("ldconfig", "-p"), "ldconfig does not know libtabella")
    use.use_library(
        machine, f"{root}/usr/share/doc/tabella/Examples/embed-c", f"{root}/usr/lib/pkgconfig", "c", "/srv/providers",
        expected)
    use.use_python(machine, "/usr/bin/python3", "/srv/providers")
    use.use_sqlite(machine, "/usr/bin/python3", "/usr/lib/tabella_sqlite.so")
    for language in ("c", "rust"):
        authors.have_own_rows(authors.Author(machine.way, "/usr", f"/srv/{language}", root), language)


def check(packages, folders):
    """The packages contain no folder of this machine, and lintian has no errors."""
    with tempfile.TemporaryDirectory() as folder:
        for package in packages:
            run("dpkg-deb", "--raw-extract", package, folder + "/" + os.path.basename(package))
        wrong = tree.name_no_folder(folder, folders)
        expect(not wrong, "; ".join(wrong))
    if shutil.which("lintian"):
        run("lintian", "--fail-on", "error", *packages)


def trial(source, folders, providers, expected):
    run("make", "-C", source, "deb")
    packages = sorted(glob.glob(f"{source}/.build/deb/*.deb"))
    names = sorted(os.path.basename(package).split("_")[0] for package in packages)
    expect(names == ["python3-tabella", "tabella", "tabella-dev"], f"make deb made {names}")
    check(packages, folders)
    repository, codename = mirror()
    root = tempfile.mkdtemp(prefix="tabella-root-")
    try:
        run("debootstrap", "--variant=minbase", "--include=python3,gcc,libc6-dev,make,pkg-config,rustc", codename, root, repository)
        os.chmod(root, 0o755)
        before = listing(root)
        os.makedirs(f"{root}/srv/packages")
        for package in packages:
            shutil.copy(package, f"{root}/srv/packages")
        run("chroot", root, "dpkg", "--install",
            *(f"/srv/packages/{os.path.basename(package)}" for package in packages))
        use_packages(root, providers, expected)
        run("chroot", root, "dpkg", "--purge", *names)
        left = listing(root) ^ before
        expect(not left, f"the packages left {sorted(left)}")
    finally:
        shutil.rmtree(root)
