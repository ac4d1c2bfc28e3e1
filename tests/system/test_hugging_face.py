# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's files of a checkpoint: json and struct read the headers; each element of each tensor is in one shard, and at
its place in the model's files; consolidation writes what is computed here; what a kill leaves visible is whole."""
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import time

from haultest import *
from test_distributed import DENSE, MESHES, MODELS, in_order, job, matrices, run, slices

WIDTHS = {"BF16": 2, "F32": 4, "F8_E4M3": 1, "F16": 2}
SHARD = 40000


def save(mesh, consolidate="rank", weights="bf16", **more):
    return {"mesh": mesh, "layout": "hf", "framing": "safetensors", "shard": SHARD, "consolidate": consolidate,
            "more": {"optimizer": "none", "weights": weights}, **more}


def opened(path):
    """The header of a file: its metadata, and name -> (type, shape, first byte, end)."""
    with open(path, "rb") as f:
        head, = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(head))
    check(os.path.getsize(path) == 8 + head + max((t["data_offsets"][1] for t in header.values() if "dtype" in t), default=0),
          f"{path}: a gap, or bytes behind")
    metadata = header.pop("__metadata__")
    return metadata, {name: (t["dtype"], t["shape"], *(8 + head + x for x in t["data_offsets"])) for name, t in header.items()}


def bytes_of(path, tensor):
    with open(path, "rb") as f:
        f.seek(tensor[2])
        return f.read(tensor[3] - tensor[2])


def filled(shapes, width, most):
    """Which file of the model each tensor is in: each has as many of the next as fit."""
    where, number, used = {}, 0, 0
    for name, shape in shapes:
        size = width * shape[0] * (shape[1] if len(shape) > 1 else 1)
        if used and used + size > most:
            number, used = number + 1, 0
        where[name] = number
        used += size
    return where, number + 1


def check_shards(folder, shapes, width, ranks):
    """All shards together: each tensor as bytes, made of its parts, and in which model file they are."""
    where, count = filled(shapes, width, SHARD)
    whole = {name: bytearray(width * shape[0] * (tuple(shape) + (1,))[1]) for name, shape in shapes}
    seen = {name: bytearray(len(b)) for name, b in whole.items()}
    for path in glob.glob(f"{folder}/sharded/*"):
        m = re.fullmatch(r"shard-(\d{5})-model-(\d{5})-of-(\d{5})\.safetensors", os.path.basename(path))
        check(m and 1 <= int(m[1]) <= ranks and int(m[3]) == count, path)
        metadata, tensors = opened(path)
        check(set(metadata) == {"DCP_SHARDING_INFO", "DCP_VERSION", "format"} and metadata["format"] == "pt", f"{metadata}")
        info = json.loads(metadata["DCP_SHARDING_INFO"])
        check(set(info) == set(tensors) and tensors, f"{path}: {set(info) ^ set(tensors)}")
        for name, t in tensors.items():
            check(where[name] + 1 == int(m[2]), f"{name} is in {path}")
            check(WIDTHS[t[0]] == width, f"{name}: {t[0]}")
            data, at = bytes_of(path, t), info[name]["saved_offsets"] + [0]
            row, pitch = width * (t[1] + [1])[1], width * (tuple(dict(shapes)[name]) + (1,))[1]
            for i in range(t[1][0]):
                begin = (at[0] + i) * pitch + at[1] * width
                check(not any(seen[name][begin:begin + row]), f"{name}: an element is there twice")
                seen[name][begin:begin + row] = b"\1" * row
                whole[name][begin:begin + row] = data[i * row:(i + 1) * row]
    for name, s in seen.items():
        check(all(s), f"{name}: elements are missing")
        check(len(set(whole[name])) > 1, f"{name} has no bytes")
    return whole, where, count


def check_model(folder, whole, where, count, shapes):
    """The model's files have each tensor once, with the bytes of its shards; the index names them."""
    names = [f"model-{i + 1:05d}-of-{count:05d}.safetensors" for i in range(count)]
    there = {}
    for name in names:
        metadata, tensors = opened(f"{folder}/{name}")
        check(metadata == {"format": "pt"}, f"{metadata}")
        for key, t in tensors.items():
            check(key not in there and names[where[key]] == name, f"{key}: in {name}")
            there[key] = name
            check(tuple(t[1]) == tuple(dict(shapes)[key]), f"{key}: {t[1]}")
            check(bytes_of(f"{folder}/{name}", t) == bytes(whole[key]), f"{key}: other bytes than its shards")
    with open(f"{folder}/model.safetensors.index.json") as f:
        index = json.load(f)
    check(index["weight_map"] == there and set(there) == set(whole), "the index names other files")
    check(index["metadata"]["total_size"] == sum(len(b) for b in whole.values()), f"{index['metadata']}")
    check(set(names_in(folder)) == set(names) | {"sharded", "model.safetensors.index.json", ".haul-checkpoint.json"}, f"{names_in(folder)}")


