# SPDX-License-Identifier: Apache-2.0
"""Operation log (--op-log): its rows are the operations that the results count, on several stores and in all phases."""
import collections
import csv
import datetime
import glob
import io
import signal
import subprocess
import time

from haultest import *

WARP = ["idx", "thread", "op", "client_id", "n_objects", "bytes", "endpoint", "file", "error", "start", "first_byte",
        "last_byte", "end", "duration_ns", "cat"]
MIB = 1 << 20


def unpack(*files):
    # The log files of the ranks can be concatenated to one table.
    whole = b"".join(open(f, "rb").read() for f in files)
    done = subprocess.run(["zstd", "-dc"], input=whole, capture_output=True)
    return done.returncode, done.stdout.decode()


def rows(folder, pattern="ops*.tsv.zst"):
    rc, text = unpack(*sorted(glob.glob(f"{folder}/{pattern}")))
    check(rc == 0, "zstd cannot unpack the log")
    table = csv.DictReader(io.StringIO("".join(l for l in text.splitlines(True) if l[0] != "#")), delimiter="\t")
    check(table.fieldnames[:15] == WARP, f"columns: {table.fieldnames}")
    return list(table), [l for l in text.splitlines() if l[0] == "#"]


def seconds(text):
    whole, rest = text.rstrip("Z").split(".")
    check(len(rest) == 9, text)
    return datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + int(rest) / 1e9


def same(folder, phases):
    """Compares the rows of each phase with the results."""
    found, ends = rows(folder)
    for phase in phases:
        mine = [r for r in found if r["phase"] == phase["name"]]
        moved = collections.Counter()
        for r in mine:
            moved[r["op"]] += int(r["bytes"])
        errors = sum(1 for r in mine if r["error"])
        retries = sum(int(r["attempts"]) - 1 for r in mine)
        is_so = (len(mine), moved["GET"], moved["PUT"], errors, retries)
        m = phase["measures"]
        wanted = (m["store_requests"] + m.get("warmup_operations", 0), m["bytes_read"], m["bytes_written"], m["errors"],
                  m["retries"])
        if m.get("warmup_operations"):
            # The results leave out the bytes of the warm-up, so only the numbers of operations are compared.
            is_so, wanted = is_so[0], wanted[0]
        check(is_so == wanted, f"{phase['name']}: rows say {is_so}, the results {wanted}")
        check(m["op_log_dropped"] == 0, f"{m['op_log_dropped']} rows were dropped")
    check(len(found) == sum(len([r for r in found if r["phase"] == p["name"]]) for p in phases), "some rows belong to no phase")
    return found, ends


def run(folder, job, ranks=2, *more):
    write_job(folder, job)
    r = mpi(ranks, "run", "job.json", "--op-log", "ops.tsv.zst", *more, cwd=folder)
    check(r.rc == 0, f"{r}")
    return report(f"{folder}/results.h5")["phases"]


def training(uri, **more):
    return {"name": "log", "stores": {"data": {"uri": uri, **more}},
            "dataset": {"store": "data", "format": "npz", "files": 24, "sample_bytes": 100000},
            "phases": [{"generate": {"threads": 2}},
                       {"train": {"batch": 2, "epochs": 2, "compute": "1 ms", "null_steps": 4,
                                  "loader": {"workers": 2}}}]}


def test_training():
    for uri, more in (("file://./data", {}), ("direct://./data", {"transfer": "32 KiB"}), ("mem://data", {}),
                      ("sim://data", {"latency": "1 ms", "failure_rate": 0})):
        with Folder() as folder:
            before = time.time()
            phases = run(folder, training(uri, **more))
            found, ends = same(folder, phases)
            check(ends == [f"# rank {r} of 2: {sum(x['client_id'] == str(r) for x in found)} rows, 0 dropped"
                           for r in (0, 1)], f"{ends}")
            scheme = uri.split("://")[0]
            check({r["endpoint"] for r in found} == {scheme + "://"}, f"endpoints: { {r['endpoint'] for r in found} }")
            check(all(r["file"].startswith("data/") or "/data/" in r["file"] for r in found), "a row names another file")
            for r in found:
                start, end = seconds(r["start"]), seconds(r["end"])
                check(before - 1 < start <= end + 1e-9 < time.time() + 1, f"times: {r}")
                near(end - start, int(r["duration_ns"]) / 1e9, 2e-6, "duration")
                check(r["op"] != "GET" or r["last_byte"] == r["end"], f"last byte: {r}")
            check({r["thread"] for r in found} <= set("0123"), f"threads: { {r['thread'] for r in found} }")
            by_rank = collections.Counter(r["client_id"] for r in found)
            check(set(by_rank) == {"0", "1"}, f"ranks {by_rank}")


