# SPDX-License-Identifier: Apache-2.0
"""haul check: each rule of each edition by a job or results that keep it, and by others that break it. What is expected of them was
written down from the published rules."""
import json
import os
import tempfile
import time

import h5py
from clitest import check, haul, main, refused

EDITIONS = os.path.join(os.environ["HAUL_SOURCE"], "workloads/catalog/editions")
NULL = "stores.data.uri=null://"
UNET = ("unet3d_b200", "--memory", "1 GiB")
RETINA = ("retinanet_b200", "--memory", "1 GiB")
RETINA355 = ("retinanet_mi355", "--memory", "1 GiB")
KV = ("kvcache_mlperf",)
VECTORS = ("vector_mlperf_1m",)
LLAMA = {"llama3_8b": (1, 8), "llama3_70b": (8, 8), "llama3_405b": (64, 8), "llama3_1t": (128, 8)}


def llama(model, *more, nodes=0, per_node=0):
    n, p = LLAMA[model]
    return (model, "--nodes", nodes or n, "--ranks-per-node", per_node or p, "--memory", "1 GiB", *more)


def sets(job, *changes):
    return (*job, *(word for change in changes for word in ("--set", change)))


# Of each rule what keeps it, and what breaks it.
JOBS = {
    "training.workload": (UNET, ("dlrm_b200",)),
    "training.steps": (UNET, sets(UNET, "dataset.files=21")),
    "training.memory": (UNET, ("unet3d_b200", "--nodes", 2, "--memory", "512 GiB")),
    "training.unet3d.batch": (UNET, sets(UNET, "train.batch=8")),
    "training.unet3d.compute": (UNET, sets(UNET, "train.compute=323 ms")),
    "training.unet3d.epochs": (UNET, sets(UNET, "train.epochs=4")),
    "training.unet3d.stdev": (UNET, sets(UNET, "dataset.sample_bytes_stdev=0")),
    "training.unet3d.format": (UNET, sets(UNET, "dataset.format=npy")),
    "training.unet3d.samples_per_file": (UNET, sets(UNET, "dataset.samples_per_file=2")),
    "training.unet3d.loader": (UNET, sets(UNET, "train.loader.kind=sample")),
    "training.retinanet.batch": (RETINA, sets(RETINA, "train.batch=25")),
    "training.retinanet.compute_b200": (RETINA, sets(RETINA, "train.compute=47 ms")),
    "training.retinanet.compute_mi355": (RETINA355, sets(RETINA355, "train.compute=47.55 ms")),
    "training.retinanet.epochs": (RETINA, sets(RETINA, "train.epochs=5")),
    "training.retinanet.format": (RETINA, sets(RETINA, "dataset.format=png")),
    "training.retinanet.samples_per_file": (RETINA, sets(RETINA, "dataset.format=npz", "dataset.samples_per_file=2")),
    "training.retinanet.stdev": (RETINA, sets(RETINA, "dataset.sample_bytes_stdev=1000")),
    "training.retinanet.direct": (RETINA, sets(RETINA, "stores.data.direct=true")),
    "training.shuffle": (UNET, sets(UNET, "train.shuffle=none")),
    "training.whole": (UNET, sets(UNET, "train.steps=600")),
    "checkpoint.model": (llama("llama3_8b"), ("llama_7b",)),
    "checkpoint.writes": (llama("llama3_8b"), llama("llama3_8b", "--set", "checkpoint.operation=read")),
    "checkpoint.reads": (llama("llama3_8b"), llama("llama3_8b", "--set", "checkpoint.count=9")),
    "checkpoint.fsync": (llama("llama3_8b"), llama("llama3_8b", "--set", "stores.checkpoints.fsync=none")),
    "checkpoint.pause": (llama("llama3_8b"), llama("llama3_8b", "--set", "checkpoint.pause=4 s")),
    "checkpoint.per_host": (llama("llama3_8b"), llama("llama3_8b", nodes=2, per_node=4)),
    "checkpoint.accelerator_memory": (llama("llama3_70b"), llama("llama3_1t", nodes=1)),
    "checkpoint.caches": (llama("llama3_8b"), ("llama3_8b", "--ranks-per-node", 8, "--memory", "64 GiB")),
    "kv.model": (KV, sets(KV, "phases.0.kvcache.model=mistral-7b")),
    "kv.seed": (KV, sets(KV, "seed=43")),
    "kv.duration": (KV, sets(KV, "phases.0.kvcache.duration=60 s")),
    "kv.8b.users": (KV, sets(KV, "phases.0.kvcache.users=201")),
    "kv.8b.allocations": (KV, sets(KV, "phases.1.kvcache.max_concurrent_allocs=15")),
    "kv.70b.users": (KV, sets(KV, "phases.2.kvcache.users=71")),
    "kv.70b.allocations": (KV, sets(KV, "phases.2.kvcache.max_concurrent_allocs=16")),
    "vector.scale": (VECTORS, sets(VECTORS, "vector.vectors=2000000")),
    "vector.dimension": (("vector_mlperf_10m",), sets(VECTORS, "vector.dimension=768")),
    "vector.index": (VECTORS, sets(VECTORS, "search_diskann.index=ivf")),
    "vector.index_open": (sets(VECTORS, "search_diskann.index=ivf"), sets(VECTORS, "search_diskann.index=spann")),
}
SAVES = ("train.checkpoint.model.bytes=1000000", "train.checkpoint.store=data")
for rule, change in (("sync", ["train.sync=none"]), ("readers", ["train.readers=replica"]), ("seconds", ["train.seconds=60 s"]),
                     ("preprocess", ["train.preprocess=1 ms"]), ("evaluation", ["train.evaluation.every=1"]),
                     ("checkpoints_by_epochs", ["train.checkpoint.every_epochs=1", *SAVES]),
                     ("checkpoints_by_steps", ["train.checkpoint.every_steps=9", *SAVES]),
                     ("unet3d.target", ["train.target_au=0.8"])):
    JOBS[f"training.{rule}"] = (UNET, sets(UNET, *change))
