# SPDX-License-Identifier: Apache-2.0
"""Progress line: on a terminal it is updated in place, also under mpiexec. A pipe gets whole lines, --quiet switches it off,
and it never goes to standard output. The live figures (--live) are lines of JSON, in a file or alone on standard output."""
import json
import os
import subprocess

from haultest import HAUL, Folder, alone, check, command, environment, main, matrix, mpi, pauses, report, some, write_job


def job(rate=40):
    # The rate makes the phase last long enough for the line to appear.
    return {"name": "progress", "stores": {"n": {"uri": "null://x"}},
            "phases": [{"io": {"operation": "write", "objects": 64, "size": "4 KiB", "block": "4 KiB", "passes": 1,
                               "rate": rate, "folder": "a"}}]}


def training():
    """A training of 2.5 s or more, on a store that is at once there."""
    return {"name": "progress", "stores": {"n": {"uri": "null://x"}},
            "dataset": {"store": "n", "format": "npz", "files": 40, "sample_bytes": 100000},
            "phases": [{"generate": {}}, {"train": {"epochs": 5, "batch": 4, "compute": "100 ms", "null_steps": 0}}]}


LIVE = {"time_unix_s", "phase", "state", "run", "runs", "elapsed_s"}
RUNNING = LIVE | {"work", "fraction", "left_s", "epoch", "epochs", "step", "steps", "items", "items_total", "au", "hit_share",
                  "bytes", "bytes_per_second", "p99_ns", "ranks_waiting", "beside"}


def check_live(text):
    """Each line is an object with the promised keys; a phase has a line for each second, and a last one."""
    rows = [json.loads(line) for line in text.splitlines()]
    check(text.endswith("\n") and [r["phase"] for r in rows if r["state"] == "done"] == ["generate", "train"], rows)
    for row in rows:
        check(set(row) == (RUNNING if row["state"] == "running" else LIVE), row)
    running = [r for r in rows if r["state"] == "running" and r["phase"] == "train"]
    check(len(running) >= 2, rows)
    for before, row in zip(running, running[1:]):
        check(row["elapsed_s"] > before["elapsed_s"] and row["fraction"] >= before["fraction"], (before, row))
        check((row["epoch"], row["step"]) >= (before["epoch"], before["step"]), (before, row))
    last = running[-1]
    check(last["epochs"] == 5 and last["steps"] == 5 and 0 < last["fraction"] <= 1 and last["left_s"] >= 0, last)
    check(0 < last["au"] <= 1 and last["bytes"] > 0 and last["bytes_per_second"] > 0 and last["items"] is None, last)
    return last


