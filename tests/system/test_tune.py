# SPDX-License-Identifier: Apache-2.0
"""Searching for the best of several settings (haul run --tune), on sim://, whose best follows by hand."""
import os
import signal
import time

import h5py

from haultest import *

KIB = 1024
SECONDS = 0.16


def io_job(**options):
    """A request takes 4 ms, whatever its size: the rate is threads x depth x block / 4 ms."""
    return {"name": "io", "stores": {"data": {"uri": "sim://known", "latency": "4 ms"}},
            "phases": [{"io": {"operation": "read", "store": "data", "size": 128 * KIB, "block": 16 * KIB, "objects": 64, "verify": "none",
                               "passes": 0, "seconds": SECONDS, **options}}]}


def tune(folder, *more, job=None, ranks=1):
    write_job(folder, job or io_job())
    r = mpi(ranks, "run", "job.json", "--force", *more, cwd=folder)
    found = report(f"{folder}/results.h5") if os.path.exists(f"{folder}/results.h5") else None
    return r, found


def sets(found, state):
    return [row["sets"] for row in found["tune"]["settings"] if row["state"] == state]


def test_best():
    with Folder() as folder:
        r, found = tune(folder, "--tune", "io.threads=1..4", "--tune", "io.depth=1,2", "--repeat", 3)
        check(r.rc == 0, f"{r}")
        t = found["tune"]
        best = ["io.threads=4", "io.depth=2"]
        check(t["end"] == "found" and t["better"] and sets(found, "best") == [best], f"{t}")
        near(t["times"], 8, 2.5, "4 threads with 2 requests each, against one with one")
        check(t["times_low"] <= t["times"] <= t["times_high"], f"{t}")
        check((t["combinations"], t["left_out"], t["rounds"], t["repeats"]) == (6, 0, 1, 3), f"{t}")
        check((t["phase"], t["figure"], t["unit"]) == ("io", "bytes_rate_last_done", "B/s"), f"{t}")
        # The job as it is has 1 and 1, which is one of the settings, and is in the final although it is the worst.
        as_is = [row for row in t["settings"] if row["as_is"]]
        check(len(as_is) == 1 and as_is[0]["sets"] == ["io.threads=1", "io.depth=1"] and as_is[0]["state"] == "worse", f"{as_is}")
        check(len(t["settings"]) == 6 and len(sets(found, "dropped")) == 2, f"{t['settings']}")
        check(found["headline"].startswith("io: io.threads=4, io.depth=2 is the best of 6 settings"), found["headline"])
        text = " ".join(r.out.split())
        check("times as fast as the job as it is" in text and "worse; as it is" in text and "lost round 1" in text, r.out)
        # Only the runs of the final count: those of the round are warm-ups, and comparisons agree with the verdict.
        judged = [p for p in found["phases"] if not p["warmup"]]
        check(len(judged) == 4 * 3 and len(found["phases"]) == 6 + 4 * 3 == found["runs"], f"{len(judged)}")
        check({row["repeats"] for row in found["series"]} == {3}, f"{found['series']}")
        with h5py.File(f"{folder}/results.h5") as h:
            rows = h["tune/settings"][:]
            check(h["tune"].attrs["better"] == 1 and rows[0]["sets"].decode() == "\t".join(best), "/tune")
            check(rows[0]["state"] == b"best" and [int(n) for n in rows["repeats"][:4]] == [3] * 4, f"{rows}")
        # The job with the best settings runs as it is.
        with open(f"{folder}/results.tuned.json") as file:
            tuned = json.load(file)["phases"][0]["io"]
        check((tuned["threads"], tuned["depth"]) == (4, 2) and found["job"]["phases"][0]["io"]["threads"] == 1, f"{tuned}")
        check("with the best settings: results.tuned.json" in r.out, r.out)
        check(alone("plan", "results.tuned.json", cwd=folder).rc == 0, "the tuned job")
        page = alone("report", "--html", "page.html", "results.h5", cwd=folder)
        check(page.rc == 0 and '"better":true' in open(f"{folder}/page.html").read(), f"{page}")


