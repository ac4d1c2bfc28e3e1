# SPDX-License-Identifier: Apache-2.0
"""Inserts and deletes beside searches: what a merge reads and writes, counted by hand; searches of what it wrote, read by read;
wrong bytes in it; and merges that come to nothing, which leave the index as it was."""
import glob
import os
import struct

from haultest import *
from test_vector import BUILD, DIMENSION, INDEX, NODE, PER, VECTORS, Ring, index_job, offsets_read, run, same_rounds, search, \
    target_of, walk

INSERTS, DELETES = 40, 25  # of a merge


def size_of(vectors):
    return 4096 * (1 + -(-vectors // PER))


def merging(**more):
    return search(count=0, inserts=INSERTS * 20, deletes=DELETES * 20, merge_at=INSERTS + DELETES, merges=1, rate=300, beam=2, **more)


def files_of(folder):
    return sorted(os.path.basename(p) for p in glob.glob(f"{folder}/data/vectors/*"))


class Graph(Ring):
    """The graph that an index file has."""

    def __init__(self, path):
        data = open(path, "rb").read()
        size, self.n, self.medoid, node, per = struct.unpack_from("<5Q", data)
        check((size, node, per) == (len(data), NODE, PER) and size == size_of(self.n), f"{(size, self.n, node, per)}")
        self.nodes = [struct.unpack_from("<16I", data, 4096 * (1 + i // PER) + i % PER * NODE + DIMENSION * 4 + 4) for i in range(self.n)]
        self.step = (self.nodes[self.medoid][0] - self.medoid) % self.n
        self.shift = (self.medoid - self.n // 2 * self.step) % self.n
        self.back = pow(self.step, -1, self.n)

    def distance(self, target, node):
        right = ((node - self.shift) * self.back - target) % self.n
        return min(right * 2, (self.n - right) * 2 + 1)

    def rounds(self, queries, beam):
        return [r for q in range(queries) for r in walk(self, self.medoid, self.nodes, target_of(q) * self.n // VECTORS, beam, set())]


def test_counted_by_hand():
    """One pass, whose inserts search the file that was there, and two; then each read of a search of the new generation."""
    for passes in (1, 2):
        with Folder() as folder:
            check(run(folder, index_job(folder, BUILD)).rc == 0, "build")
            old = Graph(f"{folder}/data/vectors/{INDEX}")
            job = index_job(folder, merging(merge_passes=passes, name="merge"), search(name="after", count=60, beam=2))
            r = run(folder, job, 1, *WHOLE_LOG)
            check(r.rc == 0, f"{r}")
            check(files_of(folder) == ["000000.2_disk.index", "000000_generation.json"], f"{files_of(folder)}")
            p, after = report(f"{folder}/results.h5")["phases"]
            m, new = p["measures"], VECTORS + INSERTS - DELETES
            check((m["merges"], m["inserts"], m["deletes"], m["merges_left"]) == (1, INSERTS, DELETES, 0), f"{m}")
            read, written = (size_of(VECTORS), size_of(new)) if passes == 1 else (2 * size_of(VECTORS), size_of(VECTORS) + size_of(new))
            check(m["merge_written_bytes"] == p["bytes_written"] == written, f"{passes} passes: {m}")
            check(m["merge_read_bytes"] == read + 4096 * m["insert_reads"], f"{passes} passes: {m}")
            if passes == 1:
                check(m["insert_reads"] == sum(map(len, old.rounds(INSERTS, 2))), f"{m['insert_reads']} reads of inserts")
            check(m["insert_reads"] > INSERTS * 30 and m["waiting"] >= INSERTS + DELETES, f"{m}")
            check(p["bytes_read"] == m["merge_read_bytes"] + 4096 * m["reads"], f"{p['bytes_read']} {m}")
            near(p["figures"]["merge_bytes_per_change"] * (INSERTS + DELETES) / (m["merge_read_bytes"] + written), 1, 1e-9, "bytes per change")
            counts = {name: p["latency_ns"][name]["count"] for name in ("merge_read", "insert_read", "merge_write")}
            check(counts == {"merge_read": m["merge_reads"] - m["insert_reads"], "insert_read": m["insert_reads"],
                             "merge_write": m["merge_writes"]}, f"{counts} {m}")
            graph = Graph(f"{folder}/data/vectors/000000.2_disk.index")
            check(graph.n == new and graph.step != old.step, f"{graph.n} vectors")
            same_rounds(graph.rounds(60, 2), offsets_read(folder, "after"), "after the merge")
            check(after["errors"] == 0, f"{after}")


def test_searches_go_on():
    """Two ranks, each of which searches and merges its own segments. Every query is beside a merge or between two; what is
    loaded has the generations, a build begins anew, and all is removed."""
    shape = {"vectors": 4 * 600, "segments": 4, "threads": 2, "spread": "segments"}
    change = {"inserts": 4000, "deletes": 4000, "merge_at": 50, "merges": 3, "count": 0}
    with Folder() as folder:
        job = index_job(folder, {**BUILD, **shape}, search(**shape, **change), search(**{**shape, "count": 20}),
                        {"operation": "load", "verify": "full", "to": "copy", "store": "s", **shape},
                        search(**{**shape, "count": 20, "store": "copy"}))
        job["stores"]["copy"] = {"uri": f"file://{folder}/copy", "engine": "uring"}
        for p in job["phases"][:3]:
            p["vector"]["store"] = "s"
        r = run(folder, job, 2)
        check(r.rc == 0, f"{r}")
        _, p, after, load, copied = report(f"{folder}/results.h5")["phases"]
        m = p["measures"]
        check((m["merges"], m["inserts"], m["deletes"], p["errors"]) == (12, 300, 300, 0), f"{m}")
        beside, between = p["latency_ns"]["query_beside_merge"], p["latency_ns"].get("query_between_merges", {"count": 0})
        check(beside["count"] > 0 and beside["count"] + between["count"] == m["parts"], f"{beside} {between} {m}")
        check(after["errors"] == copied["errors"] == 0 and copied["measures"]["queries"] > 0, f"{after} {copied}")
        check(load["bytes_read"] == 4 * 4096 * (1 + -(-600 // PER)), f"{load['bytes_read']}")
        files = [f"00000{i}.6_disk.index" for i in range(4)] + [f"00000{i}_generation.json" for i in range(4)]
        check(files_of(folder) == sorted(files), f"{files_of(folder)}")
        check(sorted(f for f in os.listdir(f"{folder}/copy/vectors") if f[0] == "0") == sorted(files), "the copy")
        build = {**job, "phases": job["phases"][:1]}
        check(run(folder, build, 2).rc == 0 and files_of(folder) == [f"00000{i}_disk.index" for i in range(4)], f"{files_of(folder)}")
        for left in ("000001.1_disk.index", "000002.2_disk.index", "000003.9_disk.index"):
            open(f"{folder}/data/vectors/{left}", "wb").write(bytes(8192))
        check(run(folder, {**job, "phases": job["phases"][:2]}, 2).rc == 0, "merges again")
        write_job(folder, job)
        r = alone("clean", "job.json", cwd=folder)
        check(not os.path.exists(f"{folder}/copy") and files_of(folder) == ["000003.9_disk.index"], f"{r} {files_of(folder)}")


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 4]))


def test_wrong_bytes():
    """A byte that is wrong in what a merge wrote is found by searches and by the next merge, which then changes nothing."""
    with Folder() as folder:
        check(run(folder, index_job(folder, BUILD, merging())).rc == 0, "merge")
        path, at = f"{folder}/data/vectors/000000.2_disk.index", 4096 * 50 + 7
        flip(path, at)
        r = run(folder, index_job(folder, search(count=2000)))
        check(r.rc != 0 and f"000000.2_disk.index: payload differs at byte {at}" in " ".join(r.err.split()), f"{r}")
        r = run(folder, index_job(folder, merging(on_error="count")))
        check(r.rc != 0 and f"000000.2_disk.index: payload differs at byte {at}" in " ".join(r.err.split()), f"{r}")
        p, = report(f"{folder}/results.h5")["phases"]
        check((p["measures"]["merges"], p["measures"]["merges_left"]) == (0, 1), f"{p['measures']}")
        check(files_of(folder) == ["000000.2_disk.index", "000000_generation.json"], f"{files_of(folder)}")
        flip(path, at)
        check(run(folder, index_job(folder, search())).rc == 0, "repaired")


def test_full_disk():
    """A merge that does not fit leaves the index whole, and nothing of its own."""
    with Folder() as folder, Tmpfs("900k") as small:
        if not small:
            return
        job = index_job(folder, BUILD, merging())
        job["stores"]["s"]["uri"] = f"file://{small}/data"
        r = run(folder, job)
        check(r.rc == 2 and "not enough space" in r.err, f"{r}")
        r = run(folder, job, 1, "--ignore-space")
        check(r.rc == 1 and "000000.1_disk.index: No space left" in " ".join(r.err.split()), f"{r}")
        left = [f for f in os.listdir(f"{small}/data/vectors") if f[0] != "."]
        check(left == [INDEX], f"{left}")
        job["phases"] = index_job(folder, search())["phases"]
        check(run(folder, job).rc == 0, "search")


def test_model():
    """A store that keeps nothing is asked the same."""
    with Folder() as folder:
        job = index_job(folder, merging(verify="none"))
        job["stores"]["s"] = {"uri": "sim://s", "bandwidth": "200 MB/s"}
        r = run(folder, job)
        check(r.rc == 0, f"{r}")
        p, = report(f"{folder}/results.h5")["phases"]
        m = p["measures"]
        check(m["merge_written_bytes"] == size_of(VECTORS) + size_of(VECTORS + INSERTS - DELETES), f"{m}")
        check(m["merge_read_bytes"] == 2 * size_of(VECTORS) + 4096 * m["insert_reads"], f"{m}")
        check(m["merge_ns"] >= (m["merge_written_bytes"] + m["merge_read_bytes"]) * 5, f"{m}")


def test_refusals():
    with Folder() as folder:
        for ranks, more, says in ((1, {"index": "spann"}, "are of diskann and aisaq"), (1, {"merge_at": 3001}, "is more than the 3000 vectors"),
                                  (1, {"inserts": 0, "deletes": 0}, "there are none"), (2, {"segments": 2}, 'set it to "segments"')):
            write_job(folder, index_job(folder, {**merging(), **more}))
            r = alone("plan", "job.json", "--nodes", "1", "--ranks-per-node", str(ranks), cwd=folder)
            check(r.rc != 0 and says in r.err, f"{r}")


if __name__ == "__main__":
    main()
