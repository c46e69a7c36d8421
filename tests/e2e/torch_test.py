# SPDX-License-Identifier: Apache-2.0
"""Stock PyTorch under rocbridge run: right or refused, never wrong; NVIDIA's wheels beside it are never loaded."""
import contextlib
import re
import shutil
import subprocess
import unittest

from support import CLIENTS, CUDA, TORCH_PYTHON, evidence, rocbridge, run, under

CLASSIC = {"TORCH_CUDNN_V8_API_DISABLED": "1"}
NVIDIA = {  # folder of the wheel -> libraries in it
    "cublas": ["libcublas.so.12", "libcublasLt.so.12"], "cuda_runtime": ["libcudart.so.12"],
    "cudnn": ["libcudnn.so.8", "libcudnn_ops_infer.so.8", "libcudnn_ops_train.so.8", "libcudnn_cnn_infer.so.8",
              "libcudnn_cnn_train.so.8", "libcudnn_adv_infer.so.8", "libcudnn_adv_train.so.8"],
    "cufft": ["libcufft.so.11"], "curand": ["libcurand.so.10"], "cusolver": ["libcusolver.so.11"],
    "cusparse": ["libcusparse.so.12"], "nccl": ["libnccl.so.2"], "cuda_nvrtc": ["libnvrtc.so.12"],
    "cuda_cupti": ["libcupti.so.12"], "nvtx": ["libnvToolsExt.so.1"], "nvjitlink": ["libnvJitLink.so.12"],
}


def client(name, *arguments, env=None, timeout=900, options=()):
    return under(TORCH_PYTHON, CLIENTS / name, *arguments, options=("--quiet", *options), env=env, timeout=timeout)


def verdicts(done):
    """{case: verdict} of a client program's lines."""
    return {m.group(2): m.group(1) for m in re.finditer(r"^(PASS|FAIL|REFUSED) +(.*?): ", done.out, re.M)}


def total(done):
    found = re.search(r"^TOTAL +pass (\d+) fail (\d+) refused (\d+)$", done.out, re.M)
    assert found, f"no TOTAL line\n{done}"
    return [int(n) for n in found.groups()]


class Convolutions(unittest.TestCase):
    def check(self, env):
        done = client("a_conv.py", "--allow-refused", "--libs", env=env,
                      options=evidence("torch_classic" if env else "torch_graph"))
        passed, failed, refused = total(done)
        self.assertEqual((done.code, failed), (0, 0), done)
        self.assertEqual(passed + refused, 76, done)
        cases = verdicts(done)
        # Everything that needs no kernel of PyTorch's own and that AMD's library computes.
        types = ("fp32", "fp16") if env else ("fp32", "fp16", "bf16")
        for name, verdict in cases.items():
            words = name.split()
            if "pure" in words and words[1] in types and "3d" not in words[0]:
                self.assertEqual(verdict, "PASS", f"{name}\n{done}")
        foreign = [line for line in done.out.splitlines() if line.startswith("LIB") and str(CUDA) not in line]
        self.assertEqual(foreign, [], done)
        self.assertIn(str(CUDA / "libcudnn.so.8"), done.out)

    def test_graph_path(self):
        self.check(None)

    def test_classic_path(self):
        self.check(CLASSIC)

    def test_benchmark_and_deterministic_modes(self):
        for option in ("--benchmark", "--deterministic"):
            for env in (None, CLASSIC):
                with self.subTest(f"{option} {env}"):
                    done = client("a_conv.py", "--allow-refused", option, "--only", "conv2d-(3x3|groups2).*(fp32|fp16)", env=env)
                    passed, failed, _ = total(done)
                    self.assertEqual((done.code, failed), (0, 0), done)
                    self.assertGreater(passed, 0, done)


class Operators(unittest.TestCase):
    def test_products_are_right_and_nothing_is_wrong(self):
        done = client("b_ops.py", "--allow-refused", timeout=1500, options=evidence("torch_operators"))
        _, failed, _ = total(done)
        self.assertEqual((done.code, failed), (0, 0), done)
        products = {n: v for n, v in verdicts(done).items() if re.match(r"(mm|mm-transposed|bmm|matmul-2d-1d) ", n)}
        self.assertEqual(len(products), 16, products)
        self.assertEqual({n: v for n, v in products.items() if v != "PASS"}, {}, done)

    def test_graphs_are_never_wrong(self):
        done = client("c_graph.py", "--allow-refused", options=evidence("torch_graphs"))
        self.assertEqual((done.code, total(done)[1]), (0, 0), done)


