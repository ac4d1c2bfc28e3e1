# SPDX-License-Identifier: Apache-2.0
"""Model loading: each rank reads exactly its shard of safetensors files that other programs made, counted from outside, and
a model that is broken ends the run with a sentence."""
import glob
import json
import os
import re
import struct
import subprocess

from haultest import *

HIDDEN, HEADS, KV_HEADS, FEED, VOCABULARY, LAYERS = 64, 8, 2, 160, 512, 3
WIDTH = 2  # bytes of a BF16
HEAD = HIDDEN // HEADS
# Of a layer: name, shape, and the dimension by which tensor-parallel ranks divide it. Vectors have one dimension.
LAYER = (("input_layernorm.weight", (HIDDEN,), None), ("self_attn.q_proj.weight", (HIDDEN, HIDDEN), 0),
         ("self_attn.q_proj.bias", (HIDDEN,), 0), ("self_attn.k_proj.weight", (KV_HEADS * HEAD, HIDDEN), 0),
         ("self_attn.v_proj.weight", (KV_HEADS * HEAD, HIDDEN), 0), ("self_attn.o_proj.weight", (HIDDEN, HIDDEN), 1),
         ("post_attention_layernorm.weight", (HIDDEN,), None), ("mlp.gate_proj.weight", (FEED, HIDDEN), 0),
         ("mlp.up_proj.weight", (FEED, HIDDEN), 0), ("mlp.down_proj.weight", (HIDDEN, FEED), 1))
TENSORS = [("model.embed_tokens.weight", (VOCABULARY, HIDDEN), 0),
           *((f"model.layers.{layer}.{name}", shape, cut) for layer in range(LAYERS) for name, shape, cut in LAYER),
           ("model.norm.weight", (HIDDEN,), None), ("lm_head.weight", (VOCABULARY, HIDDEN), 0)]
ACCOUNTS = ("compute", "open", "first_byte", "transfer", "queue", "ranks", "decode", "generate", "copy", "checkpoint", "haul")
INDEX = "model.safetensors.index.json"


def size(shape):
    n = WIDTH
    for i in shape:
        n *= i
    return n


