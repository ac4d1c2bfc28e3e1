# SPDX-License-Identifier: Apache-2.0
"""An index of DiskANN that haul did not make: a writer and a searcher of its own here make it and say which nodes a search
reads. haul takes the shape from the header, in both forms, and refuses what is broken."""
import bisect
import csv
import glob
import os
import random
import struct
import subprocess

from haultest import *

VECTORS, DIMENSION, DEGREE, CHUNKS, LIST, SEED = 700, 12, 14, 4, 20, 11
TYPES = {"float32": ("f", 4), "uint8": ("B", 1)}


def nearest(pivots, vector, begin, end):
    return min(range(256), key=lambda k: sum((pivots[k][d] - vector[d]) ** 2 for d in range(begin, end)))


class Index:
    """Vectors, pivots, codes, and a graph: the nearest vectors and some others, of each as many as it happens to have."""

    def __init__(self):
        draw = random.Random(5)
        self.vectors = [[draw.randrange(256) for _ in range(DIMENSION)] for _ in range(VECTORS)]
        self.pivots = [[draw.randrange(256) for _ in range(DIMENSION)] for _ in range(256)]
        self.begins = [0, 3, 5, 9, 12]
        self.codes = [[nearest(self.pivots, v, a, b) for a, b in zip(self.begins, self.begins[1:])] for v in self.vectors]
        self.medoid = draw.randrange(VECTORS)
        self.graph = []
        for i, v in enumerate(self.vectors):
            near = sorted(draw.sample(range(VECTORS), 60), key=lambda j: sum((p - q) ** 2 for p, q in zip(v, self.vectors[j])))
            others = [draw.randrange(VECTORS) for _ in range(draw.randrange(6))]
            self.graph.append(list(dict.fromkeys(j for j in near[:8] + others if j != i)))

    def write(self, folder, type, form, node=None, words=None, reorder=False):
        """Writes PREFIX_disk.index and the two files of compressed vectors. words: of the header, changed."""
        letter, size = TYPES[type]
        node = node or DIMENSION * size + 4 * (DEGREE + 1)
        per = 4096 // node
        step = 4096 if per else (node + 4095) // 4096 * 4096
        nodes = bytearray()
        for i, (v, links) in enumerate(zip(self.vectors, self.graph)):
            at = i // per * 4096 + i % per * node if per else i * step
            nodes.extend(bytes(max(0, at // 4096 * 4096 + step - len(nodes))))
            struct.pack_into(f"<{DIMENSION}{letter}I{len(links)}I", nodes, at, *v, len(links), *links)
        after = b"" if not reorder else bytes(4096 * 9)
        bytes_ = 4096 + len(nodes) + len(after)
        more = [1, 1 + len(nodes) // 4096, DIMENSION, 85] if reorder else [0]
        if form == "knowhere":
            header = [bytes_, VECTORS, self.medoid, node, per or 2 ** 64 - 1, 0, 0, *more]
        else:
            header = [VECTORS, DIMENSION, self.medoid, node, per, 0, 0, *more, bytes_]
            header = [1 << 32 | len(header), *header]
        for at, word in (words or {}).items():
            header[at] = word
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/ann_disk.index", "wb") as f:
            f.write(struct.pack(f"<{len(header)}Q", *header).ljust(4096, b"\0") + nodes + after)
        table = lambda rows, columns, letter, values: struct.pack(f"<ii{rows * columns}{letter}", rows, columns, *values)
        parts = [table(256, DIMENSION, "f", sum(self.pivots, [])), table(DIMENSION, 1, "f", [0] * DIMENSION),
                 table(CHUNKS + 1, 1, "I", self.begins)]
        places = [4096]
        for part in parts:
            places.append(places[-1] + len(part))
        with open(f"{folder}/ann_pq_pivots.bin", "wb") as f:
            f.write(table(4, 1, "Q", places).ljust(4096, b"\0") + b"".join(parts))
        with open(f"{folder}/ann_pq_compressed.bin", "wb") as f:
            f.write(table(VECTORS, CHUNKS, "B", sum(self.codes, [])))
        return lambda i: 4096 * (1 + i // per) if per else 4096 + i * step

    def distances(self, target):
        """From the vector of that number, as its codes give it, to all others; in whole numbers."""
        columns = list(zip(*self.pivots))
        scale = 2 ** 31 / sum(float(max(c) - min(c)) ** 2 for c in columns)
        ranges = list(zip(self.begins, self.begins[1:]))
        tables = [[int(float(sum((self.pivots[own][d] - p[d]) ** 2 for d in range(a, b))) * scale) for p in self.pivots]
                  for own, (a, b) in zip(self.codes[target], ranges)]
        return [sum(t[c] for t, c in zip(tables, code)) for code in self.codes]

    def kept(self, count):
        line = [self.medoid]
        for node in line:
            line.extend(other for other in self.graph[node] if other not in line)
            del line[count:]
        return set(line[:count])

    def walk(self, target, beam, kept=()):
        far = self.distances(target)
        near, taken, rounds = [(far[self.medoid], self.medoid)], set(), []
        while True:
            round = [node for _, node in near if node not in taken][:beam]
            if not round:
                return [r for r in rounds if r]
            taken.update(round)
            rounds.append([node for node in round if node not in kept])
            for other in (other for node in round for other in self.graph[node]):
                if (far[other], other) not in near:
                    bisect.insort(near, (far[other], other))
            del near[LIST:]


def random_at(key, a, b):
    golden, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1
    x = mix64((key + golden) & mask)
    x = mix64((x + (a + 1) * golden) & mask)
    return mix64((x + (b + 1) * golden) & mask)


def target_of(query):
    key = random_at(SEED ^ 0x7365676D656E74, 0, 0)
    return min(int((random_at(key, 3, query) >> 11) * 2.0 ** -53 * VECTORS), VECTORS - 1)


def job(folder, **more):
    return {"name": "vectors", "seed": SEED, "stores": {"s": {"uri": f"file://{folder}/data", "engine": "uring"}},
            "phases": [{"vector": {"operation": "search", "folder": "there", "file": "ann_disk.index", "list": LIST, "count": 50,
                                   **more}}]}


def run(folder, job, ranks=1, *more):
    write_job(folder, job)
    return mpi(ranks, "run", "job.json", "--results", "results.h5", "--force", *more, cwd=folder)


def offsets_read(folder):
    text = subprocess.run(["zstd", "-dc", *glob.glob(f"{folder}/ops*.tsv.zst")], capture_output=True, text=True).stdout
    found = csv.DictReader([line for line in text.splitlines() if line[0] != "#"], delimiter="\t")
    mine = [r for r in found if r["op"] == "GET"]
    return [int(r["offset"]) for r in sorted(mine, key=lambda r: (r["start"], int(r["idx"])))]


def test_each_read():
    """Both forms of the header, short and long nodes, with and without reorder data: every read is the one of the walk."""
    index = Index()
    cases = [("knowhere", "float32", None, 1, False), ("knowhere", "uint8", None, 4, True), ("microsoft", "float32", None, 4, True),
             ("microsoft", "uint8", DIMENSION + 4 * (1 + 300), 2, False), ("knowhere", "float32", DIMENSION * 4 + 4 * 500, 1, False)]
    for i, (form, type, node, beam, reorder) in enumerate(cases):
        with Folder() as folder:
            kept = index.kept(40 * i)
            bytes_ = node or DIMENSION * TYPES[type][1] + 4 * (DEGREE + 1)
            place = index.write(f"{folder}/data/there", type, form, node, reorder=reorder)
            before = {n: os.stat(f"{folder}/data/there/{n}").st_mtime_ns for n in os.listdir(f"{folder}/data/there")}
            r = run(folder, job(folder, type=type, beam=beam, cache=len(kept) * bytes_), 1, *WHOLE_LOG)
            check(r.rc == 0, f"{form} {type}: {r}")
            read, at = offsets_read(folder), 0
            rounds = [w for q in range(50) for w in index.walk(target_of(q), beam, kept)]
            for wanted in rounds:
                part = sorted(read[at:at + len(wanted)])
                check(part == sorted(map(place, wanted)), f"{form} {type}, read {at}: {part}, not {sorted(map(place, wanted))}")
                at += len(wanted)
            check(at == len(read), f"{form} {type}: {len(read)} reads, not {at}")
            m = report(f"{folder}/results.h5")["phases"][0]["measures"]
            check(m["rounds"] == len(rounds) and m["reads"] == at and bool(m["cached"]) == bool(kept) and m["distance_ns"] > 0, f"{m}")
            check(len(rounds) > 30 * LIST / beam, "the walk walks nowhere")
            r = alone("clean", "job.json", cwd=folder)
            after = {n: os.stat(f"{folder}/data/there/{n}").st_mtime_ns for n in os.listdir(f"{folder}/data/there")}
            check(before == after, f"{before} {after} {r}")


def test_ranks():
    """Two ranks read header and codes, each."""
    with Folder() as folder:
        Index().write(f"{folder}/data/there", "float32", "microsoft")
        r = run(folder, job(folder, threads=2, depth=2), 2)
        m = report(f"{folder}/results.h5")["phases"][0]["measures"]
        check(r.rc == 0 and m["queries"] == 200 and m["reads"] == m["expanded"], f"{r} {m}")


def test_refusals():
    index = Index()
    cases = [({"words": {0: 4096}}, {}, "is no index file of DiskANN, or not all of one"),
             ({"words": {1: 1 << 33}}, {}, f"its header has {1 << 33} vectors"),
             ({"words": {1: 100000}}, {}, "nodes take"),
             ({"words": {2: VECTORS}}, {}, f"begins searches at node {VECTORS} of {VECTORS}"),
             ({"words": {3: 5}}, {}, "has nodes of 5 bytes"),
             ({"words": {4: 3}}, {}, "has 3 nodes per sector, and of 108 bytes there are 37"),
             ({"words": {5: 7}}, {}, "has 7 frozen points"),
             ({"reorder": True, "words": {8: 1}}, {}, "reorder data at sector 1, where there are none"),
             ({}, {"type": "int8", "dimension": 12, "file": "an_disk.index"}, "an_disk.index"),
             ({}, {"file": "ann.index"}, 'ends in "_disk.index"'),
             ({}, {"operation": "build"}, "exists already, and is searched only"),
             ({}, {"index": "aisaq"}, "is one segment of diskann"),
             ({}, {"cache": "1 KiB", "cache_by": "sample"}, "nearest to where searches begin are kept"),
             ({}, {"cache": "1 MiB"}, f"holds all {VECTORS} nodes of ann_disk.index"),
             ({}, {"verify": "full"}, "nobody knows which bytes")]
    with Folder() as folder:
        for written, asked, says in cases:
            index.write(f"{folder}/data/there", "float32", "knowhere", **written)
            r = run(folder, job(folder, **asked))
            check(r.rc != 0 and says in " ".join(r.err.split()), f"{says}: {r}")
        index.write(f"{folder}/data/there", "float32", "microsoft", node=DIMENSION * 4 + 4 * 600)
        r = run(folder, job(folder))
        check(r.rc != 0 and "up to 512 neighbours; see dimension and type" in " ".join(r.err.split()), f"{r}")
        for name, at, bytes_, says in (("pq_pivots.bin", 0, b"\x07\0\0\0", "begins with 7 places"),
                                       ("pq_pivots.bin", 8, b"\xff" * 8, "after its end"),
                                       ("pq_pivots.bin", 4096, b"\x05\0\0\0", "has 5 pivots"),
                                       ("pq_pivots.bin", 4104, struct.pack("<f", float("nan")), "a pivot that is no number"),
                                       ("pq_compressed.bin", 0, struct.pack("<i", 699), "has codes of 699 vectors")):
            index.write(f"{folder}/data/there", "float32", "microsoft")
            with open(f"{folder}/data/there/ann_{name}", "r+b") as f:
                f.seek(at)
                f.write(bytes_)
            r = run(folder, job(folder))
            check(r.rc != 0 and says in " ".join(r.err.split()) and f"ann_{name}" in " ".join(r.err.split()), f"{says}: {r}")
        index.write(f"{folder}/data/there", "float32", "microsoft")
        os.truncate(f"{folder}/data/there/ann_pq_compressed.bin", 1000)
        r = run(folder, job(folder))
        check(r.rc != 0 and f"has 1000 bytes, not {8 + VECTORS * CHUNKS}" in " ".join(r.err.split()), f"{r}")
        os.remove(f"{folder}/data/there/ann_pq_compressed.bin")
        r = run(folder, job(folder))
        check(r.rc != 0 and "ann_pq_compressed.bin" in " ".join(r.err.split()), f"{r}")


if __name__ == "__main__":
    main()
