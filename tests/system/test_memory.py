"""Memory of a rank that trains on files with many samples: it takes at most the job's buffers and 32 MiB more than an empty
process with MPI and HDF5. The files have their full size, consist of holes, and are read as existing data.

test_memory.py EMPTY_PROCESS"""
import os
import subprocess
import sys

from haultest import *

EMPTY = sys.argv.pop(1)
BUFFERS = 8 << 20
DLRM = {"row_group": 6144, "columns": ["40 float32 read", "150 int32", "int8"]}
CASES = [  # name, format, samples per file, bytes per sample, options, first bytes of the files
    ("resnet50", "tfrecord", 1251, 114660, {}, b""),
    ("bert", "tfrecord", 313532, 2500, {}, b""),
    ("dlrm", "parquet", 4718592, 761, DLRM, b"PAR1"),
    ("dlrm, indexed", "indexed_binary", 4718592, 761, {}, b""),
    ("megatron", "mmap_indexed_binary", 277203535, 2048, {}, b""),
]


def peak(args, cwd):
    """Runs the command as one rank; returns (its peak resident set in bytes, its output)."""
    code = "import resource, subprocess, sys; rc = subprocess.run(sys.argv[1:], close_fds=False).returncode; " \
           "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(rc)"
    r = subprocess.run([MPIEXEC, "-n", "1", sys.executable, "-c", code, *args], cwd=cwd, capture_output=True,
                       text=True, timeout=HANGS_S, env=environment(1))
    check(r.returncode == 0, f"{args}: {r.stdout} {r.stderr}")
    return int(r.stdout.rsplit("peak ", 1)[1]) << 10, r.stdout


def job(folder, case, files):
    name, fmt, samples, size, options, _ = case
    data = {"store": "data", "format": fmt, "files": files, "samples_per_file": samples, "sample_bytes": size,
            "names": "dlio"}
    if options:
        data[fmt] = options
    return {"name": "memory", "seed": 7, "stores": {"data": {"uri": f"file://{folder}/data"}}, "dataset": data,
            "phases": [{"train": {"epochs": 2, "steps": 40, "batch": 64, "buffers": BUFFERS, "null_steps": 0,
                                  "shuffle": {"order": "each_epoch", "whole_files": True},
                                  "loader": {"workers": 4}}}]}


def holes(folder, case, files, bytes_each):
    _, fmt, samples, _, _, begin = case
    os.makedirs(f"{folder}/data/train")
    for i in range(files):
        path = f"{folder}/data/train/img_{i}_of_{files}.{fmt}"
        index = 8 * samples if "indexed" in fmt else 0
        with open(path, "wb") as f:
            f.write(begin)
            f.truncate(bytes_each - 2 * index)
        for suffix in (".off.idx", ".sz.idx") if index else ():
            with open(path + suffix, "wb") as f:
                f.truncate(index)


def test_rank():
    empty = subprocess.run([MPIEXEC, "-n", "1", EMPTY], capture_output=True, text=True, timeout=HANGS_S)
    check(empty.returncode == 0, f"{empty.stderr}")
    base = int(empty.stdout) << 10
    for case in CASES:
        files = 1 if case[0] == "megatron" else 2
        with Folder() as folder:
            write_job(folder, job(folder, case, files))
            before = processors_s()
            plan = alone("plan", "job.json", "--json", cwd=folder)
            seconds = processors_s() - before
            check(plan.rc == 0 and seconds < 1, f"{case[0]}: planned in {seconds:.1f} s of a processor: {plan}")
            holes(folder, case, files, json.loads(plan.out)["dataset"]["bytes"] // files)
            bytes_, out = peak([HAUL, "run", "job.json"], folder)
            print(f"      {case[0]}: {bytes_ / 2 ** 20:.1f} MiB, empty {base / 2 ** 20:.1f} MiB, "
                  f"planned in {seconds:.2f} s", flush=True)
            check("2,560 samples" in out or "5,120 samples" in out, f"{case[0]}: {out}")
            check(bytes_ < base + BUFFERS + (32 << 20), f"{case[0]}: {bytes_} bytes, empty {base}")


main()
