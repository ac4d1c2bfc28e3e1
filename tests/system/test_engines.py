# SPDX-License-Identifier: Apache-2.0
"""Engines of file://: each trains on the same data, the results contain the settings in effect, and strace sees the system
calls of that engine."""
import os
import re
import subprocess

import h5py

from haultest import *

FILES, RANKS = 24, 2


def job(scheme="file", **store):
    data = {"uri": scheme + "://${HAUL_TEST_FOLDER}/data", **store}
    return {
        "name": "engines", "seed": 5, "stores": {"data": data},
        "dataset": {"store": "data", "format": "npz", "files": FILES, "sample_bytes": 700001},
        "phases": [{"generate": {}},
                   {"train": {"epochs": 1, "batch": 2, "null_steps": 0, "verify": "full", "loader": {"workers": 2}}}],
    }


def at(folder):
    return {"HAUL_TEST_FOLDER": folder}


def direct_works(folder):
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_DIRECT)
    except OSError:
        return False
    os.close(fd)
    return True


@matrix
def test_each_engine_trains():
    """One engine makes the data set, another reads it, and every byte is verified."""
    with Folder(os.getcwd()) as folder:
        cases = [("file", {}), ("file", {"engine": "uring"}), ("file", {"engine": "mmap", "fadvise": "sequential"}),
                 ("file", {"preallocate": True, "readahead": "1 MiB"})]
        if direct_works(folder):
            cases += [("file", {"direct": True}), ("direct", {}), ("direct", {"engine": "psync"})]
        for i, (scheme, store) in enumerate(some(cases, 2)):
            write_job(folder, job(scheme, **store))
            env = at(folder)
            check(mpi(RANKS, "generate", "job.json", cwd=folder, env=env).rc == 0, f"{scheme} {store}: generate")
            r = mpi(RANKS, "run", "job.json", "--only", "train", "--results", f"{i}.h5", cwd=folder, env=env)
            check(r.rc == 0, f"{scheme} {store}: {r}")
            whole = report(f"{folder}/{i}.h5")
            check(whole["phases"][0]["epochs"][0]["samples"] == FILES, f"{scheme} {store}: samples")
            check(whole["phases"][0]["errors"] == 0, f"{scheme} {store}: errors")
            row = whole["stores"][0]
            engine = store.get("engine", "uring" if scheme == "direct" else "psync")
            check(row["engine"] == engine or f"engine {engine} does not work" in row["note"], f"{scheme} {store}: {row}")
            check(row["direct"] == (scheme == "direct" or "direct" in store), f"{scheme} {store}: {row}")
            check(row["copies_read"] == (1 if row["engine"] == "mmap" else 0) and row["copies_streamed"] == 0, f"{row}")
            # The results contain the URI as the job writes it, without the value of the variable.
            check(row["uri"] == scheme + "://${HAUL_TEST_FOLDER}/data" and row["nodes"] == 1, f"{row}")
            # Every second case makes new data, so that another engine reads the data of each engine.
            if i % 2:
                check(mpi(RANKS, "clean", "job.json", cwd=folder, env=env).rc == 0, "clean")


def test_refused_in_a_sentence():
    with Folder() as folder:
        for store, sentence in (({"engine": "mmap", "direct": True}, "mmap reads through the page cache"),
                                ({"direct": True, "fadvise": "random"}, "speaks of the page cache")):
            write_job(folder, job(**store))
            r = mpi(1, "run", "job.json", cwd=folder, env=at(folder))
            check(r.rc == 2 and sentence in r.err, f"{r}")
            check(not os.path.exists(f"{folder}/data"), "haul wrote files")


def test_missing_striping_is_reported():
    """On a file system without striping the run goes on, and the results and the report say so. Nodes with the same
    result share a row."""
    with Folder() as folder:
        write_job(folder, job(layout={"stripe_count": 4, "stripe_size": "1 MiB"}))
        r = mpi(RANKS, "run", "job.json", "--fake-nodes", "2", cwd=folder, env=at(folder))
        check(r.rc == 0, f"{r}")
        with h5py.File(f"{folder}/results.h5") as f:
            rows = f["stores"][:]
            check(len(rows) == 1 and rows[0]["nodes"] == 2, f"{rows}")
            check(rows[0]["layout"].startswith(b"not applied: "), f"{rows}")
            check(rows[0]["file_system"] != b"", f"{rows}")
        said = alone("report", f"{folder}/results.h5").out
        check(said.count("store data: layout not applied: ") == 1, said)


def traced(folder, ranks, calls, env):
    args = command(ranks, "run", "job.json", "--only", "train", "--force")
    head = args.index(HAUL)
    strace = ["strace", "-ff", "-y", "-e", f"trace={calls}", "-o", os.path.join(folder, "trace")]
    r = subprocess.run(args[:head] + strace + args[head:], cwd=folder, capture_output=True, text=True, timeout=HANGS_S,
                       env=environment(env))
    check(r.returncode == 0, f"{r.stdout} {r.stderr}")
    lines = []
    for name in os.listdir(folder):
        if name.startswith("trace."):
            with open(os.path.join(folder, name), errors="replace") as f:
                lines += f.readlines()
            os.unlink(os.path.join(folder, name))
    return lines


def test_mmap_maps_and_does_not_read():
    with Folder(os.getcwd()) as folder:
        write_job(folder, job(engine="mmap"))
        check(mpi(RANKS, "generate", "job.json", cwd=folder, env=at(folder)).rc == 0, "generate")
        lines = traced(folder, RANKS, "pread64,read,mmap,munmap,openat", at(folder))
        opens = sum(bool(re.match(r"openat\(.*img.*\.npz\".*= \d+", line)) for line in lines)
        maps = sum(bool(re.match(r"mmap\(NULL, \d+, PROT_READ, MAP_SHARED, \d+<[^>]*\.npz>", line)) for line in lines)
        reads = [line for line in lines if re.match(r"p?read(64)?\(\d+<[^>]*\.npz>", line)]
        check(opens == maps == FILES, f"{opens} opens, {maps} maps")
        check(not reads, f"{reads[:3]}")


def test_one_rank_per_node_probes():
    """Opening a store probes its engine once per node, not once per rank."""
    with Folder(os.getcwd()) as folder:
        write_job(folder, job(engine="uring"))
        check(mpi(RANKS, "generate", "job.json", cwd=folder, env=at(folder)).rc == 0, "generate")
        for ranks in (1, 4):
            lines = traced(folder, ranks, "openat", at(folder))
            tried = [line for line in lines if "O_TMPFILE" in line or ".haul-probe-" in line]
            check(len(tried) == 1, f"{ranks} ranks: {tried}")


main()
