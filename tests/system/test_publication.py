# SPDX-License-Identifier: Apache-2.0
"""A run that is killed, or whose disk is full, at any step of a publication: the file opens, and no finished phase is lost. And
a file system of the results that does not answer any more: a run that is told to end does so.

test_publication.py CALL_FAULTS: the library that counts the steps by which a process changes the results, and ends it at one.
A step makes, fills, reserves, syncs, renames, links or removes a file; a write is killed when half of it is done."""
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time

import h5py

from haultest import FULL, HANGS_S, MEMORY, Folder, alone, check, finish, main, matrix, mpi, parts_beside, report, start, write_job

PRELOAD = sys.argv.pop(1)
# Steps that are drawn in a test for every change, of each shape of a run.
DRAWN = 3

IO = {"operation": "write", "store": "d", "objects": 4, "size": 1000, "block": 1000}


class Shape:
    """A job with so many phases, on so many ranks."""

    def __init__(self, name, ranks, phases, *options):
        self.name, self.ranks, self.phases, self.options = name, ranks, phases, options
        # A phase that is published while it runs is so as often as the machine's speed lets it be.
        self.exact = not options

    def job(self):
        phases = [{"io": {**IO, "name": f"p{i}"}} for i in range(self.phases)]
        if not self.exact:
            phases[1]["io"].update(passes=0, seconds=1.2)
        return {"name": "publication", "stores": {"d": {"uri": "null://d"}}, "phases": phases}


ONE_FILE = (Shape("one file, 1 rank", 1, 3), Shape("one file, 4 ranks", 4, 3))
# From 17 phases on they go into side files, which are joined at the end.
SIDE_FILES = (Shape("side files, 1 rank", 1, 17), Shape("side files, 4 ranks", 4, 17))
RUNNING = (Shape("a phase that is published while it runs", 1, 3, "--publish-every", "1 s"),)


class Step:
    def __init__(self, line):
        rank, number, self.name, self.path = line.rstrip("\n").split(" ", 3)
        self.rank, self.number = int(rank), int(number)

    def __repr__(self):
        return f"{self.number} {self.name} {os.path.basename(self.path)}"


