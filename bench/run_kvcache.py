#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the phase kvcache, in three parts, for RESULTS.md.

  bench/run_kvcache.py HAUL FOLDER [ROUNDS] [--only users|fio|blocks] [--seconds 60] [--depth 1] [--run 'chrt -f 10']

users   100,000 users of one rank who think for 8 to 16 s, on null://: the rate at which requests fall due beside the sum of
        1 / time to think, how late haul sees them, and processor time.
fio     entries of 16 to 64 MiB written to direct://, and entries of 64 MiB read from there, beside fio, which writes and reads as
        many files of these sizes in the same pieces, with the same depth and one fsync per file.
blocks  blocks of 64 KiB and 2 MiB of the profile serving (layout lmcache_fs), put and got on direct:// by one thread (engine psync), beside fio,
        which opens, writes or reads, and closes as many files of these sizes one after the other. haul asks for each block before,
        and renames what it has written; so fio's put has a loop that asks for names that are not there, and one of rename, and
        its get has one of stat. Rates are those of the calls from the first to the last.

HAUL is the program. FOLDER is on the file system to measure and needs 5 GiB (blocks: 4 GiB a round; they are removed at the end, since
ext4 searches long for inodes where many files were deleted in the last minutes). Both sides run in turn; a ratio is the median over the
rounds (5) of haul's value to fio's of the same round. --run: a command that starts each side, for a machine that has other
work to do."""
import argparse
import json
import math
import os
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time

MIB = 1 << 20
USERS, THINK = 100000, (8, 16)
CHUNK, DEPTH = 4 * MIB, 4
TOKEN = 131072  # bytes of a token of llama3.1-8b
TOKENS = 512
NAME = "model@0x01000100@0@0123456789abcdef"  # as long as a block's, since longer names make a folder dearer
WRITES, STORED, READS = 64, 16, 192


def run(o, job, name, *more):
    """The results of a phase."""
    path, results = f"{o.folder}/job.json", f"{o.folder}/{name}.h5"
    with open(path, "w") as f:
        json.dump(job, f)
    subprocess.run([*o.run, o.program, "run", path, "--results", results, "--force", "--quiet", *more], check=True,
                   stdout=subprocess.DEVNULL)
    out = subprocess.run([o.program, "report", "--json", results], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["phases"][0]


def cpu_s(phase):
    return (phase["measures"]["cpu_user_ns"] + phase["measures"]["cpu_system_ns"]) / 1e9


def template(context, think, generate=1):
    return [{"name": "one", "context_min": context, "context_max": context, "generate_min": generate, "generate_max": generate,
             "think_min": think[0], "think_max": think[1]}]


def users(o):
    think = {"name": "patient", "context_min": 512, "context_max": 4096, "generate_min": 50, "generate_max": 200,
             "think_min": THINK[0], "think_max": THINK[1]}
    phase = {"model": "tiny-1b", "users": USERS, "duration": o.seconds, "threads": 2, "depth": o.depth, "templates": [think]}
    job = {"stores": {"n": {"uri": "null://n"}}, "phases": [{"kvcache": phase}]}
    wanted = USERS * math.log(THINK[1] / THINK[0]) / (THINK[1] - THINK[0])
    # Users begin together, and the rate counts when all have begun. What falls due before is the same in a trace, which takes
    # no time.
    first = o.seconds // 3
    trace = {**job, "phases": [{"kvcache": {**phase, "duration": first, "trace": f"{o.folder}/trace.csv"}}]}
    before = run(o, trace, "users")["measures"]["offered"]
    for _ in range(o.rounds):
        p = run(o, job, "users")
        m, late = p["measures"], p["latency_ns"]["late"]
        offered = (m["offered"] - before) / (o.seconds - first)
        print(f"offered {offered:.1f} per second from {first} s on, {offered / wanted - 1:+.2%} of {wanted:.1f}; late p50 "
              f"{late['p50'] / 1e3:.0f} us, p99 {late['p99'] / 1e3:.0f} us; served {m['requests']} of {m['offered']} requests "
              f"with {m['entry_reads'] + m['entry_writes']} entries; {cpu_s(p):.1f} CPU s, "
              f"{cpu_s(p) / m['requests'] * 1e6:.1f} us per request, "
              f"{cpu_s(p) / (m['entry_reads'] + m['entry_writes']) * 1e6:.1f} us per entry")


def haul(o, what):
    """Processor seconds per GiB, and GiB/s."""
    shutil.rmtree(f"{o.folder}/haul", ignore_errors=True)
    phase = {"model": "llama3.1-8b", "users": 4, "served": 4, "threads": 1, "depth": DEPTH, "chunk": CHUNK, "duration": "600 s",
             "verify": "none", "prefix": {"enabled": False}, "conversation": {"enabled": False},
             "templates": template(TOKENS, ("50 ms", "100 ms"))}
    if what == "write":
        phase.update(mode="prefill", requests=WRITES)
    else:
        phase.update(mode="decode", stored_per_user=STORED // 4, stored_tokens=TOKENS, requests=READS // 2)
    job = {"stores": {"d": {"uri": f"direct://{o.folder}/haul", "engine": "uring", "fsync": "file"}}, "phases": [{"kvcache": phase}]}
    p = run(o, job, what)
    m = p["measures"]
    gib = (m["bytes_written"] + m["bytes_read"]) / 2 ** 30
    return cpu_s(p) / gib, gib / p["seconds"], gib


def fio(o, what):
    args = [*o.run, "fio", "--name=x", f"--directory={o.folder}/fio", f"--bs={CHUNK}", f"--iodepth={DEPTH}", "--ioengine=io_uring",
            "--direct=1", "--invalidate=0", "--fixedbufs=1", f"--rw={what}", "--file_service_type=sequential", "--openfiles=1",
            "--output-format=json"]
    os.makedirs(f"{o.folder}/fio", exist_ok=True)
    if what == "write":
        shutil.rmtree(f"{o.folder}/fio")
        os.makedirs(f"{o.folder}/fio")
        args += [f"--nrfiles={WRITES}", f"--filesize={TOKENS // 4 * TOKEN}-{TOKENS * TOKEN}", "--create_on_open=1",
                 "--fallocate=none", "--fsync_on_close=1", "--refill_buffers=1"]
    else:
        args += [f"--nrfiles={STORED}", f"--filesize={TOKENS * TOKEN}", f"--io_size={READS * TOKENS * TOKEN}"]
    result = json.loads(subprocess.run(args, check=True, capture_output=True, text=True).stdout)["jobs"][0]
    gib, seconds = result[what]["io_bytes"] / 2 ** 30, result["job_runtime"] / 1e3
    return (result["usr_cpu"] + result["sys_cpu"]) / 100 * seconds / gib, gib / seconds, gib


def beside_fio(o):
    for what in ("write", "read"):
        rows = {"haul": [], "fio": []}
        for _ in range(o.rounds):
            rows["haul"].append(haul(o, what))
            rows["fio"].append(fio(o, what))
        for name, row in rows.items():
            cpu, rate, gib = (statistics.median(v) for v in zip(*row))
            print(f"{what:6} {name:6} {cpu:.3f} CPU s/GiB  {rate:.2f} GiB/s  {gib:.2f} GiB")
        ratios = sorted(a[0] / b[0] for a, b in zip(rows["haul"], rows["fio"]))
        print(f"{what:6} ratio  {statistics.median(ratios):.2f} CPU ({ratios[0]:.2f} to {ratios[-1]:.2f})")


def at_s(time):
    hours, minutes, seconds = time[11:-1].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def haul_blocks(o, layers, count, requests, times=1, rates=False):
    """Processor seconds of the phase; or puts, and gets, per second, by a log of the calls, which costs a few per cent. The first
    request puts all blocks, and each later one gets them."""
    folder = tempfile.mkdtemp(prefix="haul", dir=o.folder)
    tokens, think = 256 * count, times * max(1, 6 * o.seconds / 60)  # until all blocks are written
    phase = {"profile": "serving", "model": {"layers": layers, "hidden": 1024, "heads": 1, "kv_heads": 1, "head_dim": 64}, "users": 1,
             "served": 1, "threads": 1, "duration": "200 s", "verify": "none", "conversation": {"enabled": False},
             "requests": requests, "prefix": {"probability": 1, "prompts": 1, "tokens_min": tokens, "tokens_max": tokens},
             "templates": template(1, (f"{think} s", f"{think} s")),
             "serving": {"layout": "lmcache_fs", "block_tokens": 256, "pending": 1 << 20, "context_max": 1 << 24}}
    job = {"stores": {"d": {"uri": f"direct://{folder}", "engine": "psync", "fsync": "none"}},
           "phases": [{"kvcache": phase}]}
    p = run(o, job, "read", *(["--op-log", f"{o.folder}/ops.tsv", "--op-log-rows", str(1 << 18)] if rates else []))
    if p["measures"]["entry_writes"] != count and times == 1:  # a busy disk
        return haul_blocks(o, layers, count, requests, 3, rates)
    if p["measures"]["entry_writes"] != count:
        raise RuntimeError(f"{p['measures']['entry_writes']} of {count} blocks were written in time")
    if not rates:
        return cpu_s(p)
    ends = {}
    with open(f"{o.folder}/ops.tsv") as log:
        for row in (line.split("\t") for line in log if line[0].isdigit()):
            first, last = ends.get(row[2], (at_s(row[9]), 0))
            ends[row[2]] = first, at_s(row[12])
    put = count / (ends["COMMIT"][1] - ends["BEGIN"][0])
    return put, count / p["latency_ns"]["fetch"]["p50"] * 1e9


def fio_files(o, folder, size, count, what):
    """Seconds, and processor seconds, of a file."""
    args = [*o.run, "fio", f"--name={NAME}", f"--directory={folder}", f"--bs={size}", f"--filesize={size}", f"--nrfiles={count}",
            "--openfiles=1", "--file_service_type=sequential", "--invalidate=0", "--fallocate=none", "--thread", "--output-format=json",
            f"--rw={what}", "--direct=1"]
    if what == "write":
        args += ["--create_on_open=1", "--refill_buffers=1"]
    result = json.loads(subprocess.run(args, check=True, capture_output=True, text=True).stdout)["jobs"][0]
    seconds = max(result["job_runtime"], 1) / 1e3
    return seconds / count, (result["usr_cpu"] + result["sys_cpu"]) / 100 * seconds / count


def loop(folder, call):
    """The same of a call on each of fio's files."""
    paths = [entry.path for entry in os.scandir(folder)]
    began, used = time.monotonic(), time.process_time()
    for path in paths:
        call(path)
    return (time.monotonic() - began) / len(paths), (time.process_time() - used) / len(paths)


