# SPDX-License-Identifier: Apache-2.0
"""What happens to files and clocks while a run goes on changes no figure and loses none.

test_mid_run.py CALL_FAULTS WALL_CLOCK: the libraries that fill the disk, and that step the wall clock."""
import json
import os
import resource
import sys
import time

from haultest import FULL, Folder, alone, check, finish, long, main, matrix, mpi, pauses, report, start, write_job
from test_figures import trace

CLOCK = sys.argv.pop(2)
CALL_FAULTS = sys.argv.pop(1)


def waits(folder, seconds=2):
    """Two phases, the second of which begins some time after the first."""
    io = {"operation": "write", "objects": 4, "size": 4096, "block": 4096, "store": "d"}
    return {"name": "mid", "stores": {"d": {"uri": "null://d"}},
            "phases": [{"io": {**io, "name": "one"}}, {"io": {**io, "name": "two", "after": f"{seconds} s"}}]}


def wait_for_phase(folder, name="results.h5"):
    while True:
        time.sleep(0.02)
        r = alone("report", "--json", name, cwd=folder)
        if r.rc == 0 and json.loads(r.out)["phases"]:
            return


@pauses(6, 60)
def test_removed_results(seconds):
    """Results that somebody removes come back with the next publication, whole."""
    with Folder() as folder:
        write_job(folder, waits(folder, seconds))
        began = time.monotonic()
        process = start(2, "run", "job.json", cwd=folder)
        wait_for_phase(folder)
        os.unlink(folder + "/results.h5")
        r = finish(process, began)
        check(r.rc == 0, f"{r}")
        found = report(folder + "/results.h5")
        check(found["status"] == "done" and [p["name"] for p in found["phases"]] == ["one", "two"], f"{found}")


def test_wall_clock():
    """A step of the wall clock by five days is in no duration."""
    with Folder() as folder:
        job = waits(folder)
        job["dataset"] = {"store": "d", "format": "raw", "files": 8, "sample_bytes": 1000}
        job["phases"].append({"train": {"null_steps": 0, "compute": "50 ms", "loader": {"workers": 1},
                                        "checkpoint": {"store": "d", "every_steps": 1, "model": {"bytes": "1 MiB"}}}})
        write_job(folder, job)
        for step in (432000, -432000):
            r = mpi(2, "run", "job.json", "--force", cwd=folder,
                    env={"LD_PRELOAD": CLOCK, "HAUL_CLOCK_AFTER": "1.5", "HAUL_CLOCK_STEP": str(step)})
            check(r.rc == 0, f"{r}")
            found = report(folder + "/results.h5")
            check(0 < found["seconds"] < 100, f"{found['seconds']} s")
            dates = [p[date] for p in found["phases"] for date in ("started", "finished")]
            check(max(dates) - min(dates) < 100, f"{dates}")


def test_full_disk_under_the_operation_log():
    """What was measured is complete without its log: a warning says that the log is not."""
    with Folder() as folder:
        write_job(folder, waits(folder, 0))
        r = mpi(2, "run", "job.json", "--op-log", "ops.tsv", cwd=folder,
                env={"LD_PRELOAD": CALL_FAULTS, "HAUL_FAULT": "step:2:ENOSPC+", "HAUL_FAULT_PATH": ".tsv"})
        check(r.rc == 0 and "the operation log is incomplete" in r.err and "No space left" in r.err, f"{r}")
        check(report(folder + "/results.h5")["status"] == "done", "the run is not done")


def test_interrupted_calls_are_made_again():
    """A call on the data that a signal interrupts (EINTR) is no failure of the store, whichever call it is."""
    with Folder() as folder:
        write_job(folder, {
            "seed": 5, "stores": {"d": {"uri": f"file://{folder}/data", "fsync": "folder"}},
            "dataset": {"store": "d", "format": "npz", "files": 4, "sample_bytes": "16 KiB"},
            "phases": [{"generate": {}}, {"io": {"operation": "write", "objects": 4, "size": "16 KiB", "block": "8 KiB"}},
                       {"io": {"name": "read", "operation": "read", "objects": 4, "size": "16 KiB", "block": "8 KiB"}},
                       {"io": {"name": "gone", "operation": "delete", "objects": 4}}]})
        for call in ("open", "read", "write", "close", "truncate", "reserve", "fsync", "rename", "unlink", "mkdir", "stat"):
            for n in (0, 2):
                r = mpi(1, "run", "job.json", "--force", cwd=folder,
                        env={"LD_PRELOAD": CALL_FAULTS, "HAUL_FAULT": f"{call}:{n}:EINTR", "HAUL_FAULT_PATH": f"{folder}/data"})
                found = report(folder + "/results.h5")
                check(r.rc == 0 and not any(p["errors"] or p["retries"] for p in found["phases"]), f"{call} {n}: {r}")
            r = mpi(1, "clean", "job.json", cwd=folder)
            check(r.rc == 0, f"{call}: {r}")


