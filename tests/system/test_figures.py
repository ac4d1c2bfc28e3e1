# SPDX-License-Identifier: Apache-2.0
"""Figures with one meaning: text, CSV, JSON, the page and /summary of one file say the same of each phase, in jobs of every
kind, with warm-ups, limits, errors, retries and several stores, together and in series; and a difference that is planted is
found."""
import contextlib
import csv
import io as texts
import itertools
import math
import re

import h5py

import test_load
from haultest import *
from test_object_dialects import KEYS, Handler, Store

MODEL = {"vocabulary": 64, "hidden": 32, "feed_forward": 64, "layers": 2, "heads": 2, "kv_heads": 2}
PLAIN = {"objects": 8, "size": "64 KiB", "block": "16 KiB"}
WHOLE = {**PLAIN, "block": "64 KiB"}
INDEX = {"store": "data", "vectors": 300, "dimension": 16, "degree": 8}


class FlakyHandler(Handler):
    def do_GET(self):
        if self.command == "GET" and next(self.server.gets) % 4 == 0:
            return self.say(503, b"<Error><Code>SlowDown</Code></Error>")
        return super().do_GET()


@contextlib.contextmanager
def flaky_server():
    """An object store that asks to slow down at every fourth read."""
    server = Store(lambda answer: (200, answer))
    server.RequestHandlerClass, server.gets = FlakyHandler, itertools.count()
    try:
        yield server
    finally:
        server.shutdown()


def trace(folder):
    """Twenty entries that are written and read twice."""
    path = f"{folder}/trace.csv"
    with open(path, "w") as f:
        f.write("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n")
        for i in range(60):
            f.write(f"{i / 100:.2f},{'Write' if i < 20 else 'Read'},65536,Tier-2,k{i % 20},Decode\n")
    return path


def every_kind(folder):
    """Phases of every kind on three stores: one that keeps files, one in memory, and one that fails now and then."""
    return {
        "name": "figures", "seed": 5,
        "stores": {"data": {"uri": f"file://{folder}/data"}, "memory": {"uri": "mem://"},
                   "flaky": {"uri": "sim://flaky", "failure_rate": 0.2}},
        "dataset": {"store": "data", "format": "npz", "files": 32, "sample_bytes": 20000},
        "phases": [
            {"generate": {}},
            {"train": {"epochs": 2, "batch": 2, "compute": "2 ms", "null_steps": 0, "target_au": 0.5}},
            {"io": {"name": "put", "store": "memory", "operation": "write", **PLAIN}},
            {"io": {"name": "get", "store": "memory", "operation": "read", **PLAIN, "passes": 100000, "rate": 400, "warmup": 0.5,
                    "seconds": 1.3}},
            {"io": {"name": "mixed", "store": "memory", "operation": "mixed", "read_share": 0.5, **PLAIN}},
            {"io": {"name": "stats", "store": "memory", "operation": "stat", **PLAIN}},
            {"io": {"name": "flaky", "store": "flaky", "operation": "read", "on_error": "count", **PLAIN}},
            {"io": {"name": "cold", "store": "memory", "operation": "read", **PLAIN, "rate": 1000, "warmup": 60}},
            {"checkpoint": {"store": "data", "count": 2, "chunk": "64 KiB", "buffers": "512 KiB", "model": MODEL}},
            {"kvcache": {"model": "tiny-1b", "tiers": [{"name": "store", "store": "data"}], "users": 2, "duration": 600, "requests": 2, "chunk": "64 KiB"}},
        ],
    }


