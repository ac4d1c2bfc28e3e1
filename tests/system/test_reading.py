# SPDX-License-Identifier: Apache-2.0
"""Reads of a training in each data format: the bytes and opens of an epoch, as strace counts them, are those of a real reader
of the format, which this test computes from the files themselves. The report and the plan have the same numbers."""
import collections
import os
import re
import struct
import subprocess

from haultest import *

FILE, GROUP, SAMPLE = "file", "group", "sample"
STAYS_OPEN = {"tfrecord", "safetensors", "parquet", "indexed_binary", "mmap_indexed_binary"}
WIDE = ["4 int16", "float64 read", "3 float32 read"]  # 8 + 8 + 12 bytes per row, of which 20 are read
CASES = [  # format, files, samples per file, bytes per sample, options of the format
    ("raw", 6, 37, 3000, {}),
    ("npy", 6, 37, 3000, {}),
    ("npz", 6, 37, 3000, {}),
    ("npz", 30, 1, 3000, {}),
    ("tfrecord", 6, 37, 3000, {}),
    ("png", 30, 1, 3000, {}),
    ("jpeg", 30, 1, 3000, {}),
    ("csv", 4, 5, 3000, {}),
    ("hdf5", 6, 37, 3000, {}),
    ("hdf5", 6, 37, 3000, {"chunk_samples": 4}),
    ("hdf5", 6, 37, 3000, {"chunk_bytes": 1000, "datasets": 2}),
    ("safetensors", 6, 37, 3000, {}),
    ("parquet", 6, 37, 3000, {"row_group": 8}),
    ("parquet", 6, 200, 28, {"row_group": 8, "columns": WIDE}),
    ("indexed_binary", 6, 37, 3000, {}),
    ("mmap_indexed_binary", 3, 1300, 24, {}),
]


def npz_parts(path):
    """The bytes from the directory to the end, and the bytes before the payload of the first member."""
    with open(path, "rb") as f:
        data = f.read()
    directory = struct.unpack("<I", data[-22 + 16:-22 + 20])[0]
    name, extra = struct.unpack("<HH", data[26:30])
    npy = 30 + name + extra
    return len(data) - directory, npy + 10 + struct.unpack("<H", data[npy + 8:npy + 10])[0]