def run(folder, shape, kill=None, full=None):
    """A run whose results are alone in the folder "out". Returns it and the steps that it has done there."""
    fault = f"step:{kill + 1}:kill" if kill is not None else f"step:{full + 1}:ENOSPC+" if full is not None else None
    env = {"HAUL_FAULT": fault} if fault else {}
    for old in ("steps", "live"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{folder}/{old}")
    r = mpi(shape.ranks, "run", "job.json", "--results", f"{folder}/out/results.h5", "--force", "--quiet", "--live", "live",
            *shape.options, cwd=folder, timeout=HANGS_S, env={"LD_PRELOAD": PRELOAD, "HAUL_FAULT_PATH": f"{folder}/out",
                                                          "HAUL_FAULT_LOG": f"{folder}/steps", **env})
    steps = []
    if os.path.exists(f"{folder}/steps"):
        with open(f"{folder}/steps", encoding="utf-8") as f:
            steps = [Step(line) for line in f]
    return r, steps


def fresh(folder):
    shutil.rmtree(f"{folder}/out", ignore_errors=True)
    os.mkdir(f"{folder}/out")


def gapless(steps):
    """Whether each step was done."""
    return [s.number for s in steps] == list(range(len(steps)))


def whole_run(folder, shape):
    """The steps of a run that nothing ends."""
    write_job(folder, shape.job())
    fresh(folder)
    r, steps = run(folder, shape)
    check(r.rc == 0, f"{shape.name}: {r}")
    check(os.listdir(f"{folder}/out") == ["results.h5"], f"{shape.name}: left: {os.listdir(f'{folder}/out')}")
    check(steps and all(s.rank == 0 for s in steps), f"{shape.name}: other ranks than the first change the results")
    check(gapless(steps), f"{shape.name}: a step failed")
    return steps


def published(steps):
    """How often the results file itself was put in place."""
    return sum(s.name == "rename" and s.path.endswith("/results.h5") for s in steps)


def done_phases(folder):
    """The phases that the run has called done."""
    done = []
    with contextlib.suppress(FileNotFoundError):
        for line in open(f"{folder}/live", encoding="utf-8"):
            with contextlib.suppress(ValueError):  # the last line may be torn
                said = json.loads(line)
                if said["state"] == "done":
                    done.append(said["phase"])
    return done


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def read_phases(path, ranks):
    """The status of the run, and the phases by their names with their own status. Reads all that is in the file, so that nothing
    is missing behind a link and no data set is torn."""
    with h5py.File(path, "r") as f:
        phases = {}
        for group in f["phases"] if "phases" in f else []:
            p = f["phases"][group]
            p.visititems(lambda _, item: item[()] if isinstance(item, h5py.Dataset) else None)
            phases[text(p.attrs["name"])] = text(p.attrs["status"])
            check(len(p["ranks"]) == ranks, f"{group} has {len(p['ranks'])} ranks")
        if "summary" in f:
            check(len(f["summary"]) == len(phases), f"/summary has {len(f['summary'])} rows for {phases}")
        return text(f.attrs["status"]), phases


def check_kept(folder, shape, steps, what):
    """What was published before the run ended is there. Returns how many phases."""
    path, renames, done = f"{folder}/out/results.h5", published(steps), done_phases(folder)
    if not os.path.exists(path):
        check(renames == 0 and not done, f"{what}: {renames} publications, and no file")
        return 0
    status, phases = read_phases(path, shape.ranks)
    check(all(phases.get(name) == "done" for name in done), f"{what}: {done} were done, the file has {phases}")
    if any(s.rank for s in steps):
        return len(phases)  # the others had the last word
    if shape.exact:
        # The first publication makes the file, the last one ends it.
        check(len(phases) == min(renames - 1, shape.phases), f"{what}: {renames} publications, and the phases {phases}")
        check(set(phases.values()) <= {"done"}, f"{what}: {phases}")
        check((status == "done") == (renames == shape.phases + 2), f"{what}: {renames} publications, the run is {status}")
    return len(phases)


def kill_at(folder, shape, n):
    fresh(folder)
    r, steps = run(folder, shape, kill=n)
    what = f"{shape.name}, killed at step {n}, after {steps[-3:]}"
    if r.rc == 0 and gapless(steps) and len(steps) <= n:
        return  # this run had fewer steps than the one that was counted
    check(r.rc != 0 and sum(s.rank == 0 for s in steps) == n, f"{what}: {len(steps)} steps: {r}")
    check_kept(folder, shape, steps, what)


def again(folder, shape):
    """A run in the place of one that was killed takes away what that has left."""
    r, _ = run(folder, shape)
    check(r.rc == 0, f"{shape.name}, once more: {r}")
    check(os.listdir(f"{folder}/out") == ["results.h5"], f"{shape.name}: left for ever: {os.listdir(f'{folder}/out')}")
    check(len(read_phases(f"{folder}/out/results.h5", shape.ranks)[1]) == shape.phases, f"{shape.name}, once more: {r}")


def distinct(shape, steps):
    """The steps by number, without those of phases that are published as another is: the creation, the first two phases, the
    last one and the end."""
    ends = [s.number for s in steps if s.name == "rename" and s.path.endswith("/results.h5")]
    if not shape.exact or len(ends) < 6:
        return list(range(len(steps)))
    wanted = [n for n in range(len(steps)) if n <= ends[2] + 1 or n > ends[-4] + 1]
    # Of the many writes in a row, every third.
    return [n for n in wanted if n % 3 == 0 or steps[n].name != "write" or steps[n - 1].name != "write"]


def drawn(steps, count):
    """Each kind of step and of file has the same chance."""
    kinds = {}
    for s in steps:
        kinds.setdefault((s.name, s.path.rsplit("/out", 1)[1].split(".part-")[0]), []).append(s.number)
    return [random.choice(random.choice(list(kinds.values()))) for _ in range(count)]


def killed(shapes):
    for shape in shapes:
        with Folder() as folder:
            steps = whole_run(folder, shape)
            places = distinct(shape, steps) if FULL and shape.ranks == 1 else drawn(steps, 30 if FULL else DRAWN)
            # Between the joining of the side files and their removal.
            places += [s.number for s in steps if s.name == "unlink" and s.path.endswith(".runs")][:1]
            for n in places:
                kill_at(folder, shape, n)
                if n in (places[0], places[-1]) or steps[n].name in ("mkdir", "rename", "unlink", "rmdir"):
                    again(folder, shape)
            print(f"      {shape.name}: {len(places)} of {len(steps)} steps", flush=True)


@matrix
def test_killed_with_one_file():
    killed(ONE_FILE)


@matrix
def test_killed_with_side_files():
    killed(SIDE_FILES)


@matrix
def test_killed_while_phases_run():
    killed(RUNNING)


def test_order():
    """What a machine without power keeps: a file is synced between its last write and its renaming, the folder is synced right
    after that, and a side file is in place before the file that links to it."""
    for shape in (ONE_FILE[0], SIDE_FILES[0], *RUNNING):
        with Folder() as folder:
            steps, dirty, links = whole_run(folder, shape), {}, 0
            for s, after in zip(steps, steps[1:] + [None]):
                if s.name in ("open", "truncate", "write", "reserve"):
                    dirty[s.path] = s
                elif s.name in ("fsync", "unlink"):
                    dirty.pop(s.path, None)
                elif s.name == "rename" and s.path.endswith(".h5"):
                    late = [w for path, w in dirty.items() if path.startswith(s.path + ".part-")]
                    check(not late, f"{shape.name}: {s} before {late} is on the disk")
                    check(after and after.name == "fsync" and after.path == os.path.dirname(s.path),
                          f"{shape.name}: {after} follows {s}")
                    links += ".runs/" in s.path
            check(links == (shape.phases if shape.phases > 16 else 0), f"{shape.name}: {links} side files were put in place")


def full_at(folder, shape, n):
    fresh(folder)
    r, steps = run(folder, shape, full=n)
    what = f"{shape.name}, full from step {n} on"
    if r.rc == 0 and gapless(steps):
        return shape.phases  # as above
    check(r.rc == 1, f"{what}: {r}")
    check("no space left" in r.err.lower(), f"{what}: the message does not say why: {r}")
    check("does not answer" not in r.err, f"{what}: the watchdog ended the run: {r}")
    phases = check_kept(folder, shape, steps, what)
    left = [name for name in os.listdir(f"{folder}/out") if ".part-" in name or name.endswith(".owner")]
    check(not left, f"{what}: left: {left}")
    if os.path.exists(f"{folder}/out/results.h5"):
        found = report(f"{folder}/out/results.h5")
        # Of the last publication, only the sync of the folder is left to fail.
        ends = ("done",) if published(steps) == shape.phases + 2 else ("interrupted", "failed")
        check(found["status"] in ends, f"{what}: the results say {found['status']}")
        check(len(found["phases"]) == phases, f"{what}: the report has {len(found['phases'])} of {phases} phases")
    return phases


@matrix
def test_full_at_any_step():
    """All ranks learn it at once, and the run ends with a sentence."""
    for shape in (*ONE_FILE, *SIDE_FILES) if FULL else (ONE_FILE[1], SIDE_FILES[0]):
        with Folder() as folder:
            steps = whole_run(folder, shape)
            needs = [n for n in distinct(shape, steps) if steps[n].name not in ("unlink", "rmdir")]
            # The first and the last step that needs room, and some between them; under FULL all of them.
            every = len(needs) // 2 if not FULL or shape.ranks > 1 else 1
            places = sorted({needs[0], needs[-1]} | set(needs if every == 1 else needs[::every]))
            phases = [full_at(folder, shape, n) for n in places]
            # Runs differ by a few writes, so a step that is a little later may belong to the phase before.
            check(phases[0] == 0 and phases[-1] == shape.phases, f"{shape.name}: phases in the results: {phases}")


# Only the steps of files that are not yet in place.
PARTS = {"LD_PRELOAD": PRELOAD, "HAUL_FAULT_PATH": ".part-"}
GRACE_S = 2
BUSY_S = 30  # that a run may take to end beyond this on a busy machine; without its grace it would never end
LOST = "the results cannot be written: their file system does not answer"


def trained():
    return {"name": "full", "stores": {"d": {"uri": "sim://d"}},
            "dataset": {"store": "d", "format": "raw", "files": 8, "sample_bytes": 1000},
            "phases": [{"train": {"compute": "1 ms", "null_steps": 0, "loader": {"workers": 1}}}, {"io": IO}]}


def hangs_at(folder, job, step, ready=None, published=None):
    """Runs the job, whose step (or the first one once `ready` says so) never returns, and sends TERM when it hangs, or at once."""
    hung, now = f"{folder}/hung", f"{folder}/now"
    write_job(folder, job)
    env = {**PARTS, "HAUL_FAULT_RANK": "0", "HAUL_FAULT": f"step:{step + 1}:hang+", "HAUL_FAULT_HITS": hung}
    process = start(2, "run", "job.json", "--force", "--grace", f"{GRACE_S} s", cwd=folder,
                    env={**env, "HAUL_FAULT_WHEN": now} if ready else env)
    until = time.monotonic() + HANGS_S
    while not (ready() if ready else os.path.exists(hung)):
        check(process.poll() is None and time.monotonic() < until, f"{process.poll()}: {process.communicate() if process.poll() is not None else ''}")
        time.sleep(0.02)
    if ready:
        open(now, "w").close()
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    r = finish(process, began, 100)
    at = f"step {step}: {r}"
    check(os.path.exists(hung), f"nothing was written after the stop: {at}")
    check(r.seconds < GRACE_S + BUSY_S, at)
    # The first step is of the empty file, from before anything was measured.
    check(LOST in r.err or (step == 0 and not ready and "rank 0 on" in r.err), at)
    path = os.path.join(folder, "results.h5")
    if os.path.exists(path):
        found = report(path)
        check(found["status"] != "done" and published in (None, [p["name"] for p in found["phases"]]), f"{found}: {at}")
    for name in parts_beside(path) + [path]:
        os.unlink(name) if os.path.exists(name) else None


def test_file_system_hangs():
    with Folder() as folder:
        write_job(folder, trained())
        check(mpi(2, "run", "job.json", cwd=folder, env={**PARTS, "HAUL_FAULT_LOG": f"{folder}/steps"}).rc == 0, "the run failed")
        with open(f"{folder}/steps", encoding="utf-8") as f:
            steps = [Step(line) for line in f]
        count = len(steps)
        # The file is made before there is anything to lose; its sync ends that.
        made = next(s.number for s in steps if s.name == "fsync")
        for step in (0, random.randrange(made + 2, count - 5), count - 5):
            with Folder() as one:
                hangs_at(one, trained(), step)


def test_file_system_hangs_with_a_rank():
    """A rank is stuck in a file, so the last words are spoken by a copy, which the file system does not answer, either."""
    with Folder() as folder:
        phases = [{"io": {"operation": kind, "name": kind, "store": "d", "objects": 4, "size": 4096, "block": 4096}} for kind in ("write", "read")]
        one = {"name": "full", "stores": {"d": {"uri": f"file://{folder}/data", "engine": "psync"}}, "phases": phases}
        write_job(folder, one)
        check(mpi(2, "run", "job.json", "--only", "write", cwd=folder).rc == 0, "the write failed")
        os.unlink(f"{folder}/results.h5")
        victim = os.path.join(folder, "data/io", sorted(n for n in os.listdir(f"{folder}/data/io") if "0" in n)[0])
        os.unlink(victim)
        os.mkfifo(victim)
        one["phases"][0] = {"io": {**phases[0]["io"], "name": "first", "store": "s"}}
        one["stores"]["s"] = {"uri": "sim://s"}

        def reads():
            r = alone("report", "--json", "results.h5", cwd=folder)
            return r.rc == 0 and len(json.loads(r.out)["phases"]) == 1
        hangs_at(folder, one, 0, ready=reads, published=["first"])


def test_data_hang_and_results_do_not():
    """The copy that speaks the last words does not come to an end where files of the data are closed; the results are there all the
    same."""
    with Folder(MEMORY) as folder:
        io = {"store": "d", "objects": 8, "size": 65536, "block": 4096}
        write_job(folder, {"name": "hung", "stores": {"d": {"uri": f"file://{folder}/data", "engine": "psync"}},
                           "phases": [{"io": {"operation": kind, "name": kind, **io}} for kind in ("write", "read")]})
        hung = f"{folder}/hung"
        process = start(2, "run", "job.json", "--grace", f"{GRACE_S} s", cwd=folder, env={
            "LD_PRELOAD": PRELOAD, "HAUL_FAULT_PATH": f"{folder}/data/", "HAUL_FAULT_RANK": "0", "HAUL_FAULT": "read:40:hang", "HAUL_FAULT_HITS": hung})
        until = time.monotonic() + HANGS_S
        while not os.path.exists(hung):
            check(process.poll() is None and time.monotonic() < until, f"{process.poll()}")
            time.sleep(0.02)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        r = finish(process, began, 100)
        check(LOST not in r.err and r.seconds < GRACE_S + BUSY_S, f"{r}")
        found = report(f"{folder}/results.h5")
        check([(p["name"], p["status"]) for p in found["phases"]] == [("write", "done"), ("read", "interrupted")], f"{found}")


def test_store_hangs_while_it_is_closed():
    """All is counted when the store's last calls do not come back: the phase is there, with the figures of one that ends well."""
    with Folder(MEMORY) as folder:
        model = {"vocabulary": 64, "hidden": 32, "feed_forward": 96, "layers": 4, "heads": 4, "kv_heads": 2}
        write_job(folder, {"name": "hung", "stores": {"d": {"uri": f"file://{folder}/data", "engine": "psync"}},
                           "phases": [{"checkpoint": {"store": "d", "operation": "write", "model": model, "count": 2}}]})

        def counts():
            return [(p["operations"], p["bytes_written"], p["measures"]["written"]) for p in report(f"{folder}/results.h5")["phases"]]
        check(mpi(1, "run", "job.json", cwd=folder).rc == 0, "the run failed")
        whole = counts()
        check(whole[0][2] == 2, f"{whole}")
        for call in ("unlink", "close"):
            hung = f"{folder}/{call}"
            process = start(1, "run", "job.json", "--force", "--grace", f"{GRACE_S} s", cwd=folder, env={
                "LD_PRELOAD": PRELOAD, "HAUL_FAULT_PATH": "/checkpoints.haul-owner", "HAUL_FAULT": f"{call}:1:hang", "HAUL_FAULT_HITS": hung})
            until = time.monotonic() + HANGS_S
            while not os.path.exists(hung):
                check(process.poll() is None and time.monotonic() < until, f"{process.poll()}")
                time.sleep(0.02)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            r = finish(process, began, 100)
            check(counts() == whole and report(f"{folder}/results.h5")["phases"][0]["status"] == "interrupted", f"{call}: {counts()}: {r}")


main()
