# SPDX-License-Identifier: Apache-2.0
"""Helpers for the checks of data formats: the Python modules that they need, the files that write_files makes, and the bytes
of each sample, which are computed here a second time, with numpy, from the definition in core/content/fill.h."""
import importlib
import os
import subprocess
import sys
import tempfile


def need(*names):
    """Imports the modules. If one is missing, starts the script again with Debian's python3, which may be another one."""
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as e:
        if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
            os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B"] + sys.argv)
        sys.exit(f"{e.name} is not installed: packaging/install-packages.sh")


numpy, = need("numpy")
GOLDEN = 0x9E3779B97F4A7C15
SEED = 7  # as in write_files
FULL = os.environ.get("HAUL_TEST_FULL") == "1"  # checks all files, not only every third


def mix64(x):
    """splitmix64's finaliser, of an array of uint64."""
    x = (x ^ x >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return x ^ x >> numpy.uint64(31)


def word(x):
    return int(mix64(numpy.array([x % 2**64], dtype="u8"))[0])


def stream(samples, offset, length):
    """Bytes [offset, offset + length) of the payload's stream of the file with this number of samples."""
    key = word(word(SEED + GOLDEN) + (samples + 1) * GOLDEN)
    first, last = offset // 8, (offset + length + 7) // 8
    counters = numpy.arange(first + 1, last + 1, dtype="u8") * numpy.uint64(GOLDEN) + numpy.uint64(key)
    return mix64(counters).astype("<u8").view("u1")[offset - 8 * first:offset - 8 * first + length]


def payload(samples, size):
    """The bytes of the samples, one row each, which follow each other in the stream; with ids if they are long enough."""
    rows = stream(samples, 0, samples * size).reshape(samples, size).copy()
    if size >= 8:
        rows[:, :8] = (1000 * samples + numpy.arange(samples, dtype="<u8")).view("u1").reshape(samples, 8)
    return rows


def numbers(path):
    """(number of samples, bytes per sample), from the name of the file."""
    return tuple(int(n) for n in os.path.basename(path).split(".")[0].split("-")[1:])


def each_file(check, form, least, size=None):
    """Makes the files of a format, or one npz of that size, checks that there are `least` files or more, and calls
    check(path) for every third of them, or for all."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder, size or form], check=True)
        names = sorted(n for n in os.listdir(folder) if n.endswith(f".{form}"))
        assert len(names) >= least, names
        looked_at = names if FULL else names[::3]
        for name in looked_at:
            try:
                check(os.path.join(folder, name))
            except Exception:
                print(name)
                raise
        print(f"{len(looked_at)} of {len(names)} {form} files read")


# From the reference of splitmix64: its first outputs for seed 0 are the finalised multiples of the constant.
assert word(GOLDEN) == 0xE220A8397B1DCDAF and word(2 * GOLDEN) == 0x6E789E6AA1B965F4