JOBS["training.retinanet.target"] = (RETINA, sets(RETINA, "train.target_au=0.9"))
JOBS["training.retinanet.loader"] = (RETINA, sets(RETINA, "train.loader.kind=sample"))
READS = llama("llama3_8b", "--set", "checkpoint.operation=read")
JOBS["checkpoint.after"] = (READS, (*READS, "--set", "checkpoint.after=31 s"))
MEMORY = 'phases.{}.kvcache.tiers=[{{"kind":"cpu","capacity":"{}"}},"cache"]'
JOBS["kv.option_1.memory"] = (KV, sets(KV, MEMORY.format(0, "1 GiB")))
JOBS["kv.option_2.memory"] = (KV, sets(KV, MEMORY.format(1, "8 GiB")))
JOBS["kv.option_3.memory"] = (KV, sets(KV, MEMORY.format(2, "1 GiB")))
JOBS["kv.delay"] = (KV, sets(KV, "phases.1.kvcache.after=80 s"))
# Tensor, pipeline, ZeRO.
MESHES = {"llama3_8b": (1, 1, 3), "llama3_70b": (8, 1, 3), "llama3_405b": (8, 32, 1), "llama3_1t": (8, 64, 1)}
for name, (tensor, pipeline, zero) in MESHES.items():
    twice = llama(name, "--set", f"checkpoint.mesh.data={2 * LLAMA[name][0] * 8 // tensor // pipeline}", nodes=2 * LLAMA[name][0])
    JOBS[f"checkpoint.{name}.processes"] = (llama(name), twice)
    JOBS[f"checkpoint.{name}.bytes"] = (llama(name), llama(name, "--set", "checkpoint.model.vocabulary=128000"))
    JOBS[f"checkpoint.{name}.subset"] = (twice, llama(name, nodes=1, per_node=6))
    if tensor * pipeline > 1:
        JOBS[f"checkpoint.{name}.multiple"] = (twice, llama(name, nodes=LLAMA[name][0] - 1, per_node=7))
    for key, value, more in (("tensor", 2 * tensor, 2), ("pipeline", 2 * pipeline, 2), ("zero", 2, 1)):
        JOBS[f"checkpoint.{name}.{key}"] = (
            llama(name), llama(name, "--set", f"checkpoint.mesh.{key}={value}", "--set", "checkpoint.mesh.zero=1",
                               nodes=LLAMA[name][0] * more) if key == "pipeline" else
            llama(name, "--set", f"checkpoint.mesh.{key}={value}", nodes=LLAMA[name][0] * more))