@matrix
def test_python_opens_what_is_written():
    """Three models, five meshes; the short form has each of them in some pair."""
    kinds = [("bf16", 2), ("fp32", 4), ("fp8", 1)]
    for k, model in enumerate(MODELS):
        weights, width = kinds[k]
        for i, mesh in enumerate(MESHES):
            if not FULL and i % 3 != k:
                continue
            with Folder() as folder:
                consolidate = ("rank", "ranks")[i % 2]
                more = {"expert": 2} if model == "experts" and mesh["zero"] == 3 and "tensor" in mesh else {}
                write_job(folder, job(folder, save({**mesh, **more}, consolidate, weights, consolidators=1 + 3 * (i % 2)), model=model))
                r = run(folder, 8)
                check(r.rc == 0, f"{model} {mesh}: {r}")
                shapes = in_order(MODELS[model])
                at = f"{folder}/data/checkpoints/000000"
                check_model(at, *check_shards(at, shapes, width, 8), shapes)
                p = report(f"{folder}/results.h5")["phases"][0]
                files = glob.glob(f"{at}/model-*")
                check(p["measures"]["consolidate_bytes"] == sum(os.path.getsize(f) for f in files), f"{p['measures']}")
                check(p["measures"]["bytes_written"] == sum(os.path.getsize(f) for f in glob.glob(f"{at}/sharded/*")), "bytes")
                check(p["figures"]["consolidate_seconds"] > 0, "seconds")


def test_shards_alone():
    with Folder() as folder:
        write_job(folder, job(folder, save({"zero": 3, "tensor": 2}, "none", operation="both", verify="full")))
        r = run(folder, 4)
        check(r.rc == 0, f"{r}")
        at = f"{folder}/data/checkpoints/000000"
        check_shards(at, in_order(DENSE), 2, 4)
        check(set(names_in(at)) == {"sharded", ".haul-checkpoint.json"}, f"{names_in(at)}")
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and not os.path.exists(f"{folder}/data/checkpoints"), f"{r}")


def test_what_is_refused():
    mesh = {"zero": 3}
    for wrong, why in ((save(mesh, more={"optimizer": "fp32"}), "weights only"), ({**save(mesh), "framing": "torch"}, "safetensors"),
                       ({**save(mesh), "layout": "dcp"}, "consolidate"), (save(mesh, "none", consolidators=2), "consolidators"),
                       (save(mesh, more={"optimizer": "none", "weights": "int4"}), "four bits")):
        with Folder() as folder:
            write_job(folder, job(folder, wrong))
            r = alone("check", "job.json", cwd=folder)
            check(r.rc != 0 and why in r.out + r.err, f"{why}: {r}")
    for store, why in (({"uri": "s3://bucket"}, "in place"), ({"direct": True}, "whole blocks")):
        with Folder() as folder:
            j = job(folder, save(mesh))
            j["stores"]["c"].update(store)
            write_job(folder, j)
            r = run(folder, 1)
            check(r.rc != 0 and (why in r.out + r.err or "direct" in r.out + r.err), f"{why}: {r}")


@matrix
def test_other_meshes_load_it():
    """With all bytes compared. Of the model's files a rank reads the rows of which it has something."""
    for consolidate in ("rank", "ranks") if FULL else ("ranks",):
        with Folder() as folder:
            write_job(folder, job(folder, save({"zero": 3, "tensor": 2}, consolidate)))
            r = run(folder, 8)
            check(r.rc == 0, f"{r}")
            for tensors, shards in ((1, 8), (2, 8), (4, 1)):
                write_job(folder, job(folder, save({"zero": 3, "tensor": 2, "data": 4}, consolidate, operation="read", verify="full", readers=2,
                                                   read_mesh={"pipeline": 1, "tensor": tensors, "zero": 3})))
                r = run(folder, tensors * shards)
                check(r.rc == 0, f"{tensors} x {shards}: {r}")
                p, read, needed = report(f"{folder}/results.h5")["phases"][0], 0, 0
                for name, shape in matrices(DENSE).items():
                    width = (tuple(shape) + (1,))[1]
                    for t in range(tensors):
                        for s in range(shards):
                            (_, rows), (_, columns) = (slices(name, shape, tensors, shards, t, s) + [(0, 1)])[:2]
                            if rows and columns:
                                read, needed = read + 2 * rows * width, needed + 2 * rows * columns
                check((p["measures"]["bytes_read"], p["measures"]["needed_bytes"]) == (read, needed),
                      f"{tensors} x {shards}: {p['measures']['bytes_read']}, {p['measures']['needed_bytes']}, not {read}, {needed}")
            made = f"{folder}/data/checkpoints/000000/model-00003-of-00033.safetensors"
            _, tensors = opened(made)
            name, t = next(iter(tensors.items()))
            with open(made, "r+b") as f:
                f.seek(t[3] - 1)
                last = f.read(1)
                f.seek(t[3] - 1)
                f.write(bytes([last[0] ^ 1]))
            r = run(folder, 4)
            check(r.rc != 0 and f"differs at byte {t[3] - 1}, in tensor {name}" in r.out + r.err, f"{r}")


