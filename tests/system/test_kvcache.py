# SPDX-License-Identifier: Apache-2.0
"""Key-value caches: entries move between tiers and are what was written, a store never holds more than its tier and what is
under way, nothing stays behind, and `haul clean` removes what a run that was killed has left."""
import contextlib
import csv
import hashlib
import json
import os
import subprocess
import time
import zlib

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


def entries_seen(folder):
    """Bytes of each entry below a folder, as du counts them: without folders, and without the description of the folder."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                of = os.lstat(f"{path}/{name}")
                if not name.startswith(".haul-kvcache"):
                    found[f"{path}/{name}", of.st_ino] = of.st_blocks * 512
    return found


def on_disk(folder):
    """Bytes of the entries below a folder that others change meanwhile. A look may last longer than an entry lives; what two looks
    find was there between them."""
    first, second = entries_seen(folder), entries_seen(folder)
    return sum(min(size, second[of]) for of, size in first.items() if of in second)


def test_options():
    """MLPerf's three options on files and in memory. Files are looked at every 10 ms; a phase may be over before this process
    gets its turn again, but not all of them."""
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
            time.sleep(0.01)
        r = finish(process, began)
        check(r.rc == 0, f"{r}")
        left = [name for _, folders, files in os.walk(f"{folder}/data") for name in folders + files]
        check(not left and on_disk(f"{folder}/data") == 0, f"{left[:5]} are left")
        done = report(f"{folder}/results.h5")["phases"]
        for phase, results in zip((p["kvcache"] for p in on_files + in_memory), done, strict=True):
            options.judge(phase, results, ranks)
        for phase in (p["kvcache"] for p in on_files):
            held_most, allowed = most[phase["folder"]], options.bytes_most(phase, ranks)
            check(held_most <= allowed, f"{phase['name']}: {held_most} bytes were held, of {allowed}")
        check(any(most.values()), "no bytes were seen")


def judge_pandas(path, rows):
    """pandas finds in a trace what Python's csv finds: numbers where there should be numbers, no missing value, the same sums."""
    import pandas  # not needed by the other tests of this script, and slow to load
    frame = pandas.read_csv(path)
    check(list(frame.columns) == ["Timestamp", "Operation", "Object_Size_Bytes", "Tier", "Key", "Phase"], f"{frame.columns}")
    check(frame.dtypes["Timestamp"] == "float64" and frame.dtypes["Object_Size_Bytes"] == "int64", f"{frame.dtypes}")
    check(len(frame) == len(rows) and not frame.isna().any().any(), f"{len(frame)} rows of {len(rows)}, or a value is missing")
    check(list(frame.Key) == [row["Key"] for row in rows], "keys")
    sums = {}
    for row in rows:
        of = row["Operation"], row["Tier"], row["Phase"]
        sums[of] = sums.get(of, 0) + int(row["Object_Size_Bytes"])
    check(frame.groupby(["Operation", "Tier", "Phase"]).Object_Size_Bytes.sum().to_dict() == sums, f"{sums}")


def test_trace():
    """Python's csv and pandas read a trace, and the same job gives the same one, whether the job or the command line asks for it."""
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
        judge_pandas(f"{folder}/trace.csv", rows)
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


def test_trace_ends_with_its_requests():
    """The number of requests ends a trace as it ends a run: each of two ranks writes no more."""
    with Folder() as folder:
        write_job(folder, job(folder, duration="600 s", requests=15, trace_format="full"))
        r = mpi(2, "run", "job.json", "--force", "--io-trace-log", "trace.csv", cwd=folder)
        check(r.rc == 0, f"{r}")
        with open(f"{folder}/trace.csv", newline="") as f:
            asked = {(row["Rank"], row["Request"]) for row in csv.DictReader(f) if row["Request"]}
        check(len(asked) == 30, f"{len(asked)} requests")


