# SPDX-License-Identifier: Apache-2.0
"""Reading ranks (train.readers): strace shows which ranks read which files, the results show what the others receive, and the
plan has predicted both. 8 ranks are 2 replicas of tensor 2 x pipeline 2, or one replica on several nodes."""
import glob
import os
import re
import subprocess

import h5py
from haultest import *

RANKS, FILES, SIZE, BATCH, EPOCHS = 8, 72, 20000, 2, 2


def job(folder, readers, tensor, pipeline, **train):
    return {
        "name": "readers", "seed": 3, "cluster": {"tensor": tensor, "pipeline": pipeline},
        "stores": {"data": {"uri": f"file://{folder}/data", "engine": "psync"}},
        "dataset": {"store": "data", "format": "raw", "files": FILES, "sample_bytes": SIZE},
        "phases": [{"generate": {}},
                   {"train": {"epochs": EPOCHS, "batch": BATCH, "readers": readers, "verify": "full", "null_steps": 0,
                              "loader": {"workers": 0}, **train}}],
    }


def traced(folder, *more):
    """Runs under strace; returns, for each rank, the files that it opened, in order, and the bytes that it read of them."""
    inner = " ".join([HAUL, "run", "job.json", "--skip", "generate", "--force", *map(str, more)])
    shell = f"exec strace -ff -y -ttt -e trace=openat,read,pread64,preadv,preadv2 -o trace.$PMI_RANK {inner}"
    for name in glob.glob(f"{folder}/trace.*"):
        os.unlink(name)
    r = subprocess.run([MPIEXEC, "-n", str(RANKS), "sh", "-c", shell], cwd=folder, capture_output=True, text=True,
                       timeout=HANGS_S, env=environment())
    check(r.returncode == 0, f"{r.stdout} {r.stderr}")
    opened, read = [[] for _ in range(RANKS)], [0] * RANKS
    for name in glob.glob(f"{folder}/trace.*"):
        rank = int(name.split(".")[-2])
        with open(name, errors="replace") as f:
            for line in f:
                m = re.match(r"[\d.]+ openat\(.*/data/[^\"]*?(\d+)_of_\d+\.raw\", O_RDONLY", line)
                if m:
                    opened[rank].append(int(m.group(1)))
                m = re.match(r"[\d.]+ p?read\w*\(\d+<[^>]*/data/[^>]*\.raw>.* = (\d+)$", line)
                if m:
                    read[rank] += int(m.group(1))
    return opened, read


def rank_rows(folder):
    with h5py.File(f"{folder}/results.h5") as f:
        phase = next(f[f"phases/{name}"] for name in f["phases"] if name.endswith("_train"))
        return {name: list(map(int, phase["ranks"][name]))
                for name in ("samples", "bytes_read", "received_samples", "received_bytes", "steps")}


def planned(folder):
    r = alone("plan", "job.json", "--ranks-per-node", RANKS, "--json", cwd=folder)
    check(r.rc == 0, f"{r}")
    return next(p for p in json.loads(r.out)["phases"] if p["kind"] == "train")


