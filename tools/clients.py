#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the client programs' packages into virtual environments under build/clients/.

Each tools/clients/NAME.txt lists one client's packages, pinned by version and hash. Wheels are downloaded once into
$ROCBRIDGE_CACHE, else $XDG_CACHE_HOME/rocbridge, else ~/.cache/rocbridge, and every hash is checked before use. An
environment that was finished from the same list is left alone.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORM = ["--only-binary", ":all:", "--no-deps"]


def cache_folder() -> pathlib.Path:
    base = os.environ.get("ROCBRIDGE_CACHE")
    if not base:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "rocbridge")
    return pathlib.Path(base) / "wheels"


def python311() -> str:
    """The wheel is built for CPython 3.11 only."""
    for name in ("python3.11", "python3"):
        path = shutil.which(name)
        if path:
            said = subprocess.run([path, "-c", "import sys; print(sys.version_info[:2] == (3, 11))"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if said.stdout.strip() == "True":
                return path
    sys.exit("clients: CPython 3.11 is needed for the PyTorch 2.3.0 wheel (Debian 12's python3, or python3.11)")


def pins(listing: pathlib.Path) -> dict:
    found = re.findall(r"^(\S+==\S+) --hash=sha256:([0-9a-f]{64})$", listing.read_text(), re.M)
    if not found:
        sys.exit(f"clients: {listing} pins nothing")
    return dict(found)


def sha256(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def cached_hashes(wheels: pathlib.Path) -> set:
    """Hashes of the wheels that lie in the cache. A wheel that was hashed once is not read again while its size and
    time stay."""
    good = set()
    for wheel in wheels.glob("*.whl"):
        info = wheel.stat()
        mark, note = f"{info.st_size} {info.st_mtime_ns}", wheel.with_suffix(".sha256")
        if note.exists() and note.read_text().split("\n")[0] == mark:
            good.add(note.read_text().split("\n")[1])
            continue
        digest = sha256(wheel)
        note.write_text(f"{mark}\n{digest}\n")
        good.add(digest)
    return good


def make(listing: pathlib.Path) -> None:
    target = ROOT / "build" / "clients" / listing.stem
    stamp = target / "finished"
    if stamp.exists() and stamp.read_text() == listing.read_text():
        return
    python, wheels, wanted = python311(), cache_folder(), pins(listing)
    wheels.mkdir(parents=True, exist_ok=True)
    missing = [pin for pin, digest in wanted.items() if digest not in cached_hashes(wheels)]
    if missing:
        print(f"clients: downloading into {wheels}: {' '.join(missing)}", file=sys.stderr)
        done = subprocess.run([python, "-m", "pip", "download", "--require-hashes", *PLATFORM, "-q", "-d", str(wheels),
                               "-r", str(listing)])
        if done.returncode != 0:
            sys.exit(f"clients: the packages of {listing.name} could not be downloaded (pip's message is above); they "
                     f"must be in {wheels} or reachable on the Python package index")
    print(f"clients: installing {listing.stem} into {target}", file=sys.stderr)
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, "-m", "venv", str(target)], check=True)
    done = subprocess.run([str(target / "bin" / "python"), "-m", "pip", "install", "-q", "--no-index", "--no-compile",
                           "--disable-pip-version-check", "--require-hashes", *PLATFORM, "--find-links", str(wheels),
                           "-r", str(listing)])
    if done.returncode != 0:
        sys.exit(f"clients: installing {listing.stem} failed; remove {wheels} if a file there is damaged, and run again")
    stamp.write_text(listing.read_text())
    print(f"clients: {listing.stem} is ready", file=sys.stderr)


def main() -> None:
    for listing in sorted((ROOT / "tools" / "clients").glob("*.txt")):
        make(listing)


if __name__ == "__main__":
    main()
