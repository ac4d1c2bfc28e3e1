# SPDX-License-Identifier: Apache-2.0
"""daos:// over the test library (tests/libs/dfs), where the agent, the servers or rights are not as they should be: runs end,
keep what they measured, and say what to look at.

test_daos_faults.py LIBRARY"""
import collections
import json
import os
import random
import signal
import sys
import time

from haultest import FULL, MEMORY, Folder, alone, check, finish, kill_run, main, matrix, mpi, report, start, write_job

LIBRARY = sys.argv.pop(1)
GRACE_S, AFTER_S = 10, 5
SMALL = {"vocabulary": 64, "hidden": 32, "feed_forward": 96, "layers": 16, "heads": 4, "kv_heads": 2}


def store(**more):
    return {"data": {"uri": "daos://pool/cont/data", "library": LIBRARY, **more}}


def environment(folder, **settings):
    os.makedirs(os.path.join(folder, "pool", "cont"), exist_ok=True)
    return {"HAUL_DFS_ROOT": folder, "HAUL_DFS_LOG": os.path.join(folder, "log"),
            **{name: str(value) for name, value in settings.items()}}


def run(folder, ranks, *args, **settings):
    return mpi(ranks, "run", "job.json", "--force", *args, cwd=folder, env=environment(folder, **settings))


def lines(folder):
    """What is in the log at this moment: a run may write it faster than it is read here, and then it would have no end."""
    with open(os.path.join(folder, "log"), "rb") as f:
        return [line.split() for line in f.read(os.fstat(f.fileno()).st_size).decode().splitlines()]


def logged(folder):
    return collections.Counter(words[0] for words in lines(folder))


def touch(path):
    with open(path, "w"):
        pass


def io(operation, **more):
    return {"io": {"operation": operation, "name": more.pop("name", operation), "folder": "a", **more}}


WRITE = {"objects": 4, "size": "64 KiB", "block": "64 KiB"}


def test_agent_ends_between_phases():
    """The agent is gone when the second phase begins: the client was started once, and no rank crashes. A run that begins
    without an agent says so."""
    with Folder() as folder:
        agent = os.path.join(folder, "agent")
        write_job(folder, {"stores": store(), "phases": [
            io("write", **WRITE), io("read", **WRITE), io("read", name="again", **WRITE)]})
        r = run(folder, 2, HAUL_DFS_AGENT=agent)
        check(r.rc == 1 and "is daos_agent running? its socket" in r.err and "daos_agent.sock" in r.err, f"{r}")
        touch(agent)
        # The library removes the socket itself, so that the moment is exact: when the first phase lets go of its connection, and
        # each rank has started its client.
        r = run(folder, 2, HAUL_DFS_AGENT=agent, HAUL_DFS_AGENT_ENDS=1)
        check(r.rc == 0, f"{r}")
        check([p["name"] for p in report(folder + "/results.h5")["phases"]] == ["write", "read", "again"], f"{r}")
        check(not os.path.exists(agent), "the agent has not ended")
        log = logged(folder)
        check(log["init"] == 2 and log["connect"] == 3, f"{log}")


# A phase of each kind that goes on until it is stopped.
KINDS = {
    "train": [{"train": {"batch": 2, "epochs": 10000000, "null_steps": 0}}],
    "batch": [{"train": {"batch": 2, "epochs": 10000000, "null_steps": 0, "loader": {"kind": "batch", "workers": 1}}}],
    "write": [io("write", **WRITE, depth=2, threads=2, seconds="1 h", passes=0)],
    "read": [io("write", **WRITE), io("read", **WRITE, depth=2, threads=2, seconds="1 h", passes=0)],
    "stat": [io("write", **WRITE), io("stat", objects=4, seconds="1 h", passes=0)],
    "list": [io("write", **WRITE), io("list", objects=4, seconds="1 h", passes=0)],
    "generate": [{"generate": {}}],
    "checkpoint": [{"checkpoint": {"model": SMALL, "count": 10000, "pause": 0}}],
}