def more_kinds(folder, server):
    """The other kinds; a store that asks to slow down; phases that run together, and alone for comparison."""
    test_load.make_model(f"{folder}/data/model")
    return {
        "name": "more", "seed": 5,
        "stores": {"data": {"uri": f"file://{folder}/data"}, "memory": {"uri": "mem://"},
                   "slow": {"uri": "s3://b/x", "endpoints": server.endpoint(), "retry": {"first": "1 ms", "longest": "5 ms"},
                            "eject_failures": 0}},
        "phases": [
            {"load": {"store": "data", "folder": "model", "chunk": "8 KiB", "buffers": "64 KiB", "count": 2}},
            {"replay": {"store": "memory", "trace": trace(folder), "speed": 0}},
            {"vector": {"name": "build", "operation": "build", **INDEX}},
            {"vector": {"name": "search", "operation": "search", "count": 100, "list": 20, **INDEX}},
            {"io": {"name": "sent", "store": "slow", "operation": "write", **WHOLE}},
            {"io": {"name": "retried", "store": "slow", "operation": "read", **WHOLE}},
            {"io": {"name": "gone", "store": "slow", "operation": "delete", **WHOLE}},
            {"together": [{"io": {"name": "one", "store": "memory", "operation": "write", "ranks": "0", **PLAIN}},
                          {"io": {"name": "two", "store": "data", "operation": "write", "ranks": "1", **PLAIN}}], "alone": True},
        ],
    }


def run(folder, job, *args, ranks=2):
    write_job(folder, job)
    r = mpi(ranks, "run", "job.json", "--quiet", *args, cwd=folder, env=KEYS)
    check(r.rc in (0, 8), f"{r}")
    return f"{folder}/results.h5"


UNITS = {"": 1, "%": 1, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}


def number(cell):
    """A number of a table, in ns where it is a time, and half of its last digit."""
    digits, unit = re.fullmatch(r"(–|[0-9.,]+) ?(.*)", cell).groups()
    if digits == "–":
        return math.nan, 0
    digits = digits.replace(",", "")
    places = len(digits.split(".")[1]) if "." in digits else 0
    return float(digits) * UNITS[unit], 0.5000001 * 10 ** -places * UNITS[unit]


