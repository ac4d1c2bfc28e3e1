# SPDX-License-Identifier: Apache-2.0
"""Faults of files, disks and processes: all ranks stop together, and the results say what failed, where and why."""
import contextlib
import os
import random
import signal
import subprocess
import time

import h5py

from haultest import *


def job(folder, data=None, **train):
    return {
        "name": "faults", "seed": 5, "stores": {"data": {"uri": f"file://{data or folder + '/data'}"}},
        "dataset": {"store": "data", "format": "npz", "files": 48, "sample_bytes": 200000},
        "phases": [{"generate": {}},
                   {"train": {"epochs": 2, "batch": 2, "compute": "1 ms", "null_steps": 0, "verify": "full", **train}}],
    }


def files(folder):
    return sorted(os.path.join(t, n) for t, _, names in os.walk(folder) for n in names if n.endswith(".npz"))


def generated(folder, **train):
    write_job(folder, job(folder, **train))
    r = mpi(2, "generate", "job.json", cwd=folder)
    check(r.rc == 0, f"{r}")
    return files(folder + "/data")


def errors(folder, phase="0_train"):
    with h5py.File(folder + "/results.h5") as f:
        return f.attrs["status"], f[f"phases/{phase}/errors"][:]


def broken_file(damage, errno_wanted, sync="step", ranks=3):
    with Folder() as folder:
        names = generated(folder, sync=sync)
        damage(names[17])
        r = mpi(ranks, "run", "job.json", "--only", "train", cwd=folder)
        check(r.rc == 1, f"{r}")
        name = os.path.basename(names[17])
        check(name in r.err and "haul: " in r.err, f"{r}")
        check(sum("haul:" in line for line in r.err.splitlines()) <= 2, f"more than one sentence: {r.err}")
        status, rows = errors(folder)
        check(b"failed" in bytes(status) if not isinstance(status, str) else status == "failed", f"{status}")
        check(len(rows) >= 1, "no error row")
        row = rows[0]
        check(name in row["object"].decode() and int(row["rank"]) < ranks, f"{row}")
        check(int(row["errno"]) in (errno_wanted, -errno_wanted), f"{row}")


def truncate(path):
    os.truncate(path, os.path.getsize(path) - 70000)


def flip(path):
    with open(path, "r+b") as f:
        f.seek(123457)
        b = f.read(1)[0]
        f.seek(123457)
        f.write(bytes([b ^ 1]))


def test_missing():
    broken_file(os.unlink, 2)
    broken_file(os.unlink, 2, sync="none")
    broken_file(os.unlink, 2, ranks=8)


