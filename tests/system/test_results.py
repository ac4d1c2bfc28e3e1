# SPDX-License-Identifier: Apache-2.0
"""Results file: h5py and h5dump open it, counts and bytes are those of strace, merged histograms are the sum of the ranks'
rows, and runs that are refused, fail or are killed leave an older file or a valid new one."""
import math
import os
import re
import signal
import subprocess
import time

import h5py
import numpy

from haultest import *


def job(folder):
    return {
        "name": "results", "seed": 5, "stores": {"data": {"uri": f"file://{folder}/data"}},
        "dataset": {"store": "data", "format": "npz", "files": 40, "sample_bytes": 2500000, "sample_bytes_stdev": 400000},
        "phases": [{"generate": {}},
                   {"train": {"epochs": 2, "batch": 3, "compute": "2 ms", "null_steps": 0, "loader": {"workers": 2}}}],
    }


def test_counts_equal_strace():
    with Folder() as folder:
        write_job(folder, job(folder))
        check(mpi(2, "generate", "job.json", cwd=folder).rc == 0, "generate")
        args = command(2, "run", "job.json", "--only", "train")
        at = args.index(HAUL)
        strace = ["strace", "-ff", "-y", "-e", "trace=pread64,openat,close", "-o", os.path.join(folder, "trace")]
        r = subprocess.run(args[:at] + strace + args[at:], cwd=folder, capture_output=True, text=True, timeout=HANGS_S,
                           env=environment())
        check(r.returncode == 0, f"{r.stdout} {r.stderr}")
        reads = moved = opens = 0
        for name in os.listdir(folder):
            if not name.startswith("trace."):
                continue
            with open(os.path.join(folder, name), errors="replace") as f:
                for line in f:
                    m = re.match(r"pread64\(\d+<[^>]*\.npz>.*= (\d+)$", line)
                    if m:
                        reads, moved = reads + 1, moved + int(m.group(1))
                    opens += bool(re.match(r"openat\(.*\.npz\".*= \d+", line))
        train = report(f"{folder}/results.h5")["phases"][0]
        check(moved == train["bytes_read"], f"strace {moved} bytes, haul {train['bytes_read']}")
        latency = train["latency_ns"]
        check(reads == latency["read"]["count"], f"strace {reads} reads, haul {latency['read']['count']}")
        check(opens == latency["open"]["count"], f"strace {opens} opens, haul {latency['open']['count']}")
        check(opens == 2 * 36, f"{opens} opens, wanted 72")


