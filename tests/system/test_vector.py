# SPDX-License-Identifier: Apache-2.0
"""Vector search: every read of a search is the one that a walk written here, from docs/vector-search-index.md alone, makes;
the bytes decide where a search goes; what is wrong in an index is found; what was built is removed."""
import bisect
import csv
import glob
import json
import os
import random
import signal
import struct
import subprocess
import time

from haultest import *

VECTORS, DIMENSION, DEGREE, LIST, SEED = 3000, 24, 16, 30, 11
NODE = DIMENSION * 4 + 4 * (DEGREE + 1)
PER = 4096 // NODE
INDEX = "000000_disk.index"


def index_job(folder, *phases, engine="uring", **shape):
    shape = {"vectors": VECTORS, "dimension": DIMENSION, "degree": DEGREE, **shape}
    return {"name": "vectors", "seed": SEED, "stores": {"s": {"uri": f"file://{folder}/data", "engine": engine}},
            "phases": [{"vector": {**shape, **p}} for p in phases]}


BUILD = {"operation": "build"}


def search(**more):
    return {"operation": "search", "list": LIST, "count": 130, "verify": "full", **more}


def run(folder, job, ranks=1, *more):
    write_job(folder, job)
    return mpi(ranks, "run", "job.json", "--results", "results.h5", "--force", *more, cwd=folder)


