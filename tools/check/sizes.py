#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No source file over 800 lines; names those over 500. Data (api/, tests/data) has one file per family instead."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HARD, SOFT = 800, 500
FOLDERS = ("src", "tools", "tests", "bench", "cmake", "docs")
KINDS = {".cpp", ".hpp", ".h", ".py", ".sh", ".cmake", ".md"}


def main() -> int:
    over = []
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            name = file.relative_to(ROOT).as_posix()
            if file.suffix not in KINDS or name.startswith("tests/data/") or "__pycache__" in name:
                continue
            lines = file.read_text().count("\n")
            if lines > HARD:
                over.append(f"{name}: {lines} lines, the limit is {HARD}")
            elif lines > SOFT:
                print(f"note: {name}: {lines} lines, over the soft limit of {SOFT}")
    print("\n".join(over), file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
