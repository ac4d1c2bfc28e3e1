# SPDX-License-Identifier: Apache-2.0
"""Helpers for the tests of haul import: they run haul, import texts and plan jobs."""
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["HAUL_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "system"))
from haultest import HAUL, check, main  # noqa: E402, F401

HERE = os.path.join(SOURCE, "tests", "fixtures", "dlio")


def run(*args):
    return subprocess.run([HAUL, *map(str, args)], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL)


def imported(text, *overrides, options=(), rc=0):
    """Returns the job, and what haul printed about it."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as f:
        f.write(text)
    r = run("import", *options, "dlio", f.name, *overrides)
    os.unlink(f.name)
    check(r.returncode == rc, r)
    if rc:
        check(r.stdout == "" and "haul: " in r.stderr, r)
    return json.loads(r.stdout) if rc == 0 else None, r.stderr


def phase(job, kind):
    return next(p[kind] for p in job["phases"] if kind in p)


def plan(job, *args):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(job, f)
        f.flush()
        return run("plan", f.name, *args)
