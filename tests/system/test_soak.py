# SPDX-License-Identifier: Apache-2.0
"""Soak test: in long phases, the memory, descriptors and threads of the ranks do not grow."""
import os
import statistics
import time

from haultest import *

SECONDS, MIB = 45, 1 << 20


def state_of(path):
    """(bytes resident, descriptors, threads) of a process; None if it has just ended."""
    try:
        with open(f"{path}/statm", encoding="ascii") as f:
            resident = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return resident, len(os.listdir(f"{path}/fd")), len(os.listdir(f"{path}/task"))
    except (OSError, IndexError):
        return None


def soak(phase, **job):
    """Runs one phase for SECONDS, samples its ranks, and checks that nothing grows after the first third."""
    with Folder() as folder:
        folder = os.path.realpath(folder)
        write_job(folder, {"name": "soak", "seed": 3, "stores": {"d": {"uri": f"file://{folder}/data"}}, **job})
        seen = {}
        process = start(2, "run", "job.json", cwd=folder)
        while process.poll() is None:
            for path in ranks_in(folder):
                seen.setdefault(path, []).append((time.monotonic(), state_of(path)))
            time.sleep(0.2)
        r = finish(process, time.monotonic())
        check(r.rc == 0, f"{r}")
        done = report(f"{folder}/results.h5")["phases"][-1]
        check(done["kind"] == phase and done["errors"] == 0 and done["seconds"] >= SECONDS, f"{done}")
    # A parent that only waits for its rank looks like one until it has started that.
    most = max(map(len, seen.values()))
    ranks = [looks for looks in seen.values() if len(looks) > most / 2]
    check(len(ranks) == 2, f"{len(ranks)} ranks seen, of {[len(looks) for looks in seen.values()]} looks")
    for looks in ranks:
        end = looks[-1][0] - 1  # without the last second, in which the phase ends
        inside = [state for at, state in looks if state and end - SECONDS * 2 / 3 < at < end]
        first, last = inside[:len(inside) // 3], inside[-len(inside) // 3:]
        for i, (what, most) in enumerate((("bytes resident", MIB), ("descriptors", 0), ("threads", 0))):
            before, after = (statistics.median(state[i] for state in part) for part in (first, last))
            print(f"      {phase}: {what} {before:.0f}, then {after:.0f}", flush=True)
            check(after - before <= most, f"{phase}: {what} {before:.0f}, then {after:.0f}")


@long
def test_training():
    # The table of epochs grows by a row an epoch, of about 300 bytes. Many files let that be a hundredth of MIB a second, while
    # there are tens of thousands of opens and samples a second.
    soak("train", dataset={"store": "d", "format": "npz", "files": 4000, "sample_bytes": "20 KiB"},
         phases=[{"generate": {}}, {"train": {"epochs": 100000, "seconds": SECONDS, "batch": 2, "verify": "full",
                                              "null_steps": 0, "loader": {"kind": "sample", "workers": 3}}}])


@long
def test_plain_io():
    common = {"objects": 8, "size": "1 MiB", "block": "16 KiB"}
    soak("io", phases=[{"io": {"operation": "write", **common}},
                       {"io": {"operation": "mixed", "order": "random", "threads": 2, "passes": 0, "seconds": SECONDS,
                               **common}}])


main()
