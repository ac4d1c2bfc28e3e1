# SPDX-License-Identifier: Apache-2.0
"""Runs that are told to end, at drawn moments, on stores that work, that are slow and that hang: each ends within its grace, its
results open, and nothing that had finished is lost.

    tests/hostile/run --minutes 10 [--seed S]       looks for that long
    tests/hostile/run --draws 100 [--seed S]        so many runs
    tests/hostile/run --draws 100 --jobs 2          two runs side by side
    tests/hostile/run --seed S --draw I             the same run again, of those that a seed draws

Each run has two phases: "first", which ends soon, and "hostile", of a drawn kind, which would go on for an hour. What is drawn
follows from the seed, which is printed; when the machine comes to a moment does not.

The stores: "file" works, "sim" and "delay" are slow (the latter with calls that take longer), and the others hang or fail: "fifo" is a
file that never opens, or one in the place of a marker or a trace, which is refused, "fuse" a file system that no longer answers, "hang" a
call that does not return and "fault" one that fails, at its n-th time (preload_call_faults.c), "http" a server that says nothing, "dfs" the
stand-in of libdfs. "results" is a store that works, and a call on the results file fails."""
import argparse
import collections
import concurrent.futures
import contextlib
import glob
import itertools
import json
import os
import random
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
os.environ.setdefault("HAUL_SOURCE", SOURCE)
os.environ.setdefault("HAUL", f"{SOURCE}/build/release/haul")
os.environ.setdefault("HAUL_MPIEXEC", "mpiexec.mpich")
sys.path[:0] = [HERE, f"{SOURCE}/tests/system"]
from haultest import HANGS_S, MEMORY, SANITIZED, Folder, check, finish, freeze, kill_run, mpi, ranks_in, ranks_of, \
    report, start, write_job  # noqa: E402
from fuse import Fuse, can_mount  # noqa: E402
from test_ends import Silent  # noqa: E402
from test_load import make_model  # noqa: E402

GRACE_S, AFTER_S = 2, 20 if SANITIZED else 5
# How long a run may take to begin, and its phase to say that it runs, before the moment comes all the same.
BEGIN_S, SILENT_S = HANGS_S, 1.5
LIBRARY = os.environ.get("HAUL_TEST_DFS", f"{SOURCE}/build/release/tests/libs/dfs/libtest_dfs.so")
FAULTS = os.environ.get("HAUL_TEST_CALL_FAULTS", f"{SOURCE}/build/release/tests/libcall_faults.so")
TRACE = f"{SOURCE}/tests/fixtures/traces/tiny-1b_2_users_40s.csv.zst"
KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1", "NO_PROXY": "127.0.0.1"}

KINDS = ("io", "generate", "train", "checkpoint", "load", "kvcache", "replay")
STORES = ("file", "sim", "delay", "fifo", "fuse", "hang", "fault", "results", "http", "dfs")
SIGNALS = ("TERM", "INT", "HUP", "TWICE", "KILL", "STOP")
CALLS = ("open", "read", "write", "fsync", "rename", "close", "unlink", "stat", "mkdir", "ring")
READ_CALLS = ("open", "read", "close", "stat", "ring")
WRITERS = ("generate", "checkpoint", "kvcache", "replay")  # the others read, on such a store
ERRNOS = ("EIO", "ENOSPC", "EINTR", "EAGAIN", "ESTALE", "EDQUOT", "ENOMEM", "EACCES", "ENOENT", "short")
# Files below the store whose place a FIFO takes, where a kind reads none of its data.
MARKERS = {"generate": ".haul-manifest.json", "kvcache": ".haul-kvcache.json"}
# Stores below a folder that the run before must have filled, because what happens to them happens in this run.
FILLED = ("fifo", "fuse", "hang", "fault", "delay")
MODEL = {"vocabulary": 64, "hidden": 32, "feed_forward": 96, "layers": 16, "heads": 4, "kv_heads": 2}
IO = {"objects": 8, "size": "16 KiB", "block": "4 KiB", "store": "d", "folder": "io"}