@long
@timing
def test_many():
    """The best of 64 settings, in at most a quarter of the time that 5 repeats of all of them would take."""
    with Folder() as folder:
        r, found = tune(folder, "--tune", "io.threads=1..8", "--tune", "io.depth=1..8", "--tune", "io.block=16 KiB..128 KiB",
                        "--tuned", "best.json", "--set", "io.seconds=0.4")
        check(r.rc == 0, f"{r}")
        t = found["tune"]
        check(t["combinations"] == 64 and t["better"], f"{t}")
        check(sets(found, "best") == [["io.threads=8", "io.depth=8", "io.block=128 KiB"]], f"{t['settings'][:4]}")
        spent = sum(p["seconds"] for p in found["phases"])
        check(spent <= 64 * 5 * 0.4 / 4, f"{spent} s")
        with open(f"{folder}/best.json") as file:
            tuned = json.load(file)["phases"][0]["io"]
        check((tuned["threads"], tuned["depth"]) == (8, 8), f"{tuned}")


def test_by():
    """By a latency, which shall be small; a phase that is named; and figures that are not there."""
    with Folder() as folder:
        job = io_job(name="other")
        job["stores"]["data"] = {"uri": "sim://known", "rank_bandwidth": "64 MB/s"}
        # With N threads a request of 16 KiB waits for N of them.
        r, found = tune(folder, "--tune", "other.threads=4,1,2", "--tune-by", "other.p99", "--repeat", 2, job=job)
        check(r.rc == 0, f"{r}")
        t = found["tune"]
        check(t["less"] and t["figure"] == "target_p99" and sets(found, "best") == [["other.threads=1"]], f"{t}")
        check(t["settings"][0]["as_is"] and not t["better"], f"{t}")
        check("none of 3 settings is shown to be better than the job as it is" in found["headline"], found["headline"])
        with open(f"{folder}/results.tuned.json") as file:
            check(json.load(file)["phases"][0]["io"]["threads"] == 1, "the job as it is")


def test_left_out():
    """What cannot run is left out with a note, by the plan and by the run alike."""
    asked = ("--tune", "stores.data.engine=psync,uring", "--tune", "read.depth=1,4", "--repeat", 2)
    with Folder() as folder:
        job = io_job(name="read", passes=1, seconds=0, objects=4)
        job["stores"]["data"] = {"uri": f"file://{folder}/data"}
        job["phases"].insert(0, {"io": {"name": "make", "operation": "write", "store": "data", "size": 128 * KIB, "objects": 4}})
        job["phases"].append({"io": {"name": "delete", "operation": "delete", "store": "data", "size": 128 * KIB, "objects": 4}})
        r, found = tune(folder, *asked, "--live", "live.jsonl", job=job)
        with open(f"{folder}/live.jsonl", encoding="utf-8") as file:
            check({json.loads(line)["runs"] for line in file} == {8}, "runs of those that can run")
        check(r.rc == 0 and r.err.count("left out: --tune stores.data.engine=psync, read.depth=4") == 1, f"{r}")
        t = found["tune"]
        check(t["left_out"] == 1 and sets(found, "left out") == [["stores.data.engine=psync", "read.depth=4"]], f"{t}")
        # What is read is made once, before the first run, and removed after the last one.
        names = [p["name"] for p in found["phases"]]
        check(names == ["make"] + ["read"] * (len(names) - 2) + ["delete"], f"{names}")
        left = [os.path.join(at, name) for at, _, files in os.walk(f"{folder}/data") for name in files]
        check(names[0] == "make" and not [name for name in left if os.path.getsize(name) >= 128 * KIB], f"{left}")
        check(t["phase"] == "read" and "reads of the search are cold" in r.err, f"{t}")
        planned = alone("plan", "job.json", *asked, cwd=folder)
        check(planned.rc == 0 and "left out: stores.data.engine=psync, read.depth=4" in planned.err, f"{planned}")
        check("the best of 4 settings, 1 left out: 0 rounds and a final, at most 8 runs" in planned.out, planned.out)
        check("writes 524 kB in all · data are made once" in planned.out or "writes 524.3 kB in all · data are made once" in planned.out,
              planned.out)
        check("each run is whole" in planned.out and " in all" in planned.out, planned.out)


