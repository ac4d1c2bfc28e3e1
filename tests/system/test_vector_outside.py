# SPDX-License-Identifier: Apache-2.0
"""Vector search, seen from outside: what strace counts of it, the memory of its ranks, the time of its plan, and the loads that
it carries on a store whose answer follows by hand, what compares and accepts its figures, and how it ends."""
import glob
import json
import os
import re
import signal
import subprocess
import time

import vector_modes
from haultest import *
from test_vector import BUILD, INDEX, LIST, expected, index_job, nodes_of, same_rounds, search

BILLION = 1000 * 1000 * 1000
KINDS = ("diskann", "aisaq", "spann", "ivf")


def traced(folder, trace):
    """Runs a phase of the job under strace; returns the lines of each thread."""
    args = command(1, "run", "job.json", "--only", "search", "--force", "--results", "results.h5")
    at = args.index(HAUL)
    strace = ["strace", "-ff", "-y", "-e", "trace=" + trace, "-o", f"{folder}/trace"]
    r = subprocess.run(args[:at] + strace + args[at:], cwd=folder, capture_output=True, text=True, timeout=HANGS_S, env=environment())
    check(r.returncode == 0, f"{r.stdout} {r.stderr}")
    return [open(path, errors="replace").read().splitlines() for path in glob.glob(f"{folder}/trace.*")]


def built(folder, phase, engine, **shape):
    """An index, and a job that searches it with the engine."""
    write_job(folder, index_job(folder, {**BUILD, "name": "build"}, {**phase, "name": "search"}, engine=engine, **shape))
    r = mpi(1, "run", "job.json", "--only", "build", cwd=folder)
    check(r.rc == 0, f"{r}")


def test_reads_are_those_of_strace():
    """One after the other, as the engine psync sends them: each read at the place that the walk over the file says."""
    queries = 20
    with Folder() as folder:
        built(folder, search(count=queries), "psync")
        lines = [line for thread in traced(folder, "pread64") for line in thread if INDEX in line]
        found = [re.match(r"pread64\(.*, (\d+), (\d+)\) = (\d+)$", line) for line in lines]
        check(all(m and m[1] == m[3] == "4096" for m in found), f"{lines[:3]}")
        medoid, graph = nodes_of(f"{folder}/data/vectors/{INDEX}")
        same_rounds(expected(medoid, graph, queries, 1, set()), [int(m[2]) for m in found], "strace")
        m = report(f"{folder}/results.h5")["phases"][0]["measures"]
        check(m["reads"] == len(found), f"{m['reads']} reads, strace {len(found)}")


def submitted(threads):
    """How many requests each system call of the searching thread handed to the kernel."""
    counts = [[int(m[1]) for m in (re.match(r"io_uring_enter\(.*\) = ([1-9]\d*)$", line) for line in thread) if m] for thread in threads]
    return max(counts, key=sum)


def test_rounds_are_those_of_strace():
    """A round of io_uring is one system call: of a graph as many as the walk says, with as many reads; of SPANN one for a query."""
    queries, beam = 20, 4
    with Folder() as folder:
        built(folder, search(count=queries, beam=beam), "uring")
        medoid, graph = nodes_of(f"{folder}/data/vectors/{INDEX}")
        rounds = [len(r) for r in expected(medoid, graph, queries, beam, set())]
        found = submitted(traced(folder, "io_uring_enter"))
        check(found == rounds, f"{found} instead of {rounds}")
    with Folder() as folder:
        built(folder, search(count=queries, probes=8), "uring", index="spann", type="int8", dimension=96)
        found = submitted(traced(folder, "io_uring_enter"))
        check(found == [8] * queries, f"{found}")


def sim_job(*phases, **store):
    return {"name": "vectors", "seed": 1, "stores": {"s": {"uri": "sim://known", **store}},
            "phases": [{"vector": {"vectors": BILLION, "dimension": 128, "type": "uint8", **p}} for p in phases]}


def test_a_billion_vectors_are_planned():
    with Folder() as folder:
        for index in KINDS:
            write_job(folder, sim_job({"operation": "build", "index": index}, {"operation": "search", "index": index}))
            before = processors_s()
            r = alone("plan", "job.json", "--json", cwd=folder)
            seconds = processors_s() - before
            check(r.rc == 0 and seconds < 1, f"{index}: planned in {seconds:.2f} s of a processor: {r}")


