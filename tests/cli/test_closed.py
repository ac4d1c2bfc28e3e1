# SPDX-License-Identifier: Apache-2.0
"""Closed is a list. Each option that the schema has is changed to other legal values, in each ready job mlperf_…: haul check never says
"closed" of two values of one option, unless the edition's list has its key; a value within the bounds of the list stays closed; and
what is not closed is named. A default that is written out, or a value that stands for it, changes nothing. Some options are drawn; with
HAUL_TEST_FULL=1 it is all of them."""
import concurrent.futures
import json
import os
import random
import tempfile

from clitest import check, haul, main

SOURCE = os.environ["HAUL_SOURCE"]
FULL = os.environ.get("HAUL_TEST_FULL") == "1"
DRAWN = 60
KINDS = {"training": "train", "checkpointing": "checkpoint", "kvcache": "kvcache"}
STORES = {"training": "data", "checkpointing": "checkpoints", "kvcache": "cache"}
# The edition in which the job is closed, its benchmark and its workload.
JOBS = {"mlperf_unet3d_b200": ("3.0", "training", "unet3d"), "mlperf_retinanet_b200": ("3.0", "training", "retinanet"),
        "mlperf_retinanet_mi355": ("3.0", "training", "retinanet"), "mlperf_kvcache": ("3.0", "kvcache", "")}
JOBS |= {f"mlperf_{m}_{a}": ("2.0", "training", m) for m in ("unet3d", "resnet50", "cosmoflow") for a in ("a100", "h100")}
for size in ("8b", "70b", "405b", "1t"):
    JOBS[f"mlperf_llama3_{size}"] = ("3.0", "checkpointing", f"llama3-{size}")
    if size != "8b":
        JOBS[f"mlperf_llama3_{size}_subset"] = ("2.0", "checkpointing", f"llama3-{size}")
# Rules judge these by what becomes of them: the size of a data set, the processes, the halves of a submission.
JUDGED = {"cluster.ranks", "cluster.ranks_per_node", "cluster.memory", "dataset.files", "dataset.files_per_rank", "dataset.steps_per_epoch",
          "dataset.memories", "checkpoint.operation", "checkpoint.cold.drop", "repeat", "warmup"}


def read(edition, *path):
    with open("/".join((SOURCE, "workloads/catalog/editions", edition, *path)) + ".json", encoding="utf-8") as stream:
        found = json.load(stream)
    return {**read(found["base"], *path), **found} if "base" in found else found


def listed(job, name="closed"):
    edition, benchmark, workload = JOBS[job]
    own = read(edition, benchmark, workload).get(name, {}) if workload else {}
    return {**read(edition, benchmark).get(name, {}), **own}


def takes(entry, value):
    if "schemes" in entry:
        return isinstance(value, str) and value.partition("://")[0] in entry["schemes"]
    if "one_of" in entry:
        return value in entry["one_of"]
    return "least" not in entry and "most" not in entry or \
        isinstance(value, (int, float)) and entry.get("least", -1e300) <= value <= entry.get("most", 1e300)


def forms(node):
    return [node, *node.get("oneOf", []), *node.get("anyOf", [])]


def options(node, path=""):
    """(path, schema) of each value below an object of the schema."""
    for key, value in node.get("properties", {}).items():
        inner = next((v for v in forms(value) if "properties" in v and "type" not in v["properties"]), None)
        yield from options(inner, f"{path}{key}.") if inner else ((path + key, value),)


def values(path, schema):
    """Legal values of an option, some of them."""
    found = []
    if path.endswith(".uri"):
        return ["null://", "sim://x", "mem://x", "file:///dev/shm/x", "file:///nowhere/x", "s3://bucket/x"]
    for one in forms(schema):
        if "enum" in one:
            found += one["enum"]
        elif one.get("type") == "boolean":
            found += [True, False]
        elif one.get("type") in ("integer", "number"):
            least, most = one.get("minimum", 0), one.get("maximum", 10)
            base = schema.get("default")
            base = base if isinstance(base, (int, float)) else least
            found += [v for v in (least, base + 1, base + 2, 3, 8, most) if least <= v <= most]
        elif one.get("type") == "string" and "pattern" not in one:
            found += ["other", "another"]
    return list(dict.fromkeys(found))


