"""A second reading of indexed_binary and mmap_indexed_binary, as DLIO's readers do it with numpy, of the
files that write_files made: records by offset and size, which lie one behind the other; ids where they
should stand.

check_indexed.py WRITE_FILES"""
import glob
import os
import struct
import subprocess
import sys
import tempfile

import numpy


def index_read(path):
    return numpy.fromfile(path, dtype=numpy.uint64)


def index_mapped(path):
    return numpy.frombuffer(memoryview(numpy.memmap(path, mode="r", order="C")), dtype=numpy.uint64)


def check(path, index):
    samples, size = [int(p) for p in os.path.basename(path).split(".")[0].split("-")[1:]]
    offsets, sizes = index(path + ".off.idx"), index(path + ".sz.idx")
    assert offsets.shape == sizes.shape == (samples,), (offsets.shape, sizes.shape)
    assert offsets.dtype.byteorder in "=<"
    at, seen = 0, set()
    with open(path, "rb") as f:
        for i in range(samples):
            assert int(offsets[i]) == at and int(sizes[i]) == size, (i, offsets[i], sizes[i])
            f.seek(int(offsets[i]))
            record = f.read(int(sizes[i]))
            assert len(record) == size
            if size >= 8:
                assert struct.unpack("<Q", record[:8]) == (1000 * samples + i,)
            if size >= 24:
                seen.add(record[8:])
            at += size
        assert f.read() == b""
    assert not seen or len(seen) == samples, "records are alike"


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        for name, index in (("indexed_binary", index_read), ("mmap_indexed_binary", index_mapped)):
            paths = glob.glob(os.path.join(folder, f"*.{name}"))
            assert len(paths) > 100, len(paths)
            for path in paths:
                try:
                    check(path, index)
                except Exception:
                    print(path)
                    raise
            print(name, len(paths), "files")


main()
