# SPDX-License-Identifier: Apache-2.0
"""Vector search, seen from outside: what strace counts of it, the memory of its ranks, the time of its plan, and the loads that
it carries on a store whose answer follows by hand."""
import glob
import re
import subprocess

from haultest import *
from test_vector import BUILD, INDEX, expected, index_job, nodes_of, same_rounds, search

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
            check(peak <= cache + more, f"{name}: {peak} bytes, and {cache} were asked for")


if __name__ == "__main__":
    main()