H100 = ("unet3d_h100", "--memory", "1 GiB")
RESNET = ("resnet50_h100", "--memory", "1 GiB")
COSMO = ("cosmoflow_h100", "--memory", "1 GiB")
JOBS_2 = {
    "training.workload": (H100, ("retinanet_b200",)),
    "training.unet3d.compute": (H100, UNET),
    "training.shuffle": (H100, sets(H100, "train.shuffle=none")),
}
for short, job, other in (("unet3d", H100, "npy"), ("resnet50", RESNET, "raw"), ("cosmoflow", COSMO, "raw")):
    for rule, change in (("batch", "train.batch=399"), ("epochs", "train.epochs=4"), ("format", f"dataset.format={other}")):
        JOBS_2[f"training.{short}.{rule}"] = (job, sets(job, change))
for short, job in (("unet3d", H100), ("resnet50", RESNET), ("cosmoflow", COSMO)):
    JOBS_2[f"training.{short}.target"] = (job, sets(job, "train.target_au=0.8"))
JOBS_2["training.resnet50.compute"] = (RESNET, sets(RESNET, "train.compute=1 s"))
JOBS_2["training.cosmoflow.compute"] = (COSMO, sets(COSMO, "train.compute=1 s"))
JOBS_2["training.resnet50.samples_per_file"] = (RESNET, sets(RESNET, "dataset.samples_per_file=1250"))
for name in ("training.steps", "training.memory", "training.whole", "training.unet3d.stdev", "training.unet3d.samples_per_file",
             "training.unet3d.loader", "training.sync", "training.readers", "training.seconds", "training.preprocess",
             "training.evaluation"):
    JOBS_2[name] = tuple(tuple(word if word != "unet3d_b200" else "unet3d_h100" for word in job) for job in JOBS[name])
JOBS_2["training.sync"] = (RESNET, sets(RESNET, "train.sync=none"))  # with checkpoints, ranks always meet
JOBS_2.update({rule: pair for rule, pair in JOBS.items() if rule.startswith("checkpoint.") and rule != "checkpoint.accelerator_memory"})


def rules_of(edition):
    with open(f"{EDITIONS}/mlperf-{edition}.json", encoding="utf-8") as stream:
        return json.load(stream)["rules"]


def judged(*words, edition="3.0"):
    r = haul("check", *words, "--edition", edition, "--json", env={"HAUL_DATA": "/nowhere"})
    check(r.returncode in (0, 8) and r.stdout, r)
    said = json.loads(r.stdout)
    check(said["closed"] == (r.returncode == 0), r)
    return said


def states(said, rule):
    return {row["state"] for row in said["rules"] if row["rule"] == rule}


def pairs(edition, table):
    wrong = []
    for rule, (held, broken) in table.items():
        if states(judged(*held, edition=edition), rule) != {"held"}:
            wrong.append(f"{rule}: {' '.join(map(str, held))} does not keep it")
        if "broken" not in states(judged(*broken, edition=edition), rule):
            wrong.append(f"{rule}: {' '.join(map(str, broken))} does not break it")
    check(not wrong, "\n".join(wrong))


def test_each_rule_has_a_pair():
    for edition, table in (("3.0", JOBS), ("2.0", JOBS_2)):
        missing = [rule["name"] for rule in rules_of(edition)
                   if "cannot" not in rule and rule.get("scope", "job") == "job" and rule["name"] not in table]
        check(not missing, f"{edition}: {missing} have no pair")


def test_jobs_of_3_0():
    pairs("3.0", JOBS)


def test_jobs_of_2_0():
    pairs("2.0", JOBS_2)
    subset = judged("llama3_70b", "--ranks-per-node", 8, "--memory", "1 GiB", edition="2.0")
    check(states(subset, "checkpoint.llama3_70b.processes") == {"held"}, subset)
    between = judged("llama3_70b", "--ranks-per-node", 16, "--memory", "1 GiB", edition="2.0")
    check(states(between, "checkpoint.llama3_70b.subset") == {"broken"} and between["category"] == "invalid", between)