def test_opens_everywhere():
    with Folder() as folder:
        write_job(folder, job(folder))
        r = mpi(3, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        path = f"{folder}/results.h5"
        check(os.path.getsize(path) < 1 << 20, f"{os.path.getsize(path)} bytes")
        check(not parts_beside(path), "a .part file is left")
        dump = subprocess.run(["h5dump", "-d", "/summary", path], capture_output=True, text=True)
        check(dump.returncode == 0 and "train" in dump.stdout and dump.stdout.count("\n") < 90, dump.stdout + dump.stderr)
        with h5py.File(path) as f:
            check(f.attrs["status"] in (b"done", "done", numpy.bytes_("done")), f"{f.attrs['status']}")
            for key in ("schema_version", "haul_version", "build", "started", "finished", "command_line"):
                check(key in f.attrs, f"there is no attribute {key}")
            own = {key: float(value) for key, value in f.attrs.items() if key.startswith("own_")}
            # Of rank 0: a phase is as long as on its slowest rank, which may begin it while rank 0 still opens its stores.
            seconds, phases = float(f.attrs["seconds"]), sum(int(p["ranks"]["wall_ns"][0]) for p in f["phases"].values()) / 1e9
            check(len(own) == 10 and min(own.values()) >= 0 and own["own_mpi"] > 0 and own["own_publish"] > 0
                  and sum(own.values()) + phases <= 1.001 * seconds, f"{seconds} s of which {phases} in phases: {own}")
            told = report(path)["own_seconds"]
            check({f"own_{key}": value for key, value in told.items()} == own, f"{told}, in the file {own}")
            check(len(f["summary"]) == 2 and len(f["ranks"]) == 3 and len(f["nodes"]) == 1, "wrong numbers of rows")
            train = f["phases/1_train"]
            check(len(train["ranks"]) == 3, f"{len(train['ranks'])} rows for 3 ranks")
            row = train["ranks"][:]
            accounts = ["compute_ns", "open_ns", "first_byte_ns", "transfer_ns", "queue_ns", "ranks_ns", "decode_ns", "copy_ns", "haul_ns"]
            for one in row:
                check(sum(int(one[a]) for a in accounts) == int(one["wall_ns"]), f"the accounts do not add up: {one}")
            stores = f["stores"][:]
            check(len(stores) == 1 and stores[0]["name"] == b"data" and stores[0]["engine"] == b"psync"
                  and stores[0]["nodes"] == 1 and stores[0]["note"] == b"" and stores[0]["uri"].endswith(b"/data"),
                  f"stores: {stores}")
            kinds = 0
            for kind, group in train["histograms"].items():
                check(group.attrs["NX_class"] in (b"NXdata", "NXdata"), kind)
                signal = group.attrs["signal"]
                signal = signal.decode() if isinstance(signal, bytes) else str(signal)
                axes = group.attrs["axes"]
                axes = axes if isinstance(axes, (str, bytes)) else axes[0]
                axes = axes.decode() if isinstance(axes, bytes) else str(axes)
                check(len(group[axes]) - len(group[signal]) in (0, 1), f"{kind}: axis and signal")
                if "by_rank" in group:
                    kinds += 1
                    merged, ranks = group[signal][:], group["by_rank"][:]
                    check(merged.sum() == ranks.astype("u8").sum(), f"{kind}: {merged.sum()} != {ranks.sum()}")
            check(kinds > 0, "there is no histogram by rank")


def test_formulas():
    """Each figure has a formula that names columns of its row, and those that are plain quotients can be computed from it."""
    with Folder() as folder:
        write_job(folder, job(folder))
        check(mpi(2, "run", "job.json", cwd=folder).rc == 0, "run")
        with h5py.File(f"{folder}/results.h5") as f:
            seen = 0
            for name in ("phases/0_generate/ranks", "phases/1_train/ranks", "phases/1_train/epochs"):
                rows = f[name]
                columns = rows.dtype.names
                formulas = [text.decode() for text in rows.attrs["formulas"]]
                units = [text.decode() for text in rows.attrs["units"]]
                check(len(formulas) == len(columns) == len(units), f"{name}: {formulas}")
                for column, formula in zip(columns, formulas):
                    real = rows.dtype[column].kind == "f"
                    check(real == bool(formula), f"{name}: {column} has the formula {formula!r}")
                    if not real or "max(" in formula:
                        continue
                    for row in rows[:]:
                        terms = {c: float(row[c]) for c in columns}
                        below = formula.split(", unknown where ")
                        try:
                            value = eval(below[0], {}, terms)
                        except ZeroDivisionError:
                            value = math.nan
                        if len(below) > 1 and any(terms[c] == 0 for c in below[1].removesuffix(" is 0").split(" or ")):
                            value = math.nan
                        if math.isnan(value) or math.isnan(row[column]):
                            check(math.isnan(value) and math.isnan(row[column]), f"{name}: {column} = {formula}")
                            continue
                        near(value, row[column], 1e-9 * abs(row[column]), f"{name}: {column} = {formula}")
                        seen += 1
            check(seen > 40, f"only {seen} figures were computed")


def test_existing_file():
    with Folder() as folder:
        write_job(folder, job(folder))
        check(mpi(1, "run", "job.json", cwd=folder).rc == 0, "first")
        before = open(f"{folder}/results.h5", "rb").read()
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 2 and "results.h5 exists" in r.err and "--force" in r.err, f"{r}")
        check(open(f"{folder}/results.h5", "rb").read() == before, "the existing file was changed")
        check(mpi(2, "run", "job.json", "--force", cwd=folder).rc == 0, "--force")


def same_file(path, before, what):
    check(open(path, "rb").read() == before, f"{what}: the older file was changed")
    check(not parts_beside(path), f"{what}: a .part file is left")


