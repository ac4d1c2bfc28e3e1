"""Helpers for the tests of the command line: calls of haul without mpiexec, and checks of refusals."""
import os
import subprocess
import sys

HAUL = os.environ["HAUL"]


def haul(*args, env=None, cwd=None):
    return subprocess.run([HAUL, *map(str, args)], env=dict(os.environ, **(env or {})), cwd=cwd, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def refused(r, *words):
    """Checks that haul ended with status 2, no standard output, and one sentence that contains these words."""
    check(r.returncode == 2 and r.stdout == "", r)
    lines = r.stderr.splitlines()
    check(len(lines) == 1 and lines[0].startswith("haul: "), r)
    for word in words:
        check(word in lines[0], f"{lines[0]!r} does not say {word!r}")


def main():
    """Runs all functions test_… of the script."""
    script = sys.modules["__main__"]
    tests = [value for name, value in vars(script).items() if name.startswith("test_") and callable(value)]
    failed = 0 if tests else 1
    for test in tests:
        try:
            test()
            print("ok   ", test.__name__)
        except AssertionError as e:
            failed += 1
            print(f"FAIL  {test.__name__}: {e}")
    sys.exit(1 if failed else 0)