def option_parts(job, schema):
    """(key of the list, path of --set, schema) of the parts of a job."""
    _, benchmark, _ = JOBS[job]
    kind, store = KINDS[benchmark], STORES[benchmark]
    phase = next(one["properties"][kind] for one in schema["properties"]["phases"]["items"]["oneOf"] if kind in one.get("properties", {}))
    parts = [("", "", {"properties": {k: v for k, v in schema["properties"].items()
                                      if k not in ("stores", "dataset", "datasets", "phases", "ways", "base", "set", "way")}}),
             ("store.", f"stores.{store}.", schema["properties"]["stores"]["additionalProperties"]["oneOf"][0])]
    if benchmark == "training":
        parts.append(("dataset.", "dataset.", next(v for v in forms(schema["properties"]["dataset"]) if "properties" in v)))
    phases = [f"phases.{i}.kvcache" for i in range(3)] if kind == "kvcache" else [kind]
    return parts + [(f"{kind}.", f"{to}.", next(v for v in forms(phase) if "properties" in v)) for to in phases]


def every_option(job, schema):
    return [(to + path, one) for _, to, node in option_parts(job, schema) for path, one in options(node)]


def changes(job, schema):
    """(key of the list, path of --set, values) of each option of a job."""
    return [(key + path, to + path, values(to + path, one)) for key, to, node in option_parts(job, schema) for path, one in options(node)]


def judged(job, path, value):
    """(exit status, what haul check says) of a job with one change; None: the change is not legal there."""
    text = value if isinstance(value, str) else json.dumps(value)
    r = haul("check", job, "--edition", JOBS[job][0], "--memory", "1 GiB", "--set", f"{path}={text}", "--json", env={"HAUL_DATA": "/nowhere"})
    check(r.returncode in (2, 8, 9), (job, path, value, r))
    said = json.loads(r.stdout) if r.returncode != 2 else None
    if said:
        check(said["verdict"].startswith("closed") == (r.returncode == 9) and not said["closed"], (job, path, value, said))
    return said


def wrong(job, key, path, tried):
    """What is wrong with an option of a job; []: nothing."""
    entry, faults, closed = listed(job).get(key), [], []
    for value in tried:
        said = judged(job, path, value)
        if not said:
            continue
        named = [d["key"] for w in said["workloads"] for d in w["differences"]]
        may = entry is not None and takes(entry, value) and "/dev/shm/" not in str(value)
        if said["verdict"] == "closed if":
            closed += [] if may else [value]
        elif may and key not in JUDGED:
            faults.append(f"{job}: {path}={value} is {said['verdict']}: {named}")
        elif not named and not any(row["state"] == "broken" for row in said["rules"]):
            faults.append(f"{job}: {path}={value} is {said['verdict']}, and nothing says why")
    # One of them may be what the job has, and 0 stand for it.
    closed = [v for v in closed if v is False or v != 0]
    return faults + ([f"{job}: {path} is closed with each of {closed}"] if len(closed) > 1 else [])


def test_each_option():
    schema = json.loads(haul("schema").stdout)
    every = [(job, *change) for job in JOBS for change in changes(job, schema)]
    check(len(every) > 1500, len(every))
    chosen = every if FULL else random.sample(every, DRAWN)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        faults = [fault for some in pool.map(lambda one: wrong(*one), chosen) for fault in some]
    check(not faults, "\n".join(faults))


def test_each_key_of_the_list():
    """The converse: of each key of each list the job has an option, and the bounds are tried from both sides."""
    schema = json.loads(haul("schema").stdout)
    for job in JOBS:
        known = {key: path for key, path, _ in changes(job, schema)}
        for key, entry in listed(job).items():
            inside = [*entry.get("one_of", [])[:1], *(entry[k] for k in ("least", "most") if k in entry)]
            outside = [entry[k] + d for k, d in (("least", -1), ("most", 1)) if k in entry and entry[k] + d >= 0]
            if key not in known:  # of a store of another kind, of checkpoints in a training, or of the job
                check(key.startswith(("store.", "checkpoints.")) or key == "way", (job, key))
                continue
            for value, wanted in [(v, True) for v in inside] + [(v, False) for v in outside]:
                said = judged(job, known[key], value)
                names = {d["key"] for w in said["workloads"] for d in w["differences"]} if said else set()
                check(said is None or (key in names) != wanted, (job, key, value, said))