def under_a_terminal(folder, *args):
    """Runs with a terminal as standard error; returns what the terminal and standard output got."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(command(2, "run", "job.json", "--force", *args), cwd=folder, env=environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    out = process.stdout.read()
    process.wait()
    os.close(ours)
    return shown.decode(), out.decode()


@pauses(40, 4)
def test_terminal_below_mpiexec(rate):
    with Folder() as folder:
        write_job(folder, job(rate))
        shown, out = under_a_terminal(folder)
        check("\r\x1b[Kio" in shown and shown.endswith("\r\x1b[K"), f"{shown!r}")
        check("\x1b[K" not in out and "progress" in out, f"{out!r}")
        check(len([line for line in shown.split("\r\x1b[K") if line]) >= 2, f"the line is not updated: {shown!r}")


def test_quiet():
    with Folder() as folder:
        write_job(folder, job())
        shown, out = under_a_terminal(folder, "--quiet")
        check(shown == "" and out == "", f"{shown!r} {out!r}")


def test_pipe():
    with Folder() as folder:
        write_job(folder, job())
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0 and "\x1b" not in r.err, f"{r}")
        check("left" not in r.out, f"{r}")


def test_live_file():
    """Beside the progress line and the report; a second run replaces the lines, and no other file."""
    with Folder() as folder:
        write_job(folder, training())
        for turn in range(2):
            r = mpi(2, "run", "job.json", "--force", "--live", "live.jsonl", cwd=folder)
            check(r.rc == 0 and "The accelerators were busy" in r.out and "time_unix_s" not in r.out + r.err, f"{r}")
            with open(f"{folder}/live.jsonl") as f:
                last = check_live(f.read())
        train, = [p for p in report(f"{folder}/results.h5")["phases"] if p["kind"] == "train"]
        check(0.05 * train["bytes_read"] < last["bytes"] <= train["bytes_read"], f"{last}, {train['bytes_read']}")
        r = mpi(2, "run", "job.json", "--force", "--live", "results.h5", cwd=folder)
        check(r.rc == 2 and "results.h5 exists and holds something else" in r.err, f"{r}")
        check(report(f"{folder}/results.h5")["name"] == "progress", "the results are lost")
        r = mpi(2, "run", "job.json", "--force", "--live", "none/live.jsonl", cwd=folder)
        check(r.rc == 2 and "none/live.jsonl cannot be written: No such file" in r.err, f"{r}")


def test_live_in_a_long_step():
    """While all ranks compute, without a word between them, lines go on: those of a step say what was known at its begin."""
    with Folder() as folder:
        job = training()
        job["phases"][1]["train"].update(compute="2500 ms", epochs=1, batch=20, sync="step")
        write_job(folder, job)
        r = mpi(2, "run", "job.json", "--quiet", "--live", "-", cwd=folder)
        check(r.rc == 0 and r.err == "", f"{r}")
        rows = [json.loads(line) for line in r.out.splitlines()]
        running = [row for row in rows if row["state"] == "running"]
        check(len(running) >= 2 and {row["step"] for row in running} <= {0, 1}, rows)
        check(all(row["phase"] == row["work"] == "train" and row["fraction"] in (None, 0, 1) for row in running), running)


def test_live_of_renames():
    """Each object is renamed there and back, which are two operations."""
    with Folder() as folder:
        same = {"folder": "a", "objects": 30}
        write_job(folder, {"stores": {"data": {"uri": f"file://{folder}/data"}}, "phases": [
            {"io": {"operation": "create", "name": "create", **same}}, {"io": {"operation": "rename", "name": "rename", "rate": 25, **same}}]})
        r = mpi(1, "run", "job.json", "--quiet", "--live", "-", cwd=folder)
        check(r.rc == 0, f"{r}")
        running = [row for row in map(json.loads, r.out.splitlines()) if row["state"] == "running" and row["phase"] == "rename"]
        check(running and all(row["items"] <= row["items_total"] == 60 for row in running), f"{running}")


# Each is 60 operations of a thread, or less than that where fewer items are left for it.
LIMITS = ({"passes": 0, "count": 60}, {"passes": 20, "count": 60}, {"passes": 10}, {"passes": 0, "bytes": "240 KiB"},
          {"passes": 0, "count": 60, "seconds": 100}, {"passes": 0, "count": 60, "bytes": "1 MiB"},
          {"passes": 0, "count": 60, "order": "replacement"})


@matrix
def test_live_of_limits():
    """Lines and plan say what the limits leave of a phase, which is what it then does."""
    for limits in some(LIMITS, 3):
        with Folder() as folder:
            write_job(folder, {"stores": {"data": {"uri": "null://"}}, "phases": [
                {"io": {"operation": "read", "objects": 3, "size": "16 KiB", "block": "4 KiB", "threads": 2, "rate": 100, **limits}}]})
            plan, = json.loads(alone("plan", "job.json", "--ranks-per-node", 2, "--json", cwd=folder).out)["phases"]
            r = mpi(2, "run", "job.json", "--quiet", "--live", "-", cwd=folder)
            check(r.rc == 0, f"{r}")
            running = [row for row in map(json.loads, r.out.splitlines()) if row["state"] == "running"]
            check(running and all(row["items"] <= row["items_total"] == 240 for row in running), f"{limits}: {running}")
            phase, = report(f"{folder}/results.h5")["phases"]
            check(phase["operations"] == 240 and phase["bytes_read"] == plan["bytes"] == 240 * 4096, f"{limits}: {phase}, {plan}")


def at_once(passes):
    """A training of rank 0 for 3 s or more, and beside it a phase of rank 1 that takes longer."""
    return {"name": "progress", "seed": 3, "stores": {"data": {"uri": "sim://shared", "bandwidth": "200 MB/s"}},
            "dataset": {"store": "data", "format": "raw", "files": 30, "sample_bytes": 1000},
            "phases": [{"together": [
                {"train": {"ranks": "0", "null_steps": 0, "batch": 1, "compute": "100 ms", "loader": {"workers": 1}}},
                {"io": {"name": "reader", "ranks": "1", "operation": "read", "folder": "x", "objects": 2, "size": "8 MiB",
                        "block": "1 MiB", "passes": passes}}], "until": "all"}]}


@pauses(75, 400)
def test_live_of_phases_at_once(passes):
    """Lines are about the phase of rank 0, and tell what the other one does: also after the first has ended."""
    with Folder() as folder:
        write_job(folder, at_once(passes))
        r = mpi(2, "run", "job.json", "--quiet", "--live", "-", cwd=folder)
        check(r.rc == 0 and r.err == "", f"{r}")
        rows = [json.loads(line) for line in r.out.splitlines()]
        running, waiting = ([row for row in rows if row["state"] == state] for state in ("running", "waiting"))
        check(running and waiting and rows == running + waiting + rows[-1:], rows)
        check(all(set(row) == RUNNING and row["phase"] == row["work"] == "train" for row in running), running)
        check(any(row["beside"].startswith("reader: io") for row in running), running)
        check(all(set(row) == LIVE | {"beside"} and row["beside"].startswith("reader: io") for row in waiting), waiting)
        check(set(rows[-1]) == LIVE and rows[-1]["state"] == "done" and rows[-1]["phase"] == "train", rows[-1])


def test_live_output():
    """Standard output has the lines and nothing else; who stops reading them does not stop the run."""
    with Folder() as folder:
        write_job(folder, training())
        r = mpi(2, "run", "job.json", "--quiet", "--live", "-", cwd=folder)
        check(r.rc == 0 and r.err == "", f"{r}")
        check_live(r.out)
        shown, out = under_a_terminal(folder, "--live", "-")
        check_live(out)
        check("\r\x1b[Ktrain" in shown and " · AU " in shown and "/s" in shown and " left" in shown, f"{shown!r}")
        check("{" not in shown, f"{shown!r}")
        # Without a launcher: mpiexec ends when nobody reads what it passes on.
        process = subprocess.Popen([HAUL, "run", "job.json", "--force", "--live", "-"], cwd=folder, env=environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.close()
        check(process.wait() == 0, f"{process.returncode}")
        check(report(f"{folder}/results.h5")["status"] == "done", "the run has not ended well")


def test_generate_shows_files():
    """The line of a phase that makes files has their number, their bytes, the rate and the time left."""
    with Folder() as folder:
        made = training()
        made["stores"] = {"n": {"uri": "sim://x", "bandwidth": "4 MB/s"}}
        made["dataset"]["files"] = 120
        write_job(folder, made)
        shown, _ = under_a_terminal(folder, "--only", "generate")
        lines = [line for line in shown.split("\r\x1b[K") if " of 120 files" in line]
        check(lines and " MB · " in lines[-1] and "MB/s" in lines[-1] and " left" in lines[-1], f"{shown!r}")


main()
