#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lint of api/: what the generator does not already refuse.

Statuses and their fields, reasons, libraries and AMD targets that exist, args in the order of the prototype, rows in
alphabetical order, one row an export, and the totals of every library against the committed lists of tests/data.
"""
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
API = ROOT / "api"
STATUSES = ("mapped", "emulated", "trapped")


def load(path: pathlib.Path) -> dict:
    return tomllib.loads(path.read_text())


def parameters(proto: str) -> list:
    """Names of a C prototype's parameters; "" where the name is not found."""
    inside = proto[proto.index("(") + 1:proto.rindex(")")]
    parts, depth, part = [], 0, ""
    for c in inside:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    parts.append(part)
    names = []
    for text in parts:
        text = text.strip()
        if text in ("void", ""):
            continue
        pointer = re.search(r"\(\s*\w*\s*\*\s*(\w+)\s*\)\s*\(", text)
        plain = re.search(r"(\w+)\s*(\[[^\]]*\])*$", text)
        names.append(pointer.group(1) if pointer else plain.group(1) if plain else "")
    return names


def check_row(where: str, row: dict, known: dict, problems: list) -> None:
    status = row.get("status")
    if status not in STATUSES:
        problems.append(f"{where}: status {status!r} is none of {STATUSES}")
        return
    if status == "trapped":
        if row.get("reason") not in known["reasons"]:
            problems.append(f"{where}: reason {row.get('reason')!r} is not in api/reasons.toml")
        return
    if "reason" in row:
        problems.append(f"{where}: a {status} row has a reason; use limits for notes")
    if status == "mapped" and not row.get("target"):
        problems.append(f"{where}: a mapped row names its AMD targets")
    if status == "emulated" and not row.get("how"):
        problems.append(f"{where}: an emulated row says how")
    for target in row.get("target", []):
        if target not in known["amd"]:
            problems.append(f"{where}: target {target} is no AMD function of api/amd")
    if "args" in row and "proto" in row:
        named = [arg.split()[-1] for arg in row["args"]]
        wanted = parameters(row["proto"])
        if named != wanted:
            problems.append(f"{where}: args {named} are not the prototype's parameters {wanted}")


def main() -> int:
    problems = []
    libraries = load(API / "libraries.toml")
    known = {"reasons": set(load(API / "reasons.toml")), "amd": set()}
    for file in (API / "amd").glob("*/*.toml"):
        known["amd"] |= set(load(file))
    for reason, row in load(API / "reasons.toml").items():
        if not row.get("text") or not row.get("remedy"):
            problems.append(f"api/reasons.toml: [{reason}] needs text and remedy")
    counts = {key: 0 for key in libraries}
    for api in sorted((API / "cuda").iterdir()):
        seen = {}
        for file in sorted(api.glob("*.toml")):
            where = file.relative_to(ROOT).as_posix()
            rows = load(file)
            names = list(rows)
            if names != sorted(names):
                late = next(n for n, s in zip(names, sorted(names)) if n != s)
                problems.append(f"{where}: rows are not in alphabetical order (at {late})")
            for name, row in rows.items():
                if name in seen:
                    problems.append(f"{where}: [{name}] is in {seen[name]} too")
                seen[name] = where
                for key in row.get("in", []):
                    if key not in libraries:
                        problems.append(f"{where}: [{name}] is in an unknown library {key}")
                    else:
                        counts[key] += 1 + len(row.get("alias", []))
                if not row.get("in"):
                    problems.append(f"{where}: [{name}] is in no library")
                check_row(f"{where}: [{name}]", row, known, problems)
    lists = ROOT / "tests" / "data" / "exports"
    for key, row in libraries.items():
        listing = lists / f"{row['soname']}.txt"
        if not listing.exists():
            problems.append(f"tests/data/exports has no list for {row['soname']}")
            continue
        wanted = sum(line.split()[2] == "function" for line in listing.read_text().splitlines()
                     if line and not line.startswith("#"))
        if counts[key] != wanted:
            problems.append(f"{row['soname']}: {counts[key]} rows in api/, {wanted} functions in its list")
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
