# SPDX-License-Identifier: Apache-2.0
"""Phases of every kind on daos:// over the test library (tests/libs/dfs), which completes requests in any order and cuts reads
at its chunks: all bytes are compared, nothing is opened and not closed, and haul clean leaves nothing.

test_daos_kinds.py LIBRARY"""
import os
import sys

import vector_modes
from haultest import Folder, alone, check, main, matrix, mpi, pauses, report, write_job

LIBRARY = sys.argv.pop(1)
RANKS = 4
MODEL = {"vocabulary": 64, "hidden": 32, "feed_forward": 96, "layers": 2, "heads": 4, "kv_heads": 4}
MESH = {"tensor": 2, "zero": 1}
CACHED = {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}
INDEX = {"vectors": 2000, "segments": 2, "dimension": 64, "degree": 16}


def environment(folder):
    return {"HAUL_DFS_ROOT": folder, "HAUL_DFS_LOG": os.path.join(folder, "log"), "HAUL_DFS_DISORDER": "1",
            "HAUL_DFS_CHUNK": "30000"}


def works(folder, job, ranks=RANKS):
    """Runs the job, and returns what its phases measured, by their names, once haul clean has removed what they left."""
    return {p["name"]: p["measures"] for p in reported(folder, job, ranks)}


def reported(folder, job, ranks):
    os.makedirs(os.path.join(folder, "pool", "cont"), exist_ok=True)
    write_job(folder, {"stores": {"data": {"uri": "daos://pool/cont/data", "library": LIBRARY, "transfer": "64 KiB"}}, **job})
    r = mpi(ranks, "run", "job.json", cwd=folder, env=environment(folder))
    check(r.rc == 0, f"{r}")
    phases = report(f"{folder}/results.h5")["phases"]
    check(all(p["errors"] == 0 and p["measures"].get("payload_errors", 0) == 0 for p in phases), f"{phases}")
    r = alone("clean", "job.json", cwd=folder, env=environment(folder))
    check(r.rc == 0, f"{r}")
    left = [name for _, _, names in os.walk(os.path.join(folder, "pool", "cont")) for name in names]
    check(not left, f"{left}")
    with open(os.path.join(folder, "log")) as f:
        wrong = [line for line in f if line.startswith("wrong")]
    check(not wrong, f"{wrong[:5]}")
    return phases


def train(name, **more):
    return {"train": {"name": name, "dataset": "train", "batch": 2, "verify": "full", "null_steps": 0, **more}}


def checkpoint(name, layout, **more):
    return {"checkpoint": {"name": name, "folder": name, "layout": layout, "model": MODEL, "mesh": MESH, "count": 2, "chunk": "64 KiB",
                           "buffers": "1 MiB", "verify": "full", "null_passes": 0, **more}}


@pauses(4, 40, 160)
def test_assess(budget):
    """What it is good for: all ceilings have a figure, and nothing is left."""
    with Folder() as folder:
        os.makedirs(os.path.join(folder, "pool", "cont"))
        r = mpi(2, "assess", "daos://pool/cont/data", "--set", f"library={LIBRARY}", "--force", "--budget", f"{budget} s", "--space", "32 MiB", cwd=folder,
                env=environment(folder))
        check(r.rc == 0, f"{r}")
        a = report(f"{folder}/results.h5")["assess"]
        check(a["end"] == "found" and all(row["value"] and row["value"] > 0 for row in a["ceilings"]), f"{a['ceilings']}")
        left = [name for _, _, names in os.walk(os.path.join(folder, "pool", "cont")) for name in names]
        check(not left, f"{left}")


