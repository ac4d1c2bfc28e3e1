# SPDX-License-Identifier: Apache-2.0
"""Who is slow: a planted slow rank and a slow node are named in the report; a rank that waits for storage, and one that
was stopped, are named in the log of rank 0 while it lasts. On sim://, whose slow ranks are slow in virtual time."""
import os
import re
import signal
import threading
import time

from haultest import *

MIB = 1 << 20


def job(slow, **more):
    return {"name": "slow", "seed": 7, "stores": {"data": {"uri": "sim://known", "rank_bandwidth": "100 MB/s", "slow_ranks": slow}},
            "dataset": {"store": "data", "format": "raw", "files": 8 * 60, "sample_bytes": MIB},
            "phases": [{"train": {"null_steps": 0, "batch": 1, "compute": "5 ms", "loader": {"workers": 1}, **more}}]}


def slow_units(slow, nodes):
    """Who is named among 8 ranks: as JSON tells it, and the text. Nothing is computed, so each rank waits for storage all the
    time, for 0.6 s or more. A reader that other work keeps from a core does not make that longer: sim:// takes the delay off the next
    request."""
    with Folder() as folder:
        write_job(folder, job(slow, compute="0 s"))
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


class Said:
    """The lines of a running job, and a wait for one that matches."""

    def __init__(self, process):
        self.process, self.lines, self.changed = process, [], threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stderr:
            with self.changed:
                self.lines.append(line)
                self.changed.notify()
        with self.changed:
            self.lines.append("")
            self.changed.notify()

    def wait(self, pattern):
        deadline = time.monotonic() + HANGS_S
        with self.changed:
            while not any(re.search(pattern, line) for line in self.lines):
                check(time.monotonic() < deadline and self.lines[-1:] != [""], f"no {pattern}: {self.lines}")
                self.changed.wait(1)

    def number(self, pattern):
        with self.changed:
            return sum(bool(re.search(pattern, line)) for line in self.lines)


def test_long_waits_and_stops():
    """Rank 2 waits for each of its reads for 5 s, ranks 3 and then 1 (the first of a node) are stopped; all of them are named while it
    lasts, and nobody else is, although a step computes for as long."""
    slow = {"2": 2e-3}
    with Folder() as folder:
        write_job(folder, {**job(slow, compute="3 s", sync="step"), "stall_limit": "1 s"})
        process = start(4, "run", "job.json", "--fake-nodes", 4, cwd=folder)
        said = Said(process)
        try:
            said.wait(r"rank 0: warning: rank 2 on \S+ has waited \d+\.\d s for storage, for sim://known/\S+")
            pids = ranks_of(process)
            check(sorted(pids) == [0, 1, 2, 3], f"{pids}")
            for rank in (3, 1):
                os.kill(pids[rank], signal.SIGSTOP)
                said.wait(rf"rank 0: warning: rank {rank} on \S+ has not answered for \d+\.\d s")
                os.kill(pids[rank], signal.SIGCONT)
        finally:
            for pid in ranks_of(process).values():
                os.kill(pid, signal.SIGCONT)
            process.terminate()
            process.wait()


def named_while_it_waits(phase, pattern):
    with Folder() as folder:
        write_job(folder, {"name": "slow", "stall_limit": "300 ms", "phases": [phase],
                           "stores": {"data": {"uri": "sim://known", "rank_bandwidth": "200 MB/s", "slow_ranks": {"1": 1e-3}}},
                           "dataset": {"store": "data", "format": "raw", "files": 2, "sample_bytes": MIB // 2}})
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        check(re.search(rf"rank \d: warning: rank 1 on \S+ has waited (?:\d+\.\d s|\d+ ms) for storage, for sim://known/{pattern}", r.err), f"{r}")


def test_long_waits_of_plain_io():
    """512 KiB take 2.6 s on rank 1."""
    named_while_it_waits({"io": {"operation": "read", "objects": 1, "size": "512 KiB", "block": "512 KiB", "folder": "a"}},
                         r"a/\S*1\S*")


def test_long_waits_in_a_together():
    """The first rank of each phase reports them."""
    def io(**more):
        return {"io": {"operation": "read", "objects": 1, "block": "512 KiB", **more}}
    named_while_it_waits({"together": [io(name="a", folder="a", size="512 KiB", ranks="1"),
                                       io(name="b", folder="b", size="512 KiB", ranks="0")], "until": "all"}, r"a/\S*0\S*")


def test_long_waits_of_generate():
    named_while_it_waits({"generate": {}}, r"\S+")


main()