def asked(path):
    """Of a name that is not there: what asks has the folder searched."""
    os.access(path + ".data", os.F_OK)


def moved(path):
    os.rename(path, path + ".tmp")


def blocks(o):
    for size, layers, count in ((64 << 10, 1, 5000), (2 << 20, 32, 400)):
        rows, count = [], max(count * o.seconds ** 2 // 3600, 80)  # a shorter run has fewer of them
        for _ in range(o.rounds):
            few, gets = count // 8, 6
            put, get = haul_blocks(o, layers, count, 1 + gets, rates=True)
            folder = tempfile.mkdtemp(prefix="fio", dir=o.folder)
            written, stat = fio_files(o, folder, size, count, "write"), loop(folder, os.stat)
            read, absent, renamed = fio_files(o, folder, size, count, "read"), loop(folder, asked), loop(folder, moved)
            # what does not depend on the number of blocks, such as waiting, cancels out
            all_s, once_s = [(haul_blocks(o, layers, count, n) - haul_blocks(o, layers, few, n)) / (count - few) for n in (1 + gets, 2)]
            get_s = (all_s - once_s) / (gets - 1)
            put_s = once_s - get_s
            fio_put, fio_get = [[sum(parts) for parts in zip(*calls)] for calls in ((written, absent, renamed), (read, stat))]
            rows.append((put, 1 / fio_put[0], put * fio_put[0], put_s * 1e6, fio_put[1] * 1e6, put_s / max(fio_put[1], 1e-7),
                         get, 1 / read[0], get * read[0], get_s * 1e6, fio_get[1] * 1e6, get_s / max(fio_get[1], 1e-7)))
        v = [statistics.median(column) for column in zip(*rows)]
        for what, (ours, theirs, ratio, cpu, fio_cpu, more) in (("put", v[:6]), ("get", v[6:])):
            print(f"{size >> 10:5} KiB {what}: haul {ours:.0f}, fio {theirs:.0f} per second, {ratio:.2f}; {cpu:.0f} and {fio_cpu:.0f} us of a "
                  f"core, {more:.2f}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("folder", type=os.path.abspath)
    p.add_argument("rounds", type=int, nargs="?", default=5)
    p.add_argument("--only", choices=("users", "fio", "blocks"))
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--depth", type=int, default=1, help="of the part users: operations of each of the two I/O threads")
    p.add_argument("--run", type=shlex.split, default=[])
    o = p.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    try:
        for part in (users, beside_fio, blocks):
            if o.only in (None, {users: "users", beside_fio: "fio", blocks: "blocks"}[part]):
                part(o)
    finally:
        for entry in os.scandir(o.folder):
            if entry.is_dir() and entry.name.startswith(("haul", "fio")):
                shutil.rmtree(entry.path)
            elif entry.name in ("job.json", "trace.csv", "users.h5", "write.h5", "read.h5", "ops.tsv"):
                os.unlink(entry.path)


if __name__ == "__main__":
    main()
