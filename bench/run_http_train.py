#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of a training on small objects: samples per second, and processor time per sample, of 20,000 npz objects of 64 KiB
that 8 readers read in shuffled order. The same bytes come from files in the page cache, and from nginx over loopback by each
transport. Prints medians for RESULTS.md.

    bench/run_http_train.py HAUL FOLDER [ROUNDS [EPOCHS]]

HAUL is the program. FOLDER is on a file system with a page cache and needs 1.4 GB; nginx serves the same files, which
stay for the next call. The contestants take turns in each round. The processor time is that of haul's process alone, without nginx's. Ratios are medians of
the ratios to the transport "native" in the same round.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from run_http import Nginx

FILES, BYTES, READERS = 20000, 64 << 10, 8


def job(folder, url, epochs):
    remote = {"uri": "s3://b/train", "endpoints": url}
    return {"name": "http_train", "seed": 5,
            "stores": {"files": {"uri": f"file://{folder}/b/train"}, "native": remote, "curl": {**remote, "transport": "curl"}},
            "dataset": {"store": "files", "format": "npz", "files": FILES, "sample_bytes": BYTES, "subfolders": 16},
            "phases": [{"generate": {}},
                       {"train": {"batch": 32, "epochs": epochs, "null_steps": 0, "sync": "none",
                                  "loader": {"kind": "pytorch", "workers": READERS, "prefetch": 2}}}]}


def haul(program, work, *args):
    env = {**os.environ, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"}
    done = subprocess.run([program, "run", f"{work}/job.json", "--results", f"{work}/r.h5", "--force", "--quiet", *args], env=env,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"run_http_train.py: {done.stderr}")
    out = subprocess.run([program, "report", "--json", f"{work}/r.h5"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def train(program, work, store):
    """Samples per second, and microseconds of processor time per sample."""
    result = haul(program, work, "--only", "train", "--set", f"train.store={store}")
    phase, measures = result["phases"][0], result["phases"][0]["measures"]
    gets = sum(e["requests"] for e in phase.get("endpoints", ()))
    if store != "files" and (gets != measures["samples"] or phase["errors"] or phase["retries"]):
        sys.exit(f"run_http_train.py: {gets} requests for {measures['samples']} samples, {phase['errors']} errors")
    cpu = measures["cpu_user_ns"] + measures["cpu_system_ns"]
    return measures["samples"] / phase["seconds"], cpu / measures["samples"] / 1000


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, folder = (os.path.realpath(a) for a in sys.argv[1:3])
    rounds, epochs = int((sys.argv[3:] or [5])[0]), int((sys.argv[4:] or [4])[0])
    os.makedirs(folder, exist_ok=True)
    seen = {"files": [], "native": [], "curl": []}
    with Nginx(folder) as nginx, tempfile.TemporaryDirectory(prefix="haul-bench-") as work:
        with open(f"{work}/job.json", "w") as f:
            json.dump(job(folder, nginx.base(False), epochs), f)
        haul(program, work, "--only", "generate")
        for store in seen:
            train(program, work, store)  # brings the files into the page cache
        for _ in range(rounds):
            for store, runs in seen.items():
                runs.append(train(program, work, store))
    print(f"{FILES} objects of {BYTES >> 10} KiB, {READERS} readers, {epochs} epochs, {rounds} rounds\n")
    print("| from | samples/s | ratio | us of processor time per sample | ratio |")
    print("|---|---|---|---|---|")
    for store, runs in seen.items():
        speed, cpu = (statistics.median(column) for column in zip(*runs))
        ratios = [statistics.median(a[i] / b[i] for a, b in zip(runs, seen["native"])) for i in range(2)]
        print(f"| {store} | {speed:,.0f} | {ratios[0]:.2f} | {cpu:.1f} | {ratios[1]:.2f} |")


if __name__ == "__main__":
    main()
