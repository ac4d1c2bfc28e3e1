# SPDX-License-Identifier: Apache-2.0
"""Pauses between phases: they last as long as the job says, count in no account, and are ended by a signal."""
import os
import signal
import time

from haultest import MEMORY, Folder, check, finish, main, mpi, pauses, report, start, write_job


def job(after):
    io = {"operation": "write", "objects": 4, "size": "64 KiB", "block": "64 KiB", "folder": "a"}
    return {"name": "after", "stores": {"n": {"uri": "null://x"}},
            "phases": [{"io": {**io, "name": "first", "after": "1 h"}}, {"io": {**io, "name": "second", "after": after}}]}


def test_pause():
    with Folder() as folder:
        write_job(folder, job("2 s"))
        r = mpi(3, "run", "job.json", cwd=folder)
        # The first phase follows no other, so it begins without a pause.
        check(r.rc == 0 and r.seconds >= 2, f"{r}")
        check("second begins in" in r.err and "first begins" not in r.err, f"{r}")
        phases = report(folder + "/results.h5")["phases"]
        check(sum(p["seconds"] for p in phases) + 2 < r.seconds, f"{[p['seconds'] for p in phases]} of {r.seconds}")


@pauses(2, 20, 100)
def test_deadline_in_a_pause(length):
    """The deadline counts from the start of the run, not from that of the pause."""
    with Folder(MEMORY) as folder:
        write_job(folder, job("1 h"))
        r = mpi(3, "run", "job.json", "--deadline", f"{length} s", cwd=folder)
        check(r.rc == 4 and "stopped at the deadline" in r.err and length <= r.seconds, f"{r}")
        found = report(folder + "/results.h5")
        check(found["status"] == "interrupted" and len(found["phases"]) == 1, f"{found['status']} {r}")


def test_signal_in_a_pause():
    with Folder() as folder:
        write_job(folder, job("1 h"))
        process = start(3, "run", "job.json", "--grace", "60 s", cwd=folder)
        began = time.monotonic()
        while process.poll() is None:
            time.sleep(0.1)
            if os.path.exists(folder + "/results.h5") and "first" in [
                    p["name"] for p in report(folder + "/results.h5")["phases"]]:
                break
        os.kill(process.pid, signal.SIGTERM)
        r = finish(process, began)
        found = report(folder + "/results.h5")
        check(found["status"] == "interrupted" and len(found["phases"]) == 1, f"{found['status']} {r}")


main()