def test_what_was_tried():
    """Each of these was "closed" once."""
    unet = [f"stores.data.uri={uri}" for uri in ("null://", "sim://x", "mem://x", "file:///dev/shm/x", "file:///dev/shm/../shm/x")]
    unet += ["train.shuffle.files=false", "train.shuffle.samples=false", "train.loader.prefetch=8"]
    llama = ["checkpoint.layout=distributed", "checkpoint.layout=layer", "checkpoint.framing=raw", "checkpoint.writers=4",
             'checkpoint.read_mesh={"tensor":8}', "stores.checkpoints.uri=file:///dev/shm/x"]
    caches = [f"{name}.{change}" for name in ("max_storage_stress",) for change in (
        "generation=fast", "autoscaling.mode=qos", "rag.documents=10", "conversation.enabled=false", "prefix.enabled=false", "mode=decode",
        "requests=10", "model.type=fp8", "served=100", "threads=16", "on_error=count")]
    caches += ["stores.cache.fsync=none", "stores.cache.uri=s3://b/x", "storage_throughput.after=900s", "storage_throughput.after=0"]
    for job, tried in (("mlperf_unet3d_b200", unet), ("mlperf_llama3_8b", llama), ("mlperf_kvcache", caches)):
        for change in tried:
            path, _, value = change.partition("=")
            said = judged(job, path, value)
            check(said is None or not said["verdict"].startswith("closed"), (job, change, said))


def job_file(name):
    """The job with its bases, as an object, and the paths that it sets."""
    with open(f"{SOURCE}/workloads/catalog/{name}", encoding="utf-8") as stream:
        job = json.load(stream)
    base, sets = job_file(job["base"]) if "base" in job else ({}, [])
    return {**base, **job}, sets + [one.partition("=")[0] for one in job.get("set", [])]


def names(job, sets, path, kind):
    """Whether the job itself says something of an option, or of a table or a list that it is in. A bare value stands for a table."""
    node, steps = job, path.split(".")
    if steps[0] == kind:
        node = next(phase for phase in job["phases"] if kind in phase)
    for k, step in enumerate(steps):
        if ".".join(steps[:k + 1]) in sets or k and not isinstance(node, (dict, list)):
            return True
        node = node[int(step)] if isinstance(node, list) else node.get(step)
        if node is None:
            return any(one.startswith(path) for one in sets)
    return True


def verdict(job, *sets):
    r = haul("check", job, "--edition", JOBS[job][0], "--memory", "1 GiB", "--json", *(f"--set={one}" for one in sets),
             env={"HAUL_DATA": "/nowhere"})
    check(r.returncode in (2, 8, 9), (job, sets, r))
    if r.returncode == 2:  # not legal there, as an option of another format
        return None
    said = json.loads(r.stdout)
    return said["verdict"], [[d["key"] for d in w["differences"]] for w in said["workloads"]]


def defaults(job, schema):
    """PATH=VALUE of each option of a job that the job does not name, with the default that the schema has."""
    _, benchmark, _ = JOBS[job]
    text, sets = job_file(f"{job}.json")
    for path, found in [(to, one) for to, one in every_option(job, schema) if "default" in one]:
        if not names(text, sets, path, KINDS[benchmark]) and not path.startswith(("repeat", "warmup", "cluster.memory")):
            value = found["default"]
            yield f"{path}={value if isinstance(value, str) else json.dumps(value)}"
        elif "items" in found:
            inner = next(v for v in forms(found["items"]) if "properties" in v)
            yield from (f"{path}.0.{k}={json.dumps(v['default'])}" for k, v in inner["properties"].items() if "default" in v)


