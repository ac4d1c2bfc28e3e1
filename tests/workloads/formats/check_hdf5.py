# SPDX-License-Identifier: Apache-2.0
"""HDF5 files: h5py, h5dump and h5stat read the files that write_files made, with the right names, shapes, types, layouts,
ids, labels and bytes.

check_hdf5.py WRITE_FILES"""
import os
import subprocess

from written import FULL, each_file, need, numbers, stream

h5py, numpy = need("h5py", "numpy")


def layout_of(row, chunk_samples, chunk_bytes):
    if chunk_samples:
        return (chunk_samples, row)
    if chunk_bytes:
        return (1, min(chunk_bytes, row))
    return None


def expected(samples, row, chunks, begin):
    """The values of a data set whose bytes start at position begin of the stream, and their end. The stream contains one
    chunk after the other, each in its full size."""
    down, across = chunks or (samples, row)
    n, m = -(-samples // down), -(-row // across)
    values = stream(samples, begin, n * down * m * across).reshape(n, m, down, across)
    return values.transpose(0, 2, 1, 3).reshape(n * down, m * across)[:samples, :row], begin + values.size


def dumped(path, samples, values):
    """Compares the first data set with the text that h5dump prints."""
    out = subprocess.run(["h5dump", "-p", "-y", "-w", "0", "-d", "records_0", path], check=True, capture_output=True,
                         text=True).stdout
    assert f"( {samples}, {values.shape[1]} )" in out and "H5T_STD_U8LE" in out, out
    data = out[out.rindex("DATA {") + 6:].replace("}", " ").replace(",", " ").split()
    assert [int(v) for v in data] == values.reshape(-1).tolist(), out
    labels = subprocess.run(["h5dump", "-y", "-d", "labels", path], check=True, capture_output=True, text=True).stdout
    assert "H5T_STD_I64LE" in labels and f"( {samples} )" in labels, labels
    subprocess.run(["h5stat", path], check=True, stdout=subprocess.DEVNULL)


def check(path):
    samples, size = numbers(path)
    more = os.path.basename(path).split(".")[1:-1]
    datasets, chunk_samples, chunk_bytes = [int(p) for p in more] or (1, 0, 0)
    begin = 0
    with h5py.File(path, "r") as f:
        names = ["records_%d" % i for i in range(datasets)]
        assert sorted(f) == sorted(names + ["labels"]), list(f)
        assert f["labels"].shape == (samples,) and f["labels"].dtype == "<i8"
        assert not f["labels"][:].any() and f["labels"].chunks is None
        for i, name in enumerate(names):
            d = f[name]
            row = size * (i + 1) // datasets - size * i // datasets
            assert d.shape == (samples, row) and d.dtype == "u1", (name, d.shape, d.dtype)
            assert d.chunks == layout_of(row, chunk_samples, chunk_bytes), d.chunks
            assert d.compression is None
            values, begin = expected(samples, row, d.chunks, begin)
            rows = d[:]
            if i == 0 and row >= 8:
                ids = rows[:, :8].copy().view("<u8").reshape(-1)
                assert (ids == 1000 * samples + numpy.arange(samples, dtype="u8")).all(), ids
                rows[:, :8] = values[:, :8]
            assert (rows == values).all(), name
            for k in {0, samples // 2, samples - 1}:  # one row at a time, as loaders read
                assert (d[k, 8:] == values[k, 8:]).all()
            if i == 0:
                first = d[:]
    if first.size < 600:
        if FULL or len(checked) % 4 == 0:
            dumped(path, samples, first)
        checked.append(path)


checked = []
each_file(check, "hdf5", 300)
assert len(checked) > (60 if FULL else 20), len(checked)