class Draw:
    """One run: what it does, on what, and what happens to it."""

    def __init__(self, seed, number):
        r = self.random = random.Random(f"{seed} {number}")
        self.number = number
        self.kind, self.store = r.choice(KINDS), r.choice(STORES)
        if (self.kind, self.store) == ("load", "sim"):  # which has no models of others
            self.store = "file"
        self.signal, self.ranks = r.choice(SIGNALS), r.randint(1, 8)
        if self.signal == "STOP":  # somebody must be there to notice
            self.ranks = max(self.ranks, 2)
        self.early = self.signal != "STOP" and r.random() < 0.25
        self.wait_s = r.uniform(0, 0.5)
        # The signal goes to mpiexec, else to a rank. STOP: the process that the launcher started is stopped with its rank.
        self.launcher = r.random() < 0.5
        self.engine, self.transport = r.choice(("psync", "uring")), r.choice(("native", "curl"))
        self.call, self.fault = self.draw_fault(r)

    def draw_fault(self, r):
        """(the call, the environment of preload_call_faults.c) where a call fails, hangs or takes longer."""
        call = r.choice(CALLS if self.store == "results" or self.kind in WRITERS else READ_CALLS)
        n = r.choice((1, 1, 2, 3, r.randint(4, 60), r.randint(60, 600)))
        what = {"hang": "hang", "delay": str(r.randint(1000, 100000)) + "+"}.get(self.store, r.choice(ERRNOS) + r.choice(("", "+")))
        some, rank = r.random() < 0.5, r.randrange(self.ranks)
        if self.store not in ("hang", "delay", "fault", "results"):
            return None, {}
        if self.store == "results" and call == "ring":
            call = "write"
        return call, {"HAUL_FAULT": f"{call}:{n}:{what}", **({"HAUL_FAULT_RANK": str(rank)} if some else {})}

    def __str__(self):
        fault = "".join(f", {value}" for value in self.fault.values())
        return f"{self.number}: {self.kind} on {self.store}{fault}, {self.ranks} ranks, {self.signal} " \
               f"{self.wait_s:.2f} s after {'the start' if self.early else 'the phase began'}"


def stores_of(draw, folder, server):
    """The store "d", whose files are below the folder "data" where it has files."""
    file = {"uri": f"file://{folder}/data", "engine": "uring" if draw.call == "ring" else draw.engine}
    return {"sim": {"uri": "sim://d", "latency": "30 ms", "open_latency": "50 ms", "rank_bandwidth": "1 MB/s"},
            "http": {"uri": "s3://bucket/x", "transport": draw.transport, "endpoints": [f"http://127.0.0.1:{server.port}"]},
            "dfs": {"uri": "daos://pool/cont/data", "library": LIBRARY}}.get(draw.store, file)


def phases_of(draw, trace):
    """(what must be there before, the phase "hostile")"""
    written = draw.store != "http"
    # Parts of an object that is sent have at least 5 MiB.
    chunk = {"chunk": "64 KiB", "buffers": "512 KiB"} if written else {"chunk": "8 MiB", "buffers": "16 MiB"}
    checkpoint = {"store": "d", "model": MODEL, **chunk}
    if draw.kind == "io":
        if not written:
            return [], {"io": {**IO, "operation": "write", "block": IO["size"]}}
        return [{"io": {**IO, "name": "before", "operation": "write"}}], \
            {"io": {**IO, "operation": "read", "seconds": "1 h", "passes": 0}}
    if draw.kind == "generate":
        return [], {"generate": {}}
    if draw.kind == "train":
        return [{"generate": {"name": "before"}}] if written else [], \
            {"train": {"batch": 2, "epochs": 10000000, "null_steps": 0, "compute": "1 ms",
                       "loader": {"workers": draw.random.randint(0, 2)}}}
    if draw.kind == "checkpoint":
        if draw.store == "fifo":
            return [{"checkpoint": {**checkpoint, "name": "before", "count": 1}}], \
                {"checkpoint": {**checkpoint, "operation": "read", "count": 1}}
        return [], {"checkpoint": {**checkpoint, "operation": "write", "count": 10000, "keep": 2}}
    if draw.kind == "load":
        return [], {"load": {"store": "d", "folder": "model", "chunk": "8 KiB", "buffers": "64 KiB", "count": 10000,
                             "pause": "100 ms", "null_passes": 0}}
    if draw.kind == "kvcache":
        model = {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}
        return [], {"kvcache": {"model": model, "users": 10, "duration": "3600 s", "chunk": chunk["chunk"],
                                "tiers": [{"kind": "cpu", "capacity": "8 MiB"}, {"store": "d", "capacity": "16 MiB"}]}}
    return [], {"replay": {"store": "d", "trace": trace, "size_scale": 0.00001}}