def test_training():
    """Evaluations, readers that read for others, checkpoints beside the steps, streams, and a training beside others."""
    saved = {"every_steps": 2, "model": MODEL, "framing": "raw", "keep": 1, "chunk": "64 KiB", "buffers": "1 MiB"}
    small = {"store": "data", "format": "npz", "files": 16, "sample_bytes": 20000}
    with Folder() as folder:
        phases = works(folder, {"cluster": {"tensor": 2}, "datasets": {
            "train": {**small, "folder": "t"}, "valid": {**small, "files": 8, "folder": "v"},
            "stream": {**small, "format": "tfrecord", "samples_per_file": 4, "folder": "s"}}, "phases": [
            *[{"generate": {"dataset": name, "name": f"make_{name}"}} for name in ("train", "valid", "stream")],
            train("evaluated", epochs=2, evaluation={"every": 1, "dataset": "valid", "batch": 1}),
            train("tensor", readers="tensor"),
            train("copied", readers="replica", checkpoint={**saved, "folder": "copied", "async": "copy"}),
            train("held", readers="replica", checkpoint={**saved, "folder": "held", "async": "hold", "layout": "shared"}),
            {"train": {"name": "streamed", "dataset": "stream", "batch": 2, "verify": "full", "null_steps": 0,
                       "loader": {"kind": "stream", "workers": 1}}},
            {"together": [train("beside", ranks="0-1"), {"io": {
                "name": "writer", "ranks": "2-3", "operation": "write", "folder": "o", "objects": 2, "size": "256 KiB", "block": "64 KiB"}}],
             "until": "all"},
            {"io": {"name": "gone", "operation": "create", "folder": "e", "objects": 2}},
            {"io": {"name": "delete", "operation": "delete", "folder": "e", "objects": 2}}]})
        check(phases["evaluated"]["samples"] == 2 * (16 + 8) and phases["streamed"]["samples"] == 64, f"{phases}")
        check(phases["writer"]["bytes_written"] == 2 * 2 * (256 << 10), f"{phases['writer']}")


def test_checkpoints():
    """Every layout, and a checkpoint that other numbers of ranks read."""
    with Folder() as folder:
        phases = works(folder, {"cluster": {"tensor": 2}, "phases": [
            checkpoint("rank", "rank"), checkpoint("layer", "layer", framing="safetensors"),
            checkpoint("shared", "shared", framing="raw"), checkpoint("distributed", "distributed", operation="write"),
            checkpoint("reshaped", "distributed", folder="distributed", operation="read", read_mesh={"tensor": 1, "zero": 3})]})
        check(len(phases) == 5, f"{phases}")


def test_caches_and_vectors():
    """Caches with tiers, a trace, and every index of vectors."""
    rows = (("Write", 70000, 2, "a"), ("Read", 70000, 2, "a"), ("Write", 0, 1, "empty"), ("Read", 1000, 1, "made"))
    with Folder() as folder:
        with open(f"{folder}/trace.csv", "w") as f:
            print("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase", file=f)
            for operation, size, tier, key in rows:
                print(f"0.1,{operation},{size},Tier-{tier},{key},Decode", file=f)
        phases = works(folder, {"phases": [
            {"kvcache": {"model": CACHED, "users": 5, "requests": 20, "duration": "600 s", "verify": "full", "threads": 2, "depth": 4,
                         "tiers": [{"kind": "gpu", "capacity": "1 MiB"}, {"kind": "cpu", "capacity": "1 MiB"},
                                   {"store": "data", "capacity": "8 MiB"}]}},
            {"replay": {"trace": "trace.csv", "speed": 0, "verify": "full", "threads": 2, "depth": 2}},
            *[{"vector": {"name": f"{operation}_{index}", "operation": operation, "folder": index, "index": index, "verify": "full",
                          **INDEX, **({"count": 10, "threads": 2, "depth": 2} if operation == "search" else {})}}
              for index in ("diskann", "aisaq", "spann", "ivf") for operation in ("build", "search")]]})
        check(phases["kvcache"]["entry_reads"] > 0 < phases["kvcache"]["moves"], f"{phases['kvcache']}")
        check(phases["replay"]["requests"] == len(rows), f"{phases['replay']}")
        for index in ("diskann", "aisaq", "spann", "ivf"):
            m = phases[f"search_{index}"]
            check(m["queries"] == RANKS * 2 * 10 and m["reads"] > m["queries"], f"{index}: {m}")


@matrix
def test_vector_modes():
    """Loads, from one folder into another, segments that are spread, merges and HNSW."""
    for mode, ranks in vector_modes.drawn([(mode, ranks) for mode in vector_modes.MODES for ranks in (1, RANKS, 8)]):
        with Folder() as folder:
            stores = {name: {"uri": f"daos://pool/cont/{name}", "library": LIBRARY, "transfer": "64 KiB"} for name in ("data", "near")}
            phases = [vector_modes.built(mode), *vector_modes.phases(mode, "near")]
            phases = [{"vector": {"store": "data", **p["vector"]}} for p in phases]
            vector_modes.counted(mode, ranks, reported(folder, {"stores": stores, "phases": phases}, ranks))


main()
