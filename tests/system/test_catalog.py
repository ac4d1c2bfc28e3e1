# SPDX-License-Identifier: Apache-2.0
"""Runs of all ready jobs, made small: each generates its data, trains for two epochs with all bytes verified, and reads as
many bytes as readers of its format do. Cold jobs read data that was not in the page cache."""
import glob
import json
import os

from haultest import *

SMALL = {  # the small data set for each family of jobs; an entry with a job's whole name takes precedence
    "bert": {"files": 3, "samples_per_file": 200, "sample_bytes": 500},
    "cosmoflow": {"files": 40, "sample_bytes": 30000, "sample_bytes_stdev": 700},
    "default": {},
    "dlrm": {"train.samples_per_file": 50, "train.sample_bytes": 3000, "valid.samples_per_file": 20,
             "valid.sample_bytes": 3000},
    "dlrm_b200": {"files": 4, "samples_per_file": 7000},
    "dlrm_mi355": {"files": 4, "samples_per_file": 7000},
    "flux": {"files": 3, "samples_per_file": 4},
    "megatron": {"samples_per_file": 5000, "sample_bytes": 64},
    "resnet50": {"files": 2, "sample_bytes": 1000},
    "retinanet": {"files": 150, "sample_bytes": 20000},
    "unet3d": {"files": 40, "sample_bytes": 50000, "sample_bytes_stdev": 20000},
}
BATCH = {"dlrm_b200": 1000, "dlrm_mi355": 1000, "flux_b200": 2, "flux_mi355": 2}
RANKS = 2


def is_cold(name):
    return name.endswith(("_cold", "_aurora", "_accelerators", "_laptop"))


