# SPDX-License-Identifier: Apache-2.0
"""torch's distributed checkpoints: without torch, Python opens .metadata and every item; each element of each tensor of the
model is there once; names, counts and bytes are those of formulas that stand here; other meshes load them."""
import glob
import io
import json
import math
import os
import pickle
import re
import shutil
import struct
import subprocess
import time
import zipfile

from haultest import *

DENSE = {"vocabulary": 1000, "hidden": 128, "feed_forward": 344, "layers": 5, "heads": 8, "kv_heads": 4}
MODELS = {"dense": DENSE,
          "tied": {"vocabulary": 500, "hidden": 96, "feed_forward": 250, "layers": 3, "heads": 6, "kv_heads": 3, "tied": True},
          "experts": {"vocabulary": 512, "hidden": 64, "feed_forward": 128, "layers": 4, "heads": 4, "kv_heads": 4,
                      "family": "mixtral", "experts": 8, "expert_feed_forward": 96}}
MESHES = ({"zero": 3}, {"zero": 3, "tensor": 2}, {"zero": 3, "replicate": 2}, {"zero": 1, "pipeline": 2, "tensor": 2},
          {"zero": 0, "tensor": 4, "data": 2})
WIDTHS = {"float16": 2, "bfloat16": 2, "float32": 4, "float8_e4m3fn": 1}


class Metadata(pickle.Unpickler):
    """Torch's classes without torch."""

    def find_class(self, module, name):
        if name == "Size":
            return tuple
        return type(name, (), {"__init__": lambda self, *a: None,
                               "__setstate__": lambda self, s: self.__dict__.update(s if isinstance(s, dict) else {"state": s})})


class Item(pickle.Unpickler):
    def find_class(self, module, name):
        if name.startswith("_rebuild_tensor"):
            return lambda storage, offset, shape, *rest: (storage, shape)
        return name if module.startswith("torch") else super().find_class(module, name)

    def persistent_load(self, pid):
        return pid


def matrices(m):
    """The model's weights by hand: name -> rows and columns."""
    hidden, head = m["hidden"], m["hidden"] // m["heads"]
    kv, ff = m["kv_heads"] * head, m["feed_forward"]
    all = {"model.embed_tokens.weight": (m["vocabulary"], hidden), "model.norm.weight": (hidden,)}
    if not m.get("tied"):
        all["lm_head.weight"] = (m["vocabulary"], hidden)
    for i in range(m["layers"]):
        n = f"model.layers.{i}."
        all |= {n + "input_layernorm.weight": (hidden,), n + "post_attention_layernorm.weight": (hidden,),
                n + "self_attn.q_proj.weight": (hidden, hidden), n + "self_attn.k_proj.weight": (kv, hidden),
                n + "self_attn.v_proj.weight": (kv, hidden), n + "self_attn.o_proj.weight": (hidden, hidden)}
        if "experts" not in m:
            all |= {n + "mlp.gate_proj.weight": (ff, hidden), n + "mlp.up_proj.weight": (ff, hidden),
                    n + "mlp.down_proj.weight": (hidden, ff)}
            continue
        n += "block_sparse_moe."
        all[n + "gate.weight"] = (m["experts"], hidden)
        for e in range(m["experts"]):
            all |= {f"{n}experts.{e}.w{w}.weight": (m["expert_feed_forward"], hidden) if w != 2 else
                    (hidden, m["expert_feed_forward"]) for w in (1, 2, 3)}
    return all


def entries(m, layout="dcp", optimizer=True):
    all = matrices(m)
    for name, shape in list(all.items()) if optimizer else ():
        states = {"step": (), "exp_avg": shape, "exp_avg_sq": shape} if layout == "dcp" else \
                 {"fp32_param": shape, "exp_avg": shape, "exp_avg_sq": shape}
        all |= {f"optimizer.state.{name}.{state}": of for state, of in states.items()}
    return all