def cells(text, first, heading, nth=0):
    """The cells of a column of the table whose heading begins so: rows, with the number of each. Numbers end where the heading
    does."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith(f"{first} ") and re.search(rf" {heading}( |$)", line)), None)
    if at is None:
        return []
    ends = [m.end() for m in re.finditer(rf" {heading}(?= |$)", lines[at])]
    found = []
    for line in lines[at + 1:]:
        if not line.strip() or line.startswith("first, last"):
            break
        cell = re.search(r"(–|[0-9.,]+( (%|ns|us|ms|s|min))?)$", line[:ends[nth]])
        if cell:
            found.append((line, *number(cell[0])))
    return found


FIGURES = {"au": "au", "bytes": "bytes_per_second", "operations": "operations_per_second", "items": "samples_per_second",
           "written": "bytes_written_per_second", "read": "bytes_read_per_second",
           "written as MLPerf": "bytes_written_per_second_mlperf", "read as MLPerf": "bytes_read_per_second_mlperf", "p99": "p99_ns"}
COUNTS = ("seconds", "errors", "retries", "operations", "bytes_read", "bytes_written")


def exact(value):
    return (math.nan if value in (None, "") else float(value), 0)


def name_in_text(phase, runs):
    return (f"{phase['run']} " if runs > 1 else "") + phase["name"] + (", alone" if (phase["together"] or {}).get("alone") else "")


def said_by_text(path, phases):
    text = alone("report", path).out
    runs = max(p["run"] for p in phases)
    first = "run, phase" if runs > 1 else "phase"
    items = re.search(rf"^{first} .* ([a-z]+/s) ", text, re.M)
    columns = {"au": (cells(text, first, "AU"), 1e-2), "bytes": (cells(text, first, "GB/s"), 1e9),
               "items": (cells(text, first, items[1]) if items else [], 1),
               "p99": (cells(text, first, "p99"), 1), "seconds": (cells(text, first, "seconds"), 1),
               "errors": (cells(text, first, "errors"), 1), "operations": (cells(text, "plain I/O", "last", 1), 1),
               "written": (cells(text, "checkpoints, models", "written"), 1e9),
               "read": (cells(text, "checkpoints, models", "read"), 1e9),
               "written as MLPerf": (cells(text, "checkpoints, models", "MLPerf written"), 1e9),
               "read as MLPerf": (cells(text, "checkpoints, models", "MLPerf read"), 1e9)}
    said = []
    for p in phases:
        said.append({})
        for name, (column, factor) in columns.items():
            for line, value, off in column:
                if line.strip().startswith(name_in_text(p, runs) + " "):
                    said[-1][name] = (value * factor, off * factor)
    check(all("bytes" in figures for figures in said), f"{said}\n{text}")
    return said


def said_by(path):
    """What each output says: a list of phases, each with figures that have a value and what it may be off by rounding."""
    page = f"{path}.html"
    r = alone("report", "--html", page, path)
    check(r.rc == 0, f"{r}")
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', open(page).read(), re.S).group(1))
    rows = list(csv.DictReader(texts.StringIO(alone("report", "--csv", path).out)))
    with h5py.File(path) as f:
        summary = f["summary"][:]
    said = {}
    for which, phases in (("json", report(path)["phases"]), ("page", data["files"][0]["phases"])):
        said[which] = [{**{name: exact(p["rates"][key]) for name, key in FIGURES.items()}, **{f"n {key}": exact(p[key]) for key in COUNTS}}
                       for p in phases]
    said["csv"] = [{**{name: exact(row[key]) for name, key in FIGURES.items()}, **{f"n {key}": exact(row[key]) for key in COUNTS}}
                   for row in rows]
    said["summary"] = [{"au": exact(row["au"]), "bytes": exact(row["GB_per_s"] * 1e9), "operations": exact(row["operations_per_s"]),
                        "p99": exact(row["p99_ms"] * 1e6), "n errors": exact(row["errors"]), "n seconds": exact(row["seconds"])}
                       for row in summary]
    said["text"] = [{{"seconds": "n seconds", "errors": "n errors"}.get(name, name): value for name, value in one.items()}
                    for one in said_by_text(path, report(path)["phases"])]
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
                # A column of the text is left out, or empty, where no phase has an error.
                nothing = math.isnan(value) and (math.isnan(right) or (output == "text" and name == "n errors" and right == 0))
                if not near and not nothing:
                    found.append(f"phase {i}: {name} is {value} in {output}, {right} in JSON")
    return found


def agree(path, phases):
    """All outputs say the same; and of each output each figure is looked at: another one is found, where it differs by 1 %, or
    by more than what the text rounds away."""
    said = said_by(path)
    check(len(said["json"]) == phases, f"{len(said['json'])} phases")
    check(not differences(said), "\n".join(differences(said)))
    for output, ones in said.items():
        for name in {name for one in ones for name in one}:
            one = next((one for one in ones if not math.isnan(one.get(name, (math.nan,))[0])), None)
            if one is None:
                continue
            value, off = one[name]
            one[name] = (value * 1.01 + 2 * off if value else 1 + 2 * off, off)
            check(any(f": {name} is" in line for line in differences(said)), f"{output}: another {name} is not found")
            one[name] = (value, off)
    return said


def known(said, name):
    """The phases of which a figure is known."""
    return [i for i, one in enumerate(said["json"]) if not math.isnan(one[name][0])]


def test_outputs_agree():
    with Folder() as folder:
        job = every_kind(folder)
        said = agree(run(folder, job), len(job["phases"]))
        for output, names in {"text": [*FIGURES, "n seconds", "n errors"], "csv": [*FIGURES, *(f"n {key}" for key in COUNTS)]}.items():
            for name in names:
                check(any(not math.isnan(one.get(name, (math.nan,))[0]) for one in said[output]), f"no phase has {name} in {output}")


def test_more_outputs_agree():
    """Where no bytes are moved there is no rate of them, in no output."""
    with Folder() as folder, flaky_server() as server:
        path = run(folder, more_kinds(folder, server))
        said = agree(path, 11)
        phases = report(path)["phases"]
        names = [p["name"] for p in phases]
        check(names == ["load", "replay", "build", "search", "sent", "retried", "gone", "one", "two", "one", "two"], f"{names}")
        check(phases[5]["retries"] >= 5 and phases[5]["errors"] == 0, f"{phases[5]['retries']} retries")
        check(6 not in known(said, "bytes") and 6 in known(said, "operations"), f"{said['json'][6]}")
        rates = {key: value for key, value in phases[6]["figures"].items() if key.startswith("bytes_rate")}
        check(rates and set(rates.values()) == {None}, f"{rates}")
        text = alone("report", path).out
        check(not re.search(r"\b0 [kMG]?B/s", text), text)


def test_series_agree():
    """Of a series, each run; and its means in text, JSON and page."""
    with Folder() as folder:
        job = {**every_kind(folder), "dataset": None, "phases": every_kind(folder)["phases"][2:3]}
        del job["dataset"]
        path = run(folder, job, "--repeat", 3, "--sweep", "put.threads=1,2")
        agree(path, 6)


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
        check(m["warmup_operations"] > 0 and get["wall_seconds"] > 1.7, f"{get['wall_seconds']} s, {m}")
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


def test_a_listing_is_told_by_its_objects():
    with Folder() as folder:
        write_job(folder, {"name": "list", "stores": {"data": {"uri": f"file://{folder}/data"}},
                           "phases": [{"io": {"name": name, "operation": name, "objects": 300}} for name in ("create", "list")]})
        r = mpi(2, "run", "job.json", cwd=folder)
        listing = report(f"{folder}/results.h5")["phases"][1]
        check(r.rc == 0 and re.search(r"list: did [\d,]+ entries per second", r.out), f"{r}")
        entries = listing["measures"]["entries"]
        check(entries == 2 * 600 and abs(listing["rates"]["samples_per_second"] * listing["seconds"] - entries) < 1e-6 * entries,
              f"{listing['rates']} {listing['measures']}")


def test_checkpoints_are_no_warmup():
    """AU leaves checkpoints out, and so does the sentence about the warm-up: what the accelerators did is told beside what is left out."""
    with Folder() as folder:
        write_job(folder, {"name": "saved", "stores": {"data": {"uri": "sim://x", "rank_bandwidth": "60 MB/s"}},
                           "dataset": {"store": "data", "format": "raw", "files": 60, "sample_bytes": 4096},
                           "phases": [{"train": {"batch": 1, "compute": "10 ms", "null_steps": 0, "warmup_steps": 1, "verify": "none",
                                                 "checkpoint": {"every_steps": 10, "model": {"bytes": 60_000_000}}}}]})
        r = mpi(1, "run", "job.json", cwd=folder)
        phase = next(p for p in report(f"{folder}/results.h5")["phases"] if p["kind"] == "train")
        took = sum(phase["accounts"][key] for key in ("compute", "storage", "ranks", "haul", "checkpoint"))
        share = round(100 * phase["accounts"]["checkpoint"] / took)
        check(r.rc == 0 and share > 60, f"{r} {phase['accounts']}")
        said = re.search(r"busy [\d.]+ % of the time without\s+checkpoints,\s+which\s+took\s+(\d+) % of\s+the\s+phase", r.out)
        check(said and abs(int(said.group(1)) - share) <= 1, f"{r}")
        # One step of 60 is; a busy machine may start its threads late. Were checkpoints warm-up, they would be more than all the rest.
        warm = [int(share) for share in re.findall(r"([\d.]+) % of it is warm-up", " ".join(r.out.split()))]
        check("warm-up" not in r.out.replace("of it is warm-up", "") and all(w <= 101 - share for w in warm), f"{r}")
        late = any(2 * w >= 100 - share for w in warm)
        check(late or all(d["doubt"] != "warmup" for d in phase.get("doubts", [])), f"{phase.get('doubts')}")


def test_a_phase_within_its_warmup_counts_nothing():
    with Folder() as folder:
        path = run(folder, every_kind(folder), "--only", "put", "--only", "cold")
        cold = next(p for p in report(path)["phases"] if p["name"] == "cold")
        check(cold["rates"]["bytes_per_second"] is None and cold["bytes_read"] == 0 and cold["operations"] == 0, f"{cold['rates']}")
        check(not cold["latency_ns"], f"{cold['latency_ns']}")
        check("ended within its warm-up" in cold["said"], cold["said"])


if __name__ == "__main__":
    main()
