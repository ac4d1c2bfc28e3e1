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


# Of each rule what keeps it, and what breaks it; None: a job can only leave it open.
JOBS = {
    "training.workload": (UNET, sets(UNET, "dataset.sample_bytes=1000")),
    "training.steps": (UNET, sets(UNET, "dataset.files=21")),
    "training.memory": (UNET, ("unet3d_b200", "--nodes", 2, "--memory", "512 GiB")),
    "checkpoint.model": (llama("llama3_8b"), ("llama_7b",)),
    "checkpoint.writes": (llama("llama3_8b"), llama("llama3_8b", "--set", "checkpoint.count=9")),
    "checkpoint.reads": (llama("llama3_8b"), llama("llama3_8b", "--set", "checkpoint.count=9")),
    "checkpoint.per_host": (llama("llama3_8b"), llama("llama3_8b", nodes=2, per_node=3)),
    "checkpoint.accelerator_memory": (llama("llama3_70b"), llama("llama3_1t", nodes=1)),
    "checkpoint.caches": (llama("llama3_8b"), ("llama3_8b", "--ranks-per-node", 8, "--memory", "64 GiB")),
    "kv.model": (KV, sets(KV, "phases.0.kvcache.model=mistral-7b")),
    "vector.scale": (VECTORS, sets(VECTORS, "vector.vectors=2000000")),
    "vector.dimension": (("vector_mlperf_10m",), sets(VECTORS, "vector.dimension=768")),
    "vector.index": (VECTORS, sets(VECTORS, "search_diskann.index=ivf")),
    "vector.index_open": (sets(VECTORS, "search_diskann.index=ivf"), sets(VECTORS, "search_diskann.index=spann")),
    "checkpoint.processes": (llama("llama3_70b"), llama("llama3_70b", "--set", "checkpoint.mesh.data=16", nodes=16)),
    "checkpoint.subset": (llama("llama3_405b"), llama("llama3_405b", nodes=1)),
    "checkpoint.multiple": (llama("llama3_1t"), llama("llama3_1t", nodes=127, per_node=7)),
}
H100 = ("unet3d_h100", "--memory", "1 GiB")
RESNET = ("resnet50_h100", "--memory", "1 GiB")
COSMO = ("cosmoflow_h100", "--memory", "1 GiB")
JOBS_2 = {
    **{rule: pair for rule, pair in JOBS.items() if rule.startswith("checkpoint.") and rule != "checkpoint.accelerator_memory"},
    "training.workload": (H100, ("retinanet_b200",)),
    "training.steps": (H100, sets(H100, "dataset.files=21")),
    "training.memory": (H100, ("unet3d_h100", "--nodes", 2, "--memory", "512 GiB")),
    "checkpoint.subset": (llama("llama3_405b"), llama("llama3_405b", nodes=2)),
}


def rules_of(edition):
    with open(f"{EDITIONS}/mlperf-{edition}.json", encoding="utf-8") as stream:
        return json.load(stream)["rules"]


def judged(*words, edition="3.0"):
    r = haul("check", *words, "--edition", edition, "--json", env={"HAUL_DATA": "/nowhere"})
    check(r.returncode in (0, 8, 9) and r.stdout, r)
    said = json.loads(r.stdout)
    check(said["closed"] == (r.returncode == 0) and (said["verdict"] == "closed if") == (r.returncode == 9), r)
    return said