def test_cut():
    """A recording whose contexts are cut: the plan says how many tokens are left out, and the run counts them, in all outputs."""
    with Folder() as folder:
        with open(f"{folder}/burst.csv", "w") as f:
            f.write("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                    "0,GPT-4,300,8,308,x\n0.1,GPT-4,900,8,908,x\n0.2,GPT-4,0,0,0,x\n0.3,GPT-4,5000,8,5008,x\n")
        phase = {"model": {"layers": 2, "hidden": 128, "heads": 1, "kv_heads": 1}, "duration": "2 s", "decode_reads": False,
                 "prefix": {"enabled": False}, "arrivals": {"file": f"{folder}/burst.csv", "context_max": 500}}
        write_job(folder, {"stores": {"cache": {"uri": "null://"}}, "phases": [{"kvcache": phase}]})
        r = alone("plan", "job.json", cwd=folder)
        check("2 requests are cut" in r.out and "4900 tokens of context" in r.out and "1 request without tokens of context is left out" in " ".join(r.out.split()), f"{r}")
        r = alone("run", "job.json", cwd=folder)
        check(r.rc == 0 and "2 of the recorded requests were cut; 4900 tokens" in " ".join(r.out.split()), f"{r}")
        said = json.loads(alone("report", "results.h5", "--json", cwd=folder).out)["phases"][0]["measures"]
        check(said["cut"] == 2 and said["cut_tokens"] == 4900, f"{said}")
        # Nothing is read while decoding, so only what users share could be a hit.
        check(said["hits"] == said["misses"] == 0 and said["entry_writes"] == 3 and said["entry_reads"] == 0, f"{said}")


def test_seed():
    """What users ask for, and what tiers make of it, does not depend on the number of threads, but on the seed."""
    with Folder() as folder:
        write_job(folder, job(folder, duration="3 s", requests=0, trace_format="full"))
        texts = []
        for seed, threads, depth in ((7, 1, 1), (7, 2, 1), (7, 4, 8), (8, 1, 1)):
            r = mpi(2, "run", "job.json", "--force", "--io-trace-log", "trace.csv", "--set", f"seed={seed}",
                    "--set", f"kvcache.threads={threads}", "--set", f"kvcache.depth={depth}", cwd=folder)
            check(r.rc == 0, f"{r}")
            with open(f"{folder}/trace.csv", "rb") as f:
                texts.append(f.read())
        check(len(texts[0]) > 10000 and texts[0] == texts[1] == texts[2] != texts[3], f"{[len(t) for t in texts]} bytes")


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
        check(phase["measures"]["object_deletes"] == deletes and phase["measures"]["requests"] == len(full), f"{phase['measures']}")


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


def killed(folder, held_bytes):
    """Kills a run of two ranks as soon as their entries have so many bytes, and the first one has some."""
    process = start(2, "run", "job.json", cwd=folder, start_new_session=True)
    first = f"{folder}/data/kvcache/000000"
    while process.poll() is None and (held(f"{folder}/data") < held_bytes or not os.path.isdir(first)):
        time.sleep(0.01)
    check(process.poll() is None, "the run ended before it was killed")
    kill_run(process, folder)


def entries_in(folder):
    """The files of entries, whole or not."""
    return sorted(f"{path}/{name}" for path, _, names in os.walk(folder) for name in names if not name.startswith("."))


def test_content():
    """What is in the files of entries compresses and deduplicates as asked for: of each run of blocks of 4 KiB as long as
    `dedup_distance`, so many are new, and the next ones repeat them. No entry repeats another one. The run is killed, because it
    removes its entries. One that was just being written ends early."""
    distance = 32
    for compress, dedup in ((1, 1), (2, 1.5), (4, 2)):
        with Folder() as folder:
            write_job(folder, job(folder, requests=0, compress=compress, dedup=dedup, dedup_distance=distance * 4096,
                                  tiers=[{"store": "s", "capacity": "1 GiB"}]))
            killed(folder, 24 << 20)
            seen, wanted, cycle = set(), 0, round(distance * dedup)
            for path in entries_in(f"{folder}/data/kvcache"):
                with open(path, "rb") as f:
                    data = f.read()
                whole = len(data) // 4096
                blocks = [data[4096 * i:4096 * (i + 1)] for i in range(whole)]
                seen |= {hashlib.sha256(block).digest() for block in blocks}
                wanted += whole // cycle * distance + min(whole % cycle, distance)
                for block in blocks[::97]:
                    found = 4096 / len(zlib.compress(block))
                    check(0.9 * compress < found < 1.01 * compress, f"compress {compress}: {found:.2f}")
            check(len(seen) == wanted > 1000, f"dedup {dedup}: {len(seen)} different blocks, not {wanted}")


def test_corrupted():
    """A byte of every entry is changed while a run reads them again and again: it says which byte of which entry is wrong, and
    ends."""
    with Folder() as folder:
        write_job(folder, job(folder, users=1, mode="decode", stored_per_user=3, stored_tokens=1024, requests=0, duration="300 s",
                              tiers=[{"store": "s", "capacity": "16 MiB"}]))
        began = time.monotonic()
        process = start(1, "run", "job.json", cwd=folder)
        found, bytes_each = [], 1024 * 256
        while process.poll() is None and len(found) < 3:
            time.sleep(0.01)
            found = [path for path in entries_in(f"{folder}/data/kvcache") if not is_part(path)]
        check([os.path.getsize(path) for path in found] == [bytes_each] * 3, f"{found}")
        for path in found:
            with open(path, "r+b") as f:
                f.seek(100000)
                byte = f.read(1)[0]
                f.seek(100000)
                f.write(bytes([byte ^ 4]))
        r = finish(process, began)
        check(r.rc != 0 and "payload differs at byte 100000" in r.err, f"{r}")
        check(any(os.path.basename(path) in r.err for path in found), f"{found}: {r}")
        phase, = report(f"{folder}/results.h5")["phases"]
        check(phase["measures"]["payload_errors"] == phase["errors"] >= 1, f"{phase['measures']}")
        check(not entries_in(f"{folder}/data"), "entries are left")


def test_killed():
    with Folder() as folder:
        write_job(folder, job(folder, requests=0))
        killed(folder, 4 << 20)
        description = json.load(open(f"{folder}/data/kvcache/.haul-kvcache.json"))
        check(description["ranks"] == 2 and description["tiers"] == 2, f"{description}")
        r = mpi(2, "run", "job.json", "--force", cwd=folder)
        check(r.rc != 0 and "`haul clean job.json` removes" in " ".join(r.err.split()), f"{r}")
        # What a change of the job has moved, the same change finds; a shell takes the command as it is.
        r = mpi(2, "run", "job.json", "--force", "--set", "name=it's two", "--set", "seed=5", cwd=folder)
        check("`haul clean job.json --set 'name=it'\\''s two' --set seed=5` removes" in " ".join(r.err.split()), f"{r}")
        with open(f"{folder}/data/kvcache/000000/notes", "w") as f:
            f.write("mine")
        r = alone("clean", "job.json", cwd=folder)
        left = [f"{path}/{name}" for path, _, names in os.walk(f"{folder}/data") for name in names if name != ".haul-made"]
        check(r.rc == 0 and left == [f"{folder}/data/kvcache/000000/notes"], f"{r}: {left}")


@long
def test_catalogue():
    """The job of MLPerf's three options as it is shipped, three times, with small entries, fewer users, and 40 requests of a rank
    each."""
    with open(f"{SOURCE}/workloads/catalog/kvcache_mlperf.json") as f:
        phases = [p["kvcache"] for p in json.load(f)["phases"]]
    check([p.get("after", 0) for p in phases] == [0, "90 s", "90 s"], f"{phases}")
    with Folder() as folder:
        small = {"model": json.dumps(MODEL), "users": 8, "served": 8, "threads": 4, "duration": "600 s", "requests": 40, "verify": "full"}
        sets = [f"phases.{i}.kvcache.{k}={v}" for i in range(3) for k, v in small.items()]
        sets += [f"phases.{i}.kvcache.after=0.1 s" for i in (1, 2)] + ["phases.1.kvcache.tiers.0.capacity=8 MiB"]
        r = mpi(2, "run", "kvcache_mlperf", "--quiet", "--repeat", 3, *[a for s in sets for a in ("--set", s)], cwd=folder,
                env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{r}")
        done = report(f"{folder}/results.h5")["phases"]
        check([p["name"] for p in done] == 3 * [p["name"] for p in phases], f"{[p['name'] for p in done]}")
        for p in done:
            m = p["measures"]
            check(m["errors"] == m["payload_errors"] == 0 < m["verify_ns"] and m["requests"] > 0 < m["entry_reads"], f"{m}")
            check(p["tiers"][-1]["capacity_bytes"] > 0, f"{p['tiers']}")
            check(len(p["tiers"]) == 1 + (p["name"] == "storage_throughput"), f"{p['tiers']}")
        check(not os.path.exists(f"{folder}/kvcache_mlperf") or not os.listdir(f"{folder}/kvcache_mlperf"), "entries are left")


if __name__ == "__main__":
    main()
