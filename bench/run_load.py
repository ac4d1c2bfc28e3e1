#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of load against a plain reader of the same calls: seconds of a load, and processor seconds, as ratios.

    bench/run_load.py BUILD FOLDER [ROUNDS [PATTERN …]]

BUILD is the build folder; FOLDER is on the file system to measure and needs 3 GB. The calls are those of haul's log of operations,
so both read the same ranges of the same files by as many threads, in turn. Files are in the page cache, but for "shared", which
goes past it. Processor seconds of haul are those of a run of many loads less those of a run of one. The model stays for the next
call."""
import json
import os
import resource
import statistics
import subprocess
import sys

# Pattern: way of the plain reader, its threads, loads in a round.
WAYS = {"eager": ("whole", 1, 4), "lazy": ("map", 1, 15), "prefetch": ("ahead", 8, 15), "slices": ("read", 8, 15),
        "streamer": ("read", 1, 15), "distributed": ("read", 16, 15), "shared": ("direct", 8, 8)}
# Six of the layers of Llama-3.1-8B: 2.8 GB, so that the start of a load counts for little.
MODEL = {"name": "llama3.1-8b", "weights": "bf16", "layers": 6, "vocabulary": 8192}


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def haul(build, folder, phase, *args):
    with open(f"{folder}/job.json", "w", encoding="utf-8") as f:
        json.dump({"stores": {"s": {"uri": f"file://{folder}/data", "engine": "psync"}}, "phases": [phase]}, f)
    began = cpu_s()
    subprocess.run([f"{build}/haul", "run", "job.json", "--force", *args], cwd=folder, check=True, capture_output=True)
    return cpu_s() - began


def loads(build, folder, pattern, count, *args):
    """Median seconds of all loads but the first, and processor seconds of the process."""
    cpu = haul(build, folder, {"load": {"folder": "model", "pattern": pattern, "tensor": 2 if pattern == "slices" else 1,
                                        "null_passes": 0, "count": count, "cold": {"evidence": 0}}}, *args)
    if count == 1:
        return 0, cpu
    said = subprocess.run([f"{build}/haul", "report", "--json", "results.h5"], cwd=folder, check=True, capture_output=True).stdout
    return statistics.median(row["load_ns"] for row in json.loads(said)["phases"][0]["loads"][1:]) / 1e9, cpu


def calls(build, folder, pattern):
    """The ranges that are read, in the order of their requests."""
    loads(build, folder, pattern, 1, "--op-log", "ops.tsv.zst")
    text = subprocess.run(["zstd", "-dc", "ops.tsv.zst"], cwd=folder, check=True, capture_output=True, text=True).stdout
    columns, *rows = (line.split("\t") for line in text.splitlines())
    rows = [dict(zip(columns, row)) for row in rows if len(row) == len(columns)]
    # Of prefetch, the thread that maps; the others read ahead as far as they come.
    rows = [r for r in rows if r["op"] == "GET" and (pattern != "prefetch" or r["thread"] == "8")]
    return "".join(f"{r['file']} {r['offset']} {r['bytes']}\n" for r in sorted(rows, key=lambda r: r["start"]))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[3].strip())
    build, folder = map(os.path.realpath, sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    os.makedirs(folder, exist_ok=True)
    haul(build, folder, {"generate": {"folder": "model", "model": MODEL, "shard": "256 MB"}})
    print("| pattern | calls | plain s | haul s | rate (≥ 0.95) | CPU (≤ 1.05) |\n|---|---|---|---|---|---|")
    for pattern, (way, threads, count) in ((name, WAYS[name]) for name in sys.argv[4:] or WAYS):
        listed = calls(build, folder, pattern)
        seconds, cpus, both = [], [], []
        for _ in range(rounds):
            said = subprocess.run([f"{build}/bench/bench_load", way, str(threads), str(count)], input=listed, text=True, check=True,
                                  capture_output=True).stdout
            *passes, plain_cpu = map(float, said.split())
            plain = statistics.median(passes[1:])
            took, cpu = loads(build, folder, pattern, count)
            _, least = loads(build, folder, pattern, 1)
            both.append((plain, took))
            seconds.append(plain / took)
            cpus.append((cpu - least) / (count - 1) / (plain_cpu / count))
        plain, took = map(statistics.median, zip(*both))
        print(f"| {pattern} | {listed.count(chr(10))} | {plain:.4f} | {took:.4f} | {statistics.median(seconds):.3f} "
              f"({min(seconds):.2f} to {max(seconds):.2f}) | {statistics.median(cpus):.3f} ({min(cpus):.2f} to {max(cpus):.2f}) |",
              flush=True)


if __name__ == "__main__":
    main()
