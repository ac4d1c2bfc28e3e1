# SPDX-License-Identifier: Apache-2.0
"""HNSW: the file is hnswlib's, and a search reads what hnswlib's search of the base level reads, through a mapping and by ranges;
the search here knows the file, and docs/vector-search-index.md."""
import csv
import glob
import heapq
import struct
import subprocess

import hnswlib
import numpy as np

from haultest import *

VECTORS, DIMENSION, DEGREE, LIST, SEED, QUERIES = 4000, 20, 16, 25, 11, 60
ELEMENT = 4 * (DEGREE + 1) + 4 * DIMENSION + 8
FILE = "000000_hnsw.bin"


def job(folder, *phases, **store):
    shape = {"index": "hnsw", "vectors": VECTORS, "dimension": DIMENSION, "degree": DEGREE}
    return {"name": "vectors", "seed": SEED, "stores": {"s": {"uri": f"file://{folder}/data", **store}},
            "phases": [{"vector": {**shape, **p}} for p in phases]}


def search(**more):
    return {"operation": "search", "list": LIST, "count": QUERIES, "verify": "full", **more}


def run(folder, job, ranks=1, *more):
    write_job(folder, job)
    return mpi(ranks, "run", "job.json", "--results", "results.h5", "--force", *more, cwd=folder)


