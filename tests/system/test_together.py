# SPDX-License-Identifier: Apache-2.0
"""Phases that run at the same time, each on ranks of its own: who ends whom, what is published, and how they share a
store whose answers are known."""
import json
import os
import signal
import time

import h5py

from haultest import *

MIB = 1 << 20
RANKS = 4


def reader(ranks="3", **more):
    """Reads for an hour, unless it is ended."""
    return {"io": {"name": "reader", "ranks": ranks, "operation": "read", "folder": "x", "objects": 2,
                   "size": "8 MiB", "block": "1 MiB", "passes": 0, "seconds": 3600, **more}}


def train(ranks="0-1", **more):
    return {"train": {"ranks": ranks, "null_steps": 0, "shuffle": "none", "compute": "2 ms",
                      "loader": {"workers": 2}, **more}}


def job_of(*phases, files=60, bandwidth="200 MB/s", stores=None, **beside):
    return {"name": "together", "seed": 3,
            "stores": {"data": {"uri": "sim://shared", "bandwidth": bandwidth}, **(stores or {})},
            "dataset": {"store": "data", "format": "raw", "files": files, "sample_bytes": MIB},
            "phases": [{"together": list(phases), **beside}]}


def run(folder, job, *args, wanted=0, ranks=RANKS):
    write_job(folder, job)
    r = mpi(ranks, "run", "job.json", "--force", *args, cwd=folder)
    check(r.rc == wanted, f"exit status {wanted} is wanted: {r}")
    return r, {p["name"]: p for p in report(f"{folder}/results.h5")["phases"]}


def present(folder, number, name):
    with h5py.File(f"{folder}/results.h5") as f:
        return [int(x) for x in f[f"phases/{number}_{name}/ranks"]["present"]]


def overlap(a, b):
    """Seconds that two phases have in common, and those from the first beginning to the last end."""
    common = min(a["finished"], b["finished"]) - max(a["started"], b["started"])
    return common, max(a["finished"], b["finished"]) - min(a["started"], b["started"])


@pauses(60, 1000)
def test_first_end(files):
    """The training ends, and the reader with it; rank 2 waits. Both have their own results."""
    with Folder() as folder:
        _, p = run(folder, job_of(train(), reader(), files=files))
        check(p["train"]["status"] == "done" and p["reader"]["status"] == "ended", f"{p}")
        check(p["train"]["epochs"][0]["samples"] == files, f"each sample once: {p['train']['epochs']}")
        check(p["train"]["bytes_read"] == files * MIB, f"{p['train']['bytes_read']} bytes")
        check(p["reader"]["bytes_read"] > 0 and p["reader"]["errors"] == 0, f"{p['reader']}")
        check(present(folder, 0, "train") == [1, 1, 0, 0] and present(folder, 1, "reader") == [0, 0, 0, 1], "present")
        check(p["train"]["together"] == {"entry": 0, "set": "ranks 0-1", "alone": False, "against_alone": None},
              f"{p['train']['together']}")
        check(p["reader"]["together"]["set"] == "ranks 3", f"{p['reader']['together']}")
        # The reader begins before the training ends: they have met.
        check(overlap(p["train"], p["reader"])[0] > 0, f"{p}")
        with h5py.File(f"{folder}/results.h5") as f:
            check(f["phases/0_train"].attrs["together"] == b"ranks 0-1", "attribute together")
            check(list(f["summary"]["phase"]) == [b"train", b"reader"], "names in the summary")
            check(f["stores"]["name"][0] == b"data", "the store is on record")
        text = alone("report", "results.h5", cwd=folder).out
        check("reader: ended with a phase beside it" in text, text)


