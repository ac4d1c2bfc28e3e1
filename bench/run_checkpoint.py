#!/usr/bin/env python3
"""Benchmark of the phase checkpoint against fio: one rank streams a checkpoint to direct:// and reads it back, fio writes and
reads a file with the same block, depth and fsync at the end, in turn. Prints medians and ratios for RESULTS.md.

  bench/run_checkpoint.py HAUL FOLDER [ROUNDS]

HAUL is the program. FOLDER is on the file system to measure and needs twice 2 GiB. GB/s and processor seconds per GB are
medians over the rounds; a ratio is the median over the rounds of haul's value to fio's of the same round. haul makes unique
bytes as it writes; fio does so with refill_buffers, as here."""
import json
import os
import shutil
import statistics
import subprocess
import sys

BLOCK, DEPTH, SIZE = 8 << 20, 3, 2 << 30


def job(folder):
    phase = {"store": "d", "count": 1, "framing": "raw", "model": {"bytes": SIZE}, "chunk": BLOCK,
             "buffers": BLOCK * (DEPTH + 1)}
    return {"stores": {"d": {"uri": f"direct://{folder}/haul", "engine": "uring", "fsync": "file"}},
            "phases": [{"checkpoint": {"name": "write", "operation": "write", **phase}},
                       {"checkpoint": {"name": "read", "operation": "read", "verify": "none", **phase,
                                       "cold": {"evidence": 0}}}]}



def haul(program, folder, what):
    path = f"{folder}/job.json"
    with open(path, "w") as f:
        json.dump(job(folder), f)
    subprocess.run([program, "run", path, "--only", what, "--results", f"{folder}/r.h5", "--force", "--quiet"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = subprocess.run([program, "report", "--json", f"{folder}/r.h5"], check=True, capture_output=True, text=True).stdout
    phase = json.loads(out)["phases"][0]
    m = phase["measures"]
    gb = (m["bytes_written"] + m["bytes_read"]) / 1e9
    seconds = (m["write_slowest_ns"] + m["read_slowest_ns"]) / 1e9
    return gb / seconds, (m["cpu_user_ns"] + m["cpu_system_ns"]) / 1e9 / gb


def fio(_, folder, what):
    args = ["fio", "--name=x", f"--filename={folder}/fio", f"--size={SIZE}", f"--bs={BLOCK}", f"--iodepth={DEPTH}",
            "--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1", "--direct=1", "--invalidate=0", f"--rw={what}",
            "--output-format=json"]
    if what == "write":
        # A new file, as a checkpoint is.
        if os.path.exists(f"{folder}/fio"):
            os.unlink(f"{folder}/fio")
        args += ["--end_fsync=1", "--refill_buffers=1", "--fallocate=none"]
    result = json.loads(subprocess.run(args, check=True, capture_output=True, text=True).stdout)["jobs"][0]
    moved = result[what]
    gb, seconds = moved["io_bytes"] / 1e9, moved["runtime"] / 1e3
    return gb / seconds, (result["usr_cpu"] + result["sys_cpu"]) / 100 * seconds / gb


def main():
    program, folder, rounds = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 7
    os.makedirs(folder, exist_ok=True)
    rows = {}
    try:
        for what in ("write", "read"):
            for _ in range(rounds):
                for name, one in (("haul", haul), ("fio", fio)):
                    rows.setdefault((what, name), []).append(one(program, folder, what))
    finally:
        for name in ("haul", "fio", "job.json", "r.h5"):
            path = f"{folder}/{name}"
            shutil.rmtree(path, ignore_errors=True)
            if os.path.exists(path):
                os.unlink(path)
    for what in ("write", "read"):
        pairs = list(zip(rows[what, "haul"], rows[what, "fio"]))
        for name in ("haul", "fio"):
            rate, cpu = (statistics.median(v) for v in zip(*rows[what, name]))
            print(f"{what:6} {name:5} {rate:6.2f} GB/s  {cpu:.3f} CPU s/GB")
        print(f"{what:6} ratio {statistics.median(a[0] / b[0] for a, b in pairs):6.2f}       "
              f"{statistics.median(a[1] / b[1] for a, b in pairs):.2f}")


main()
