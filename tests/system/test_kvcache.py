"""Key-value caches: entries move between tiers and are what was written, a store never holds more than its tier and what is
under way, nothing stays behind, and `haul clean` removes what a run that was killed has left."""
import contextlib
import csv
import json
import os
import signal
import subprocess
import time

import kvcache_options as options
from haultest import *

# A token has 256 bytes, so an entry has 32 KB to 6.4 MB.
MODEL = {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}
THREADS = 4


def job(folder, **options):
    return {"seed": 7, "stores": {"s": {"uri": f"file://{folder}/data", "engine": "psync"}},
            "phases": [{"kvcache": {"model": MODEL, "users": 10, "duration": "600 s", "requests": 40, "threads": THREADS,
                                    "served": THREADS, "chunk": "256 KiB", "verify": "full",
                                    "tiers": [{"kind": "cpu", "capacity": "8 MiB"}, {"store": "s", "capacity": "16 MiB"}],
                                    **options}}]}


def held(folder):
    """Bytes of all files below a folder that others change meanwhile."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.path.getsize(f"{path}/{name}")
    return total


def on_disk(folder):
    """Bytes of the entries below a folder that others change meanwhile, as du counts them: without folders, and without the
    description of the folder."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{path}/{name}").st_blocks * 512 if not name.startswith(".haul-kvcache") else 0
    return total


def test_options():
    """MLPerf's three options on files and in memory. Files are looked at every 50 ms."""
    ranks = 2
    with Folder() as folder:
        on_files, in_memory = options.phases("files"), options.phases("memory")
        write_job(folder, {"seed": 42, "stores": {"files": {"uri": f"file://{folder}/data", "engine": "psync", "fsync": "file"},
                                                  "memory": {"uri": "mem://memory"}}, "phases": on_files + in_memory})
        most = {p["kvcache"]["folder"]: 0 for p in on_files}
        began = time.monotonic()
        process = start(ranks, "run", "job.json", cwd=folder)
        while process.poll() is None:
            for name, before in most.items():
                most[name] = max(before, on_disk(f"{folder}/data/{name}"))
            time.sleep(0.05)
        r = finish(process, began)
        check(r.rc == 0, f"{r}")
        left = [name for _, folders, files in os.walk(f"{folder}/data") for name in folders + files]
        check(not left and on_disk(f"{folder}/data") == 0, f"{left[:5]} are left")
        done = report(f"{folder}/results.h5")["phases"]
        for phase, results in zip((p["kvcache"] for p in on_files + in_memory), done, strict=True):
            options.judge(phase, results, ranks)
        for phase in (p["kvcache"] for p in on_files):
            held_most, allowed = most[phase["folder"]], options.bytes_most(phase, ranks)
            check(0 < held_most <= allowed, f"{phase['name']}: {held_most} bytes were held, of {allowed}")


def test_trace():
    """Python's csv reads a trace, and the same job gives the same one, whether the job or the command line asks for it."""
    with Folder() as folder:
        write_job(folder, job(folder, trace=f"{folder}/trace.csv", duration="5 s", requests=0))
        texts = []
        for options in ((), ("--io-trace-log", f"{folder}/other.csv", "--set", "kvcache.requests=0")):
            r = mpi(2, "run", "job.json", "--force", *options, cwd=folder)
            check(r.rc == 0, f"{r}")
            with open(f"{folder}/{'other' if options else 'trace'}.csv", newline="") as f:
                texts.append(f.read())
        rows = list(csv.DictReader(texts[0].splitlines()))
        check(texts[0] == texts[1] and len(rows) > 100, f"{len(rows)} rows")
        times = [float(row["Timestamp"]) for row in rows]
        check(times == sorted(times) and times[-1] < 5, f"{times[-1]}")
        check({row["Tier"] for row in rows} == {"Tier-1", "Tier-2"}, "tiers")
        check({row["Key"].split("/")[0] for row in rows} == {"rank_0", "rank_1"}, "keys of different ranks")
        check({row["Phase"] for row in rows} == {"Prefill", "Decode", "Evict"}, "phases")
        check(not os.path.exists(f"{folder}/data"), "the store was opened")
        several = job(folder)
        several["phases"] *= 2
        write_job(folder, several)
        r = alone("run", "job.json", "--force", "--io-trace-log", f"{folder}/more.csv", cwd=folder)
        check(r.rc == 2 and "/phases/1/kvcache has no trace and would" in r.err, f"{r}")