def test_until_all():
    """Each ends with its own work. Rank 0 waits for the others, and writes their progress."""
    work = {"seconds": 0, "passes": 40}
    with Folder() as folder:
        job = job_of(train(ranks="0", steps=2), reader(ranks="1,3", **work), bandwidth="400 MB/s", until="all")
        r, p = run(folder, job)
        check(p["train"]["status"] == "done" and p["reader"]["status"] == "done", f"{p}")
        check(p["reader"]["bytes_read"] == 2 * 40 * 16 * MIB, f"{p['reader']['bytes_read']} bytes")
        check(present(folder, 1, "reader") == [0, 1, 0, 1], "present")
        check("reader: io" in r.err, f"the progress of the reader: {r}")
        check(p["reader"]["finished"] > p["train"]["finished"], f"{p}")


def test_error_ends_all():
    stores = {"bad": {"uri": "sim://bad", "failure_rate": 1}}
    with Folder() as folder:
        job = job_of(train(epochs=1000, compute="20 ms"), reader(store="bad", warmup=0), stores=stores, until="all")
        r, p = run(folder, job, wanted=1)
        check("sim://bad/" in r.err, f"the sentence is the reader's: {r}")
        check(p["reader"]["status"] == "failed" and "sim://bad/" in p["reader"]["error"], f"{p['reader']}")
        check(p["train"]["status"] == "interrupted" and p["train"]["error"] == "", f"{p['train']}")
        check(p["reader"]["failures"][0]["rank"] == 3, f"{p['reader']['failures']}")


def test_no_begin():
    """A phase that fails before it begins ends the others, which wait for it."""
    stores = {"gone": {"uri": "file:///nonexistent/folder"}}
    with Folder() as folder:
        write_job(folder, job_of(train(), reader(store="gone"), stores=stores))
        r = mpi(RANKS, "run", "job.json", cwd=folder)
        check(r.rc == 1 and "nonexistent" in r.err, f"{r}")


def test_deadline():
    with Folder() as folder:
        _, p = run(folder, job_of(train(epochs=100000), reader(), until="all"), "--deadline", "2 s", "--grace", "60 s", wanted=4)
        check({x["status"] for x in p.values()} == {"interrupted"}, f"{p}")


