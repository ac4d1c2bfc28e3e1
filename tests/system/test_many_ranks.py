# SPDX-License-Identifier: Apache-2.0
"""Many ranks on few cores: what one rank asks of MPI and the memory that it takes do not grow with the number of ranks.

test_many_ranks.py CALLS_LIBRARY"""
import collections
import math
import re
import statistics
import sys
import time

import h5py

from haultest import *

CALLS = sys.argv.pop(1)
PSS_MAX = 10e6
# Of a phase with its publication: what a rank may call of MPI, and what rank 0 may ask of the results' file system beside
# reading and writing, where all phases are in one file and where the phases of a run are in a side file.
CALLS_OF_A_PHASE = 54
FILE_CALLS_OF_A_PHASE, FILE_CALLS_OF_A_LINKED_PHASE = 32, 64
# Messages between two: rounds of status between nodes, as many as the machine makes of them, which are taken once they are
# there; and a message of each node to rank 0 with what the node did.
BETWEEN_TWO = {"Start", "Recv", "Imrecv", "Isend", "Irecv"}
# The model of a phase on 512 nodes: a call of the file system, a hop between two ranks, what rank 0 takes in, the bound.
NODES_THERE, RANKS_THERE, FILE_CALL_S, HOP_S, BYTES_PER_S, BOUND_S = 512, 6144, 5e-3, 10e-6, 1e9, 1


def job(folder):
    return {"name": "many", "seed": 5, "stores": {"d": {"uri": f"file://{folder}/data"}},
            "dataset": {"store": "d", "format": "npz", "files": 1, "files_per_rank": 4, "sample_bytes": "64 KiB"},
            # Each thread makes one file, so none is dealt again: that would take a table with a row per rank.
            "phases": [{"generate": {"threads": 4}},
                       {"train": {"epochs": 4, "batch": 2, "compute": "150 ms", "sync": "step", "null_steps": 4,
                                  "shuffle": "each_epoch", "loader": {"workers": 1, "prefetch": 2}}}]}


def pss_of(path):
    """Proportional set of a process in bytes: a page that n processes share counts as an nth."""
    with open(f"{path}/smaps_rollup", encoding="ascii") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("Pss:"))