def test_plan():
    """How many runs, and how long: the rounds are shorter than the final."""
    with Folder() as folder:
        write_job(folder, io_job(seconds=8))
        r = alone("plan", "job.json", "--tune", "io.threads=1..8", "--tune", "io.depth=1..8", "--tune", "io.block=16 KiB..128 KiB",
                  cwd=folder)
        # 64/8 + 32/8 + 16/4 + 8/2 + 4, and 4 x 5 in the final.
        check(r.rc == 0 and "5 rounds and a final, at most 144 runs" in r.out and "5.87 min at most" in r.out, f"{r}")
        check("data are made once" not in r.out, r.out)


def test_refused():
    cases = [
        (("--tune", "io.threads=1"), "one value leaves no choice"),
        (("--tune", "io.threads=1-16"), "write io.threads=1,4,16, or io.threads=1..16"),
        (("--tune", "io.thread=1,2"), "threads"),
        (("--tune", "io.threads=0,1"), "must be at least 1"),
        (("--tune", "threads"), "path=a,b,c"),
        (("--tune", "io.threads=1,2", "--tune-by", "io.p98"), "no figure and no target \"p98\""),
        (("--tune", "io.threads=1,2", "--tune-by", "train.au"), "no phase \"train\""),
        (("--tune", "io.threads=1,2", "--sweep", "io.depth=1,2"), "excludes --sweep"),
        (("--tune", "io.threads=1,2", "--find", "io.depth=1..2", "--until", "io.p99 <= 1 s"), "exclude each other"),
        (("--tune", "io.threads=1,2", "--repeat", "1"), "2 to 16"),
        (("--tune-by", "io.p99"), "needs --tune"),
        (("--tuned", "x.json"), "needs --tune"),
        (("--tune", "io.threads=1..1024", "--tune", "io.depth=1..1024", "--tune", "io.objects=1..1024"), "too many"),
    ]
    with Folder() as folder:
        for more, words in cases:
            r, found = tune(folder, *more)
            check(r.rc == 2 and words in r.err and not found, f"{more}: {r}")
        # No file that stands there is replaced unasked.
        open(f"{folder}/best.json", "w").close()
        r = mpi(1, "run", "job.json", "--tune", "io.threads=1,2", "--tuned", "best.json", cwd=folder)
        check(r.rc == 2 and "best.json exists" in r.err and not os.path.getsize(f"{folder}/best.json"), f"{r}")


def test_signal():
    """A run that is stopped keeps what it knows, and writes no job."""
    with Folder() as folder:
        write_job(folder, io_job())
        process = start(1, "run", "job.json", "--tune", "io.threads=1..128", "--tune", "io.depth=1..32", "--grace", "60 s", cwd=folder)
        began = time.monotonic()
        while process.poll() is None and time.monotonic() - began < HANGS_S:
            try:
                with h5py.File(f"{folder}/results.h5") as h:
                    if sum(h["tune/settings"]["rounds"] > 0) >= 3:
                        break
            except (OSError, KeyError):
                pass
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        finish(process, began)
        found = report(f"{folder}/results.h5")
        t = found["tune"]
        check(t["end"] == "stopped" and not t["better"] and t["settings"][0]["mean"] > 0, f"{t}")
        check(found["headline"].startswith("Stopped early: of 48 settings, "), found["headline"])
        check(not os.path.exists(f"{folder}/results.tuned.json"), "a job was written")


main()
