#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`import torch` under our libraries against the same under libraries of empty functions (332 fat binaries, 18,282
kernel registrations either way). Bound: 1.3 times. Needs `make clients` and a compiler."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("ROCBRIDGE_BUILD", ROOT / "build"))
PYTHON = BUILD / "clients" / "torch-2.3.0" / "bin" / "python"
LISTS = ROOT / "tests" / "data" / "exports"
BOUND, ROUNDS = 1.3, 9


def empty_library(listing: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Every function of the list as `return 0`, under its version node."""
    soname, nodes = listing.name.removesuffix(".txt"), {}
    for line in listing.read_text().splitlines():
        if line and not line.startswith("#"):
            name, node, kind = line.split()
            if kind == "function":
                nodes.setdefault(node, []).append(name)
    names = [name for group in nodes.values() for name in group]
    source, script, library = folder / "empty.s", folder / "empty.map", folder / soname
    source.write_text(".text\n" + "".join(f".globl {n}\n.type {n},@function\n{n}: xorl %eax,%eax\nret\n" for n in names) +
                      '.section .note.GNU-stack,"",@progbits\n')
    script.write_text("".join((f"{node} " if node != "-" else "") + "{ global: " + "".join(f"{n}; " for n in group) +
                              "local: *; };\n" for node, group in nodes.items()))
    subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", "-o", library,
                    source], check=True)
    return library


def seconds(preload: list) -> float:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ROCBRIDGE_", "LD_", "PYTHON"))}
    env |= {"LD_PRELOAD": ":".join(map(str, preload)), "LD_LIBRARY_PATH": str(preload[0].parent)}
    start = time.perf_counter()
    subprocess.run([PYTHON, "-c", "import torch"], env=env, check=True)
    return time.perf_counter() - start


def main() -> int:
    if not PYTHON.exists():
        sys.exit("import_torch: PyTorch is not there; run make clients")
    listings = sorted(LISTS.glob("*.txt"), key=lambda p: (p.name != "libcudart.so.12.txt", p.name))
    with tempfile.TemporaryDirectory() as temporary:
        empty = [empty_library(listing, pathlib.Path(temporary)) for listing in listings]
        ours = [BUILD / "lib" / "cuda" / library.name for library in empty]
        for preload in (empty, ours):
            seconds(preload)  # brings the wheel into the page cache
        pairs = [(seconds(empty), seconds(ours)) for _ in range(ROUNDS)]
    base, mine = (statistics.median(column) for column in zip(*pairs))
    ratio = mine / base
    print(f"import torch: empty functions {base:.3f} s, rocbridge {mine:.3f} s, ratio {ratio:.3f} (bound {BOUND})")
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
