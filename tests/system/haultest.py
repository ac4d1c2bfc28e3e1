# SPDX-License-Identifier: Apache-2.0
"""Helpers for system tests: they run haul under mpiexec, read its results, and report what failed.

A test script is a list of functions test_…; its last line calls main(). Each function belongs to the test that
cmake/HaulTest.cmake makes of the script, unless the line above it has one of the marks timing, long and matrix."""
import contextlib
import ctypes
import glob
import functools
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HAUL = os.environ["HAUL"]
MPIEXEC = os.environ["HAUL_MPIEXEC"]
SOURCE = os.environ["HAUL_SOURCE"]
SANITIZED = os.environ.get("HAUL_SANITIZED") == "1"
# Whether to run the whole matrix of cases (ctest --preset long), or only the cases for every change.
FULL = os.environ.get("HAUL_TEST_FULL") == "1"
# The transport of object stores; None: the default.
TRANSPORT = os.environ.get("HAUL_TEST_TRANSPORT")
# What tests draw follows from this and from the test's name. It is printed when a test fails; HAUL_TEST_SEED repeats it.
SEED = int(os.environ.get("HAUL_TEST_SEED", time.time_ns() % 1000000))
# A log with a row for each operation, also where a busy machine does not write them for a while.
WHOLE_LOG = ("--op-log", "ops.tsv.zst", "--op-log-rows", 1 << 18)
# A folder in memory for runs that end early: their results must be written soon, and a disk may stall. None, which is any folder,
# where a container has given it little room.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 1 << 30 else None
# A process that takes longer counts as hung. Even a busy machine must not need this time.
HANGS_S = 300
# Below nohup it is ignored, and would be in all runs that a test sends it to.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Run:
    def __init__(self, process, out, err, seconds):
        self.rc, self.out, self.err, self.seconds = process.returncode, out, err, seconds

    def __repr__(self):
        return f"exit {self.rc} after {self.seconds:.1f} s\n--- out\n{self.out}\n--- err\n{self.err}"


# Few tests look for the devices of a node, which takes a third of the processor time of a short run: MPI does it, too.
NO_DEVICES = {"HWLOC_COMPONENTS": "-x86,-pci,-linuxio"}
# The ranks are on one machine. UCX need not open what would take it to others, which takes a fifth of the start of two ranks.
ONE_MACHINE = {"UCX_TLS": "self,posix", "UCX_WARN_UNUSED_ENV_VARS": "n"}


def environment(more=None):
    return {**NO_DEVICES, **ONE_MACHINE, **os.environ, **(more or {})}


def command(ranks, *args):
    return [MPIEXEC, "-n", str(ranks), HAUL, *map(str, args)]


def start(ranks, *args, cwd=None, env=None, **more):
    return subprocess.Popen(command(ranks, *args), cwd=cwd, env=environment(env), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            errors="replace", **more)


def finish(process, began, timeout=HANGS_S):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"hangs: {process.args}\n{out}\n{err}")
    return Run(process, out, err, time.monotonic() - began)


def processes_of(process):
    """The numbers of a process and of all below it, each before its children."""
    found = [process.pid]
    for pid in found:
        with contextlib.suppress(OSError):  # it has ended
            found += map(int, open(f"/proc/{pid}/task/{pid}/children").read().split())
    return found


def ranks_of(process):
    """The ranks below an mpiexec, by their number. A rank may be a child of the process that was launched (ranks/run/shelter.h)."""
    found = {}
    for pid in processes_of(process):
        try:
            if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(HAUL):
                env = open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
                found[next(int(e[9:]) for e in env if e.startswith(b"PMI_RANK="))] = pid
        except (OSError, StopIteration):  # it has ended, or has just begun
            pass
    return found


def freeze(pid):
    """Stops a rank with what the launcher started for it, which would wake it when the run is told to end. Returns what it stopped."""
    parent = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
    sheltered = os.path.realpath(f"/proc/{parent}/exe") == os.path.realpath(HAUL)
    stopped = [parent, pid] if sheltered else [pid]
    for p in stopped:
        os.kill(p, signal.SIGSTOP)
    return stopped


def mpi(ranks, *args, cwd=None, env=None, timeout=HANGS_S):
    for _ in range(3):
        began = time.monotonic()
        r = finish(start(ranks, *args, cwd=cwd, env=env), began, timeout)
        if r.rc != -signal.SIGPIPE or r.out or r.err:
            break
        # mpiexec itself has died: what it started had ended before it was told all.
    return r