def test_plain_io_and_its_warmup():
    io_phase = {"operation": "read", "size": "4 MiB", "block": "64 KiB", "threads": 2}
    job = {"name": "io", "stores": {"data": {"uri": "file://./plain"}},
           "phases": [{"io": {**io_phase, "name": "write", "operation": "write"}},
                      {"io": {**io_phase, "name": "read", "order": "random", "passes": 0, "seconds": "300 ms",
                                              "warmup": "100 ms", "rate": 2000}},
                      {"io": {**io_phase, "name": "stat", "operation": "stat", "threads": 1}}]}
    with Folder() as folder:
        phases = run(folder, job, 1)
        found, _ = same(folder, phases)
        check({r["op"] for r in found} >= {"PUT", "GET", "STAT"}, f"{ {r['op'] for r in found} }")


def test_errors():
    job = training("sim://faulty", failure_rate=0.2)
    job["phases"][1]["train"].update({"on_error": "count", "null_steps": 0})
    job["phases"].pop(0)
    with Folder() as folder:
        phases = run(folder, job, 1)
        found, _ = same(folder, phases)
        texts = {r["error"] for r in found if r["error"]}
        check(phases[0]["measures"]["errors"] > 0 and texts == {"Input/output error"}, f"{texts}")


def test_runs_of_a_series():
    job = training("mem://series")
    with Folder() as folder:
        write_job(folder, job)
        r = mpi(1, "run", "job.json", "--op-log", "ops.tsv.zst", "--repeat", "2", "--warmup", "1", cwd=folder)
        check(r.rc == 0, f"{r}")
        phases = report(f"{folder}/results.h5")["phases"]
        found, _ = rows(folder)
        by_run = collections.Counter(int(r["run"]) for r in found if r["phase"] == "train")
        wanted = [p["measures"]["store_requests"] for p in phases if p["name"] == "train"]
        check([by_run[i + 1] for i in range(3)] == wanted, f"{by_run}, wanted {wanted}")


def test_dropped_rows_are_counted():
    job = {"name": "fast", "stores": {"n": {"uri": "null://n"}},
           "phases": [{"io": {"operation": "read", "size": "1 GiB", "block": 4096, "passes": 0, "count": 400000}}]}
    with Folder() as folder:
        write_job(folder, job)
        r = mpi(1, "run", "job.json", "--op-log", "ops.tsv.zst", "--op-log-rows", "8", cwd=folder)
        check(r.rc == 0, f"{r}")
        m = report(f"{folder}/results.h5")["phases"][0]["measures"]
        found, ends = rows(folder)
        check(m["op_log_dropped"] > 0, "no row was dropped, so the test shows nothing")
        check(len(found) + m["op_log_dropped"] == m["store_requests"], f"{len(found)} rows, {m}")
        check(ends == [f"# rank 0 of 1: {len(found)} rows, {m['op_log_dropped']} dropped"], f"{ends}")
        check("operations have no row; --op-log-rows keeps more" in r.err, f"{r.err}")


def test_refused_before_anything_runs():
    with Folder() as folder:
        job = write_job(folder, training("file://./data"))
        open(f"{folder}/ops.1.tsv.zst", "w").close()
        r = mpi(2, "run", job, "--op-log", "ops.tsv.zst", cwd=folder)
        check(r.rc == 2 and "ops.1.tsv.zst exists; name another file with --op-log, or use --force" in r.err, f"{r}")
        left = set(os.listdir(folder))
        check(left == {"job.json", "ops.1.tsv.zst"}, f"{left}")
        r = mpi(2, "run", job, "--op-log", "ops.tsv.zst", "--force", cwd=folder)
        check(r.rc == 0, f"{r}")
        older = [open(f"{folder}/ops.{rank}.tsv.zst", "rb").read() for rank in range(2)]
        r = mpi(2, "run", job, "--op-log", "ops.tsv.zst", "--force", "--skip", "generate", "--set", "dataset.files=9999", cwd=folder)
        check(r.rc == 1, f"a run without its data set: {r}")
        check([open(f"{folder}/ops.{rank}.tsv.zst", "rb").read() for rank in range(2)] == older and
              not glob.glob(f"{folder}/*.part-*"), "a run that measured nothing replaced the older log")
        r = mpi(1, "run", job, "--op-log", "no/such/ops.zst", "--results", "b.h5", cwd=folder)
        check(r.rc == 1 and "no/such/ops.zst cannot be written: No such file or directory" in r.err, f"{r}")