def test_draft():
    """Edition 4.0: the rules of 3.0 and its own, said to be a draft; and files of rules that stand on others."""
    three, four = (judged(*map(str, llama("llama3_8b")), edition=e) for e in ("3.0", "4.0"))
    check(three["draft"] == "" and "in work" in four["draft"] and four["category"] == "closed", four)
    check({r["rule"] for r in four["rules"]} == {r["rule"] for r in three["rules"]} | {"checkpoint.class"}, four)
    r = haul("check", "unet3d_b200", "--edition", "4.0")
    check("MLPerf Storage 4.0 is a draft: it is in work" in r.stdout, r)
    with tempfile.TemporaryDirectory() as folder:
        for name, base in (("a", "b.json"), ("b", "c.json"), ("c", ""), ("d", "c.json"), ("e", "none.json")):
            with open(f"{folder}/{name}.json", "w", encoding="utf-8") as stream:
                json.dump({"edition": name, "base": base,
                           "rules": [{"name": rule, "about": rule, "asks": {"fact": "job.epochs", "is": "least", "value": value}}
                                     for rule, value in ((name, 1), ("both", 9 if name == "c" else 2))]}, stream)
        said = json.loads(haul("check", "unet3d_b200", "--rules", f"{folder}/d.json", "--json").stdout)
        check({(r["rule"], r["bound"]) for r in said["rules"] if r["phase"] == "train"} == {("d", 1), ("both", 2), ("c", 1)}, said)
        refused(haul("check", "unet3d_b200", "--rules", f"{folder}/a.json"), "a.json", "has a base, too")
        refused(haul("check", "unet3d_b200", "--rules", f"{folder}/e.json"), "none.json")