def process_of(rank):
    """The process of that rank, by what the launcher told it."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            told = open(f"/proc/{pid}/environ").read().split("\0")
            if f"PMI_RANK={rank}" in told and f"TOGETHER_TEST={os.getpid()}" in told \
                    and os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(HAUL):
                return int(pid)
        except OSError:
            pass
    raise AssertionError(f"no process of rank {rank}")


def wait_for_phases_at_once(process, path):
    """Until a line of --live tells that the phases run beside each other."""
    while process.poll() is None:
        time.sleep(0.05)
        if os.path.exists(path):
            with open(path) as f:
                rows = [json.loads(line) for line in f if line.endswith("\n")]
            if any(row["state"] == "running" and row["beside"] for row in rows):
                return
    raise AssertionError("the phases never ran beside each other")


def test_signal():
    """A signal to one rank that takes part in no phase, the first of the second node, ends all of them."""
    job = job_of(train(epochs=100000), reader(), until="all")
    job["phases"].insert(0, {"io": {"operation": "write", "folder": "y", "objects": 1, "size": "1 MiB"}})
    with Folder() as folder:
        write_job(folder, job)
        began = time.monotonic()
        process = start(RANKS, "run", "job.json", "--fake-nodes", "2", "--live", "live.jsonl", cwd=folder,
                        env={"TOGETHER_TEST": str(os.getpid())})
        wait_for_phases_at_once(process, f"{folder}/live.jsonl")
        os.kill(process_of(2), signal.SIGTERM)
        r = finish(process, began)
        check(r.rc == 4, f"{r}")
        statuses = [x["status"] for x in report(f"{folder}/results.h5")["phases"]]
        check(statuses == ["done", "interrupted", "interrupted"], f"{statuses}")


def test_nodes_and_names():
    """By nodes; a phase that --only names runs on its ranks; --set knows names within."""
    by_node = [train(), reader()]
    for n, phase in enumerate(by_node):
        options = next(iter(phase.values()))
        del options["ranks"]
        options["nodes"] = str(n)
    with Folder() as folder:
        _, p = run(folder, job_of(*by_node), "--fake-nodes", "2", "--set", "train.batch=3")
        check(present(folder, 0, "train") == [1, 1, 0, 0] and present(folder, 1, "reader") == [0, 0, 1, 1], "present")
        check(p["train"]["epochs"][0]["steps"] == 10, f"{p['train']['epochs']}")
        check(p["train"]["together"]["set"] == "nodes 0", f"{p['train']['together']}")
        _, p = run(folder, job_of(*by_node), "--fake-nodes", "2", "--only", "reader", "--set", "reader.seconds=0.2")
        check(list(p) == ["reader"] and p["reader"]["status"] == "limit", f"{p}")
        check(present(folder, 0, "reader") == [0, 0, 1, 1], "present")


def test_plan():
    with Folder() as folder:
        write_job(folder, job_of(train(compute="10 ms", target_au=0.9), train(ranks="2-3", name="other", compute="5 ms")))
        r = alone("plan", "job.json", "--ranks-per-node", RANKS, "--json", cwd=folder)
        check(r.rc == 0, f"{r}")
        plan = json.loads(r.out)
        near(plan["together"][0]["demand"]["bytes_per_second"], 2 * MIB / 0.010 + 2 * MIB / 0.005, 1, "sum of both")
        check(plan["together"][0]["phases"] == [0, 1] and plan["phases"][1]["ranks"] == 2, f"{plan['together']}")
        r = alone("plan", "job.json", "--ranks-per-node", RANKS, cwd=folder)
        check("together   train on ranks 0-1, other on ranks 2-3 · need 629.1 MB/s" in r.out, f"{r}")
        r = alone("plan", "job.json", "--ranks-per-node", 2, cwd=folder)
        check(r.rc == 2 and "/phases/0/together/1/train/ranks: names rank 3; there are ranks 0 to 1" in r.err, f"{r}")


@timing
def test_shares():
    """Training and plain reads on one store of 200 MB/s: 2 ranks with 2 workers keep four requests of 1 MiB there, the
    reader has two, and the store serves them in the order in which they come. So the training has two thirds."""
    with Folder() as folder:
        write_job(folder, job_of(train(compute="1 ms", seconds=2.4), reader(depth=2, seconds=2), files=20000, alone=True))
        r = mpi(RANKS, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        phases = report(f"{folder}/results.h5")["phases"]
        lost = {p["number"]: machine_took_s(folder, p) / p["seconds"] / RANKS for p in phases}
        by_name = {(p["name"], p["together"]["alone"]): p for p in phases}
        a, b = by_name["train", False], by_name["reader", False]
        check(a["status"] == "ended" and b["status"] == "limit", f"{a['status']}, {b['status']}")
        for p, share in ((a, 4 / 6), (b, 2 / 6)):
            rates = p["together"]["against_alone"]["bytes_per_second"]
            within = 0.03 + lost[p["number"]]
            near(p["bytes_read"] / p["seconds"] / 200e6, share, within * share, f"share of {p['name']}")
            near(rates["together"] / rates["alone"], share, 2 * within * share, f"{p['name']} against alone")
        common, all_seconds = overlap(a, b)
        check(common >= (0.95 - lost[a["number"]]) * all_seconds, f"overlap: {common} of {all_seconds} s")
        with h5py.File(f"{folder}/results.h5") as f:
            names = [x.decode() for x in f["summary"]["phase"]]
            check(names == ["train, alone", "reader, alone", "train", "reader"], f"{names}")
            for p in (a, b):
                rows = f[f"phases/{p['number']}_{p['name']}/timeline/bytes_read"][:]
                check((rows[:2] > 0).all(), f"{p['name']} reads in each second: {rows}")
        text = alone("report", "results.h5", cwd=folder).out
        check("train on ranks 0-1 beside others: AU" in text and "reader on ranks 3 beside others:" in text, text)


main()
