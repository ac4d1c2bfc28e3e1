# SPDX-License-Identifier: Apache-2.0
"""Small results of each kind of page, by real runs of haul on stores that answer as a model says (sim://), in memory, and in files."""
import json
import os
import struct
import subprocess

HAUL, MPIEXEC = os.environ["HAUL"], os.environ["HAUL_MPIEXEC"]
MB = 1000 * 1000
ENV = {**os.environ, "HWLOC_COMPONENTS": "-x86,-pci,-linuxio", "UCX_TLS": "self,posix", "UCX_WARN_UNUSED_ENV_VARS": "n"}


def sim(**more):
    return {"uri": "sim://model", "bandwidth": "400 MB/s", "latency": "1 ms", **more}


def io_phase(**more):
    return {"io": {"operation": "read", "store": "s", "size": MB, "block": "100 KB", "objects": 16, "passes": 0, "verify": "none",
                   "seconds": "600 ms", **more}}


DATASET = {"store": "s", "format": "raw", "files": 96, "sample_bytes": "200 KB"}


def train(**more):
    return {"train": {"null_steps": 0, "batch": 2, "compute": "10 ms", "epochs": 3, "loader": {"workers": 1}, "sync": "step",
                      "target_au": 0.9, **more}}


MODEL = {"vocabulary": 1024, "hidden": 128, "feed_forward": 352, "layers": 5, "heads": 8, "kv_heads": 4}
CACHE = {"model": "tiny-1b", "users": 4, "duration": "1 s", "tiers": ["s"]}
LONG = "a_name_of_a_phase_that_goes_on_and_on_until_it_has_sixty_three"


def job(name, phases, store=None, **more):
    return {"name": name, "seed": 7, "stores": {"s": store or sim()}, "phases": phases, **more}


def run(folder, name, what, ranks=1, *options, fails=False):
    path, results = f"{folder}/{name}.json", f"{folder}/{name}.h5"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(what, f)
    words = [MPIEXEC, "-n", str(ranks), HAUL, "run", path, "--quiet", "--results", results, "--force", *map(str, options)]
    done = subprocess.run(words, cwd=folder, env=ENV, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{name}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return results


def page(folder, name, *options):
    """Writes NAME.html; returns its path."""
    path = f"{folder}/{name}.html"
    if os.path.exists(path):
        os.unlink(path)
    done = subprocess.run([HAUL, *options, "--html", path], cwd=folder, env=ENV, capture_output=True, text=True, timeout=300)
    if done.returncode and not os.path.exists(path):
        raise AssertionError(f"{name}: {done}")
    return path


def one(name, what, ranks=1, *options, fails=False):
    """A kind of page that is about one run."""
    def make(folder):
        results = run(folder, name, what, ranks, *options, fails=fails)
        return page(folder, name, "report", results), [results]
    return make


PAIR = [io_phase(name="1_get64k", seconds="200 ms"), io_phase(name="deletes", operation="delete", passes=1)]


def pair(folder):
    a = run(folder, "a", job("pair", PAIR), 2, "--repeat", 2)
    b = run(folder, "b", job("pair", PAIR,
                             sim(bandwidth="300 MB/s")), 2, "--repeat", 2)
    return page(folder, "pair", "report", a, b), [a, b]


def ways(folder):
    files = []
    for way, speed in (("alpha", 100), ("beta", 60)):
        for nodes in (1, 2, 4):
            name = f"{way}{nodes}"
            files.append(run(folder, name, job("grows", [train(epochs=1, steps=12, target_au=0)], sim(bandwidth=speed * MB), way=way,
                                               dataset={**DATASET, "files": 1, "files_per_rank": 24}), nodes, "--fake-nodes", nodes))
    return page(folder, "ways", "report", *files), files


def assess(folder):
    """The card of a storage."""
    results = f"{folder}/assess.h5"
    subprocess.run([MPIEXEC, "-n", "2", HAUL, "assess", "sim://model", "--set", "bandwidth=700 MB/s", "--budget", "6 s", "--space", "128 MiB", "--quiet",
                    "--results", results, "--force"], cwd=folder, env=ENV, check=True, timeout=300, stdin=subprocess.DEVNULL)
    return page(folder, "assess", "report", results), [results]


def load(folder):
    """A model of two tensors, which the published format holds in one file."""
    where = f"{folder}/model"
    os.makedirs(where, exist_ok=True)
    header, bytes_ = {}, 0
    for i in range(8):
        header[f"model.layers.{i}.mlp.up_proj.weight"] = {"dtype": "BF16", "shape": [256, 512], "data_offsets": [bytes_, bytes_ + (1 << 18)]}
        bytes_ += 1 << 18
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{where}/model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + os.urandom(bytes_))
    what = job("loads", [{"load": {"folder": "model", "tensor": 2, "count": 3, "cold": "none"}}], {"uri": f"file://{folder}"})
    results = run(folder, "load", what, 2)
    return page(folder, "load", "report", results), [results]


