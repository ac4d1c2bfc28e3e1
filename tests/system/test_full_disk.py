# SPDX-License-Identifier: Apache-2.0
"""Full disk for the results, at any write to them: all ranks learn it at once, the run ends with a sentence, and earlier
results stay. And a file system of the results that does not answer any more: a run that is told to end does so.

test_full_disk.py PRELOAD: the library that makes writes fail."""
import json
import os
import random
import signal
import sys
import time

from haultest import Folder, alone, check, finish, main, matrix, mpi, parts_beside, report, some, start, write_job

PRELOAD = sys.argv.pop(1)
RANKS = 2


def job():
    return {"name": "full", "stores": {"d": {"uri": "sim://d"}},
            "dataset": {"store": "d", "format": "raw", "files": 8, "sample_bytes": 1000},
            "phases": [{"train": {"compute": "1 ms", "null_steps": 0, "loader": {"workers": 1}}},
                       {"io": {"operation": "write", "store": "d", "objects": 4, "size": 1000, "block": 1000}}]}


def run(folder, **env):
    env = {"HAUL_FULL_" + key.upper(): str(value) for key, value in env.items()}
    return mpi(RANKS, "run", "job.json", "--force", cwd=folder, env={"LD_PRELOAD": PRELOAD, **env}, timeout=200)


def counted(folder):
    with open(os.path.join(folder, "count")) as f:
        return {int(rank): int(count) for rank, count in (line.split() for line in f)}


def writes_of_ranks(folder):
    """The number of writes of each rank to the results, in a run that succeeds."""
    r = run(folder, count=os.path.join(folder, "count"))
    check(r.rc == 0, f"{r}")
    counts = counted(folder)
    check(counts.get(0, 0) > 20, f"writes of rank 0: {counts}")
    return counts


def full_at(folder, rank, write):
    path = os.path.join(folder, "results.h5")
    for old in (path, os.path.join(folder, "count")):
        if os.path.exists(old):
            os.unlink(old)
    r, at = run(folder, after=write, rank=rank, count=os.path.join(folder, "count")), f"rank {rank}, write {write}"
    if r.rc == 0 and counted(folder).get(rank, 0) <= write:
        return 2  # this run had fewer writes than the one that was counted, so its disk was never full
    check(r.rc == 1, f"{at}: {r}")
    check("No space left" in r.err or "no space left" in r.err, f"{at}: the message does not say why: {r}")
    check("does not answer" not in r.err, f"{at}: the watchdog ended the run: {r}")
    check(not parts_beside(path), f"{at}: a .part file is left")
    if os.path.exists(path):
        check(report(path)["status"] in ("interrupted", "failed"), f"{at}: the results say {report(path)['status']}")
        return len(report(path)["phases"])
    return 0


@matrix
def test_full_at_any_write():
    with Folder() as folder:
        write_job(folder, job())
        for rank, count in sorted(writes_of_ranks(folder).items()):
            # The first and the last write, and some between them; under FULL all writes.
            places = sorted({0, count - 1} | set(some(range(count), 9)))
            phases = [full_at(folder, rank, write) for write in places]
            check(phases == sorted(phases), f"rank {rank}: a later full disk leaves fewer phases: {phases}")
            check(phases[0] == 0 and phases[-1] >= 1, f"rank {rank}: numbers of phases in the results: {phases}")


GRACE_S = 2
LOST = "the results cannot be written: their file system does not answer"


def hangs_at(folder, job, write, ready=None, published=None):
    """Runs the job, whose write (or the first one once `ready` says so) never returns, and sends TERM when it hangs, or at once."""
    hung, now = f"{folder}/hung", f"{folder}/now"
    write_job(folder, job)
    env = {"LD_PRELOAD": PRELOAD, "HAUL_FULL_RANK": "0", "HAUL_FULL_AFTER": str(write), "HAUL_FULL_HANGS": hung}
    process = start(RANKS, "run", "job.json", "--force", "--grace", f"{GRACE_S} s", cwd=folder,
                    env={**env, "HAUL_FULL_WHEN": now} if ready else env)
    until = time.monotonic() + 60
    while not (ready() if ready else os.path.exists(hung)):
        check(process.poll() is None and time.monotonic() < until, f"{process.poll()}: {process.communicate() if process.poll() is not None else ''}")
        time.sleep(0.02)
    if ready:
        open(now, "w").close()
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    r = finish(process, began, 100)
    at = f"write {write}: {r}"
    check(os.path.exists(hung), f"nothing was written after the stop: {at}")
    check(r.seconds < GRACE_S + 5, at)
    # The first write is of the empty file, from before anything was measured.
    check(LOST in r.err or (write == 0 and not ready and "rank 0 on" in r.err), at)
    path = os.path.join(folder, "results.h5")
    if os.path.exists(path):
        found = report(path)
        check(found["status"] != "done" and published in (None, [p["name"] for p in found["phases"]]), f"{found}: {at}")
    for name in parts_beside(path) + [path]:
        os.unlink(name) if os.path.exists(name) else None


def test_file_system_hangs():
    with Folder() as folder:
        write_job(folder, job())
        count = writes_of_ranks(folder)[0]
        os.unlink(f"{folder}/results.h5")
        for write in (0, random.randrange(1, count - 5), count - 5):
            with Folder() as one:
                hangs_at(one, job(), write)


def test_file_system_hangs_with_a_rank():
    """A rank is stuck in a file, so the last words are spoken by a copy, which the file system does not answer, either."""
    with Folder() as folder:
        phases = [{"io": {"operation": kind, "name": kind, "store": "d", "objects": 4, "size": 4096, "block": 4096}} for kind in ("write", "read")]
        one = {"name": "full", "stores": {"d": {"uri": f"file://{folder}/data", "engine": "psync"}}, "phases": phases}
        write_job(folder, one)
        check(mpi(RANKS, "run", "job.json", "--only", "write", cwd=folder).rc == 0, "the write failed")
        os.unlink(f"{folder}/results.h5")
        victim = os.path.join(folder, "data/io", sorted(n for n in os.listdir(f"{folder}/data/io") if "0" in n)[0])
        os.unlink(victim)
        os.mkfifo(victim)
        one["phases"][0] = {"io": {**phases[0]["io"], "name": "first", "store": "s"}}
        one["stores"]["s"] = {"uri": "sim://s"}

        def reads():
            r = alone("report", "--json", "results.h5", cwd=folder)
            return r.rc == 0 and len(json.loads(r.out)["phases"]) == 1
        hangs_at(folder, one, 0, ready=reads, published=["first"])


main()