def silent(kind, ranks, wait_s):
    """Servers fall silent at a drawn moment, and a signal comes then: the run ends, and keeps the phase, if it ran."""
    with Folder(MEMORY) as folder:
        hang = os.path.join(folder, "hang")
        write_job(folder, {"stores": store(), "dataset": {"format": "npz", "files": 1000000 if kind == "generate" else 16, "sample_bytes": 20000},
                           "phases": ([{"generate": {}}] if kind in ("train", "batch") else []) + KINDS[kind]})
        process = start(ranks, "run", "job.json", "--force", cwd=folder, env=environment(folder, HAUL_DFS_HANG=hang),
                        start_new_session=True)
        try:
            while not any(w[0] == "connect" for w in (lines(folder) if os.path.exists(folder + "/log") else [])):
                check(process.poll() is None, "the run has ended before it connected")
                time.sleep(0.01)
            time.sleep(wait_s)
            # haul's own files begin with a dot.
            ran = any(w[0] in ("create", "open") and len(w) > 1 and not os.path.basename(w[1]).startswith(".") for w in lines(folder))
            touch(hang)
            time.sleep(0.1)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            r = finish(process, began)
        finally:
            kill_run(process, folder)
        what = f"{kind}, {ranks} ranks, after {wait_s:.2f} s"
        check(r.seconds < GRACE_S + AFTER_S, f"{what}: {r}")
        results = report(folder + "/results.h5")
        check(results["status"] == "interrupted", f"{what}: {r}")
        check(len(results["phases"]) > 0 or not ran, f"{what}: no phase is kept: {r}")


@matrix
def test_signal_while_servers_are_silent():
    """20 drawn moments in the long test."""
    kinds = list(KINDS)
    for n in range(20 if FULL else 2):
        kind = kinds[n % len(kinds)] if FULL else random.choice(kinds)
        silent(kind, random.choice((1, 2, 4)), random.uniform(0.3, 1.0))


def test_warning_of_a_stall():
    """A wait that is longer than stall_limit says where to look, and how to end the run."""
    with Folder() as folder:
        hang = os.path.join(folder, "hang")
        write_job(folder, {"stall_limit": "0.2 s", "stores": store(), "phases": [
            io("write", **WRITE), io("read", **WRITE, seconds="1 h", passes=0)]})
        check(run(folder, 1, "--only", "write").rc == 0, "write")
        before = logged(folder)["open"]
        process = start(1, "run", "job.json", "--force", "--only", "read", cwd=folder,
                        env=environment(folder, HAUL_DFS_HANG=hang), start_new_session=True)
        try:
            while logged(folder)["open"] < before + 4:
                check(process.poll() is None, f"the run has ended before it read: {logged(folder)}")
                time.sleep(0.01)
            touch(hang)
            said = ""
            while "TERM ends the run" not in said:
                line = process.stderr.readline()
                check(line, f"the run has ended without the warning: {said}")
                said += line
            process.send_signal(signal.SIGTERM)
            finish(process, time.monotonic(), timeout=60)
        finally:
            kill_run(process, folder)
        check("see whether its servers answer (dmg system query" in said, said)


def test_read_only_user():
    """Phases that only read, and ls, connect for reading; one that writes is refused, and told which rights it lacks."""
    with Folder() as folder:
        write_job(folder, {"stores": store(), "dataset": {"format": "npz", "files": 4, "sample_bytes": 1000}, "phases": [
            {"generate": {}}, io("write", **WRITE), {"train": {"batch": 1, "null_steps": 0}}, io("read", **WRITE),
            io("stat", objects=4), io("list", objects=4), {"checkpoint": {"model": SMALL, "operation": "write", "count": 1,
                                                                          "name": "save"}},
            {"checkpoint": {"model": SMALL, "operation": "read", "count": 1, "name": "restore"}}]})
        check(run(folder, 2).rc == 0, "the run that makes the data")
        reads = [a for name in ("train", "read", "stat", "list", "restore") for a in ("--only", name)]
        os.unlink(folder + "/log")
        r = run(folder, 2, *reads, HAUL_DFS_READ_ONLY=1)
        check(r.rc == 0, f"{r}")
        check({w[2] for w in lines(folder) if w[0] == "connect"} == {"r"}, f"{lines(folder)}")
        r = run(folder, 2, "--only", "write", HAUL_DFS_READ_ONLY=1)
        check(r.rc == 1 and "daos container get-acl" in r.err, f"{r}")
        r = alone("ls", "daos://pool/cont/data", "--set", f"library={LIBRARY}", cwd=folder,
                  env=environment(folder, HAUL_DFS_READ_ONLY=1))
        check(r.rc == 0 and "a/" in r.out, f"{r}")


