# SPDX-License-Identifier: Apache-2.0
"""Helpers for the tests of the command line: calls of haul without mpiexec, and checks of refusals."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["HAUL_SOURCE"], "tests", "system"))
from haultest import HAUL, check, main  # noqa: E402, F401


def haul(*args, env=None, cwd=None):
    return subprocess.run([HAUL, *map(str, args)], env=dict(os.environ, **(env or {})), cwd=cwd, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)


def refused(r, *words):
    """Checks that haul ended with status 2, no standard output, and one sentence that contains these words."""
    check(r.returncode == 2 and r.stdout == "", r)
    lines = r.stderr.splitlines()
    check(len(lines) == 1 and lines[0].startswith("haul: "), r)
    for word in words:
        check(word in lines[0], f"{lines[0]!r} does not say {word!r}")
