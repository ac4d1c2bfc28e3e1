# SPDX-License-Identifier: Apache-2.0
"""Scaling table (haul report --scaling): for runs of one job on 1, 2 and 4 simulated nodes, its figures agree with the reports
of the single runs and with a computation by hand."""
import csv
import math
import os
import xml.etree.ElementTree

from haultest import *

NODES = (1, 2, 4)


def job():
    return {"name": "grows", "stores": {"d": {"uri": "sim://d", "bandwidth": "100 MB/s"}},
            "dataset": {"store": "d", "format": "raw", "files": 1, "files_per_rank": 6, "samples_per_file": 2,
                        "sample_bytes": 50000},
            "phases": [{"train": {"batch": 2, "compute": "2 ms", "null_steps": 0, "warmup_steps": 1,
                                  "loader": {"workers": 1}}},
                       {"io": {"operation": "stat", "store": "d", "objects": 3}}]}


def runs(folder):
    for nodes in NODES:
        r = mpi(nodes, "run", "job.json", "--fake-nodes", nodes, "--repeat", 3, "--results", f"n{nodes}.h5", cwd=folder)
        check(r.rc == 0, f"{nodes} nodes: {r}")
    return [f"n{nodes}.h5" for nodes in reversed(NODES)]


def test_table():
    with Folder() as folder:
        write_job(folder, job())
        files = runs(folder)
        r = alone("report", "--scaling", "--json", *files, cwd=folder)
        check(r.rc == 0, f"{r}")
        rows = json.loads(r.out)["scaling"]
        check([row["nodes"] for row in rows] == list(NODES), f"{rows}")
        for row in rows:
            n, at = row["nodes"], f"{row['nodes']} nodes: {row}"
            check((row["phase"], row["ranks"], row["global_batch"], row["files"]) == ("train", n, 2 * n, 6 * n), at)
            check(row["data_bytes"] == 6 * n * 2 * 50000 and os.path.basename(row["file"]) == f"n{n}.h5", at)
            trains = [p for p in report(f"{folder}/n{n}.h5")["phases"] if p["kind"] == "train"]
            means = {"au": sum(p["au"]["mean"] for p in trains) / 3,
                     "bytes_per_second": sum(p["figures"]["bytes_per_second"] for p in trains) / 3}
            for key, mean in means.items():
                check(row["repeats"] == 3 and abs(row[key]["mean"] / mean - 1) < 1e-9, f"{at}: {key} is not {mean}")
                check(row[key]["ci95_low"] <= mean <= row[key]["ci95_high"], f"{at}: {key}")
            each = row["bytes_per_second"]["mean"] / n
            check(abs(row["bytes_per_second_per_node"] / each - 1) < 1e-9, at)
            check(abs(row["efficiency"]["mean"] * rows[0]["bytes_per_second"]["mean"] / each - 1) < 1e-9, at)
        # The relative errors of both rates add up in squares.
        rate, base = rows[2]["bytes_per_second"], rows[0]["bytes_per_second"]
        half = rows[2]["efficiency"]["mean"] * math.hypot((rate["ci95_high"] - rate["ci95_low"]) / 2 / rate["mean"],
                                                          (base["ci95_high"] - base["ci95_low"]) / 2 / base["mean"])
        check(abs((rows[2]["efficiency"]["ci95_high"] - rows[2]["efficiency"]["ci95_low"]) / 2 - half) < 1e-9 * (1 + half), f"{rows[2]}")
        r = alone("report", "--scaling", *files, cwd=folder)
        lines = r.out.splitlines()
        check(r.rc == 0 and len(lines) == 4 and all(len(line) <= 100 for line in lines), f"{r}")
        check(lines[0].split()[:7] == ["way", "nodes", "ranks", "batch", "files", "data", "set"], f"{r}")
        check([line.split()[:2] for line in lines[1:]] == [["sim", "1"], ["sim", "2"], ["sim", "4"]] and "±" in lines[3], f"{r}")
        r = alone("report", "--scaling", "--csv", *files, cwd=folder)
        table = list(csv.DictReader(r.out.splitlines()))
        check(r.rc == 0 and len(table) == len(rows), f"{r}")
        for line, row in zip(table, rows):
            check(int(line["nodes"]) == row["nodes"] and line["phase"] == "train", f"{line}")
            check(abs(float(line["bytes_per_second"]) / row["bytes_per_second"]["mean"] - 1) < 1e-8, f"{line} is not {row}")
            check(abs(float(line["au_ci95_low"]) - row["au"]["ci95_low"]) < 1e-8, f"{line} is not {row}")


WAYS = {"fast": {"stores": {"d": {"uri": "sim://fast", "bandwidth": "400 MB/s"}}},
        "slow": {"stores": {"d": {"uri": "sim://slow", "bandwidth": "40 MB/s"}}, "env": {"SOME": "thing", "OTHER": "a b"}}}


