# SPDX-License-Identifier: Apache-2.0
"""Phases that are published while they run: a run that is killed keeps figures that agree with each other and with the job,
a run that is not killed ends with the same figures as without, and what cannot be published so is refused."""
import contextlib
import os
import signal
import time

import h5py

from haultest import *

MB = 1000 * 1000
RANKS, SAMPLE, BATCH = 2, MB, 2
COMPUTE_NS = 10 * MB


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def job(*phases, files=400):
    """A rank gets 50 MB/s, so a batch of a training takes 40 ms, four times as long as its compute."""
    return {"name": "every", "seed": 3, "stores": {"data": {"uri": "sim://known", "rank_bandwidth": 50 * MB}},
            "dataset": {"store": "data", "format": "raw", "files": files, "sample_bytes": SAMPLE}, "phases": list(phases)}


def train(**more):
    return {"train": {"null_steps": 0, "batch": BATCH, "compute": "10 ms", "warmup_steps": 0, "shuffle": "none",
                      "loader": {"workers": 1, "prefetch": 2}, **more}}


def io(**more):
    return {"io": {"operation": "write", "folder": "x", "objects": 1, "size": "100 MB", "block": "1 MB", **more}}


def wait_until(process, path, holds):
    """Waits until the results file holds what is wanted, and returns the number and kind of its last phase."""
    end = time.monotonic() + HANGS_S
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
        try:
            with h5py.File(path) as f:
                if len(f["phases"]):
                    name = max(f["phases"], key=lambda n: int(n.split("_")[0]))
                    if holds({k: v for k, v in f["phases"][name].attrs.items()}):
                        return
        except (OSError, KeyError):
            pass
    raise AssertionError("the phase was not published while it ran")


def kill(process):
    began = time.monotonic()
    ranks, all_of_them = ranks_of(process).values(), processes_of(process)
    # At once, so that none speaks for the others. The launcher is stopped, too: when it sees a rank die it ends the parents of the
    # others, and the kernel wakes those (ranks/run/shelter.h).
    for number, pids in ((signal.SIGSTOP, all_of_them), (signal.SIGKILL, ranks), (signal.SIGCONT, set(all_of_them) - set(ranks))):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    r = finish(process, began)
    check(r.rc != 0, f"{r}")


def running(attributes, after_s=0):
    return text(attributes["status"]) == "running" and float(attributes["seconds"]) > after_s


def check_reads(group):
    """What is counted in several places is the same in all."""
    a, rows = group.attrs, group["ranks"][:]
    reads = group["histograms/read/counts"][:].sum()
    check(a["bytes_read"] == reads * SAMPLE == rows["bytes_read"].sum() == group["timeline/bytes_read"][:].sum(),
          f"{a['bytes_read']} bytes, {reads} reads")
    # sim:// cannot give more; it gives each rank what it asks for at once and as a whole.
    for row in rows:
        check(0 < row["bytes_read"] <= (float(a["seconds"]) + 1) * 50 * MB, f"{row['bytes_read']} in {a['seconds']} s")
    return rows


def test_killed_training():
    with Folder() as folder:
        write_job(folder, job(train(epochs=1000, evaluation={"every": 1, "batch": 2}), files=40))
        path = f"{folder}/results.h5"
        process = start(RANKS, "run", "job.json", "--publish-every", "1 s", "--quiet", cwd=folder)
        wait_until(process, path, lambda a: running(a, after_s=1.8))
        kill(process)
        with h5py.File(path) as f:
            p = f["phases/0_train"]
            check(text(f.attrs["status"]) == "interrupted" and len(f["summary"]) == 1, "the file says what it is")
            rows, a = check_reads(p), p.attrs
            check(len(rows) == RANKS and a["steps"] > 0, f"{rows}")
            for row in rows:
                check(abs(int(row["steps"]) - int(a["steps"])) <= 1, f"{row['steps']} of {a['steps']} steps")
                check(row["logical_bytes"] == row["samples"] * SAMPLE <= row["bytes_read"], f"{row}")
                check(row["au_compute_ns"] == row["steps"] * COMPUTE_NS, f"{row['au_compute_ns']}")
                # A step takes at least as long as its batch, but for those read ahead at the beginning.
                least = (int(row["au_steps"]) - 4 * len(p["epochs"])) * BATCH * SAMPLE / (50 * MB) * 1e9
                check(row["au_wall_ns"] >= least, f"{row['au_wall_ns']}, at least {least}")
            au = rows["au_compute_ns"].sum() / rows["au_wall_ns"].sum()
            check(abs(float(a["au"]) - au) < 1e-9 and 0 < au <= 1, f"AU {a['au']}, by hand {au}")
            check(sum(p["epochs"]["samples"]) == a["samples"], f"{p['epochs'][:]} of {a['samples']}")
        told = report(path)["phases"][0]
        check(told["status"] == "running", f"{told}")
        check("train: was still running when it was last published" in alone("report", path).out, "the report does not tell")
        # What was left beside it is in nobody's way.
        write_job(folder, job(train(steps=2)))
        r = mpi(RANKS, "run", "job.json", "--force", cwd=folder)
        check(r.rc == 0 and sorted(os.listdir(folder)) == ["job.json", "results.h5"], f"{os.listdir(folder)} {r}")


