#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every check and test of a finished build and prints one closing line: N passed, N failed.

Parts, in this order: static (format, layers, sizes, tables, docs), unit, soft, api, golden, e2e, evidence. Traces
of the api and e2e parts lie under BUILD/evidence; the last part reads them and asks whether every row of api/ that
claims to be mapped or emulated was seen to work.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKS = ROOT / "tools" / "check"
PARTS = ("static", "unit", "soft", "api", "golden", "e2e", "evidence")
CHECK_ALL = {"ROCBRIDGE_INTEGRITY": "all"}  # the api tests have every result checked, beside their own comparisons
TAIL = 60  # lines of a failed program's output that are shown


class Tally:
    def __init__(self):
        self.passed, self.failed, self.failures = 0, 0, []

    def add(self, name: str, good: bool, text: str = ""):
        if good:
            self.passed += 1
            return
        self.failed += 1
        self.failures.append(name)
        print(f"FAILED {name}")
        lines = text.rstrip().splitlines()
        if len(lines) > TAIL:
            lines = [f"... {len(lines) - TAIL} lines left out ..."] + lines[-TAIL:]
        print("\n".join("    " + line for line in lines), flush=True)


def run(command: list, env: dict = None, timeout: int = 300):
    """(exit code or None for a time-out, output of both streams). The output goes through a file: what a program leaves
    running behind it must not keep us waiting."""
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env={**os.environ, **(env or {})}, cwd=ROOT, start_new_session=True)
        except OSError as error:
            return None, f"{command[0]} cannot be started: {error}"
        note = ""
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            note = f"\n(ended after {timeout} s)"
        output.seek(0)
        text = output.read().decode(errors="replace")
        return None if note else process.returncode, text + note


def static(build: pathlib.Path, tally: Tally, only):
    sources = [str(p) for folder in ("src", "tools", "tests", "bench") for p in sorted((ROOT / folder).rglob("*"))
               if p.suffix in (".cpp", ".hpp", ".h")]
    commands = {"format": ["clang-format-14", "--dry-run", "-Werror", *sources]}
    commands |= {name: [sys.executable, str(CHECKS / f"{name}.py")] for name in ("layers", "sizes", "tables")}
    commands["docs"] = [sys.executable, str(CHECKS / "docs.py"), str(build)]
    for name, command in commands.items():
        if only and not only.search(f"static.{name}"):
            continue
        code, output = run(command)
        tally.add(f"static.{name}", code == 0, output)


def gtest_program(program: pathlib.Path, name: str, build: pathlib.Path, tally: Tally, only, env: dict):
    """One test a line of the program's own report; a program that dies counts as one more failure."""
    report = build / "reports" / f"{name}.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    command = [str(program), "--gtest_brief=1", f"--gtest_output=json:{report}"]
    if only and not only.search(name):
        command.append(f"--gtest_filter={only_filter(program, name, only)}")
    code, output = run(command, env)
    bad = 0
    try:
        suites = json.loads(report.read_text())["testsuites"]
    except (OSError, ValueError, KeyError):
        tally.add(name, False, output + f"\n(exit {code}, no report)")
        return
    for suite in suites:
        for case in suite["testsuite"]:
            title = f"{name}: {suite['name']}.{case['name']}"
            if case.get("status") != "RUN" or case.get("result") == "SUPPRESSED":
                continue  # left out by --only
            texts = [f["failure"] for f in case.get("failures", [])]
            if case.get("result") == "SKIPPED":
                texts.append("skipped: a test either runs or is not there")
            bad += bool(texts)
            tally.add(title, not texts, "\n".join(texts))
    if code != 0 and not bad:
        tally.add(name, False, output + f"\n(exit {code} after its tests)")


def only_filter(program: pathlib.Path, name: str, only) -> str:
    _, output = run([str(program), "--gtest_list_tests"])
    chosen, suite = [], ""
    for line in output.splitlines():
        if not line.startswith(" "):
            suite = line.split("#")[0].strip()
        elif only.search(f"{name}: {suite}{line.split('#')[0].strip()}"):
            chosen.append(suite + line.split("#")[0].strip())
    return ":".join(chosen) or "no.such.test"


def programs(build: pathlib.Path, part: str) -> list:
    if part == "unit":
        return [build / "tests" / "unit_tests"]
    return sorted(p for p in (build / "tests").glob(f"{part}_*") if os.access(p, os.X_OK) and p.is_file())


def compiled(part: str):
    def body(build: pathlib.Path, tally: Tally, only):
        found = programs(build, part)
        wanted = len(list((ROOT / "tests" / part).glob("*_test.cpp")))
        if part != "unit" and len(found) < wanted:
            tally.add(part, False, f"{wanted} test files, {len(found)} programs")
        for program in found:
            gtest_program(program, program.name, build, tally, only, CHECK_ALL if part == "api" else {})
    return body


def python(part: str):
    def body(build: pathlib.Path, tally: Tally, only):
        files = sorted((ROOT / "tests" / part).glob("*_test.py"))
        if not files:
            tally.add(part, False, f"tests/{part} holds no *_test.py")
        for file in files:
            report = build / "reports" / f"{part}_{file.stem}.json"
            report.parent.mkdir(exist_ok=True)
            report.unlink(missing_ok=True)
            command = [sys.executable, str(CHECKS / "python_tests.py"), str(file), str(report)]
            code, output = run(command + ([only.pattern] if only else []),
                               {"ROCBRIDGE_BUILD": str(build), "PYTHONDONTWRITEBYTECODE": "1", "TEST_EVIDENCE": str(build / "evidence")}, timeout=2400)
            try:
                rows = json.loads(report.read_text())
            except (OSError, ValueError):
                tally.add(f"{part}.{file.stem}", False, output + f"\n(exit {code}, no report)")
                continue
            for row in rows:
                tally.add(f"{part}.{file.stem}: {row['name']}", row["good"], row["text"])
    return body


def evidence(build: pathlib.Path, tally: Tally, only):
    if only and not only.search("evidence"):
        return
    rocbridge, traces = str(build / "bin" / "rocbridge"), build / "evidence"
    for program in programs(build, "api"):
        place = traces / program.name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        # Whether the tests pass was counted by the api part, without the cost of tracing. Here only the trace matters.
        run([str(program), "--gtest_brief=1"], CHECK_ALL | {"ROCBRIDGE_TRACE": "calls", "ROCBRIDGE_TRACE_DIR": str(place),
                                                            "ROCBRIDGE_TRACE_RING_BYTES": str(16 << 20)})
    code, output = run([rocbridge, "coverage", "--collect", str(build / "evidence"), "-o", str(build / "evidence.json")])
    if code == 0:
        code, output = run([sys.executable, str(CHECKS / "evidence.py"), str(build)])
    tally.add("evidence", code == 0, output)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part (may be repeated)")
    parser.add_argument("--only", type=re.compile, help="only tests whose name matches this regular expression")
    options = parser.parse_args()
    build, tally = (ROOT / options.build).resolve(), Tally()
    steps = {"static": static, "unit": compiled("unit"), "soft": compiled("soft"), "api": compiled("api"),
             "golden": python("golden"), "e2e": python("e2e"), "evidence": evidence}
    for part in options.part or PARTS:
        before, start = (tally.passed, tally.failed), time.monotonic()
        steps[part](build, tally, options.only)
        print(f"{part}: {tally.passed - before[0]} passed, {tally.failed - before[1]} failed, "
              f"{time.monotonic() - start:.1f} s", flush=True)
    if tally.failures:
        print("\nFailed:\n" + "\n".join("  " + name for name in tally.failures))
    print(f"\n{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
