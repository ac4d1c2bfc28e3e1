# SPDX-License-Identifier: Apache-2.0
"""Samples of an epoch: each one outside the tail is read exactly once, for odd numbers of ranks, batches, files and workers.
The order differs between epochs, and is the same for the same seed and any number of ranks."""
import os
import re
import subprocess

from haultest import *

GRID = [  # ranks, batch, files, samples per file, workers (or the loader), format, shuffle, sync
    (1, 1, 1, 1, 0, "raw", "none", "step"),
    (1, 3, 17, 1, 2, "npz", "each_epoch", "step"),
    (2, 3, 31, 1, 3, "npy", "each_epoch", "none"),
    (2, 5, 7, 13, 1, "raw", {"files": True, "samples": True}, "epoch"),
    (3, 2, 29, 3, 2, "npz", "each_epoch", "none"),
    (3, 7, 64, 1, 4, "npy", {"files": True}, "step"),
    (8, 3, 101, 1, 2, "npz", "each_epoch", "step"),
    (8, 1, 9, 5, 0, "npy", {"samples": True}, "none"),
    (2, 4, 11, 9, 2, "tfrecord", {"files": True}, "step"),
    (2, 3, 20, 1, 1, "png", "each_epoch", "step"),
    (2, 3, 20, 1, 1, "jpeg", "each_epoch", "none"),
    (3, 2, 13, 4, 1, "csv", "each_epoch", "step"),
    (3, 2, 13, 9, 3, "tfrecord", {"window": 20}, "step"),
    (2, 5, 40, 3, {"kind": "sample", "workers": 3}, "npz", {"window": 1000, "files": False}, "none"),
    (2, 4, 12, 9, {"kind": "stream", "workers": 2}, "tfrecord", {"window": 30}, "epoch"),
    (3, 2, 12, 7, {"kind": "stream", "workers": 0, "stream": {"interleave": 2}}, "raw", "none", "none"),
    (1, 4, 21, 1, {"kind": "sample", "workers": 3}, "npz", "each_epoch", "step"),
    (2, 5, 7, 13, {"kind": "sample", "workers": 5, "prefetch": 1}, "raw", "each_epoch", "epoch"),
    (3, 2, 29, 3, {"kind": "sample", "workers": 2, "pin_memory": True}, "tfrecord", "each_epoch", "none"),
    (8, 3, 101, 1, {"kind": "sample", "workers": 2}, "npz", "each_epoch", "step"),
    (1, 7, 40, 1, {"kind": "batch", "workers": 2}, "jpeg", "none", "none"),
    (2, 3, 31, 1, {"kind": "batch", "workers": 0, "pin_memory": True}, "npy", "each_epoch", "step"),
    (3, 4, 19, 5, {"kind": "batch", "workers": 1}, "npz", {"files": True}, "epoch"),
    (8, 5, 123, 1, {"kind": "batch", "workers": 2}, "csv", "each_epoch", "none"),
]
GRID_64 = [
    (64, 1, 130, 1, 1, "raw", "each_epoch", "step"),
    (64, 2, 260, 1, {"kind": "sample", "workers": 2}, "raw", "each_epoch", "step"),
    (64, 2, 260, 1, {"kind": "batch", "workers": 1}, "raw", "each_epoch", "step"),
]


def job(folder, batch, files, spf, workers, fmt, shuffle, sync, epochs=2):
    return {
        "name": "once", "seed": 7,
        "stores": {"data": {"uri": f"file://{folder}/data"}},
        "dataset": {"store": "data", "format": fmt, "files": files, "samples_per_file": spf,
                    "sample_bytes": 3000, "sample_bytes_stdev": 500},
        "phases": [{"generate": {}},
                   {"train": {"epochs": epochs, "batch": batch, "shuffle": shuffle, "sync": sync, "verify": "full",
                              "null_steps": 0, "loader": workers if isinstance(workers, dict) else {"workers": workers}}}],
    }