def replay(folder):
    """A trace of a hundred rows of one cache."""
    path, results = f"{folder}/trace.csv", f"{folder}/replay.h5"
    with open(path, "w", encoding="utf-8") as f:
        f.write("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n")
        for i in range(100):
            f.write(f"{i / 100},{'Read' if i % 3 else 'Write'},{MB // 10},Tier-2,key_{i // 3},{'Decode' if i % 3 else 'Prefill'}\n")
    words = [HAUL, "replay", path, "--store", "sim://model", "--set", "stores.store.latency=1 ms", "--quiet", "--results", results, "--force"]
    done = subprocess.run(words, cwd=folder, env=ENV, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"replay: {done}")
    return page(folder, "replay", "report", results), [results]


def interrupted(folder):
    """The run is told to end once it measures."""
    what = job("stops", [io_phase(seconds="300 ms"), train(name="cut_short", epochs=1000)], dataset=DATASET)
    path, results = f"{folder}/interrupted.json", f"{folder}/interrupted.h5"
    what["phases"].insert(0, {"generate": {}})
    with open(path, "w", encoding="utf-8") as f:
        json.dump(what, f)
    words = [HAUL, "run", path, "--quiet", "--results", results, "--force", "--deadline", "2 s"]
    done = subprocess.run(words, cwd=folder, env=ENV, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 3, 4, 130, 143) or not os.path.exists(results):
        raise AssertionError(f"interrupted: {done}")
    return page(folder, "interrupted", "report", results), [results]


ZOO = {
    "generate": one("generate", job("makes", [{"generate": {}}], dataset=DATASET), 2),
    "training": one("training", job("trains", [{"generate": {}}, train(evaluation={"every": 1, "compute": "5 ms"})], dataset=DATASET), 4),
    "checkpoint": one("checkpoint", job("saves", [{"checkpoint": {"model": MODEL, "count": 4, "chunk": "64 KiB", "buffers": "512 KiB"}}]), 4),
    "load": load,
    "replay": replay,
    "interrupted": interrupted,
    "kvcache": one("kvcache", job("serves", [{"kvcache": {**CACHE, "target_request_p95": "200 ms"}}], sim(bandwidth="10 GB/s"))),
    "mixed": one("mixed", job("mixes", [io_phase(name="1_get64k"), io_phase(name="mixed", operation="mixed", read_share=0.7, order="replacement"),
                                        io_phase(name="delete", operation="delete", passes=1, seconds="10 s")]), 2),
    "open": one("open", job("arrives", [io_phase(rate=300, arrivals="poisson", depth=8, target_p99="20 ms", warmup="200 ms")])),
    "sweep": one("sweep", job("tunes", [io_phase(seconds="150 ms")]), 1, "--sweep", "io.threads=1,2,4", "--sweep", "io.block=10KB,50KB,100KB"),
    "users": one("users", job("users", [{"kvcache": {**CACHE, "model": "llama3.1-8b", "duration": "500 ms", "target_request_p95": "200 ms"}}], sim(bandwidth="40 GB/s")), 1,
                 "--sweep", "kvcache.users=1,2,4,8"),
    "batches": one("batches", job("batches", [{"generate": {}}, train(epochs=1, steps=8)], dataset=DATASET), 1, "--sweep", "train.batch=1,2,4",
                   "--sweep", "train.compute=5ms,10ms", "--repeat", 2),
    "values": one("values", job("values", [io_phase(seconds="60 ms", threads=1)]), 1, "--sweep", "io.threads=" + ",".join(map(str, range(1, 41)))),
    "repeats": one("repeats", job("repeats", [io_phase(seconds="150 ms")]), 1, "--repeat", 4, "--warmup", 1),
    "assess": assess,
    "find": one("find", job("looks", [io_phase(size=MB, block=MB, seconds="200 ms")], sim(bandwidth="100 MB/s")), 1, "--find", "io.threads=1..16",
                "--until", "io.p99 <= 45 ms"),
    "vector": one("vector", job("searches", [{"vector": {"name": "build", "operation": "build", "vectors": 3000, "dimension": 24, "degree": 16}},
                                             {"vector": {"name": "search", "operation": "search", "vectors": 3000, "dimension": 24, "degree": 16, "list": 30,
                                                         "count": 130, "target_p99": "100 ms", "verify": "none"}}])),
    "failed": one("failed", job("fails", [{"generate": {}}, train()], sim(failure_rate=0.2), dataset=DATASET), 2, fails=True),
    "errors": one("errors", job("errs", [io_phase(name=LONG, on_error="count")], sim(failure_rate=0.2)), 2),
    "warmup": one("warmup", job("warms", [{"generate": {}}, train(epochs=1, steps=3, warmup_steps=3)], dataset=DATASET)),
    "nothing": one("nothing", job("nothing", [io_phase(rate=1, seconds="100 ms")])),
    "many": one("many", job("many", [{"generate": {}}, train(epochs=1, steps=4)], dataset={**DATASET, "files": 512, "sample_bytes": 1000}), 32),
    "pair": pair,
    "ways": ways,
}


def make(folder, names=None):
    """{name: (page, its results files)}"""
    return {name: ZOO[name](folder) for name in names or ZOO}
