# SPDX-License-Identifier: Apache-2.0
"""Screens and objects of the program against committed text. What may change from run to run is masked.

`python3 tests/golden/command_line_test.py --update` writes the texts anew; read the difference before committing it.
"""
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from support import rocbridge  # noqa: E402

EXPECTED = pathlib.Path(__file__).resolve().parent / "expected"
UPDATE = False


def shape(value):
    """The kinds of a JSON value: objects keep their keys, lists the shape of their first element."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "null" if value is None else type(value).__name__


def masked(text):
    """Numbers that are measured or counted become N; runs of blanks follow their width."""
    text = re.sub(r"(?<=[a-z]:)\d+\b", "N", text)
    text = re.sub(r"(?<![\w.-])\d+(\.\d+)?(e[-+]?\d+)?(?![\w-]|\.\d)", "N", text)
    return re.sub(r" {2,}", "  ", text)


# A file of its own: what `make check` last wrote must not show here.
EVIDENCE = {"ROCBRIDGE_EVIDENCE": str(pathlib.Path(__file__).resolve().parent / "evidence.json")}

class Golden(unittest.TestCase):
    maxDiff = None

    def same(self, name, text):
        file = EXPECTED / name
        if UPDATE:
            EXPECTED.mkdir(exist_ok=True)
            file.write_text(text)
        self.assertEqual(text, file.read_text())

    def same_shape(self, name, done, trim=lambda value: value):
        self.same(name, json.dumps(shape(trim(done.json())), indent=1) + "\n")

    def test_help(self):
        self.same("help.txt", rocbridge("help").out)

    def test_coverage_json(self):
        def trim(value):
            value["libraries"] = {"cudnn8": value["libraries"]["cudnn8"]}
            return value
        self.same_shape("coverage.json", rocbridge("coverage", "--format", "json", env=EVIDENCE), trim)

    def test_explain_mapped(self):
        done = rocbridge("explain", "cudnnConvolutionForward", env=EVIDENCE)
        kept = [line for line in done.out.splitlines() if not re.match(r"  (tests|limit|evidence) ", line)]
        self.same("explain-mapped.txt", masked("\n".join(kept) + "\n"))

    def test_explain_trapped(self):
        self.same("explain-trapped.txt", masked(rocbridge("explain", "cudnnRNNForward").out))

    def test_explain_json(self):
        self.same_shape("explain.json", rocbridge("explain", "cudnnRNNForward", "--format", "json"))

    def test_inspect_table(self):
        done = rocbridge("inspect", "conv2d")
        self.assertEqual(done.code, 0, done)
        self.same("inspect.txt", masked(done.out))

    def test_inspect_json(self):
        def trim(value):
            value["settings"]["controls"] = {}
            value["headline"]["coverage"] = {"cudnn8": value["headline"]["coverage"]["cudnn8"]}
            value["headline"]["memory_footprint"]["by_kind"] = {}
            value["entries"] = [e for e in value["entries"] if e["name"] == "cudnnConvolutionForward"]
            value["stream"] = [c for c in value["stream"] if c["entry"] == "cudnnConvolutionForward"][:1]
            value["stream"][0].update(layout=[], parent=None)
            value["entries"][0]["notes"] = []
            return value
        self.same_shape("inspect.json", rocbridge("inspect", "conv2d", "--stream", "--format", "json"), trim)

    def test_doctor_json(self):
        self.same_shape("doctor.json", rocbridge("doctor", "--format", "json"))


if __name__ == "__main__":
    if "--update" in sys.argv:
        sys.argv.remove("--update")
        UPDATE = True
    unittest.main()
