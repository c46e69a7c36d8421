# SPDX-License-Identifier: Apache-2.0
"""A program with four calling threads under `rocbridge run --trace`, killed by kill -9 at random times, 50 times: every
call below the counters that the threads raise after each call is in the trace."""
import json
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time
import unittest

from support import ROCBRIDGE, clean_environment, folder, rocbridge

ROUNDS = 50
THREADS = 4
STEP = 100_000_000  # numbers of a thread's calls: thread * STEP + 0, 1, 2, ...

# cudaGetErrorString takes any number, needs no device and fails for none: the number is in the trace as its argument.
PROGRAM = """
import ctypes, mmap, os, struct, sys, threading
runtime = ctypes.CDLL("libcudart.so.12")
runtime.cudaGetErrorString.restype = ctypes.c_char_p
with open(sys.argv[1], "r+b") as file:
    shared = mmap.mmap(file.fileno(), 4096)
def work(thread):
    number = 0
    while True:
        runtime.cudaGetErrorString(ctypes.c_int(thread * STEP + number))
        number += 1
        struct.pack_into("<Q", shared, 64 * (thread + 1), number)
for thread in range(THREADS):
    threading.Thread(target=work, args=(thread,), daemon=True).start()
struct.pack_into("<Q", shared, 0, os.getpid())
threading.Event().wait()
""".replace("STEP", str(STEP)).replace("THREADS", str(THREADS))


def one_round(place, seconds, env):
    """Starts the program, kills it after `seconds` of calls, and gives the counters."""
    counters = place / "counters"
    counters.write_bytes(bytes(4096))
    with open(counters, "r+b") as file, mmap.mmap(file.fileno(), 4096) as shared:
        runner = subprocess.Popen([ROCBRIDGE, "run", "-q", "--trace", str(place / "trace"), "--", sys.executable, "-c", PROGRAM,
                                   str(counters)], env=clean_environment(env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            end = time.monotonic() + 60
            while struct.unpack_from("<Q", shared, 0)[0] == 0:
                if runner.poll() is not None or time.monotonic() > end:
                    raise AssertionError(f"the program did not start: {runner.stderr.read()!r}")
                time.sleep(0.001)
            time.sleep(seconds)
            os.kill(struct.unpack_from("<Q", shared, 0)[0], signal.SIGKILL)
            _, said = runner.communicate(timeout=60)
        finally:
            runner.kill()
            runner.wait()
        counts = [struct.unpack_from("<Q", shared, 64 * (thread + 1))[0] for thread in range(THREADS)]
    return runner.returncode, counts, said


def numbers_in(trace):
    """The numbers of the calls in the trace, by thread; and its gaps."""
    done = rocbridge("trace", "dump", trace, "--format", "jsonl", "--kind", "call_begin,gap")
    if done.code != 0:
        raise AssertionError(done)
    numbers, gaps = [[] for _ in range(THREADS)], []
    for line in done.out.splitlines():
        record = json.loads(line)
        if record["kind"] == "gap":
            gaps.append(record)
        elif record["entry"] == "cudaGetErrorString":
            number = int(record["arguments"][0]["word"], 16)
            numbers[number // STEP].append(number % STEP)
    return numbers, gaps


class Killed(unittest.TestCase):
    def rounds(self, count, seed, env):
        chance = random.Random(seed)
        calls = 0
        for turn in range(count):
            with self.subTest(round=turn), folder() as place:
                code, counts, said = one_round(place, chance.uniform(0, 0.05), env)
                self.assertEqual(code, 128 + signal.SIGKILL, said)
                numbers, gaps = numbers_in(place / "trace")
                self.assertEqual(gaps, [])
                for thread in range(THREADS):
                    self.assertGreaterEqual(len(numbers[thread]), counts[thread])
                    self.assertEqual(numbers[thread], list(range(len(numbers[thread]))))
                calls += sum(counts)
        self.assertGreater(calls, 100 * count)  # else nothing was proven

    def test_no_committed_call_is_lost(self):
        self.rounds(ROUNDS, 1, {})

    def test_none_is_lost_when_the_rings_are_always_full(self):
        self.rounds(10, 2, {"ROCBRIDGE_TRACE_RING_BYTES": "4096"})


if __name__ == "__main__":
    unittest.main()