def test_accept():
    """haul accept takes the same files, by name or path, and says the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = run(folder, "few", "unet3d_b200", "--set", NULL, *few(8))
        said = [haul(*words, "--json") for words in (("check", path), ("accept", "mlperf-3.0", path),
                                                     ("accept", f"{EDITIONS}/mlperf-3.0.json", path))]
        check(said[0].stdout and all(r.returncode == 8 and r.stdout == said[0].stdout for r in said), said)


def test_withdrawn():
    """Subsets of the large models, on 8 processes, were withdrawn by the chairs from edition 3.0: rule 4.3.5."""
    for model in ("llama3_70b", "llama3_405b", "llama3_1t"):
        said = judged(model, "--ranks-per-node", 8, "--memory", "1 GiB")
        rule, = (row for row in said["rules"] if row["number"] == "4.3.5")
        check(said["category"] == "invalid" and rule["state"] == "broken" and rule["category"] == "invalid", said)
    check(judged("llama3_8b", "--ranks-per-node", 8, "--memory", "1 GiB")["category"] == "closed", "8B on 8 is closed")


def test_open_processes():
    """An open submission may have more processes, in multiples of tensor times pipeline parallelism: rule 4.6.4."""
    for model, nodes, category in (("llama3_8b", 2, "open"), ("llama3_70b", 9, "open"), ("llama3_405b", 96, "open"), ("llama3_1t", 192, "open"),
                                   ("llama3_405b", 65, "invalid"), ("llama3_1t", 129, "invalid"), ("llama3_70b", 7, "invalid")):
        for edition in ("2.0", "3.0"):
            said = judged(*llama(model, "--set", "checkpoint.mesh.data=16", nodes=nodes), edition=edition)
            check(said["category"] == category, (model, nodes, edition, said))
    r = haul("check", *map(str, llama("llama3_405b", "--set", "checkpoint.mesh.data=3", nodes=65)))
    check("processes 520, wanted: a multiple of 256: 248 processes more" in " ".join(r.stdout.split()), r)


def test_categories():
    r = haul("check", *map(str, llama("llama3_8b")))
    check(r.returncode == 0 and "this is closed, as far as a job tells" in r.stdout, r)
    r = haul("check", *map(str, sets(UNET, "dataset.files=21")))
    check(r.returncode == 8 and "steps per epoch 3, wanted: at least 500: 3,479 files more" in " ".join(r.stdout.split()), r)
    check(judged(*sets(UNET, "train.loader.kind=sample"))["category"] == "open", "another loader is open")
    said = judged("unet3d_b200")
    check(states(said, "training.memory") == {"unknown"} and not said["closed"] and said["broken"] == 0, said)
    check(not judged("io_random")["closed"], "no rule is of plain I/O")


def test_what_if():
    """A workload that the edition has not: both say that, and how it compares; the names of categories stay."""
    for words, edition in ((("dlrm_b200",), "3.0"), (("flux_mi355",), "3.0"), (RESNET, "3.0"), (COSMO, "3.0"), (("retinanet_b200",), "2.0"),
                           (("llama_7b",), "3.0"), (sets(KV, "phases.0.kvcache.model=mistral-7b"), "3.0")):
        said = judged(*words, edition=edition)
        broken = [row for row in said["rules"] if row["whatif"]]
        check(said["whatif"] and said["category"] == "invalid" and broken and all(row["state"] == "broken" for row in broken), said)
        r = haul("check", *map(str, words), "--edition", edition)
        text = " ".join(r.stdout.split())
        check(r.returncode == 8 and f"MLPerf Storage {edition} has no such workload: this is a what-if. It compares with other runs of the "
              "same job" in text and "this is invalid" not in text, r)
        check(f"what-if: {broken[0]['rule']}" in text, r)
    for words, category in ((llama("llama3_8b"), "closed"), (sets(UNET, "train.loader.kind=sample"), "open"),
                            (sets(UNET, "train.batch=8"), "invalid"), (("io_random",), "closed")):
        said = judged(*words)
        check(not said["whatif"] and said["category"] == category, (words, said))
        check("what-if" not in haul("check", *map(str, words)).stdout, words)


def run(folder, name, *words):
    path = f"{folder}/{name}.h5"
    r = haul("run", *words, "--results", path, "--quiet", env={"HAUL_DATA": folder})
    check(r.returncode in (0, 1), r)
    return path


CHECKPOINT = {"stores": {"data": {"uri": "sim://"}},
              "phases": [{"checkpoint": {"model": {"hidden": 64, "layers": 2, "heads": 4, "kv_heads": 4, "feed_forward": 128,
                                                   "vocabulary": 100}, "count": 2}}]}
CACHE = {"stores": {"data": {"uri": "sim://"}},
         "phases": [{"kvcache": {"model": "tiny-1b", "users": 4, "duration": "1 s",
                                 "tiers": [{"kind": "store", "store": "data", "capacity": "1 GiB"}]}}]}
SEARCH = {"stores": {"data": {"uri": "sim://"}}, "phases": [{"vector": {"operation": "search", "vectors": 1000, "count": 5}}]}
SLOW = ("--set", "stores.data.uri=sim://", "--set", "stores.data.rank_bandwidth=2 GB/s")
FAILING = ("--set", "stores.data.uri=sim://", "--set", "stores.data.failure_rate=1")


def few(files):
    return ("--set", f"dataset.files={files}", "--set", "train.epochs=1", "--set", "train.null_steps=0", "--skip", "generate")


def seen_in(seen, edition, *files):
    for row in judged(*files, "--memory", "1 GiB", edition=edition)["rules"]:
        seen.setdefault(row["rule"], set()).add(row["state"])


def read_back(folder, job, seen):
    """Checkpoints that are read by another run, at once; and the same as if it had begun 31 s after the writes."""
    with open(job, encoding="utf-8") as stream:
        text = stream.read().replace('"sim://"', f'"file://{folder}/checkpoints"')
    with open(job + "_on_disk", "w", encoding="utf-8") as stream:
        stream.write(text)
    wrote = run(folder, "wrote", job + "_on_disk", "--set", "checkpoint.operation=write")
    read = run(folder, "read", job + "_on_disk", "--set", "checkpoint.operation=read")
    for late in (False, True):
        if late:
            with h5py.File(read, "r+") as file, h5py.File(wrote) as before:
                ended = next(iter(before["phases"].values())).attrs["finished"]
                next(iter(file["phases"].values())).attrs.modify("started", ended + ended.dtype.type(31 * 10**9))
        seen_in(seen[0], "3.0", wrote, read)
        seen_in(seen[1], "2.0", wrote, read)


def test_results():
    """Each rule of results and of series, kept by one run and broken by another."""
    seen_3, seen_2 = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        fed = run(folder, "fed", "unet3d_b200", "--set", NULL, *few(21), "--warmup", 1, "--repeat", 5)
        said = judged(fed)
        check(states(said, "training.steps") == {"broken"} and said["category"] == "invalid", said)
        seen_in(seen_3, "3.0", fed)
        seen_in(seen_2, "2.0", fed)
        # Runs that are longer than what a busy machine needs between them.
        steady = run(folder, "steady", "unet3d_b200", "--set", NULL, *few(21), "--set", "train.compute=2 s", "--repeat", 2)
        check(states(judged(steady), "training.gap") == {"held"}, judged(steady))
        seen_in(seen_3, "3.0", steady)
        seen_in(seen_2, "2.0", steady)
        starved = run(folder, "starved", "unet3d_b200", *SLOW, *few(63))
        time.sleep(max(0, 4 - (time.time() - os.path.getmtime(starved))))  # longer than the next run takes
        both = (starved, run(folder, "late", "unet3d_b200", "--set", NULL, *few(21)))
        for seen, edition in ((seen_3, "3.0"), (seen_2, "2.0")):
            seen_in(seen, edition, *both)
            seen_in(seen, edition, run(folder, edition, "unet3d_b200", *FAILING, *few(21)))
        for seen, edition, job, files, speed in ((seen_3, "3.0", "retinanet_b200", 480, 50), (seen_2, "2.0", "resnet50_h100", 2, 50),
                                          (seen_2, "2.0", "cosmoflow_h100", 200, 200)):
            seen_in(seen, edition, run(folder, job, job, "--set", NULL, *few(files)))
            seen_in(seen, edition, run(folder, job + "_slow", job, *SLOW, "--set", f"stores.data.rank_bandwidth={speed} MB/s", *few(files)))
        for name, job in (("checkpoint", CHECKPOINT), ("cache", CACHE), ("search", SEARCH)):
            path = f"{folder}/{name}.json"
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(job, stream)
            good = run(folder, name, path, "--repeat", 5 if name == "search" else 3)
            bad = run(folder, name + "_bad", path, *FAILING)
            if name == "search":
                seen_in(seen_3, "3.0", run(folder, "once", path))
            if name == "checkpoint":
                read_back(folder, path, (seen_3, seen_2))
            for seen, edition in ((seen_3, "3.0"), (seen_2, "2.0")):
                seen_in(seen, edition, good)
                seen_in(seen, edition, bad)
    for seen, edition in ((seen_3, "3.0"), (seen_2, "2.0")):
        wanted = [rule["name"] for rule in rules_of(edition) if rule.get("scope", "job") != "job"]
        wrong = [(rule, seen.get(rule)) for rule in wanted if not {"held", "broken"} <= seen.get(rule, set())]
        check(not wrong, f"{edition}: not both kept and broken: {wrong}")


def test_memory_of_results():
    """Results tell the memory of their nodes, unless it is given."""
    with tempfile.TemporaryDirectory() as folder:
        small = run(folder, "small", "unet3d_b200", "--set", "dataset.files=21", "--set", "dataset.sample_bytes=1000",
                    "--set", "dataset.sample_bytes_stdev=0", "--set", "train.epochs=1", "--set", "train.null_steps=0")
        check(states(judged(small), "training.memory") == {"broken"}, "their own memory")
        check(states(judged(small, "--memory", "1 kB"), "training.memory") == {"held"}, "the memory that is given")


def test_refusals():
    refused(haul("check", "unet3d_b200", "--edition", "1.9"), "--edition 1.9", "--rules")
    refused(haul("check", "unet3d_b200", "--edition", "3.0", "--rules", "x"), "exclude each other")
    refused(haul("check", "unet3d_b200", "unet3d_h100"), "one job")
    refused(haul("check", "none.h5", "--nodes", "2"), "--nodes")
    with tempfile.TemporaryDirectory() as folder:
        for text, words in (('{"edition": "x", "rules": [{"name": "a", "about": "b"}]}', "names no fact"),
                            ('{"edition": "x", "rules": [{"name": "a", "about": "b", "asks": {"fact": "c"}}]}', "needs texts"),
                            ('{"edition": "x", "rules": []}', "/rules"),
                            ('{"edition": "x", "rules": [{"name": "a", "abut": "b"}]}', "about")):
            path = folder + "/rules.json"
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            refused(haul("check", "unet3d_b200", "--rules", path), words)
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({"edition": "ours", "rules": [{"name": "e", "about": "epochs", "when": [{"fact": "kind", "texts": ["train"]}],
                                                     "asks": {"fact": "job.epochs", "is": "least", "value": 2}}]}, stream)
        r = haul("check", "unet3d_b200", "--rules", path)
        check(r.returncode == 0 and "By the rules of ours" in r.stdout, r)


main()
