# SPDX-License-Identifier: Apache-2.0
"""Every built library exports exactly the C names of its list, under the right version node.

The lists under tests/data/exports were read from NVIDIA's libraries (see the head of each file); api/ is not consulted.
For AMD's libraries the names and nodes are those of api/amd, since softrocm exports every function with a prototype.
"""
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ROCBRIDGE_BUILD", os.path.join(ROOT, "build"))
LISTS = os.path.join(ROOT, "tests", "data", "exports")


def dynamic_symbols(path):
    """{name: (node or '-', 'function' or 'data')} of the defined dynamic symbols."""
    out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", path], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in out.splitlines():
        _, kind, symbol = line.split(None, 2)
        name, _, node = symbol.partition("@@")
        if kind == "A":  # the node's own symbol
            continue
        found[name] = (node or "-", "function" if kind in "TtWi" else "data")
    return found


def soname(path):
    out = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    return re.search(r"SONAME.*\[(.*)\]", out).group(1)


class CudaExports(unittest.TestCase):
    def test_every_library_of_the_lists(self):
        files = sorted(os.listdir(LISTS))
        self.assertGreaterEqual(len(files), 26)
        for file in files:
            with self.subTest(file):
                library = file[: -len(".txt")]
                path = os.path.join(BUILD, "lib", "cuda", library)
                with open(os.path.join(LISTS, file)) as lines:
                    wanted = {n: (node, kind) for n, node, kind in (line.split() for line in lines if not line.startswith("#"))}
                built = dynamic_symbols(path)
                self.assertEqual(sorted(set(wanted) - set(built)), [], "names that are missing")
                self.assertEqual(sorted(set(built) - set(wanted)), [], "names that nobody exports")
                self.assertEqual({n: (built[n], w) for n, w in wanted.items() if built[n] != w}, {}, "node or kind differs")
                self.assertEqual(soname(path), library)

    def test_cudnn_has_268(self):
        self.assertEqual(len(dynamic_symbols(os.path.join(BUILD, "lib", "cuda", "libcudnn.so.8"))), 268)

    def test_nothing_else_is_needed(self):
        for file in sorted(os.listdir(LISTS)):
            out = subprocess.run(["readelf", "-d", os.path.join(BUILD, "lib", "cuda", file[: -len(".txt")])], check=True,
                                 capture_output=True, text=True).stdout
            self.assertEqual(re.findall(r"NEEDED.*\[(.*)\]", out), ["librocbridge.so"], file)


class AmdExports(unittest.TestCase):
    def rows(self, library):
        """(name, node) of each function of a library in api/amd."""
        folder = os.path.join(ROOT, "api", "amd", library)
        for file in sorted(os.listdir(folder)):
            name = node = None
            with open(os.path.join(folder, file)) as lines:
                for line in lines:
                    if match := re.match(r"\[(\w+)\]", line):
                        if name:
                            yield name, node
                        name, node = match.group(1), None
                    elif match := re.match(r'node = "(.*)"', line):
                        node = match.group(1)
            if name:
                yield name, node

    def test_names_and_nodes(self):
        libraries = {"hip": ("libamdhip64.so.6", None, 500), "miopen": ("libMIOpen.so.1", "MIOPEN_HIP_1", 256),
                     "rocblas": ("librocblas.so.4", None, 1208), "rocsolver": ("librocsolver.so.0", None, 887),
                     "hipsolver": ("libhipsolver.so.0", None, 524), "hipblaslt": ("libhipblaslt.so.0", None, 24)}
        for key, (file, node, least) in libraries.items():
            with self.subTest(file):
                wanted = {name: own or node or "-" for name, own in self.rows(key)}
                self.assertGreaterEqual(len(wanted), least)
                built = {n: v for n, (v, _) in dynamic_symbols(os.path.join(BUILD, "lib", "rocm", "6", file)).items()}
                self.assertEqual(built, wanted)


if __name__ == "__main__":
    unittest.main()