def alone(*args, cwd=None, env=None, timeout=HANGS_S):
    began = time.monotonic()
    p = subprocess.Popen([HAUL, *map(str, args)], cwd=cwd, env=environment(env), text=True, errors="replace",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return finish(p, began, timeout)


def measured(ranks, args, cwd=None, env=None, timeout=HANGS_S):
    """Runs the command on ranks; returns (the run, the peak resident set in bytes of the largest rank). A process inherits the peak
    of its parent, so a small parent starts it."""
    code = "import os, resource, subprocess, sys; rc = subprocess.run(sys.argv[2:], close_fds=False).returncode; " \
           "open(sys.argv[1] + os.environ['PMI_RANK'], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); " \
           "sys.exit(rc)"
    began = time.monotonic()
    with Folder() as peaks:
        p = subprocess.Popen([MPIEXEC, "-n", str(ranks), sys.executable, "-S", "-c", code, peaks + "/", *map(str, args)], cwd=cwd,
                             env=environment(env), text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        r = finish(p, began, timeout)
        found = [int(open(path).read()) << 10 for path in glob.glob(f"{peaks}/*")]
    check(found, f"no rank came to its end: {r}")
    return r, max(found)


def peak_of_rank(args, cwd=None, env=None):
    """Runs the command as one rank; returns (its peak resident set in bytes, its output)."""
    r, peak = measured(1, args, cwd, env)
    check(r.rc == 0, f"{args}: {r}")
    return peak, r.out


def ranks_in(folder):
    """The ranks that run in a folder, as folders of /proc: processes of this program, but for the parents of others, which only
    wait for these (ranks/run/shelter.h)."""
    found = {}
    for path in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(f"{path}/cwd") == folder and os.readlink(f"{path}/exe") == os.path.realpath(HAUL):
                with open(f"{path}/stat", encoding="utf-8", errors="replace") as f:
                    found[path] = f"/proc/{f.read().rpartition(')')[2].split()[1]}"
    return [path for path in found if path not in found.values()]


def signal_ranks(paths, number):
    """Sends a signal to processes, folders of /proc."""
    for path in paths:
        with contextlib.suppress(ProcessLookupError):  # mpiexec kills those that are left
            os.kill(int(os.path.basename(path)), number)


def runs(path):
    """Whether a process, a folder of /proc, has not ended."""
    with contextlib.suppress(OSError), open(f"{path}/stat", encoding="utf-8", errors="replace") as f:
        return f.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


def proxies_of(process):
    """What mpiexec has started on each node to start ranks. When one rank ends, it ends the others, which then wake, and publish."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as f:
            for pid in f.read().split():
                with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                    if name.read().startswith("hydra_pmi_proxy"):
                        yield f"/proc/{pid}"


def kill_run(process, folder):
    """Kills all ranks that run in a folder, and the mpiexec that was started in a session of its own."""
    proxies = list(proxies_of(process))
    signal_ranks(proxies, signal.SIGSTOP)  # so that none of the ranks has time to speak for the others
    paths = ranks_in(folder)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        signal_ranks(paths, number)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    signal_ranks(proxies, signal.SIGKILL)
    process.communicate()
    until = time.monotonic() + HANGS_S
    while any(map(runs, paths)) and time.monotonic() < until:  # a busy machine takes its time to end them
        time.sleep(0.01)


def with_transport(store):
    """The store with the transport that the test runs with, if the store is behind HTTP and names none itself."""
    uri = store.get("uri", "")
    behind_http = any(str(u).startswith(("s3:", "gs:", "az:")) for u in (uri if isinstance(uri, list) else [uri]))
    return {"transport": TRANSPORT, **store} if TRANSPORT and behind_http else store


def is_part(name):
    """Whether a file has the name of a version that haul has not published (core/part.h)."""
    return re.search(r"\.haul-[0-9a-f]{8}$", name) is not None


def parts_beside(path):
    """Files that publications of a results file make, or the lock of it, that were left."""
    return [n for mark in ("part-*", "base-*", "owner") for n in glob.glob(f"{glob.escape(path)}.{mark}")]


def write_job(folder, job, name="job.json"):
    path = os.path.join(folder, name)
    if isinstance(job.get("stores"), dict):
        job = {**job, "stores": {k: with_transport(store) for k, store in job["stores"].items()}}
    with open(path, "w") as f:
        json.dump(job, f, indent=1)
    return path


def report(path):
    r = alone("report", "--json", path)
    check(r.rc == 0, f"report --json: {r}")
    return json.loads(r.out)


def formats():
    """The formats of data sets, as the program lists them."""
    r = alone("schema")
    check(r.rc == 0, f"{r}")
    return json.loads(r.out)["properties"]["dataset"]["properties"]["format"]["enum"]


def samples_per_file(fmt, wanted, sample_bytes):
    """wanted, or 1 if haul refuses to put this number of samples into a file of the format."""
    with Folder() as folder:
        write_job(folder, {"stores": {"s": {"uri": f"file://{folder}"}}, "phases": [{"generate": {}}],
                           "dataset": {"format": fmt, "files": 1, "samples_per_file": wanted, "sample_bytes": sample_bytes}})
        return wanted if alone("plan", "job.json", cwd=folder).rc == 0 else 1


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def near(value, wanted, within, what):
    check(value is not None and abs(value - wanted) <= within, f"{what}: {value}, wanted {wanted} within {within}")


def machine_took_s(folder, phase):
    """The seconds that other work on the machine may have added to a phase: ready threads without a core, and sleepers
    that were woken late. For a phase that does not count them, those of the whole run. Tests labelled timing allow for
    them, so that other work on the machine does not make a test fail."""
    m = phase["measures"]
    if "runnable_ns" in m:
        return (m["runnable_ns"] + m["oversleep_ns"]) / 1e9
    import h5py
    with h5py.File(os.path.join(folder, "results.h5")) as f:
        return float(f["ranks"]["runnable_ns"].sum()) / 1e9


def mix64(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & (1 << 64) - 1
    return x ^ x >> 31


class Folder:
    """A temporary folder, below parent if it is given (a mounted tmpfs, for example)."""

    def __init__(self, parent=None):
        self.path = tempfile.mkdtemp(prefix="haul-test-", dir=parent)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Tmpfs:
    """A file system of that size, in memory; None where this user cannot mount one."""

    def __init__(self, size, ro=False):
        self.path = tempfile.mkdtemp(prefix="haul-tmpfs-")
        self.ok = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.path],
                                 capture_output=True).returncode == 0

    def __enter__(self):
        if not self.ok:
            print("      this test cannot mount a tmpfs, which needs root")
            check(os.geteuid() != 0, "root cannot mount a tmpfs")
        return self.path if self.ok else None

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], capture_output=True)
        os.rmdir(self.path)


class Kept:
    """Keeps the files below a folder in the page cache, from which the kernel may otherwise take pages at any time. Its value
    is True where all pages stay, and False where the machine does not let this user lock as much memory."""

    def __init__(self, folder):
        self.files = [path for path in glob.glob(f"{folder}/**", recursive=True) if os.path.isfile(path)]
        self.maps = []

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        for path in self.files:
            with open(path, "r+b") as f:
                self.maps.append(mmap.mmap(f.fileno(), 0))
            first = ctypes.addressof(ctypes.c_char.from_buffer(self.maps[-1]))
            if libc.mlock(ctypes.c_void_p(first), ctypes.c_size_t(len(self.maps[-1]))) != 0:
                return False
        return len(self.maps) > 0

    def __exit__(self, *_):
        for each in self.maps:
            each.close()


def all_cached(share, kept):
    """The kernel may take pages of the page cache at any time, unless they are kept. It counts them without a lock, so it may
    overlook one that it moves at that moment: once 1 of 2,088 pages that were locked into memory."""
    return (0.99 if kept else 0.9) < share <= 1


def mark(test):
    """Marks are for cmake/HaulTest.cmake, which reads them from the script. A function with @timing compares figures with
    the clock and runs alone. One with @long does not run for every change, but only in the long tests. One with @matrix
    runs with all its cases in the long tests (FULL), and with some of them for every change."""
    return test


timing = long = matrix = mark


def some(cases, every):
    """The first case of a matrix and each n-th after it, where n is every; under FULL all cases."""
    return cases if FULL else cases[::every]


def pauses(*lengths):
    """Of a test in which something is written behind what else happens, and must be there after a while: its last argument is
    that time, and it passes with one of these. How long it must be depends on what else the machine and its disk do, which
    is never known; what else is wrong fails with all of them."""
    def patient(test):
        @functools.wraps(test)
        def patient_test(*arguments):
            for length in lengths[:-1]:
                try:
                    return test(*arguments, length)
                except Exception as e:  # whatever it is, a longer pause shows whether it was that
                    print(f"with {length}: {type(e).__name__} {str(e)[:500]}", flush=True)
            return test(*arguments, lengths[-1])
        return patient_test
    return patient


def processors_s():
    """Processor seconds of this process and of the children that it has waited for."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                 resource.RUSAGE_CHILDREN)))


def tests_of_script():
    """The functions test_… of the script, in their order."""
    return {name: value for name, value in vars(sys.modules["__main__"]).items()
            if name.startswith("test_") and callable(value)}


def run_tests(tests, *arguments):
    failed = 0
    for name, test in tests.items():
        began, used = time.monotonic(), processors_s()
        random.seed(f"{SEED} {name}")
        try:
            test(*arguments)
        except Exception as e:  # whatever it is, the other tests run
            failed += 1
            said = str(e) if isinstance(e, AssertionError) else traceback.format_exc()
            print(f"FAIL  {name}: {said}\n      HAUL_TEST_SEED={SEED} draws the same again", flush=True)
        else:
            print(f"ok    {name} ({time.monotonic() - began:.1f} s, {processors_s() - used:.1f} s of processors)", flush=True)
    return failed


def names_in(folder):
    """The names in a folder, sorted, without haul's record that it made the folder. None where the folder went with what was in it."""
    return sorted(name for name in os.listdir(folder) if name != ".haul-made") if os.path.exists(folder) else []


def main(server=None):
    """Runs the tests named on the command line, or all. server: makes the object that each test gets as its argument."""
    tests = tests_of_script()
    wanted = sys.argv[1:] or list(tests)
    unknown = [name for name in wanted if name not in tests]
    if unknown or not wanted:
        sys.exit(f"no such test: {unknown}; there are {list(tests)}")
    tests = {name: tests[name] for name in wanted}
    if server is None:
        sys.exit(run_tests(tests) > 0)
    with server() as one:
        failed = run_tests(tests, one)
    sys.exit(failed > 0)
