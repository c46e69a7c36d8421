# SPDX-License-Identifier: Apache-2.0
"""The program's manners: usage errors with a reason, exit codes, where output goes, damaged and missing input."""
import os
import pathlib
import unittest

from support import ROCBRIDGE, folder, rocbridge, run, under


class Usage(unittest.TestCase):
    def refuses(self, *arguments, says, code=2, **options):
        done = rocbridge(*arguments, **options)
        self.assertEqual(done.code, code, done)
        self.assertEqual(done.out, "", done)
        for text in says if isinstance(says, (list, tuple)) else [says]:
            self.assertIn(text, done.err, done)

    def test_no_verb_shows_the_verbs(self):
        self.refuses(says=["inspect", "run", "coverage", "explain", "trace", "doctor"])

    def test_unknown_verb(self):
        self.refuses("inspekt", says=['no verb "inspekt"', "inspect"])

    def test_unknown_options(self):
        for verb in ("inspect", "coverage", "explain", "doctor"):
            with self.subTest(verb):
                self.refuses(verb, "--no-such-option", says="--no-such-option")

    def test_unknown_preset(self):
        self.refuses("inspect", "conv9d", says=["conv9d", "conv2d", "gemm", "torch-conv2d"])

    def test_missing_preset(self):
        self.refuses("inspect", says="PRESET")

    def test_unknown_arch(self):
        self.refuses("inspect", "conv2d", "--arch", "gfx9999", says=["gfx9999", "gfx1200", "gfx1100", "gfx90a"])

    def test_impossible_wave(self):
        self.refuses("inspect", "conv2d", "--arch", "gfx90a", "--wave", "32", says=["gfx90a", "64 lanes"])
        self.refuses("run", "--arch", "gfx90a", "--wave", "32", "--", "true", says=["gfx90a", "64 lanes"])
        self.refuses("inspect", "conv2d", "--wave", "48", says=["32 or 64"])

    def test_impossible_precision(self):
        self.refuses("inspect", "conv2d", "--precision", "fp8", says="fp8")

    def test_sequence_belongs_to_attention(self):
        self.refuses("inspect", "conv2d", "--seq", "128", says=["--seq", "conv2d"])

    def test_size_has_no_meaning_for_pytorch(self):
        self.refuses("inspect", "torch-conv2d", "--size", "8", says=["--size", "torch-conv2d"])

    def test_numbers_out_of_range(self):
        for option, value in (("--batch", "0"), ("--batch", "-3"), ("--size", "0"), ("--size", "1e9"), ("--seed", "-1"),
                              ("--batch", "many")):
            with self.subTest(f"{option} {value}"):
                self.refuses("inspect", "conv2d", option, value, says=option)

    def test_unknown_format(self):
        self.refuses("coverage", "--format", "yaml", says="yaml")

    def test_unknown_library(self):
        self.refuses("coverage", "--library", "cudnn7", says=["cudnn7", "cudnn8"])

    def test_unknown_export_gets_close_matches(self):
        self.refuses("explain", "cudnnConvolutionForwrd", says=["cudnnConvolutionForwrd", "did you mean cudnnConvolutionForward"])

    def test_no_program(self):
        self.refuses("run", "--", says="no program")
        self.refuses("run", "--as", "tensorflow", "--", "true", says=["tensorflow", "torch"])

    def test_help_has_an_example_first(self):
        for verb in ("inspect", "run", "coverage", "explain", "trace", "doctor"):
            with self.subTest(verb):
                done = rocbridge(verb, "--help")
                self.assertEqual((done.code, done.err), (0, ""), done)
                self.assertTrue(done.out.startswith("Example:"), done)
                self.assertEqual(rocbridge("help", verb).out, done.out)

    def test_version(self):
        self.assertRegex(rocbridge("version").out, r"^rocbridge \d+\.\d+\.\d+\n$")


