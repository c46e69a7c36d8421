# SPDX-License-Identifier: Apache-2.0
"""rocbridge run: the program's own code, output and arguments; what is mapped into it; findings at the end."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from support import CUDA, ROCBRIDGE, WORKLOAD, clean_environment, folder, python, rocbridge, under

# Loads the CUDA runtime as a program does and uses the device once.
USE_DEVICE = """
import ctypes
cuda = ctypes.CDLL("libcudart.so.12")
pointer = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 20)) == 0
assert cuda.cudaMemset(pointer, 1, ctypes.c_size_t(1 << 20)) == 0
assert cuda.cudaDeviceSynchronize() == 0
"""


class ExitCodes(unittest.TestCase):
    def test_the_programs_own_code(self):
        for code in (0, 1, 3, 77, 255):
            with self.subTest(code):
                self.assertEqual(python(f"import sys; sys.exit({code})").code, code)

    def test_death_by_signal(self):
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT):
            with self.subTest(number):
                self.assertEqual(python(f"import os; os.kill(os.getpid(), {int(number)})").code, 128 + number)

    def test_a_program_that_is_not_there(self):
        done = under("no-such-program-anywhere")
        self.assertEqual(done.code, 3, done)
        self.assertIn("no-such-program-anywhere", done.err)

    def test_findings_turn_zero_into_the_code_asked_for(self):
        fault = {"ROCBRIDGE_SOFT_FAULT": "scale-row"}
        options = ("--policy", "warn", "--error-exitcode", "9")
        done = under(WORKLOAD, "gemm", "--size", "32", options=options, env=fault)
        self.assertEqual(done.code, 9, done)
        self.assertIn("DRIFT cublasSgemm_v2", done.err)
        self.assertEqual(under(WORKLOAD, "gemm", "--size", "32", options=options).code, 0)
        self.assertEqual(under(WORKLOAD, "gemm", "--size", "32", options=options[:2], env=fault).code, 0)

    def test_under_trap_the_program_sees_the_error(self):
        done = under(WORKLOAD, "gemm", "--size", "32", env={"ROCBRIDGE_SOFT_FAULT": "zero-output"})
        self.assertEqual(done.code, 1, done)
        self.assertIn("cublasSgemm_v2", done.err)

    def test_termination_is_passed_on(self):
        process = subprocess.Popen([ROCBRIDGE, "run", "--", sys.executable, "-c",
                                    "import time; print('up', flush=True); time.sleep(60)"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_environment(), text=True)
        self.assertEqual(process.stdout.readline(), "up\n")
        process.terminate()
        self.assertEqual(process.wait(timeout=20), 128 + signal.SIGTERM)
        process.stdout.close()


class Streams(unittest.TestCase):
    def test_output_is_the_programs(self):
        done = python("import sys; print('result'); print('log', file=sys.stderr)")
        self.assertEqual(done.out, "result\n")
        self.assertIn("log\n", done.err)
        self.assertIn("rocbridge: ", done.err)

    def test_quiet(self):
        done = python("print('result')", options=("--quiet",))
        self.assertEqual((done.out, done.err), ("result\n", ""), done)

    def test_options_after_the_program_are_the_programs(self):
        done = rocbridge("run", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--trace", "x", "-v", "--", "y")
        self.assertEqual(done.out, "['--trace', 'x', '-v', '--', 'y']\n", done)

    def test_the_users_own_variables_stay(self):
        done = python("import os; print(os.environ['LD_LIBRARY_PATH']); print(os.environ['LD_PRELOAD'])",
                      env={"LD_LIBRARY_PATH": "/my/libraries"})
        path, preload = done.out.splitlines()
        self.assertEqual(path, f"{CUDA}:/my/libraries", done)
        self.assertTrue(preload.startswith(f"{CUDA}/libcudart.so.12:"), done)
        self.assertIn("libcusparseLt-f80c68d1.so.0", preload)

    def test_a_known_program(self):
        done = python("import os; print(os.environ['ROCBRIDGE_RUNTIME_VERSION'])", options=("--as", "llama"))
        self.assertEqual(done.out, "12040\n", done)
        self.assertIn("as llama", done.err)
        done = python("import os; print(os.environ['ROCBRIDGE_RUNTIME_VERSION'])", options=("--as", "llama"),
                      env={"ROCBRIDGE_RUNTIME_VERSION": "12010"})
        self.assertEqual(done.out, "12010\n", done)


class Process(unittest.TestCase):
    def test_no_third_party_library_in_the_programs_process(self):
        done = python(USE_DEVICE + "print(open('/proc/self/maps').read())")
        self.assertEqual(done.code, 0, done)
        files = {line.split()[-1] for line in done.out.splitlines() if "/" in line}
        self.assertTrue(any(f.endswith("/librocbridge.so") for f in files), files)
        self.assertTrue(any(f.endswith("/libsoftrocm.so") for f in files), files)
        strangers = [f for f in files if re.search(r"dnnl|openblas|lapack|gomp|tbb|LLVM|libstdc|toml|json", f)]
        self.assertEqual(strangers, [])

    def test_resident_memory_beyond_the_rings(self):
        plain = "\nimport re\nprint(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read()).group(1))"
        with_device = int(python(USE_DEVICE + plain, options=("--no-trace",)).out)
        without = int(subprocess.run([sys.executable, "-c", "import ctypes" + plain], stdout=subprocess.PIPE, text=True).stdout)
        self.assertLess(with_device - without, 30 * 1024, "KiB")

    def test_children_get_the_libraries_too(self):
        code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {USE_DEVICE!r}], check=True); print('child done')"
        done = python(code)
        self.assertEqual((done.code, done.out), (0, "child done\n"), done)

    def test_the_engine_goes_with_its_program(self):
        code = USE_DEVICE + "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)"
        process = subprocess.Popen([ROCBRIDGE, "run", "--", sys.executable, "-c", code], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=clean_environment(), text=True)
        pid = int(process.stdout.readline())
        engines = engines_of(pid)
        self.assertTrue(engines, "no rocbridge-device was started")
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(process.wait(timeout=20), 128 + signal.SIGKILL)
        process.stdout.close()
        end = time.monotonic() + 10
        while any(os.path.exists(f"/proc/{e}") and not is_zombie(e) for e in engines) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse([e for e in engines if os.path.exists(f"/proc/{e}") and not is_zombie(e)])

    def test_a_foreign_cuda_library_is_told(self):
        with folder() as place:
            library = place / "libcublas.so.12.1"
            source = place / "foreign.c"
            source.write_text("int cublasForeign(void) { return 0; }\n")
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-Wl,-soname,libcublas-foreign.so.12"], check=True)
            done = python(f"import ctypes\nctypes.CDLL({str(library)!r})\n" + USE_DEVICE)
            self.assertIn(str(library), done.err, done)


class Traces(unittest.TestCase):
    def test_a_kept_trace_is_dumped_as_json_lines(self):
        with folder() as place:
            done = under(WORKLOAD, "gemm", "--size", "16", options=("--trace", place / "trace"))
            self.assertEqual(done.code, 0, done)
            dump = rocbridge("trace", "dump", place / "trace", "--format", "jsonl")
            self.assertEqual(dump.code, 0, dump)
            rows = [json.loads(line) for line in dump.out.splitlines()]
            begun = {row["call"] for row in rows if row["kind"] == "call_begin" and row["entry"] == "cublasSgemm_v2"}
            ended = {row["call"] for row in rows if row["kind"] == "call_end" and row["status"] == 0}
            reached = {row["call"] for row in rows if row["kind"] == "amd_call" and row["function"].startswith("rocblas_")}
            checked = {row["call"] for row in rows if row["kind"] == "check" and row["verdict"] == "pass"}
            self.assertTrue(begun and begun <= ended and begun <= reached and begun & checked)

    def test_without_a_trace_nothing_is_left_behind(self):
        with folder() as place:
            python(USE_DEVICE, env={"TMPDIR": str(place)})
            self.assertEqual([p.name for p in place.iterdir()], [])

    def test_a_trace_folder_that_cannot_be_written(self):
        done = under("true", options=("--trace", "/proc/no/trace"))
        self.assertEqual(done.code, 3, done)
        self.assertIn("/proc/no/trace", done.err)


def engines_of(pid):
    """The device processes that work for `pid`. They are not its children; the program's number is an argument."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as f:
                arguments = f.read().split(b"\0")
        except OSError:
            continue
        is_device = arguments[0].endswith(b"rocbridge-device")
        if is_device and arguments[1:3] == [b"--parent", str(pid).encode()] and not is_zombie(int(name)):
            found.append(int(name))
    return found


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            text = f.read()
        return text[text.rindex(")") + 2] == "Z"
    except OSError:
        return True


if __name__ == "__main__":
    unittest.main()