def job(folder, *phases, model="dense", uri=None, fsync=None):
    return {"seed": 7, "stores": {"c": {"uri": uri or f"file://{folder}/data", **({"fsync": fsync} if fsync else {})}},
            "phases": [{"checkpoint": {"name": f"phase{i}", "store": "c", "count": 1, "chunk": "64 KiB", "buffers": "512 KiB",
                                       "null_passes": 0, "layout": "dcp", "operation": "write",
                                       "model": {"tensors": "separate", **MODELS[model], **p.pop("more", {})}, **p}}
                       for i, p in enumerate(phases)]}


def run(folder, ranks, *args):
    return mpi(ranks, "run", "job.json", "--force", *args, cwd=folder)


def load(path):
    with open(path, "rb") as f:
        return Metadata(f).load()


def storage(metadata):
    """(name, offsets) -> where it is; no two of them are alike."""
    all = [((k.fqn, k.offset), v) for k, v in metadata.storage_data.items()]
    check(len(dict(all)) == len(all), "two items of one chunk")
    return dict(all)


def npm_opens(path, m):
    """npm's pickleparser finds the same chunks and sizes."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "read_metadata.mjs")
    npm = os.environ.get("HAUL_NPM", os.path.join(os.path.dirname(script), "../../build/npm"))
    r = subprocess.run(["node", script, path], capture_output=True, text=True, env={**os.environ, "HAUL_NPM": npm})
    check(r.returncode == 0, f"pickleparser: {r.stderr}")
    told = json.loads(r.stdout)
    mine = sorted([k.fqn, list(k.offset), v.relative_path, v.offset, v.length] for k, v in m.storage_data.items())
    check(sorted(told["chunks"]) == mine, "pickleparser has other chunks")
    check(told["sizes"] == {name: list(t.size) for name, t in m.state_dict_metadata.items()}, "pickleparser has other sizes")


def check_item(data, name, sizes, dtype):
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        check(z.testzip() is None, f"{name}: a checksum is wrong")
        kept, shape = Item(z.open("archive/data.pkl")).load()
        check(tuple(shape) == tuple(sizes), f"{name}: {shape}, not {sizes}")
        check(len(z.read(f"archive/data/{kept[2]}")) == math.prod(sizes) * WIDTHS[dtype], f"{name}: bytes of {sizes}")


def check_files(folder, wanted, framing="torch"):
    """Each element of each tensor is in one item, which the metadata finds."""
    m = load(f"{folder}/.metadata")
    check(set(m.state_dict_metadata) == set(wanted), f"{set(m.state_dict_metadata) ^ set(wanted)}")
    npm_opens(f"{folder}/.metadata", m)
    kept, used = storage(m), {}
    for name, shape in wanted.items():
        t = m.state_dict_metadata[name]
        check(tuple(t.size) == shape, f"{name}: {t.size}, not {shape}")
        dtype, seen = t.properties.state[0].__name__, bytearray(math.prod(shape))
        for c in t.chunks:
            at = kept.pop((name, c.offsets))
            with open(f"{folder}/{at.relative_path}", "rb") as f:
                f.seek(at.offset)
                data = f.read(at.length)
            used[at.relative_path] = used.get(at.relative_path, 0) + at.length
            if framing == "torch":
                check_item(data, name, c.sizes, dtype)
            else:
                check(len(data) == math.prod(c.sizes) * WIDTHS[dtype], f"{name}: {len(data)} bytes")
            rows, columns = (c.sizes + (1, 1))[:2]
            for row in range(rows):
                begin = ((c.offsets + (0, 0))[0] + row) * (shape + (1, 1))[1] + (c.offsets + (0, 0))[1]
                check(not any(seen[begin:begin + columns]), f"{name}: elements are there twice")
                seen[begin:begin + columns] = b"\1" * columns
        check(all(seen), f"{name}: elements are missing")
    check(not kept, f"items of no tensor: {list(kept)[:3]}")
    for path, bytes in used.items():
        size = os.path.getsize(f"{folder}/{path}")
        if framing == "safetensors":
            with open(f"{folder}/{path}", "rb") as f:
                head, = struct.unpack("<Q", f.read(8))
                json.loads(f.read(head))
            size -= 8 + head
        check(bytes == size, f"{path}: {bytes} of {size} bytes are items")
    return used


@matrix
def test_python_opens_what_is_written():
    """Three models, five meshes: every tensor is there once, with the right slice; the names are torch's."""
    cases = [(model, mesh, layout) for model in MODELS for mesh in MESHES
             for layout in (("dcp", "megatron") if mesh["zero"] < 3 else ("dcp",))]
    for model, mesh, layout in some(cases, 3):
        more = {"expert": 2} if model == "experts" and mesh["zero"] == 3 and "tensor" in mesh else {}
        with Folder() as folder:
            write_job(folder, job(folder, {"mesh": {**mesh, **more}, "layout": layout}, model=model))
            r = run(folder, 8)
            check(r.rc == 0, f"{model} {mesh}: {r}")
            used = check_files(f"{folder}/data/checkpoints/000000", entries(MODELS[model], layout))
            check(set(used) == {f"__{i}_0.distcp" for i in range(8)}, f"{model} {mesh}: {sorted(used)}")
            there = set(names_in(f"{folder}/data/checkpoints/000000"))
            check(there == set(used) | {".metadata", ".haul-checkpoint.json"}, f"{there}")


