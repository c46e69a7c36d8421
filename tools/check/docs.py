#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py BUILD [--write]: what the pages say must exist.

Relative links and their headings, verbs of `rocbridge`, `make` targets, ROCBRIDGE_* variables, and that the list of
reasons in docs/policy/traps.md is the one of api/reasons.toml (--write renews it).
"""
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Variables that are no controls of the libraries: read by the tools, the tests or the software device alone.
OTHER_VARIABLES = {"ROCBRIDGE_CACHE", "ROCBRIDGE_CONFIG", "ROCBRIDGE_EVIDENCE", "ROCBRIDGE_BUILD", "ROCBRIDGE_SOFT_FAULT",
                   "ROCBRIDGE_PYTHON", "ROCBRIDGE_SANITIZE", "ROCBRIDGE_TESTS", "ROCBRIDGE_BENCH"}


def pages() -> list:
    found = [p for p in ROOT.glob("*.md")] + list((ROOT / "docs").rglob("*.md"))
    return sorted(found)


def anchors(text: str) -> set:
    """Anchors as Markdown renderers make them from headings."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        plain = re.sub(r"[`*]", "", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


TRAPS = ROOT / "docs" / "policy" / "traps.md"
MARK = "<!-- From here on made from api/reasons.toml by tools/check/docs.py --write. -->\n"


def with_reasons(text: str) -> str:
    """The page with its list of reasons as api/reasons.toml has it."""
    rows = tomllib.loads((ROOT / "api" / "reasons.toml").read_text())
    listed = "\n| reason | why | remedy |\n|---|---|---|\n" + "".join(
        f"| `{name}` | {row['text']} | {row['remedy']} |\n".replace("||", "\\|\\|") for name, row in rows.items())
    return text[:text.index(MARK) + len(MARK)] + listed


def main() -> int:
    if "--write" in sys.argv:
        TRAPS.write_text(with_reasons(TRAPS.read_text()))
    problems, build = [], pathlib.Path(sys.argv[1])
    controls = tomllib.loads((ROOT / "api" / "controls.toml").read_text())
    variables = {row["variable"] for row in controls.values()} | OTHER_VARIABLES
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.M))
    said = subprocess.run([str(build / "bin" / "rocbridge"), "help"], stdout=subprocess.PIPE, text=True)
    verbs = set(re.findall(r"^  ([a-z]+) {2,}\S", said.stdout, re.M))
    if not verbs:
        problems.append("rocbridge help lists no verb")
    for page in pages():
        where, text = page.relative_to(ROOT).as_posix(), page.read_text()
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            other = (page.parent / path).resolve() if path else page
            if not other.exists():
                problems.append(f"{where}: link to {target}, which is not there")
            elif anchor and other.suffix == ".md" and anchor not in anchors(other.read_text()):
                problems.append(f"{where}: link to {target}, but there is no such heading")
        code = "\n".join(re.findall(r"`([^`\n]+)`", text) + re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S))
        for verb in re.findall(r"(?:^|[\s(/])rocbridge ([a-z]+)\b", code, re.M):
            if verb not in verbs:
                problems.append(f"{where}: rocbridge has no verb {verb}")
        for target in re.findall(r"(?:^|\s|`)make ([a-z][\w-]*)", code, re.M):
            if target not in targets:
                problems.append(f"{where}: the Makefile has no target {target}")
        for variable in re.findall(r"\bROCBRIDGE_[A-Z_]+\b", text):
            if variable not in variables:
                problems.append(f"{where}: {variable} is no setting")
    if TRAPS.read_text() != with_reasons(TRAPS.read_text()):
        problems.append("docs/policy/traps.md: the list of reasons is old; run tools/check/docs.py BUILD --write")
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