class Output(unittest.TestCase):
    def test_into_a_file(self):
        with folder() as place:
            done = rocbridge("coverage", "--format", "json", "-o", place / "coverage.json")
            self.assertEqual((done.code, done.out), (0, ""), done)
            self.assertIn('"cudnn8"', (place / "coverage.json").read_text())

    def test_into_a_place_that_is_not_there(self):
        done = rocbridge("coverage", "-o", "/no/such/folder/coverage.txt")
        self.assertEqual(done.code, 3, done)
        self.assertIn("/no/such/folder/coverage.txt", done.err)

    def test_color_only_where_asked(self):
        self.assertNotIn("\033[", rocbridge("coverage").out)
        self.assertIn("\033[", rocbridge("coverage", "--color", "always").out)

    def test_every_format_of_coverage(self):
        for kind, start in (("json", "{"), ("jsonl", "{"), ("csv", "library,soname,"), ("md", "| library |"), ("table", "library")):
            with self.subTest(kind):
                done = rocbridge("coverage", "--format", kind)
                self.assertEqual(done.code, 0, done)
                self.assertTrue(done.out.startswith(start), done)


class Traces(unittest.TestCase):
    def test_missing_trace(self):
        done = rocbridge("trace", "dump", "/no/such/trace")
        self.assertEqual(done.code, 3, done)
        self.assertIn("/no/such/trace", done.err)

    def test_empty_folder_is_no_trace(self):
        with folder() as place:
            done = rocbridge("trace", "dump", place)
            self.assertEqual(done.code, 3, done)

    def test_noise_is_damaged(self):
        with folder() as place:
            (place / "1.ring").write_bytes(os.urandom(8192))
            (place / "0.segment").write_bytes(os.urandom(8192))
            done = rocbridge("trace", "dump", place, "--format", "jsonl")
            self.assertEqual(done.code, 4, done)

    def test_a_cut_trace_is_read_as_far_as_it_goes(self):
        with folder() as place:
            whole = under("rocbridge-workload", "gemm", "--size", "16", options=("--trace", place / "t"),
                          env={"PATH": f"{pathlib.Path(ROCBRIDGE).parent}:{os.environ['PATH']}"})
            self.assertEqual(whole.code, 0, whole)
            lines = rocbridge("trace", "dump", place / "t", "--format", "jsonl").out.splitlines()
            self.assertGreater(len(lines), 50)
            files = [f for f in (place / "t").glob("*.segment")]
            self.assertTrue(files)
            for file in files:
                data = file.read_bytes()
                file.write_bytes(data[:len(data) * 2 // 3])
            cut = rocbridge("trace", "dump", place / "t", "--format", "jsonl")
            self.assertIn(cut.code, (0, 4), cut)
            self.assertGreater(len(cut.out.splitlines()), 10, cut)
            self.assertLess(len(cut.out.splitlines()), len(lines))


class Settings(unittest.TestCase):
    def test_doctor_shows_values_and_origins(self):
        done = rocbridge("doctor", "--format", "json", env={"ROCBRIDGE_ARCH": "gfx1100"})
        self.assertEqual(done.code, 0, done)
        settings = {row["key"]: row for row in done.json()["settings"]}
        self.assertEqual((settings["soft.arch"]["value"], settings["soft.arch"]["origin"]), ("gfx1100", "environment"))
        self.assertEqual(settings["integrity.policy"]["origin"], "default")
        checks = {row["what"]: row for row in done.json()["checks"]}
        self.assertEqual(checks["device"]["state"], "ok", done)
        self.assertIn("software device, unverified on silicon", checks["device"]["text"])

    def test_doctor_reads_the_file(self):
        with folder() as place:
            (place / "config").write_text("soft.arch = gfx90a\n")
            done = rocbridge("doctor", "--format", "json", env={"ROCBRIDGE_CONFIG": str(place / "config")})
            settings = {row["key"]: row for row in done.json()["settings"]}
            self.assertEqual((settings["soft.arch"]["value"], settings["soft.arch"]["origin"]), ("gfx90a", "file"), done)

    def test_doctor_says_what_is_missing(self):
        done = rocbridge("doctor", env={"ROCBRIDGE_ROCM_DIR": "/no/such/rocm"})
        self.assertEqual(done.code, 3, done)
        self.assertIn("/no/such/rocm", done.out)

    def test_a_program_without_its_libraries_says_so(self):
        with folder() as place:
            alone = place / "bin" / "rocbridge"
            alone.parent.mkdir()
            alone.write_bytes(pathlib.Path(ROCBRIDGE).read_bytes())
            alone.chmod(0o755)
            done = run(alone, "inspect", "conv2d")
            self.assertEqual(done.code, 3, done)
            self.assertIn("lib/cuda", done.err)


if __name__ == "__main__":
    unittest.main()
