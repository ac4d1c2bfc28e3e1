# SPDX-License-Identifier: Apache-2.0
"""Every node proves that a store is on the file system that the job means (`on`), before the first byte."""
import os
import tempfile

from haultest import Folder, alone, check, main, mpi, write_job


def job(folder, on):
    return write_job(folder, {"stores": {"d": {"uri": f"file://{folder}/nodes/{{node}}/data", "on": on}},
                              "phases": [{"io": {"operation": "write", "store": "d", "objects": 1, "size": "64 KiB"}}]})


def kind(path):
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        rows = [line.split() for line in f]
    found = max((row for row in rows if (os.path.realpath(path) + "/").startswith(row[4].rstrip("/") + "/")), key=lambda row: len(row[4]))
    return found[found.index("-") + 1], found[4]


def test_planted():
    """Of four nodes, one has a folder of its own where the others have the mount: it is found before anything is written."""
    with Folder() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as mounted:
        os.mkdir(f"{folder}/nodes")
        for node in range(4):
            os.mkdir(f"{mounted}/{node}")
            os.symlink(f"{mounted}/{node}", f"{folder}/nodes/{node}")
        for on in ("tmpfs", "/dev/shm"):
            job(folder, on)
            r = mpi(4, "run", "job.json", "--fake-nodes", 4, "--force", cwd=folder)
            check(r.rc == 0, f"{on}: {r}")
        os.remove(f"{folder}/nodes/2")
        os.mkdir(f"{folder}/nodes/2")
        own, point = kind(f"{folder}/nodes/2")
        for verb in ("run", "generate"):
            before = os.path.getmtime(f"{folder}/results.h5")
            if verb == "generate":
                write_job(folder, {"stores": {"d": {"uri": f"file://{folder}/nodes/{{node}}/data", "on": "tmpfs"}},
                                   "dataset": {"store": "d", "format": "raw", "files": 4, "sample_bytes": "4 KiB"},
                                   "phases": [{"generate": {}}]})
            else:
                job(folder, "tmpfs")
            r = mpi(4, verb, "job.json", "--fake-nodes", 4, *(["--force"] if verb == "run" else []), cwd=folder)
            check(r.rc == 1 and "rank 2 on " in r.err and "/stores/d/on: " in r.err, f"{r}")
            check(f"is on {own}, mounted at {point}, and the job wants it on tmpfs" in r.err, f"{r}")
            check(os.listdir(f"{folder}/nodes/2") == [], "something was written")
            check(os.path.getmtime(f"{folder}/results.h5") == before, "the older results are gone")


def test_all_wrong():
    """Where all nodes are wrong, the number says so."""
    with Folder() as folder:
        for on in ("lustre", "dfuse", "/none", "tmpf"):
            job(folder, on)
            r = mpi(2, "run", "job.json", "--fake-nodes", 2, cwd=folder)
            check(r.rc == 1 and "2 of 2 nodes, for one: " in r.err and f"wants it on {on}" in r.err, f"{r}")
            check(not os.path.exists(f"{folder}/results.h5") and not os.path.exists(f"{folder}/nodes"), "something was written")


def test_launcher():
    """A launcher of another MPI: each rank is alone, and says so before it touches the results of the others."""
    with Folder() as folder:
        job(folder, "")
        for name in ("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"):
            r = alone("run", "job.json", cwd=folder, env={**os.environ, name: "4"})
            check(r.rc == 2 and f"has started 4 ranks ({name}), but MPI sees 1" in r.err, f"{r}")
            check(not os.path.exists(f"{folder}/results.h5"), "results are there")
        r = alone("run", "job.json", cwd=folder, env={**os.environ, "OMPI_COMM_WORLD_SIZE": "1"})
        check(r.rc == 0, f"{r}")


main()