def reads(fmt, path, k, samples, size, options):
    """The reads for sample k of a reader that has no data yet: (bytes, for what it keeps them)."""
    whole = os.path.getsize(path)
    if fmt == "raw":
        return [(size, SAMPLE)]
    if fmt == "npy":
        return [(whole - samples * size, SAMPLE), (size, SAMPLE)]
    if fmt in ("png", "jpeg", "csv") or (fmt == "npz" and samples == 1):
        return [(whole, SAMPLE)]
    if fmt == "npz":
        return [(n, SAMPLE) for n in npz_parts(path)] + [(size, SAMPLE)]
    if fmt == "tfrecord":
        return [(whole // samples, SAMPLE)]
    if fmt == "hdf5":
        rows, sets = options.get("chunk_samples", 1), options.get("datasets", 1)
        piece = options.get("chunk_bytes", size // sets)
        row = sets * -(-size // sets // piece) * piece  # whole chunks: they fit libhdf5's cache
        data = -(-samples // rows) * rows * row + 8 * samples  # with the labels
        return [(whole - data, SAMPLE), (rows * row, SAMPLE)]
    if fmt == "safetensors":
        with open(path, "rb") as f:
            return [(8 + struct.unpack("<Q", f.read(8))[0], FILE), (size, SAMPLE)]
    if fmt == "indexed_binary":
        return [(2 * 8 * samples, FILE), (size, SAMPLE)]
    if fmt == "mmap_indexed_binary":
        page = min(4096, 8 * samples - k // 512 * 4096)
        return [(2 * page, k // 512), (size, SAMPLE)]
    group = options["row_group"]
    rows = min(group, samples - k // group * group)
    with open(path, "rb") as f:
        f.seek(-8, os.SEEK_END)
        footer = 8 + struct.unpack("<I", f.read(4))[0]
    chunk = (29 + 8 * rows) + 3 * (29 + 4 * rows) if "columns" in options else 29 + size * rows
    return [(footer, FILE), (chunk, k // group)]


class Lane:
    """One reader: the file that it has open, whether it has the file's metadata, and the last four row groups."""

    def __init__(self, fmt):
        self.fmt, self.file, self.kept, self.groups, self.bytes, self.opens = fmt, None, False, [], 0, 0

    def sample(self, path, k, *shape):
        if self.file != path or self.fmt not in STAYS_OPEN:
            self.file, self.kept, self.groups = path, False, []
            self.opens += 3 if "indexed" in self.fmt else 1
        for n, keep in reads(self.fmt, path, k, *shape):
            if keep == FILE and self.kept:
                continue
            if keep in (FILE, SAMPLE):
                self.bytes += n
                continue
            if keep in self.groups:
                self.groups.remove(keep)
            else:
                self.bytes += n
            self.groups = [keep] + self.groups[:3]
        self.kept = True


def expected(folder, case, ranks, workers, batch, epochs):
    fmt, files, samples, size, options = case
    names = sorted(n for n in os.listdir(f"{folder}/data") if n.endswith("." + fmt))
    check(len(names) == files, f"{names}")
    moved = opens = 0
    for _ in range(epochs):
        lanes = [Lane(fmt) for _ in range(ranks * workers)]
        steps = files * samples // (batch * ranks)
        for step in range(steps):
            for rank in range(ranks):
                lane = lanes[rank * workers + step % workers]
                for j in range(batch):
                    at = (step * ranks + rank) * batch + j
                    lane.sample(f"{folder}/data/{names[at // samples]}", at % samples, samples, size, options)
        moved += sum(l.bytes for l in lanes)
        opens += sum(l.opens for l in lanes)
    return moved, opens, epochs * steps * batch * ranks


def job(folder, case, workers, batch, epochs, **train):
    fmt, files, samples, size, options = case
    data = {"store": "data", "format": fmt, "files": files, "samples_per_file": samples, "sample_bytes": size}
    if options:
        data[fmt] = options
    return {"name": "reading", "seed": 7, "stores": {"data": {"uri": f"file://{folder}/data"}}, "dataset": data,
            "phases": [{"generate": {}},
                       {"train": {"epochs": epochs, "batch": batch, "shuffle": "none", "verify": "full", "null_steps": 0,
                                  "loader": {"workers": workers}, **train}}]}


def traced(folder, ranks):
    """(bytes read, opens, reads, output): the system calls on the objects of the data set, as strace counts them."""
    args = command(ranks, "run", "job.json", "--only", "train", "--force")
    at = args.index(HAUL)
    strace = ["strace", "-ff", "-y", "-e", "trace=openat,close,read,pread64,preadv,preadv2", "-o",
              os.path.join(folder, "trace")]
    r = subprocess.run(args[:at] + strace + args[at:], cwd=folder, capture_output=True, text=True, timeout=HANGS_S,
                       env=environment())
    check(r.returncode == 0, f"{r.stdout} {r.stderr}")
    calls, moved = collections.Counter(), 0
    for name in os.listdir(folder):
        if not name.startswith("trace."):
            continue
        with open(os.path.join(folder, name), errors="replace") as f:
            for line in f:
                m = re.match(r"(\w+)\(.*?img_\d+_of_\d+.*\) = (\d+)", line)
                if m:
                    kind = m.group(1) if m.group(1) in ("openat", "close") else "read"
                    calls[kind] += 1
                    moved += int(m.group(2)) if kind == "read" else 0
        os.unlink(os.path.join(folder, name))
    check(calls["close"] == calls["openat"], f"{calls}")
    return moved, calls["openat"], calls["read"], r.stdout


def test_bytes_and_opens():
    for i, case in enumerate(CASES):
        ranks, workers, batch, epochs = ((1, 1, 10, 1), (2, 1, 5, 2), (1, 2, 10, 1))[i % 3]
        if case[0] in STAYS_OPEN:
            ranks, workers = ((1, 1), (2, 2))[i % 2]
        with Folder() as folder:
            j = job(folder, case, workers, batch, epochs)
            write_job(folder, j)
            what = f"{case}, {ranks} ranks, {workers} workers"
            r = mpi(1, "generate", "job.json", cwd=folder)
            check(r.rc == 0, f"{what}: {r}")
            moved, opens, samples = expected(folder, case, ranks, workers, batch, epochs)
            seen = traced(folder, ranks)
            check(seen[0] == moved, f"{what}: {seen[0]} bytes read by strace, {moved} wanted")
            check(seen[1] == opens, f"{what}: {seen[1]} opens by strace, {opens} wanted")
            p = report(f"{folder}/results.h5")["phases"][0]
            check(p["bytes_read"] == moved, f"{what}: {p['bytes_read']} bytes in the report, {moved} wanted")
            size = 20 if "columns" in case[4] else case[3]
            check(p["measures"]["logical_bytes"] == samples * size, f"{what}: {p['measures']}")
            check(p["measures"]["samples"] == samples, f"{what}: {p['measures']}")
            apart = abs(moved - samples * size) >= 0.01 * samples * size
            check((" of samples, " in seen[3] and " moved" in seen[3]) == apart, f"{what}: {seen[3]}")
            # A row group is read with the first of its samples, so only that sample's id comes from bytes that were read.
            ids = p["measures"]["ids_from_bytes"]
            check(0 < ids < samples if case[0] == "parquet" else ids == samples, f"{what}: {ids} ids of {samples}")
            told = f"{ids:,} ids from the bytes read, the others as planned"
            check(told in p["said"] if ids < samples else " ids " not in p["said"], f"{what}: {p['said']}")
            if case[4].get("chunk_bytes"):  # one read of the header, and two chunks in each of two data sets
                check(seen[2] == samples * 5, f"{what}: {seen[2]} reads of {samples} samples")
            plan = alone("plan", "job.json", "--json", "--ranks-per-node", ranks, cwd=folder)
            check(plan.rc == 0, f"{what}: {plan}")
            wanted = json.loads(plan.out)["phases"][1]["bytes"]
            check(abs(wanted - moved) < 0.03 * moved, f"{what}: plan says {wanted} bytes, {moved} moved")


def test_other_formats():
    """Formats without a case above: this test does not model their readers. The counts of the kernel must be those of the
    report and the plan, and every sample must be read with its id."""
    for fmt in formats():
        if fmt in {c[0] for c in CASES}:
            continue
        samples = samples_per_file(fmt, 37, 3000)
        case = (fmt, 6 if samples > 1 else 30, samples, 3000, {})
        for ranks, workers in ((1, 1), (2, 2)):
            with Folder() as folder:
                write_job(folder, job(folder, case, workers, 5, 2))
                what = f"{case}, {ranks} ranks, {workers} workers"
                r = mpi(1, "generate", "job.json", cwd=folder)
                check(r.rc == 0, f"{what}: {r}")
                moved, opens, _, _ = traced(folder, ranks)
                p = report(f"{folder}/results.h5")["phases"][0]
                total = 2 * (case[1] * samples // (5 * ranks)) * 5 * ranks
                check(p["bytes_read"] == moved, f"{what}: {p['bytes_read']} bytes in the report, {moved} by strace")
                check(moved >= total * 3000 and opens >= 2 * case[1], f"{what}: {moved} bytes, {opens} opens")
                check(p["measures"]["samples"] == total, f"{what}: {p['measures']}")
                check(p["measures"]["ids_from_bytes"] == total, f"{what}: {p['measures']}")
                plan = alone("plan", "job.json", "--json", "--ranks-per-node", ranks, cwd=folder)
                wanted = json.loads(plan.out)["phases"][1]["bytes"]
                check(abs(wanted - moved) < 0.03 * moved, f"{what}: plan says {wanted} bytes, {moved} moved")
        print(f"      {fmt}: strace agrees with report and plan, without a model of the reader")


def test_objects_of_a_file():
    """Index files are planned, generated, resumed and removed with their data files."""
    with Folder() as folder:
        write_job(folder, job(folder, ("indexed_binary", 3, 50, 100, {}), 1, 10, 1))
        plan = alone("plan", "job.json", "--json", cwd=folder)
        phase = json.loads(plan.out)["phases"][0]
        check(phase["bytes"] == 3 * (50 * 100 + 2 * 50 * 8) and phase["inodes"] == 9 + 1, f"{phase}")
        check(mpi(2, "generate", "job.json", cwd=folder).rc == 0, "generate")
        names = sorted(n for n in os.listdir(f"{folder}/data") if n.startswith("img"))
        check(len(names) == 9, f"{names}")
        before = {n: open(f"{folder}/data/{n}", "rb").read() for n in names}
        os.unlink(f"{folder}/data/{names[1]}")
        os.truncate(f"{folder}/data/{names[5]}", 17)
        r = mpi(3, "generate", "job.json", "--force", cwd=folder)
        check(r.rc == 0 and "7 of 9 files were whole already" in r.out, f"{r}")
        check(before == {n: open(f"{folder}/data/{n}", "rb").read() for n in names}, "the resumed files differ")
        r = mpi(2, "clean", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        check(not os.path.exists(f"{folder}/data") or os.listdir(f"{folder}/data") == [], f"left: {r}")


def test_columns_in_the_manifest():
    """The manifest contains the list of columns, and all ranks of haul clean know it."""
    with Folder() as folder:
        case = ("parquet", 3, 40, 28, {"row_group": 8, "columns": WIDE})
        write_job(folder, job(folder, case, 1, 10, 1))
        check(mpi(2, "generate", "job.json", cwd=folder).rc == 0, "generate")
        other = job(folder, (*case[:4], {"row_group": 8, "columns": ["28 int8"]}), 1, 10, 1)
        write_job(folder, other, "other.json")
        r = mpi(2, "generate", "other.json", "--force", cwd=folder)
        check(r.rc != 0 and "was made with parquet {" in r.err, f"{r}")
        r = mpi(3, "clean", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        check(not os.path.exists(f"{folder}/data") or os.listdir(f"{folder}/data") == [], f"left: {r}")


def test_streams():
    """Files that are read as streams: each byte is read once, in pieces of the given size. If there are fewer files than ranks,
    every rank reads all files."""
    for fmt, files, samples, size, ranks, transfer, interleave, batch in (
            ("tfrecord", 6, 37, 3000, 1, 4096, 2, 6), ("tfrecord", 8, 25, 11466, 2, 65536, 4, 5),
            ("raw", 5, 40, 3000, 1, 262144, 4, 8), ("tfrecord", 2, 30, 3000, 3, 16384, 2, 4)):
        with Folder() as folder:
            j = job(folder, (fmt, files, samples, size, {}), 0, batch, 2)
            j["phases"][1]["train"].update(
                loader={"kind": "stream", "workers": 2, "stream": {"interleave": interleave, "transfer": transfer}},
                shuffle={"window": 20})
            write_job(folder, j)
            what = f"{fmt}, {files} x {samples}, {ranks} ranks"
            r = mpi(1, "generate", "job.json", cwd=folder)
            check(r.rc == 0, f"{what}: {r}")
            sizes = [os.path.getsize(f"{folder}/data/{n}") for n in os.listdir(f"{folder}/data") if n.endswith(fmt)]
            times = 2 * (ranks if files < ranks else 1)
            bytes_read, opens, reads_made, _ = traced(folder, ranks)
            check(opens == times * files, f"{what}: {opens} opens")
            pieces = times * sum(-(-n // transfer) for n in sizes)
            if files >= ranks:
                check(bytes_read == times * sum(sizes), f"{what}: {bytes_read} bytes of {times} x {sum(sizes)}")
                check(reads_made == pieces, f"{what}: {reads_made} reads, {pieces} wanted")
            else:  # a rank may end before the last piece of a file
                check(0 <= times * sum(sizes) - bytes_read < times * files * transfer, f"{what}: {bytes_read} bytes")
                check(0 <= pieces - reads_made <= times * files, f"{what}: {reads_made} reads")
            plan = alone("plan", "job.json", "--json", "--ranks-per-node", ranks, cwd=folder)
            check(plan.rc == 0, f"{what}: {plan}")
            wanted = json.loads(plan.out)["phases"][1]["bytes"]
            check(abs(wanted - bytes_read) < 0.03 * bytes_read, f"{what}: plan says {wanted}, {bytes_read} were read")


main()
