# SPDX-License-Identifier: Apache-2.0
"""A start costs little: files that a process of haul opens or looks for, and its processor time. A shared file system answers each
of those opens, once for every rank."""
import re
import resource
import subprocess
import sys

from haultest import HAUL, MPIEXEC, SANITIZED, Folder, check, main, timing, write_job

EMPTY = sys.argv.pop(1)
# Opens that a process may have; those of MPI's own start and end do not count.
VERSION_OPENS, FIRST_RANK_OPENS, OTHER_RANK_OPENS = 60, 200, 100
VERSION_S, TIMES = 0.02, 10
VERBS = [("version",), ("help",), ("schema",), ("catalog",)]
# What only some runs need: nothing of it may come with a verb that does not use it.
SELDOM = r"/lib(hdf5\w*|mpich|mpi|curl|ssl|crypto|xlsxwriter|yaml-0|expat|zstd)\.so"


def opened(trace):
    return re.findall(r'\bopen(?:at)?\(.*?"([^"]*)"', open(trace).read())


def traced(folder, *command):
    trace = f"{folder}/trace"
    subprocess.run(["strace", "-f", "-e", "trace=open,openat", "-o", trace, *command], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    return opened(trace)


def opens_of_ranks(folder, ranks, *command):
    """For each rank: what its processes open."""
    script = f'exec strace -f -e trace=open,openat -o {folder}/rank.$PMI_RANK "$@"'
    r = subprocess.run([MPIEXEC, "-n", str(ranks), "sh", "-c", script, "sh", *command], cwd=folder,
                       text=True, capture_output=True)
    check(r.returncode == 0, f"{command}: {r}")
    return [opened(f"{folder}/rank.{rank}") for rank in range(ranks)]


def test_opens_of_a_verb():
    with Folder() as folder:
        for verb in VERBS:
            found = traced(folder, HAUL, *verb)
            check(verb != ("version",) or len(found) <= VERSION_OPENS, f"{verb}: {len(found)} opens: {found}")
            needless = [path for path in found if re.search(SELDOM, path)]
            check(not needless, f"{verb} opens {needless}")


def test_opens_of_ranks():
    with Folder() as folder:
        job = write_job(folder, {
            "stores": {"data": {"uri": f"file://{folder}/data"}},
            "dataset": {"store": "data", "format": "npy", "files": 8, "sample_bytes": "64 KiB"},
            "phases": [{"generate": {}}, {"train": {"epochs": 1, "batch": 2}}]})
        own = [len(files) for files in opens_of_ranks(folder, 3, EMPTY)]
        found = opens_of_ranks(folder, 3, HAUL, "run", job)
        for rank, files in enumerate(found):
            count, most = len(files) - min(own), OTHER_RANK_OPENS if rank else FIRST_RANK_OPENS
            print(f"rank {rank}: {count} opens beside {min(own)} of MPI")
            check(count <= most, f"rank {rank}: {count} opens beside those of MPI, at most {most}: {files}")
        # Only the rank that writes the results needs HDF5.
        check(any("libhdf5" in path for path in found[0]), f"HDF5 is in a library: {found[0]}")
        for files in found[1:]:
            needless = [path for path in files if re.search(r"/lib(hdf5\w*|curl|ssl)\.so", path)]
            check(not needless, f"a rank opens {needless}")


@timing
def test_processor_time_of_version():
    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([HAUL, "version"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    took = min(once() for _ in range(TIMES))
    check(SANITIZED or took <= VERSION_S, f"haul version takes {took:.3f} s of processor")


main()
