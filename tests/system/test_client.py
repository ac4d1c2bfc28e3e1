# SPDX-License-Identifier: Apache-2.0
"""Load of the client's nodes: the rows of the results agree with what the kernel counts, taking them costs little, and the
report names the client as the limit when it is."""
import os
import resource
import subprocess
import sys

import haultest as t
from haultest import check, near

import h5py

MIB = 1 << 20


def disk_bytes():
    """Bytes read and written by all whole disks, without partitions and virtual devices."""
    read = written = 0
    with open("/proc/diskstats") as f:
        for line in f:
            field = line.split()
            if os.path.exists(f"/sys/block/{field[2]}/device"):
                read += int(field[5]) * 512
                written += int(field[9]) * 512
    return read, written


def cpu_seconds():
    """Processor seconds of the children that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def job(folder, ranks=1, seconds=3, compute="300 ms", **store):
    """A job with a training phase of the given length, in steps of 300 ms."""
    steps = round(seconds / 0.3)
    return {"name": "client", "seed": 3,
            "stores": {"data": {"uri": f"file://{folder}/data", **store}},
            "dataset": {"store": "data", "format": "npz", "files": 2 * steps * ranks, "samples_per_file": 1,
                        "sample_bytes": "4 MiB"},
            "phases": [{"generate": {}},
                       {"train": {"epochs": 1, "batch": 2, "compute": compute, "null_steps": 0,
                                  "loader": {"workers": 1, "prefetch": 1}}}]}


def rows_of(path, phase):
    with h5py.File(path) as f:
        return f[f"phases/{phase}/client/rows"][:], dict(f[f"phases/{phase}"].attrs)


def check_rows(path, phase, nodes, seconds):
    rows, attrs = rows_of(path, phase)
    check(len(rows) % nodes == 0, f"{len(rows)} rows of {nodes} nodes")
    for node in range(nodes):
        own = rows[rows["node"] == node]
        check(len(own) == len(rows) // nodes, "nodes have different numbers of rows")
        near(own["covered_ns"].sum() / 1e9, seconds, 1, "seconds covered")
        cores = sum(own[f"cpu_{kind}_ns"].sum() for kind in
                    ("user", "system", "iowait", "irq", "softirq", "steal", "idle")) / 1e9
        near(cores, os.cpu_count() * seconds, 0.1 * os.cpu_count() * seconds + 1, "the time of all cores")
        check((own["rank_cores_busy_ns"] <= own["rank_cores_ns"]).all(), "the ranks' cores were busy for longer than their time")
    return rows, attrs


@t.matrix
@t.timing
def test_rows_for_ranks_and_nodes():
    for ranks, nodes in t.some(((2, 1), (1, 1), (6, 3), (8, 1)), 2):
        with t.Folder() as folder:
            path = os.path.join(folder, "r.h5")
            fake = ["--fake-nodes", nodes] if nodes > 1 else []
            run = t.mpi(ranks, "run", t.write_job(folder, job(folder, ranks, seconds=2)), "--results", path, *fake)
            check(run.rc == 0, run)
            with h5py.File(path) as f:
                seconds = f["phases/1_train"].attrs["seconds"]
                check(len(f["nodes"]) == nodes and f["nodes"]["nics"][0] is not None, "nodes")
            rows, attrs = check_rows(path, "1_train", nodes, seconds)
            used = (attrs["cpu_user_ns"] + attrs["cpu_system_ns"]) / 1e9
            near(rows["haul_cpu_ns"].sum() / 1e9, used, 0.05 * used + 0.1, "processor time of the ranks in the rows")
            moved = (attrs["bytes_read"] + attrs["bytes_written"]) / 1e9
            near(attrs["cpu_s_per_GB"], used / moved, 1e-6, "processor seconds per gigabyte")
            report = t.report(path)["phases"][1]["client"]
            check(len(report["nodes"]) == nodes, "nodes in the report")


def test_disk_bytes_agree_with_the_kernel():
    """For direct writes and reads, the rows have at least the bytes that haul moved, and at most those that the disks moved
    from before to after the run."""
    with t.Folder(os.getcwd()) as folder:
        path = os.path.join(folder, "r.h5")
        job_path = t.write_job(folder, job(folder, compute="10 ms", direct=True))
        before = disk_bytes()
        run = t.mpi(1, "run", job_path, "--results", path)
        after = disk_bytes()
        check(run.rc == 0, run)
        generate, wrote = rows_of(path, "0_generate")
        train, read = rows_of(path, "1_train")
        wanted = 20 * 4 * MIB
        check(wrote["bytes_written"] >= wanted and read["bytes_read"] >= wanted, "not all bytes were moved")
        if after[0] - before[0] < wanted:
            print("      the folder is not on a block device: its bytes are not compared")
            return
        check(wanted <= train["disk_read_bytes"].sum() <= after[0] - before[0],
              f"read: {train['disk_read_bytes'].sum()}, by the kernel {after[0] - before[0]}")
        check(wanted <= generate["disk_written_bytes"].sum() <= after[1] - before[1],
              f"written: {generate['disk_written_bytes'].sum()}, by the kernel {after[1] - before[1]}")


def test_processor_time_agrees_with_the_kernel():
    """The processor time of both phases is nearly all that the kernel counts for the run. Other work on the machine does not
    change that, so this needs no machine for itself."""
    with t.Folder() as folder:
        path = os.path.join(folder, "r.h5")
        j = job(folder, seconds=1, compute=0)
        j["dataset"].update(files=128)
        j["phases"][1]["train"].update(epochs=8)
        before = cpu_seconds()
        run = t.mpi(1, "run", t.write_job(folder, j), "--results", path)
        spent = cpu_seconds() - before
        check(run.rc == 0, run)
        counted = 0
        for phase in ("0_generate", "1_train"):
            attrs = rows_of(path, phase)[1]
            counted += (attrs["cpu_user_ns"] + attrs["cpu_system_ns"]) / 1e9
        check(spent - (1 if t.SANITIZED else 0.5) <= counted <= spent, f"{counted:.2f} s counted in the phases, {spent:.2f} s in all")
        check(counted > 0.5, f"only {counted:.2f} s, which is too little to compare")


@t.timing
def test_cost_of_a_row():
    """One row per second takes less than half a percent of a core, by the processor clock of the sampling thread."""
    with t.Folder() as folder:
        path = os.path.join(folder, "r.h5")
        run = t.mpi(1, "run", t.write_job(folder, job(folder, seconds=3)), "--results", path)
        check(run.rc == 0, run)
        seconds = t.report(path)["phases"][1]["seconds"]
        rows, _ = check_rows(path, "1_train", 1, seconds)
        check(seconds - 1 < len(rows) < seconds + 2, f"{len(rows)} rows in {seconds} seconds")
        share = rows["sampler_cpu_ns"].sum() / rows["covered_ns"].sum()
        print(f"      {100 * share:.3f} % of one core, {rows['sampler_cpu_ns'].max() / 1e3:.0f} us for the most expensive row")
        check(0 < share < 0.005, f"{100 * share:.3f} % of one core")
        near(t.report(path)["phases"][1]["client"]["nodes"][0]["sampler"], share, 1e-9, "the sampler's share in the report")


# Shares of the ranks' cores that were busy and that haul had, and threads of haul that waited for each: the limit, and what is said.
COUNTED = (((0.95, 0.9, 0.5), "cpu", "of haul waited on average: the client was the limit, not the storage"),
           ((0.95, 0.2, 0.5), None, "of haul waited on average: other work on the node had them"),
           ((0.95, 0.9, 0.05), None, ""),
           ((0.5, 0.5, 0.5), None, ""))


def count_cores(path, busy, haul, waited):
    """Rows as if the kernel had counted that."""
    with h5py.File(path, "r+") as f:
        table, = (f[f"phases/{phase}/client/rows"] for phase in f["phases"])
        rows = table[:]
        for column, share in (("rank_cores_busy_ns", busy), ("haul_cpu_ns", haul), ("haul_waited_ns", waited)):
            rows[column] = rows["rank_cores_ns"] * share
        rows["cpu_throttled_ns"] = 0
        rows["memory_stalled_ns"] = 0
        table[:] = rows


@t.timing
def test_busy_loops_beside_the_run():
    """Other processes keep the cores busy while ranks wait for a slow store: the report names the cores as the limit where haul's own
    threads waited for one, and only there."""
    with t.Folder() as folder:
        path = os.path.join(folder, "r.h5")
        j = job(folder, compute="10 ms")
        j["stores"]["data"] = {"uri": "sim://slow", "bandwidth": "80 MB/s"}
        j["dataset"].update(files=40)
        j["phases"] = j["phases"][1:]
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
        try:
            run = t.mpi(1, "run", t.write_job(folder, j), "--results", path)
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        check(run.rc == 0, run)
        client = t.report(path)["phases"][0]["client"]
        node, = client["nodes"]
        check(node["while_waiting"]["cores_busy"] > 0.9, client)
        check(client["limit"] == (None if node["while_waiting"]["haul"] < 0.45 else client["limit"]), client)
        # Whether a thread of haul had to wait for a core is up to the machine, and what follows is not.
        for cores, limit, words in COUNTED:
            count_cores(path, *cores)
            client = t.report(path)["phases"][0]["client"]
            check(client["limit"] == limit, f"{cores}: {client}")
            named = "the client was the limit, not the storage" in " ".join(t.alone("report", path).out.split())
            check(named == (limit == "cpu"), f"{cores}: {client}")
            about = [said for said in client["said"] if "cores were" in said]
            check(words in about[0] if words else not about, f"{cores}: {client['said']}")


t.main()
