"""h5py, h5dump and h5stat read the HDF5 files that write_files made: names, shapes, types, layouts, ids, labels, bytes.

check_hdf5.py WRITE_FILES"""
import glob
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
except ImportError:
    # The python3 found first may be one without Debian's h5py.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B"] + sys.argv)
    print("h5py is not installed")
    sys.exit(77)


def layout_of(n, samples, row, chunk_samples, chunk_bytes):
    if chunk_samples:
        return (chunk_samples, row)
    if chunk_bytes:
        return (1, min(chunk_bytes, row))
    return None


def check(path):
    name, *more = os.path.basename(path).split(".")[:-1]
    samples, size = [int(p) for p in name.split("-")[1:]]
    datasets, chunk_samples, chunk_bytes = [int(p) for p in more] or (1, 0, 0)
    with open(path, "rb") as raw:
        whole = raw.read()
    with h5py.File(path, "r") as f:
        names = ["records_%d" % i for i in range(datasets)]
        assert sorted(f) == sorted(names + ["labels"]), list(f)
        assert f["labels"].shape == (samples,) and f["labels"].dtype == "<i8"
        assert not f["labels"][:].any()
        begin = 0
        for i, name in enumerate(names):
            d = f[name]
            row = size * (i + 1) // datasets - size * i // datasets
            assert d.shape == (samples, row) and d.dtype == "u1", (name, d.shape, d.dtype)
            assert d.chunks == layout_of(i, samples, row, chunk_samples, chunk_bytes), d.chunks
            assert d.compression is None
            rows = d[:]
            if i == 0 and row >= 8:
                ids = rows[:, :8].copy().view("<u8").reshape(-1)
                assert (ids == 1000 * samples + numpy.arange(samples, dtype="u8")).all(), ids
            if d.chunks is None:
                at = d.id.get_offset()
                assert rows.tobytes() == whole[at:at + rows.size]
                begin = at
            for k in {0, samples // 2, samples - 1}:  # as loaders do: one row
                assert (d[k] == rows[k]).all()
        assert begin < len(whole)


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        paths = sorted(glob.glob(os.path.join(folder, "*.hdf5")))
        assert len(paths) > 300, len(paths)
        for path in paths:
            try:
                check(path)
            except Exception:
                print(path)
                raise
        for path in paths[::60]:
            out = subprocess.run(["h5dump", "-pH", path], check=True, capture_output=True, text=True).stdout
            assert 'DATASET "records_0"' in out and "H5T_STD_U8LE" in out, out
            subprocess.run(["h5stat", path], check=True, stdout=subprocess.DEVNULL)
        print(len(paths), "files")


main()
