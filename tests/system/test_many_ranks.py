"""Many ranks on few cores: what one rank asks of MPI and the memory that it takes do not grow with the number of ranks.

test_many_ranks.py CALLS_LIBRARY"""
import statistics
import sys
import time

import h5py

from haultest import *

CALLS = sys.argv.pop(1)
PSS_MAX = 10e6


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
    a histogram that some rank has used (8 bytes merged, 4 written), and of each second of a timeline (32 merged)."""
    measured = sum(12 * h["counts"].size for p in phases for h in p["histograms"].values())
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
            else:
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
          f"{pss / 1e6:.2f} MB, at most {max(seen) / 1e6:.2f}", flush=True)
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


main()