def job_of(draw, folder, server):
    """The job, and the phases that must have run before it."""
    trace = f"{folder}/trace.csv" if draw.store == "fifo" else TRACE
    before, hostile = phases_of(draw, trace)
    next(iter(hostile.values()))["name"] = "hostile"
    return {"name": "hostile", "stores": {"n": {"uri": "null://n"}, "d": stores_of(draw, folder, server)},
            **({"dataset": {"store": "d", "format": "npz", "sample_bytes": 4096,
                            "files": 1000000 if draw.kind == "generate" else 16}} if draw.kind in ("generate", "train") else {}),
            "phases": [*before, {"io": {"name": "first", "operation": "write", "objects": 8, "size": "16 KiB",
                                        "block": "4 KiB", "store": "n"}}, hostile]}, before


def put_fifo(draw, folder):
    """Puts a FIFO in the place of one of the files."""
    data = f"{folder}/data"
    victims = {"generate": f"{data}/{MARKERS['generate']}", "kvcache": f"{data}/kvcache/{MARKERS['kvcache']}",
               "replay": f"{folder}/trace.csv"}
    victim = victims.get(draw.kind)
    if not victim:
        found = [p for p in glob.glob(f"{data}/**/*", recursive=True) if os.path.isfile(p) and os.path.getsize(p) > 1 << 10
                 and not p.endswith(".json")]
        victim = draw.random.choice(sorted(found))
        os.unlink(victim)
    os.makedirs(os.path.dirname(victim), exist_ok=True)
    os.mkfifo(victim)


def live(folder):
    """The state of each phase, as the run has told it last."""
    states = {}
    with contextlib.suppress(OSError):
        for line in open(f"{folder}/live.jsonl", encoding="utf-8"):
            with contextlib.suppress(ValueError):  # the last line may be written just now
                said = json.loads(line)
                states[said["phase"]] = said["state"]
    return states


def wait_for_moment(draw, folder, process):
    """Returns the seconds that the run needed to begin."""
    began = time.monotonic()
    first = begun = None
    while process.poll() is None:
        now = time.monotonic()
        begun = begun or (now if len(ranks_of(process)) == draw.ranks else None)
        if draw.store == "results" and begun and now - begun > 10:
            break  # HDF5 tries again for ever where a write is interrupted each time
        check(now - began < BEGIN_S, "the run does not begin")
        if draw.early:
            # An INT to mpiexec before that reaches nobody, and is lost.
            if len(ranks_of(process)) == draw.ranks:
                break
        else:
            states = live(folder)
            first = first or (now if states.get("first") == "done" else None)
            if "hostile" in states or (first and now - first > SILENT_S):
                break
        time.sleep(0.02)
    took = (begun or time.monotonic()) - began
    time.sleep(draw.wait_s)
    return took


def give_signal(draw, process):
    """Returns when the run was told to end."""
    number = getattr(signal, f"SIG{draw.signal}", signal.SIGTERM)
    ranks = ranks_of(process)
    pid = ranks[draw.random.choice(sorted(ranks))] if ranks else None
    if draw.signal == "STOP" and pid:
        stopped = freeze(pid) if draw.launcher else os.kill(pid, number) or [pid]
        time.sleep(0.2)
        if len(ranks_of(process)) < draw.ranks:
            # The others have ended just now, or the rank had: what is stopped has nothing more to do, and nobody left to wake it.
            for p in stopped:
                os.kill(p, signal.SIGCONT)
        number = signal.SIGTERM
    began = time.monotonic()
    if pid and draw.signal != "STOP" and not draw.launcher:
        with contextlib.suppress(ProcessLookupError):  # it has ended just now
            os.kill(pid, number)
    else:
        process.send_signal(number)
    if (draw.store, draw.signal) == ("fuse", "KILL"):
        # The kernel lets a rank that waits for the lock of a folder die only once the rank that has it goes, so that mpiexec may learn
        # of nothing.
        time.sleep(1)
        if process.poll() is None:
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
    if draw.signal == "TWICE":
        time.sleep(1.2)  # signals that come closer are one
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number) if pid and not draw.launcher else process.send_signal(number)
    return began