def exactly_once(grid):
    for ranks, batch, files, spf, workers, fmt, shuffle, sync in grid:
        with Folder() as folder:
            write_job(folder, job(folder, batch, files, spf, workers, fmt, shuffle, sync))
            r = mpi(ranks, "run", "job.json", cwd=folder)
            case = f"{ranks} ranks, batch {batch}, {files} x {spf}, {workers} workers, {fmt}, {shuffle}, {sync}"
            check(r.rc == 0, f"{case}: {r}")
            train = report(f"{folder}/results.h5")["phases"][1]
            total, group = files * spf, batch * ranks
            kept = total // group * group
            check(len(train["epochs"]) == 2, f"{case}: epochs {train['epochs']}")
            for epoch in train["epochs"]:
                check(epoch["samples"] == kept, f"{case}: {epoch['samples']} samples, wanted {kept}")
                if kept == total:
                    check(int(epoch["id_sum"]) == total * (total - 1) // 2, f"{case}: id_sum")
                    want = sum(mix64(i) for i in range(total)) & (1 << 64) - 1
                    check(int(epoch["id_hash"]) == want, f"{case}: id_hash")


@matrix
def test_exactly_once():
    exactly_once(some(GRID, 4))


@long
def test_exactly_once_by_64_ranks():
    exactly_once(GRID_64)


def test_other_formats():
    """The formats that are not in the grid, each in one case."""
    exactly_once((2, 3, 17, samples_per_file(fmt, 5, 3000), 2, fmt, "each_epoch", "step")
                 for fmt in formats() if fmt not in {row[5] for row in GRID})


def test_deep_batches():
    """All samples of a batch are in flight at once, with io_uring."""
    for direct in (False, True):
        with Folder() as folder:
            j = job(folder, 7, 62, 1, {"kind": "batch", "workers": 2}, "npz", "each_epoch", "step")
            j["stores"]["data"].update(engine="uring", direct=direct)
            write_job(folder, j)
            r = mpi(2, "run", "job.json", cwd=folder)
            if direct and "refuses direct I/O" in r.err:
                continue
            check(r.rc == 0, f"direct {direct}: {r}")
            train = report(f"{folder}/results.h5")["phases"][1]
            check([e["samples"] for e in train["epochs"]] == [56, 56], f"direct {direct}: {train['epochs']}")


def test_deep():
    """Several requests of a sample are in flight, with io_uring or, where that does not work, its replacement."""
    for direct in (False, True):
        with Folder() as folder:
            j = job(folder, 3, 62, 1, 2, "npz", "each_epoch", "step")
            j["stores"]["data"].update(engine="uring", direct=direct, transfer="16 KiB")
            j["dataset"].update(sample_bytes="300 KiB", sample_bytes_stdev="50 KiB")
            j["phases"][1]["train"]["loader"]["depth"] = 8
            write_job(folder, j)
            r = mpi(2, "run", "job.json", cwd=folder)
            if direct and "refuses direct I/O" in r.err:
                continue
            check(r.rc == 0, f"direct {direct}: {r}")
            train = report(f"{folder}/results.h5")["phases"][1]
            check([e["samples"] for e in train["epochs"]] == [60, 60], f"direct {direct}: {train['epochs']}")


def opened(folder, ranks, files, seed=7):
    """The order in which each rank opens the files of each epoch, by strace. A rank without workers opens them in the order
    of its steps."""
    j = job(folder, 1, files, 1, 0, "npy", "each_epoch", "step")
    j["seed"] = seed
    write_job(folder, j)
    args = command(ranks, "run", "job.json", "--only", "train", "--force")
    at = args.index(HAUL)
    for name in os.listdir(folder):
        if name.startswith("trace."):
            os.unlink(os.path.join(folder, name))
    trace = os.path.join(folder, "trace")
    strace = ["strace", "-ff", "-ttt", "-e", "trace=openat", "-o", trace]
    env = environment()
    r = subprocess.run(args[:at] + strace + args[at:], cwd=folder, capture_output=True, text=True, timeout=HANGS_S, env=env)
    check(r.returncode == 0, f"{r.stdout} {r.stderr}")
    seen = []
    for name in os.listdir(folder):
        if not name.startswith("trace."):
            continue
        with open(os.path.join(folder, name), errors="replace") as f:
            one = []
            for line in f:
                m = re.match(r"([\d.]+) openat\(.*/data/[^\"]*?(\d+)_of_\d+\.npy\"", line)
                if m:
                    one.append(int(m.group(2)))
        if one:
            seen.append(one)
    return seen


def sequence(seen, ranks, files):
    """The global order of each epoch: step s of rank r is at position s * ranks + r. Each step is a set, because it is not
    known which trace is of which rank."""
    steps = files // ranks
    check(len(seen) == ranks and all(len(s) == 2 * steps for s in seen), f"{[len(s) for s in seen]} opens per rank")
    return [[frozenset(s[e * steps + k] for s in seen) for k in range(steps)] for e in range(2)]


def test_order():
    files = 24
    with Folder() as folder:
        write_job(folder, job(folder, 1, files, 1, 0, "npy", "each_epoch", "step"))
        r = mpi(1, "generate", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        one = sequence(opened(folder, 1, files), 1, files)
        check(one[0] != one[1], "both epochs have the same order")
        for epoch in one:
            check(frozenset().union(*epoch) == frozenset(range(files)), "a sample is missing")
        for ranks in (2, 3):
            many = sequence(opened(folder, ranks, files), ranks, files)
            for e in range(2):
                flat = [next(iter(s)) for s in one[e]]
                want = [frozenset(flat[k * ranks:(k + 1) * ranks]) for k in range(files // ranks)]
                check(many[e] == want, f"the sequence of {ranks} ranks differs from that of 1 rank")


main()
