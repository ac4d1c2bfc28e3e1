# SPDX-License-Identifier: Apache-2.0
"""Full disk for the results, at any write to them: all ranks learn it at once, the run ends with a sentence, and earlier
results stay.

test_full_disk.py PRELOAD: the library that makes writes fail."""
import os
import sys

from haultest import Folder, check, main, matrix, mpi, parts_beside, report, some, write_job

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
    check("does not end" not in r.err, f"{at}: the watchdog ended the run: {r}")
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


main()
