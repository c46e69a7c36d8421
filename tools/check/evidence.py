#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""evidence.py BUILD: every row of api/ that claims to be mapped or emulated needs evidence.

Evidence is a test whose trace holds a success of the entry, and for entries that compute also a passed check. The rows
and what was seen come from `rocbridge coverage`, which joins the database with BUILD/evidence.json.
"""
import json
import os
import pathlib
import subprocess
import sys


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    done = subprocess.run([str(build / "bin" / "rocbridge"), "coverage", "--entries", "--format", "json"],
                          stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "ROCBRIDGE_EVIDENCE": str(build / "evidence.json")})
    if done.returncode != 0:
        print("rocbridge coverage failed", file=sys.stderr)
        return 1
    unproven, claimed = {}, 0
    for key, library in json.loads(done.stdout)["libraries"].items():
        for entry in library["entries"]:
            if entry["status"] == "trapped" or entry["alias_of"]:
                continue
            claimed += 1
            if not entry["proven"]:
                unproven.setdefault(entry["name"], f"{entry['status']}, {entry['evidence']}")
    for name, why in sorted(unproven.items()):
        print(f"{name}: {why}")
    if not claimed:
        print("no row claims anything: is the database empty?")
    return 1 if unproven or not claimed else 0


if __name__ == "__main__":
    sys.exit(main())
