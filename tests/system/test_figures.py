# SPDX-License-Identifier: Apache-2.0
"""Figures with one meaning: text, CSV, JSON, the page and /summary of one file say the same of each phase, in jobs of every
kind, with warm-ups, limits, errors and several stores; and a difference that is planted is found."""
import csv
import io as texts
import math
import re

import h5py

from haultest import *

MODEL = {"vocabulary": 64, "hidden": 32, "feed_forward": 64, "layers": 2, "heads": 2, "kv_heads": 2}


def every_kind(folder):
    """Phases of every kind on three stores: one that keeps files, one in memory, and one that fails now and then."""
    plain = {"objects": 8, "size": "64 KiB", "block": "16 KiB"}
    return {
        "name": "figures", "seed": 5,
        "stores": {"data": {"uri": f"file://{folder}/data"}, "memory": {"uri": "mem://"},
                   "flaky": {"uri": "sim://flaky", "failure_rate": 0.2}},
        "dataset": {"store": "data", "format": "npz", "files": 32, "sample_bytes": 20000},
        "phases": [
            {"generate": {}},
            {"train": {"epochs": 2, "batch": 2, "compute": "2 ms", "null_steps": 0, "target_au": 0.5}},
            {"io": {"name": "put", "store": "memory", "operation": "write", **plain}},
            {"io": {"name": "get", "store": "memory", "operation": "read", **plain, "passes": 100000, "rate": 400, "warmup": 0.5,
                    "seconds": 1.3}},
            {"io": {"name": "stats", "store": "memory", "operation": "stat", **plain}},
            {"io": {"name": "flaky", "store": "flaky", "operation": "read", "on_error": "count", **plain}},
            {"io": {"name": "cold", "store": "memory", "operation": "read", **plain, "rate": 1000, "warmup": 60}},
            {"checkpoint": {"store": "data", "count": 2, "chunk": "64 KiB", "buffers": "512 KiB", "model": MODEL}},
            {"kvcache": {"model": "tiny-1b", "tiers": [{"name": "store", "store": "data"}], "users": 2, "duration": 1, "chunk": "64 KiB"}},
        ],
    }


def run(folder, job, *args, ranks=2):
    write_job(folder, job)
    r = mpi(ranks, "run", "job.json", "--quiet", *args, cwd=folder)
    check(r.rc in (0, 8), f"{r}")
    return f"{folder}/results.h5"


def number(cell):
    """A number of a table, and half of its last digit."""
    if cell == "–":
        return math.nan, 0
    digits = cell.replace(",", "").split()[0]
    places = len(digits.split(".")[1]) if "." in digits else 0
    return float(digits), 0.5000001 * 10 ** -places


