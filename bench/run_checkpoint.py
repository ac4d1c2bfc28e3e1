#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the phase checkpoint, in two parts. Each runs its two sides in turn and prints medians for RESULTS.md.

  bench/run_checkpoint.py HAUL FOLDER [ROUNDS] [--only fio|whole] [--checkpoints 6] [--gib 4]

fio     one rank streams a checkpoint of 2 GiB to direct:// and reads it back; fio writes and reads a file with the same
        block, depth and fsync at the end. haul makes unique bytes as it writes; fio does so with refill_buffers, as here.
whole   one rank writes --checkpoints checkpoints of --gib GiB each to direct://, of which the last one stays: streaming
        ("fill": "stream"), and with all bytes made in memory before the first is written ("whole"). The same block and
        depth; memory is the greatest resident set of the process.

HAUL is the program. FOLDER is on the file system to measure and needs 4 GiB for fio, and twice --gib for whole, which also
needs --gib GiB of memory. GB/s and processor seconds per GB are medians over the rounds (7); a ratio is the median over the
rounds of the first side's value to the second side's of the same round."""
import argparse
import json
import os
import shutil
import statistics
import subprocess

BLOCK, DEPTH, SIZE = 8 << 20, 3, 2 << 30


def checkpoint(name, operation, size, **more):
    return {"checkpoint": {"name": name, "operation": operation, "store": "d", "count": 1, "framing": "raw",
                           "model": {"bytes": size}, "chunk": BLOCK, "buffers": BLOCK * (DEPTH + 1), **more}}


def job(folder, *phases):
    return {"stores": {"d": {"uri": f"direct://{folder}/haul", "engine": "uring", "fsync": "file"}}, "phases": phases}


def run(program, folder, made, what):
    """GB/s and processor seconds per GB of the phase, and the greatest resident set of the process."""
    path = f"{folder}/job.json"
    with open(path, "w") as f:
        json.dump(made, f)
    process = subprocess.Popen([program, "run", path, "--only", what, "--results", f"{folder}/r.h5", "--force", "--quiet"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{program} run of {what} ended with {process.returncode}")
    out = subprocess.run([program, "report", "--json", f"{folder}/r.h5"], check=True, capture_output=True, text=True).stdout
    m = json.loads(out)["phases"][0]["measures"]
    gb = (m["bytes_written"] + m["bytes_read"]) / 1e9
    seconds = (m["write_slowest_ns"] + m["read_slowest_ns"]) / 1e9
    return gb / seconds, (m["cpu_user_ns"] + m["cpu_system_ns"]) / 1e9 / gb, used.ru_maxrss * 1024


def haul(program, folder, what):
    phases = (checkpoint("write", "write", SIZE), checkpoint("read", "read", SIZE, verify="none", cold={"evidence": 0}))
    return run(program, folder, job(folder, *phases), what)[:2]


def fio(folder, what):
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


def ratios(a, b):
    return [statistics.median(x / y for x, y in zip(*column)) for column in zip(zip(*a), zip(*b))]


def beside_fio(o):
    for what in ("write", "read"):
        rows = {"haul": [], "fio": []}
        for _ in range(o.rounds):
            rows["haul"].append(haul(o.program, o.folder, what))
            rows["fio"].append(fio(o.folder, what))
        for name, row in rows.items():
            rate, cpu = (statistics.median(v) for v in zip(*row))
            print(f"{what:6} {name:6} {rate:6.2f} GB/s  {cpu:.3f} CPU s/GB")
        rate, cpu = ratios(rows["haul"], rows["fio"])
        print(f"{what:6} ratio  {rate:6.2f}       {cpu:.2f}")


def beside_whole(o):
    rows = {"stream": [], "whole": []}
    for _ in range(o.rounds):
        for fill, row in rows.items():
            # Not into what the other side has left.
            shutil.rmtree(f"{o.folder}/haul", ignore_errors=True)
            made = job(o.folder, checkpoint("write", "write", int(o.gib * 2 ** 30), fill=fill, count=o.checkpoints, keep=1))
            row.append(run(o.program, o.folder, made, "write"))
    for name, row in rows.items():
        rate, cpu, memory = (statistics.median(v) for v in zip(*row))
        print(f"{o.checkpoints} x {o.gib:g} GiB  {name:6} {rate:6.2f} GB/s  {cpu:.3f} CPU s/GB  {memory / 2 ** 20:8.1f} MiB")
    rate, cpu, memory = ratios(rows["stream"], rows["whole"])
    print(f"{o.checkpoints} x {o.gib:g} GiB  ratio  {rate:6.2f}       {cpu:.2f}            {memory:8.3f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("folder", type=os.path.abspath)
    p.add_argument("rounds", type=int, nargs="?", default=7)
    p.add_argument("--only", choices=("fio", "whole"))
    p.add_argument("--checkpoints", type=int, default=6)
    p.add_argument("--gib", type=float, default=4)
    o = p.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    try:
        if o.only != "whole":
            beside_fio(o)
        if o.only != "fio":
            beside_whole(o)
    finally:
        for name in ("haul", "fio", "job.json", "r.h5"):
            path = f"{o.folder}/{name}"
            shutil.rmtree(path, ignore_errors=True)
            if os.path.exists(path):
                os.unlink(path)


main()