def check_results(draw, folder, before, r):
    """before: the states of the phases when the signal came."""
    path = f"{folder}/results.h5"
    done = [name for name, state in before.items() if state == "done"]
    if not os.path.exists(path):
        check(not done, f"no results, but {done} had ended: {r}")
        return "no results"
    results = report(path)
    # Nobody is there to publish, or not yet.
    silent = draw.signal == "KILL" and (draw.early or not draw.launcher and draw.ranks == 1)
    # A rank that is killed while the run goes on is a failure of the run to those that are left.
    left = draw.signal == "KILL" and results["status"] == "failed" and "a rank failed" in r.err
    # A call that failed may have ended the run just before mpiexec was told to end, which then returns another status.
    fails = ("http", "fault", "results")
    told = draw.store in fails and results["status"] == "failed" and "haul: " in r.err
    check(silent or left or told or results["status"] == "interrupted" or r.rc in (1, 2), f"the results are {results['status']}: {r}")
    phases = {p["name"]: p["status"] for p in results["phases"]}
    lost = [name for name in done if phases.get(name) != "done"]
    check(not lost, f"{lost} had ended, but there is {phases}: {r}")
    last = phases.get("hostile")
    # A FIFO in the place of a marker is not opened: the phase refuses it at once.
    refused = draw.store == "fifo" and draw.kind in MARKERS and r.rc in (1, 2) and MARKERS[draw.kind] in r.err
    check(last in (None, "interrupted") or (last == "failed" and (refused or draw.store in fails)), f"hostile is {last}: {r}")
    check(last or silent or draw.store == "results" or before.get("hostile") != "running",
          f"hostile ran, but there is {phases}: {r}")
    return last or "absent"


def try_one(draw, server):
    """One run. Returns what became of it; an AssertionError tells what broke."""
    with Folder(MEMORY) as folder:
        folder = os.path.realpath(folder)
        os.makedirs(f"{folder}/pool/cont")
        job, before = job_of(draw, folder, server)
        write_job(folder, job)
        if draw.kind == "load" and draw.store != "http":
            make_model(f"{folder}/pool/cont/data/model" if draw.store == "dfs" else f"{folder}/data/model")
        env = {**KEYS, "HAUL_DFS_ROOT": folder, "HAUL_DFS_HANG": f"{folder}/hang"}
        more = []
        if draw.store in FILLED:
            if before:
                r = mpi(draw.ranks, "run", "job.json", "--only", "before", "--quiet", cwd=folder, env=env)
                check(r.rc == 0, f"what must be there before: {r}")
                os.unlink(f"{folder}/results.h5")
                more = ["--skip", "before"]
        if draw.store == "fifo":
            put_fifo(draw, folder)
        if draw.fault:
            env.update({"LD_PRELOAD": FAULTS, **draw.fault, "HAUL_FAULT_HITS": f"{folder}/hits",
                        "HAUL_FAULT_PATH": f"{folder}/{'results.h5' if draw.store == 'results' else 'data/'}"})
        with Fuse(f"{folder}/data") if draw.store == "fuse" else contextlib.nullcontext() as fuse:
            process = start(draw.ranks, "run", "job.json", "--force", "--ignore-space", "--grace", f"{GRACE_S} s", "--live",
                            "live.jsonl", *more, cwd=folder, env=env, start_new_session=True)
            try:
                return watch(draw, folder, process, fuse)
            finally:
                with contextlib.suppress(ValueError):  # its output has been read
                    kill_run(process, folder)


