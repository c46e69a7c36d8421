# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: where the build lies, and running its programs with a time limit."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ROCBRIDGE_BUILD", ROOT / "build"))
ROCBRIDGE = str(BUILD / "bin" / "rocbridge")
WORKLOAD = str(BUILD / "bin" / "rocbridge-workload")
CUDA = BUILD / "lib" / "cuda"
TORCH_PYTHON = BUILD / "clients" / "torch-2.3.0" / "bin" / "python"
CLIENTS = ROOT / "tests" / "e2e" / "clients"


# PyTorch's byte code is kept: compiling it again at each import takes seconds.
UNSET = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE")


class Done:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.out[-6000:]}\n--- stderr\n{self.err[-6000:]}"


def clean_environment(extra=None):
    """The environment without any ROCBRIDGE_ setting of the person who runs the tests."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("ROCBRIDGE_") and k not in UNSET}
    env["NO_COLOR"] = "1"
    env.update(extra or {})
    return env


def run(*command, env=None, timeout=120, stdin=subprocess.DEVNULL, cwd=None):
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=stdin,
                               env=clean_environment(env), text=True, errors="replace", start_new_session=True, cwd=cwd)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        raise AssertionError(f"{command} did not end within {timeout} s\n{out[-3000:]}\n{err[-3000:]}")
    return Done(process.returncode, out, err)


def rocbridge(*arguments, **options):
    return run(ROCBRIDGE, *arguments, **options)


def under(*program, options=(), **more):
    """A program under `rocbridge run`."""
    return rocbridge("run", *options, "--", *program, **more)


def evidence(name):
    """Options that keep a trace as evidence for the account of exports, where the test runner asks for it."""
    place = os.environ.get("TEST_EVIDENCE")
    if not place:
        return ()
    shutil.rmtree(pathlib.Path(place) / name, ignore_errors=True)
    return ("--trace", str(pathlib.Path(place) / name))


def python(code, *arguments, options=(), **more):
    return under(sys.executable, "-c", code, *arguments, options=options, **more)


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="rocbridge-test-") as path:
        yield pathlib.Path(path)
