# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: what is written is a whole checkpoint or none, it is read by the same ranks and by other meshes, each reader
moves exactly its shard, and other programs open the files."""
import glob
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import time
import zipfile

import h5py
import numpy

from haultest import *

# 8 tensor ranks divide its heads, 2 pipeline stages do not divide its layers. About 1.2 million parameters.
MODEL = {"vocabulary": 1024, "hidden": 128, "feed_forward": 352, "layers": 5, "heads": 8, "kv_heads": 4}
# What of its time a rank may spend in.
ACCOUNTS = ("compute_ns", "open_ns", "first_byte_ns", "transfer_ns", "queue_ns", "ranks_ns", "collectives_ns", "decode_ns", "generate_ns",
            "copy_ns", "checkpoint_ns", "haul_ns")


def job(folder, *phases, uri=None):
    return {"seed": 7, "stores": {"c": {"uri": uri or f"file://{folder}/data"}},
            "phases": [{"checkpoint": {"name": f"phase{i}", "store": "c", "model": MODEL, "count": 1, "chunk": "64 KiB",
                                       "buffers": "512 KiB", **p}} for i, p in enumerate(phases)]}


def run(folder, ranks, *args):
    return mpi(ranks, "run", "job.json", "--force", *args, cwd=folder)


def phases(folder):
    return report(f"{folder}/results.h5")["phases"]


def stored(folder, suffix=""):
    """Bytes of the files that the checkpoints have, without markers."""
    return sum(os.path.getsize(p) for p in glob.glob(f"{folder}/data/checkpoints/*/*{suffix}"))


def test_layouts_are_written_and_read():
    """Every layout and framing, files shared by several writers; read by the same ranks, all bytes compared. Some stream,
    and some are made as a whole before they are written."""
    whole = {"fill": "whole"}
    cases = (("rank", "torch", {"zero": 3}, {}), ("layer", "safetensors", {"zero": 1, "pipeline": 2, "tensor": 2}, whole),
             ("distributed", "raw", {"zero": 0, "tensor": 2}, {}), ("shared", "raw", {"zero": 1, "tensor": 4}, whole))
    for layout, framing, mesh, more in cases:
        with Folder() as folder:
            write_job(folder, job(folder, {"layout": layout, "framing": framing, "mesh": mesh, "verify": "full",
                                           "writers": 2, "readers": 2, "count": 2, **more}))
            r = run(folder, 4)
            check(r.rc == 0, f"{layout}: {r}")
            phase = phases(folder)[0]
            m = phase["measures"]
            check(m["errors"] == 0 and m["written"] == 2 and m["read"] == 2, f"{layout}: {m}")
            check(m["bytes_written"] == stored(folder), f"{layout}: {m['bytes_written']} written, {stored(folder)} there")
            rows = phase["checkpoints"]
            check(sum(row["bytes_read"] for row in rows) == m["bytes_read"], f"{layout}: {rows}")
            with h5py.File(f"{folder}/results.h5") as f:
                rows = next(iter(f["phases"].values()))["ranks"][:]
            check(len(rows) == 4, f"{layout}: {rows}")
            for row in rows:
                check(sum(int(row[a]) for a in ACCOUNTS) == int(row["wall_ns"]) > 0, f"{layout}: the accounts of {row}")
            r = alone("clean", "job.json", cwd=folder)
            check(r.rc == 0 and not os.path.exists(f"{folder}/data/checkpoints"), f"{layout}: {r}")


@matrix
def test_another_mesh_reads_its_shard():
    """Written by 8 ranks, read by 8, 4 and 16 with meshes of their own: the bytes are those of the readers' shards."""
    meshes = (({"zero": 3, "tensor": 2}, "rank"), ({"zero": 1, "tensor": 2, "pipeline": 2}, "layer"))
    for written, layout in some(meshes, 2):
        with Folder() as folder:
            both = job(folder, {"layout": layout, "framing": "torch", "mesh": written, "operation": "write"})
            write_job(folder, both)
            r = run(folder, 8)
            check(r.rc == 0, f"{r}")
            whole = {**written, "data": 8 // (written["tensor"] * written.get("pipeline", 1))}
            for ranks, mesh in ((4, {"tensor": 4, "zero": 3}), (16, {"tensor": 4, "pipeline": 2, "zero": 1})):
                write_job(folder, job(folder, {"layout": layout, "framing": "torch", "mesh": whole, "operation": "read",
                                               "read_mesh": {"pipeline": 1, **mesh}, "verify": "full"}))
                r = run(folder, ranks)
                check(r.rc == 0, f"{layout} by {ranks}: {r}")
                phase = phases(folder)[0]
                planned = json.loads(alone("plan", "job.json", "--ranks-per-node", ranks, "--json", cwd=folder).out)
                check(phase["measures"]["errors"] == 0, f"{phase['measures']}")
                check(phase["measures"]["bytes_read"] <= planned["phases"][0]["bytes"],
                      f"{layout} by {ranks}: {phase['measures']['bytes_read']} of {planned['phases'][0]['bytes']}")


class Storages(pickle.Unpickler):
    """torch's pickle without torch: the persistent ids name the zip's records."""

    def find_class(self, module, name):
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, stride, *rest: (storage, tuple(shape))
        if module == "torch":
            return name
        return super().find_class(module, name)

    def persistent_load(self, pid):
        return pid


def test_others_open_the_files():
    with Folder() as folder:
        write_job(folder, job(folder, {"framing": "torch", "mesh": {"zero": 3}, "operation": "write"},
                              {"framing": "safetensors", "folder": "s", "mesh": {"zero": 3}, "operation": "write"}))
        r = run(folder, 2)
        check(r.rc == 0, f"{r}")
        files = glob.glob(f"{folder}/data/checkpoints/*/[a-z]*")
        check(len(files) == 4, f"{files}")
        for path in files:
            with zipfile.ZipFile(path) as z:
                check(z.testzip() is None, f"{path}: a checksum is wrong")
                name = next(n for n in z.namelist() if n.endswith("/data.pkl"))
                tensors = Storages(z.open(name)).load()
                for key, (storage, shape) in tensors.items():
                    data = z.read(name.replace("data.pkl", f"data/{storage[2]}"))
                    width = {"HalfStorage": 2, "FloatStorage": 4}[storage[1]]
                    check(len(data) == numpy.prod(shape) * width, f"{path}: {key} has {len(data)} bytes, shape {shape}")
        for path in glob.glob(f"{folder}/data/s/*/*.safetensors") + glob.glob(f"{folder}/data/s/*/*.pt"):
            with open(path, "rb") as f:
                size, = struct.unpack("<Q", f.read(8))
                header = json.loads(f.read(size))
            ends = sorted(t["data_offsets"] for k, t in header.items() if k != "__metadata__")
            check(ends[0][0] == 0 and 8 + size + ends[-1][1] == os.path.getsize(path), f"{path}: {ends}")


def test_a_flipped_byte_is_found():
    with Folder() as folder:
        write_job(folder, job(folder, {"framing": "raw", "mesh": {"zero": 3}, "operation": "write"},
                              {"framing": "raw", "mesh": {"zero": 3}, "operation": "read", "verify": "full"}))
        check(run(folder, 2, "--only", "phase0").rc == 0, "written")
        path = sorted(glob.glob(f"{folder}/data/checkpoints/000000/*_model_states*"))[0]
        with open(path, "r+b") as f:
            f.seek(70000)
            byte = f.read(1)[0]
            f.seek(70000)
            f.write(bytes([byte ^ 1]))
        r = run(folder, 2, "--only", "phase1")
        check(r.rc != 0 and "differs at byte 70000, in tensor model." in r.err, f"{r}")


def written_since(began, path):
    try:
        return os.path.getmtime(path) >= began
    except FileNotFoundError:
        return False


def test_parts_of_killed_runs_go():
    """What a killed run has left in the folders of checkpoints does not stay beside the next run's, and is in the way of none."""
    with Folder() as folder:
        write_job(folder, job(folder, {"count": 3, "keep": 1, "framing": "raw", "mesh": {"zero": 3}, "operation": "write"}))
        check(run(folder, 1).rc == 0, "written")
        last = f"{folder}/data/checkpoints/000002"
        marker = json.load(open(f"{last}/.haul-checkpoint.json"))
        parts = [f"{last}/{name}.haul-0123abcd" for name in os.listdir(last)]
        # Killed while a checkpoint was written again; before a marker was published; while a whole one's was replaced.
        for number, found in enumerate(({**marker, "whole": False}, None, marker)):
            os.makedirs(f"{folder}/data/checkpoints/{number:06}", exist_ok=True)
            if found:
                json.dump(found, open(f"{folder}/data/checkpoints/{number:06}/.haul-checkpoint.json", "w"))
            for part in parts if found and not found["whole"] else [f"{last}/.haul-checkpoint.json.haul-0123abcd"]:
                open(part.replace("000002", f"{number:06}"), "w").close()
        for count in (3, 4):
            write_job(folder, job(folder, {"count": count, "keep": 1, "framing": "raw", "mesh": {"zero": 3}, "operation": "write"}))
            r = run(folder, 1)
            stays = [n for n in os.listdir(f"{folder}/data/checkpoints") if n not in (".haul-made", f"{count - 1:06}")]
            check(r.rc == 0 and not stays, f"{count}: {r}: {list(os.walk(folder))}")


@matrix
def test_a_checkpoint_is_whole_or_none():
    """Kills at any moment: a reader takes no checkpoint whose marker does not say that it is whole, and what says so is."""
    with Folder() as folder:
        write_job(folder, job(folder, {"count": 200, "keep": 2, "framing": "raw", "mesh": {"zero": 3}, "operation": "write"},
                              {"count": 1, "framing": "raw", "mesh": {"zero": 3}, "operation": "read", "verify": "full"}))
        for kill in range(20 if FULL else 4):
            began = time.time()
            p = start(2, "run", "job.json", "--force", "--only", "phase0", cwd=folder, start_new_session=True)
            while p.poll() is None and not any(written_since(began, path)
                                               for path in glob.glob(f"{folder}/data/checkpoints/*/.haul-checkpoint.json")):
                time.sleep(0.01)
            check(p.poll() is None, "the run ended before it was killed")
            time.sleep(0.03 * kill)
            kill_run(p, folder)
            for marker in glob.glob(f"{folder}/data/checkpoints/*/.haul-checkpoint.json"):
                whole = json.load(open(marker))["whole"]
                # Beside them is what the kill has left of files that were not published.
                files = [n for n in glob.glob(os.path.dirname(marker) + "/[a-z]*") if not is_part(n)]
                check(not whole or len(files) == 4, f"{marker}: whole with {files}")
        # What is left of a checkpoint that was killed before its first marker, or after the last of it was removed.
        os.makedirs(f"{folder}/data/checkpoints/000197")
        os.makedirs(f"{folder}/data/checkpoints/000198")
        open(f"{folder}/data/checkpoints/000198/.haul-checkpoint.json.haul-0123abcd", "w").close()
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and not os.path.exists(f"{folder}/data/checkpoints"), f"{r}: {list(os.walk(folder))}")