def cells(text, first, heading, nth=0):
    """The cells of a column of the table whose heading begins so, by what stands first in their rows. Figures end where the
    heading does."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if re.match(rf"{first}  ", line) and heading in line), None)
    if at is None:
        return {}
    ends = [m.end() for m in re.finditer(rf"{heading}(?= |$)", lines[at])]
    found = {}
    for line in lines[at + 1:]:
        if not line.strip() or line.startswith("first, last"):
            break
        found[line.split()[0]] = line[:ends[nth]].removesuffix(" %").split()[-1]
    return found


def said_by(path):
    """What each output says: a list of phases, each with figures that have a value and what it may be off by rounding."""
    text = alone("report", path).out
    page = f"{path}.html"
    r = alone("report", "--html", page, path)
    check(r.rc == 0, f"{r}")
    made = open(page).read()
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', made, re.S).group(1))
    rows = list(csv.DictReader(texts.StringIO(alone("report", "--csv", path).out)))
    with h5py.File(path) as f:
        summary = f["summary"][:]
    exact = lambda value: (math.nan if value in (None, "") else float(value), 0)
    said = {"json": [], "page": [], "csv": [], "summary": [], "text": []}
    for which, phases in (("json", report(path)["phases"]), ("page", data["files"][0]["phases"])):
        said[which] = [{"au": exact(p["rates"]["au"]), "bytes": exact(p["rates"]["bytes_per_second"]),
                        "operations": exact(p["rates"]["operations_per_second"]), "items": exact(p["rates"]["samples_per_second"]),
                        "written": exact(p["rates"]["bytes_written_per_second"]), "read": exact(p["rates"]["bytes_read_per_second"]),
                        "p99": exact(p["rates"]["p99_ns"]), "errors": exact(p["errors"]), "count": exact(p["operations"])}
                       for p in phases]
    said["csv"] = [{"au": exact(row["au"]), "bytes": exact(row["bytes_per_second"]), "operations": exact(row["operations_per_second"]),
                    "items": exact(row["samples_per_second"]), "p99": exact(row["p99_ns"]), "written": exact(row["bytes_written_per_second"]),
                    "read": exact(row["bytes_read_per_second"]), "errors": exact(row["errors"]),
                    "count": exact(row["operations"])} for row in rows]
    said["summary"] = [{"au": exact(row["au"]), "bytes": exact(row["GB_per_s"] * 1e9), "operations": exact(row["operations_per_s"]),
                        "p99": exact(row["p99_ms"] * 1e6), "errors": exact(row["errors"])} for row in summary]
    columns = {"au": (cells(text, "phase", "AU"), 1e-2), "bytes": (cells(text, "phase", "GB/s"), 1e9),
               "operations": (cells(text, "plain I/O", "last", 1), 1), "written": (cells(text, "checkpoints, models", "written"), 1e9),
               "read": (cells(text, "checkpoints, models", "read"), 1e9)}
    said["text"] = [{} for p in said["json"]]
    for i, p in enumerate(report(path)["phases"]):
        for name, (column, factor) in columns.items():
            if p["name"] in column:
                value, off = number(column[p["name"]])
                said["text"][i][name] = (value * factor, off * factor)
    check(all("bytes" in figures for figures in said["text"]), f"{said['text']}\n{text}")
    return said


def differences(said):
    """Figures that an output tells otherwise than JSON."""
    found = []
    for output, phases in said.items():
        if len(phases) != len(said["json"]):
            found.append(f"{output} has {len(phases)} phases, JSON {len(said['json'])}")
        for i, (one, wanted) in enumerate(zip(phases, said["json"])):
            for name, (value, off) in one.items():
                right = wanted[name][0]
                near = abs(value - right) <= off + 1e-6 * abs(right)
                # The text shows nothing where no byte was moved.
                nothing = math.isnan(value) and (math.isnan(right) or (output == "text" and right == 0))
                if not near and not nothing:
                    found.append(f"phase {i}: {name} is {value} in {output}, {right} in JSON")
    return found


def test_outputs_agree():
    with Folder() as folder:
        path = run(folder, every_kind(folder))
        said = said_by(path)
        check(len(said["json"]) >= 9, f"{len(said['json'])} phases")
        check(not differences(said), "\n".join(differences(said)))
        # In each output each of its figures is looked at.
        for output, phases in said.items():
            for name in {name for one in phases for name in one}:
                one = next(one for one in phases if not math.isnan(one.get(name, (math.nan,))[0]))
                value, off = one[name]
                one[name] = (value * 1.05 + 1 + 2 * off, off)
                check(any(f": {name} is" in line for line in differences(said)), f"{output}: another {name} is not found")
                one[name] = (value, off)


def at(value, path):
    for key in path.split("."):
        value = value[key]
    return value


def test_every_figure_is_where_the_table_says():
    with Folder() as folder:
        path = run(folder, every_kind(folder), "--only", "generate", "--only", "train", "--only", "put")
        shown = json.loads(alone("schema", "--results").out)["shown"]
        phases = report(path)["phases"]
        rows = list(csv.DictReader(texts.StringIO(alone("report", "--csv", path).out)))
        with h5py.File(path) as f:
            summary = f["summary"].dtype.names
        for figure in shown:
            places = []
            for phase in phases:
                try:
                    places.append(at(phase, figure["json"]))
                except (KeyError, TypeError):
                    pass
            check(places, f"no phase has {figure}")
            check(not figure["csv"] or figure["csv"] in rows[0], f"{figure}")
            check(not figure["summary"] or figure["summary"] in summary, f"{figure}")


def test_one_window():
    """The rates of a phase with warm-up are those of what comes after it, and so is what a timeline shows."""
    with Folder() as folder:
        path = run(folder, every_kind(folder), "--only", "put", "--only", "get")
        get = next(p for p in report(path)["phases"] if p["name"] == "get")
        m, t = get["measures"], get["timeline"]
        check(m["warmup_operations"] > 0 and get["seconds"] > 1.7, f"{get['seconds']} s, {m}")
        took = m["last_done_ns"] / 1e9
        check(abs(get["rates"]["operations_per_second"] * took - get["operations"]) < 1,
              f"{get['rates']}, {get['operations']} operations in {took} s")
        # A read may have ended, and its operation with its close not, when the time was over.
        check(abs(get["rates"]["bytes_per_second"] * took - get["bytes_read"]) <= 2 * 16384 + 1,
              f"{get['rates']}, {get['bytes_read']} bytes read in {took} s")
        spans = [t["interval_s"]] * (len(t["time_s"]) - 1) + [took - t["time_s"][-1]]
        for key, total in (("operations_per_second", get["operations"]), ("bytes_read_per_second", get["bytes_read"])):
            sums = sum(rate * span for rate, span in zip(t[key], spans))
            check(abs(sums - total) < 1e-3 * total, f"{key} of the timeline: {sums} of {total}, {t}")


def test_operations_are_what_was_asked_for():
    """Opens, closes and commits are a part of what they are for."""
    with Folder() as folder:
        path = run(folder, every_kind(folder))
        for p in report(path)["phases"]:
            m, t = p["measures"], p["timeline"]
            check(p["operations"] <= m["store_requests"] or p["kind"] == "kvcache", f"{p['name']}: {m}")
            if p["kind"] == "io":
                check(p["operations"] == m["done"], f"{p['name']}: {m}")
            if p["kind"] == "kvcache":
                check(p["operations"] == m["entry_reads"] + m["entry_writes"] + m["moves"] > 0, f"{m}")
            if p["kind"] in ("io", "kvcache") and t and len(t["time_s"]) == 1 and p["operations"]:
                took = m["last_done_ns"] / 1e9 if p["kind"] == "io" else p["seconds"]
                sums = t["operations_per_second"][0] * min(took, t["interval_s"])
                check(abs(sums - p["operations"]) < 1, f"{p['name']}: {sums} in the timeline, {p['operations']} counted")


def test_a_phase_within_its_warmup_counts_nothing():
    with Folder() as folder:
        path = run(folder, every_kind(folder), "--only", "put", "--only", "cold")
        cold = next(p for p in report(path)["phases"] if p["name"] == "cold")
        check(cold["rates"]["bytes_per_second"] is None and cold["bytes_read"] == 0 and cold["operations"] == 0, f"{cold['rates']}")
        check(not cold["latency_ns"], f"{cold['latency_ns']}")
        check("ended within its warm-up" in cold["said"], cold["said"])


main()