def test_memory_of_a_billion_vectors():
    """A rank keeps the nodes that it was asked to keep, and less than 64 MiB beside them."""
    more = 64 << 20
    cases = [("build", {"operation": "build", "segments": 1000}, 0),
             ("search", {"operation": "search", "count": 50, "threads": 4, "depth": 4}, 0),
             ("cached", {"operation": "search", "count": 50, "cache": "64 MiB"}, 64 << 20),
             ("sampled", {"operation": "search", "count": 50, "cache": "64 MiB", "cache_by": "sample", "skew": 0.5}, 64 << 20),
             ("lists", {"operation": "search", "count": 50, "index": "spann"}, 0)]
    with Folder() as folder:
        write_job(folder, sim_job(*[{"name": name, **p} for name, p, _ in cases], bandwidth="1 TB/s"))
        for name, _, cache in cases:
            peak, _ = peak_of_rank([HAUL, "run", "job.json", "--only", name, "--force"], folder)
            print(f"      {name}: {peak / 2 ** 20:.1f} MiB", flush=True)
            check(SANITIZED or peak <= cache + more, f"{name}: {peak} bytes, and {cache} were asked for")



@timing
def test_compared_and_accepted():
    """One read in flight, of 2 ms, against four: as many reads in fewer rounds, by as much as the walk over the file says."""
    queries = 40
    with Folder() as folder:
        write_job(folder, index_job(folder, BUILD))
        check(mpi(1, "run", "job.json", cwd=folder).rc == 0, "build")
        medoid, graph = nodes_of(f"{folder}/data/vectors/{INDEX}")
        rounds = [len(expected(medoid, graph, queries, beam, set())) for beam in (1, 4)]
        job = index_job(folder, {**search(count=queries, verify="none"), "name": "search"})
        job["stores"]["s"] = {"uri": "sim://known", "latency": "2 ms"}
        write_job(folder, job)
        r = mpi(1, "run", "job.json", "--force", "--sweep", "search.beam=1,4", "--repeat", 2, "--interleave", cwd=folder)
        check(r.rc == 0, f"{r}")
        pair = json.loads(alone("compare", "--json", "results.h5", cwd=folder).out)["pairs"][0]
        check(pair["metric"] == "samples_per_second", f"{pair}")
        near(pair["metrics"][pair["metric"]]["ratio"], rounds[1] / rounds[0], 0.25 * rounds[1] / rounds[0], f"of rounds {rounds}")
        for rule, rc in (({"least_samples": 1, "most_p99": "10 s", "most_errors": 0}, 0), ({"most_p99": "1 ms"}, 8)):
            write_job(folder, {"rules": [{"phase": "search", **rule}]}, "rules.json")
            r = alone("accept", "rules.json", "results.h5", cwd=folder)
            check(r.rc == rc and "unknown: search" not in r.out, f"{rule}: {r}")


