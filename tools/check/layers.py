#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares every #include "…" of src/ with api/layers.toml."""
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
# Folders that apigen writes below build/generated. A file of src/ with the same path wins (src/abi holds both).
GENERATED = ("abi/", "bridge/", "rocm/", "soft/", "base/controls")


def folder_of(path: str, layers: dict) -> str:
    """The longest folder of layers.toml that is a prefix of the path."""
    parts = path.split("/")
    for length in (2, 1):
        name = "/".join(parts[:length])
        if len(parts) > length and name in layers:
            return name
    return ""


def check(root: pathlib.Path) -> list:
    layers = tomllib.loads((root / "api" / "layers.toml").read_text())
    problems = []
    for name, rule in layers.items():
        for unknown in set(rule) - {"may", "generated"}:
            problems.append(f"api/layers.toml: [{name}] has an unknown key {unknown}")
        for other in rule.get("may", []):
            if other not in layers:
                problems.append(f"api/layers.toml: [{name}] names a folder {other} that has no section")
    files = [p for p in sorted((root / "src").rglob("*")) if p.suffix in (".cpp", ".hpp", ".h")]
    if not files:
        problems.append("src/ holds no source file")
    for file in files:
        path = file.relative_to(root / "src").as_posix()
        own = folder_of(path, layers)
        if not own:
            problems.append(f"src/{path}: its folder has no section in api/layers.toml")
            continue
        text = file.read_text()
        for match in INCLUDE.finditer(text):
            target, line = match.group(1), text[:match.start()].count("\n") + 1
            where = f"src/{path}:{line}"
            if (root / "src" / target).exists():
                other = folder_of(target, layers)
                if other != own and other not in layers[own].get("may", []):
                    problems.append(f"{where}: {own} may not include {other or target} ({target})")
            elif target.startswith(GENERATED):
                if not target.startswith(tuple(layers[own].get("generated", []) or ["\0"])):
                    problems.append(f"{where}: {own} may not include the generated {target}")
            else:
                problems.append(f"{where}: {target} is neither below src/ nor generated")
    return problems


def main() -> int:
    problems = check(ROOT)
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