def test_killed_in_a_series():
    with Folder(MEMORY) as folder:
        write_job(folder, job(io(), io(operation="read", name="again", passes=2)))
        path = f"{folder}/results.h5"
        process = start(RANKS, "run", "job.json", "--publish-every", "1 s", "--repeat", 2, "--quiet", cwd=folder)
        wait_until(process, path, lambda a: running(a) and int(a["run"]) == 2 and text(a["name"]) == "again")
        kill(process)
        with h5py.File(path) as f:
            status = [text(f["phases"][n].attrs["status"]) for n in sorted(f["phases"])]
            check(status == ["done"] * 3 + ["running"] and len(f["summary"]) == 4, f"{status}")
            rows = check_reads(f["phases/3_again"])
            for row in rows:
                check(row["done_bytes"] == row["done"] * SAMPLE and row["done"] == row["reads"], f"{row}")
            check(f["phases/1_again"].attrs["done"] == 2 * RANKS * 100, "the first run is not whole")
        phases = report(path)["phases"]
        check([p["run"] for p in phases] == [1, 1, 2, 2] and phases[3]["status"] == "running", f"{phases}")
        # A phase that was running is no repeat.
        check({s["phase"]: s["repeats"] for s in report(path)["series"]} == {"io": 2, "again": 1}, "repeats")


def test_last_words_keep_the_fuller():
    """A rank that is left has its own figures only. What all of them had published before stays, if it is more."""
    with Folder() as folder:
        write_job(folder, job(io(), io(operation="read", name="again", passes=1000)))
        path = f"{folder}/results.h5"
        process = start(4, "run", "job.json", "--publish-every", "2 s", "--quiet", cwd=folder)
        wait_until(process, path, lambda a: running(a) and text(a["name"]) == "again")
        with h5py.File(path) as f:
            before = int(f["phases/1_again"].attrs["bytes_read"])
        began = time.monotonic()
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        r = finish(process, began)
        with h5py.File(path) as f:
            p = f["phases/1_again"]
            check(int(p.attrs["bytes_read"]) >= before > 0, f"{p.attrs['bytes_read']}, before it was {before}: {r}")
            check(text(p.attrs["status"]) != "running" or sum(row["bytes_read"] > 0 for row in p["ranks"]) == 4, f"{r}")
            check(text(f.attrs["status"]) != "done", f"{r}")


COUNTS = ("bytes_read", "bytes_written", "operations", "errors", "retries", "samples", "logical_bytes", "steps", "au_steps",
          "au_compute_ns", "files_made", "files_kept", "done", "done_bytes", "reads", "writes", "opens", "closes")


def names(folder):
    with h5py.File(f"{folder}/results.h5") as f:
        found = []
        f.visit(found.append)
        return [n for n in found if "client" not in n]


@pauses(1, 4)
def test_ends_as_without(longer):
    size = f"{80 * longer} MB"
    phases = [{"generate": {}}, train(), io(size=size), io(size=size, operation="read")]
    with Folder() as with_it, Folder() as without:
        runs = []
        for folder, more in ((with_it, ["--publish-every", "1 s"]), (without, [])):
            write_job(folder, job(*phases, files=120 * longer))
            runs.append(start(RANKS, "run", "job.json", *more, cwd=folder))
        for process in runs:
            r = finish(process, time.monotonic())
            check(r.rc == 0, f"{r}")
        check(sorted(os.listdir(with_it)) == ["job.json", "results.h5"], f"{os.listdir(with_it)}")
        check(names(with_it) == names(without), "not the same data sets")
        one, other = (report(f"{folder}/results.h5")["phases"] for folder in (with_it, without))
        check(len(one) == len(other) == len(phases), f"{len(one)} phases")
        for a, b in zip(one, other):
            check(a["status"] == b["status"] == "done", f"{a['status']}")
            counts = {n: a["measures"][n] for n in COUNTS if n in a["measures"]}
            check(counts == {n: b["measures"][n] for n in counts}, f"{a['measures']} {b['measures']}")
            check("published" in a["said"] and "while it ran" in a["said"], f"{a['said']}")
            check("while it ran" not in b["said"], f"{b['said']}")


