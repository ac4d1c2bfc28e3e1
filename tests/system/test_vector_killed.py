# SPDX-License-Identifier: Apache-2.0
"""A run of vectors that is killed at a drawn moment of a build, a search, a merge or a publication, on files and on an object store, by
one to four ranks: the results open, with each finished phase and the running one's figures; the next run begins; `haul clean` leaves
nothing.

test_vector_killed.py CALL_FAULTS: the library that ends a rank at a step that changes a file."""
import contextlib
import json
import os
import random
import signal
import sys
import time

import h5py

from haultest import FULL, HANGS_S, MEMORY, Folder, alone, check, finish, matrix, mpi, processes_of, ranks_of, start, write_job
from objects import CLEAN, main, servers

FAULTS = sys.argv.pop(1)
SHAPE = {"store": "d", "vectors": 3000, "dimension": 32, "degree": 16, "segments": 4, "folder": "p/v"}
MERGES = {"inserts": 4000, "deletes": 2000, "merge_at": 60, "spread": "segments"}


def phases(where, last):
    shape = {**SHAPE, "vectors": 200000} if where == "build" else SHAPE  # it takes a moment
    merges = where in ("merge", "publication")
    search = {**shape, **(MERGES if merges else {}), "operation": "search", "name": "search", "list": 20, **last}
    return [{"vector": {**shape, "operation": "build", "name": "build", "threads": 1}}, {"vector": search}]


def of_results(path):
    """(name, status, the phase's numbers) of each phase in the results; nothing where there are none yet."""
    try:
        with h5py.File(path) as f:
            return [(p.attrs["name"], p.attrs["status"], dict(p.attrs)) for _, p in sorted(f["phases"].items())]
    except (OSError, KeyError):
        return []


def plain(value):
    return value.decode() if isinstance(value, bytes) else str(value)


class Case:
    """One that is drawn."""

    def __init__(self, kind, number):
        self.kind, self.number = kind, number
        self.ranks, self.where = random.randint(1, 4), ("build", "search", "merge", "publication")[number % 4]
        self.all, self.after_s, self.step = random.random() < 0.5, random.random() * 1.5, random.randrange(1, 60)
        # A step is one of rank 0, which changes a file: on files of the index, or of the results.
        self.by_step = self.where == "publication" or (kind == "file" and self.where != "search" and random.random() < 0.5)

    def __str__(self):
        how = f"at step {self.step}" if self.by_step else f"{self.after_s:.2f} s in it, {'all ranks' if self.all else 'one rank'}"
        return f"{self.kind} {self.number}: {self.ranks} ranks, in the {self.where}, {how}"


def reached(case, path):
    """Whether the run is where it is killed: the results tell, or, before there are any, the time."""
    names = [plain(name) for name, _, _ in of_results(path)]
    if case.where == "build":
        return os.path.exists(path)
    return "search" in names if case.where in ("search", "merge") and case.number % 8 < 4 else "build" in names


def searched(live):
    """Whether the search has read something, as the live figures say."""
    with contextlib.suppress(OSError):
        with open(live, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f if line.endswith("\n")]
        return any(row["phase"] == "search" and row["state"] == "running" and row["bytes"] for row in rows)
    return False


def strike(case, process, path):
    """Waits for the moment, and ends the ranks. A step does that by itself, and where there are fewer of them the moment comes."""
    end = time.monotonic() + (15 if case.by_step else HANGS_S)
    while process.poll() is None and time.monotonic() < end and (case.by_step or not reached(case, path)):
        time.sleep(0.02)
    if not case.by_step:
        time.sleep(case.after_s * (0.3 if case.where == "build" else 1))
        # Long after the build, others than the one that goes have read something.
        late = case.where != "build" and case.after_s > 0.8
        while late and process.poll() is None and time.monotonic() < end and not searched(f"{os.path.dirname(path)}/../live"):
            time.sleep(0.02)
    of_all = processes_of(process)
    ranks = list(ranks_of(process).values()) if process.poll() is None else []
    hit = ranks if case.all else ranks[:1] if case.by_step else random.sample(ranks, min(1, len(ranks)))
    for number, pids in ((signal.SIGSTOP, of_all if case.all else ()), (signal.SIGKILL, hit), (signal.SIGCONT, set(of_all) - set(hit))):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def check_kept(case, path, before, r):
    """before: the phases that were published when the run was struck."""
    found = of_results(path)
    names = [plain(name) for name, _, _ in found]
    check(names[:len(before)] == [plain(b[0]) for b in before], f"{case}: {before} before, {found}: {r}")
    for (name, status, figures), old in zip(found, before):
        check(plain(status) == "done" or plain(old[1]) != "done", f"{case}: {plain(name)} was done, and is {plain(status)}: {r}")
        check(figures["bytes_read"] >= old[2]["bytes_read"], f"{case}: {plain(name)} has lost bytes: {r}")
    for name, status, figures in found:
        check(figures["cpu_user_ns"] + figures["cpu_system_ns"] < 600e9, f"{case}: {figures}")
        if plain(name) == "build" and plain(status) == "done":
            check(figures["bytes_written"] > 3000 * 32 * 4, f"{case}: {figures}")
    # Others than the one that is gone say what they have.
    others = case.ranks > 1 and not case.all and not case.by_step and case.after_s > 0.8
    if (len(before) == 2 and plain(before[1][1]) == "running") or (others and plain(before[0][1] if before else "") == "done"):
        check(len(found) == 2, f"{case}: {found}: {r}")
        check(found[1][2]["bytes_read"] > 0 and plain(found[1][1]) in ("running", "interrupted"), f"{case}: {found[1]}: {r}")


