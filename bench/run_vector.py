#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the phase vector beside fio, for RESULTS.md.

  bench/run_vector.py HAUL FOLDER [ROUNDS] [--only reads|build] [--seconds 5] [--engine uring] [--run 'chrt -f 10']

reads   searches in a graph whose nodes are read by 4 KiB, and by 8 KiB, from direct://, with so many queries in flight as there are
        reads; and fio's random reads of the same size and depth from the same file. The search's own work (where to go next) is
        counted apart: it is what the same search takes on null://, less what plain random reads take there.
build   the index written to direct://, beside fio, which writes as many bytes in pieces of the same size, and dd.

HAUL is the program. FOLDER is on the file system to measure and needs 5 GiB. All sides run in turn; a ratio is the median over the
rounds (7) of haul's value to that of the other in the same round. --run: a command that starts each side, for a machine that has
other work to do."""
import argparse
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess

MIB = 1 << 20
DEPTH = 128
# Nodes of 772 bytes, five in a sector; and of 6,404 bytes, two sectors each, as those of MLPerf's vectors. Both files have 2 GiB.
SHAPES = {4096: {"vectors": 2500000, "dimension": 128}, 8192: {"vectors": 260000, "dimension": 1536}}
PIECE, BUFFERS = 8 * MIB, 4


def run(o, store, kind, phase):
    """The results of a phase."""
    path, results = f"{o.folder}/job.json", f"{o.folder}/job.h5"
    with open(path, "w") as f:
        json.dump({"stores": {"d": store}, "phases": [{kind: phase}]}, f)
    subprocess.run([*o.run, o.program, "run", path, "--results", results, "--force", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    out = subprocess.run([o.program, "report", "--json", results], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["phases"][0]


def cpu_s(phase):
    return (phase["measures"]["cpu_user_ns"] + phase["measures"]["cpu_system_ns"]) / 1e9


def direct(o):
    return {"uri": f"direct://{o.folder}/haul", "engine": o.engine}


def index(size):
    return {"folder": str(size), **SHAPES[size]}


def haul_build(o, size):
    shutil.rmtree(f"{o.folder}/haul/{size}", ignore_errors=True)
    p = run(o, {**direct(o), "fsync": "file"}, "vector", {"operation": "build", **index(size)})
    return p["bytes_written"] / p["seconds"], cpu_s(p) / p["bytes_written"]


def haul_search(o, size, store, issue):
    """Reads per second, and processor time of a read."""
    phase = {"operation": "search", "list": 100, "verify": "none", "seconds": o.seconds, "warmup": 1, **index(size), **issue}
    p = run(o, store, "vector", phase)
    return p["figures"]["read_rate"], cpu_s(p) / p["measures"]["reads"]


def plain_reads(o, size):
    """Processor time of a random read on null://, where there is nothing but haul's own."""
    p = run(o, {"uri": "null://n"}, "io", {"operation": "read", "order": "replacement", "objects": 1, "size": 2048 * MIB, "block": size,
                                           "count": 3000000, "verify": "none"})
    return cpu_s(p) / p["measures"]["reads"]


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fio_process(o, *args):
    """What fio says of a run, and the processor time of its processes: fio itself leaves out the kernel's threads that work for
    io_uring."""
    before = children_s()
    out = subprocess.run([*o.run, "fio", "--name=x", "--output-format=json", *args], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["jobs"][0], children_s() - before


def fio(o, rw, bs, depth, *more):
    """Operations per second, and processor time of one, without that of fio's start."""
    start = fio_process(o, "--ioengine=null", "--size=4096", "--rw=read")[1]
    job, cpu = fio_process(o, f"--rw={rw}", f"--bs={bs}", f"--iodepth={depth}", "--ioengine=io_uring", "--direct=1", "--invalidate=0",
                           "--fixedbufs=1", "--registerfiles=1", *more)
    side = job["read" if "read" in rw else "write"]
    return side["total_ios"] / (side["runtime"] / 1e3), max(cpu - start, 0) / side["total_ios"]


def fio_reads(o, size):
    """With the fastest settings of fio that we know."""
    return fio(o, "randread", size, DEPTH, f"--filename={o.folder}/haul/{size}/000000_disk.index", "--norandommap=1",
               "--random_generator=tausworthe64", "--time_based=1", f"--runtime={o.seconds}", "--iodepth_batch=16",
               "--iodepth_batch_complete_min=1", f"--iodepth_batch_complete_max={DEPTH}")


def fio_writes(o, bytes_):
    """Bytes per second, and processor time of one."""
    rate, cpu = fio(o, "write", PIECE, BUFFERS, f"--filename={o.folder}/fio", f"--size={bytes_}", "--refill_buffers=1", "--unlink=1",
                    "--end_fsync=1", "--fallocate=none")
    return rate * PIECE, cpu / PIECE


def dd_writes(o, bytes_):
    made = subprocess.run(["dd", "if=/dev/zero", f"of={o.folder}/dd", f"bs={PIECE}", f"count={bytes_ // PIECE}", "oflag=direct",
                           "conv=fsync"], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr
    os.unlink(f"{o.folder}/dd")
    words = made.splitlines()[-1].split()
    return int(words[0]) / float(words[words.index("copied,") + 1])


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def holds(yes):
    return "holds" if yes else "misses"


def reads(o):
    ways = {"a read for each query": {"depth": DEPTH, "beam": 1}, "pipelined": {"depth": DEPTH // 4, "beam": 4, "issue": "pipelined"}}
    for size in SHAPES:
        haul_build(o, size)
        for name, issue in ways.items():
            rates, cpus = [], []
            for _ in range(o.rounds):
                rate, cpu = haul_search(o, size, direct(o), issue)
                other_rate, other_cpu = fio_reads(o, size)
                own = max(haul_search(o, size, {"uri": "null://n"}, issue)[1] - plain_reads(o, size), 0)
                rates.append(rate / other_rate)
                cpus.append((cpu - own) / other_cpu)
                print(f"{size} {name}: haul {rate:,.0f}/s {cpu * 1e6:.2f} us, of which {own * 1e6:.2f} its own; "
                      f"fio {other_rate:,.0f}/s {other_cpu * 1e6:.2f} us", flush=True)
            fine = statistics.median(rates) >= 0.95 and statistics.median(cpus) <= 1.2
            print(f"{size} {name}: reads {spread(rates)} >= 0.95, processor {spread(cpus)} <= 1.2: {holds(fine)}", flush=True)


def build(o):
    for size in SHAPES:
        ratios, cpus, plain = [], [], []
        for _ in range(o.rounds):
            rate, cpu = haul_build(o, size)
            bytes_ = os.path.getsize(f"{o.folder}/haul/{size}/000000_disk.index")
            other_rate, other_cpu = fio_writes(o, bytes_)
            dd = dd_writes(o, bytes_)
            ratios.append(rate / other_rate)
            cpus.append(cpu / other_cpu)
            plain.append(rate / dd)
            print(f"{size} build: haul {rate / 1e9:.2f} GB/s, fio {other_rate / 1e9:.2f}, dd {dd / 1e9:.2f}", flush=True)
        print(f"{size} build: to fio {spread(ratios)} >= 0.95, processor {spread(cpus)}, to dd {spread(plain)}: "
              f"{holds(statistics.median(ratios) >= 0.95)}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=os.path.abspath)
    p.add_argument("folder", type=os.path.abspath)
    p.add_argument("rounds", type=int, nargs="?", default=7)
    p.add_argument("--only", choices=("reads", "build"))
    p.add_argument("--seconds", type=int, default=5)
    p.add_argument("--engine", default="uring")
    p.add_argument("--run", type=shlex.split, default=[])
    o = p.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    try:
        if o.only != "reads":
            build(o)
        if o.only != "build":
            reads(o)
    finally:
        for name in ("haul", "fio", "dd", "job.json", "job.h5"):
            path = f"{o.folder}/{name}"
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.unlink(path)


if __name__ == "__main__":
    main()