def refusals(folder):
    """Runs that are refused when their first phase begins: there is another data set or none, or the store cannot be used."""
    blocked = f"{folder}/file"
    open(blocked, "w").close()
    return {"another data set": ["--set", "dataset.files=64"],
            "another data set, training": ["--skip", "generate", "--set", "dataset.files=64"],
            "no data set": ["--skip", "generate", "--set", f"stores.data.uri=file://{folder}/nothing"],
            "no store": ["--set", f"stores.data.uri=file://{blocked}/data"]}


def test_published_is_on_disk():
    """Before each rename of the results everything that was written to them is synced, and after it the folder is."""
    with Folder() as folder:
        write_job(folder, job(folder))
        trace = "trace=pwrite64,write,ftruncate,fallocate,fdatasync,fsync,rename,renameat2"
        r = subprocess.run(["strace", "-ff", "-y", "-e", trace, "-o", os.path.join(folder, "trace"), HAUL, "run", "job.json"],
                           cwd=folder, capture_output=True, text=True, timeout=HANGS_S, env=environment())
        check(r.returncode == 0, f"{r.stdout} {r.stderr}")
        renames = 0
        for name in (name for name in os.listdir(folder) if name.startswith("trace.")):
            synced, put = True, False
            for line in open(os.path.join(folder, name), errors="replace"):
                call = line.split("(")[0]
                if put:
                    check(call == "fsync" and f"<{os.path.realpath(folder)}>" in line, f"after a rename: {line}")
                    put = False
                elif "results.h5.part" in line and call.startswith("rename"):
                    check(synced, f"renamed before it was synced: {line}")
                    renames, put = renames + 1, True
                elif "results.h5.part" in line:
                    synced = call == "fdatasync"
        check(renames >= 4, f"only {renames} renames")  # the head, two phases, the end


def test_refused_run_leaves_the_older_file():
    with Folder() as folder:
        write_job(folder, job(folder))
        path = f"{folder}/results.h5"
        check(mpi(2, "run", "job.json", cwd=folder).rc == 0, "first")
        before = open(path, "rb").read()
        for what, words in refusals(folder).items():
            r = mpi(2, "run", "job.json", "--force", *words, cwd=folder)
            check(r.rc == 1 and r.err.count("haul: ") == 1 and "more:" not in r.err, f"{what}: {r}")
            same_file(path, before, what)
        os.unlink(path)
        for force in [], ["--force"]:
            for what, words in refusals(folder).items():
                r = mpi(2, "run", "job.json", *force, *words, cwd=folder)
                check(r.rc == 1 and "more:" not in r.err, f"{what}: {r}")
                check(not os.path.exists(path) and not parts_beside(path), f"{what}: a file is left")


def test_failed_run_replaces_and_names_its_results():
    with Folder() as folder:
        write_job(folder, job(folder))
        path = f"{folder}/results.h5"
        check(mpi(2, "run", "job.json", cwd=folder).rc == 0, "first")
        victim = sorted(n for n in os.listdir(f"{folder}/data") if n.endswith(".npz"))[17]
        os.truncate(f"{folder}/data/{victim}", 1000)
        for force in ["--force"], []:
            r = mpi(2, "run", "job.json", "--skip", "generate", "--set", "train.verify=full", "--grace", "60 s", *force, cwd=folder)
            check(r.rc == 1 and victim in r.err, f"{r}")
            check(r.err.count("more:") == 1 and r.err.endswith("\nmore: haul report results.h5\n"), f"{r}")
            got = report(path)
            check(got["status"] == "failed" and got["phases"][0]["kind"] == "train", f"{got['status']}")
            os.unlink(path)


