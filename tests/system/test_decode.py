"""decode: what is whole is walked through without a word, what is not ends the run with a sentence."""
import os

from haultest import *

STREAM = {"kind": "stream", "workers": 2, "stream": {"interleave": 3, "transfer": "16 KiB"}}
CASES = [  # format, samples a file, loader, what is said of a flipped bit in the middle of a file
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
# Where the file's own name does not end so, or its middle is payload: the suffix, and the byte.
STRUCTURE = {("npy", 3): ("", 3), ("npz", 3): ("", 14), ("safetensors", 5): ("", 6), ("parquet", 5): ("", -2), ("hdf5", 3): ("", 2),
             ("indexed_binary", 5): (".off.idx", 23), ("mmap_indexed_binary", 5): (".sz.idx", 9)}


def test_decode():
    for fmt, samples, loader, sentence in CASES:
        with Folder() as folder:
            write_job(folder, {
                "name": "decode", "seed": 7,
                "stores": {"data": {"uri": f"file://{folder}/data", "transfer": "16 KiB"}},
                "dataset": {"store": "data", "format": fmt, "files": 12, "samples_per_file": samples, "sample_bytes": 30011},
                "phases": [{"generate": {}},
                           {"train": {"batch": 3, "decode": "checksum", "verify": "none", "null_steps": 0, "loader": loader}}]})
            r = mpi(2, "run", "job.json", cwd=folder)
            check(r.rc == 0, f"{fmt}: {r}")
            p = report(f"{folder}/results.h5")["phases"][1]
            check(p["errors"] == 0, f"{fmt}: {p}")
            if not loader["workers"]:  # others may be ahead of who waits
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


main()
