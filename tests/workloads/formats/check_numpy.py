# SPDX-License-Identifier: Apache-2.0
"""Files of raw, npy and npz: numpy and zipfile read the files that write_files made, with the right shapes, labels,
checksums, ids and bytes.

check_numpy.py WRITE_FILES [BYTES]: with BYTES, only one npz file of that size."""
import os
import sys
import zipfile

from written import each_file, need, numbers, payload

numpy, = need("numpy")
BLOCK, PATCH = 64 << 10, 4  # npz: four bytes of each block restore the CRC, see workloads/formats/npz.c


def patched(wrong, samples, size):
    """Checks the positions where an npz differs from the stream: at most four bytes per block, outside the ids."""
    blocks = -(-samples * size // BLOCK)
    assert len(wrong) <= PATCH * blocks, len(wrong)
    assert size < 8 or (wrong % size >= 8).all(), wrong
    for block in numpy.unique(wrong // BLOCK):
        here = wrong[wrong // BLOCK == block]
        assert here[-1] - here[0] < PATCH or block + 2 >= blocks, here


def check_values(array, samples, size, form):
    want = payload(samples, size)
    if form == "npz" and 8 <= size < 8 + PATCH:
        want[:, 8:] = 0  # there is no space for both the id and the patch
    wrong = numpy.flatnonzero(array.reshape(samples, size) != want)
    if form == "npz" and samples * size >= PATCH:
        patched(wrong, samples, size)
    else:
        assert not len(wrong), wrong


def check(path):
    form = os.path.basename(path).split("-")[0]
    samples, size = numbers(path)
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
    check_values(array, samples, size, form)


if sys.argv[2:]:
    each_file(check, "npz", 1, sys.argv[2])
else:
    for form in ("raw", "npy", "npz"):
        each_file(check, form, 100)
