# SPDX-License-Identifier: Apache-2.0
"""What vector search does beside a search of all segments by each rank, each as the phases of a job and what is counted of them by
hand: an index that is loaded, in slices; segments spread over the ranks; inserts and deletes that are merged; HNSW."""
import random

from haultest import FULL, check

SEGMENTS, VECTORS, DIMENSION, DEGREE = 8, 500, 64, 16
PER = 4096 // (4 * DIMENSION + 4 * (DEGREE + 1))
THREADS, COUNT, LIST = 2, 2, 10
SHAPE = {"segments": SEGMENTS, "vectors": SEGMENTS * VECTORS, "dimension": DIMENSION, "degree": DEGREE}
SLICE = 64 << 10
# One segment, a node in each sector, in slices of the default size.
LARGE_VECTORS, LARGE_SLICE = 5000, 16 << 20
LARGE = {"segments": 1, "vectors": LARGE_VECTORS, "dimension": 1000, "degree": DEGREE}
INSERTS, DELETES = 12, 8
HNSW = {**SHAPE, "index": "hnsw", "degree": 8, "list": 5}
MODES = ("load", "slices", "spread", "merge", "hnsw")


def size_of(vectors, per=PER):
    return 4096 * (1 + -(-vectors // per))


def phase(name, operation, shape, **more):
    return {"vector": {"name": name, "operation": operation, **shape, **more}}


def search(name, shape, **more):
    return phase(name, "search", {"list": LIST, **shape}, **{"verify": "full", "threads": THREADS, "count": COUNT, **more})


def built(mode):
    """The index that the mode works on."""
    shape = {"slices": LARGE, "hnsw": HNSW}.get(mode, SHAPE)
    return phase("build", "build", {k: v for k, v in shape.items() if k != "list"}, threads=2)


def phases(mode, near):
    """What is done with it. near: the store that it is loaded into."""
    spread = {**SHAPE, "spread": "segments"}
    if mode == "spread":
        return [search("search", spread)]
    if mode == "merge":
        change = {"inserts": INSERTS * 400, "deletes": DELETES * 400, "merge_at": INSERTS + DELETES, "merges": 1}
        return [search("merge", spread, count=0, rate=100, beam=2, **change), search("after", spread)]
    if mode == "hnsw":
        return [search("search", HNSW)]
    shape, slices = (LARGE, {}) if mode == "slices" else (SHAPE, {"slice": SLICE})
    return [phase("load", "load", shape, to=near, verify="full", threads=2, depth=2, **slices), search("search", shape, store=near)]


def counted(mode, ranks, done):
    """Checks what the phases of a report have measured."""
    done = {p["name"]: p for p in done}
    what = f"{mode} by {ranks} ranks"
    check(all(p["errors"] == p["measures"]["payload_errors"] == 0 and p["status"] == "done" for p in done.values()), f"{what}: {done}")
    if mode in ("spread", "merge"):
        m = done["after" if mode == "merge" else "search"]["measures"]
        check((m["queries"], m["parts"]) == (THREADS * COUNT, ranks * THREADS * COUNT), f"{what}: {m}")
    else:
        m = done["search"]["measures"]
        check(m["queries"] == ranks * THREADS * COUNT and m["reads"] == m["expanded"] >= 5 * m["queries"], f"{what}: {m}")
    if mode in ("load", "slices"):
        m = done["load"]["measures"]
        files, size, piece = (1, size_of(LARGE_VECTORS, 1), LARGE_SLICE) if mode == "slices" else (SEGMENTS, size_of(VECTORS), SLICE)
        check((m["reads"], m["loaded_bytes"]) == (files * -(-size // piece), files * size), f"{what}: {m}")
    if mode == "merge":
        m, new = done["merge"]["measures"], VECTORS + INSERTS - DELETES
        check((m["merges"], m["merges_left"], m["inserts"], m["deletes"]) == (SEGMENTS, 0, SEGMENTS * INSERTS, SEGMENTS * DELETES), f"{what}: {m}")
        check(m["merge_written_bytes"] == SEGMENTS * (size_of(VECTORS) + size_of(new)), f"{what}: {m}")


def drawn(cases):
    """All of them, or one for every change."""
    return cases if FULL else [random.choice(cases)]
