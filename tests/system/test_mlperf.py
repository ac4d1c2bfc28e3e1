# SPDX-License-Identifier: Apache-2.0
"""Series of MLPerf, and the AU on infinite storage, each by one command: a warm-up and five runs of a training, three trials of
key-value caches, ten checkpoints written and ten read. They are scaled down, so that the verdict on their results is invalid for what
was changed, and for nothing else."""
import json
import os

from haultest import *

# What depends on how busy the machine is.
TIMED = {"training.au", "training.gap", "training.void"}  # short runs are void


def sets(*changes):
    return [word for change in changes for word in ("--set", change)]


def judged(folder, *files):
    r = alone("check", "--json", *files, cwd=folder)
    check(r.rc == 8, f"{r}")
    said = json.loads(r.out)
    return {"differences": {d["key"] for w in said["workloads"] for d in w["differences"]},
            **{state: {row["rule"] for row in said["rules"] if row["state"] == state} for state in ("held", "broken")}}


def runs(folder, file="results.h5"):
    return [(p["warmup"], p["name"]) for p in report(f"{folder}/{file}")["phases"]]


def test_training():
    small = sets("stores.data.uri=null://", "dataset.steps_per_epoch=4", "dataset.memories=0", "train.compute=5 ms", "train.null_steps=0")
    with Folder() as folder:
        r = mpi(2, "run", "mlperf", "unet3d", "b200", *small, cwd=folder)
        check(r.rc == 0, f"{r}")
        trained = [warmup for warmup, name in runs(folder) if name == "train"]
        check(trained == [True] + 5 * [False], f"{trained}")
        said = judged(folder, "results.h5")
        check(said["broken"] - TIMED == {"training.steps", "training.memory"} and said["differences"] == {"store.uri", "train.compute"}, f"{said}")
        check({"training.warmups", "training.runs", "training.finished", "training.errors"} <= said["held"], f"{said}")
        # The command line counts more, and a data set is made once, without a series.
        r = mpi(2, "run", "mlperf", "unet3d", "b200", *small, "--repeat", 2, "--results", "two.h5", cwd=folder)
        check(r.rc == 0 and [w for w, name in runs(folder, "two.h5") if name == "train"] == 2 * [False], f"{r}")
        check({"training.warmups", "training.runs"} <= judged(folder, "two.h5")["broken"], "a series of two runs")
        r = mpi(2, "generate", "mlperf_unet3d_b200", *small, "--set", "stores.data.uri=file://" + folder + "/data", "--set",
                "dataset.sample_bytes=1000", "--set", "dataset.sample_bytes_stdev=0", cwd=folder)
        check(r.rc == 0, f"{r}")
        r = mpi(2, "run", "mlperf_unet3d_b200", *small, "--only", "generate", "--results", "made.h5", cwd=folder)
        check(r.rc == 0 and runs(folder, "made.h5") == [(False, "generate")], f"{r}")


def test_caches():
    options = ("max_storage_stress", "storage_throughput", "large_model")
    small = [s for i in range(3) for s in sets(f"phases.{i}.kvcache.duration=0.1 s", f"phases.{i}.kvcache.after=0", f"phases.{i}.kvcache.model.layers=1", *(f"phases.{i}.kvcache.{k}=2" for k in ("users", "served", "threads")))]
    small += sets('phases.1.kvcache.tiers=[{"kind": "cpu", "capacity": "1 MiB"}, "cache"]')
    with Folder() as folder:
        r = mpi(1, "run", "mlperf", "kvcache", *small, *sets("stores.cache.uri=null://"), cwd=folder)
        check(r.rc == 0, f"{r}")
        check(runs(folder) == 3 * [(False, name) for name in options], f"{runs(folder)}")
        said = judged(folder, "results.h5")
        check(said["broken"] <= {"kv.void"} and "kv.trials" in said["held"], f"{said}")
        check({"kvcache.duration", "kvcache.after", "kvcache.users", "kvcache.model.layers", "store.uri"} <= said["differences"], f"{said}")


def test_checkpoints():
    model = '{"name": "llama3_8b", "vocabulary": 64, "hidden": 32, "feed_forward": 96, "layers": 4, "heads": 4, "kv_heads": 2}'
    with Folder() as folder:
        r = mpi(8, "run", "mlperf", "llama3", "8b", *sets(f"stores.checkpoints.uri=file://{folder}/c", f"checkpoint.model={model}",
                                                         "checkpoint.pause=0"), cwd=folder)
        check(r.rc == 0, f"{r}")
        p, = report(f"{folder}/results.h5")["phases"]
        check(p["errors"] == 0 and len(p["checkpoints"]) == 10, f"{p['checkpoints']}")
        check(all(row["write_ns"] > 0 and row["read_ns"] > 0 for row in p["checkpoints"]), f"{p['checkpoints']}")
        said = judged(folder, "results.h5")
        # What was made small is all that is wrong.
        check(said["broken"] <= {"checkpoint.void"} and {"checkpoint.writes", "checkpoint.reads", "checkpoint.processes"} <= said["held"], f"{said}")
        check({"checkpoint.pause", "checkpoint.model.hidden"} <= said["differences"] and
              not {"checkpoint.mesh.tensor", "store.fsync", "checkpoint.cold.drop"} & said["differences"], f"{said}")


# Batch and compute of a step, as published.
WORKLOADS = {"unet3d_a100": (7, .636), "unet3d_h100": (7, .323), "unet3d_b200": (7, .162), "resnet50_a100": (400, .435),
             "resnet50_h100": (400, .224), "cosmoflow_a100": (1, .00551), "cosmoflow_h100": (1, .0035),
             "retinanet_b200": (24, .04755), "retinanet_mi355": (36, .071325), "flux_b200": (48, 1.35), "flux_mi355": (72, 2.025),
             "dlrm_b200": (12288, .000375), "dlrm_mi355": (18432, .0005625)}


def test_infinite_storage():
    """The AU of each workload on null://. How high it is depends on the machine; a row says why it misses 99 %, or reaches it."""
    with Folder() as folder:
        r = mpi(2, "validate", "--infinite-storage", "--seconds", "0.2 s", "--json", cwd=folder)
        check(r.rc in (0, 8) and not os.listdir(folder), f"{r} {os.listdir(folder)}")
        said = json.loads(r.out)
        check(said["ranks"] == 2 and {row["workload"] for row in said["rows"]} == set(WORKLOADS), f"{said}")
        for row in said["rows"]:
            batch, compute = WORKLOADS[row["workload"]]
            near(row["batch"], batch, 1e-9, f"{row}")
            near(row["compute_s"], compute, 1e-6, f"{row}")
            check(row["cpu_per_sample_s"] > 0 and row["steps"] >= 1, f"{row}")
            reached = row["au"] is not None and row["au"] >= .99
            check(row["au"] is None or 0 < row["au"] <= 1, f"{row}")
            check((row["why"] is None) == reached, f"{row}")
        check(r.rc == (8 if any(row["why"] for row in said["rows"]) else 0), f"{r}")


main()
