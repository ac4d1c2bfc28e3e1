"""Scaling table (haul report --scaling): for runs of one job on 1, 2 and 4 simulated nodes, its figures agree with the reports
of the single runs and with a computation by hand."""
import csv
import math
import os

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
        check(lines[0].split()[:6] == ["nodes", "ranks", "batch", "files", "data", "set"], f"{r}")
        check([line.split()[0] for line in lines[1:]] == ["1", "2", "4"] and "±" in lines[3], f"{r}")
        r = alone("report", "--scaling", "--csv", *files, cwd=folder)
        table = list(csv.DictReader(r.out.splitlines()))
        check(r.rc == 0 and len(table) == len(rows), f"{r}")
        for line, row in zip(table, rows):
            check(int(line["nodes"]) == row["nodes"] and line["phase"] == "train", f"{line}")
            check(abs(float(line["bytes_per_second"]) / row["bytes_per_second"]["mean"] - 1) < 1e-8, f"{line} is not {row}")
            check(abs(float(line["au_ci95_low"]) - row["au"]["ci95_low"]) < 1e-8, f"{line} is not {row}")


main()