def nodes_of(path):
    """The graph as an index file has it: header, and the neighbours of each node."""
    data = open(path, "rb").read()
    size, n, medoid, node, per = struct.unpack_from("<5Q", data)
    check((size, n, node, per) == (len(data), VECTORS, NODE, PER), f"{(size, n, node, per)}")
    found = []
    for i in range(n):
        at = 4096 * (1 + i // per) + i % per * node + DIMENSION * 4
        degree, = struct.unpack_from("<I", data, at)
        found.append(struct.unpack_from(f"<{degree}I", data, at + 4))
    return medoid, found


class Ring:
    """Where vectors lie on the ring: from the neighbours of the medoid alone, of which the first is the next one."""

    def __init__(self, medoid, graph):
        self.step = (graph[medoid][0] - medoid) % VECTORS
        self.shift = (medoid - VECTORS // 2 * self.step) % VECTORS
        self.back = pow(self.step, -1, VECTORS)

    def distance(self, target, node):
        right = ((node - self.shift) * self.back - target) % VECTORS
        return min(right * 2, (VECTORS - right) * 2 + 1)


def random_at(key, a, b):
    golden, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1
    x = mix64((key + golden) & mask)
    x = mix64((x + (a + 1) * golden) & mask)
    return mix64((x + (b + 1) * golden) & mask)


def target_of(query):
    key = random_at(SEED ^ 0x7365676D656E74, 0, 0)
    return min(int((random_at(key, 3, query) >> 11) * 2.0 ** -53 * VECTORS), VECTORS - 1)


def breadth_first(medoid, graph, count):
    line = [medoid]
    for node in line:
        for other in graph[node]:
            if other not in line and len(line) < count:
                line.append(other)
    return set(line)


def walk(ring, medoid, graph, target, beam, kept, page=False):
    """The rounds of a search: the nodes that each of them reads. page: a sector that is read brings all of its nodes."""
    near, taken, rounds = [(ring.distance(target, medoid), medoid)], set(), []

    def see(others):
        for other in others:
            entry = (ring.distance(target, other), other)
            if entry not in near:
                bisect.insort(near, entry)
        del near[LIST:]

    while True:
        round = [node for _, node in near if node not in taken][:beam]
        if not round:
            return [r for r in rounds if r]
        taken.update(round)
        rounds.append([node for node in round if node not in kept])
        for node in round:
            see(graph[node])
            for beside in range(node // PER * PER, min(node // PER * PER + PER, VECTORS)) if page else ():
                see([beside])
                if beside not in taken and (ring.distance(target, beside), beside) in near:
                    taken.add(beside)
                    see(graph[beside])


def rows_of(folder, phase, rank=None):
    """The reads in the operation logs of all ranks, or of one. The first log has the names of the columns."""
    logs = [subprocess.run(["zstd", "-dc", path], capture_output=True, text=True).stdout.splitlines()
            for path in sorted(glob.glob(f"{folder}/ops*.tsv.zst"))]
    lines = sum(logs, []) if rank is None else logs[0][:1] * (rank > 0) + logs[rank]
    found = csv.DictReader([line for line in lines if line[0] != "#"], delimiter="\t")
    return [r for r in found if r["phase"] == phase and r["op"] == "GET"]


def offsets_read(folder, phase):
    mine = rows_of(folder, phase)
    return [int(r["offset"]) for r in sorted(mine, key=lambda r: (r["start"], int(r["idx"])))]


def sector(node):
    return 4096 * (1 + node // PER)


def expected(medoid, graph, queries, beam, kept):
    ring = Ring(medoid, graph)
    return [r for q in range(queries) for r in walk(ring, medoid, graph, target_of(q), beam, kept)]


def same_rounds(wanted, offsets, what):
    at = 0
    for i, r in enumerate(wanted):
        part = sorted(offsets[at:at + len(r)])
        check(part == sorted(map(sector, r)), f"{what}, round {i}: reads {part}, not {sorted(map(sector, r))}")
        at += len(r)
    check(at == len(offsets), f"{what}: {len(offsets)} reads, not {at}")


@pauses("1500 ms", "15 s")
def test_a_slow_store_is_named(latency):
    """A build whose file gets no further tells which one it is."""
    with Folder() as folder:
        job = index_job(folder, BUILD)
        job["stores"]["s"] = {"uri": "sim://slow", "commit_latency": latency}
        r = run(folder, {**job, "stall_limit": "300 ms"})
        check(r.rc == 0 and f"sim://slow/vectors/{INDEX}" in r.err, f"{r}")


def test_every_node():
    """1,040 queries: beams of 1, 2, 4, 8, with and without nodes in memory."""
    cases = [(beam, cache) for beam in (1, 2, 4, 8) for cache in (0, 200)]
    with Folder() as folder:
        job = index_job(folder, BUILD, *[search(name=f"b{b}c{c}", beam=b, cache=c * NODE) for b, c in cases])
        r = run(folder, job, 1, *WHOLE_LOG)
        check(r.rc == 0, f"{r}")
        medoid, graph = nodes_of(f"{folder}/data/vectors/{INDEX}")
        phases = {p["name"]: p for p in report(f"{folder}/results.h5")["phases"]}
        for beam, cache in cases:
            name = f"b{beam}c{cache}"
            wanted = expected(medoid, graph, 130, beam, breadth_first(medoid, graph, cache) if cache else set())
            same_rounds(wanted, offsets_read(folder, name), name)
            p = phases[name]
            reads = sum(map(len, wanted))
            check(p["measures"]["rounds"] == len(wanted) and p["measures"]["reads"] == reads, f"{name}: {p['measures']}")
            near(p["figures"]["reads_per_query"], reads / 130, 1e-9, name)
            check(p["errors"] == 0 and p["bytes_read"] == 4096 * reads, name)
            check(p["said"].startswith(f"a query took {reads / 130:.1f} reads in {len(wanted) / 130:.1f} rounds"), p["said"])


def test_bytes_decide():
    """A neighbour's id that was changed is found; where nobody verifies, the search goes where it points."""
    with Folder() as folder:
        check(run(folder, index_job(folder, BUILD)).rc == 0, "build")
        path = f"{folder}/data/vectors/{INDEX}"
        medoid, graph = nodes_of(path)
        at = sector(medoid) + medoid % PER * NODE + DIMENSION * 4 + 4
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(struct.pack("<I", (graph[medoid][0] + 1000) % VECTORS))
        r = run(folder, index_job(folder, search(count=5)))
        check(r.rc != 0 and f"{INDEX}: payload differs at byte {at}" in " ".join((r.err + r.out).split()), f"{r}")
        r = run(folder, index_job(folder, search(count=40, verify="none", beam=1)), 1, *WHOLE_LOG)
        check(r.rc == 0, f"{r}")
        _, changed = nodes_of(path)
        ring = Ring(medoid, graph)
        rounds = [r for q in range(40) for r in walk(ring, medoid, changed, target_of(q), 1, set())]
        same_rounds(rounds, offsets_read(folder, "vector"), "changed")
        check(rounds != expected(medoid, graph, 40, 1, set()), "the change changes nothing")


def test_ids_outside():
    """An id that no vector has ends the search, with or without verifying, and is counted where errors are."""
    with Folder() as folder:
        check(run(folder, index_job(folder, BUILD)).rc == 0, "build")
        path = f"{folder}/data/vectors/{INDEX}"
        medoid, _ = nodes_of(path)
        with open(path, "r+b") as f:
            f.seek(sector(medoid) + medoid % PER * NODE + DIMENSION * 4 + 8)
            f.write(struct.pack("<I", VECTORS))
        r = run(folder, index_job(folder, search(verify="none")))
        check(r.rc != 0 and "names neighbours that are not in the index" in " ".join((r.err + r.out).split()), f"{r}")
        r = run(folder, index_job(folder, search(verify="none", on_error="count", count=20)))
        p = report(f"{folder}/results.h5")["phases"][0]
        check(p["errors"] == 20 and p["measures"]["queries"] == 0 and p["measures"]["payload_errors"] == 20, f"{p['measures']}")


def test_refusals():
    with Folder() as folder:
        r = run(folder, index_job(folder, search()))
        check(r.rc != 0 and "has no index; build it first" in r.err, f"{r}")
        check(run(folder, index_job(folder, BUILD)).rc == 0, "build")
        r = run(folder, index_job(folder, search(degree=18)))
        check(r.rc != 0 and "has another index than the job: diskann of 3000 vectors" in r.err, f"{r}")
        os.truncate(f"{folder}/data/vectors/{INDEX}", 100000)
        r = run(folder, index_job(folder, search()))
        check(r.rc != 0 and "ends at byte 100000" in " ".join((r.err + r.out).split()), f"{r}")
        described = f"{folder}/data/vectors/.haul-vector.json"
        text = json.load(open(described))
        json.dump({**text, "complete": False}, open(described, "w"))
        r = run(folder, index_job(folder, search()))
        check(r.rc != 0 and "was not built to its end" in r.err, f"{r}")
        os.makedirs(f"{folder}/data/other")
        open(f"{folder}/data/other/mine", "w").close()
        r = run(folder, index_job(folder, {**BUILD, "folder": "other"}))
        check(r.rc != 0 and "other" in r.err and os.listdir(f"{folder}/data/other") == ["mine"], f"{r}")
        for more, says in (({"cache": "1 GiB"}, "holds all nodes"), ({"probes": 3}, "diskann has none"),
                           ({"segments": 7}, "not divided equally"), ({"lists": 5}, "of spann and ivf")):
            write_job(folder, index_job(folder, search(**more)))
            r = alone("plan", "job.json", cwd=folder)
            check(r.rc != 0 and says in r.err, f"{r}")
        for engine, more, says in (("psync", {"depth": 4}, "vector/depth: is 4, but store"), ("psync", {"beam": 3}, "vector/beam: is 3, but store"),
                                   ("uring", {"depth": 100, "beam": 90}, "vector/depth: 9000 reads would be in flight for a thread")):
            write_job(folder, index_job(folder, search(**more), engine=engine))
            r = alone("plan", "job.json", cwd=folder)
            check(r.rc != 0 and says in r.err, f"{r}")


def test_store_that_cannot_be_opened():
    """What a phase was to do is not known yet when it measures nothing: once, the memory of a builder was divided by no segments."""
    with Folder() as folder:
        for phase in (BUILD, search(), {"operation": "load"}):
            job = index_job(folder, phase)
            job["stores"]["s"] = {"uri": "daos://pool/cont", "library": f"{folder}/none.so"}
            r = run(folder, job, 2)
            check(r.rc == 1 and "none.so" in r.err, f"{r}")


def test_kinds_and_ranks():
    """Every kind, several segments and ranks, with the engine that is the default; then all of it is removed."""
    with Folder() as folder:
        shapes = [{"index": "diskann"}, {"index": "aisaq"}, {"index": "spann", "type": "int8"}, {"index": "ivf", "type": "float16"}]
        for ranks in (1, 2):
            phases = [{**s, **o, "segments": 3, "folder": s["index"]} for s in shapes for o in (BUILD, search(threads=2, count=20))]
            job = index_job(folder, *phases, engine="psync")
            r = run(folder, job, ranks)
            check(r.rc == 0, f"{r}")
            for p in report(f"{folder}/results.h5")["phases"]:
                m = p["measures"]
                if m["writes"]:
                    sizes = sum(os.path.getsize(f"{folder}/data/{d}/{n}") for d, _, names in
                                [(s["index"], 0, os.listdir(f"{folder}/data/{s['index']}")) for s in shapes]
                                for n in names if n.startswith("0"))
                    check(m["built_bytes"] == m["bytes_written"] and m["built_bytes"] <= sizes, f"{m}")
                else:
                    check(m["queries"] == 40 * ranks and p["operations"] == 40 * ranks and m["reads"] == m["expanded"], f"{m}")
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and names_in(f"{folder}/data") == [], f"{r} {names_in(f'{folder}/data')}")


def test_page_search():
    """All nodes of a sector that is read are candidates: the same reads as the walk, and far fewer where near vectors lie together."""
    with Folder() as folder:
        reads = {}
        for layout in ("scattered", "near"):
            shape = {"layout": layout, "folder": layout}
            phases = [search(name=f"{layout}{page}", beam=1, count=60, page_search=page, **shape) for page in (False, True)]
            r = run(folder, index_job(folder, {**BUILD, **shape}, *phases), 1, *WHOLE_LOG)
            check(r.rc == 0, f"{r}")
            medoid, graph = nodes_of(f"{folder}/data/{layout}/{INDEX}")
            ring = Ring(medoid, graph)
            check((ring.step == 1) == (layout == "near"), f"{layout}: a step of {ring.step}")
            for page, p in zip((False, True), report(f"{folder}/results.h5")["phases"][1:]):
                wanted = [w for q in range(60) for w in walk(ring, medoid, graph, target_of(q), 1, set(), page)]
                same_rounds(wanted, offsets_read(folder, p["name"]), p["name"])
                check(bool(p["measures"]["beside"]) == page and p["errors"] == 0, f"{p['measures']}")
                reads[layout, page] = p["figures"]["reads_per_query"]
        check(reads["near", True] < reads["near", False] / 3 and reads["scattered", True] <= reads["scattered", False], f"{reads}")
        r = run(folder, index_job(folder, search(page_search=True, dimension=1536, folder="x")))
        check(r.rc != 0 and "no nodes beside the one" in r.err, f"{r}")


def test_segments_of_ranks():
    """Segments that are spread over ranks: each rank reads its own files alone, all ranks the same queries, and each query is one."""
    with Folder() as folder:
        shape = {"segments": 5, "spread": "segments"}
        r = run(folder, index_job(folder, {**BUILD, "segments": 5}, search(name="search", count=40, threads=2, **shape)), 3, *WHOLE_LOG)
        check(r.rc == 0 and "was the slowest in" in r.out + r.err, f"{r}")
        for rank, own in enumerate(([0], [1, 2], [3, 4])):
            files = {os.path.basename(r["file"]) for r in rows_of(folder, "search", rank)}
            check(files == {f"{i:06}_disk.index" for i in own}, f"rank {rank} reads {files}")
        p = report(f"{folder}/results.h5")["phases"][1]
        m = p["measures"]
        check(m["queries"] == 80 and m["parts"] == 240 and m["reads"] == m["expanded"] and p["errors"] == 0, f"{m}")
        check(m["reads"] > 80 * 5 * LIST, f"{m}")
        check(m["joined_ns"] > 0 and p["figures"]["joined_rate"] > 0, f"{p['figures']}")
        r = run(folder, index_job(folder, search(**shape)), 6)
        check(r.rc != 0 and "5 cannot be spread over 6 ranks" in r.err, f"{r}")


def test_warmup():
    """The rate of queries has one meaning in all outputs: without the warm-up, of which the queries are counted apart."""
    with Folder() as folder:
        job = index_job(folder, search(count=0, seconds=2, warmup=1, verify="none"))
        job["stores"] = {"s": {"uri": "sim://known", "latency": "1 ms"}}
        r = run(folder, job, 1)
        check(r.rc == 0, f"{r}")
        p = report(f"{folder}/results.h5")["phases"][0]
        figures, m = p["figures"], p["measures"]
        near(figures["queries_rate"], m["queries"] / m["done_ns"] * 1e9, 1e-6 * figures["queries_rate"], "queries per second")
        check(p["rates"]["samples_per_second"] == figures["queries_rate"], f"{p['rates']} {figures}")
        check(0 < 5 * m["warmup_queries"] < m["reads"], f"{m}")


def test_lists():
    """The file of SPANN says where its lists lie; a query reads the nearest of them, each once, in one round."""
    with Folder() as folder:
        shape = {"index": "spann", "type": "int8", "dimension": 96}
        r = run(folder, index_job(folder, {**BUILD, **shape}, search(count=10, probes=8, **shape)), 1, *WHOLE_LOG)
        check(r.rc == 0, f"{r}")
        data = open(f"{folder}/data/vectors/000000_SPTAGFullList.bin", "rb").read()
        lists, vectors, entry, first = struct.unpack_from("<4I", data)
        check((lists, vectors, entry) == (480, VECTORS, 100), f"{(lists, vectors, entry)}")
        places = {}
        for i in range(lists):
            page, offset, count, pages = struct.unpack_from("<IHiH", data, 16 + 12 * i)
            check(offset == 0 and count == 122 and pages == 3, f"{(page, offset, count, pages)}")
            places[4096 * (first + page)] = i
            ids = [struct.unpack_from("<i", data, 4096 * (first + page) + k * entry)[0] for k in range(count)]
            check(len(set(ids)) == count and max(ids) < VECTORS, f"list {i}")
        check(len(places) == lists and max(places) + 3 * 4096 == len(data), "lists")
        offsets = offsets_read(folder, "vector-2") or offsets_read(folder, "vector")
        check(len(offsets) == 80 and all(o in places for o in offsets), f"{len(offsets)}")
        check(all(len(set(offsets[i:i + 8])) == 8 for i in range(0, 80, 8)), "a list was read twice")
        p = report(f"{folder}/results.h5")["phases"][1]
        check(p["measures"]["rounds"] == 10, f"{p['measures']['rounds']}")


KINDS = ({"index": "diskann"}, {"index": "aisaq"}, {"index": "hnsw", "degree": 8}, {"index": "spann"}, {"index": "ivf"})


def ran(folder):
    """The runs of each phase, and whether each was a warm-up."""
    found = {}
    for p in report(f"{folder}/results.h5")["phases"]:
        check(p["status"] in ("done", "limit"), f"{p['name']}: {p['status']}")
        found.setdefault(p["name"], []).append((p["run"], p["warmup"]))
    return found


def measured(*runs):
    return [(n, False) for n in runs]


def test_built_once():
    """In a series an index is built once where all that its folder sees is read, of each kind; the later runs find it. It is built again where
    another one was built in between, where searches change it, and where only the build is measured."""
    for kind in some(KINDS, len(KINDS)):
        build, find = {**kind, "operation": "build", "name": "build"}, {**kind, "operation": "search", "name": "find", "count": 20, "list": 10}
        with Folder() as folder:
            r = run(folder, index_job(folder, build, find, {**find, "name": "more"}), 2, "--warmup", 1, "--repeat", 2)
            check(r.rc == 0, f"{kind}: {r}")
            every = [(1, True), (2, False), (3, False)]
            check(ran(folder) == {"build": measured(1), "find": every, "more": every}, f"{kind}: {ran(folder)}")
            text = " ".join(alone("report", "results.h5", cwd=folder).out.split())
            check("build: made once: all runs of the series read it" in text, text)
            series = {s["phase"]: s["repeats"] for s in report(f"{folder}/results.h5")["series"]}
            check(series == {"build": 1, "find": 2, "more": 2}, f"{kind}: {series}")
            # As many values of an option of the build are as many indexes; in turn, each replaces the one before.
            for words, runs in ((("--interleave",), (1, 2, 3, 4)), ((), (1, 3))):
                r = run(folder, index_job(folder, build, {**find, "verify": "full"}), 2, "--repeat", 2, "--sweep", "build.threads=1,2", *words)
                check(r.rc == 0 and ran(folder) == {"build": measured(*runs), "find": measured(1, 2, 3, 4)}, f"{kind}, {words}: {r}, {ran(folder)}")
            r = run(folder, index_job(folder, build, find), 2, "--repeat", 2, "--sweep", "find.threads=1,2")
            check(r.rc == 0 and ran(folder) == {"build": measured(1), "find": measured(1, 2, 3, 4)}, f"{kind}: {r}, {ran(folder)}")
            r = run(folder, index_job(folder, build, find), 2, "--find", "find.threads=1..2", "--until", "find.rate >= 0.001")
            found = ran(folder)
            check(r.rc == 0 and [n for n, _ in found["build"]] == [1] and len(found["find"]) >= 2, f"{kind}: {r}, {found}")
            for words in (("--only", "build"), ("--skip", "find")):
                r = run(folder, index_job(folder, build, find), 2, "--repeat", 2, *words)
                check(r.rc == 0 and ran(folder) == {"build": measured(1, 2)}, f"{kind}: {r}, {ran(folder)}")
    with Folder() as folder:
        # A search that inserts, a second build and what else writes into the folder.
        build, find = {**BUILD, "name": "build"}, {**search(verify="none", count=20), "name": "find"}
        for other in ({**find, "name": "other", "inserts": 100, "deletes": 100, "seconds": 0.2, "count": 0}, {**BUILD, "name": "other"}):
            r = run(folder, index_job(folder, build, find, other), 1, "--repeat", 2)
            check(r.rc == 0 and ran(folder) == dict.fromkeys(("build", "find", "other"), measured(1, 2)), f"{other}: {r}, {ran(folder)}")
        job = index_job(folder, build, find, {**build, "name": "b", "folder": "b"}, {**find, "name": "f", "folder": "b"})
        r = run(folder, job, 1, "--repeat", 2)
        check(r.rc == 0 and ran(folder) == {"build": measured(1), "find": measured(1, 2), "b": measured(1), "f": measured(1, 2)}, f"{r}, {ran(folder)}")


def test_built_once_resumed():
    """A series that is interrupted at a drawn moment and gone on with has the runs of one that was not, and builds once."""
    build, find = {**BUILD, "name": "build"}, {**search(verify="none", count=0, seconds=0.3), "name": "find"}
    words = ("run", "job.json", "--warmup", 1, "--repeat", 3, "--results", "results.h5", "--resume", "--quiet")
    for how in some((signal.SIGTERM, signal.SIGKILL), 2):
        with Folder() as folder:
            write_job(folder, index_job(folder, build, find))
            process = start(2, *words, cwd=folder, start_new_session=True)
            time.sleep(random.uniform(0.5, 2))
            if how == signal.SIGKILL:
                kill_run(process, folder)
            else:
                process.send_signal(how)
                finish(process, time.monotonic())
            kept = [(p["name"], p["run"]) for p in report(f"{folder}/results.h5")["phases"]] if os.path.exists(f"{folder}/results.h5") else []
            index = f"{folder}/data/vectors/{INDEX}"
            before = os.stat(index).st_mtime_ns if os.path.exists(index) else None
            r = mpi(2, *words, cwd=folder)
            check(r.rc == 0, f"{how}, {kept}: {r}")
            check(ran(folder) == {"build": measured(1), "find": [(1, True), (2, False), (3, False), (4, False)]}, f"{how}, {kept}: {ran(folder)}")
            check(("find", 2) not in kept or os.stat(index).st_mtime_ns == before, f"{how}, {kept}: the index was built again")


if __name__ == "__main__":
    main()
