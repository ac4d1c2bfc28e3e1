# SPDX-License-Identifier: Apache-2.0
"""Results file as other tools read it, h5py, h5dump and h5wasm: names of columns, valid NXdata, and merged histograms that are the
sum of the ranks' rows. Argument: the program that writes a results file."""
import json
import os
import subprocess
import sys
import tempfile

import h5py
import numpy


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def check_nxdata(group):
    """Checks the rules of NeXus: the signal is a data set, and each axis has its length, or one more for edges."""
    assert text(group.attrs["NX_class"]) == "NXdata", group.name
    signal = group[text(group.attrs["signal"])]
    axes = [text(a) for a in group.attrs["axes"]]
    assert len(axes) == signal.ndim, group.name
    for i, name in enumerate(axes):
        assert group[name].ndim == 1 and len(group[name]) - signal.shape[i] in (0, 1), group.name
        assert numpy.all(numpy.diff(group[name][:].astype("f8")) > 0), f"the axis {name} does not increase"
    for name in group.attrs.get("auxiliary_signals", []):
        assert group[text(name)].shape == signal.shape, group.name


def check_hist(f, group, rows):
    check_nxdata(group)
    counts = group["counts"][:]
    assert counts.dtype == "u8" and counts.sum() == group.attrs["count"]
    assert counts[0] > 0 and counts[-1] > 0, "the histogram begins or ends with an empty bucket"
    first = int(group.attrs["first_bucket"])
    edges = f["histogram_edges_ns"][first:first + len(counts) + 1]
    assert (edges == group["edges_ns"][:]).all()
    if rows not in group:
        return
    by, edges = group[rows], group["row_edges_ns"][:]
    merged = numpy.zeros(len(edges) - 1, "u8")
    numpy.add.at(merged, numpy.searchsorted(edges, group["edges_ns"][:-1], "right") - 1, counts)
    assert by.dtype == "u4" and len(edges) == 593 and (edges == f["histogram_edges_ns"][::4]).all()
    assert (by[:].astype("u8").sum(axis=0) == merged).all(), "merged counts are not the rows' sum"


def check_tiers(group, ranks):
    rows = group["rows"][:]
    assert rows.dtype.names == ("tier", "hits", "first_ns", "most_bytes", "hits_doubled")
    assert [text(n) for n in group["names"]][:2] == ["shared", "tier 0"]
    assert len(rows) == min(ranks + 1, 4) and group["rows"].attrs.get("left_out", 0) == ranks + 1 - len(rows)
    assert (group["rows_by_rank"]["hits"].sum(axis=1) == rows["hits"]).all()
    assert [text(c) for c in group["answers"].attrs["columns"]] == ["tier", "answer", "times"]
    for name in ("get", "rough"):
        check_nxdata(group[name])
        assert (group[name]["counts"][:].sum(axis=1) == rows["hits"]).all(), name
    assert (group["get/max_ns"][:] == rows["most_bytes"]).all()