def test_ways():
    """Three ways of one job, each on 1 and 2 nodes with two repeats in files of their own: each way is a series, with repeats
    taken together, and an efficiency of its own."""
    with Folder() as folder:
        write_job(folder, {**job(), "ways": {**WAYS, "base": {}}})
        listed = alone("plan", "job.json", "--ways", cwd=folder)
        check(listed.rc == 0 and listed.out == "fast\nslow\tSOME=thing\tOTHER=a b\nbase\n", f"{listed}")
        files, single = [], {}
        for nodes in (1, 2):
            for repeat in (1, 2):
                for way in ("fast", "slow", "base"):
                    name = f"{way}.{nodes}.{repeat}.h5"
                    r = mpi(nodes, "run", "job.json", "--fake-nodes", nodes, "--set", f"way={way}", "--only", "train", "--results", name, cwd=folder)
                    check(r.rc == 0, f"{r}")
                    files.append(name)
                    single.setdefault((way, nodes), []).append(report(f"{folder}/{name}")["phases"][0]["figures"]["bytes_per_second"])
        rows = json.loads(alone("report", "--scaling", "--json", *files, cwd=folder).out)["scaling"]
        check([(row["way"], row["nodes"], row["repeats"], row["series"]) for row in rows] ==
              [(way, nodes, 2, i) for i, way in enumerate(("fast", "slow", "base")) for nodes in (1, 2)], f"{rows}")
        for row in rows:
            own = single[row["way"], row["nodes"]]
            check(abs(row["bytes_per_second"]["mean"] / (sum(own) / 2) - 1) < 1e-9, f"{row}: {own}")
            least = sum(single[row["way"], 1]) / 2
            check(abs(row["efficiency"]["mean"] * least / (sum(own) / 2 / row["nodes"]) - 1) < 1e-9, f"{row}")
        r = alone("report", "--scaling", *files, cwd=folder)
        check(r.out.splitlines()[0].split()[0] == "way" and all(len(line) <= 100 for line in r.out.splitlines()), f"{r}")
        table = list(csv.DictReader(alone("report", "--scaling", "--csv", *files, cwd=folder).out.splitlines()))
        check([line["way"] for line in table] == [row["way"] for row in rows], f"{table}")
        for again in range(2):
            r = alone("report", "--svg", "f.svg", *files, cwd=folder)
            check(r.rc == 0, f"{r}")
        root = xml.etree.ElementTree.parse(f"{folder}/f.svg").getroot()
        words = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
        check({"fast", "slow", "base", "1", "2", "AU (%)", "GB/s per node"} <= set(words), f"{words}")
        check(len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 2 * len(rows), "a point per row and panel")
        r = alone("report", "--svg", "job.json", *files, cwd=folder)
        check(r.rc != 0 and "name another" in r.err, f"{r}")
        for wrong, says in (({"way": "x"}, '/way: "x" is none of the job\'s ways: fast, slow'),
                            ({"ways": {"a": {"store": {}}}}, '/ways/a: unknown key "store"'),
                            ({"ways": {"a": {"env": {"A": 1}}}}, "/ways/a/env: must be an object of strings"),
                            ({"ways": {}}, "/ways: must be an object of ways")):
            write_job(folder, {**job(), "ways": WAYS, **wrong})
            r = alone("plan", "job.json", cwd=folder)
            check(r.rc == 2 and says in r.err, f"{wrong}: {r}")


def test_names():
    """Without a name of its own, a way is what the store is; two trainings of a job are two series."""
    with Folder() as folder:
        for name, uri in (("sim", "sim://d"), ("mem", "mem://d"), ("files", f"file://{folder}/data")):
            said = {**job(), "stores": {"d": {"uri": uri}}}
            train = said["phases"][0]["train"]
            said["phases"] = [{"generate": {}}, {"train": {**train, "name": "one"}}, {"train": {**train, "name": "two"}}]
            write_job(folder, said)
            r = mpi(1, "run", "job.json", "--results", f"{name}.h5", cwd=folder)
            check(r.rc == 0, f"{r}")
        rows = json.loads(alone("report", "--scaling", "--json", "sim.h5", "mem.h5", "files.h5", cwd=folder).out)["scaling"]
        check([(row["way"], row["phase"]) for row in rows[:4]] == [(way, phase) for way in ("sim", "mem") for phase in ("one", "two")], f"{rows}")
        check(len(rows) == 6 and rows[4]["way"] not in ("", "file") and len({row["series"] for row in rows}) == 6, f"{rows}")
        check(all(row["efficiency"]["mean"] == 1 for row in rows), f"{rows}")
        r = alone("report", "--scaling", "sim.h5", "mem.h5", "files.h5", cwd=folder)
        check(r.out.splitlines()[0].split()[:2] == ["way", "phase"], f"{r}")
        # The same job with another setting is no repeat, and neither of both is what the other is compared with.
        r = mpi(1, "run", "job.json", "--results", "again.h5", "--set", "one.batch=1", "--force", cwd=folder)
        check(r.rc == 0, f"{r}")
        rows = json.loads(alone("report", "--scaling", "--json", "files.h5", "again.h5", "sim.h5", cwd=folder).out)["scaling"]
        told = {(row["way"], row["phase"]): [] for row in rows}
        for row in rows:
            told[row["way"], row["phase"]].append(row["efficiency"]["mean"])
        check(sorted(map(str, told.values())) == sorted(map(str, [[1], [1], [None, None], [None, None]])), f"{rows}")


main()