class Preset(unittest.TestCase):
    def test_both_paths_against_cpu_pytorch(self):
        done = rocbridge("inspect", "torch-conv2d", "--format", "json", timeout=900)
        self.assertEqual(done.code, 0, done)
        json = done.json()
        self.assertEqual(json["headline"]["status"], "PASS", done)
        drift = json["headline"]["max_relative_l1_pytorch"]
        self.assertGreater(drift["checked"], 0)
        self.assertEqual(drift["unchecked"], 0)
        self.assertLess(drift["value"], drift["bound"])
        entries = {e["name"]: e for e in json["entries"]}
        for name in ("cudnnBackendExecute", "cudnnConvolutionForward", "cudnnConvolutionBackwardData",
                     "cudnnConvolutionBackwardFilter"):
            self.assertEqual(entries[name]["verdict"], "pass", entries[name])

    def test_one_type(self):
        done = rocbridge("inspect", "torch-conv2d", "--precision", "fp16", "--batch", "1", timeout=600)
        self.assertEqual(done.code, 0, done)
        self.assertIn("against PyTorch", done.out)

    def test_a_fault_is_caught(self):
        done = rocbridge("inspect", "torch-conv2d", "--precision", "fp32", "--format", "json", timeout=600,
                         env={"ROCBRIDGE_SOFT_FAULT": "last-row:conv-backward-weights"})
        self.assertEqual(done.code, 1, done)
        self.assertEqual(done.json()["headline"]["status"], "TRAPPED", done)


@contextlib.contextmanager
def decoys():
    """Libraries under site-packages/nvidia/*/lib, where the wheel's run path looks first, that abort when loaded."""
    site = next((TORCH_PYTHON.parent.parent / "lib").glob("python3*/site-packages"))
    place = site / "nvidia"
    assert not place.exists(), f"{place} is there already"
    try:
        for folder, libraries in NVIDIA.items():
            (place / folder / "lib").mkdir(parents=True)
            for library in libraries:
                source = place / folder / "decoy.c"
                source.write_text("#include <stdio.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void loaded(void)"
                                  f" {{ fputs(\"DECOY {library}\\n\", stderr); abort(); }}\n")
                subprocess.run(["gcc", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", place / folder / "lib" / library,
                                source], check=True)
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)


class Decoys(unittest.TestCase):
    def test_the_wheels_libraries_are_never_loaded(self):
        with decoys():
            # The decoys do bite where only the library path is set: the wheel's DT_RPATH comes first.
            bitten = run(TORCH_PYTHON, "-c", "import torch", env={"LD_LIBRARY_PATH": str(CUDA)})
            self.assertIn("DECOY", bitten.err, bitten)
            for env in (None, CLASSIC):
                done = client("a_conv.py", "--only", "conv2d-(3x3|groups2) fp32 nchw pure", "--libs", env=env)
                self.assertEqual(done.code, 0, done)
                self.assertNotIn("DECOY", done.err + done.out)
                self.assertNotIn("site-packages/nvidia", done.out)
                self.assertNotIn("torch/lib/libcusparseLt", done.out)
            linear = client("b_ops.py", "--only", "lu_factor_ex|^mm fp32", "--allow-refused")
            self.assertNotIn("DECOY", linear.err + linear.out, linear)

    def test_the_library_path_alone_leaves_the_bundled_library_in(self):
        """The wheel's own copy of cuSPARSELt is then mapped, which is told and refused at the first use of the device."""
        done = run(TORCH_PYTHON, "-c", "import torch; torch.ones(2).cuda()", env={"LD_LIBRARY_PATH": str(CUDA)})
        self.assertNotEqual(done.code, 0, done)
        self.assertIn("torch/lib/libcusparseLt-f80c68d1.so.0", done.err)
        self.assertIn("rocbridge run", done.err)


class Reporting(unittest.TestCase):
    def test_a_refused_kernel_is_named_with_a_remedy(self):
        done = under(TORCH_PYTHON, "-c", "import torch; torch.ones(4, device='cuda') + 1")
        self.assertNotEqual(done.code, 0, done)
        self.assertIn("no kernel image is available", done.err)
        self.assertRegex(done.err, r"FillFunctor|vectorized_elementwise_kernel")

    def test_what_the_program_is_told(self):
        done = under(TORCH_PYTHON, "-c", "import torch; print(torch.cuda.get_device_capability(), torch.backends.cudnn.version())",
                     options=("--as", "torch"))
        self.assertEqual(done.out, "(8, 6) 8902\n", done)


if __name__ == "__main__":
    unittest.main()
