# SPDX-License-Identifier: Apache-2.0
"""Files of indexed_binary and mmap_indexed_binary: numpy reads the files that write_files made as DLIO's readers do, by the
offset and size of each record. Records follow each other without gaps, and every byte is right.

check_indexed.py WRITE_FILES"""
from written import each_file, need, numbers, payload

numpy, = need("numpy")


def index_read(path):
    return numpy.fromfile(path, dtype="<u8")


def index_mapped(path):
    return numpy.frombuffer(memoryview(numpy.memmap(path, mode="r", order="C")), dtype="<u8")


def check(path):
    index = index_mapped if path.endswith(".mmap_indexed_binary") else index_read
    samples, size = numbers(path)
    want = payload(samples, size)
    offsets, sizes = index(path + ".off.idx"), index(path + ".sz.idx")
    assert offsets.shape == sizes.shape == (samples,), (offsets.shape, sizes.shape)
    at = 0
    with open(path, "rb") as f:
        for i in range(samples):
            assert int(offsets[i]) == at and int(sizes[i]) == size, (i, offsets[i], sizes[i])
            f.seek(int(offsets[i]))
            assert f.read(int(sizes[i])) == want[i].tobytes(), i
            at += size
        assert f.read() == b""


each_file(check, "indexed_binary", 100)
each_file(check, "mmap_indexed_binary", 100)
