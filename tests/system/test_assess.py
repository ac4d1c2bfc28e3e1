# SPDX-License-Identifier: Apache-2.0
"""What a storage is good for (haul assess), on sim://, whose ceilings are known, and in files."""
import csv
import json
import os
import shutil
import signal
import time

import h5py

from assessing import SHAPES, assess, ceiling, confirm, workload
from haultest import *

MB = 1000 * 1000
# What one accelerator of each reads at the AU that it has to reach, by hand from the ready jobs: batch x bytes of a sample / compute x AU.
RESNET50 = 400 * 114660 / 0.224 * 0.9
COSMOFLOW = 2828486 / 0.0035 * 0.7
UNET3D = 7 * 146600628 / 0.323 * 0.9


@timing
@pauses(4, 40, 160)
def test_known(budget):
    """A store of 350 MB/s carries one accelerator of resnet50 (184 MB/s), two of retinanet (139 MB/s), none of unet3d (2.86 GB/s).
    There is no room for the data of a training, so none is measured."""
    with Folder() as folder:
        r, found = assess(folder, "sim://known", "--set", "bandwidth=350 MB/s", "--budget", f"{budget} s", "--space", "80 MiB", ranks=2)
        check(r.rc == 0, f"{r}")
        a = found["assess"]
        check((a["uri"], a["end"], a["ranks"], a["nodes"]) == ("sim://known", "found", 2, 1), f"{a}")
        for name in ("read", "write"):
            check(0.8 * 350 * MB < ceiling(found, name) < 1.05 * 350 * MB, f"{name}: {ceiling(found, name)}")
        # An object of 64 KiB is as many bytes of the same bandwidth.
        check(0.7 * 350 * MB < ceiling(found, "get") * 65536 < 1.05 * 350 * MB, f"{a['ceilings']}")
        check(all(row["value"] > 0 for row in a["ceilings"]), f"{a['ceilings']}")
        near(workload(found, "resnet50_h100")["bytes_per_second"], RESNET50, RESNET50 / 1000, "bytes of resnet50")
        near(workload(found, "unet3d_h100")["bytes_per_second"], UNET3D, UNET3D / 1000, "bytes of unet3d")
        near(workload(found, "cosmoflow_h100")["bytes_per_second"], COSMOFLOW, COSMOFLOW / 1000, "bytes of cosmoflow")
        check({row["name"]: row["carries"] for row in a["workloads"]} | {"resnet50_h100": 1, "retinanet_b200": 2, "unet3d_h100": 0, "cosmoflow_h100": 0}
              == {row["name"]: row["carries"] for row in a["workloads"]}, f"{a['workloads']}")
        check({row["basis"] for row in a["workloads"]} == {"follows"}, f"{a['workloads']}")
        # A request of a user alone takes longer than its 200 ms.
        users = workload(found, "kvcache_users")
        check((users["unit"], users["carries"], users["target"]) == ("users", 0, 0.2) and users["written_per_second"] > 1 * MB, f"{users}")
        # All of a run: its data are written, then 5 epochs of 1,024 x 1,251 samples in steps of 400 take 224 ms / 0.9 each.
        full = 1024 * 1251 * 114720 / ceiling(found, "write") + 5 * (1024 * 1251 // 400) * 0.224 / 0.9
        near(workload(found, "resnet50_h100")["full_seconds"], full, full / 100, "a full run of resnet50")
        check("sim://known reads 3" in found["headline"] and "it carries 1 accelerator of resnet50_h100, 2 accelerators of retinanet_b200" in found["headline"],
              found["headline"])
        text = " ".join(r.out.split())
        check("resnet50_h100 1 accelerator reading streams follows" in text and "These figures hold for 2 ranks on 1 node" in text, r.out)
        check("What would raise it: reading streams: more bandwidth" in text, r.out)
        check(max(len(line) for line in r.out.split("\n") if line.startswith(("unet3d", "llama3", "workload"))) <= 80, r.out)
        with h5py.File(f"{folder}/results.h5") as h:
            rows = {row["name"].decode(): row for row in h["assess/workloads"][:]}
            check(rows["retinanet_b200"]["carries"] == 2 and rows["retinanet_b200"]["limit"] == b"read", f"{rows}")
            check(h["assess"].attrs["read"] == ceiling(found, "read") and h.attrs["runs"] == found["runs"], "/assess")
        page = alone("report", "--html", "page.html", "results.h5", cwd=folder)
        check(page.rc == 0 and '"raised_by":"reading streams' in open(f"{folder}/page.html").read(), f"{page}")


def users_job(**store):
    with open(f"{os.environ['HAUL_SOURCE']}/workloads/catalog/kvcache_users.json", encoding="utf-8") as file:
        return {**json.load(file), "stores": {"cache": store}}


@pauses(4, 40, 160)
def test_users(budget):
    """What a user reads and writes, as the plan says, is what its trace has. A store with room for all of it says how many there are at most."""
    with Folder() as folder:
        write_job(folder, users_job(uri="sim://known"))
        r = alone("plan", "job.json", "--json", cwd=folder)
        check(r.rc == 0, f"{r}")
        totals = json.loads(r.out)["phases"][0]["totals"]
        r = mpi(1, "run", "job.json", "--force", "--set", "kvcache.trace=trace.csv", cwd=folder)
        check(r.rc == 0, f"{r}")
        with open(f"{folder}/trace.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for total, operation in (("user_reads_per_second", "Read"), ("user_writes_per_second", "Write")):
            moved = sum(int(row["Object_Size_Bytes"]) for row in rows if row["Operation"] == operation) / 50 / 30
            near(totals[total], moved, moved / 100, total)
        r, found = assess(folder, "sim://fast", "--set", "bandwidth=0", "--budget", f"{budget} s", "--space", "80 MiB")
        row = workload(found, "kvcache_users")
        most = min(ceiling(found, "read") / totals["user_reads_per_second"], ceiling(found, "write") / totals["user_writes_per_second"])
        fast = totals["request_bytes_p95"] <= 0.2 * max(ceiling(found, "read"), ceiling(found, "write"))
        check(row["follows"] == (int(most) if fast else 0) and row["basis"] == ("unknown" if fast else "follows"), f"{row}: {totals}")
        check((f"at most {int(most):,} users" in r.out and "is measured by a run of its own" in " ".join(r.out.split())) == fast, r.out)


@long
def test_users_confirmed():
    """Where none is carried, a few of them miss their target."""
    with Folder() as folder:
        store = {"uri": "sim://known", "bandwidth": "600 MB/s"}
        r, found = assess(folder, store["uri"], "--set", "bandwidth=600 MB/s", "--budget", "4 s", "--space", "80 MiB")
        check(r.rc == 0 and workload(found, "kvcache_users")["carries"] == 0, f"{r}")
        write_job(folder, users_job(**store))
        r = mpi(1, "run", "job.json", "--force", "--set", "kvcache.users=4", cwd=folder)
        check(r.rc == 0, f"{r}")
        target = next(t for t in report(f"{folder}/results.h5")["phases"][0]["targets"] if t["name"] == "target_request_p95")
        check(target["found"] > 200e6, f"{target}")


def time_of_requests(folder, job, users):
    """What 95 of 100 requests of so many users take, in a run of its own."""
    write_job(folder, job)
    r = mpi(1, "run", "job.json", "--force", "--results", "alone.h5", "--set", f"kvcache.users={users}", cwd=folder)
    check(r.rc == 0, f"{r}")
    return next(t["found"] for t in report(f"{folder}/alone.h5")["phases"][0]["targets"] if t["name"] == "target_request_p95") / 1e9


@long
@timing
def test_users_measured():
    """Users who ask every second, for 300 KB on average, which are written and read twice: 50 of them ask a store of 50 MB/s for all that it gives. How many
    have their answers in time is confirmed by runs of their own."""
    store = {"uri": "sim://known", "bandwidth": "50 MB/s"}
    job = users_job(**store)
    job["phases"][0]["kvcache"].update(
        users=4, duration="3 s", target_request_p95="400 ms", conversation={"enabled": False}, prefix={"enabled": False},
        templates=[{"name": "short", "context_min": 4, "context_max": 4, "generate_min": 1, "generate_max": 1, "think_min": "1 s", "think_max": "1 s"}])
    with Folder() as folder:
        shutil.copytree(f"{os.environ['HAUL_SOURCE']}/workloads/catalog", f"{folder}/catalog")
        write_job(f"{folder}/catalog", {**job, "stores": {"cache": {"uri": "file://${HAUL_DATA}/x"}}}, "kvcache_users.json")
        r, found = assess(folder, store["uri"], "--set", "bandwidth=50 MB/s", "--budget", "150 s", "--space", "64 MiB", env={"HAUL_CATALOG": f"{folder}/catalog"})
        check(r.rc == 0, f"{r}")
        row = workload(found, "kvcache_users")
        check(row["basis"] == "measured" and 0 < row["carries"] < 60 and row["limit"] == "requests", f"{row}: {r}")
        step = row["step"]
        check(1 <= step <= 32 and row["carries"] % step == 0, f"{row}")
        check(row["carries"] == step or time_of_requests(folder, job, int(row["carries"] - step)) <= 0.4, f"{row}")
        check(time_of_requests(folder, job, int(row["carries"] + 2 * step)) > 0.4, f"{row}")


@pauses(10, 60, 240)
def test_files(budget):
    """Files are read cold, and nothing is left."""
    with Folder() as folder:
        began = time.monotonic()
        r, found = assess(folder, f"file://{folder}/data", "--budget", f"{budget} s", "--grace", "300 s", "--space", "64 MiB", "--set", "engine=psync")
        check(r.rc == 0 and time.monotonic() - began < budget + 30, f"{r}")
        check(ceiling(found, "read") > 0 and ceiling(found, "commit") > 0, f"{found['assess']}")
        check(not any(files for _, _, files in os.walk(f"{folder}/data")), "files are left")
        check(all(s["engine"] == "psync" for s in found["stores"]), f"{found['stores']}")
        check(sum(p["bytes_written"] for p in found["phases"] if p["name"] in ("write", "make")) <= 2 * (64 << 20) + (8 << 20), "more than --space")
        checkpoints = workload(found, "llama3_8b")
        wanted = 3600 / (checkpoints["data_bytes"] / ceiling(found, "write") + checkpoints["data_bytes"] / ceiling(found, "read"))
        near(checkpoints["carries"], wanted, wanted / 1000, "checkpoints an hour")
        check(checkpoints["unit"] == "checkpoints/h" and checkpoints["data_bytes"] > 112e9, f"{checkpoints}")


@long
@timing
def test_confirmed():
    """A store of 600 MB/s: one accelerator of cosmoflow, four of retinanet."""
    confirm({"uri": "sim://known", "bandwidth": "600 MB/s"}, ("cosmoflow_h100", "retinanet_b200"), 6, "--budget", "5 s", "--space", "256 MiB")


@long
@timing
def test_three_confirmed():
    confirm({"uri": "sim://known", "bandwidth": "600 MB/s"}, SHAPES, 6, "--budget", "30 s")


@long
@timing
def test_three_confirmed_in_files():
    confirm({"uri": "file://FOLDER/data"}, SHAPES, 4, "--budget", "60 s", "--space", "1 GiB")


@long
def test_settings():
    """A store whose answers take 5 ms gives more the more requests there are at once."""
    with Folder() as folder:
        r, found = assess(folder, "sim://far", "--set", "bandwidth=2 GB/s", "--set", "latency=5 ms", "--budget", "60 s", "--space", "64 MiB")
        check(r.rc == 0, f"{r}")
        random = next(row for row in found["assess"]["ceilings"] if row["name"] == "random")
        check(random["settings"] in ("threads=16 depth=8", "threads=4 depth=32") and random["settings"] in r.out, f"{random}")
        # 128 at once, each 5 ms; 4 of them were 800 per second.
        check(20000 < random["value"] < 26000, f"{random}")


def test_plan():
    """How long, and how much: without a run."""
    with Folder() as folder:
        r = alone("assess", f"file://{folder}/data", "--plan", "--budget", "10 min", cwd=folder)
        check(r.rc == 0 and "takes up to 10 min · writes at most 16 GiB at a time" in r.out, f"{r}")
        check("ends after 18.5 s" in r.out and not os.path.exists(f"{folder}/data"), r.out)
        r = mpi(4, "assess", f"file://{folder}/data", "--plan", "--budget", "10 min", cwd=folder)
        check(r.rc == 0 and r.out.count("assess     takes up to 10 min") == 1 and "4 on 1 node" in r.out, f"{r}")


def test_refused():
    cases = [
        (("file:/nowhere",), "not a URI"),
        (("sim://x", "--budget", "1 s"), "--budget: must be at least"),
        (("sim://x", "--set", "bandwith=1 GB/s"), "did you mean \"bandwidth\""),
        (("file:///dev/null/x", "--space", "1 GiB"), "/dev/null"),
    ]
    with Folder() as folder:
        for words, sentence in cases:
            for more in ((), ("--plan",)):
                r = alone("assess", *words, *more, cwd=folder)
                if not more or "dev/null" not in words[0]:
                    check(r.rc in (1, 2) and sentence in r.err and r.err.count("\n") <= 3, f"{words}: {r}")
        check(not os.path.exists(f"{folder}/results.h5"), "results")
        # More than there is room for.
        r = alone("assess", f"file://{folder}/data", "--space", "900 TiB", cwd=folder)
        check(r.rc == 2 and "free" in r.err, f"{r}")


def test_signal():
    """A run that is stopped keeps what it knows, and --clean removes what it has left."""
    with Folder() as folder:
        uri = f"file://{folder}/data"
        process = start(1, "assess", uri, "--budget", "10 min", "--space", "1 GiB", "--grace", "60 s", cwd=folder)
        began = time.monotonic()
        while time.monotonic() - began < HANGS_S and not (os.path.isdir(f"{folder}/data/assess/write") and os.listdir(f"{folder}/data/assess/write")):
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        finish(process, began)
        found = report(f"{folder}/results.h5")
        check(found["assess"]["end"] == "stopped" and workload(found, "unet3d_h100")["basis"] == "unknown", f"{found['assess']}")
        check(found["headline"].startswith("Stopped early: "), found["headline"])
        r = alone("assess", uri, "--budget", "10 min", "--space", "1 GiB", "--clean", cwd=folder)
        check(r.rc == 0 and not any(files for _, _, files in os.walk(f"{folder}/data")), f"{r}")


def test_stopped_rank():
    """Where a rank does not come to an end in the first run, the card says what it is of, and how it ended."""
    with Folder(MEMORY) as folder, Folder() as disk:
        uri = f"file://{disk}/data"
        process = start(2, "assess", uri, "--budget", "10 min", "--space", "1 GiB", "--grace", "2 s", cwd=folder)
        began = time.monotonic()
        while time.monotonic() - began < HANGS_S and not (os.path.isdir(f"{disk}/data/assess/write") and os.listdir(f"{disk}/data/assess/write")):
            time.sleep(0.05)
        freeze(ranks_of(process)[1])
        process.send_signal(signal.SIGTERM)
        r = finish(process, time.monotonic())
        found = report(f"{folder}/results.h5")
        a = found["assess"]
        check((a["uri"], a["end"], a["ranks"]) == (uri, "stopped", 2) and found["headline"].startswith(f"Stopped early: {uri}: "), f"{found['headline']}: {a}: {r}")


main()
