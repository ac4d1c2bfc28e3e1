# SPDX-License-Identifier: Apache-2.0
"""Memory of a rank: it takes at most the job's buffers and 32 MiB more than an empty process with MPI and HDF5. Trainings
read files with many samples, which have their full size and consist of holes; checkpoints and models that are loaded are
larger than their buffers. A checkpoint that is made as a whole takes the memory that its plan says.

test_memory.py EMPTY_PROCESS"""
import array
import os
import struct
import sys

from haultest import *

EMPTY = sys.argv.pop(1)
BUFFERS = 8 << 20
MORE = 32 << 20
DLRM = {"row_group": 6144, "columns": ["40 float32 read", "150 int32", "int8"]}
CASES = [  # name, format, samples per file, bytes per sample, options, first bytes of the files
    ("resnet50", "tfrecord", 1251, 114660, {}, b""),
    ("bert", "tfrecord", 313532, 2500, {}, b""),
    ("dlrm", "parquet", 4718592, 761, DLRM, b"PAR1"),
    ("dlrm, indexed", "indexed_binary", 4718592, 761, {}, b""),
    ("megatron", "mmap_indexed_binary", 10000000, 2048, {}, b""),
]


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
            if begin:  # a Parquet file ends as it begins, behind the length of its footer
                f.seek(-8, os.SEEK_END)
                f.write(struct.pack("<I", 0) + begin)
        if index:
            each = (bytes_each - 2 * index) // samples
            for suffix, begins in (".off.idx", True), (".sz.idx", False):
                with open(path + suffix, "wb") as f:
                    for first in range(0, samples, 1 << 20):
                        some = range(first, min(first + (1 << 20), samples))
                        array.array("Q", (each * i for i in some) if begins else [each] * len(some)).tofile(f)


def empty_process():
    """The peak resident set of the empty process."""
    return peak_of_rank([EMPTY])[0]


def test_rank():
    base = empty_process()
    for case in CASES:
        files = 1 if case[0] == "megatron" else 2
        with Folder() as folder:
            write_job(folder, job(folder, case, files))
            before = processors_s()
            plan = alone("plan", "job.json", "--json", cwd=folder)
            seconds = processors_s() - before
            check(plan.rc == 0 and seconds < 1, f"{case[0]}: planned in {seconds:.1f} s of a processor: {plan}")
            holes(folder, case, files, json.loads(plan.out)["dataset"]["bytes"] // files)
            bytes_, out = peak_of_rank([HAUL, "run", "job.json"], folder)
            print(f"      {case[0]}: {bytes_ / 2 ** 20:.1f} MiB, empty {base / 2 ** 20:.1f} MiB, "
                  f"planned in {seconds:.2f} s", flush=True)
            check("2,560 samples" in out or "5,120 samples" in out, f"{case[0]}: {out}")
            check(bytes_ < base + BUFFERS + MORE, f"{case[0]}: {bytes_} bytes, empty {base}")


def streams(folder, name, base, bytes_, buffers):
    """The phase of that name moves so many bytes through its buffers."""
    peak, _ = peak_of_rank([HAUL, "run", "job.json", "--only", name, "--force"], folder)
    phase, = report(f"{folder}/results.h5")["phases"]
    moved = phase["bytes_written"] + phase["bytes_read"]
    print(f"      {name}: {peak / 2 ** 20:.1f} MiB, empty {base / 2 ** 20:.1f} MiB", flush=True)
    check(moved > bytes_ and phase["errors"] == 0, f"{name}: {phase}")
    # What a rank shares with its parent, which loaded the libraries, may be in neither of both.
    check(peak > buffers + base // 2, f"{name}: {peak} bytes, empty {base}: not all buffers were used")
    if not SANITIZED:  # sanitizers take memory of their own
        check(peak <= base + buffers + MORE, f"{name}: {peak} bytes, empty {base}, buffers {buffers}")


def checkpoints(bytes_, buffers, chunk):
    """A checkpoint of one rank is written, read, and read and compared, each by a run of its own."""
    both = {"count": 1, "model": {"bytes": bytes_}, "framing": "torch", "buffers": buffers, "chunk": chunk,
            "writers": 2, "fillers": 2, "readers": 2}
    phases = [("write", {"operation": "write"}), ("read", {"operation": "read"}),
              ("verify", {"operation": "read", "verify": "full"})]
    base = empty_process()
    with Folder() as folder:
        write_job(folder, {"stores": {"c": {"uri": f"file://{folder}/data"}},
                           "phases": [{"checkpoint": {"name": name, **both, **more}} for name, more in phases]})
        for name, _ in phases:
            streams(folder, name, base, bytes_, buffers)


def test_checkpoint():
    checkpoints(256 << 20, 32 << 20, 4 << 20)


def test_load():
    """A shard of 1 GiB, of which a file has 32 tensors that consist of holes. Neither it nor its null pass is in memory."""
    tensors, each, buffers = 32, 32 << 20, 32 << 20
    header = json.dumps({f"model.layers.{i}.norm.weight": {"dtype": "U8", "shape": [each],
                                                           "data_offsets": [i * each, (i + 1) * each]}
                         for i in range(tensors)}).encode()
    with Folder() as folder:
        os.makedirs(f"{folder}/data")
        with open(f"{folder}/data/model.safetensors", "wb") as f:
            f.write(struct.pack("<Q", len(header)) + header)
            f.truncate(8 + len(header) + tensors * each)
        write_job(folder, {"stores": {"m": {"uri": f"file://{folder}/data"}}, "phases": [
            {"load": {"name": "load", "buffers": buffers, "chunk": "4 MiB", "threads": 2, "count": 2}}]})
        streams(folder, "load", empty_process(), 2 * tensors * each, buffers)


def test_whole_checkpoint():
    """One that is made as a whole before it is written takes its own size, and no ring beside."""
    base, size = empty_process(), 128 << 20
    with Folder() as folder:
        write_job(folder, {"stores": {"c": {"uri": f"file://{folder}/data"}},
                           "phases": [{"checkpoint": {"operation": "write", "count": 2, "keep": 1, "fill": "whole",
                                                      "model": {"bytes": size}}}]})
        planned = json.loads(alone("plan", "job.json", "--json", cwd=folder).out)["phases"][0]["memory_bytes_per_rank"]
        peak, _ = peak_of_rank([HAUL, "run", "job.json"], folder)
        measures = report(f"{folder}/results.h5")["phases"][0]["measures"]
        print(f"      whole: {peak / 2 ** 20:.1f} MiB, empty {base / 2 ** 20:.1f} MiB, planned {planned / 2 ** 20:.1f} MiB",
              flush=True)
        check(measures["written"] == 2 and measures["errors"] == 0, f"{measures}")
        check(size < planned < size + (4 << 20), f"planned {planned} bytes")
        check(peak > size + base // 2, f"{peak} bytes, empty {base}")
        if not SANITIZED:
            check(peak <= base + planned + MORE, f"{peak} bytes, empty {base}, planned {planned}")


@long
def test_large_checkpoint():
    checkpoints(4 << 30, 128 << 20, 32 << 20)


main()