VECTOR = {"index": "diskann", "vectors": 4000, "dimension": 64, "folder": "v"}


def test_killed_searches_of_vectors():
    """Searches, and merges beside them: what was published while they ran has queries whose reads agree with each other."""
    for more in ({}, {"inserts": 2000, "deletes": 2000, "merge_at": 1000, "spread": "segments", "segments": 4}):
        with Folder() as folder:
            said = {"seed": 3, "stores": {"d": {"uri": f"file://{folder}/data"}},
                    "phases": [{"vector": {"name": "build", "operation": "build", **VECTOR, **{k: v for k, v in more.items() if k == "segments"}}},
                               {"vector": {"name": "search", "operation": "search", "seconds": 1000, **VECTOR, **more}}]}
            write_job(folder, said)
            path = f"{folder}/results.h5"
            process = start(RANKS, "run", "job.json", "--publish-every", "1 s", "--quiet", cwd=folder)
            # A slow machine merges for longer than what lies between two publications.
            wait_until(process, path, lambda a: running(a, after_s=1.8) and text(a["name"]) == "search" and (not more or a["merges"] > 0))
            kill(process)
            with h5py.File(path) as f:
                p = f["phases/1_search"]
                a, rows = p.attrs, p["ranks"][:]
                check(len(rows) == RANKS and 0 < a["bytes_read"] == rows["bytes_read"].sum(), f"{rows}")
                if more:
                    # A query is answered by the slowest rank, which the ranks tell each other at the end.
                    check(a["merges"] > 0 and a["bytes_written"] == a["merge_written_bytes"] > 0, f"{rows}")
                else:
                    check(a["queries"] == rows["queries"].sum() == p["histograms/query/counts"][:].sum() > 0, f"{a['queries']} queries, {rows['queries']}")
                    check(float(a["queries_rate"]) > 0, f"{a['queries_rate']} per second")
            r = mpi(RANKS, "clean", "job.json", cwd=folder)
            check(r.rc == 0 and not os.path.exists(f"{folder}/data/v"), f"{r}")


def test_a_rank_of_searches_is_lost():
    """The others say what all have done: a phase of vectors is interrupted as each other kind is."""
    with Folder() as folder:
        write_job(folder, {"seed": 3, "stores": {"d": {"uri": f"file://{folder}/data"}},
                           "phases": [{"vector": {"name": "build", "operation": "build", **VECTOR}},
                                      {"vector": {"name": "search", "operation": "search", "seconds": 1000, **VECTOR}}]})
        path, began = f"{folder}/results.h5", time.monotonic()
        process = start(RANKS, "run", "job.json", "--publish-every", "1 s", "--quiet", cwd=folder)
        wait_until(process, path, lambda a: running(a, after_s=1.8) and text(a["name"]) == "search")
        os.kill(max(ranks_of(process).items())[1], signal.SIGKILL)
        r = finish(process, began)
        check(r.rc != 0, f"{r}")
        with h5py.File(path) as f:
            p = f["phases/1_search"]
            check(text(f["phases/0_build"].attrs["status"]) == "done" and text(p.attrs["status"]) in ("interrupted", "running"),
                  f"{dict(p.attrs)}")
            check(p.attrs["queries"] > 0 and p["ranks"][:]["queries"].sum() == p.attrs["queries"], f"{p.attrs['queries']}")


def test_phases_together_say_that_they_wait():
    together = {"together": [{"train": {**train()["train"], "ranks": "0"}}, {"io": {**io()["io"], "ranks": "1"}}]}
    with Folder() as folder:
        write_job(folder, job(together))
        r = mpi(RANKS, "run", "job.json", "--publish-every", "1 min", cwd=folder)
        said = [p["said"] for p in report(f"{folder}/results.h5")["phases"]]
        check(r.rc == 0 and len(said) == 2 and all("published only now that all phases of the set have ended" in s for s in said), f"{r} {said}")


def test_refusals():
    with Folder() as folder:
        for phases, every, says in (([train()], "10 ms", "--publish-every: must be at least 1 s"),
                                    ([train()], "often", "--publish-every")):
            write_job(folder, job(*phases))
            r = mpi(RANKS, "run", "job.json", "--publish-every", every, cwd=folder)
            check(r.rc == 2 and says in r.err and not os.path.exists(f"{folder}/results.h5"), f"{r}")


main()