def runs(shards, made, width, shapes):
    """The writes into a file of the model by hand, in order: its header, then of each shard in turn each tensor's rows."""
    _, to = opened(made)
    begin = min(t[2] for t in to.values())
    all = [(0, begin)]
    for path in shards:
        metadata, tensors = opened(path)
        info = json.loads(metadata["DCP_SHARDING_INFO"])
        for name, t in tensors.items():
            at, (rows, columns) = info[name]["saved_offsets"] + [0], (t[1] + [1])[:2]
            pitch = (tuple(shapes[name]) + (1,))[1]
            first = to[name][2] + (at[0] * pitch + at[1]) * width
            all += [(first, rows * columns * width)] if columns == pitch else \
                   [(first + i * pitch * width, columns * width) for i in range(rows)]
    return all


def traced_writes(folder, ranks):
    trace = f"exec strace -f -y --seccomp-bpf -e trace=pwrite64,fsync,rename,renameat,renameat2 -ttt -o {folder}/trace.$PMI_RANK {HAUL} run job.json --force"
    r = subprocess.run([MPIEXEC, "-n", str(ranks), "sh", "-c", trace], cwd=folder, capture_output=True, text=True, timeout=HANGS_S,
                       env=environment())
    check(r.returncode == 0, f"{r.stdout}{r.stderr}")
    calls = []
    for line in (x for path in glob.glob(f"{folder}/trace.*") for x in open(path, errors="replace")):
        m = re.search(r"^\d+ +([\d.]+) (pwrite64|fsync|rename\w*)\(.*/data/checkpoints/000000/([^\">]*)", line)
        n = re.search(r", (\d+), (\d+)(?:\) += \d+| <unfinished \.\.\.>)$", line)
        if m:
            calls.append((float(m[1]), m[2], m[3], (int(n[2]), int(n[1])) if n and m[2] == "pwrite64" else None))
    return sorted(calls)


def test_a_write_per_row():
    """Where ranks share the columns, a row is a write: their number, places and lengths are those by hand. Then an fsync of each
    file, and the index, renamed."""
    for consolidate, consolidators in (("rank", 1), ("ranks", 2)):
        with Folder() as folder:
            j = job(folder, save({"zero": 3, "tensor": 2}, consolidate, consolidators=consolidators), fsync="file")
            write_job(folder, j)
            calls = traced_writes(folder, 4)
            at = f"{folder}/data/checkpoints/000000"
            for made in glob.glob(f"{at}/model-*.safetensors"):
                name = os.path.basename(made)
                mine = [c for c in calls if c[2] == name]
                wanted = runs(sorted(glob.glob(f"{at}/sharded/shard-*-{name}")), made, 2, matrices(DENSE))
                check([c[3] for c in mine if c[1] == "pwrite64"] == wanted, f"{name}: {[c[3] for c in mine][:9]}, not {wanted[:9]}")
                check([c[1] for c in mine][-1] == "fsync" and sum(c[1] == "fsync" for c in mine) == 1, f"{name}: {mine[-3:]}")
                for shard in glob.glob(f"{at}/sharded/shard-*-{name}"):
                    check(max(c[0] for c in calls if c[2].endswith(os.path.basename(shard))) < mine[0][0], "before its shards")
            rows = [n for c in calls if c[1] == "pwrite64" and c[2].startswith("model-") for n in [c[3][1]]]
            # By hand: o_proj 128 x 128 and down_proj 128 x 344, of 5 layers, in two halves of each row.
            check(rows.count(128) >= 5 * 128 * 2 and rows.count(344) >= 5 * 128 * 2, f"{rows.count(128)}, {rows.count(344)}")
            renames = [c[2] for c in calls if c[1].startswith("rename") and not c[2].startswith(".haul")]
            check(renames == ["model.safetensors.index.json"] and calls[-1][1].startswith("rename"), f"{renames} {calls[-3:]}")
            p = report(f"{folder}/results.h5")["phases"][0]
            check(p["measures"]["consolidate_writes"] == len(rows), f"{p['measures']['consolidate_writes']} of {len(rows)}")