def pss_of_ranks(paths):
    """On average over eight of these ranks, the first among them, at one time; None where one has ended. A look at all of many
    ranks would take so long on a busy machine that there were only one or two in a run."""
    some_of_them = sorted(paths, key=lambda path: int(os.path.basename(path)))[::max(1, len(paths) // 8)]
    try:
        return statistics.mean(map(pss_of, some_of_them))
    except (OSError, StopIteration):
        return None


def calls_of(folder, rank):
    """{function: (calls, bytes)} of a rank."""
    with open(f"{folder}/rank.{rank}", encoding="ascii") as f:
        return {name: (int(calls), int(sent)) for name, calls, sent in map(str.split, f)}


def rest_of(calls, phases):
    """(calls, bytes) of a rank, all functions together, less the bytes that follow from what was measured: of each bucket of
    a histogram that some rank has used (8 merged; its row by rank is of all buckets), and of each second of a timeline (32
    merged)."""
    measured = sum(8 * h["counts"].size for p in phases for h in p["histograms"].values())
    measured += sum(32 * p["timeline"]["time_s"].size for p in phases if "timeline" in p)
    return sum(n for n, _ in calls.values()), sum(bytes_ for _, bytes_ in calls.values()) - measured


def rows_bytes(phases, ranks):
    """Of all data sets that have a row, or a column, of each rank."""
    sizes = []
    for phase in phases:
        phase.visititems(lambda _, d: sizes.append(d.nbytes) if isinstance(d, h5py.Dataset) and ranks in d.shape else None)
    return sum(sizes)


def run(ranks, nodes):
    """(calls and bytes of each rank, PSS per rank in the middle of all looks, calls of each rank by function, bytes of the rows
    of all ranks)."""
    with Folder() as folder:
        folder = os.path.realpath(folder)
        write_job(folder, job(folder))
        began, paths, seen = time.monotonic(), [], []
        process = start(ranks, "run", "job.json", "--fake-nodes", nodes, cwd=folder,
                        env={"LD_PRELOAD": CALLS, "HAUL_MPI_CALLS": folder})
        while process.poll() is None:
            if len(paths) == ranks:
                seen.append(pss_of_ranks(paths))
            elif os.path.exists(f"{folder}/results.h5"):  # before, what was launched may not have begun its rank yet
                paths = ranks_in(folder)
            time.sleep(0.2)
        r = finish(process, began)
        check(r.rc == 0, f"{ranks} ranks: {r}")
        train = report(f"{folder}/results.h5")["phases"][-1]
        check(train["status"] == "done" and train["measures"]["samples"] == 4 * 4 * ranks, f"{ranks} ranks: {train}")
        seen = [pss for pss in seen if pss]
        check(seen, f"{ranks} ranks: never all of them were seen at once")
        with h5py.File(f"{folder}/results.h5") as f:
            phases = list(f["phases"].values())
            calls = [calls_of(folder, rank) for rank in range(ranks)]
            rest = [rest_of(c, phases) for c in calls]
            rows = rows_bytes(phases, ranks)
    others, pss = tuple(map(max, zip(*rest[1:]))), statistics.median(seen)
    print(f"      {ranks} ranks on {nodes} nodes: rank 0 {rest[0]}, any other at most {others} (calls, bytes); PSS per rank "
          f"{pss / 1e6:.2f} MB, at most {max(seen) / 1e6:.2f}, {len(seen)} looks", flush=True)
    return rest, pss, calls, rows


def constant(*sizes):
    """On one node each rank makes the same calls, however many ranks there are. Rank 0 also gathers the rows of all ranks, which
    it writes, and gathers and scatters a record of a few hundred bytes of each."""
    runs = {ranks: run(ranks, 1) for ranks in sizes}
    (calls, bytes_), first_pss = max(runs[sizes[0]][0][1:]), runs[sizes[0]][1]
    for ranks, (rest, pss, _, rows) in runs.items():
        for rank in rest[1:]:
            check(abs(rank[0] - calls) <= 0.02 * calls and abs(rank[1] - bytes_) <= 0.02 * bytes_,
                  f"{ranks} ranks: {rank}, not {calls, bytes_}")
        check(rest[0][0] <= calls + 25 and rest[0][1] <= 1.2 * bytes_ + 1000 * ranks + rows, f"{ranks} ranks: rank 0 {rest[0]}")
        # A sanitizer has memory of its own.
        check(SANITIZED or pss <= min(PSS_MAX, 1.05 * first_pss), f"{ranks} ranks: {pss / 1e6:.2f} MB per rank")


def equal_phases(phases):
    return {"name": "equal", "stores": {"m": {"uri": "file://./data"}},
            "phases": [{"io": {"store": "m", "name": f"p{i}", "folder": f"f{i}", "operation": "write", "count": 1, "size": "4 KiB",
                               "block": "4 KiB"}} for i in range(phases)]}


def calls_of_a_phase(ranks, nodes):
    """[(collective calls, bytes gathered)] of each rank for a phase more: of three equal phases and of one."""
    found = []
    for phases in (1, 3):
        with Folder() as folder:
            folder = os.path.realpath(folder)
            write_job(folder, equal_phases(phases))
            r = mpi(ranks, "run", "job.json", "--quiet", "--fake-nodes", nodes, cwd=folder,
                    env={"LD_PRELOAD": CALLS, "HAUL_MPI_CALLS": folder})
            check(r.rc == 0, f"{ranks} ranks, {phases} phases: {r}")
            found.append([calls_of(folder, rank) for rank in range(ranks)])
    one, three = found

    def count(calls):
        return sum(n for name, (n, _) in calls.items() if name not in BETWEEN_TWO)

    blocking = {name for a, b in zip(one, three) for name in b
                if b[name][0] > a[name][0] and not name.startswith("I") and name not in BETWEEN_TWO}
    check(not blocking, f"calls of a phase that block within MPI: {blocking}")
    return [((count(b) - count(a)) / 2, (b["Igather"][1] - a["Igather"][1]) / 2) for a, b in zip(one, three)]


def phase_calls(*sizes):
    for ranks in sizes:
        calls = calls_of_a_phase(ranks, max(1, ranks // 4))
        most = max(n for n, _ in calls)
        print(f"      {ranks} ranks: a phase makes at most {most:g} calls of MPI a rank", flush=True)
        check(0 < most <= CALLS_OF_A_PHASE, f"{ranks} ranks: {calls} (calls, bytes)")


def file_calls_of_a_phase(*words, equal=1):
    """What rank 0 asks of the file system of the results for a phase more, beside reading and writing: by name."""
    found = []
    for phases in (1, 3):
        with Folder() as folder:
            write_job(folder, equal_phases(phases if equal == 1 else equal))
            os.mkdir(f"{folder}/kept-here")
            options = [word.format(phases) for word in words]
            traced = f'if [ "$PMI_RANK" = 0 ]; then set -- strace -f -y --seccomp-bpf -e trace=%file,%desc -o trace "$@"; fi; exec "$@"'
            r = subprocess.run([MPIEXEC, "-n", "2", "sh", "-c", traced, "sh", HAUL, "run", "job.json", "--quiet", "--results",
                                "kept-here/r.h5", *options], cwd=folder, capture_output=True, text=True, timeout=HANGS_S,
                               env=environment())
            check(r.returncode == 0, f"{phases} phases: {r}")
            names = collections.Counter(m[1] for m in re.finditer(r"^\d+ +(\w+)\(.*kept-here.*$", open(f"{folder}/trace").read(), re.M))
            for name in ("execve", "read", "pread64", "write", "pwrite64", "lseek"):
                names.pop(name, None)
            found.append(names)
    return {name: (n - found[0][name]) / (2 * equal) for name, n in found[1].items() if n > found[0][name]}


def test_price_of_a_phase():
    """Calls of MPI do not grow with the ranks, and a phase on 512 nodes costs less than a second where each call of the file
    system takes 5 ms: what is counted here, put into the times above. An allreduce goes up and down a tree of all ranks."""
    phase_calls(2, 8)
    calls, gathered = calls_of_a_phase(4, 1)[1]
    net = (calls * 2 * math.ceil(math.log2(RANKS_THERE)) + NODES_THERE) * HOP_S + gathered * RANKS_THERE / BYTES_PER_S
    for what, most, asked in (("in one file", FILE_CALLS_OF_A_PHASE, file_calls_of_a_phase()),
                              ("in a side file", FILE_CALLS_OF_A_LINKED_PHASE,
                               file_calls_of_a_phase("--warmup", "1", "--repeat", "{}", equal=2))):
        files = sum(asked.values())
        print(f"      {what}: {files:g} calls of files, {calls:g} of MPI, {gathered:g} bytes a rank: "
              f"{files * FILE_CALL_S + net:.2f} s ({net * 1e3:.0f} ms without files): {asked}", flush=True)
        check(0 < files <= most, f"{what}: {asked}")
        check(files * FILE_CALL_S + net <= BOUND_S, f"{what}: {asked}, {calls} calls, {gathered} bytes")


@long
def test_price_at_16():
    phase_calls(16)


def test_calls_and_memory():
    constant(8, 16)


@long
def test_many():
    constant(8, 16, 32, 64)


@long
def test_demo():
    """The demo with 64 ranks, which need more files, takes less than a minute of two cores."""
    with Folder() as folder:
        began, used = time.monotonic(), processors_s()
        r = mpi(64, "run", "unet3d_demo", "--set", "dataset.files=256", cwd=folder)
        used = processors_s() - used
        print(f"      {time.monotonic() - began:.0f} s, {used:.0f} s of processors", flush=True)
        check(r.rc == 0 and used < 2 * 60, f"{used:.0f} s of processors: {r}")


@long
def test_many_nodes():
    """Between nodes a leader talks to those above and below it in a tree, so the mean does not grow. The longer the machine's
    other work makes a run, the more status rounds it has. Only their messages are persistent requests: rank 0, which is above
    all others here, starts as many of them as these do together, and all other calls are compared."""
    means = []
    for ranks in (16, 64):
        calls = run(ranks, ranks // 4)[2]
        rounds = [of["Start"][0] for of in calls]
        leaders = rounds[4::4]
        check(min(leaders) > 0 and abs(rounds[0] - sum(leaders)) <= 2 * len(leaders), f"{ranks} ranks: {rounds}")
        check(sum(rounds) == rounds[0] + sum(leaders), f"{ranks} ranks: {rounds}")
        means.append(sum(n for of in calls for name, (n, _) in of.items() if name != "Start") / ranks)
    check(means[1] <= 1.05 * means[0], f"{means[0]:.0f} calls per rank on 4 nodes, {means[1]:.0f} on 16")


@matrix
def test_plan_at_scale():
    """What the plan says of one worker, of the files of each GB and of what is moved, is what a run has; and it is the same for as many
    ranks of each node on 512 and 10,000 nodes."""
    batch, workers, compute_s, sample = 2, 2, 0.25, 10000
    with Folder() as folder:
        write_job(folder, {"seed": 3, "stores": {"d": {"uri": "null://"}},
                           "dataset": {"store": "d", "format": "raw", "files_per_rank": 8, "sample_bytes": sample},
                           "phases": [{"generate": {}}, {"train": {"batch": batch, "compute": compute_s, "epochs": 1, "loader": {"workers": workers}}}]})

        def planned(*size):
            r = alone("plan", "job.json", "--json", *size, cwd=folder)
            check(r.rc == 0, f"{r}")
            return json.loads(r.out)["phases"]
        each = set()
        for ranks in (4, 16, 64) if FULL else (4, 16):
            r = mpi(ranks, "run", "job.json", "--force", cwd=folder)
            check(r.rc == 0, f"{ranks}: {r}")
            made, trained = report(f"{folder}/results.h5")["phases"]
            made, trained = made["measures"], trained["measures"]
            generate, train = planned("--nodes", 1, "--ranks-per-node", ranks)
            near(generate["creates_per_gigabyte"] * made["bytes_written"] / 1e9, generate["files"], 0.05 * generate["files"], f"{ranks}: creates")
            near(train["totals"]["bytes_per_second_per_worker"] * trained["steps"] * compute_s * workers, trained["bytes_read"] / ranks,
                 0.05 * trained["bytes_read"] / ranks, f"{ranks}: of a worker")
            near(train["bytes"], trained["bytes_read"], 0.05 * trained["bytes_read"], f"{ranks}: bytes")
            near(train["totals"]["loader_bytes_per_node"], ranks * workers * 2 * batch * sample, 1, f"{ranks}: loader")
            for nodes in 1, 512, 10000:
                totals = planned("--nodes", nodes, "--ranks-per-node", ranks)[1]["totals"]
                each.add((round(totals["bytes_per_second_per_worker"]), round(totals["loader_bytes_per_node"] / ranks)))
        check(len(each) == 1, f"{each}")


main()