def test_listing():
    """Where only names are wanted, nothing else is asked; where sizes are, each is asked once. Parts that the store has
    not made are no operations."""
    with Folder() as folder:
        count, look_us = 400, 2000
        write_job(folder, {"stores": store(), "phases": [
            io("create", objects=count // 2), io("list", objects=count // 2, parts=9)]})
        check(run(folder, 2, "--only", "create").rc == 0, "create")
        for anchors in (1, 4, 9, 20):
            with open(folder + "/log", "w"):
                pass
            r = run(folder, 2, "--only", "list", HAUL_DFS_ANCHORS=anchors, HAUL_DFS_ENTRY_US=look_us)
            phase = report(folder + "/results.h5")["phases"][0]["measures"]
            check(r.rc == 0 and phase["entries"] == count, f"{anchors}: {r}")
            check(phase["done"] == min(anchors, 9), f"{anchors}: {phase['done']} of {r}")
            asked = [w for w in lines(folder) if w[0] == "stat" and w[1][0] != "."]
            check(not asked, f"{asked[:3]}")
        r = alone("ls", "daos://pool/cont/data/a", "--set", f"library={LIBRARY}", "--max", 1000, cwd=folder,
                  env=environment(folder, HAUL_DFS_ENTRY_US=look_us))
        check(r.rc == 0 and r.out.count("\n") >= count, f"{r}")
        asked = [w[1] for w in lines(folder) if w[0] == "stat" and w[1][0] != "."]
        check(len(asked) == len(set(asked)) == count, f"{len(asked)} sizes were asked")


def test_lines_of_the_library():
    """Errors that DAOS writes to standard error do not spoil what is printed for programs."""
    with Folder() as folder:
        write_job(folder, {"stores": store(retry={"first": "1 ms"}), "phases": [io("write", **WRITE)]})
        r = run(folder, 2, "--live", "-", HAUL_DFS_FAIL="open:5:-1012")
        check(r.rc == 0 and "ERR " in r.err, f"{r}")
        for line in r.out.splitlines():
            if line.startswith("{"):
                json.loads(line)


def test_no_space():
    """DAOS gives space back late: writes fail although the pool tells that it has room."""
    with Folder() as folder:
        write_job(folder, {"stores": store(), "phases": [io("write", **WRITE)]})
        r = run(folder, 2, HAUL_DFS_FAIL="write:3:-1007")
        check(r.rc == 1 and "gives the space of removed objects back late" in r.err, f"{r}")


def test_plan_asks_the_pool():
    """The plan tells the space of the pool, is not refused where the pool is out of reach, and waits for seconds at most."""
    with Folder(MEMORY) as folder:
        write_job(folder, {"stores": store(), "dataset": {"format": "npz", "files": 10, "sample_bytes": 100000}, "phases": [
            {"generate": {}}, io("write", **WRITE)]})
        for settings, sentence in (({"HAUL_DFS_SPACE": 5_000_000}, "the pool of data has 5 MB free"),
                                   ({"HAUL_DFS_SPACE": 5_000, "HAUL_DFS_READ_ONLY": 1}, "the pool of data has only 5 kB free"),
                                   ({"HAUL_DFS_FAIL": "init:1:5"}, "is daos_agent running"),
                                   ({"HAUL_DFS_HANG": folder}, "nobody would wait any longer")):
            env = environment(folder, **settings)
            r = alone("plan", "job.json", cwd=folder, env=env)
            check(r.rc == 0 and sentence in " ".join(r.out.split()), f"{settings}: {r}")
            if "HAUL_DFS_LOG" in env and "HAUL_DFS_SPACE" in settings:
                check(logged(folder)["connect"] == 1, f"{lines(folder)}")
                made = json.loads(alone("plan", "--json", "job.json", cwd=folder, env=env).out)
                check(made["phases"][0]["space"] == {"free_bytes": settings["HAUL_DFS_SPACE"]}, f"{made['phases'][0]}")
                os.unlink(folder + "/log")


main()