def safetensors(path, tensors, spoil=None):
    """A file of the format. Returns the bytes of its header, with the length before it."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, _ in tensors:
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size(shape)]}
        at += size(shape)
    if spoil:
        spoil(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + os.urandom(at))
    return 8 + len(text)


def make_model(folder, files=3, index=True, spoil=None):
    """The model in so many files. Returns the bytes of all headers."""
    os.makedirs(folder, exist_ok=True)
    names = [f"model-{i + 1:05}-of-{files:05}.safetensors" for i in range(files)]
    shares = [TENSORS[i * len(TENSORS) // files:(i + 1) * len(TENSORS) // files] for i in range(files)]
    headers = sum(safetensors(f"{folder}/{name}", share, spoil if i == 1 else None)
                  for i, (name, share) in enumerate(zip(names, shares)))
    if index:
        with open(f"{folder}/{INDEX}", "w") as f:
            json.dump({"metadata": {"total_size": sum(size(shape) for _, shape, _ in TENSORS)},
                       "weight_map": {name: file for file, share in zip(names, shares) for name, _, _ in share}}, f)
    return headers


def shard(tensor, rank, kv_heads=0):
    """The bytes of tensors that a rank reads: rows of what is cut by rows, and the whole of everything else."""
    total = 0
    for name, shape, cut in TENSORS:
        parts = tensor
        if kv_heads and re.search("[kv]_proj", name):
            parts = min(parts, kv_heads)
        if cut == 0 and parts == tensor:
            begin, end = shape[0] * rank // tensor, shape[0] * (rank + 1) // tensor
            total += (end - begin) * size(shape) // shape[0]
        else:
            total += size(shape) // (parts if cut == 0 else 1)
    return total


def job(place, **options):
    return {"stores": {"s": {"uri": f"file://{place}/data", "engine": "psync"}},
            "phases": [{"load": {"folder": "model", "chunk": "8 KiB", "buffers": "64 KiB", **options}}]}


def load(place, ranks, **options):
    write_job(place, job(place, **options))
    return mpi(ranks, "run", "job.json", "--force", cwd=place)


def rates(phase, case):
    """The bandwidths of a phase are those of its loads together."""
    f, m, rows = phase["figures"], phase["measures"], phase["loads"]
    first, last = (sum(row[f"{name}_ns"] for row in rows) / 1e9 for name in ("first", "load"))
    near(f["bytes_rate_first_done"], sum(row["first_bytes"] for row in rows) / first, 1, f"{case}: first done")
    near(f["bytes_rate_last_done"], sum(row["bytes"] for row in rows) / last, 1, f"{case}: last done")
    check(0 < f["bytes_rate_slowest_rank"] <= f["bytes_rate_last_done"] * 1.001, f"{case}: {f}")
    check(all(0 < row["first_bytes"] <= row["bytes"] for row in rows) and m["load_done_bytes"] == m["bytes_read"], f"{case}: {m}")


def test_ranks_read_their_shards():
    with Folder() as folder:
        headers = make_model(f"{folder}/data/model")
        for ranks, tensor, kv_heads, threads in ((1, 1, 0, 1), (2, 2, 0, 2), (4, 4, 0, 1), (4, 2, 0, 3), (4, 4, 2, 2)):
            case = f"{ranks} ranks, tensor {tensor}, {kv_heads} kv heads, {threads} threads"
            r = load(folder, ranks, tensor=tensor, kv_heads=kv_heads, threads=threads, count=2, pause="10 ms")
            check(r.rc == 0, f"{case}: {r}")
            phase = report(f"{folder}/results.h5")["phases"][0]
            m = phase["measures"]
            wanted = sum(shard(tensor, rank % tensor, kv_heads) for rank in range(ranks)) + ranks * headers
            check(m["bytes_read"] == 2 * wanted, f"{case}: {m['bytes_read']} read, {wanted} a load")
            check(m["null_bytes"] == 3 * (wanted - ranks * headers) and phase["figures"]["null_bytes_rate"] > 0, f"{case}: {m}")
            check(m["header_bytes"] == 2 * ranks * headers and m["files"] == 3 and m["loaded"] == 2, f"{case}: {m}")
            rows = phase["loads"]
            check([row["bytes"] for row in rows] == [wanted] * 2, f"{case}: {rows}")
            check(all(0 < row["header_ns"] <= row["load_ns"] and row["first_ns"] <= row["load_ns"] for row in rows),
                  f"{case}: {rows}")
            rates(phase, case)
            check(rows[1]["start_ns"] >= rows[0]["load_ns"] + 10e6, f"{case}: no pause: {rows}")
            if ranks == 1:
                near(sum(m[f"{name}_ns"] for name in ACCOUNTS), m["wall_ns"], 0, f"{case}: accounts")
        check(sum(size(shape) for _, shape, _ in TENSORS) == shard(1, 0), "one rank reads all")


def test_ready_job():
    """The job of the catalogue, on two of its eight ranks and a small model of that name."""
    with Folder() as folder:
        headers = make_model(f"{folder}/models/Llama-3.1-70B")
        r = mpi(2, "run", "llama3_70b_load", "--set", "load.pause=0", "--set", "load.cold=none", cwd=folder,
                env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{r}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        wanted = shard(8, 0) + shard(8, 1) + 2 * headers
        check([row["bytes"] for row in phase["loads"]] == [wanted] * 3 and phase["errors"] == 0, f"{phase['loads']}, {wanted}")


def test_one_rank_reads_for_others():
    """The first rank of each tensor group reads everything once, and the others get all of it."""
    with Folder() as folder:
        headers = make_model(f"{folder}/data/model")
        model = shard(1, 0)
        for ranks, tensor, threads in ((4, 4, 2), (4, 2, 1), (2, 1, 1)):
            case = f"{ranks} ranks, tensor {tensor}, {threads} threads"
            r = load(folder, ranks, tensor=tensor, threads=threads, readers="first", count=2)
            check(r.rc == 0, f"{case}: {r}")
            phase = report(f"{folder}/results.h5")["phases"][0]
            m, groups = phase["measures"], ranks // tensor
            check(m["bytes_read"] == 2 * groups * (model + headers), f"{case}: {m['bytes_read']} read of {model} + {headers}")
            check(m["null_bytes"] == 3 * groups * model, f"{case}: null pass of {m['null_bytes']}")
            check(m["handed_bytes"] == 2 * (ranks - groups) * model, f"{case}: {m['handed_bytes']} handed on")
            check([row["handed_bytes"] for row in phase["loads"]] == [(ranks - groups) * model] * 2, f"{phase['loads']}")
        with open(f"{folder}/data/model/model-00003-of-00003.safetensors", "r+b") as f:
            f.write(struct.pack("<Q", 1 << 40))
        r = load(folder, 4, tensor=4, readers="first", threads=2)
        check(r.rc != 0 and "at most 100 MB" in r.err, f"{r}")
        os.truncate(f"{folder}/data/model/model-00003-of-00003.safetensors", 0)
        r = load(folder, 4, tensor=4, readers="first", on_error="count")
        m = report(f"{folder}/results.h5")["phases"][0]["measures"]
        check(m["errors"] == 1 and 0 < m["handed_bytes"] < 3 * model and m["handed_bytes"] % 3 == 0, f"{m} {r}")


def test_calls():
    """strace counts what each rank reads of the files, with an index and without one; other files are left alone."""
    for index in (True, False):
        with Folder() as folder:
            headers = make_model(f"{folder}/data/model", index=index)
            # Not in the index; and without one, a copy of all the others.
            safetensors(f"{folder}/data/model/consolidated.safetensors", TENSORS)
            write_job(folder, job(folder, tensor=4, threads=2))
            r = subprocess.run([MPIEXEC, "-n", "4", "strace", "-ff", "-y", "-e", "trace=openat,pread64,preadv,preadv2,read",
                                "-o", f"{folder}/trace", HAUL, "run", "job.json", "--force"], cwd=folder, capture_output=True,
                               text=True, timeout=HANGS_S, env=environment())
            check(r.returncode == 0, f"{r.stdout}{r.stderr}")
            read, opened = 0, set()
            for path in glob.glob(f"{folder}/trace.*"):
                for line in open(path, errors="replace"):
                    name = re.search(r"/data/model/([^\">]*\.safetensors)[\">]", line)
                    if name and line.startswith("openat"):
                        opened.add(name[1])
                    elif name:
                        read += int(line.rsplit("= ", 1)[1].split()[0])
            wanted = sum(shard(4, rank) for rank in range(4)) + 4 * headers
            check(read == wanted, f"index {index}: {read} read, wanted {wanted}")
            check(len(opened) == 3 and "consolidated.safetensors" not in opened, f"{opened}")


def test_broken_models():
    """Each ends with a sentence that names the file, on all ranks."""
    second = "model-00002-of-00003.safetensors"
    key = "model.layers.1.self_attn.q_proj.weight"

    def overlap(header):
        header[key]["data_offsets"] = [x - WIDTH for x in header[key]["data_offsets"]]

    def beyond(header):
        header[key]["data_offsets"] = [x + (1 << 40) for x in header[key]["data_offsets"]]

    def more_in_index(folder):
        with open(f"{folder}/{INDEX}") as f:
            wrong = json.load(f)
        wrong["weight_map"]["other.weight"] = second
        with open(f"{folder}/{INDEX}", "w") as f:
            json.dump(wrong, f)

    def index(name):
        return lambda folder: json.dump({"weight_map": {"a": name}}, open(f"{folder}/{INDEX}", "w"))

    cases = (("overlap", overlap, None, second), ("beyond the file", beyond, None, f"{second}: tensor"),
             ("cut off", None, lambda folder: os.truncate(f"{folder}/{second}", 100), "longer than the file"),
             ("empty", None, lambda folder: os.truncate(f"{folder}/{second}", 0), "too short"),
             ("no last byte", None, lambda folder: os.truncate(f"{folder}/{second}", os.path.getsize(f"{folder}/{second}") - 1),
              "not in the file"),
             ("tensor that is not there", None, more_in_index, "lacks tensors that model.safetensors.index.json names in it"),
             ("another tensor", lambda header: header.update({"other": header.pop(key)}), None, "lacks tensors that model"),
             ("absent file", None, lambda folder: os.unlink(f"{folder}/{second}"), "No such file"),
             ("name that leaves", None, index("../x"), "is not the name of a file in the same folder"),
             ("index of nothing", None, index(7), "must map names of tensors to names of files"),
             ("no JSON", None, lambda folder: os.truncate(f"{folder}/{INDEX}", 50), INDEX),
             ("no model", None, lambda folder: [os.unlink(path) for path in glob.glob(f"{folder}/*")], "has neither"))
    for name, spoil, after, words in cases:
        with Folder() as folder:
            make_model(f"{folder}/data/model", spoil=spoil)
            if after:
                after(f"{folder}/data/model")
            r = load(folder, 2, tensor=2, threads=2)
            check(r.rc != 0 and words in r.err and "data/model" in r.err, f"{name}: {r}")


def test_errors_are_counted():
    """With on_error count, the other files are loaded."""
    with Folder() as folder:
        make_model(f"{folder}/data/model")
        path = f"{folder}/data/model/model-00002-of-00003.safetensors"
        with open(path, "r+b") as f:
            f.write(struct.pack("<Q", 1 << 40))
        r = load(folder, 2, tensor=2, on_error="count")
        m = report(f"{folder}/results.h5")["phases"][0]["measures"]
        check(m["errors"] == 2 and m["loaded"] == 1, f"{m} {r}")
        check(0 < m["bytes_read"] < 2 * shard(2, 0), f"{m}")


def test_plans():
    with Folder() as folder:
        make_model(f"{folder}/data/model")
        write_job(folder, job(folder, tensor=4))
        r = alone("plan", "job.json", "--ranks-per-node", 2, cwd=folder)
        check(r.rc == 0 and "when its files are read" in r.out and "the first 2" in r.out, f"{r}")
        r = alone("plan", "job.json", "--ranks-per-node", 6, cwd=folder)
        check(r.rc != 0 and "/tensor" in r.err, f"{r}")
        for options, words in (({"folder": "../x"}, "/folder"), ({"chunk": "1 MiB"}, "/chunk"), ({"threads": 9}, "/threads"),
                               ({"readers": "first", "kv_heads": 2}, "/kv_heads")):
            write_job(folder, job(folder, **options))
            r = alone("plan", "job.json", cwd=folder)
            check(r.rc != 0 and words in r.err, f"{options}: {r}")
        made = job(folder)
        made["stores"]["s"] = {"uri": "null://"}
        write_job(folder, made)
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc != 0 and "keeps no content" in r.err, f"{r}")


def test_cold_loads():
    """What is dropped before each load is not in the page cache when it is read."""
    with Folder(os.path.dirname(HAUL)) as folder:
        make_model(f"{folder}/data/model")
        os.sync()
        r = load(folder, 2, tensor=2, count=2, cold={"drop": "fadvise", "evidence": "64 KiB"})
        check(r.rc == 0, f"{r}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        m = phase["measures"]
        check(m["drop_ns"] > 0 and m["resident_bytes"] == 0, f"{m}")


if __name__ == "__main__":
    main()