def test_killed_before_the_first_publication():
    """With --force, the older file stays until the first publication. Without it, a killed run leaves a valid file."""
    with Folder() as folder:
        write_job(folder, job(folder))
        path = f"{folder}/results.h5"
        check(mpi(2, "run", "job.json", cwd=folder).rc == 0, "first")
        before = open(path, "rb").read()
        for force in True, False:
            if not force:
                os.unlink(path)
            waits_on = path + ".part-*" if force else path
            p = start(2, "run", "job.json", "--skip", "generate", "--set", "train.compute=100 s",
                      *["--force"] * force, cwd=folder, start_new_session=True)
            while not glob.glob(waits_on) and p.poll() is None:
                time.sleep(0.01)
            time.sleep(0.5)
            check(p.poll() is None, "the run has ended")
            kill_run(p, folder)
            if force:
                check(open(path, "rb").read() == before, "the older file was changed")
            else:
                got = report(path)
                check(got["status"] == "interrupted" and got["phases"] == [], f"{got}")


def test_reading_leaves_the_data_alone():
    """Reading results asks nothing of the stores that the run used: they may hang, or be gone."""
    with Folder() as folder:
        write_job(folder, job(folder))
        check(mpi(1, "run", "job.json", cwd=folder).rc == 0, "run")
        for words in (["report"], ["report", "--json"], ["report", "--scaling"], ["report", "--html", "page.html"],
                      ["compare", "results.h5"], ["check"], ["export", "--mlperf", "tree"]):
            trace = f"{folder}/trace"
            done = subprocess.run(["strace", "-f", "-o", trace, "-e", "trace=%file,%statfs", HAUL, *words, "results.h5"],
                                  cwd=folder, env=environment(), capture_output=True, text=True, timeout=HANGS_S)
            with open(trace, encoding="utf-8", errors="replace") as f:
                asked = [line for line in f if f"{folder}/data" in line]
            check(done.returncode in (0, 8) and not asked, f"{words}: {done}, {asked[:3]}")


@pauses(1, 10)
def test_steps_and_times_of_a_phase(slower):
    """On sim://, each step has a row, and the computing times of the steps add up to those of the accounts."""
    with Folder() as folder:
        write_job(folder, {"name": "steps", "stores": {"d": {"uri": "sim://d", "bandwidth": f"{10 // slower} MB/s"}},
                           "dataset": {"format": "raw", "files": 48, "sample_bytes": 100000},
                           "phases": [{"train": {"batch": 2, "compute": "30 ms", "null_steps": 0, "sync": "step"}}]})
        before = time.time()
        check(mpi(2, "run", "job.json", cwd=folder).rc == 0, "run")
        train = report(f"{folder}/results.h5")["phases"][0]
        steps, m = train["steps"], train["measures"]
        check(steps["step"] == list(range(1, 13)) and steps["steps_per_row"] == 1, f"{steps}")
        near(2 * sum(steps["compute_ns"]), m["compute_ns"] + m["oversleep_ns"] + m["copy_ns"], 100, "computing time")
        check(all(30e6 <= mean <= most for mean, most in zip(steps["compute_ns"], steps["compute_max_ns"])), f"{steps}")
        # The first batches of both ranks together are 400 kB at 10 MB/s or less, so at least one rank waits for them.
        check(steps["load_max_ns"][0] >= 20e6, f"{steps}")
        parts = sum(2 * sum(steps[f"{part}_ns"]) for part in ("load", "compute", "ranks"))
        check(0.5 * m["wall_sum_ns"] < parts <= m["wall_sum_ns"], f"{parts} of {m['wall_sum_ns']}")
        check(before <= train["started"] <= train["finished"] <= time.time(), f"{before}, {train}")
        check(train["finished"] - train["started"] >= train["seconds"], f"{train}")


def test_note_for_one_rank():
    with Folder() as folder:
        write_job(folder, {"name": "one", "stores": {"d": {"uri": "null://d"}},
                           "dataset": {"files": 4, "sample_bytes": 1000}, "phases": [{"train": {"null_steps": 0}}]})
        line = "1 rank; start it under mpiexec (or srun) for more"
        for words, times in (["run", "job.json"], 1), (["run", "job.json", "--quiet", "--force"], 0):
            r = alone(*words, cwd=folder)
            check(r.rc == 0 and r.err.count(line) == times and len(r.err.splitlines()) == times, f"{words}: {r}")
        r = mpi(1, "run", "job.json", "--force", cwd=folder)
        check(r.rc == 0 and line not in r.err, f"under mpiexec: {r}")


main()