def run_small(name):
    cut = SMALL.get(name, SMALL[name.split("_")[0]])
    with Folder() as folder:
        sets = [f"datasets.{k}={v}" if "." in k else f"dataset.{k}={v}" for k, v in cut.items()]
        sets += ["train.epochs=2", "train.steps=0", "train.compute=0", "train.verify=full", "train.null_steps=0",
                 f"stores.data.uri=file://{folder}/data"]
        if is_cold(name):
            sets.append("train.cold.evidence=64 KiB")
        if name in BATCH:
            sets.append(f"train.batch={BATCH[name]}")
        if name.endswith("aurora"):
            sets += [f"cluster.ranks_per_node={RANKS}", f"cluster.gpus={RANKS}"]
        arguments = [a for s in sets for a in ("--set", s)]
        r = mpi(RANKS, "run", name, "--quiet", *arguments, cwd=folder, env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{name}: {r}")
        train = next(p for p in report(f"{folder}/results.h5")["phases"] if p["kind"] == "train")
        check(len(train["epochs"]) == 2 and train["errors"] == 0, f"{name}: {train['epochs']}")
        evaluated = len(train.get("evaluations", []))
        check(evaluated == (2 if name in ("default", "dlrm") else 0), f"{name}: {evaluated} evaluations")
        made = [os.path.getsize(os.path.join(t, n)) for t, _, names in os.walk(f"{folder}/data") for n in names
                if not n.startswith(".")]
        return train, sum(e["samples"] for e in train["epochs"]), made


IO_OBJECTS = ("s3_get", "s3_put", "s3_mixed")
OBJECTS = ("azure", "gcs", "s3_demo", "s3_hybrid", "s3_one", "s3_rank", "s3_round_robin")


def run_small_objects(name):
    """Runs a job for an object store on files, because its own store needs servers. The job needs two requests in flight
    per file, so the engine is uring."""
    with open(f"{SOURCE}/workloads/catalog/{name}.json") as f:
        job = json.load(f)
    with Folder() as folder:
        sets = [f'stores.{s}={{"uri": "file://{folder}/{s}", "engine": "uring"}}' for s in job["stores"]]
        for d in [f"datasets.{d}" for d in job.get("datasets", {})] or ["dataset"]:
            sets += [f"{d}.files=40", f"{d}.sample_bytes=50000", f"{d}.sample_bytes_stdev=20000"]
        sets += ["train.epochs=2", "train.compute=0", "train.verify=full", "train.null_steps=0"]
        sets += ["train.checkpoint.model.bytes=50000"] if name == "s3_hybrid" else []
        r = mpi(RANKS, "run", name, "--quiet", *[a for s in sets for a in ("--set", s)], cwd=folder)
        check(r.rc == 0, f"{name}: {r}")
        phases = report(f"{folder}/results.h5")["phases"]
        train = next(p for p in phases if p["kind"] == "train")
        written = [len(p["checkpoints"]) for p in phases if p["kind"] == "checkpoint"]
        check(written == ([2] if name == "s3_hybrid" else []), f"{name}: {written}")
        check(len(train["epochs"]) == 2 and train["errors"] == 0, f"{name}: {train['epochs']}")
        evaluations = 2 if name == "s3_hybrid" else 0
        check(len(train.get("evaluations", [])) == evaluations, f"{name}: {train.get('evaluations')}")


# A call that began within the time of its phase may take as long.
PATIENT = ("--grace", "300 s")


def run_small_io(name, seconds):
    """Runs a job of plain I/O on a few blocks or objects, and checks that no file is left."""
    with open(f"{SOURCE}/workloads/catalog/{name}.json") as f:
        phases = json.load(f)["phases"]
    with Folder() as folder:
        sets = [f"stores.data.uri=file://{folder}/data"]
        if name in ("io_random", "io_tune", "io_compare"):
            sets.append("stores.data.direct=false")
        if name in IO_OBJECTS:
            sets = [f'stores.data={{"uri": "file://{folder}/data"}}']
        for i, phase in enumerate(phases):
            io = phase["io"]
            if "size" in io and io["size"] != 3901:
                sets.append(f"phases.{i}.io.size={470080 if name == 'io_shared' else '4 MiB'}")
            if "objects" in io:
                sets.append(f"phases.{i}.io.objects=20")
            if "seconds" in io:
                sets.append(f"phases.{i}.io.seconds={seconds}")
            if "warmup" in io:
                sets.append(f"phases.{i}.io.warmup=0.1")
            if io.get("block") in ("8 MiB", "16 MiB"):
                sets.append(f"phases.{i}.io.block=1 MiB")
        r = mpi(RANKS, "run", name, "--quiet", *PATIENT, *[a for s in sets for a in ("--set", s)], cwd=folder,
                env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{name}: {r}")
        done = report(f"{folder}/results.h5")["phases"]
        check(len(done) == len(phases), f"{name}: {len(done)} phases")
        for p in done:
            check(p["errors"] == 0 and p["measures"]["done"] > 0, f"{name}: {p['name']}: {p['measures']}")
        left = [n for _, _, names in os.walk(f"{folder}/data") for n in names]
        check(not left, f"{name}: files are left: {left[:5]}")


def run_small_checkpoints(name, replicas):
    """Writes two checkpoints of a small model of the job's mesh and layout, as the first ranks of it, and reads them. The plan
    has told how many bytes and files that is."""
    small = '{"vocabulary": 64, "hidden": 32, "feed_forward": 96, "layers": 128, "heads": 4, "kv_heads": 2}'
    with Folder() as folder:
        sets = [f"stores.checkpoints.uri=file://{folder}/c", f"checkpoint.model={small}", "checkpoint.count=2",
                "checkpoint.pause=0", "checkpoint.verify=full", f"checkpoint.replicas={replicas}"]
        r = mpi(RANKS, "run", name, "--quiet", *[a for s in sets for a in ("--set", s)], cwd=folder,
                env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{name}: {r}")
        p = report(f"{folder}/results.h5")["phases"][0]
        check(p["kind"] == "checkpoint" and p["errors"] == 0, f"{name}: {p}")
        made = [n for _, _, names in os.walk(f"{folder}/c") for n in names if n.endswith(".pt")]
        planned = alone("plan", name, "--json", "--ranks-per-node", RANKS, *[a for s in sets for a in ("--set", s)])
        planned = json.loads(planned.out)["phases"][0]
        check(p["bytes_read"] + p["bytes_written"] == planned["bytes"], f"{name}: {p}, {planned}")
        files = sum(row[planned["tables"]["ranks"]["columns"].index("files")] for row in planned["tables"]["ranks"]["rows"])
        check(len(made) == 2 * files, f"{name}: {made}, {files} files planned")


def test_checkpoints():
    for name, replicas in (("llama3_8b", "first"), ("llama3_1t", "first"), ("llama_7b", "first"), ("llama_7b", "all")):
        run_small_checkpoints(name, replicas)


@pauses(0.5, 5)
def test_io(seconds):
    for name in ("io_sequential", "io_shared", "io_metadata", "io_random", "io_tune", "io_compare", *IO_OBJECTS):
        run_small_io(name, seconds)


def test_questions():
    """The jobs for questions answer them as the README asks, made small."""
    cut = ["dataset.files=40", "dataset.sample_bytes=50000", "dataset.sample_bytes_stdev=20000", "train.steps=8", "train.compute=2 ms",
           "train.null_steps=0", "train.cold.evidence=64 KiB"]
    chat = ["kvcache.model=tiny-1b", "kvcache.requests=12", "stores.cache.direct=false", "kvcache.templates.0.think_min=20 ms",
            "kvcache.templates.0.think_max=60 ms", "kvcache.templates.0.context_max=256"]
    reads = ["make.size=4 MiB", "make.block=1 MiB", "read.size=4 MiB", "delete.size=4 MiB", "read.seconds=0.2", "read.warmup=0",
             "stores.data.direct=false"]
    with Folder() as folder:
        for name, sets, question in (
                ("unet3d_accelerators", cut, ("--find", "ranks=1..2", "--until", "train.au >= 0.001 %", "--repeat", 1)),
                ("unet3d_laptop", cut, ("--find", "ranks=1..2", "--until", "train.au >= 0.001 %", "--repeat", 1)),
                ("kvcache_users", chat, ("--find", "kvcache.users=2..6/4", "--until", "kvcache.request_p95 <= 100 s", "--repeat", 1)),
                ("kvcache_serving", chat, ("--find", "kvcache.users=2..6/4", "--until", "kvcache.ttft_p95 <= 100 s", "--repeat", 1)),
                ("io_tune", reads, ("--tune", "stores.data.engine=psync,uring", "--tune", "read.depth=1,4", "--repeat", 2))):
            r = mpi(RANKS, "run", name, "--force", *PATIENT, *question, *[a for s in sets for a in ("--set", s)], cwd=folder,
                    env={"HAUL_DATA": folder})
            check(r.rc == 0, f"{name}: {r}")
            found = report(f"{folder}/results.h5")
            if name == "io_tune":
                names = [p["name"] for p in found["phases"]]
                check(found["tune"]["end"] == "found" and names == ["make"] + ["read"] * (len(names) - 2) + ["delete"], f"{names}")
            else:
                check(found["find"]["end"] == "all" and found["find"]["carries"] == question[1].count("=") + (5 if chat is sets else 1),
                      f"{name}: {found['find']}")


def test_comparison():
    """compare_read reads what compare_write has left, here on files."""
    with Folder() as folder:
        for name in "compare_write", "compare_read":
            sets = [f'stores.data={{"uri": "file://{folder}/data"}}', f"{name[8:]}.objects=20",
                    f'{name[8:]}.sizes=[{{"size": "50 KB", "share": 1}}]', f"{name[8:]}.threads=4"]
            r = mpi(RANKS, "run", name, "--quiet", "--results", f"{name}.h5", *[a for s in sets for a in ("--set", s)], cwd=folder,
                    env={"HAUL_BUCKET": "none"})
            check(r.rc == 0, f"{name}: {r}")
            p, = report(f"{folder}/{name}.h5")["phases"]
            check(p["errors"] == 0 and p["bytes_read"] + p["bytes_written"] == RANKS * 20 * 50000, f"{name}: {p}")


def test_vectors():
    """Each job builds its indexes, made small, and searches them; of one it changes meanwhile."""
    with Folder() as folder:
        for name in ("vector_diskann", "vector_mlperf_10m", "vector_spann"):
            sets = ["vector.vectors=5000", "vector.count=20", "vector.seconds=0", "vector.warmup=0", "stores.data.direct=false"]
            r = mpi(RANKS, "run", name, "--quiet", "--results", f"{name}.h5", *[a for s in sets for a in ("--set", s)], cwd=folder,
                    env={"HAUL_DATA": folder})
            check(r.rc == 0, f"{name}: {r}")
            phases = report(f"{folder}/{name}.h5")["phases"]
            for build, search in zip(phases[::2], phases[1::2], strict=True):
                check(build["measures"]["built_bytes"] > 0 and search["measures"]["queries"] > 0 and search["errors"] == 0,
                      f"{name}: {search['measures']}")
        sets = ["vector.vectors=8000", "search.warmup=0", "search.count=20", "search.seconds=0", "stores.data.direct=false", "fresh.verify=full",
                "fresh.merge_at=50", "fresh.inserts=8000", "fresh.merges=1", "fresh.seconds=600"]
        r = mpi(RANKS, "run", "vector_fresh", "--quiet", "--results", "fresh.h5", *[a for s in sets for a in ("--set", s)], cwd=folder,
                env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{r}")
        m = report(f"{folder}/fresh.h5")["phases"][2]["measures"]
        check((m["merges"], m["inserts"], m["deletes"]) == (8, 8 * 40, 8 * 10) and m["queries"] > 0, f"{m}")


def test_acceptance():
    """accept_unet3d, made small, answers each of its rules; what it was that met or missed them depends on the machine."""
    with Folder() as folder:
        sets = ["dataset.files=40", "dataset.sample_bytes=50000", "dataset.sample_bytes_stdev=20000"]
        sets += [f"{p}.size=4 MiB" for p in ("write", "read", "random", "delete")]
        sets += [f"{p}.objects=20" for p in ("create", "stat", "remove")]
        sets += ["write.seconds=0.5", "random.seconds=0.5", "random.warmup=0.1"]
        sets += [f"{p}.{k}" for p in ("cold", "warm") for k in ("compute=0", "null_steps=0", "epochs=1")]
        r = mpi(RANKS, "run", "accept_unet3d", "--quiet", *PATIENT, *[a for s in sets for a in ("--set", s)], cwd=folder,
                env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{r}")
        r = alone("accept", "--json", "accept_unet3d", "results.h5", cwd=folder)
        check(r.rc in (0, 8), f"{r}")
        judged = json.loads(r.out)
        check(judged["met"] + judged["missed"] + judged["unanswered"] == 18, f"{r}")
        errors = [c for c in judged["criteria"] if c["criterion"] == "most_errors"]
        check(len(errors) == 8 and all(c["state"] == "met" for c in errors), f"{errors}")


@matrix
def test_objects():
    for name in some(OBJECTS, 3):
        run_small_objects(name)


@matrix
def test_all():
    names = sorted(os.path.basename(p)[:-5] for p in glob.glob(f"{SOURCE}/workloads/catalog/*.json")
                   if not os.path.basename(p).startswith(("accept_", "compare_", "daos_", "io_", "kvcache", "llama", "mlperf_", "megatron_mixtral", "model_", "torchtitan", "vector_"))
                   and os.path.basename(p)[:-5] not in OBJECTS + IO_OBJECTS)
    check(len(names) >= 23, f"{names}")
    for name in some(names, 3):
        train, samples, made = run_small(name)
        check(samples > 0, f"{name}: no sample")
        if name.startswith("resnet50"):
            needed = samples // 4 * made[0] // 1251  # bytes of each of two files in each of two epochs
            moved = 4 * min(made[0], -(-needed // 262144) * 262144)
            check(made[0] % 1251 == 0 and train["bytes_read"] == moved,
                  f"{name}: {train['bytes_read']} bytes for {samples} records, files of {made}")
        if is_cold(name) and "tmpfs" not in train["said"]:
            check(all(e["cached_share"] < 0.2 for e in train["epochs"]), f"{name}: {train['epochs']}")
        if name.startswith("retinanet"):
            check(set(made) == {20000} and train["bytes_read"] == samples * 20000,
                  f"{name}: {train['bytes_read']} bytes for {samples} pictures")


main()