def watch(draw, folder, process, fuse):
    # A machine on which the start took long also takes long for the end.
    after = max(AFTER_S, 3 * wait_for_moment(draw, folder, process))
    if fuse:
        fuse.fall_silent()
    if draw.store == "dfs":
        open(f"{folder}/hang", "w").close()
        time.sleep(0.1)
    states = live(folder)
    ended = process.poll() is not None
    began = time.monotonic() if ended else give_signal(draw, process)
    r = finish(process, began, GRACE_S + after + 60)
    check(ended or r.seconds <= GRACE_S + after, f"ended {r.seconds:.1f} s after the signal, of which {GRACE_S} are its grace: {r}")
    check("anitizer" not in r.err and "Assertion" not in r.err and "egmentation" not in r.err, f"{r}")
    # Ranks publish when mpiexec has been lost, too.
    until = max(time.monotonic() + 2, began + GRACE_S + after)
    while ranks_in(folder) and time.monotonic() < until:
        time.sleep(0.05)
    check(not ranks_in(folder), f"{len(ranks_in(folder))} ranks go on: {r}")
    became = check_results(draw, folder, states, r)
    if draw.fault and not os.path.exists(f"{folder}/hits"):
        became += ", no such call"
    if ended:
        # What hangs may be told from what is right before anything waits for it.
        ends = ("fifo", "fault", "results")
        check(r.rc in (1, 2) and draw.store in ends and "haul: " in r.err, f"the run ended before the signal: {r}")
        return "refused: " + next(line for line in r.err.splitlines() if line.startswith("haul: "))
    return f"{became}, {r.seconds:.1f} s"


def table(tried):
    """Lines of what was tried, held and broke, by each thing that is drawn."""
    yield f"{'':24}{'tried':>7}{'held':>7}{'broke':>7}"
    for what in ("kind", "store", "call", "signal", "ranks"):
        rows = collections.defaultdict(lambda: [0, 0])
        for draw, held in tried:
            if getattr(draw, what):
                rows[getattr(draw, what)][held] += 1
        for name, (broke, held) in sorted(rows.items()):
            yield f"{what + ' ' + str(name):24}{broke + held:7}{held:7}{broke:7}"
    held = sum(held for _, held in tried)
    yield f"{'all':24}{len(tried):7}{held:7}{len(tried) - held:7}"


def main():
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("--minutes", type=float, help="how long to look")
    say.add_argument("--draws", type=int, help="how many runs; 20 where --minutes is not given")
    say.add_argument("--seed", type=int, default=time.time_ns() % 1000000)
    say.add_argument("--jobs", type=int, default=1, help="how many runs at a time")
    say.add_argument("--draw", type=int, help="only this run of the seed")
    args = say.parse_args()
    # A shell that starts this in the background has INT ignored, which mpiexec would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end = time.monotonic() + args.minutes * 60 if args.minutes else None
    draws = args.draws or (None if end else 20)
    if not can_mount():
        print("no fuse here: those stores are files that work", flush=True)
    print(f"seed {args.seed}", flush=True)
    tried = []
    numbers = itertools.count() if args.draw is None else [args.draw]
    numbers = itertools.islice(numbers, draws)
    with Silent() as server, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        def one(number):
            if end and time.monotonic() > end:
                return
            draw = Draw(args.seed, number)
            try:
                became = try_one(draw, server)
            except Exception as e:  # whatever it is, the others run
                said = str(e) if isinstance(e, AssertionError) else traceback.format_exc()
                print(f"broke {draw}: {said}\n      --seed {args.seed} --draw {number} draws it again", flush=True)
                tried.append((draw, False))
            else:
                print(f"held  {draw}: {became}", flush=True)
                tried.append((draw, True))
        work = set()
        for number in numbers:
            work.add(pool.submit(one, number))
            if len(work) >= args.jobs:
                _, work = concurrent.futures.wait(work, return_when=concurrent.futures.FIRST_COMPLETED)
            if end and time.monotonic() > end:
                break
    print(*table(tried), sep="\n")
    sys.exit(any(not held for _, held in tried))


if __name__ == "__main__":
    main()
