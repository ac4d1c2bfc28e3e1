# SPDX-License-Identifier: Apache-2.0
"""haul's own cost, measured on null://: the accounts add up exactly, and the median step reaches an AU of 99.5 % with 2 ranks
and steps of 5 ms. Time in which ready threads had no core is not counted as haul's. In the null pass
a rank is late now and then, which shows what the barrier then costs."""
import h5py

from haultest import *

COMPUTE_NS, STALL_NS = 5e6, 25e3  # AU 99.5 %


@timing
def test_null():
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
                check(sum(int(row[n]) for n in names) == int(row["wall_ns"]), f"the accounts do not add up: {row}")
        phase = report(f"{folder}/results.h5")["phases"][0]
    steps = phase["measures"]["steps"]
    stall, waited = phase["latency_ns"]["step_stall"]["p50"], phase["measures"]["runnable_ns"] / steps
    print(f"      median step AU {COMPUTE_NS / (COMPUTE_NS + stall):.4f}, mean {phase['au']['mean']:.4f}, "
          f"null AU {phase['null_au']}; a step waited {waited / 1e3:.1f} us for cores")
    # The rank that comes 1 ms late costs the others this millisecond, but haul only what follows.
    late = phase["measures"]["null_late_ns"]
    print(f"      after a late rank {late / 1e3:.1f} us")
    check(0 < late <= 20 * STALL_NS + waited, f"a step with a late rank costs haul {late / 1e3:.1f} us")
    check(stall <= STALL_NS + waited, f"the median step stalls {stall / 1e3:.1f} us, of which at most {waited / 1e3:.1f} us "
                                      "are waits for cores")


def null_measures(ranks, **train):
    with Folder() as folder:
        write_job(folder, {
            "name": "null", "stores": {"d": {"uri": "null://x"}},
            "dataset": {"store": "d", "format": "raw", "files": 64, "sample_bytes": 1000},
            "phases": [{"train": {"batch": 4, "compute": "1 ms", "null_steps": 8, "loader": {"workers": 1}, **train}}]})
        r = mpi(ranks, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        phase = report(f"{folder}/results.h5")["phases"][0]
    return phase, {name: phase["measures"][f"null_{name}_ns"] for name in ("compute", "stall", "late")}


def test_late_rank():
    """Where steps end with a barrier, the loop without storage also tells what a barrier costs that has waited for a rank,
    and the null AU is that of whatever costs more."""
    phase, null = null_measures(2)
    check(null["compute"] == 10**6 and null["stall"] > 0 and null["late"] > 0, f"{null}")
    near(phase["null_au"], 1e6 / (1e6 + max(null["stall"], null["late"])), 1e-9, "null AU")
    # The lateness itself is not haul's.
    check(null_measures(1)[1]["late"] == 0, "a rank alone waits for nobody")
    check(null_measures(2, sync="epoch")[1]["late"] == 0, "no barrier")


main()