def differences(said):
    return {d["key"]: d["category"] for w in said["workloads"] for d in w["differences"]}


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
    check(states(subset, "checkpoint.processes") == set() and subset["verdict"] == "closed if", subset)
    between = judged("llama3_70b", "--ranks-per-node", 16, "--memory", "1 GiB", edition="2.0")
    check(states(between, "checkpoint.subset") == {"broken"} and between["category"] == "invalid", between)


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
    """The verdict stands first, then what is broken, then the conditions; what is held is a count, unless all of it is asked for."""
    r = haul("check", *map(str, llama("llama3_8b")))
    check(r.returncode == 9 and r.stdout.startswith("By the rules of MLPerf Storage 3.0 this is closed if the 5 conditions below hold, which "
                                                    "a job cannot show.\nif: checkpoint.errors"), r)
    check("held: " not in r.stdout and "rules are held; --all lists them" in r.stdout, r)
    check("held: checkpoint.model" in haul("check", *map(str, llama("llama3_8b")), "--all").stdout, r)
    r = haul("check", *map(str, sets(UNET, "dataset.files=21", "train.loader.prefetch=3")))
    lines = r.stdout.splitlines()
    check(r.returncode == 8 and "this is invalid" in lines[0] and lines[1] == "train beside unet3d on b200, which it is nearest to:" and
          "steps per epoch 3, wanted: at least 500: 3,479 files more" in " ".join(r.stdout.split()), r)
    check("invalid: train: train.loader.prefetch is 3, and 1 in the edition's; closed takes 1 to 2" in r.stdout, r)
    check(judged(*sets(UNET, "train.loader.kind=sample"))["category"] == "open", "another loader is open")
    said = judged("unet3d_b200")
    check(states(said, "training.memory") == {"unknown"} and said["verdict"] == "closed if" and said["broken"] == 0, said)
    check("no rules for this" in haul("check", "io_random").stdout and judged("io_random")["verdict"] == "no rules", "no rule is of plain I/O")


def test_what_if():
    """A workload that the edition has not: both say that, and how it compares; the names of categories stay."""
    for words, edition in ((("dlrm_b200",), "3.0"), (("flux_mi355",), "3.0"), (RESNET, "3.0"), (COSMO, "3.0"), (("retinanet_b200",), "2.0"),
                           (("llama_7b",), "3.0"), (sets(KV, "phases.0.kvcache.model=mistral-7b"), "3.0"), (H100, "3.0"), (KV, "2.0")):
        said = judged(*words, edition=edition)
        check(said["whatif"] and said["verdict"] == "what-if" and not said["closed"], said)
        r = haul("check", *map(str, words), "--edition", edition)
        text = " ".join(r.stdout.split())
        check(r.returncode == 8 and text.startswith(f"MLPerf Storage {edition} has no such workload: this is a what-if. It compares with other "
                                                    "runs of the same job") and "this is invalid" not in text and "what-if: " in text, r)
    for words, verdict in ((llama("llama3_8b"), "closed if"), (sets(UNET, "train.loader.kind=sample"), "open"),
                           (sets(UNET, "train.batch=8"), "invalid"), (("io_random",), "no rules")):
        said = judged(*words)
        check(not said["whatif"] and said["verdict"] == verdict, (words, said))
        check("what-if" not in haul("check", *map(str, words)).stdout, words)


def test_of_another_edition():
    """unet3d on H100 has checkpoints in edition 2.0 and none in 3.0: the difference is told, by its keys."""
    said = judged(*H100)
    named = differences(said)
    check(said["workloads"][0]["workload"] == "unet3d on h100" and "train.checkpoint.every_epochs" in named and
          not {"train.compute", "train.batch"} & set(named), said)
    r = haul("import", "mlpstorage", "training run -m unet3d -at h100 -na 1")
    check("that of unet3d on h100, a what-if" in r.stderr, r)


def test_open_caches():
    """6.6.2: an open submission of caches changes seed, trials, users, duration and generation; nothing else, and each is named."""
    for change, category in (("seed=43", "open"), ("phases.0.kvcache.duration=60 s", "open"), ("phases.0.kvcache.users=199", "open"),
                             ("phases.2.kvcache.generation=fast", "open"), ("repeat=5", "open"), ("phases.0.kvcache.mode=decode", "invalid"),
                             ("phases.0.kvcache.max_concurrent_allocs=15", "invalid"), ("phases.1.kvcache.after=80 s", "invalid")):
        said = judged(*sets(("mlperf_kvcache",), change))
        check(said["category"] == said["verdict"] == category and set(differences(said).values()) == {category}, (change, said))
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{EDITIONS}/../kvcache_mlperf.json", encoding="utf-8") as stream:
            job = json.load(stream)
        for i in range(3):
            with open(f"{folder}/{i}.json", "w", encoding="utf-8") as out:
                json.dump({**job, "phases": job["phases"][i:i + 1]}, out)
        r = haul("check", f"{folder}/0.json", env={"HAUL_DATA": "/nowhere"})
        check(r.returncode == 8 and "option 2, storage_throughput, is missing" in r.stdout, r)
        three = judged(*(f"{folder}/{i}.json" for i in range(3)))
        check(three["verdict"] == "closed if", three)


