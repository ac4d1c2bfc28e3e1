# SPDX-License-Identifier: Apache-2.0
"""Decoding of samples (decode: checksum): undamaged files are read without a message, and a damaged one ends the run with a
sentence."""
import os

from haultest import *

STREAM = {"kind": "stream", "workers": 2, "stream": {"interleave": 3, "transfer": "16 KiB"}}
CASES = [  # format, samples per file, loader, the message for a flipped bit in the middle of a file
    ("tfrecord", 7, STREAM, "a record has another CRC"),
    ("tfrecord", 7, {"workers": 2}, "a record has another CRC"),
    ("png", 1, {"kind": "sample", "workers": 2}, "a chunk's CRC is not that of its bytes"),
    ("npz", 1, {"workers": 1}, "a member's CRC is not that of its bytes"),
    ("jpeg", 1, {"workers": 1}, "has a marker where none may stand"),
    ("csv", 3, {"workers": 0}, "has another number of rows than samples"),
    ("npy", 3, {"workers": 1}, "has no array where one must begin"),
    ("npz", 3, {"workers": 1}, "a member is not what its directory says"),
    ("safetensors", 5, {"workers": 1}, "has a header longer than its file"),
    ("parquet", 5, {"workers": 1}, "has no mark at its end"),
    ("hdf5", 3, {"workers": 1}, "has no HDF5 signature"),
    ("indexed_binary", 5, {"workers": 1}, "an offset is not where a sample can begin"),
    ("mmap_indexed_binary", 5, {"workers": 1}, "sizes are not the steps of the offsets"),
]
# For formats with an index file, or with payload in the middle: the suffix of the file to damage, and the byte.
STRUCTURE = {("npy", 3): ("", 3), ("npz", 3): ("", 14), ("safetensors", 5): ("", 6), ("parquet", 5): ("", -2), ("hdf5", 3): ("", 2),
             ("indexed_binary", 5): (".off.idx", 23), ("mmap_indexed_binary", 5): (".sz.idx", 9)}


def job(folder, fmt, samples, loader, options={}):
    write_job(folder, {
        "name": "decode", "seed": 7,
        "stores": {"data": {"uri": f"file://{folder}/data", "transfer": "16 KiB"}},
        "dataset": {"store": "data", "format": fmt, "files": 12, "samples_per_file": samples, "sample_bytes": 30011, **options},
        "phases": [{"generate": {}},
                   {"train": {"batch": 3, "decode": "checksum", "verify": "none", "null_steps": 0, "loader": loader}}]})


def decoded(folder, what):
    r = mpi(2, "run", "job.json", cwd=folder)
    check(r.rc == 0, f"{what}: {r}")
    p = report(f"{folder}/results.h5")["phases"][1]
    check(p["errors"] == 0, f"{what}: {p}")
    return p


@matrix
def test_decode():
    for fmt, samples, loader, sentence in some(CASES, 3):
        with Folder() as folder:
            job(folder, fmt, samples, loader)
            p = decoded(folder, fmt)
            if not loader["workers"]:  # workers may decode ahead, so that no rank waits for it
                check(p["accounts"]["decode"] > 0, f"{fmt}: {p['accounts']}")
            suffix, middle = STRUCTURE.get((fmt, samples), ("", None))
            path = next(f"{folder}/data/{n}" for n in sorted(os.listdir(f"{folder}/data")) if n.endswith(fmt + suffix))
            if middle is None:
                middle = os.path.getsize(path) // 2
            middle %= os.path.getsize(path)
            with open(path, "r+b") as f:
                f.seek(middle)
                byte = f.read(1)[0]
                f.seek(middle)
                f.write({"jpeg": b"\xff\x02", "csv": b"\n"}.get(fmt, bytes([byte ^ 1])))
            r = mpi(2, "run", "job.json", "--only", "train", "--force", cwd=folder)
            check(r.rc == 1 and f"decode: {sentence}" in r.err and os.path.basename(path).removesuffix(suffix) in r.err, f"{fmt}: {r}")


def test_other_formats():
    """Formats without a case above: haul decodes the file, or the message lists the formats that it can decode."""
    for fmt in formats():
        if fmt in {c[0] for c in CASES}:
            continue
        with Folder() as folder:
            job(folder, fmt, samples_per_file(fmt, 5, 30011), {"workers": 1})
            r = alone("plan", "job.json", cwd=folder)
            if r.rc == 0:
                decoded(folder, fmt)
            else:
                says = f"haul knows no checksum and no structure of format {fmt}; it does of these formats: "
                listed = " ".join(r.err.split()).split(says)
                check(len(listed) == 2, f"{fmt}: {r}")
                check({c[0] for c in CASES} <= set(listed[1].split(", ")) <= set(formats()) - {fmt}, f"{r}")


main()