def test_formats_and_weights_only():
    for framing, weights in (("torch", "fp32"), ("torch", "bf16"), ("torch", "fp8"), ("safetensors", "bf16")):
        with Folder() as folder:
            write_job(folder, job(folder, {"mesh": {"zero": 3}, "framing": framing,
                                           "more": {"weights": weights, "optimizer": "none"}}))
            r = run(folder, 4)
            check(r.rc == 0, f"{weights}: {r}")
            check_files(f"{folder}/data/checkpoints/000000", entries(DENSE, optimizer=False), framing)


def test_other_meshes_load_it():
    """8 ranks write; 8, 4 and 16 of other meshes read with all bytes compared. What they read is what stands here."""
    for written in ({"zero": 3, "tensor": 2, "data": 4}, {"zero": 1, "tensor": 2, "pipeline": 2, "data": 2}):
        with Folder() as folder:
            write_job(folder, job(folder, {"mesh": written}))
            r = run(folder, 8)
            check(r.rc == 0, f"{r}")
            m = load(f"{folder}/data/checkpoints/000000/.metadata")
            for ranks, mesh in ((8, {"zero": 3}), (4, {"zero": 3, "tensor": 4}), (16, {"zero": 3, "tensor": 2})):
                write_job(folder, job(folder, {"mesh": written, "operation": "read", "verify": "full", "readers": 2,
                                               "read_mesh": {"pipeline": 1, "tensor": 1, **mesh}}))
                r = run(folder, ranks)
                check(r.rc == 0, f"{mesh} by {ranks}: {r}")
                p = report(f"{folder}/results.h5")["phases"][0]
                read, needed = amplified(m, mesh.get("tensor", 1), ranks // mesh.get("tensor", 1))
                check(p["measures"]["errors"] == 0 and p["measures"]["bytes_read"] == read,
                      f"{mesh} by {ranks}: {p['measures']['bytes_read']} read, not {read}")
                check(p["measures"]["needed_bytes"] == needed, f"{p['measures']['needed_bytes']} needed, not {needed}")
                near(p["figures"]["read_amplification"], read / needed, 1e-9, "read_amplification")


BY_COLUMNS = re.compile(r"(o_proj|down_proj|w2)\.weight")
WHOLE = re.compile(r"norm|moe\.gate")


def piece(n, parts, i):
    each = -(-n // parts)
    begin = min(i * each, n)
    return begin, min(each, n - begin)


def slices(name, shape, tensors, shards, t, s):
    """What a rank of a mesh with ZeRO 3 has of a tensor: torch.chunk over the tensor ranks, then over the data ranks."""
    if not shape:
        return [(0, 1)]
    cut = [(0, n) for n in shape]
    if not WHOLE.search(name):
        along = 1 if BY_COLUMNS.search(name) else 0
        cut[along] = piece(shape[along], tensors, t)
    begin, size = piece(cut[0][1], shards, s)
    cut[0] = (cut[0][0] + begin, size)
    return cut


def amplified(metadata, tensors, shards):
    """Bytes that ranks read, item by item, and bytes that they need."""
    kept, read, needed = storage(metadata), 0, 0
    for name, t in metadata.state_dict_metadata.items():
        width = WIDTHS[t.properties.state[0].__name__]
        for d in range(shards):
            for r in range(tensors):
                mine = slices(name, tuple(t.size), tensors, shards, r, d)
                for c in t.chunks:
                    theirs = list(zip(c.offsets, c.sizes)) or [(0, 1)]
                    common = math.prod(max(0, min(a + n, b + k) - max(a, b)) for (a, n), (b, k) in zip(mine, theirs))
                    if common:
                        read += kept[name, c.offsets].length
                        needed += common * width
    return read, needed


def test_counts_and_bytes_by_hand():
    """Llama 3 and an MoE on four meshes, planned: files, and bytes of tensors of each rank."""
    moe = {"vocabulary": 32000, "hidden": 4096, "feed_forward": 14336, "layers": 32, "heads": 32, "kv_heads": 8,
           "family": "mixtral", "experts": 8, "expert_feed_forward": 14336}
    llama = {"8b": (4096, 14336, 32, 32), "70b": (8192, 28672, 80, 64), "405b": (16384, 53248, 126, 128)}
    models = {k: {"vocabulary": 128256, "hidden": h, "feed_forward": f, "layers": n, "heads": a, "kv_heads": 8}
              for k, (h, f, n, a) in llama.items()} | {"moe": moe}
    cases = [(name, mesh, "bf16", "fp32") for name in models
             for mesh in some(((1, 8, 1), (4, 8, 2), (8, 4, 1), (2, 16, 1)), 4)] + \
            [("8b", (1, 8, 1), "fp32", "none"), ("8b", (1, 8, 1), "bf16", "none")]
    for name, (tensors, data, groups), weights, optimizer in cases:
        with Folder() as folder:
            j = job(folder, {"mesh": {"zero": 3, "tensor": tensors, "data": data, "replicate": groups},
                             "more": {**models[name], "weights": weights, "optimizer": optimizer}})
            if name != "moe":
                j["phases"][0]["checkpoint"]["model"].pop("family", None)
            write_job(folder, j)
            ranks = tensors * data
            plan = json.loads(alone("plan", "job.json", "--ranks-per-node", ranks, "--json", cwd=folder).out)
            told = plan["phases"][0]
            shards, expected = data // groups, [0] * ranks
            all = entries(models[name], optimizer=False)
            for n, (tensor, shape) in enumerate(in_order(models[name])):
                check(all[tensor] == shape, f"{tensor}")
                for k in range(4 if optimizer != "none" else 1):
                    number = n if k == 0 else len(all) + 3 * n + k - 1
                    width = 4 if k or weights == "fp32" else 2
                    for rank in range(ranks):
                        t, d = rank % tensors, rank // tensors
                        whole = k == 1 or WHOLE.search(tensor)
                        copies, copy = groups, d // shards
                        if k == 1:
                            copies, copy = copies * shards, copy * shards + d % shards
                        if whole:
                            copies, copy = copies * tensors, copy * tensors + t
                        if number % copies == copy:
                            expected[rank] += width * math.prod(
                                x[1] for x in slices(tensor, () if k == 1 else shape, tensors, shards, t, d % shards))
            check(told["totals"]["files"] == ranks + 1, f"{name}: {told['totals']}")
            at = told["tables"]["ranks"]["columns"].index("bytes")
            bytes = [row[at] for row in told["tables"]["ranks"]["rows"]]
            check(bytes == expected, f"{name} {tensors} {data} {groups}: {bytes[:4]}, not {expected[:4]}")


def in_order(m):
    """The weights in the order of the state dict: layer by layer, and in a layer as published indexes have them."""
    kinds = ("input_layernorm", "q_proj", "k_proj", "v_proj", "o_proj", "post_attention_layernorm", "block_sparse_moe.gate",
             "experts", "gate_proj", "up_proj", "down_proj")
    def key(item):
        name = item[0]
        layer = re.search(r"layers\.(\d+)", name)
        if not layer:
            return ((-1, 0, 0, 0) if "embed" in name else (10 ** 6, 0 if "lm_head" in name else 1, 0, 0))
        kind = next(i for i, k in enumerate(kinds) if k in name)
        expert = re.search(r"experts\.(\d+)\.w(\d)", name)
        return (int(layer[1]), kind, *(int(x) for x in (expert.groups() if expert else (0, 0))))
    return sorted(matrices(m).items(), key=key)


def test_order_of_calls():
    """An fsync per file, under its own name; one rename, of .metadata, after all of them."""
    with Folder() as folder:
        write_job(folder, job(folder, {"mesh": {"zero": 3}}, fsync="file"))
        traced = f"exec strace -f -y -ttt --seccomp-bpf -e trace=pwrite64,write,fsync,rename,renameat,renameat2 " \
                 f"-o {folder}/trace.$PMI_RANK {HAUL} run job.json --force"
        r = subprocess.run([MPIEXEC, "-n", "2", "sh", "-c", traced], cwd=folder, capture_output=True, text=True,
                           timeout=HANGS_S, env=environment())
        check(r.returncode == 0, f"{r.stdout}{r.stderr}")
        calls = []
        for line in (x for path in glob.glob(f"{folder}/trace.*") for x in open(path, errors="replace")):
            m = re.search(r"^\d+ +([\d.]+) (pwrite64|write|fsync|rename\w*)\(.*/data/checkpoints/000000/([^\">]*)", line)
            if m:
                calls.append((float(m[1]), m[2], m[3]))
        calls.sort()
        files = {name for _, _, name in calls if name.endswith(".distcp")}
        check(len(files) == 2, f"{files}")
        for name in files:
            check([c for _, c, n in calls if n == name][-1] == "fsync" and
                  sum(c == "fsync" for _, c, n in calls if n == name) == 1, f"{name}: {[c for c in calls if c[2] == name][-3:]}")
        renames = [n for _, c, n in calls if c.startswith("rename") and not n.startswith(".haul")]
        check(renames == [".metadata"] and calls[-1][2] == ".metadata" and calls[-1][1].startswith("rename"), f"{calls[-4:]}")
        check(calls[-2][1] == "fsync" and ".metadata" in calls[-2][2], f"not durable before its name: {calls[-4:]}")


@timing
def test_three_times_by_hand():
    """On a store of known speed: durable is begin, bytes, commit of the largest file; visible has the metadata's, too."""
    with Folder() as folder:
        for collectives in ("all", "none"):
            store = {"rank_bandwidth": "1 MB/s", "begin_latency": "50 ms", "commit_latency": "100 ms"}
            j = job(folder, {"mesh": {"zero": 3}, "collectives": collectives, "mtbf": "3 h", "interval": "30 min"}, uri="sim://known")
            j["stores"]["c"].update(store)
            write_job(folder, j)
            r = run(folder, 4)
            check(r.rc == 0, f"{r}")
            p = report(f"{folder}/results.h5")["phases"][0]
            plan = json.loads(alone("plan", "job.json", "--ranks-per-node", 4, "--json", cwd=folder).out)["phases"][0]["tables"]["ranks"]
            at = plan["columns"].index("file_bytes")
            files, f = [row[at] for row in plan["rows"]], p["figures"]
            data = p["measures"]["bytes_written"]
            metadata = (sum(files) - data) / (4 if collectives == "none" else 1)
            durable = 0.15 + max(files[1:]) / 1e6 - (metadata / 1e6 if collectives == "none" else 0)
            talk = f["collective_seconds"]
            took = machine_took_s(folder, p) + talk
            near(f["durable_seconds"], durable, 0.02 * durable + took, f"{collectives}: durable")
            visible = durable + 0.15 + metadata / 1e6
            near(f["visible_seconds"], visible, 0.02 * visible + took, f"{collectives}: visible")
            near(f["stall_seconds"], f["visible_seconds"], 1e-6, "stall, where nothing goes on meanwhile")
            cost, mtbf = f["stall_seconds"], 3 * 3600
            near(f["best_interval_young"], math.sqrt(2 * cost * mtbf), 1e-6, "Young")
            near(f["lost_share"], cost / 1800 + 900 / mtbf, 1e-6, "lost")
            x = cost / (2 * mtbf)
            best = math.sqrt(2 * cost * mtbf) * (1 + math.sqrt(x) / 3 + x / 9) - cost
            near(f["best_interval"], best, 1e-6, "Daly")
            near(f["lost_share_best"], cost / best + best / 2 / mtbf, 1e-9, "lost with the best interval")


@matrix
def test_killed_at_any_moment():
    """What is visible when a run is killed, while it saves or removes, is whole: haul reads it with all bytes compared."""
    with Folder() as folder:
        save = {"mesh": {"zero": 3}, "count": 300, "keep": 2, "purge": "thread"}
        seen = 0
        for kill in range(60 if FULL else 4):
            shutil.rmtree(f"{folder}/data", ignore_errors=True)
            write_job(folder, job(folder, dict(save, purge=("thread", "ranks")[kill % 2])))
            p = start(2, "run", "job.json", "--force", cwd=folder, start_new_session=True)
            while p.poll() is None and not any(int(os.path.basename(os.path.dirname(x))) >= 2
                                               for x in glob.glob(f"{folder}/data/checkpoints/*/.metadata")):
                time.sleep(0.01)
            check(p.poll() is None, "the run ended before it was killed")
            time.sleep(0.017 * (kill % 20))
            kill_run(p, folder)
            for visible in sorted(glob.glob(f"{folder}/data/checkpoints/*/.metadata")):
                shutil.rmtree(f"{folder}/data/one", ignore_errors=True)
                shutil.copytree(os.path.dirname(visible), f"{folder}/data/one/000000")
                write_job(folder, job(folder, {"mesh": {"zero": 3}, "folder": "one", "operation": "read", "verify": "full"}))
                r = run(folder, 2)
                check(r.rc == 0, f"{visible}: {r}")
                seen += 1
        check(seen >= 4, f"{seen} were visible")


def test_purge():
    """A thread removes older checkpoints: those that stay are the last, and what it removed is counted."""
    with Folder() as folder:
        for purge in ("thread", "ranks"):
            write_job(folder, job(folder, {"mesh": {"zero": 3}, "count": 5, "keep": 2, "purge": purge, "folder": purge}))
            r = run(folder, 2)
            check(r.rc == 0, f"{r}")
            check(names_in(f"{folder}/data/{purge}") == ["000003", "000004"], f"{os.listdir(f'{folder}/data/{purge}')}")
            p = report(f"{folder}/results.h5")["phases"][0]
            check(p["measures"]["removed"] >= 3 * 2, f"{purge}: {p['measures']['removed']}")
            check(p["figures"]["unlinks_per_second"] > 0, f"{p['figures']}")


def unlinks(folder, ranks, *args, fails=None):
    """The files of checkpoints that a command removes, in the order of time; and how it ended. fails: what it may not remove."""
    for old in glob.glob(f"{folder}/u.*"):
        os.remove(old)
    inject = f"-e inject=unlink,unlinkat:error=EACCES -P {fails}" if fails else ""
    r = subprocess.run([MPIEXEC, "-n", str(ranks), "sh", "-c",
                        f"exec strace -f -y -ttt -e trace=unlink,unlinkat,pwrite64 {inject} -o {folder}/u.$PMI_RANK {HAUL} {' '.join(args)}"],
                       cwd=folder, capture_output=True, text=True, timeout=HANGS_S, env=environment())
    calls = []
    for line in (x for path in glob.glob(f"{folder}/u.*") for x in open(path, errors="replace")):
        m = re.search(r"^\d+ +([\d.]+) (unlink|unlinkat|pwrite64)\([^\"/]*.*?(\d{6})/([^\">/]*metadata|__\d+_0\.distcp)", line)
        if m:
            calls.append((float(m[1]), m[2][:6], m[3], m[4]))
    return [c[1:] for c in sorted(calls)], r


def test_metadata_goes_first():
    """What is visible is whole: metadata is removed before anything that it tells of, and nothing is where it cannot be removed."""
    for collectives in ("all", "none"):
        with Folder() as folder:
            write_job(folder, job(folder, {"mesh": {"zero": 3}, "count": 2, "collectives": collectives}))
            r = run(folder, 2)
            check(r.rc == 0, f"{r}")
            names = {".metadata"} if collectives == "all" else {"__0.metadata", "__1.metadata"}
            for what, ranks in ((("run", "job.json", "--force"), 2), (("clean", "job.json"), 1)):
                calls, r = unlinks(folder, ranks, *what)
                check(r.returncode == 0, f"{what}: {r.stdout}{r.stderr}")
                for number in ("000000", "000001"):
                    order = [(c, name) for c, n, name in calls if n == number and not name.startswith(".haul")]
                    first = next(i for i, (_, name) in enumerate(order) if name.endswith(".distcp"))
                    check({name for c, name in order[:first] if c == "unlink"} == names, f"{what}: {order[:6]}")
            check(not os.path.exists(f"{folder}/data/checkpoints"), "clean left a folder")


def test_metadata_that_stays():
    with Folder() as folder:
        write_job(folder, job(folder, {"mesh": {"zero": 3}, "count": 2}))
        r = run(folder, 2)
        check(r.rc == 0, f"{r}")
        stays = f"{folder}/data/checkpoints/000000/.metadata"
        for what, ranks in ((("run", "job.json", "--force"), 2), (("clean", "job.json"), 1)):
            _, r = unlinks(folder, ranks, *what, fails=stays)
            check(r.returncode != 0 and ".metadata" in r.stdout + r.stderr, f"{what}: {r.returncode} {r.stdout}{r.stderr}")
            check_files(os.path.dirname(stays), entries(DENSE))
        check(not glob.glob(f"{folder}/data/checkpoints/000001/*distcp"), "one that cannot be removed keeps another one")


def test_training_tells_what_a_purge_could_not():
    with Folder() as folder:
        j = job(folder, {"mesh": {"zero": 3}, "keep": 1, "purge": "thread"})
        c = j["phases"].pop()["checkpoint"]
        c = {k: v for k, v in c.items() if k not in ("name", "count", "operation", "null_passes")}
        j["dataset"] = {"store": "c", "format": "raw", "files": 8, "samples_per_file": 1, "sample_bytes": 1000}
        j["phases"] = [{"generate": {}}, {"train": {"epochs": 1, "batch": 1, "compute": "1 ms", "null_steps": 0,
                                                    "checkpoint": {**c, "every_steps": 2}}}]
        write_job(folder, j)
        r = run(folder, 2)
        check(r.rc == 0, f"{r}")
        shutil.rmtree(f"{folder}/data")
        # The last one that is removed: nobody asks for another one after it.
        _, r = unlinks(folder, 2, "run", "job.json", "--force", fails=f"{folder}/data/checkpoints/000000/__1_0.distcp")
        check(r.returncode != 0 and "000000/__1_0.distcp" in r.stdout + r.stderr or "checkpoint 0 could not be removed" in r.stdout + r.stderr,
              f"{r.returncode} {r.stdout}{r.stderr}")


if __name__ == "__main__":
    main()