def test_halves():
    """A checkpoint submission of two invocations: each half alone is closed if the other one is, and both are judged together."""
    half = {}
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{EDITIONS}/../llama3_8b.json", encoding="utf-8") as stream:
            job = json.load(stream)
        for name, changes in (("write", {}), ("read", {}), ("cold", {"operation": "read", "cold": "fadvise"}), ("few", {"operation": "read", "count": 9}),
                              ("late", {"operation": "read", "after": "31 s"})):
            job["phases"][0]["checkpoint"].update({"operation": name, "count": 10, "cold": {}, "after": 0, **changes})
            half[name] = f"{folder}/{name}.json"
            with open(half[name], "w", encoding="utf-8") as out:
                json.dump(job, out)
        where = ("--ranks-per-node", 8, "--memory", "64 GiB")
        for names, verdict, conditions in (
                (("write",), "closed if", {"checkpoint.reading_half"}), (("read",), "closed if", {"checkpoint.writing_half", "checkpoint.caches_between"}),
                (("write", "read"), "closed if", {"checkpoint.between", "checkpoint.caches_between"}),
                (("read", "write"), "closed if", {"checkpoint.between"}), (("write", "cold"), "closed if", {"checkpoint.between"}),
                (("write", "few"), "invalid", set()), (("write", "late"), "invalid", set())):
            said = judged(*(half[name] for name in names), *where)
            check(said["verdict"] == verdict and conditions <= {r["rule"] for r in said["rules"] if r["state"] == "undecided"}, (names, said))
            check(("checkpoint.caches_between" in str(said)) == ("read" in names or "late" in names or "few" in names), (names, said))
        check(states(judged(half["write"], half["cold"], *where), "checkpoint.writes") == {"held"}, "ten writes and ten reads")


def test_stores():
    """A store without a page cache needs no cold reads; a stricter sync is closed; memory never is."""
    small = ("mlperf_llama3_8b", "--memory", "64 GiB", "--set", "checkpoint.cold.drop=none")
    for change, verdict in (("stores.checkpoints.uri=s3://b/x", "closed if"), ("stores.checkpoints.uri=direct:///nowhere/x", "closed if"),
                            ("stores.checkpoints.fsync=folder", "invalid"), ("stores.checkpoints.uri=file:///nowhere/x", "invalid"),
                            ("stores.checkpoints.uri=direct:///dev/shm/x", "invalid")):
        said = judged(*small, "--set", change)
        check(said["verdict"] == verdict, (change, said))
    said = judged("mlperf_llama3_8b", "--set", "stores.checkpoints.fsync=folder")
    check(said["verdict"] == "closed if" and not differences(said), said)
    four = judged(*llama("llama3_8b", nodes=2, per_node=4))
    check(states(four, "checkpoint.four_per_host") == {"undecided"} and four["verdict"] == "closed if", four)


