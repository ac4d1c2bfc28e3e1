"""Who is slow: a planted slow rank and a slow node are named in the report. On sim://, whose slow ranks are slow in virtual
time."""
import re

from haultest import *

MIB = 1 << 20


def job(slow, **more):
    return {"name": "slow", "seed": 7, "stores": {"data": {"uri": "sim://known", "rank_bandwidth": "200 MB/s", "slow_ranks": slow}},
            "dataset": {"store": "data", "format": "raw", "files": 8 * 60, "sample_bytes": MIB},
            "phases": [{"train": {"null_steps": 0, "batch": 1, "compute": "5 ms", "loader": {"workers": 1}, **more}}]}


def slow_units(slow, nodes):
    """Who is named among 8 ranks: as JSON tells it, and the text."""
    with Folder() as folder:
        write_job(folder, job(slow))
        r = mpi(8, "run", "job.json", "--fake-nodes", nodes, cwd=folder)
        check(r.rc == 0, f"{r}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        return phase["slow"]["units"] if phase["slow"] else [], alone("report", "results.h5", cwd=folder).out


def test_slow_rank():
    units, text = slow_units({"3": 0.2}, 4)
    check(len(units) == 1 and units[0]["unit"] == "rank" and units[0]["rank"] == 3, f"{units}\n{text}")
    p99 = units[0]["measures"]["p99_ns"]
    check(p99["beyond"] and p99["value"] > 4 * p99["median"], f"{p99}")
    check(re.search(r"train: rank 3 on \S+ was slow: ", text), text)


def test_slow_node():
    units, text = slow_units({"4": 0.2, "5": 0.2}, 4)
    check(len(units) == 1 and units[0]["unit"] == "node" and units[0]["node"] == 2, f"{units}\n{text}")
    check((units[0]["rank"], units[0]["ranks"]) == (4, 2), f"{units}")
    check(re.search(r"train: node 2 on \S+ \(ranks 4 to 5\) was slow: ", text), text)


main()
