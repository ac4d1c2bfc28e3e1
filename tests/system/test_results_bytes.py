# SPDX-License-Identifier: Apache-2.0
"""The bytes of results that a plan states are those of the file that a run writes, and of what a
publication writes; what a rank takes is the same for any number of ranks."""
import json
import os
import time

import h5py

import test_figures
import test_load
from haultest import *

WITHIN = 0.05
PHASES = {
    "io": {"io": {"operation": "read", "objects": 4, "size": "1 MiB", "block": "64 KiB"}},
    "train": {"train": {"batch": 2, "epochs": 3, "compute": "20 ms"}},
    "checkpoint": {"checkpoint": {"model": {"bytes": "10 MB"}, "count": 2}}}
INDEX = {"vectors": 300, "dimension": 16, "degree": 8}
# On files, where the parts of a commit are told.
ON_FILES = {
    "train": [{"generate": {}}, PHASES["train"]],
    "checkpoint": [PHASES["checkpoint"]],
    "kvcache": [{"kvcache": {"model": "tiny-1b", "tiers": [{"store": "data"}], "users": 2,
                             "requests": 4, "duration": 2, "chunk": "256 KiB"}}],
    "load": [{"load": {"folder": "model", "chunk": "8 KiB", "buffers": "64 KiB"}}],
    "replay": [{"replay": {"trace": "trace.csv", "speed": 0}}],
    "vector": [{"vector": {"name": "build", "operation": "build", **INDEX}},
               {"vector": {"operation": "search", "count": 100, "list": 20, **INDEX}}]}
ROW = 592 * 4  # of a histogram, by rank or node


def job(*phases, **dataset):
    return {"name": "bytes", "stores": {"data": {"uri": "null://data"}},
            "dataset": {"store": "data", "format": "npz", "sample_bytes": 100000,
                        **(dataset or {"files": 384})},
            "phases": list(phases)}


def planned(folder, nodes, ranks_per_node):
    r = alone("plan", "job.json", "--nodes", nodes, "--ranks-per-node", ranks_per_node, "--json",
              cwd=folder)
    check(r.rc == 0, r)
    return json.loads(r.out)


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def compare(what, plan, size):
    print(f"      {what}: {plan} bytes planned, {size} written, {100 * (plan / size - 1):.1f} %",
          flush=True)
    check(abs(plan - size) <= WITHIN * size, f"{what}: {plan} bytes are planned, {size} are written")


def test_bytes():
    for ranks in (4, 16, 64) if FULL else (4, 16):
        for what in (*PHASES, "all"):
            with Folder() as folder:
                write_job(folder, job(*([PHASES[what]] if what in PHASES else PHASES.values())))
                plan = planned(folder, 1, ranks)
                r = mpi(ranks, "run", "job.json", cwd=folder)
                check(r.rc == 0, r)
                size = os.path.getsize(f"{folder}/results.h5")
                compare(f"{what}, {ranks} ranks", plan["results_bytes"], size)
                if what == "all":
                    rows_of_ranks(folder, plan, ranks)


@long
def test_on_files():
    for ranks in (4, 16, 64) if FULL else (4,):
        for what, phases in ON_FILES.items():
            with Folder() as folder:
                test_load.make_model(f"{folder}/data/model")
                test_figures.trace(folder)
                one = job(*phases, files=128)
                one["stores"]["data"]["uri"] = f"file://{folder}/data"
                if what != "train":
                    del one["dataset"]
                    for phase in phases:
                        next(iter(phase.values())).setdefault("store", "data")
                write_job(folder, one)
                plan = planned(folder, 1, ranks)
                r = mpi(ranks, "run", "job.json", cwd=folder)
                check(r.rc == 0, r)
                size = os.path.getsize(f"{folder}/results.h5")
                compare(f"{what} on files, {ranks} ranks", plan["results_bytes"], size)
                rows_of_ranks(folder, plan, ranks)


def rows_of_ranks(folder, plan, ranks):
    """Each byte that a rank takes of a phase is in a data set that has rows of ranks."""
    with h5py.File(f"{folder}/results.h5") as f:
        for phase, name in zip(plan["phases"], sorted(f["phases"])):
            group, taken = f["phases"][name], phase["results"]["bytes_per_rank"]
            rows = [group["ranks"]] + ([group["epoch_ranks"]] if "epoch_ranks" in group else [])
            rows += [h["by_rank"] for h in group["histograms"].values() if "by_rank" in h]
            size = sum(r.id.get_storage_size() for r in rows)
            check(size == ranks * taken, f"{name}: {size} bytes, {taken} a rank")


@long
def test_publication():
    """While a phase runs, and when it has ended."""
    with Folder(MEMORY) as folder:
        lasting = {"io": {**PHASES["io"]["io"], "passes": 0, "seconds": 6}}
        write_job(folder, job(PHASES["train"], lasting))
        plan = planned(folder, 1, 4)
        path, sizes = f"{folder}/results.h5", []
        process = start(4, "run", "job.json", "--publish-every", "1 s", cwd=folder)
        while process.poll() is None:
            time.sleep(0.05)
            try:
                with h5py.File(path) as f:
                    size = f.id.get_filesize()
                    last = f["phases"].get("1_io")
                    if last is not None and text(last.attrs["status"]) == "running":
                        sizes.append(size)
            except (OSError, KeyError):
                pass
        check(process.returncode == 0 and sizes, f"exit {process.returncode}, seen {len(sizes)} times")
        compare("a publication", plan["publication_bytes"], max(sizes))
        compare("the last one", plan["results_bytes"], os.path.getsize(path))


def test_at_scale():
    with Folder() as folder:
        write_job(folder, job(*PHASES.values(), steps_per_epoch=10))
        few = planned(folder, 1, 4)
        plans = {nodes: planned(folder, nodes, 4) for nodes in (512, 2000, 6000, 10000)}
        for nodes, plan in plans.items():
            check(plan["publication_bytes"] == plan["results_bytes"], plan)
            for one, small in zip(plan["phases"], few["phases"]):
                taken, by_rank = one["results"], small["results"]["bytes_per_rank"]
                check(taken["bytes_per_rank"] == by_rank - ROW, f"{nodes} nodes: {one}")
                check(taken["bytes_per_node"] >= ROW, f"{nodes} nodes: {one}")
        sizes = [plans[nodes]["results_bytes"] for nodes in (2000, 6000, 10000)]
        check(sizes[2] - sizes[1] == sizes[1] - sizes[0], f"it does not grow evenly: {sizes}")
        line = alone("plan", "job.json", "--nodes", 10000, "--ranks-per-node", 4, cwd=folder).out
        check("\nresults    about " in line and "each publication writes up to" in line, line)


main()