@long
@matrix
def test_killed_while_the_first_marker_is_published():
    """The version of a marker that is not whole is haul's own: the next run takes the folder, whichever kind of phase left it."""
    phases = {
        "io": {"io": {"operation": "write", "objects": 2, "size": "16 KiB", "block": "8 KiB"}},
        "kvcache": {"kvcache": {"model": "llama3.1-8b", "users": 1, "requests": 2, "tiers": [{"store": "d", "capacity": "1 GiB"}]}},
        "checkpoint": {"checkpoint": {"store": "d", "operation": "write", "count": 1, "model": {"bytes": "1 MiB"}}},
        "vector": {"vector": {"operation": "build", "store": "d", "vectors": 1000, "dimension": 16}},
        "generate": {"generate": {}},
    }
    for kind, phase in phases.items():
        for moment in ("rename:0:kill", "fsync:0:kill", "write:0:kill") if FULL else ("rename:0:kill",):
            with Folder() as folder:
                write_job(folder, {"seed": 5, "stores": {"d": {"uri": f"file://{folder}/data"}},
                                   **({"dataset": {"store": "d", "format": "raw", "files": 2, "sample_bytes": 1000}} if kind == "generate" else {}),
                                   "phases": [phase]})
                mpi(1, "run", "job.json", cwd=folder,
                    env={"LD_PRELOAD": CALL_FAULTS, "HAUL_FAULT": moment, "HAUL_FAULT_PATH": ".haul-"})
                r = mpi(1, "run", "job.json", "--force", cwd=folder)
                check(r.rc == 0, f"{kind}, {moment}: {r}")


def test_fifo_among_results():
    """Listing a folder waits for nobody."""
    with Folder() as folder:
        write_job(folder, waits(folder, 0))
        check(mpi(1, "run", "job.json", cwd=folder).rc == 0, "the run failed")
        os.mkfifo(folder + "/a.h5")
        r = alone("report", folder)
        check(r.rc == 0 and "results.h5" in r.out and "1 more file" in r.out, f"{r}")
        r = alone("report", folder + "/a.h5")
        check(r.rc != 0 and "not a regular file" in r.err, f"{r}")


def test_few_open_files():
    """A queue that finds no file number is told so."""
    with Folder() as folder:
        write_job(folder, {"name": "few", "stores": {"d": {"uri": "s3://b/x", "endpoints": ["http://127.0.0.1:9"]}},
                           "phases": [{"io": {"store": "d", "operation": "read", "objects": 400, "size": "6 MiB",
                                              "block": "6 MiB", "threads": 70}}]})
        r = finish(start(1, "run", "job.json", cwd=folder, env={"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))), time.monotonic())
        check(r.rc == 1 and "ulimit -n" in r.err and "no memory" not in r.err, f"{r}")


def test_live_says_done_when_it_is():
    """Whoever reads "done" finds the phase in the results file."""
    with Folder() as folder:
        write_job(folder, waits(folder, 0))
        process = start(2, "run", "job.json", "--live", "-", "--quiet", cwd=folder)
        phases = 0
        for line in process.stdout:
            if json.loads(line)["state"] == "done":
                phases += 1
                names = [p["name"] for p in report(folder + "/results.h5")["phases"]]
                check(len(names) >= phases, f"{phases} phases are done, and the file has {names}")
        check(process.wait() == 0 and phases == 2, f"{phases} phases")


@long
def test_processor_time_of_removing():
    """What a phase has made is removed after its time, and the processor time of that is not the phase's, either."""
    with Folder() as folder:
        kept = {"profile": "serving", "model": "tiny-1b", "users": 1, "served": 1, "requests": 2, "threads": 1, "duration": "100 s",
                "templates": [{"name": "one", "context_min": 1280, "context_max": 1280, "generate_min": 1, "generate_max": 1,
                               "think_min": 0.3, "think_max": 0.3}], "serving": {"block_tokens": 64}}
        write_job(folder, {"name": "removed", "stores": {"d": {"uri": f"file://{folder}/data", "fsync": "none"}},
                           "phases": [{"kvcache": kept}, {"replay": {"trace": trace(folder), "speed": 0}}]})
        r = mpi(1, "run", "job.json", cwd=folder, env={"LD_PRELOAD": CALL_FAULTS, "HAUL_FAULT": "unlink:1:100000c+",
                                                       "HAUL_FAULT_PATH": f"{folder}/data/", "HAUL_FAULT_HITS": f"{folder}/hits"})
        check(r.rc == 0 and os.path.exists(f"{folder}/hits"), f"{r}")
        for phase in report(f"{folder}/results.h5")["phases"]:
            of = phase["measures"]
            used = (of["cpu_user_ns"] + of["cpu_system_ns"]) / 1e9
            # Twenty blocks, and as many entries, are removed: 0.1 s of processor each.
            check(used < 1, f"{phase['name']}: {used} s")


main()