def test_each_default_written_out():
    schema = json.loads(haul("schema").stdout)
    every = [(job, one) for job in JOBS for one in defaults(job, schema)]
    check(len(every) > 1000, len(every))
    was = {job: verdict(job) for job in JOBS}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        said = pool.map(lambda one: (one, verdict(*one)), every if FULL else random.sample(every, DRAWN))
        told = [(one, now) for one, now in said if now]
        check(len(told) > DRAWN / 2, len(told))
        faults = [(one, now) for one, now in told if now != was[one[0]]]
    check(not faults, "\n".join(map(str, faults)))


# Values that stand for an option that was left out, or that says "as others do".
TEMPLATES = [{"name": name, "share": 1, "context_min": c[0], "context_max": c[1], "generate_min": g[0], "generate_max": g[1],
              "think_min": t[0], "think_max": t[1]}
             for name, c, g, t in (("chatbot", (512, 4096), (50, 200), (0.1, 0.5)), ("coding", (4096, 25000), (100, 500), (0.2, 1)),
                                   ("document", (4096, 16384), (200, 800), (0.3, 1.5)))]
CLASSES = [{"name": name, "share": share, "priority": 3 - k, "p95": p[0], "p99": p[1], "p99.9": p[2], "p99.99": p[3]}
           for k, (name, share, p) in enumerate((("interactive", 0.15, (0.05, 0.1, 0.15, 0.2)), ("responsive", 0.35, (0.1, 0.2, 0.35, 0.5)),
                                                 ("batch", 0.5, (1, 5, 7.5, 10))))]
STRESS, THROUGHPUT = "phases.0.kvcache.", "phases.1.kvcache."
STANDS = {
    "mlperf_kvcache": [
        *(f"{STRESS}tiers={tiers}" for tiers in (
            '[]', '["cache"]', '[{}]', '[{"store":"cache"}]', '[{"kind":"store","name":"cache","high":1,"low":1,"largest":0.95}]')),
        f'{THROUGHPUT}tiers=[{{"kind":"cpu","name":"cpu","capacity":"4 GiB","high":0.8,"low":0.8}},{{}}]',
        f"{STRESS}served=0", f"{STRESS}store=cache", f"{STRESS}chunk=4 MiB", f"{STRESS}chunk=0", f"{STRESS}model.kv_heads=8",
        f"{STRESS}templates={json.dumps(TEMPLATES)}", f"{STRESS}classes={json.dumps(CLASSES)}"],
    "mlperf_unet3d_b200": ["dataset.store=data", 'dataset.store=""', "train.store=data", "train.loader.depth=1", "train.checkpoint.first_epoch=0"],
    "mlperf_retinanet_b200": ["train.loader.depth=1"],
    "mlperf_llama3_8b": ["checkpoint.mesh.tensor=0", "checkpoint.mesh.data=0", "checkpoint.store=checkpoints", "cluster.tensor=1"],
}
# Values beside them that do not.
OTHERS = {"mlperf_kvcache": [f"{STRESS}tiers.0.high=0.9", f"{STRESS}served=199", f"{STRESS}chunk=8 MiB", f"{STRESS}tiers.0.admit_after=1",
                             f"{STRESS}templates={json.dumps(TEMPLATES[:2])}"],
          "mlperf_llama3_8b": ["checkpoint.mesh.tensor=2"]}


def test_what_stands_for_a_default():
    for job, sets in STANDS.items():
        was = verdict(job)
        for one in sets:
            check(verdict(job, one) == was, (job, one, verdict(job, one), was))
        for one in OTHERS.get(job, []):
            check(verdict(job, one) not in (None, was), (job, one))


def test_names_of_stores():
    """What a job calls its stores is no difference."""
    with open(f"{SOURCE}/workloads/catalog/kvcache_mlperf.json", encoding="utf-8") as stream:
        text = stream.read()
    with tempfile.TemporaryDirectory() as folder:
        said = []
        for k, job in enumerate((text, text.replace('"cache"', '"disk"'))):
            with open(f"{folder}/{k}.json", "w", encoding="utf-8") as stream:
                stream.write(job)
            said.append(json.loads(haul("check", f"{folder}/{k}.json", "--json", env={"HAUL_DATA": "/nowhere"}).stdout))
        check(said[0]["workloads"] == said[1]["workloads"] and said[0]["verdict"] == said[1]["verdict"], said)


main()
