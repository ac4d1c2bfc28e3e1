"""A results file of version 1 is reported as it was then: every key of JSON and every column of CSV has the value that
the version of its time gave, and the text tells the same figures. Arguments: the folder of the fixtures."""
import csv
import io
import json
import math
import os
import subprocess
import sys

HAUL = os.environ["HAUL"]


def report(path, *options):
    r = subprocess.run([HAUL, "report", *options, os.path.basename(path)], cwd=os.path.dirname(path), text=True,
                       capture_output=True, timeout=60)
    assert r.returncode == 0, r
    return r.stdout


def same(old, new, where):
    """Numbers are printed with more digits today."""
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
    with open(os.path.join(folder, "version_1.json")) as f:
        same(json.load(f), json.loads(report(os.path.join(folder, "version_1.h5"), "--json")), "")


def check_csv(folder):
    with open(os.path.join(folder, "version_1.csv")) as f:
        old = list(csv.DictReader(f))
    new = list(csv.DictReader(io.StringIO(report(os.path.join(folder, "version_1.h5"), "--csv"))))
    assert len(old) == len(new)
    for x, y in zip(old, new):
        same(x, {key: y.get(key) for key in x}, x["phase"])


def check_text(folder):
    text = report(os.path.join(folder, "version_1.h5"))
    words = " ".join(text.split())
    for part in ("version_1 · 2 ranks on 2 nodes · 1.42 s · done",
                 "The accelerators were busy 97.5 % of the time; the target of 99.99 % is missed.",
                 "7.8 % was lost: 0.4 % waiting for storage (queue 0.2, open 0.1, transfer 0.1), 6.5 % for the slowest rank",
                 "haul's threads waited 26 ms per second for a core", "lost: 6 requests failed; the first:"):
        assert part in words, f"{part!r} is not in\n{text}"
    rows = [line.split() for line in text.splitlines()]
    for row in ("train 0.17 97.5 % 0.022 551 6.56 us 362 us 362 us 363 us 0", "lost 0.01 – 0.068 – – – – – 6",
                "get 0.02 – 0.0053 – 2.11 ms 10.8 ms 10.8 ms 10.8 ms 0",
                "put write 0.0026 0.0024 157 148 5.34 ms 12.2 ms 12.2 ms 12.2 ms"):
        assert row.split() in rows, f"{row!r} is not in\n{text}"


for check in (check_json, check_csv, check_text):
    check(sys.argv[1])
    print("ok   ", check.__name__)