def left(folder, case, server):
    if case.kind == "file":
        return sorted(os.path.relpath(os.path.join(top, n), folder) for top, folders, files in os.walk(f"{folder}/a")
                      for n in folders + files)
    client = server.client()
    return [o["Key"] for o in client.list_objects_v2(Bucket="killed").get("Contents", [])] + \
        [u["Key"] for u in client.list_multipart_uploads(Bucket="killed").get("Uploads", [])]


def try_one(case, server):
    with Folder(MEMORY) as folder:
        env = {**CLEAN, **(server.env() if server else {})}
        store = {"uri": f"file://{folder}/a/b"} if case.kind == "file" else {"uri": "s3://killed/k", "endpoints": server.endpoint()}
        path = f"{folder}/out/results.h5"
        os.mkdir(f"{folder}/out")
        merges = case.where in ("merge", "publication")
        write_job(folder, {"seed": 5, "stores": {"d": store}, "phases": phases(case.where, {"seconds": 1000, "count": 0})})
        faults = {"LD_PRELOAD": FAULTS, "HAUL_FAULT": f"step:{case.step}:kill", "HAUL_FAULT_RANK": "0",
                  "HAUL_FAULT_PATH": f"{folder}/{'out' if case.where == 'publication' else 'a'}"} if case.by_step else {}
        began = time.monotonic()
        process = start(case.ranks, "run", "job.json", "--publish-every", "1 s", "--grace", "2 s", "--quiet", "--live", f"{folder}/live",
                        "--results", path,
                        cwd=folder, env={**env, **faults})
        strike(case, process, path)
        before = of_results(path)
        r = finish(process, began)
        check(r.rc != 0, f"{case}: {r}")
        check_kept(case, path, before, r)
        clean_first = random.random() < 0.5
        few = {"seconds": 600, "count": 0, "merges": 1} if merges else {"count": 10}
        write_job(folder, {"seed": 5, "stores": {"d": store}, "phases": phases(case.where, few)})
        for words in (("clean",), ("run",), ("clean",))[0 if clean_first else 1:]:
            more = ("--force", "--quiet", "--results", path) if words == ("run",) else ()
            r = (mpi(case.ranks, *words, "job.json", *more, cwd=folder, env=env) if more else alone(*words, "job.json", cwd=folder, env=env))
            check(r.rc == 0, f"{case}, {words[0]}{' after clean' if clean_first else ''}: {r}: {left(folder, case, server)}")
            if not more:
                check(left(folder, case, server) == [], f"{case}, clean: {r}: {left(folder, case, server)}")
        check(os.listdir(f"{folder}/out") == ["results.h5"], f"{case}: left beside the results: {os.listdir(f'{folder}/out')}")
        print(f"      {case}: {len(before)} phases were published", flush=True)


def test_first_generation():
    """A run that is killed at each step with which a merge writes a segment's first generation: `clean` leaves nothing."""
    for step in (1, 2, 3):
        with Folder() as folder:
            env = {**CLEAN, "LD_PRELOAD": FAULTS, "HAUL_FAULT": f"step:{step}:kill", "HAUL_FAULT_PATH": "_generation.json",
                   "HAUL_FAULT_HITS": f"{folder}/hits"}
            store = {"uri": f"file://{folder}/a/b"}
            few = {"seconds": 600, "count": 0, "merges": 1}
            write_job(folder, {"seed": 5, "stores": {"d": store}, "phases": phases("merge", few)})
            r = mpi(1, "run", "job.json", "--quiet", cwd=folder, env=env)
            check(r.rc != 0 and os.path.exists(f"{folder}/hits"), f"step {step}: {r}")
            held = left(folder, Case("file", 0), None)
            r = alone("clean", "job.json", cwd=folder, env=CLEAN)
            check(r.rc == 0 and left(folder, Case("file", 0), None) == [], f"step {step} of {held}: {r}")


@matrix
def test_on_files():
    for number in range(24) if FULL else random.sample(range(24), 2):
        try_one(Case("file", number), None)


@matrix
def test_on_objects():
    with servers.kept(servers.Rgw) as rgw:
        rgw.bucket("killed")
        for number in range(16) if FULL else random.sample(range(16), 1):
            try_one(Case("s3", number), rgw)


main()