def test_eight_ranks():
    """Each of eight ranks asks the queries that are its own; together they read what one would."""
    with Folder() as folder:
        write_job(folder, index_job(folder, {**BUILD, "segments": 8, "name": "build"},
                                    {**search(count=5, beam=2, threads=2), "segments": 8, "name": "search"}))
        r = mpi(8, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        build, found = report(f"{folder}/results.h5")["phases"]
        sizes = sum(os.path.getsize(path) for path in glob.glob(f"{folder}/data/vectors/0*"))
        check(build["bytes_written"] == build["measures"]["built_bytes"] == sizes, f"{build['measures']}")
        m = found["measures"]
        check(m["queries"] == 80 and m["reads"] == m["expanded"] >= 80 * 8 * LIST and found["errors"] == 0, f"{m}")
        write_job(folder, index_job(folder, {**search(count=80, beam=2), "segments": 8, "name": "search"}))
        check(mpi(1, "run", "job.json", "--force", cwd=folder).rc == 0, "one rank")
        one = report(f"{folder}/results.h5")["phases"][0]["measures"]
        check((one["reads"], one["rounds"]) == (m["reads"], m["rounds"]), f"{one}, {m}")


@matrix
def test_modes_of_eight_ranks():
    """Loads, segments that are spread, merges and HNSW: what all ranks have done together is counted by hand."""
    for mode in vector_modes.drawn(vector_modes.MODES):
        with Folder() as folder:
            stores = {name: {"uri": f"file://{folder}/{name}", "engine": "uring"} for name in ("far", "near")}
            phases = [vector_modes.built(mode), *vector_modes.phases(mode, "near")]
            write_job(folder, {"stores": stores, "phases": [{"vector": {"store": "far", **p["vector"]}} for p in phases]})
            r = mpi(8, "run", "job.json", cwd=folder)
            check(r.rc == 0, f"{mode}: {r}")
            vector_modes.counted(mode, 8, report(f"{folder}/results.h5")["phases"])
            r = alone("clean", "job.json", cwd=folder)
            check(r.rc == 0 and all(names_in(f"{folder}/{name}") == [] for name in stores), f"{r}")


def test_short_files_and_wrong_headers():
    """Of the file of one segment: a header that is wrong is found by whoever reads it, and a file that is too short by all."""
    for mode, name in (("load", INDEX), ("merge", INDEX), ("spread", INDEX), ("hnsw", "000000_hnsw.bin")):
        with Folder() as folder:
            stores = {name: {"uri": f"file://{folder}/{name}", "engine": "uring"} for name in ("far", "near")}
            jobs = [[{"vector": {"store": "far", **p["vector"]}} for p in phases]
                    for phases in ([vector_modes.built(mode)], vector_modes.phases(mode, "near")[:1])]
            write_job(folder, {"stores": stores, "phases": jobs[0]})
            check(mpi(2, "run", "job.json", cwd=folder).rc == 0, "build")
            write_job(folder, {"stores": stores, "phases": jobs[1]})
            path = f"{folder}/far/vectors/{name}"
            with open(path, "r+b") as f:
                f.seek(8)
                f.write(b"\1")
            if mode in ("load", "merge"):
                r = mpi(2, "run", "job.json", "--force", cwd=folder)
                check(r.rc == 1 and f"{name}: payload differs at byte 8" in " ".join(r.err.split()), f"{mode}: {r}")
            os.truncate(path, 8192)
            r = mpi(2, "run", "job.json", "--force", cwd=folder)
            check(r.rc == 1 and f"{name}: ends at byte {'' if mode == 'load' else 8192}" in " ".join(r.err.split()), f"{mode}: {r}")


def interrupted(folder, only, number):
    """Sends the signal to a run of the phase when it has done something; returns the phase as it was published."""
    process = start(2, "run", "job.json", "--only", only, "--force", "--grace", "60 s", "--live", "-", "--quiet", cwd=folder)
    began = time.monotonic()
    for line in process.stdout:
        if json.loads(line).get("bytes"):
            break
    process.send_signal(number)
    r = finish(process, began)
    p, = report(f"{folder}/results.h5")["phases"]
    check(p["status"] == "interrupted", f"{r} {p['status']}")
    return p


def test_signals():
    """A search and a build that are ended keep what they counted; of a build that was ended nothing is searched, and all is removed."""
    with Folder() as folder:
        write_job(folder, index_job(folder, {**BUILD, "name": "small"}, {**search(count=0, seconds=600), "name": "search"},
                                    {**BUILD, "name": "large", "folder": "large", "segments": 64, "vectors": 64 * 800000},
                                    {**search(), "name": "after", "folder": "large", "segments": 64, "vectors": 64 * 800000}))
        check(mpi(1, "run", "job.json", "--only", "small", cwd=folder).rc == 0, "build")
        check(interrupted(folder, "search", signal.SIGTERM)["measures"]["reads"] > 0, "search")
        p = interrupted(folder, "large", signal.SIGINT)
        check(0 < p["bytes_written"] < 64 * 800000 * 164, f"{p['bytes_written']}")
        r = mpi(1, "run", "job.json", "--only", "after", "--force", cwd=folder)
        check(r.rc != 0 and "was not built to its end" in r.err, f"{r}")
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and names_in(f"{folder}/data") == [], f"{r} {names_in(f'{folder}/data')}")



if __name__ == "__main__":
    main()
