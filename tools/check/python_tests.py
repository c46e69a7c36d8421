#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_tests.py FILE REPORT [REGEX]: runs one file of unittest cases and writes [{name, good, text}] as JSON."""
import importlib.util
import json
import pathlib
import re
import sys
import unittest


class Collector(unittest.TestResult):
    """Keeps one row a test; a subtest that fails spoils its test."""

    def __init__(self):
        super().__init__()
        self.rows = {}

    def startTest(self, test):
        super().startTest(test)
        self.rows[test.id()] = ""

    def note(self, test, text):
        self.rows[test.id()] = self.rows.get(test.id(), "") + text

    def addFailure(self, test, err):
        self.note(test, self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.note(test, self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, f"{subtest}\n" + self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        self.note(test, f"skipped ({reason}): a test either runs or is not there")

    def addUnexpectedSuccess(self, test):
        self.note(test, "expected to fail, and passed")


def chosen(suite, pattern):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from chosen(item, pattern)
        elif pattern is None or re.search(pattern, item.id()):
            yield item


def main() -> int:
    file, report = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    pattern = sys.argv[3] if len(sys.argv) > 3 else None
    sys.path.insert(0, str(file.parent))
    sys.path.insert(0, str(file.parent.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    suite = unittest.TestSuite(chosen(unittest.defaultTestLoader.loadTestsFromModule(module), pattern))
    result = Collector()
    suite.run(result)
    rows = [{"name": name.split(".", 1)[-1], "good": not text, "text": text} for name, text in result.rows.items()]
    report.write_text(json.dumps(rows, indent=1))
    return 0 if all(row["good"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
