# SPDX-License-Identifier: Apache-2.0
"""Requests across the end of a warm-up, on sim:// with latencies beside which the window is long or short: GB/s times the time is
the bytes, and what the store is, in the text, CSV, JSON, /summary and the page."""
import csv
import io

import h5py

from haultest import *

BLOCK, WINDOW, WARMUP = 1 << 20, 1.0, 0.3


def truth(latency, threads):
    return threads * BLOCK / latency


def measured(folder, latency, threads, operation):
    """(output, seconds, bytes, bytes per second, what the rate may be off by its last digit) as each output has them."""
    write_job(folder, {
        "name": "window", "stores": {"data": {"uri": "sim://x", "latency": f"{latency * 1e6:.0f} us"}},
        "phases": [{"io": {"operation": operation, "objects": 1, "size": "1 GiB", "block": BLOCK, "layout": "segmented", "passes": 0,
                           "threads": threads, "warmup": WARMUP, "seconds": WINDOW}}]})
    r = mpi(1, "run", "job.json", "--force", cwd=folder)
    check(r.rc == 0, f"{r}")
    path = f"{folder}/results.h5"
    phase = report(path)["phases"][0]
    moved = phase["bytes_read"] + phase["bytes_written"]
    yield "JSON", phase["seconds"], moved, phase["rates"]["bytes_per_second"]
    near(phase["wall_seconds"], WARMUP + phase["seconds"], 0.2 + machine_took_s(folder, phase), "the whole phase")
    over_time = phase["timeline"][f"bytes_{'written' if operation == 'write' else 'read'}_per_second"]
    interval = phase["timeline"]["interval_s"]
    near(sum(over_time[:-1]) * interval + over_time[-1] * (phase["seconds"] - interval * (len(over_time) - 1)), moved, 0.001 * moved,
         "bytes over time")
    with h5py.File(path) as f:
        row = f["summary"][0]
        yield "/summary", row["seconds"], moved, row["GB_per_s"] * 1e9
    row = next(csv.DictReader(io.StringIO(alone("report", "--csv", path).out)))
    yield "CSV", float(row["seconds"]), int(row["bytes_read"]) + int(row["bytes_written"]), float(row["bytes_per_second"])
    text = alone("report", path).out
    seconds, rate = re.search(r"^io +([\d.]+) +([\d.]+) ", text, re.M).groups()
    yield "text", float(seconds), moved, float(rate) * 1e9, 0.5e9 * 10 ** -len(rate.partition(".")[2])
    check(alone("report", "--html", f"{folder}/page.html", path).rc == 0, "page")
    page = open(f"{folder}/page.html").read()
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1))
    shown = data["files"][0]["phases"][0]
    yield "page", shown["seconds"], shown["bytes_read"] + shown["bytes_written"], shown["rates"]["bytes_per_second"]


def holds(cases):
    for latency, threads, operation in cases:
        with Folder() as folder:
            for where, seconds, moved, rate, *digits in measured(folder, latency * WINDOW, threads, operation):
                wanted, off = truth(latency * WINDOW, threads), digits[0] if digits else 0
                # The text has two digits of the time.
                near(rate * seconds, moved, off * seconds + (0.05 if digits else 1e-6) * moved,
                     f"{where}: {latency} {threads} {operation}: rate * time")
                near(rate, wanted, 0.02 * wanted + off, f"{where}: {latency} {threads} {operation}: the store's rate")


@timing
def test_few():
    holds([(0.05, 4, "read"), (0.7, 16, "write"), (2, 1, "read")])


@long
@timing
def test_all():
    holds([(latency, threads, operation) for latency in (0.05, 0.2, 0.45, 0.9, 1.3, 2) for threads in (1, 4, 16)
           for operation in ("read", "write")])


main()