def test_truncated():
    broken_file(truncate, 61)
    with Folder() as folder:  # the first read is far behind the end of the file
        write_job(folder, {"stores": {"data": {"uri": f"file://{folder}/data"}},
                           "dataset": {"store": "data", "format": "raw", "files": 1, "samples_per_file": 20,
                                       "sample_bytes": 1000},
                           "phases": [{"generate": {}}, {"train": {"batch": 10, "compute": 0, "shuffle": "none",
                                                                   "null_steps": 0}}]})
        r = mpi(1, "generate", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        for ranks, left, said in ((1, 19500, "ends at byte 19500 of 20000 (epoch 1, step 2)"),
                                  (1, 3500, "ends at byte 3500 of 20000 (epoch 1, step 1)"),
                                  (2, 3500, "of 20000"), (1, 0, "ends at byte 0 of 20000 (epoch 1, step 1)")):
            os.truncate(f"{folder}/data/img_0_of_1.raw", left)
            r = mpi(ranks, "run", "job.json", "--only", "train", "--force", cwd=folder)
            check(r.rc == 1 and said in r.err, f"{left}: {r}")
            if ranks == 2:  # the second rank begins in the middle
                said = sorted(e["text"].decode() for e in errors(folder)[1])
                check(said in (["ends at byte 10000 of 20000 or before", "ends at byte 3500 of 20000"],
                               ["ends at byte 3500 of 20000"], ["ends at byte 10000 of 20000 or before"]), f"{said}")


def test_same_words():
    """A training and plain I/O report an error of a read in the same words."""
    size = 100000
    with Folder() as folder:
        phases = [{"generate": {}}, {"io": {"operation": "write", "size": size, "block": size}},
                  {"train": {"null_steps": 0, "verify": "full"}},
                  {"io": {"name": "again", "operation": "read", "size": size, "block": size, "verify": "full"}}]
        write_job(folder, {"stores": {"data": {"uri": f"file://{folder}/data"}}, "phases": phases,
                           "dataset": {"format": "raw", "files": 1, "sample_bytes": size}})
        r = mpi(1, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        paths = [f"{folder}/data/img_0_of_1.raw", f"{folder}/data/io/0000000.0000000000"]
        flipped = "payload differs at byte 60000"
        for damage, says in (
                (lambda p: write_at(p, 60000), flipped),
                (lambda p: os.truncate(p, 50000), "ends at byte 50000 of 100000"),
                (os.unlink, "No such file or directory"), (os.mkdir, "Is a directory")):
            for phase, group, path in zip(("train", "again"), ("0_train", "0_again"), paths):
                damage(path)
                r = mpi(1, "run", "job.json", "--only", phase, "--force", cwd=folder)
                told = [e["text"].decode() for e in errors(folder, group)[1]]
                check(r.rc != 0 and f"{path}: {says}" in r.err and told == [says], f"{phase}: {told} {r}")


def write_at(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(b"x")


def test_corrupted():
    broken_file(flip, 84)


def test_counted():
    with Folder() as folder:
        names = generated(folder, on_error="count")
        os.unlink(names[3])
        flip(names[9])
        r = mpi(3, "run", "job.json", "--only", "train", cwd=folder)
        check(r.rc == 0, f"{r}")
        phase = report(folder + "/results.h5")["phases"][0]
        check(phase["errors"] == 4, f"{phase['errors']} errors in two epochs with two bad files")
        m = phase["measures"]
        check(m["samples_failed"] >= 2 and m["samples"] + m["samples_failed"] == 2 * len(names), f"{m}")
        check(phase["said"].startswith(f"{m['samples']} samples, {m['samples_failed']} more could not be read, each asked "
                                       "for exactly once an epoch"), phase["said"])


def test_full_disk():
    with Folder() as folder, Tmpfs("3m") as small:
        if not small:
            return
        write_job(folder, job(folder, data=small + "/data"))
        r = mpi(3, "run", "job.json", cwd=folder)
        check(r.rc == 2 and "not enough space" in r.err and "--ignore-space" in r.err, f"{r}")
        check(not os.path.exists(folder + "/results.h5") and not os.listdir(small), "haul wrote files")
        r = mpi(3, "run", "job.json", "--ignore-space", cwd=folder)
        check(r.rc == 1 and "No space left" in r.err, f"{r}")
        status, rows = errors(folder, "0_generate")
        check(len(rows) >= 1 and int(rows[0]["errno"]) in (28, -28), f"{rows}")
        check(not any(is_part(n) for _, _, ns in os.walk(small) for n in ns), "a part file is left")
        with open(small + "/full", "wb", buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(bytes(4096))
        j = job(folder, data=small + "/data")
        j["dataset"]["folder"] = "set"
        write_job(folder, j)
        r = mpi(1, "run", "job.json", "--ignore-space", "--force", cwd=folder)
        check(r.rc == 1 and "No space left" in r.err, f"where there is no room for haul's record of a folder: {r}")


def test_read_only():
    with Folder() as folder, Tmpfs("30m") as small:
        if not small:
            return
        subprocess.run(["mount", "-o", "remount,ro", small], check=True)
        write_job(folder, job(folder, data=small + "/data"))
        r = mpi(2, "run", "job.json", "--ignore-space", cwd=folder)
        check(r.rc == 1 and "Read-only" in r.err, f"{r}")


def test_full_results():
    """The results of the first phase fit on the disk, those of a later one do not: the run ends with a sentence, and the
    results of the earlier phases are complete."""
    with Folder() as folder, Tmpfs("900k") as small:
        if not small:
            return
        j = job(folder)
        j["phases"] += [{"train": {**j["phases"][1]["train"], "name": f"more{i}"}} for i in range(6)]
        write_job(folder, j)
        r = mpi(3, "run", "job.json", "--results", small + "/results.h5", cwd=folder)
        check(r.rc == 1 and "results.h5" in r.err and ("space" in r.err or "room" in r.err), f"{r}")
        with h5py.File(small + "/results.h5") as f:
            check(len(f["phases"]) >= 1, "the results have no phase")
            check("0_generate" in f["phases"], f"{list(f['phases'])}")
        check(not parts_beside(small + "/results.h5"), "a .part file is left")


def wait_for_phase(process, path, phase):
    while process.poll() is None:
        time.sleep(0.02)
        try:
            with h5py.File(path) as f:
                if phase in f["phases"]:
                    time.sleep(0.3)
                    return
        except (OSError, KeyError):
            pass


def ranks_of(folder):
    out = subprocess.run(["pgrep", "-f", f"{HAUL} run {folder}/job.json"], capture_output=True, text=True).stdout
    pids = []
    for pid in map(int, out.split()):
        try:
            # What waits for a rank has the same name (ranks/run/shelter.h).
            if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(HAUL) and not open(f"/proc/{pid}/task/{pid}/children").read():
                pids.append(pid)
        except OSError:
            pass
    return pids


def slow(folder, sync):
    j = job(folder, sync=sync, compute="60 ms", epochs=5000)  # half an hour
    write_job(folder, j)
    return start(3, "run", f"{folder}/job.json", "--grace", "60 s", cwd=folder)


def test_stop_signals():
    for sync in ("step", "none", "epoch"):
        for whom in ("mpiexec", "rank"):
            with Folder() as folder:
                process = slow(folder, sync)
                began = time.monotonic()
                wait_for_phase(process, folder + "/results.h5", "0_generate")
                pids = ranks_of(folder)
                check(len(pids) == 3, f"{pids}")
                os.kill(process.pid if whom == "mpiexec" else random.choice(pids), signal.SIGTERM)
                r = finish(process, began)
                with h5py.File(folder + "/results.h5") as f:
                    check(set(f["phases"]) == {"0_generate", "1_train"}, f"{sync}, {whom}: {list(f['phases'])} {r}")
                phases = report(folder + "/results.h5")
                check(phases["status"] == "interrupted", f"{phases['status']}")
                if whom == "rank":
                    check(r.rc == 4, f"{r}")
                if sync == "step":
                    with h5py.File(folder + "/results.h5") as f:
                        steps = set(f["phases/1_train/ranks"]["steps"])
                        check(len(steps) == 1, f"ranks stopped at different steps: {steps}")


def test_deadline():
    with Folder() as folder:
        write_job(folder, job(folder, compute="30 ms", epochs=5000))
        r = mpi(2, "run", "job.json", "--deadline", "2 s", "--grace", "60 s", cwd=folder)
        check(r.rc == 4, f"{r}")
        check(report(folder + "/results.h5")["status"] == "interrupted", "the status is not \"interrupted\"")


def test_seconds_limit():
    with Folder() as folder:
        write_job(folder, job(folder, compute="20 ms", epochs=5000, seconds=1.5))
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        result = report(folder + "/results.h5")
        check(result["status"] == "done", f"{result['status']}")
        check(result["phases"][1]["seconds"] >= 1.5, f"{result['phases'][1]['seconds']} s")


@matrix
def test_kill_9():
    with Folder() as folder:
        j = job(folder, compute="2 ms", epochs=1)
        j["phases"] += [{"train": {**j["phases"][1]["train"], "name": f"more{i}"}} for i in range(12)]
        write_job(folder, j)
        for trial in range(20 if FULL else 4):
            process = start(2, "run", f"{folder}/job.json", "--force", cwd=folder)
            began = time.monotonic()
            time.sleep(0.25 + random.random() * 1.2)
            pids = ranks_of(folder)
            if pids:
                with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                    os.kill(random.choice(pids), signal.SIGKILL)
            finish(process, began)
            if not os.path.exists(folder + "/results.h5"):
                continue
            with h5py.File(folder + "/results.h5") as f:
                for name in f["phases"] if "phases" in f else []:
                    check(len(f[f"phases/{name}/ranks"]) == 2, f"trial {trial}: {name} is not whole")
                check(len(f["summary"]) == len(f["phases"] if "phases" in f else []), f"trial {trial}: summary")


main()