def test_run_folders():
    """Folders of runs, trees of them, and the configuration of a run, as mlpstorage leaves them."""
    with tempfile.TemporaryDirectory() as folder:
        for leaf, name, more in (("training/unet3d/run/20260101_000000", "unet3d", {"dataset": {"num_files_train": 40000}}),
                                 ("training/unet3d/datagen/20260101_000000", "unet3d", {}),
                                 ("checkpointing/llama3-8b/20260102_000000", "llama3-8b", {"checkpoint": {"num_checkpoints_read": 0}}),
                                 ("checkpointing/llama3-8b/20260102_000100", "llama3-8b", {"checkpoint": {"num_checkpoints_write": 0}})):
            kind = leaf.split("/")[0]
            with open(f"{EDITIONS}/3.0/{kind}/{name}.json", encoding="utf-8") as stream:
                parameters = json.load(stream)["parameters"]
            for section, keys in more.items():
                parameters[section].update(keys)
            os.makedirs(f"{folder}/{leaf}/dlio_config")
            with open(f"{folder}/{leaf}/dlio_config/config.yaml", "w", encoding="utf-8") as out:
                json.dump({"workload": parameters}, out)
            with open(f"{folder}/{leaf}/summary.json", "w", encoding="utf-8") as out:
                json.dump({"num_accelerators": 8, "num_hosts": 1, "host_memory_GB": [30.5]}, out)
        run = f"{folder}/training/unet3d/run/20260101_000000"
        for path in (run, run + "/", f"{run}/dlio_config", f"{run}/dlio_config/config.yaml", f"{folder}/training"):
            said = judged(path)
            check(said["verdict"] == "closed if" and said["workloads"][0]["workload"] == "unet3d on b200", (path, said))
            check(states(said, "training.memory") == {"held"} or path.endswith(".yaml"), (path, said))
        said = judged(f"{folder}/checkpointing/llama3-8b")
        check(said["verdict"] == "closed if" and states(said, "checkpoint.writes") == states(said, "checkpoint.reads") == {"held"}, said)
        r = haul("import", "dlio", run)
        check(r.returncode == 0 and json.loads(r.stdout)["dataset"]["files"] == 40000, r)
        r = haul("import", "mlpstorage", run)
        check(r.returncode == 0 and json.loads(r.stdout)["dataset"]["files"] == 40000, r)
        os.makedirs(f"{folder}/empty")
        refused(haul("check", f"{folder}/empty"), "dlio_config/config.yaml")


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
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, tempfile.TemporaryDirectory() as folder:
        inside = run(folder, "inside", "unet3d_b200", "--set", f"stores.data.uri=file://{memory}/x", "--set", "dataset.sample_bytes=1000",
                     "--set", "dataset.sample_bytes_stdev=0", "--set", "dataset.files=21", "--set", "train.epochs=1", "--set", "train.null_steps=0")
        seen_in(seen_3, "3.0", inside)
        seen_in(seen_2, "2.0", inside)
        fed = run(folder, "fed", "unet3d_b200", "--set", NULL, *few(21), "--warmup", 1, "--repeat", 5)
        said = judged(fed)
        check(states(said, "training.steps") == {"broken"} and said["category"] == "invalid", said)
        seen_in(seen_3, "3.0", fed)
        seen_in(seen_2, "2.0", fed)
        # Runs that are longer than what a busy machine needs between them.
        steady = run(folder, "steady", "unet3d_b200", "--set", NULL, *few(21), "--set", "train.compute=2 s", "--repeat", 2)
        said = judged(steady)
        check(states(said, "training.gap") == {"held"}, said)
        check({f"train, run {k}" for k in (1, 2)} <= {r["phase"] for r in said["rules"]}, said)
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


def test_results_in_memory():
    """Results whose store was in the memory of the node, as they tell themselves, wherever they are judged; and void ones."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, tempfile.TemporaryDirectory() as folder:
        path = run(folder, "memory", "unet3d_b200", "--set", f"stores.data.uri=file://{memory}/x", "--set", "dataset.sample_bytes_stdev=0",
                   "--set", "dataset.sample_bytes=1000", "--set", "dataset.files=21", "--set", "train.epochs=1", "--set", "train.null_steps=0")
        said = judged(path)
        check(states(said, "results.storage") == {"broken"} and "store.uri" not in differences(said) and said["verdict"] != "closed if", said)
        voids = sum(d["voids"] for p in json.loads(haul("report", path, "--json").stdout)["phases"] if p["name"] == "train" for d in p["doubts"])
        check(states(said, "training.void") == {"broken" if voids else "held"}, (voids, said))
        # Where a file does not tell, nobody looks at the folder as it is today.
        with h5py.File(path, "r+") as f:
            rows = f["stores"][:]
            rows["file_system"] = b""
            f["stores"][:] = rows
        said = judged(path)
        check(states(said, "results.storage") == {"unknown"} and "store.uri" not in differences(said), said)


def test_refusals():
    refused(haul("check", "unet3d_b200", "--edition", "1.9"), "--edition 1.9", "--rules")
    refused(haul("check", "unet3d_b200", "--edition", "3.0", "--rules", "x"), "exclude each other")
    refused(haul("check", "unet3d_b200", "none.h5"), "not judged together")
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