def test_trace_formats():
    """A full trace is replayed, fio replays an iolog, and all formats agree on the bytes."""
    def moved(rows, operation, size, words):
        return [sum(int(row[size]) for row in rows if row[operation] == word) for word in words]

    with Folder() as folder:
        write_job(folder, job(folder, duration="5 s", requests=0))
        for kind, name in (("full", "ops.csv"), ("fio", "ops.fio"), ("warp", "ops.tsv")):
            r = mpi(2, "run", "job.json", "--force", "--io-trace-log", name, "--io-trace-format", kind, cwd=folder)
            check(r.rc == 0, f"{r}")
        with open(f"{folder}/ops.csv", newline="") as f:
            full = list(csv.DictReader(f))
        wanted = moved(full, "Operation", "Object_Size_Bytes", ("Read", "Write"))
        deletes = sum(row["Operation"] == "Delete" for row in full)
        check(deletes > 10 and {row["Rank"] for row in full} == {"0", "1"}, f"{deletes} deletes")
        check(all(row["Request"] and row["User"] for row in full), "a row that nobody asked for")
        with open(f"{folder}/ops.tsv", newline="") as f:
            warp = list(csv.DictReader(f, delimiter="\t"))
        check(moved(warp, "op", "bytes", ("GET", "PUT")) == wanted, "warp: bytes")
        check(sum(row["op"] == "DELETE" for row in warp) == deletes and len(warp) == len(full), "warp: rows")
        done = subprocess.run(["fio", "--name=t", "--ioengine=null", "--read_iolog=ops.fio", "--replay_no_stall=1",
                               "--output-format=json"], cwd=folder, capture_output=True, text=True)
        check(done.returncode == 0, f"{done}")
        one, = json.loads(done.stdout[done.stdout.index("{"):])["jobs"]
        check([one["read"]["io_bytes"], one["write"]["io_bytes"]] == wanted, f"fio: {one['read']} {one['write']}")
        r = mpi(2, "replay", "ops.csv", "--store", "file://./data", "--set", "stores.store.engine=psync", "--speed", "max",
                "--size-scale", 0.01, "--set", "replay.verify=full", "--results", "replay.h5", cwd=folder)
        check(r.rc == 0, f"{r}")
        phase, = report(f"{folder}/replay.h5")["phases"]
        check(phase["measures"]["object_deletes"] == deletes and phase["measures"]["done"] == len(full), f"{phase['measures']}")
def trace_rows(path):
    text = subprocess.run(["zstd", "-dcf", path], check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(text.splitlines()))


def test_examples():
    """The examples of MLPerf's guide to traces, shorter: entries are whole tokens of their models, and each mode does what it
    should."""
    with open(f"{SOURCE}/workloads/catalog/kvcache_traces.json") as f:
        phases = [p["kvcache"] for p in json.load(f)["phases"]]
    with Folder() as folder:
        sets = [a for i in range(len(phases)) for a in ("--set", f"phases.{i}.kvcache.duration=2 s")]
        os.mkdir(f"{folder}/data")
        r = mpi(1, "run", "kvcache_traces", *sets, "--quiet", cwd=folder, env={"HAUL_DATA": f"{folder}/data"})
        check(r.rc == 0, f"{r}")
        tokens = {"llama3.1-8b": 131072, "llama3.1-70b-instruct": 327680, "deepseek-v3": 70272}
        traces = {}
        for p in phases:
            rows = traces[p["name"]] = trace_rows(p["trace"].replace("${HAUL_DATA}", f"{folder}/data"))
            check(len(rows) > 100, f"{p['name']}: {len(rows)} rows")
            check(all(int(row["Object_Size_Bytes"]) % tokens[p["model"]] == 0 for row in rows), f"{p['name']}: sizes")
        kinds = {name: {(row["Operation"], row["Phase"], row["Key"].split("_")[0]) for row in rows}
                 for name, rows in traces.items()}
        check({row["Tier"] for row in traces["default"]} == {"Tier-0", "Tier-1", "Tier-2"}, "tiers of the default")
        check({row["Tier"] for row in traces["h200"]} == {"Tier-0"}, "tiers of 8 accelerators")
        check(("Write", "Prefill", "conv") in kinds["h200"] & kinds["prefill_only"] & kinds["deepseek_v3"], f"{kinds}")
        # Prefill only reads earlier turns, decode only what was there before.
        check(len(traces["prefill_only"]) < len(traces["h200"]) / 3, f"{len(traces['prefill_only'])} rows")
        check({kind for kind in kinds["decode_only"] if kind[2] != "kv"} ==
              {("Write", "Prefill", "prepop"), ("Read", "Decode", "prepop")}, f"{kinds['decode_only']}")
        check(not os.path.exists(f"{folder}/data/kvcache_traces"), "the store was opened")
        check(sorted(os.listdir(folder)) == ["data", "results.h5"], f"{os.listdir(folder)}: traces belong into $HAUL_DATA")


def test_killed():
    with Folder() as folder:
        write_job(folder, job(folder, requests=0))
        process = start(2, "run", "job.json", cwd=folder, start_new_session=True)
        while process.poll() is None and held(f"{folder}/data") < 4 << 20:
            time.sleep(0.01)
        check(process.poll() is None, "the run ended before it was killed")
        for path in ranks_in(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(os.path.basename(path)), signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        description = json.load(open(f"{folder}/data/kvcache/.haul-kvcache.json"))
        check(description["ranks"] == 2 and description["tiers"] == 2, f"{description}")
        r = mpi(2, "run", "job.json", "--force", cwd=folder)
        check(r.rc != 0 and "haul clean" in r.err, f"{r}")
        with open(f"{folder}/data/kvcache/000000/notes", "w") as f:
            f.write("mine")
        r = alone("clean", "job.json", cwd=folder)
        left = [f"{path}/{name}" for path, _, names in os.walk(f"{folder}/data") for name in names]
        check(r.rc == 0 and left == [f"{folder}/data/kvcache/000000/notes"], f"{r}: {left}")


if __name__ == "__main__":
    main()
