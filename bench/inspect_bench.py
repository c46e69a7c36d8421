#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocbridge inspect conv2d`, everything checked, on the default profile. Bound: 5 s."""
import os
import pathlib
import statistics
import subprocess
import sys
import time

BUILD = pathlib.Path(os.environ.get("ROCBRIDGE_BUILD", pathlib.Path(__file__).resolve().parents[1] / "build"))
BOUND, ROUNDS = 5.0, 5


def main() -> int:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([BUILD / "bin" / "rocbridge", "inspect", "conv2d", "--format", "json"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    print(f"inspect conv2d: median {median:.2f} s of {ROUNDS}, largest {max(times):.2f} s (bound {BOUND:.0f} s)")
    return 0 if median <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