def check_over_nodes(client, nodes):
    """As numpy computes it from the rows of the nodes, which are so few here that none were folded."""
    rows, over = client["rows"][:].reshape(nodes, -1), client["over_nodes"]
    assert over.attrs["interval_s"] == client.attrs["interval_s"]
    at = {"sum": lambda v: v.sum(axis=0), "min": lambda v: v.min(axis=0), "max": lambda v: v.max(axis=0),
          "p50": lambda v: numpy.sort(v, axis=0)[(nodes - 1) // 2],
          "p95": lambda v: numpy.sort(v, axis=0)[(nodes * 95 + 99) // 100 - 1]}
    assert sorted(over) == sorted(at)
    for name, of in at.items():
        table = over[name][:]
        assert table.dtype.names == ("time_ns", "nodes") + rows.dtype.names[2:] and (table["nodes"] == nodes).all()
        assert (table["time_ns"] == rows["time_ns"][0]).all()
        for column in rows.dtype.names[2:]:
            assert (table[column] == of(rows[column])).all(), f"{name} of {column}"
    assert (over["sum"]["nic_in_bytes"] > over["max"]["nic_in_bytes"]).any()


def check_moved(path, folder):
    """A series is one file to whoever opens it, wherever its folder lies."""
    links = []
    with h5py.File(path, "r") as f:
        for name in f["phases"]:
            link = f["phases"].get(name, getlink=True)
            assert isinstance(link, h5py.ExternalLink) and not os.path.isabs(link.filename), name
            links.append(link.filename)
    assert len(set(links)) == 2 and sorted(os.listdir(folder)) == ["r:1.h5", "r:1.h5.runs"], os.listdir(folder)
    assert {os.path.join(folder, link) for link in links} == \
        {os.path.join(folder, "r:1.h5.runs", name) for name in os.listdir(path + ".runs")}
    moved = folder + ".moved"
    os.rename(folder, moved)
    try:
        there = os.path.join(moved, os.path.basename(path))
        with h5py.File(there, "r") as f:
            assert [len(f[f"phases/{name}/ranks"]) for name in f["phases"]]
        dump = subprocess.run(["h5dump", "-H", "-g", "/phases/1_train", there], capture_output=True, text=True)
        assert dump.returncode == 0 and "by_rank" in dump.stdout, dump.stderr
    finally:
        os.rename(moved, folder)


def check(path, ranks):
    with h5py.File(path, "r") as f:
        assert text(f.attrs["status"]) == "done" and f.attrs["schema_version"] == 2
        for name in ("haul_version", "build", "started", "finished", "error", "command_line", "name", "seconds",
                     "ranks", "nodes"):
            assert name in f.attrs, name
        assert text(f["job"][()]).startswith("{")
        summary = f["summary"][:]
        assert summary.dtype.names == ("phase", "kind", "seconds", "au", "GB_per_s", "operations_per_s", "p50_ms",
                                       "p95_ms", "p99_ms", "p999_ms", "p9999_ms", "max_ms", "errors", "run",
                                       "repeat", "warmup", "samples", "sweep")
        assert [text(k) for k in summary["kind"]] == ["generate", "train", "io"]
        assert abs(summary["au"][1] - 0.964) < 1e-9 and numpy.isnan(summary["au"][0])
        assert list(summary["run"]) == [1, 1, 3] and list(summary["repeat"]) == [1, 1, 1]
        assert list(summary["warmup"]) == [0, 0, 1] and f.attrs["runs"] == 6
        assert [text(s) for s in summary["sweep"]] == ["", "", "train.batch=4, train.compute=10 µs"]
        io = f["phases/2_io"].attrs
        assert io["run"] == 3 and io["combination"] == 2 and io["warmup"] == 1 and len(io["sets"]) == 2
        assert "sets" not in f["phases/1_train"].attrs and text(f["phases/1_train"].attrs["sweep"]) == ""
        assert len(f["ranks"]) == ranks and len(f["nodes"]) == (ranks + 1) // 2
        train = f["phases/1_train"]
        assert train["ranks"].dtype.names[:4] == ("rank", "node", "present", "wall_ns")
        assert train["epoch_ranks"].shape == (2, ranks)
        assert (train["epoch_ranks"]["samples"].sum(axis=1) == train["epochs"]["samples"]).all()
        assert train["ranks"]["samples"].sum() == train.attrs["samples"]
        assert len(train["ranks"].attrs["units"]) == len(train["ranks"].dtype.names)
        for phase in f["phases"].values():
            for name, group in phase["histograms"].items():
                if name != "write":
                    check_hist(f, group, "by_rank")
        # Of rank 0 there are more than a row by rank can hold: the merged counts are exact, and its row has the most.
        many = f["phases/0_generate/histograms/write"]
        assert many["counts"][0] == 2**33 and many.attrs["count"] == 2**33 + 483 * ranks
        assert list(many["by_rank"][:, 1]) == [2**32 - 1] + [0] * (ranks - 1)
        # Ranks are compared by their reads.
        assert [name for name, group in train["histograms"].items() if "by_rank" in group] == ["read"]
        assert [text(t) for t in train.attrs["tables"]] == ["epochs", "tiers"] and "tables" not in io
        assert [text(r) for r in train["ranks"].attrs["roles"]][-1] == "utilisation"
        assert text(train["histograms/read"].attrs["role"]) == "read_latency"
        targets = train["targets"][:]
        assert [text(n) for n in targets["name"]] == ["target_au", "target_p99"] and list(targets["met"]) == [1, 0]
        assert io["within"] == 1 and "within" not in train.attrs
        assert train.attrs["finished"] - train.attrs["started"] == 1400000000
        check_tiers(train["tiers"], ranks)
        check_nxdata(train["steps"])
        assert train["steps"].attrs["steps_per_row"] == 2 and len(train["steps/load_max_ns"]) == 2500
        check_nxdata(train["timeline"])
        assert train["timeline/bytes_read"][:].sum() == 1000 * 1000 * ranks
        client = train["client"]
        check_nxdata(client)
        nodes = (ranks + 1) // 2
        assert client["cores_busy"].shape == (nodes, len(client["rows"]) // nodes)
        assert (client["cores_busy"][:] == 0.75).all()
        assert client["rows"].dtype.names[:3] == ("node", "time_ns", "covered_ns")
        assert len(client["rows"].attrs["units"]) == len(client["rows"].dtype.names)
        assert (client["rows"]["node"].reshape(nodes, -1) == numpy.arange(nodes)[:, None]).all()
        assert client["rows"]["covered_ns"].sum() == nodes * 5 * 10**9
        assert ("over_nodes" in client) == (nodes > 1), "how nodes were distributed, of many nodes"
        if nodes > 1:
            check_over_nodes(client, nodes)
        assert "client" not in f["phases/0_generate"]
        assert len(train["errors"]) == 16 * ((ranks + 1) // 2)
        assert list(f["phases/2_io/histograms"]) == []


def check_h5wasm(path):
    """h5wasm, HDF5 for browsers, finds the same NXdata groups with the same values."""
    reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "read_h5wasm.mjs")
    read = subprocess.run(["node", reader, path], capture_output=True, text=True, timeout=300)
    assert read.returncode == 0, read.stderr
    found = json.loads(read.stdout)
    wanted = {}

    def visit(group):
        for name in group:
            child = group[name]
            if not isinstance(child, h5py.Group):
                continue
            if text(child.attrs.get("NX_class", "")) == "NXdata":
                signal = child[text(child.attrs["signal"])]
                wanted[child.name] = list(signal.shape), float(numpy.nansum(signal[:].astype("f8"))), \
                    [len(child[text(axis)]) for axis in child.attrs["axes"]]
            visit(child)
    with h5py.File(path, "r") as f:
        visit(f)
        assert found["status"] == text(f.attrs["status"]) and found["ranks"] == f.attrs["ranks"], found
        assert sorted(found["phases"]) == sorted(f["phases"]), found["phases"]
    assert len(wanted) >= 5 and sorted(found["nxdata"]) == sorted(wanted), f"{sorted(found['nxdata'])}, {sorted(wanted)}"
    for name, (shape, sum_, axes) in wanted.items():
        one = found["nxdata"][name]
        assert one["shape"] == shape and one["axes"] == axes and abs(one["sum"] - sum_) <= 1e-9 * abs(sum_), f"{name}: {one}"


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        for ranks in (1, 3):
            path = os.path.join(folder, "r:1.h5")  # MPI-IO may take the text before a colon for a file system's name
            subprocess.run([os.environ.get("HAUL_MPIEXEC", "mpiexec"), "-n", str(ranks), program, path],
                           check=True, timeout=300)
            check(path, ranks)
            check_h5wasm(path)
            check_moved(path, folder)
            dump = subprocess.run(["h5dump", "-d", "/summary", path], capture_output=True, text=True, check=True).stdout
            assert '"train"' in dump and dump.count("\n") < 110, dump
            assert os.path.getsize(path) < 1 << 20


main(sys.argv[1])
