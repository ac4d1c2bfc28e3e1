# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile results files: an object or attribute is missing, has another type or shape, or has millions of rows.
haul report reads such a file or refuses it with a sentence. It never crashes, and allocates no memory for data that a file
only claims to have. The test runs a part of the cases, and with HAUL_TEST_FULL=1 all of them. The argument: a program that
writes a results file, or an old results file."""
import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

HAUL, MANY = os.environ["HAUL"], 4_000_000
FULL = os.environ.get("HAUL_TEST_FULL") == "1"
# Runs one of 97 changes and one of 13 data sets that grow, to save time.
EVERY, EVERY_GROWN = (1, 1) if FULL else (97, 13)
SHAPES = ("--json", "--csv", None)
next_shape = itertools.cycle(SHAPES)
LIMITED = not int(os.environ.get("HAUL_SANITIZED", "0"))


def limit_memory():
    if LIMITED:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def report(path, what, shapes=SHAPES):
    for shape in shapes:
        r = subprocess.run([HAUL, "report", path] + ([shape] if shape else []), capture_output=True, timeout=60,
                           preexec_fn=limit_memory)
        assert r.returncode in (0, 1, 2), f"{what}: report {shape} ended with {r.returncode}: {r.stderr.decode()[:500]}"
        assert r.returncode == 0 or r.stderr.startswith(b"haul: "), f"{what}: {r}"
    return r.returncode, r.stderr.decode()


def names_of(path):
    """All data sets, groups and attributes, but of the histograms and tables only one each, since they are alike."""
    objects, attributes, seen = [], [], set()

    def visit(name, item):
        parts = name.split("/")
        if "histograms" in parts and len(parts) > 3:
            like = "/".join(parts[:3] + ["x"] + parts[4:])
            if like in seen:
                return
            seen.add(like)
        objects.append(name)
        attributes.extend((name, a) for a in item.attrs)

    with h5py.File(path, "r") as f:
        attributes.extend(("/", a) for a in f.attrs)
        f.visititems(visit)
    return objects, attributes


def changed(source, change, what):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.h5")
        shutil.copy(source, path)
        with h5py.File(path, "r+") as f:
            if change(f) is False:
                return None
        assert os.path.getsize(path) < 100 << 20, what
        return report(path, what, (next(next_shape),))


def replace(name, value, **options):
    def change(f):
        old = f[name].attrs.items() if isinstance(f[name], h5py.Dataset) else []
        old = [(k, v) for k, v in old]
        del f[name]
        d = f.create_dataset(name, data=value, **options)
        for k, v in old:
            d.attrs[k] = v
    return change


def grow(name):
    """The same data set with millions of rows, which take no space on disk."""
    def change(f):
        if not isinstance(f[name], h5py.Dataset) or f[name].ndim == 0:
            return False
        old, attrs = f[name], [(k, v) for k, v in f[name].attrs.items()]
        shape, kind = (MANY,) + old.shape[1:], old.dtype
        del f[name]
        d = f.create_dataset(name, shape=shape, dtype=kind, chunks=(1024,) + shape[1:])
        for k, v in attrs:
            d.attrs[k] = v
    return change


def drop(name):
    def change(f):
        del f[name]
    return change


def drop_attribute(name, attribute):
    def change(f):
        del f[name].attrs[attribute]
    return change


def set_attribute(name, attribute, value):
    def change(f):
        del f[name].attrs[attribute]
        f[name].attrs[attribute] = value
    return change


def mutations(objects, attributes):
    for name in objects:
        yield drop(name), f"without {name}"
        for value in (numpy.arange(6.0).reshape(1, 2, 3), numpy.float64(7), numpy.array([b"text"] * 3),
                      numpy.array([-1, 2 ** 62])):
            yield replace(name, value), f"{name} as {value.dtype}{value.shape}"
    for name, attribute in attributes:
        yield drop_attribute(name, attribute), f"{name} without {attribute}"
        for value in (2 ** 63, -1.5, "x" * 300, numpy.zeros(100), [b"a", b"b"]):
            yield set_attribute(name, attribute, value), f"{attribute} of {name} = {value!r:.40}"


def check(source):
    objects, attributes = names_of(source)
    refused = 0
    for change, what in list(mutations(objects, attributes))[::EVERY]:
        changed(source, change, what)
    for name in objects[::EVERY_GROWN]:
        r = changed(source, grow(name), f"{name} with {MANY} rows")
        # Every data set that haul reads has a limit. Edges and copies for plots are not read.
        if r and r[0]:
            refused += 1
            assert "at most" in r[1] or "larger than" in r[1] or "rows" in r[1] or "not fit" in r[1] or \
                "of different lengths" in r[1] or "names for" in r[1], f"{name}: {r[1]}"
    assert refused > (10 if FULL else 0), f"only {refused} data sets with millions of rows are refused"


def flatten(path, to):
    """The same results in one file, without side files."""
    shutil.copy(path, to)
    with h5py.File(path, "r") as f, h5py.File(to, "r+") as whole:
        for name in f["phases"]:
            del whole["phases"][name]
            f.copy(f["phases"][name], whole["phases"], name)


def check_links(path):
    """A phase is looked for beside the file and nowhere else."""
    made = os.path.dirname(path)
    with h5py.File(path, "r") as f:
        side = f["phases"].get("0_generate", getlink=True).filename
    with open(path + ".runs/text.h5", "w") as f:
        f.write("not HDF5")
    os.mkdir(path + ".runs/folder.h5")
    os.mkfifo(path + ".runs/pipe.h5")
    shutil.copy(os.path.join(made, side), os.path.join(made, "outside.h5"))
    inner = "r.h5.runs/"
    for link, sentence in ((os.path.join(made, side), "which is no side file"), ("../" + side, "which is no side file"),
                           ("outside.h5", "which is no side file"), (inner + "../outside.h5", "which is no side file"),
                           ("../outside.h5", "which is no side file"), ("./outside.h5", "which is no side file"),
                           (inner, "which is no side file"),
                           (inner + "text.h5", "cannot be opened"), (inner + "folder.h5", "is not a regular file"),
                           (inner + "pipe.h5", "is not a regular file")):
        changed_path = os.path.join(made, "linked.h5")
        shutil.copy(path, changed_path)
        with h5py.File(changed_path, "r+") as f:
            del f["phases/0_generate"]
            f["phases/0_generate"] = h5py.ExternalLink(link, "/phases/0_generate")
        code, said = report(changed_path, f"link to {link}")
        assert code == 2 and sentence in said, f"link to {link}: {said}"
    with h5py.File(changed_path, "r+") as f:
        del f["phases/0_generate"]
        f["phases/0_generate"] = h5py.SoftLink("/phases/1_train")
    code, said = report(changed_path, "a soft link")
    assert code == 2 and "it is a link to somewhere else" in said, said


def check_written(program):
    with tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "r.h5")
        subprocess.run([os.environ.get("HAUL_MPIEXEC", "mpiexec"), "-n", "2", program, path], check=True, timeout=100)
        assert report(path, "the unchanged file")[0] == 0
        check_links(path)
        whole = os.path.join(made, "whole.h5")
        flatten(path, whole)
        path = whole
        assert report(path, "the file in one piece")[0] == 0
        code, sentence = changed(path, grow("stores"), "stores with millions of rows")
        assert code == 2 and "stores has 4000000 rows; a results file has at most 65536" in sentence, sentence
        check(path)


(check if sys.argv[1].endswith(".h5") else check_written)(sys.argv[1])
