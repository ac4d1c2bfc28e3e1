"""numpy.load and zipfile read what write_files made: shapes, ids, labels, checksums.

check_numpy.py WRITE_FILES [BYTES]: with BYTES, one npz of that size instead."""
import os
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy
except ImportError:
    # The python3 found first may be one without Debian's numpy.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B"] + sys.argv)
    print("numpy is not installed")
    sys.exit(77)


def check_ids(array, samples, size):
    rows = array.reshape(samples, size)
    if size >= 8:
        ids = rows[:, :8].copy().view("<u8").reshape(-1)
        assert (ids == 1000 * samples + numpy.arange(samples, dtype="u8")).all(), ids


def check(path):
    form, samples, size = os.path.basename(path).split(".")[0].split("-")
    samples, size = int(samples), int(size)
    shape = (size,) if samples == 1 else (samples, size)
    if form == "raw":
        array = numpy.fromfile(path, dtype="u1")
        assert array.shape == (samples * size,), array.shape
    elif form == "npy":
        array = numpy.load(path)
        assert array.shape == shape and array.dtype == "u1", (array.shape, array.dtype)
    else:
        with zipfile.ZipFile(path) as z:
            assert z.testzip() is None
            assert z.namelist() == ["x.npy", "y.npy"], z.namelist()
        loaded = numpy.load(path)
        array, labels = loaded["x"], loaded["y"]
        assert array.shape == shape and array.dtype == "u1", (array.shape, array.dtype)
        assert labels.shape == (samples,) and labels.dtype == "i8" and not labels.any(), labels
    check_ids(array, samples, size)


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder] + sys.argv[2:], check=True)
    files = sorted(n for n in os.listdir(folder) if n.split("-")[0] in ("raw", "npy", "npz"))
    assert files
    for name in files:
        try:
            check(os.path.join(folder, name))
        except Exception as e:
            sys.exit(f"{name}: {type(e).__name__}: {e}")
    print(f"{len(files)} files read by numpy {numpy.__version__}")