@matrix
def test_two_replicas():
    """Ranks 0 to 3 and 4 to 7 are replicas, and the first two ranks of each are its first pipeline stage."""
    cases = {  # readers: the ranks that read, the ranks that receive batches, batches per step
        "all": (set(range(8)), set(), 8),
        "replica": ({0, 4}, {1, 2, 3, 5, 6, 7}, 2),
        "tensor": ({0, 1, 4, 5}, set(), 2),
    }
    with Folder() as folder:
        write_job(folder, job(folder, "all", 2, 2))
        r = mpi(RANKS, "generate", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        for readers, (reading, receiving, batches) in cases.items() if FULL else [("replica", cases["replica"])]:
            write_job(folder, job(folder, readers, 2, 2))
            opened, read = traced(folder)
            steps = FILES // (BATCH * batches)
            each = EPOCHS * steps * BATCH
            wanted = [each * SIZE if r in reading else 0 for r in range(RANKS)]
            check(read == wanted, f"{readers}: bytes by strace {read}, wanted {wanted}")
            rows = rank_rows(folder)
            check(rows["bytes_read"] == wanted, f"{readers}: {rows}")
            check(rows["samples"] == [w // SIZE for w in wanted], f"{readers}: {rows}")
            check(rows["received_bytes"] == [each * SIZE * (r in receiving) for r in range(RANKS)], f"{readers}: {rows}")
            check(rows["steps"] == [EPOCHS * steps] * RANKS, f"{readers}: {rows}")
            plan = planned(folder)
            check(plan["bytes"] == sum(wanted) and plan["bytes_per_rank"] == each * SIZE, f"{readers}: {plan}")
            if readers != "all":
                table = plan["tables"]["ranks"]
                check(table["columns"][:2] == ["reads", "receives"], f"{readers}: {table}")
                check([row[:2] for row in table["rows"]] ==
                      [[wanted[r], each * SIZE * (r in receiving)] for r in range(RANKS)], f"{readers}: {table}")
            check(plan["steps_per_epoch"] == steps and plan["global_batch"] == BATCH * batches, f"{readers}: {plan}")
            for first, second in ((0, 1), (4, 5)):
                same = readers == "tensor"
                check((opened[first] == opened[second]) == same, f"{readers}: ranks {first}, {second}: {opened}")
            epoch = steps * BATCH
            for e in range(EPOCHS):
                once = [f for r in reading for f in opened[r][e * epoch:(e + 1) * epoch]]
                times = 2 if readers == "tensor" else 1
                check({once.count(f) for f in once} == {times} and len(set(once)) == steps * BATCH * batches,
                      f"{readers}, epoch {e}: {sorted(once)}")
            phase = report(f"{folder}/results.h5")["phases"][0]
            check(phase["status"] == "done", f"{readers}: {phase}")
            said = {"all": "each exactly once", "replica": "read by 2 of 8 ranks, which handed",
                    "tensor": "read by 4 of 8 ranks, every 2 of them the same"}[readers]
            check(said in phase["said"], f"{readers}: {phase['said']}")


@matrix
def test_a_replica_on_several_nodes():
    """Batches are passed by messages between nodes, and by shared memory within a node."""
    with Folder() as folder:
        for nodes, tensor, pipeline, sync in some(((2, 2, 4, "step"), (4, 2, 4, "epoch"), (8, 1, 8, "none"), (4, 2, 2, "step")), 2):
            write_job(folder, job(folder, "replica", tensor, pipeline, sync=sync, buffers="64 KiB", compute="1 ms"))
            r = mpi(RANKS, "run", "job.json", "--fake-nodes", nodes, "--force", cwd=folder)
            case = f"{nodes} nodes, {tensor} x {pipeline}, sync {sync}"
            check(r.rc == 0, f"{case}: {r}")
            replica = tensor * pipeline
            each = EPOCHS * (FILES // (BATCH * RANKS // replica)) * BATCH
            rows = rank_rows(folder)
            check(rows["bytes_read"] == [each * SIZE * (r % replica == 0) for r in range(RANKS)], f"{case}: {rows}")
            check(rows["received_bytes"] == [each * SIZE * (r % replica > 0) for r in range(RANKS)], f"{case}: {rows}")


def test_refusals():
    with Folder() as folder:
        j = job(folder, "replica", 4, 1)
        j["cluster"]["gpus"] = 4
        write_job(folder, j)
        r = alone("plan", "job.json", "--ranks-per-node", 6, "--nodes", 2, cwd=folder)
        check(r.rc == 2 and "straddle two nodes" in r.err, f"{r}")
        r = alone("plan", "job.json", "--ranks-per-node", 4, "--nodes", 2, cwd=folder)
        check(r.rc == 0, f"{r}")
        r = mpi(8, "run", "job.json", "--fake-nodes", 4, cwd=folder)
        check(r.rc == 1 and "tensor group 0 are on different nodes" in r.err, f"{r}")


main()