@timing
def test_consolidation_by_hand():
    """On a store of known speed: the sum of all requests of the one thread that consolidates, and visible after it."""
    with Folder() as folder:
        phase = save({"zero": 3}, more={"optimizer": "none", "weights": "bf16"})
        write_job(folder, job(folder, dict(phase, more=dict(phase["more"]))))
        r = run(folder, 2)
        check(r.rc == 0, f"{r}")
        at, seconds, rate = f"{folder}/data/checkpoints/000000", 0, 2e6
        for made in glob.glob(f"{at}/model-*.safetensors"):
            shards = sorted(glob.glob(f"{at}/sharded/shard-*-{os.path.basename(made)}"))
            # Opened and closed; each shard opened and read as a whole; each run written.
            seconds += 0.003 + 0.02 + sum(0.003 + os.path.getsize(s) / rate for s in shards)
            seconds += sum(n for _, n in runs(shards, made, 2, matrices(DENSE))) / rate
        index = 0.005 + 0.02 + os.path.getsize(f"{at}/model.safetensors.index.json") / rate
        j = job(folder, phase, uri="sim://known")
        j["stores"]["c"].update({"rank_bandwidth": "2 MB/s", "open_latency": "3 ms", "begin_latency": "5 ms", "commit_latency": "20 ms"})
        write_job(folder, j)
        r = run(folder, 2)
        check(r.rc == 0, f"{r}")
        p = report(f"{folder}/results.h5")["phases"][0]
        f, took = p["figures"], machine_took_s(folder, p)
        near(f["consolidate_seconds"], seconds, 0.02 * seconds + took, "consolidation")
        visible = f["durable_seconds"] + f["collective_seconds"] + seconds + index
        near(f["visible_seconds"], visible, 0.02 * visible + took, "visible")
        accounts = p["measures"]
        check(accounts["transfer_ns"] >= 0.98e9 * seconds, f"{accounts['transfer_ns']} ns of transfer, {seconds} s of consolidation")


def whole_from(folder, number):
    """Whether a checkpoint with that number or a later one is whole."""
    there = glob.glob(f"{folder}/data/checkpoints/*/model.safetensors.index.json")
    return any(int(os.path.basename(os.path.dirname(index))) >= number for index in there)


@matrix
def test_killed_while_it_consolidates():
    """What is visible when a run is killed is whole: haul reads it with all bytes compared."""
    with Folder() as folder:
        seen = midst = 0
        for kill in range(60 if FULL else 4):
            shutil.rmtree(f"{folder}/data", ignore_errors=True)
            consolidate = ("rank", "ranks")[kill % 2]
            write_job(folder, job(folder, save({"zero": 3, "tensor": 2, "data": 1}, consolidate, count=300, keep=2, purge=("thread", "ranks")[kill // 2 % 2])))
            p = start(2, "run", "job.json", "--force", cwd=folder, start_new_session=True)
            while p.poll() is None and not whole_from(folder, 2):
                time.sleep(0.01)
            check(p.poll() is None, "the run ended before it was killed")
            time.sleep(0.017 * (kill % 20))
            kill_run(p, folder)
            midst += any(glob.glob(f"{d}/model-*") and not os.path.exists(f"{d}/model.safetensors.index.json")
                         for d in glob.glob(f"{folder}/data/checkpoints/*"))
            for visible in sorted(glob.glob(f"{folder}/data/checkpoints/*/model.safetensors.index.json")):
                shutil.rmtree(f"{folder}/data/one", ignore_errors=True)
                shutil.copytree(os.path.dirname(visible), f"{folder}/data/one/000000")
                write_job(folder, job(folder, save({"zero": 3, "tensor": 2, "data": 1}, consolidate, folder="one", operation="read", verify="full")))
                r = run(folder, 2)
                check(r.rc == 0, f"{visible}: {r}")
                seen += 1
            # The next run overwrites what is left, and all of it can be removed.
            write_job(folder, job(folder, save({"zero": 3, "tensor": 2, "data": 1}, consolidate, count=2)))
            r = run(folder, 2)
            check(r.rc == 0, f"{r}")
            shutil.rmtree(f"{folder}/data/one", ignore_errors=True)
            r = alone("clean", "job.json", cwd=folder)
            check(r.rc == 0 and not os.path.exists(f"{folder}/data/checkpoints"), f"{r}")
        check(seen >= 4 and (midst or not FULL), f"{seen} were visible, {midst} were killed while they were consolidated")


if __name__ == "__main__":
    main()