def test_within_a_training():
    """A training writes whole checkpoints of the planned bytes beside its data set, tells what they cost, and they are read
    back; clean removes them."""
    with Folder() as folder:
        common = {"model": MODEL, "mesh": {"zero": 3}, "chunk": "64 KiB", "buffers": "512 KiB"}
        made = {"seed": 7, "stores": {"d": {"uri": f"file://{folder}/data"}},
                "dataset": {"store": "d", "format": "raw", "files": 48, "sample_bytes": 10000},
                "phases": [{"generate": {}},
                           {"train": {"epochs": 3, "batch": 2, "compute": "10 ms", "null_steps": 0, "verify": "full",
                                      "checkpoint": {"every_steps": 5, "every_epochs": 2, "first_epoch": 1, **common}}},
                           {"checkpoint": {"name": "read", "operation": "read", "count": 9, "verify": "full", **common}}]}
        write_job(folder, made)
        # 12 steps per epoch: checkpoints after 5, 10, ... 35, and after epochs 1 and 3, at steps 12 and 36.
        planned = json.loads(alone("plan", "job.json", "--ranks-per-node", 2, "--json", cwd=folder).out)["phases"][1]
        check(planned["totals"]["checkpoints"] == 9, f"{planned['totals']}")
        check(planned["memory_bytes_per_rank"] > 512 << 10, f"{planned['memory_bytes_per_rank']}")
        r = run(folder, 2)
        check(r.rc == 0, f"{r}")
        generated, train, within, read = phases(folder)
        check(within["kind"] == "checkpoint" and within["within"] == train["number"], f"{within}")
        written = within["measures"]["bytes_written"]
        check(written == planned["totals"]["bytes_written"] == stored(folder), f"{written} of {planned['totals']}, {stored(folder)}")
        rows = within["checkpoints"]
        check([row["checkpoint"] for row in rows] == list(range(1, 10)), f"{rows}")
        check(all(row["bytes_written"] == written // 9 for row in rows), f"{rows}")
        markers = glob.glob(f"{folder}/data/checkpoints/*/.haul-checkpoint.json")
        check(len(markers) == 9 and all(json.load(open(m))["whole"] for m in markers), f"{markers}")
        check(read["measures"]["read"] == 9 and read["measures"]["errors"] == 0, f"{read['measures']}")
        m, figures = train["measures"], train["figures"]
        check(m["checkpoints"] == 9 and m["checkpoint_ns"] > 0, f"{m}")
        check(0 < figures["au_with_checkpoints"] < figures["au"], f"{figures}")
        r = alone("clean", "job.json", cwd=folder)
        left = [n for t, _, names in os.walk(f"{folder}/data") for n in names]
        check(r.rc == 0 and not left, f"{r}: {left}")


def test_what_is_held_is_written():
    """A training holds its checkpoints in memory while they are written, with direct I/O: all bytes are right, and it takes no
    more memory for them than the plan says."""
    with Folder() as folder:
        common = {"model": MODEL, "mesh": {"zero": 1}, "layout": "layer", "chunk": "64 KiB", "buffers": "512 KiB",
                  "store": "c"}
        made = {"seed": 7, "stores": {"d": {"uri": "null://data"}, "c": {"uri": f"direct://{folder}/data"}},
                "dataset": {"store": "d", "format": "raw", "files": 24, "sample_bytes": 10000},
                "phases": [{"train": {"null_steps": 0, "compute": "10 ms", "checkpoint": {
                               "every_steps": 4, "async": "hold", "writers": 2, **common}}},
                           {"checkpoint": {"name": "read", "operation": "read", "count": 3, "verify": "full", **common}}]}
        write_job(folder, made)
        plans = {}
        for snapshot in ("none", "hold"):
            p = alone("plan", "job.json", "--set", f"train.checkpoint.async.snapshot={snapshot}", "--ranks-per-node", 2,
                      "--json", cwd=folder)
            check(p.rc == 0, f"{p}")
            plans[snapshot] = json.loads(p.out)["phases"][0]["memory_bytes_per_rank"]
        r = run(folder, 2)
        check(r.rc == 0, f"{r}")
        _, within, read = phases(folder)
        check(within["measures"]["written"] == 3 and read["measures"]["read"] == 3, f"{within}, {read}")
        check(read["measures"]["errors"] == 0, f"{read['measures']}")
        held, ring = within["measures"]["memory_bytes"], 512 << 10
        # The rank with the weights has most of it; the other one has half of the optimizer's states.
        check(held > within["checkpoints"][0]["bytes_written"] / 2, f"{held}: {within['checkpoints']}")
        # Memory comes in huge pages.
        check(held <= plans["hold"] - (plans["none"] - ring) + (2 << 20), f"{held} bytes, planned {plans}")
        text = alone("report", "results.h5", cwd=folder).out
        check(re.search(r"^phase .* memory$", text, re.M) and f" {held >> 20} MiB" in text, f"{held} bytes: {text}")


def test_order_of_calls():
    """No write after a file's fsync, the fsync before the rename, the folder's after it, and the marker last."""
    with Folder() as folder:
        made = job(folder, {"framing": "torch", "mesh": {"zero": 3}, "operation": "write"})
        made["stores"]["c"]["fsync"] = "folder"
        write_job(folder, made)
        trace = ["strace", "-f", "-y", "-e", "trace=pwrite64,write,fsync,fdatasync,rename,renameat,renameat2", "-o",
                 f"{folder}/trace", HAUL, "run", "job.json", "--force"]
        r = subprocess.run(trace, cwd=folder, capture_output=True, text=True, timeout=HANGS_S, env=environment())
        check(r.returncode == 0, f"{r.stdout}{r.stderr}")
        synced, renamed, last = set(), [], ""
        for line in open(f"{folder}/trace", errors="replace"):
            m = re.search(r"(pwrite64|fsync|fdatasync|rename\w*)\(.*?/data/checkpoints/000000/([^\">]*)", line)
            if not m:
                continue
            call, name = m.groups()
            last = name
            if call == "pwrite64":
                check(name not in synced or name.startswith(".haul"), f"written after its fsync: {line}")
            elif call.startswith("f") and name:
                synced.add(name)
            elif call.startswith("rename"):
                check(name in synced, f"renamed before its fsync: {line}")
                renamed.append(name)
        check(renamed and "haul-checkpoint" in renamed[-1], f"the marker is not the last: {renamed}")


@timing
def test_training_goes_on_while_a_checkpoint_is_written():
    """A checkpoint of 100 MB at 1 GB/s takes 100 ms, its copy at 20 GB/s takes 5: the training waits for the copy only,
    and computes as if there were no checkpoint."""
    def train(snapshot):
        return {"seed": 5, "stores": {"d": {"uri": "sim://data", "rank_bandwidth": "2 GB/s"},
                                      "c": {"uri": "sim://kept", "rank_bandwidth": "1 GB/s"}},
                "dataset": {"store": "d", "format": "raw", "files": 320, "sample_bytes": 100000},
                "phases": [{"generate": {}}, {"train": {
                    "batch": 4, "compute": "20 ms", "null_steps": 0, "epochs": 1, "checkpoint": {
                        "store": "c", "every_steps": 10,
                        "async": {"snapshot": snapshot, **({"d2h": "20 GB/s"} if snapshot == "copy" else {})},
                        "model": {"bytes": "100 MB"}, "chunk": "1 MiB", "buffers": "4 MiB", "framing": "raw"}}}]}
    with Folder() as folder:
        rows, au = {}, {}
        for snapshot in ("none", "copy"):
            write_job(folder, train(snapshot))
            r = run(folder, 1)
            check(r.rc == 0, f"{r}")
            _, training, checkpoints = phases(folder)
            took = machine_took_s(folder, training) / training["seconds"]
            rows[snapshot] = checkpoints["checkpoints"]
            au[snapshot] = training["figures"]["au"]
            near(au[snapshot], 1, 0.02 + 2 * took, f"{snapshot}: AU")
            check(checkpoints["within"] == training["number"] and len(rows[snapshot]) == 8, f"{len(rows[snapshot])} rows")
        for row in rows["copy"]:
            check(row["blocked_ns"] >= 5e6 and row["durable_ns"] >= 100e6, f"{row}")
        blocked = {k: sorted(row["blocked_ns"] for row in v)[len(v) // 2] for k, v in rows.items()}
        check(blocked["copy"] < 0.1 * blocked["none"] * (1 + 10 * took), f"{blocked}, the machine took {took}")


if __name__ == "__main__":
    main()
