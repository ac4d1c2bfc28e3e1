# SPDX-License-Identifier: Apache-2.0
"""Reports of old results files: haul report gives for a file of schema version 2 the same values as the haul that wrote it, in
every key of JSON, every column of CSV and the text. A file of another version is refused. Argument: the folder of the
fixtures."""
import csv
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import h5py

HAUL = os.environ["HAUL"]


def report(path, *options):
    r = subprocess.run([HAUL, "report", *options, os.path.basename(path)], cwd=os.path.dirname(path), text=True,
                       capture_output=True, timeout=60)
    assert r.returncode == 0, r
    return r.stdout


def same(old, new, where):
    """Compares with a tolerance, because numbers are printed with more digits today."""
    if isinstance(old, dict):
        for key in old:
            assert key in new, f"{where}/{key} is missing"
            same(old[key], new[key], f"{where}/{key}")
    elif isinstance(old, list):
        assert len(old) == len(new), f"{where}: {len(old)} items then, {len(new)} now"
        for i, (x, y) in enumerate(zip(old, new)):
            same(x, y, f"{where}/{i}")
    elif isinstance(old, float) or isinstance(new, float):
        assert math.isclose(old, new, rel_tol=1e-13), f"{where}: {old} then, {new} now"
    else:
        assert old == new, f"{where}: {old!r} then, {new!r} now"


def check_json(folder):
    with open(os.path.join(folder, "version_2.json")) as f:
        new = json.loads(report(os.path.join(folder, "version_2.h5"), "--json"))
        same(json.load(f), new, "")
        assert new["own_seconds"] is None, new["own_seconds"]


def check_csv(folder):
    with open(os.path.join(folder, "version_2.csv")) as f:
        old = list(csv.DictReader(f))
    new = list(csv.DictReader(io.StringIO(report(os.path.join(folder, "version_2.h5"), "--csv"))))
    assert len(old) == len(new)
    for x, y in zip(old, new):
        same(x, {key: y.get(key) for key in x}, x["phase"])


def check_text(folder):
    """Compares the whole page word by word, since lines may break at other words."""
    with open(os.path.join(folder, "version_2.txt")) as f:
        old = " ".join(f.read().split())
    new = " ".join(report(os.path.join(folder, "version_2.h5")).split())
    assert old == new, f"then: {old}\nnow:  {new}"


def check_other_versions(folder):
    with tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "r.h5")
        shutil.copy(os.path.join(folder, "version_2.h5"), path)
        for version in (0, 1, 3):
            with h5py.File(path, "r+") as f:
                f.attrs["schema_version"] = version
            r = subprocess.run([HAUL, "report", path], text=True, capture_output=True, timeout=60)
            assert r.returncode == 2, r
            sentence = f"is not a results file of haul: its schema is version {version}; this haul reads version 2 only"
            assert sentence in r.stderr, r


for check in (check_json, check_csv, check_text, check_other_versions):
    check(sys.argv[1])
    print("ok   ", check.__name__)
