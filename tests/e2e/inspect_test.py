# SPDX-License-Identifier: Apache-2.0
"""rocbridge inspect: every architecture and type passes with evidence, and every planted fault is caught."""
import unittest

from support import ROOT, evidence, rocbridge

ARCHITECTURES = ("gfx1200", "gfx1100", "gfx90a")
PRECISIONS = ("fp32", "fp16", "bf16")
FAULTS = ("zero-output", "stale-output", "last-row", "scale-row")
PASSES = {"conv-forward": "cudnnConvolutionForward", "conv-backward-data": "cudnnConvolutionBackwardData",
          "conv-backward-weights": "cudnnConvolutionBackwardFilter"}


class Passes(unittest.TestCase):
    def check(self, json, preset):
        headline = json["headline"]
        self.assertEqual(json["schema"], "rocbridge.inspect/1")
        self.assertEqual(headline["status"], "PASS")
        self.assertEqual(json["findings"], [])
        self.assertTrue(json["device"]["software"])
        cudnn = headline["coverage"]["cudnn8"]
        self.assertEqual(cudnn["total"], 268)
        self.assertEqual(cudnn["mapped"] + cudnn["emulated"] + cudnn["trapped"], 268)
        drift = headline["max_relative_l1"]
        self.assertGreater(drift["checked"], 0)
        self.assertEqual(drift["unchecked"], 0)
        self.assertLess(drift["value"], drift["bound"])
        self.assertGreater(drift["bound"], 0)
        self.assertGreater(headline["memory_footprint"]["peak_bytes"], 0)
        self.assertGreater(headline["memory_footprint"]["by_kind"]["tensors"], 0)
        self.assertIsNone(headline["max_relative_l1_pytorch"])
        entries = {entry["name"]: entry for entry in json["entries"]}
        wanted = PASSES.values() if preset == "conv2d" else ()
        for name in wanted:
            self.assertEqual((entries[name]["status"], entries[name]["verdict"]), ("mapped", "pass"), entries[name])
            self.assertTrue(any("miopen" in target for target in entries[name]["targets"]), entries[name])
        for entry in json["entries"]:
            if entry["relative_l1"] is not None:
                self.assertLessEqual(entry["relative_l1"], entry["bound"], entry)

    def test_every_architecture_and_type(self):
        for arch in ARCHITECTURES:
            for precision in PRECISIONS:
                for preset in ("conv2d", "gemm"):
                    with self.subTest(f"{preset} {arch} {precision}"):
                        done = rocbridge("inspect", preset, "--arch", arch, "--precision", precision, "--format", "json")
                        self.assertEqual(done.code, 0, done)
                        json = done.json()
                        self.assertEqual(json["device"]["gfx"], arch)
                        self.check(json, preset)

    def test_the_graph_interface(self):
        for precision in PRECISIONS:
            with self.subTest(precision):
                done = rocbridge("inspect", "conv2d", "--api", "graph", "--precision", precision, "--format", "json")
                self.assertEqual(done.code, 0, done)
                entries = {entry["name"]: entry for entry in done.json()["entries"]}
                self.assertEqual(entries["cudnnBackendExecute"]["verdict"], "pass", done)

    def test_settings_change_the_work(self):
        small = rocbridge("inspect", "gemm", "--size", "32", "--format", "json").json()
        large = rocbridge("inspect", "gemm", "--size", "96", "--batch", "3", "--seed", "7", "--format", "json").json()
        self.assertEqual(large["settings"]["size"], 96)
        self.assertEqual(large["settings"]["seed"], 7)
        self.assertLess(small["headline"]["memory_footprint"]["peak_bytes"], large["headline"]["memory_footprint"]["peak_bytes"])
        self.assertNotEqual(small["headline"]["max_relative_l1"]["value"], large["headline"]["max_relative_l1"]["value"])

    def test_the_same_seed_gives_the_same_numbers(self):
        first, second = (rocbridge("inspect", "gemm", "--size", "48", "--seed", "5", "--format", "json").json() for _ in range(2))
        self.assertEqual(first["headline"]["max_relative_l1"]["value"], second["headline"]["max_relative_l1"]["value"])

    def test_two_presets_in_one_run(self):
        done = rocbridge("inspect", "conv2d", "gemm", "--format", "json", *evidence("inspect_conv2d_gemm"))
        self.assertEqual(done.code, 0, done)
        names = {entry["name"] for entry in done.json()["entries"]}
        self.assertTrue({"cudnnConvolutionForward", "cublasSgemm_v2"} <= names, names)

    def test_the_stream_lists_every_call(self):
        done = rocbridge("inspect", "conv2d", "--stream", "--format", "json")
        json = done.json()
        self.assertEqual(len(json["stream"]), json["trace"]["calls"], done)
        forward = [row for row in json["stream"] if row["entry"] == "cudnnConvolutionForward"]
        self.assertTrue(forward and all(row["verdict"] == "pass" and row["amd"] for row in forward), forward[:1])

    def test_the_screen_names_the_software_device(self):
        done = rocbridge("inspect", "gemm", "--size", "16")
        self.assertEqual(done.code, 0, done)
        self.assertIn("software device, unverified on silicon", done.out)


class Faults(unittest.TestCase):
    def caught(self, preset, precision, fault, entry):
        done = rocbridge("inspect", preset, "--precision", precision, "--format", "json", env={"ROCBRIDGE_SOFT_FAULT": fault})
        self.assertEqual(done.code, 1, done)
        json = done.json()
        self.assertEqual(json["headline"]["status"], "TRAPPED", done)
        named = [f for f in json["findings"] if f["entry"] and (entry is None or f["entry"] == entry)]
        self.assertTrue(named, done)
        self.assertTrue(all(f["reason"] and "call" in f["line"] for f in named if f["kind"] != "TRAPPED"), done)

    def test_convolution_in_each_direction_and_type(self):
        for fault in FAULTS:
            for operation, entry in PASSES.items():
                for precision in PRECISIONS:
                    with self.subTest(f"{fault} {operation} {precision}"):
                        self.caught("conv2d", precision, f"{fault}:{operation}", entry)

    def test_matrix_product_in_each_type(self):
        for fault in FAULTS:
            for precision in PRECISIONS:
                with self.subTest(f"{fault} {precision}"):
                    self.caught("gemm", precision, fault, None)

    def test_a_fault_without_a_direction(self):
        for fault in FAULTS:
            with self.subTest(fault):
                self.caught("conv2d", "fp32", fault, None)

    def test_warn_reports_and_lets_the_program_go_on(self):
        done = rocbridge("inspect", "gemm", "--policy", "warn", "--format", "json", env={"ROCBRIDGE_SOFT_FAULT": "scale-row"})
        self.assertEqual(done.code, 1, done)
        self.assertEqual(done.json()["headline"]["status"], "FAIL", done)
        self.assertFalse([f for f in done.json()["findings"] if f["kind"] == "PROGRAM"], done)

    def test_integrity_cannot_know_the_fault(self):
        for file in (ROOT / "src" / "integrity").iterdir():
            self.assertNotIn("FAULT", file.read_text(), file)


if __name__ == "__main__":
    unittest.main()