def links_of(path):
    """The header as hnswlib writes it, and the links of each element."""
    data = open(path, "rb").read()
    head = struct.unpack_from("<6QiI3QdQ", data)
    wanted = (0, VECTORS, VECTORS, ELEMENT, ELEMENT - 8, 4 * (DEGREE + 1), 0)
    check(head[:7] == wanted and head[7] < VECTORS and head[8:11] == (DEGREE // 2, DEGREE, DEGREE // 2), f"{head}")
    check(len(data) == 96 + VECTORS * (ELEMENT + 4) and not any(data[96 + VECTORS * ELEMENT:]), f"{len(data)} bytes")
    links = []
    for i in range(VECTORS):
        count, *ids = struct.unpack_from(f"<{DEGREE + 1}I", data, 96 + i * ELEMENT)
        label, = struct.unpack_from("<Q", data, 96 + i * ELEMENT + ELEMENT - 8)
        check(count == DEGREE and label == i, f"element {i}: {count} links, label {label}")
        links.append(ids)
    return head[7], links


GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def random_at(key, a, b):
    x = mix64((key + GOLDEN) & MASK)
    x = mix64((x + (a + 1) * GOLDEN) & MASK)
    return mix64((x + (b + 1) * GOLDEN) & MASK)


KEY = random_at(SEED ^ 0x7365676D656E74, 0, 0)  # of the first segment


def vector_of(id):
    """The vector as a function of the seed and its number: core/content/fill.h."""
    key = mix64((mix64((KEY + GOLDEN) & MASK) + (id + 1) * GOLDEN) & MASK)
    words = [mix64((key + (i + 1) * GOLDEN) & MASK) for i in range(DIMENSION // 2)]
    return np.frombuffer(struct.pack(f"<{len(words)}Q", *words), "<f4")


def target_of(query):
    return min(int((random_at(KEY, 3, query) >> 11) * 2.0 ** -53 * VECTORS), VECTORS - 1)


def walk(middle, links, target):
    """hnswlib's search of the base level, with its two heaps: the elements that each expansion reads."""
    step = (links[middle][0] - middle) % VECTORS
    shift, back = (middle - VECTORS // 2 * step) % VECTORS, pow(step, -1, VECTORS)

    def distance(node):
        right = ((node - shift) * back - target) % VECTORS
        return min(right * 2, (VECTORS - right) * 2 + 1)

    every = DEGREE // 2
    at = (target + every // 2) // every * every
    first = ((at if at < VECTORS else 0) * step + shift) % VECTORS
    seen, rounds = {first}, [[first]]
    nearest, ahead = [(-distance(first), first)], [(distance(first), first)]
    while ahead:
        far, node = heapq.heappop(ahead)
        if far > -nearest[0][0] and len(nearest) == LIST:
            break
        new = [other for other in dict.fromkeys(links[node]) if other not in seen]
        seen.update(new)
        if new:
            rounds.append(new)
        for other in new:
            if len(nearest) < LIST or distance(other) < -nearest[0][0]:
                heapq.heappush(ahead, (distance(other), other))
                heapq.heappush(nearest, (-distance(other), other))
                if len(nearest) > LIST:
                    heapq.heappop(nearest)
    return rounds


def offsets_read(folder, phase):
    text = subprocess.run(["zstd", "-dc", *glob.glob(f"{folder}/ops*.tsv.zst")], capture_output=True, text=True).stdout
    found = csv.DictReader([line for line in text.splitlines() if line[0] != "#"], delimiter="\t")
    mine = [r for r in found if r["phase"] == phase and r["op"] == "GET"]
    check(all(int(r["bytes"]) == ELEMENT for r in mine), "a read is not one element")
    return [int(r["offset"]) for r in sorted(mine, key=lambda r: (r["start"], int(r["idx"])))]


def test_each_read():
    """Through a mapping, one by one; and by ranges, several at a time: the reads are those of the walk, and in its rounds."""
    with Folder() as folder:
        for name, store, beam in (("mapped", {"engine": "mmap"}, None), ("ranges", {"engine": "uring"}, 8)):
            phases = [{"operation": "build"}, search(name=name, **({"beam": beam} if beam else {}))]
            r = run(folder, job(folder, *phases, **store), 1, *WHOLE_LOG)
            check(r.rc == 0, f"{r}")
            rounds = [w for q in range(QUERIES) for w in walk(*links_of(f"{folder}/data/vectors/{FILE}"), target_of(q))]
            read, at = offsets_read(folder, name), 0
            for i, wanted in enumerate(rounds):
                part, places = read[at:at + len(wanted)], [96 + ELEMENT * node for node in wanted]
                check(sorted(part) == sorted(places), f"{name}, round {i}: {part}, not {places}")
                at += len(wanted)
            p = report(f"{folder}/results.h5")["phases"][1]
            m = p["measures"]
            check(at == len(read) == m["reads"] == m["expanded"] and m["rounds"] == len(rounds), f"{name}: {at} {m}")
            check(p["bytes_read"] == at * ELEMENT and p["errors"] == 0 and m["queries"] == QUERIES, f"{m}")
            check(len(rounds) > QUERIES * LIST and at > 5 * len(rounds), f"{len(rounds)} rounds, {at} reads")


def test_hnswlib_reads_it():
    """hnswlib's own library loads what was built, with the vectors that it should have, and its searches come from each vector that is
    a number to each other one. Any bytes are vectors, and some of them are not numbers, to which nothing is near: they are marked."""
    with Folder() as folder:
        check(run(folder, job(folder, {"operation": "build"})).rc == 0, "build")
        index = hnswlib.Index("l2", DIMENSION)
        index.load_index(f"{folder}/data/vectors/{FILE}")
    check((index.element_count, index.max_elements, index.dim, index.M) == (VECTORS, VECTORS, DIMENSION, DEGREE // 2),
          f"{index.element_count} of {index.max_elements}, {index.dim} {index.M}")
    check(sorted(index.get_ids_list()) == list(range(VECTORS)), "labels")
    with np.errstate(invalid="ignore"):
        found, wanted = np.array(index.get_items(range(VECTORS)), "<f4"), np.array([vector_of(id) for id in range(VECTORS)])
    check(np.array_equal(found, wanted, equal_nan=True), f"vectors {np.nonzero((found != wanted).any(1))[0][:5]}")
    numbers = np.isfinite(wanted).all(1)
    for id in np.nonzero(~numbers)[0]:
        index.mark_deleted(id)
    ids = np.nonzero(numbers)[0]
    check(len(ids) > VECTORS // 2, f"{len(ids)} vectors of numbers")
    index.set_ef(VECTORS)
    for id in (*ids[:3], *ids[-3:]):
        labels, distances = index.knn_query(wanted[id], k=len(ids))
        check(labels[0][0] == id and distances[0][0] == 0, f"{id}: {labels[0][:3]} {distances[0][:3]}")
        check(sorted(labels[0]) == list(ids), f"{id}: comes to {len(labels[0])} of {len(ids)}")


def test_changed_bytes():
    """A link that was changed is found by verify; without it the search goes where it points. One out of the file is refused."""
    with Folder() as folder:
        check(run(folder, job(folder, {"operation": "build"})).rc == 0, "build")
        path = f"{folder}/data/vectors/{FILE}"
        middle, links = links_of(path)
        node = walk(middle, links, target_of(0))[0][0]
        for id, says in (((links[node][0] + 1234) % VECTORS, None), (VECTORS, "names neighbours that are not in the index")):
            with open(path, "r+b") as f:
                f.seek(96 + node * ELEMENT + 4 * 3)
                f.write(struct.pack("<I", id))
            r = run(folder, job(folder, search(count=1), engine="mmap"))
            check(r.rc != 0 and f"payload differs at byte {96 + node * ELEMENT + 12}" in " ".join((r.err + r.out).split()), f"{r}")
            r = run(folder, job(folder, search(count=1, verify="none"), engine="mmap"), 1, *WHOLE_LOG)
            if says:
                check(r.rc != 0 and says in " ".join((r.err + r.out).split()), f"{r}")
                continue
            links[node][2] = id
            wanted = [96 + ELEMENT * n for w in walk(middle, links, target_of(0)) for n in w]
            check(r.rc == 0 and sorted(offsets_read(folder, "vector")) == sorted(wanted), f"{r}")


def test_ranks_and_refusals():
    with Folder() as folder:
        r = run(folder, job(folder, {"operation": "build", "segments": 4}, search(segments=4, threads=2, depth=2, spread="segments"), engine="uring"), 2)
        m = report(f"{folder}/results.h5")["phases"][1]["measures"]
        check(r.rc == 0 and m["queries"] == 2 * QUERIES and m["parts"] == 4 * QUERIES and m["reads"] == m["expanded"], f"{r} {m}")
        for more, says in (({"cache": "1 KiB"}, "hnsw keeps no nodes"), ({"degree": 17}, "is 2 * M of hnsw"),
                           ({"page_search": True}, "no nodes beside"), ({"probes": 3}, "hnsw has none")):
            write_job(folder, job(folder, search(**more)))
            r = alone("plan", "job.json", cwd=folder)
            check(r.rc != 0 and says in r.err, f"{r}")


if __name__ == "__main__":
    main()
