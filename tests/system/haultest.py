"""What every system test needs: run haul under mpiexec, read its results, say what failed."""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HAUL = os.environ["HAUL"]
MPIEXEC = os.environ["HAUL_MPIEXEC"]
YIELD = os.environ["HAUL_YIELD"]
SOURCE = os.environ["HAUL_SOURCE"]


class Run:
    def __init__(self, process, out, err, seconds):
        self.rc, self.out, self.err, self.seconds = process.returncode, out, err, seconds

    def __repr__(self):
        return f"exit {self.rc} after {self.seconds:.1f} s\n--- out\n{self.out}\n--- err\n{self.err}"


def environment(ranks, more=None):
    env = dict(os.environ)
    if ranks > 2:
        env["LD_PRELOAD"] = YIELD
    env.update(more or {})
    return env


def command(ranks, *args):
    return [MPIEXEC, "-n", str(ranks), HAUL, *map(str, args)]


def start(ranks, *args, cwd=None, env=None):
    return subprocess.Popen(command(ranks, *args), cwd=cwd, env=environment(ranks, env), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            errors="replace")


def finish(process, began, timeout=100):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"hangs: {process.args}\n{out}\n{err}")
    return Run(process, out, err, time.monotonic() - began)


def mpi(ranks, *args, cwd=None, env=None, timeout=100):
    began = time.monotonic()
    return finish(start(ranks, *args, cwd=cwd, env=env), began, timeout)


def alone(*args, cwd=None, env=None, timeout=60):
    began = time.monotonic()
    p = subprocess.Popen([HAUL, *map(str, args)], cwd=cwd, env=environment(1, env), text=True, errors="replace",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return finish(p, began, timeout)


def write_job(folder, job, name="job.json"):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        json.dump(job, f, indent=1)
    return path


def report(path):
    r = alone("report", "--json", path)
    check(r.rc == 0, f"report --json: {r}")
    return json.loads(r.out)


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def near(value, wanted, within, what):
    check(value is not None and abs(value - wanted) <= within, f"{what}: {value}, wanted {wanted} within {within}")


def mix64(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & (1 << 64) - 1
    return x ^ x >> 31


class Folder:
    """A folder that goes away, in a place that may be named (a mounted tmpfs, say)."""

    def __init__(self, parent=None):
        self.path = tempfile.mkdtemp(prefix="haul-test-", dir=parent)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def steady(test):
    """For answers that depend on the clock: other work on this machine may spoil a try, never make one.
    Tried up to four times, each failure said."""
    def tried(*args):
        for left in (3, 2, 1, 0):
            try:
                return test(*args)
            except AssertionError as e:
                if not left:
                    raise
                print(f"      {test.__name__}: {str(e)[:200]}; once more", flush=True)
    tried.__name__ = test.__name__
    return tried


def processors_s():
    """Processor seconds that this process and what it has waited for have used."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                 resource.RUSAGE_CHILDREN)))


def main(*tests):
    wanted = sys.argv[1:]
    failed = 0
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        began, used = time.monotonic(), processors_s()
        try:
            test()
            print(f"ok    {test.__name__} ({time.monotonic() - began:.1f} s, {processors_s() - used:.1f} s of processors)",
                  flush=True)
        except AssertionError as e:
            failed += 1
            print(f"FAIL  {test.__name__}: {e}", flush=True)
    sys.exit(1 if failed else 0)