def test_log_of_a_killed_run():
    job = training("sim://slow", latency="5 ms")
    job["phases"] = [{"train": {"batch": 2, "epochs": 100000, "compute": 0, "null_steps": 0}}]
    with Folder() as folder:
        write_job(folder, job)
        p = subprocess.Popen([HAUL, "run", "job.json", "--op-log", "ops.tsv.zst"], cwd=folder, env=environment(),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while p.poll() is None and (not os.path.exists(f"{folder}/ops.tsv.zst") or
                                    unpack(f"{folder}/ops.tsv.zst")[1].count("\tGET\t") <= 100):
            time.sleep(0.1)
        p.send_signal(signal.SIGKILL)
        p.wait()
        rc, text = unpack(f"{folder}/ops.tsv.zst")
        check(rc != 0 and text.count("\tGET\t") > 100, f"zstd {rc}, {text.count(chr(10))} rows")


def test_a_file_per_node():
    """The ranks of a node append to one file: every row is there, none is torn, and the header comes first."""
    job = training("sim://shared", latency="100 us")
    with Folder() as folder:
        write_job(folder, job)
        for name, more in (("ops.tsv.zst", ()), ("ops.tsv", ("--force",))):
            r = mpi(6, "run", "job.json", "--fake-nodes", 2, "--op-log", name, "--op-log-per", "node", *more, cwd=folder)
            check(r.rc == 0, f"{r}")
        found, ends = same(folder, report(f"{folder}/results.h5")["phases"])
        check(sorted(glob.glob(f"{folder}/ops.*.zst")) == [f"{folder}/ops.{i}.tsv.zst" for i in range(2)], "files")
        for node in range(2):
            own = unpack(f"{folder}/ops.{node}.tsv.zst")[1]
            ranks = {line.split("\t")[3] for line in own.splitlines() if line[0] not in "#i"}
            check(ranks == {str(r) for r in range(3 * node, 3 * node + 3)}, f"node {node}: {ranks}")
            check(own.startswith("idx\t") == (node == 0), f"node {node}: the header")
        check(len(ends) == 6 and all(end.endswith(" 0 dropped") for end in ends), f"{ends}")
        plain = "".join(open(f"{folder}/ops.{node}.tsv").read() for node in range(2)).splitlines()
        check(plain[0].startswith("idx\t") and len(plain) == len(found) + 7 and
              all(line.count("\t") == plain[0].count("\t") for line in plain if line[0] != "#"), "plain rows are whole")
        r = mpi(2, "run", "job.json", "--fake-nodes", 2, "--op-log", "ops.tsv.zst", "--op-log-per", "node",
                "--results", "b.h5", cwd=folder)
        check(r.rc == 2 and "tsv.zst exists; name another file with --op-log, or use --force" in r.err, f"{r}")


def test_plain_text():
    """A log whose name does not end in .zst is not compressed, and has the same rows."""
    with Folder() as folder:
        write_job(folder, {"name": "plain", "stores": {"d": {"uri": "null://d"}},
                           "dataset": {"format": "raw", "files": 8, "sample_bytes": 1000},
                           "phases": [{"train": {"null_steps": 0, "loader": {"workers": 1}}}]})
        check(mpi(2, "run", "job.json", "--op-log", "ops.tsv", cwd=folder).rc == 0, "the run failed")
        lines = [line for name in sorted(glob.glob(f"{folder}/ops.*.tsv")) for line in open(name)]
        plain = [line for line in lines if line[0] != "#" and not line.startswith("idx")]
        wanted = report(f"{folder}/results.h5")["phases"][0]["measures"]["store_requests"]
        check(len(plain) == wanted > 0, f"{len(plain)} rows, {wanted} operations")


main()
