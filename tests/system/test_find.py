# SPDX-License-Identifier: Apache-2.0
"""Searching for the greatest load that meets a target (haul run --find), on sim://, whose answers follow by hand."""
import math
import os
import re
import signal
import time

import h5py

from haultest import *

MB = 1000 * 1000


def io_job(slower=1, **options):
    """Reads of 1 MB from a store of 100 MB/s, or of so much less: with N threads a read waits for N of them, so it takes N x 10 ms.
    A thread that wakes later than that loses its turn to another one."""
    return {"name": "io", "stores": {"data": {"uri": "sim://known", "bandwidth": 100 * MB // slower}},
            "phases": [{"io": {"operation": "read", "store": "data", "size": MB, "block": MB, "objects": 1024, "verify": "none",
                               "seconds": f"{400 * slower} ms", **options}}]}


def train_job(bandwidth):
    """A rank asks for 1 MB every 40 ms: 25 MB/s, which its loader reads ahead."""
    return {"name": "train", "stores": {"data": {"uri": "sim://known", "bandwidth": bandwidth}},
            "dataset": {"store": "data", "format": "raw", "files": 240, "sample_bytes": MB},
            "phases": [{"generate": {}},
                       {"train": {"null_steps": 0, "batch": 1, "compute": "40 ms", "steps": 30, "loader": {"workers": 1},
                                  "warmup_steps": 8}}]}


def find(folder, ranks, *more, job=None):
    if job:
        write_job(folder, job)
    r = mpi(ranks, "run", "job.json", "--force", *more, cwd=folder)
    found = report(f"{folder}/results.h5") if os.path.exists(f"{folder}/results.h5") else None
    return r, found


def states(found):
    return {s["value"]: s["state"] for s in found["find"]["steps"]}


@pauses(1, 5)
@timing
def test_threads(slower):
    """10 ms a thread: 4 threads stay below 45 ms, 5 do not."""
    with Folder() as folder:
        r, found = find(folder, 1, "--find", "io.threads=1..64", "--until", f"io.p99 <= {45 * slower} ms", job=io_job(slower))
        check(r.rc == 0, f"{r}")
        f = found["find"]
        check((f["end"], f["carries"], f["misses"]) == ("found", 4, 5), f"{f}")
        near(f["missed_with"], slower * 50e6, slower * 3.5e6, "the 99th percentile of 5 threads")
        check(states(found)[1] == "met" and states(found)[8] == "missed", f"{f}")
        check(found["headline"].startswith("io carries 4 threads"), found["headline"])
        check(f"≤ {45 * slower} ms; 5 miss it (" in found["headline"], found["headline"])
        check("99 % interval" in r.out and "io carries 4 threads" in r.out, r.out)
        # Every step is a phase of its own, with its repeats, and the file says the same.
        with h5py.File(f"{folder}/results.h5") as h:
            rows = h["find/steps"][:]
            check(h["find"].attrs["carries"] == 4 and h["find"].attrs["path"].decode() == "io.threads", "/find")
            check(int(h.attrs["runs"]) == sum(rows["repeats"]) == len(h["phases"]), f"{rows}")
        check([s["value"] for s in f["steps"]] == sorted(int(v) for v in rows["value"]), f"{rows}")
        sets = {p["sweep"] for p in found["phases"]}
        check(sets == {f"io.threads={int(v)}" for v in rows["value"]}, f"{sets}")


@timing
def test_ranks():
    """A store of 80 MB/s keeps 3 ranks busy: 4 are busy 80 % of the time."""
    with Folder() as folder:
        r, found = find(folder, 5, "--find", "ranks=2..5", "--until", "train.au >= 0.9", "--repeat", 3, job=train_job(80 * MB))
        check(r.rc == 0, f"{r}")
        f = found["find"]
        check((f["end"], f["carries"], f["misses"]) == ("found", 3, 4), f"{f}")
        near(f["missed_with"], 0.8, 0.1, "AU of 4 ranks")
        check(f["least"] <= 3 <= f["greatest"], f"{f}")
        check(found["headline"].startswith("train carries 3 ranks"), found["headline"])
        for p in found["phases"]:
            if p["kind"] == "train":
                check(p["together"]["set"] == f"ranks 0-{int(p['sweep'].split('=')[1]) - 1}", f"{p['together']}")


@pauses(1, 5)
@timing
def test_ends(slower):
    """The range may end before the answer: that is said, and with --strict none is exit status 8."""
    with Folder() as folder:
        r, found = find(folder, 1, "--find", "io.threads=8..64", "--until", f"io.p99 <= {45 * slower} ms", "--strict", job=io_job(slower))
        check(r.rc == 8 and "missed even with io.threads=8" in r.err, f"{r}")
        check(found["find"]["end"] == "none" and found["find"]["carries"] is None, f"{found['find']}")
        check("even 8 threads miss" in found["headline"], found["headline"])
        r, found = find(folder, 1, "--find", "io.threads=1..3", "--until", f"io.p99 <= {45 * slower} ms", "--strict")
        check(r.rc == 0 and found["find"]["end"] == "all" and found["find"]["carries"] == 3, f"{found['find']}")
        check("all of 1 to 3 threads meet" in found["headline"], found["headline"])
        # Only every fourth value.
        r, found = find(folder, 1, "--find", "io.threads=2..30/4", "--until", f"io.p99 <= {125 * slower} ms", "--repeat", 1)
        check(r.rc == 0 and (found["find"]["carries"], found["find"]["misses"]) == (10, 14), f"{found['find']}")


def test_cold():
    """What a search reads again and again from files is dropped from the page cache, unless the job says otherwise."""
    with Folder() as folder:
        job = io_job(objects=4)
        job["stores"]["data"] = {"uri": f"file://{folder}/data"}
        job["phases"].insert(0, {"io": {"name": "make", "operation": "write", "store": "data", "size": MB, "block": MB, "objects": 4}})
        job["phases"][1]["io"].update(name="read", passes=1, seconds="0 s")
        asked = ("--find", "read.threads=1..2", "--until", "read.p99 <= 100 s", "--repeat", 1)
        for more, drop in (((), "fadvise"), (("--set", "read.cold.drop=none"), "none")):
            r, found = find(folder, 1, *asked, *more, job=job)
            check(r.rc == 0 and found["find"]["end"] == "all", f"{r}")
            check(found["job"]["phases"][1]["io"]["cold"]["drop"] == drop, f"{found['job']['phases']}")
            check(("reads of the search are cold" in r.err) == (drop == "fadvise"), r.err)
        # An answer by figures that do not count is none.
        r, found = find(folder, 1, *asked, *more, "--strict", job=job)
        check(r.rc == 8 and "but that does not count: " in r.err and "does not count" in found["headline"], f"{r}")
        page = alone("report", "--html", "page.html", "results.h5", cwd=folder)
        check(page.rc == 0 and '"carries":2' in open(f"{folder}/page.html").read(), f"{page}")


def md1_response(rate, service, share):
    """The response time that this share of the requests of an M/D/1 queue keep: Erlang's distribution of the wait (1909), plus the
    service."""
    def within(t):
        k = int(t // service)
        return (1 - rate * service) * sum((-rate * (t - i * service)) ** i / math.factorial(i) * math.exp(rate * (t - i * service))
                                          for i in range(k + 1))
    low, high = 0.0, 40 * service
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < share else (low, middle)
    return low + service


@long
@timing
def test_users_by_queueing_theory():
    """Users with a request a second each at a store that serves one after the other in 2 ms: how many have an answer within 8 ms, of
    99 in 100 requests? By M/D/1 within 5 %."""
    service, limit = 0.002, 0.008
    users = next(n for n in range(1, 500) if md1_response(n, service, 0.99) > limit) - 1
    with Folder() as folder:
        job = io_job(size=128 * 1024, block=128 * 1024, objects=64, order="random", passes=0, depth=256, arrivals="poisson", seconds="20 s")
        job["stores"]["data"]["bandwidth"] = 128 * 1024 / service
        r, found = find(folder, 1, "--find", "io.rate=200..400/4", "--until", f"io.p99 <= {limit * 1000} ms", "--repeat", 1, job=job)
        check(r.rc == 0 and found["find"]["end"] == "found", f"{r}")
        near(found["find"]["carries"], users, 0.05 * users, "users")


def vector_job(rate, **options):
    """Queries that read 8 lists of 12 KiB at once, from a store that carries so many of them per second."""
    return {"name": "vectors", "stores": {"data": {"uri": "sim://known", "bandwidth": rate * 8 * 3 * 4096}},
            "phases": [{"vector": {"operation": "search", "index": "spann", "probes": 8, "dimension": 96, "type": "int8", "depth": 256,
                                   "verify": "none", **options}}]}


@long
@pauses(1, 5)
@timing
def test_searches_of_vectors(seconds):
    """Queries that come evenly never wait below the 460 per second that the store carries. Above it a queue grows all the time: by 8 %
    more, to 80 ms in a second."""
    with Folder() as folder:
        job = vector_job(460, arrivals="constant", seconds=f"{seconds} s")
        r, found = find(folder, 1, "--find", "vector.rate=100..980/80", "--until", f"vector.p99 <= {40 * seconds} ms", "--repeat", 2,
                        job=job)
        check(r.rc == 0, f"{r}")
        f = found["find"]
        check((f["end"], f["carries"], f["misses"]) == ("found", 420, 500), f"{f}")
        check(found["headline"].startswith("vector carries 420 per second"), found["headline"])


@long
@timing
def test_searches_by_queueing_theory():
    """The same with queries that come at random: by M/D/1 within 5 %."""
    capacity, limit = 1000, 0.004  # some 9,000 queries, of which 90 are above the percentile
    rate = next(n for n in range(1, capacity) if md1_response(n, 1 / capacity, 0.99) > limit) - 1
    with Folder() as folder:
        job = vector_job(capacity, arrivals="poisson", seconds="20 s")
        r, found = find(folder, 1, "--find", "vector.rate=400..800/8", "--until", f"vector.p99 <= {limit * 1000} ms", "--repeat", 1, job=job)
        check(r.rc == 0 and found["find"]["end"] == "found", f"{r}")
        near(found["find"]["carries"], rate, 0.05 * rate, "queries")


@long
@timing
def test_twice():
    """Two searches on a local store agree within their ranges."""
    with Folder() as folder:
        job = io_job(name="read", objects=128, order="random", block=65536, passes=0, seconds="500 ms")
        job["stores"]["data"] = {"uri": f"file://{folder}/data"}
        job["phases"].insert(0, {"io": {"name": "make", "operation": "write", "store": "data", "size": MB, "objects": 128}})
        write_job(folder, job)
        r = mpi(1, "run", "job.json", "--set", "read.threads=6", "--results", "probe.h5", cwd=folder)
        check(r.rc == 0, f"{r}")
        p99 = report(f"{folder}/probe.h5")["phases"][-1]["rates"]["p99_ns"]
        ranges = []
        for _ in range(2):
            r, found = find(folder, 1, "--find", "read.threads=1..16", "--until", f"read.p99 <= {p99 / 1000:.3f} us")
            check(r.rc == 0 and found["find"]["end"] in ("found", "all", "none"), f"{r}")
            f = found["find"]
            ranges.append((f["least"] or 0, f["greatest"] or 1))
        (a, b), (c, d) = ranges
        check(a <= d and c <= b, f"{ranges}")


@pauses((150, 1500), (300, 6000))
def test_autoscaling(limits):
    """A cache with autoscaling by qos searches in its own rounds, and ends with the answer as a search does: of its limits the one
    that is missed first, each round a repeat of its number of users."""
    limit, duration = limits
    asked = limit * 1e6
    with Folder() as folder:
        write_job(folder, {"seed": 7, "stores": {"s": {"uri": "sim://s", "bandwidth": 100 * MB}}, "phases": [{"kvcache": {
            "model": {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}, "users": 2, "duration": f"{duration} ms",
            "threads": 16, "served": 64, "verify": "none", "tiers": [{"store": "s", "capacity": "1 GiB"}],
            "autoscaling": {"mode": "qos", "interval": "100 ms", "up": 2, "down": 1, "users_max": 4096, "read_p95": f"{limit} ms",
                            "write_p95": "1 d", "waiting": 1000000}}}]})
        r, found = find(folder, 2)
        check(r.rc == 0, f"{r}")
        phase, f = found["phases"][0], found["find"]
        rows, rounds = phase["autoscaling"], {}
        for users, row in zip([4] + [row["users"] for row in rows], rows):
            if row["read_p95_ns"]:
                rounds.setdefault(users, []).append(row["read_p95_ns"])
        means = {users: sum(seen[:16]) / len(seen[:16]) for users, seen in rounds.items()}
        check({s["value"]: (s["repeats"], round(s["mean"])) for s in f["steps"]}
              == {users: (len(rounds[users][:16]), round(mean)) for users, mean in means.items()}, f"{f}, {rows}")
        misses = min((users for users, mean in means.items() if mean > asked), default=None)
        check(misses, f"{means}")
        carries = max((users for users, mean in means.items() if users < misses), default=None)
        check((f["carries"], f["misses"], f["asked"]) == (carries, misses, asked), f"{f}, {means}")
        check((f["path"], f["until"]) == ("kvcache.users", f"kvcache.autoscaling.read_p95 <= {limit} ms"), f"{f}")
        check(carries and found["headline"].startswith(f"kvcache carries {carries} users"), found["headline"])
        # Only a value that surely misses is told as one; without any, how many are unknown.
        surely = [value for value, state in states(found).items() if state == "missed"]
        told = f"{min(surely):,} miss it (" if surely else f"{f['undecided']} value{' is' if f['undecided'] == 1 else 's are'} unknown"
        check(f"with 95th percentile of reads of entries ≤ {limit} ms; {told}" in found["headline"], found["headline"])
        with h5py.File(f"{folder}/results.h5") as h:
            check(h["find"].attrs["carries"] == carries and len(h["find/steps"]) == len(f["steps"]), "/find")
        page = alone("report", "--html", "page.html", "results.h5", cwd=folder)
        check(page.rc == 0 and f'"carries":{carries}' in open(f"{folder}/page.html").read(), f"{page}")


# rounds, the limit of reads, more options of autoscaling; the rows of the search, its claim, words of the headline.
SURE = (
    (1, "1 s", {"up": 16}, [(4, "met", 1)], "held", "kvcache carries at least 4 users with 95th percentile of reads of entries ≤ 1 s"),
    (1, "1 us", {}, [(4, "missed", 1)], "missed", "even 4 users miss"),
)


def scaled(folder, interval, rounds, read_p95, **autoscaling):
    """What a cache of 4 users has found in so many rounds of that many milliseconds. The store needs 20 ms for each read, at any number of users."""
    write_job(folder, {"seed": 7, "stores": {"s": {"uri": "sim://s", "latency": "20 ms"}}, "phases": [{"kvcache": {
        "model": {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}, "users": 2, "duration": f"{rounds * interval + interval // 2} ms",
        "threads": 4, "served": 64, "verify": "none", "tiers": [{"store": "s", "capacity": "1 GiB"}],
        "autoscaling": {"mode": "qos", "interval": f"{interval} ms", "users_max": 4096, "read_p95": read_p95, "write_p95": "1 d",
                        "waiting": 1000000, **autoscaling}}}]})
    r, found = find(folder, 2)
    check(r.rc == 0, f"{r}")
    return found


@pauses(400, 4000)
def test_autoscaling_surely(interval):
    """Answers that follow from the job: limits that every read keeps or breaks by far, and a known number of rounds."""
    with Folder() as folder:
        for rounds, read_p95, more, rows, claim, words in SURE:
            found = scaled(folder, interval, rounds, read_p95, **more)
            check([(s["value"], s["state"], s["repeats"]) for s in found["find"]["steps"]] == rows, f"{rows}: {found['find']}")
            check(found["find"]["claim"] == claim and words in found["headline"], f"{claim}, {words}: {found['find']}, {found['headline']}")


def test_refused():
    """A question that cannot be asked ends with exit status 2, before anything runs."""
    until = ("--until", "io.p99 <= 45 ms")
    cases = [
        (("--find", "io.threads=1..4"), "needs --until"),
        (until, "needs --find"),
        (("--find", "io.threads=4..1", *until), "at least two values"),
        (("--find", "io.threads=1..x", *until), "LOW..HIGH"),
        (("--find", "io.threads=1..4/0", *until), "at least two values"),
        (("--find", "threads", *until), "PATH=LOW..HIGH"),
        (("--find", "io.threads=1..4000", *until), "1024"),
        (("--find", "io.thread=1..4", *until), "threads"),
        (("--find", "io.threads=1..4", "--until", "io.p99 >= 45 ms"), "<="),
        (("--find", "io.threads=1..4", "--until", "io.p99 <= 45"), "needs a unit"),
        (("--find", "io.threads=1..4", "--until", "io.p99 <= 5 %"), "needs a unit"),
        (("--find", "io.threads=1..4", "--until", "io.p98 <= 45 ms"), "target_p98"),
        (("--find", "io.threads=1..4", "--until", "io.zebras >= 45"), "known are: target_"),
        (("--find", "threads=1..4", *until), "a path starts with name, seed, ranks,"),
        (("--find", "io.threads=1..4", "--until", "train.au >= 0.9"), "train"),
        (("--find", "io.threads=1..4", "--until", "p99 <= 45 ms"), "PHASE.TARGET"),
        (("--find", "io.threads=1..4", "--until", "io.p99 <= 45 cows"), "cows"),
        (("--find", "io.threads=1..4", *until, "--sweep", "io.depth=1,2"), "exclude"),
        (("--find", "io.threads=1..4", *until, "--repeat", "17"), "1 to 16"),
        (("--find", "ranks=1..4", *until), "only 1"),
    ]
    with Folder() as folder:
        write_job(folder, io_job())
        for more, words in cases:
            r, found = find(folder, 1, *more)
            check(r.rc == 2 and words in r.err and not found, f"{more}: {r}")
        # Checkpoints of a training on a part of the ranks have no place in the results: refused before data are made.
        job = train_job(80 * MB)
        job["phases"][1]["train"]["checkpoint"] = {"every_epochs": 1, "model": {"bytes": MB}}
        r, found = find(folder, 2, "--find", "ranks=1..2", "--until", "train.au >= 0.9", job=job)
        check(r.rc == 2 and "writes no checkpoints" in r.err and not found, f"{r}")


def test_signal():
    """A run that is stopped keeps what it knows."""
    with Folder() as folder:
        write_job(folder, io_job())
        process = start(1, "run", "job.json", "--find", "io.threads=1..1000", "--until", "io.p99 <= 10 s", "--grace", "60 s", cwd=folder)
        began = time.monotonic()
        while process.poll() is None and time.monotonic() - began < HANGS_S:
            try:
                with h5py.File(f"{folder}/results.h5") as h:
                    if len(h["find/steps"]) >= 3:
                        break
            except (OSError, KeyError):
                pass
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        finish(process, began)
        found = report(f"{folder}/results.h5")
        f = found["find"]
        check(f["end"] == "stopped" and f["carries"] >= 2 and f["misses"] is None, f"{f}")
        check(found["headline"].startswith("Stopped early: io carries at least"), found["headline"])


def test_unknown():
    """A read takes 40 ms, which is what is asked for: nobody knows whether 4 threads meet it, and no output says that they do."""
    with Folder() as folder:
        job = io_job(seconds="240 ms")
        job["stores"]["data"] = {"uri": "sim://known", "latency": "40 ms"}  # none waits for others, however they take turns
        for more, rc in ((("--deadline", "600 s"), 0), (("--strict",), 8)):
            r, found = find(folder, 1, "--find", "io.threads=4..8", "--until", "io.p99 <= 40 ms", "--repeat", 2, *more, job=job)
            f = found["find"]
            check(r.rc == rc, f"{r}")
            check(states(found)[4] == "unknown" and f["claim"] == "unknown" and f["least"] is None, f"{f}")
            check("repeats" in f["missing"] and "interval" in f["evidence"], f"{f}")
            check(found["headline"].startswith("io: it is unknown whether 4 threads meet"), found["headline"])
            check("carries" not in found["headline"] and "carries" not in r.out, r.out)
            check(rc == 0 or "cannot be told" in r.err and "what would settle it" in r.err, r.err)


def test_killed():
    """What the log of a search has told stands in its file, also where all of its ranks were killed right then."""
    with Folder() as folder:
        write_job(folder, io_job(seconds="100 ms"))
        process = start(2, "run", "job.json", "--find", "io.threads=1..1000", "--until", "io.p99 <= 10 s", cwd=folder, start_new_session=True)
        told = []
        while len(told) < 3:
            line = process.stderr.readline()
            check(line, f"it has ended after {told}")
            told += re.findall(r"io\.threads=(\d+): .*, (met|missed|unknown)$", line.strip())
        kill_run(process, folder)
        found = report(f"{folder}/results.h5")
        check(all(states(found).get(int(value)) == state for value, state in told), f"{told}: {found['find']}")
        check(found["find"]["end"] == "stopped" and found["headline"].startswith(f"Stopped early: io carries at least {told[-1][0]} threads"), found["headline"])


main()
