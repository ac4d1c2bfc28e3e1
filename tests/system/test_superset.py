# SPDX-License-Identifier: Apache-2.0
"""One data set for all numbers of nodes: smaller runs can use the data set of the largest one. They read each sample of its
first files once, and nothing of the other files."""
import os
import re

from haultest import *

RANKS = 8
JOB = {"name": "weak", "seed": 3, "stores": {"data": {"uri": "file:///", "engine": "psync"}},
       "dataset": {"store": "data", "format": "npz", "steps_per_epoch": 3, "sample_bytes": 20000, "sample_bytes_stdev": 9000,
                   "folder": "set", "subfolders": 3},
       "phases": [{"generate": {}},
                  {"train": {"batch": 2, "epochs": 2, "verify": "full", "null_steps": 0, "loader": {"workers": 1}}}]}


def job(folder, **dataset):
    return {**JOB, "stores": {"data": {**JOB["stores"]["data"], "uri": f"file://{folder}"}},
            "dataset": {**JOB["dataset"], **dataset}}


def files_of(folder):
    return sorted(f"{at}/{name}" for at, _, names in os.walk(f"{folder}/set") for name in names if name.endswith(".npz"))


def trained(folder, ranks):
    results = f"{folder}/n{ranks}.h5"
    r = mpi(ranks, "run", "job.json", "--skip", "generate", "--results", results, "--fake-nodes", ranks, cwd=folder)
    check(r.rc == 0, f"{ranks} ranks: {r}")
    phase = report(results)["phases"][0]
    check([e["proven"] for e in phase["epochs"]] == [1, 1], f"{ranks} ranks: {phase['epochs']}")
    check([e["samples"] for e in phase["epochs"]] == [6 * ranks] * 2, f"{ranks} ranks: {phase['epochs']}")
    return phase


def test_one_set_serves_all():
    with Folder() as folder:
        write_job(folder, job(folder))
        r = mpi(RANKS, "generate", "job.json", cwd=folder)
        check(r.rc == 0 and "made 48 files" in r.out, f"{r}")
        files = files_of(folder)
        check(len(files) == 48 and all("_of_48.npz" in f for f in files), f"{files}")
        for ranks in (1, 2, 3, 8):
            phase = trained(folder, ranks)
            # Each epoch reads the first files completely, in the order of their numbers, whatever their subfolder.
            mine = sorted(files, key=lambda f: int(re.search(r"_(\d+)_of_", f).group(1)))[:6 * ranks]
            size = 2 * sum(os.path.getsize(f) for f in mine)
            check(phase["measures"]["bytes_read"] == size, f"{ranks} ranks: {phase['measures']['bytes_read']}, the files have {size}")
        r = mpi(2, "generate", "job.json", "--results", "again.h5", cwd=folder)
        check(r.rc == 0 and "12 of 12 files were whole already; of a set of 48" in r.out, f"{r}")
        check(files_of(folder) == files, "the data set has changed")
        r = mpi(2, "clean", "job.json", cwd=folder)
        check(r.rc == 0 and "removed 48 files" in r.out and not os.path.exists(f"{folder}/set"), f"{r}")


def test_smaller_set_is_refused():
    with Folder() as folder:
        write_job(folder, job(folder))
        r = mpi(2, "generate", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        r = mpi(3, "run", "job.json", "--skip", "generate", cwd=folder)
        check(r.rc == 1 and "this data set was made with files 12, this job says 18" in r.err, f"{r}")
        r = alone("plan", "job.json", "--nodes", "5", "--json", cwd=folder)
        check(r.rc == 0 and json.loads(r.out)["dataset"]["files"] == 30, f"{r}")


main()
