# SPDX-License-Identifier: Apache-2.0
"""Editions are data, and what reads them agrees: of every workload and accelerator of every edition, the job of haul import mlpstorage,
the ready job and the class are the same by haul check, and each value is that of the edition's file. Classes are as published."""
import json
import os
import tempfile

from clitest import check, haul, main

SOURCE = os.environ["HAUL_SOURCE"]
EDITIONS = f"{SOURCE}/workloads/catalog/editions"
PUBLISHED = {"0d3ad0dec188becd", "20c73f53486caba0", "66c43604eb650987", "0f3dd7a4bf6433a3", "691cea309c4f2f52", "03a7be3df904e1e7",
             "4b7b36339a2a5b0d", "68df04b7240e3fb0", "3c53fe70d64f91d4", "7adcfa87a5c4c8e6", "45fd627ad9dc5f4c", "c48a92d225d70ce8",
             "7e9f853cebd52aa6", "0918b2db633242db"}


def read(edition, benchmark, name):
    with open(f"{EDITIONS}/{edition}/{benchmark}/{name}.json", encoding="utf-8") as stream:
        found = json.load(stream)
    return {**read(found["base"], benchmark, name), **found} if "base" in found else found


def changed(tree, changes):
    tree = json.loads(json.dumps(tree))
    for path, value in changes.items():
        at = tree
        *folders, last = path.split(".")
        for folder in folders:
            at = at.setdefault(folder, {})
        at[last] = value
    return tree


def workloads():
    """(edition, benchmark, model, accelerator or None, parameters, class, processes, whatif)"""
    for edition in ("2.0", "3.0"):
        for benchmark in ("training", "checkpointing"):
            for file in sorted(os.listdir(f"{EDITIONS}/{edition}/{benchmark}")):
                model = file[:-5]
                found = read(edition, benchmark, model)
                for accelerator, entry in found.get("accelerators", {None: found}).items():
                    yield (edition, benchmark, model, accelerator, changed(found["parameters"], entry.get("changes", {})), entry["class"],
                           found.get("processes", 1), accelerator in found.get("whatif", []))


def judged(edition, *words):
    r = haul("check", *words, "--edition", edition, "--memory", "1 MiB", "--json", env={"HAUL_DATA": "/nowhere"})
    check(r.returncode in (8, 9) and r.stdout, (words, r))
    return json.loads(r.stdout)


def as_published(said, edition, model, accelerator, hash_, whatif, where):
    """No difference, and the class of the edition's file. Rules of the size of a data set are of each submission."""
    name = model + (f" on {accelerator}" if accelerator else "")
    one, = said["workloads"]
    check(one["workload"] == name and one["differences"] == [] and one["whatif"] == whatif, (where, edition, said))
    check(said["verdict"] == ("what-if" if whatif else "closed if") or {r["rule"] for r in said["rules"] if r["state"] == "broken"} <=
          {"training.steps", "training.memory"}, (where, edition, said))
    check([c["hash"] for c in said["classes"]] == [hash_], (where, edition, said))


def test_all_agree():
    seen, count = set(), 0
    for edition, benchmark, model, accelerator, parameters, hash_, processes, whatif in workloads():
        count += 1
        seen.add(hash_)
        size = ("--ranks-per-node", 8, "--nodes", max(processes // 8, 1)) if benchmark == "checkpointing" else ()
        with tempfile.TemporaryDirectory() as folder:
            # The edition's own file, as DLIO's: JSON is YAML.
            with open(f"{folder}/own.yaml", "w", encoding="utf-8") as out:
                json.dump(parameters, out)
            r = haul("import", "dlio", f"{folder}/own.yaml")
            check(r.returncode == 0 and hash_ in r.stderr, r)
            with open(f"{folder}/own.json", "w", encoding="utf-8") as out:
                out.write(r.stdout)
            as_published(judged(edition, f"{folder}/own.json", *size), edition, model, accelerator, hash_, whatif, "its file")
            # The command of mlpstorage; its files are those of the latest edition.
            words = [benchmark, "run", "--model", model] + (["-at", accelerator, "-na", "1"] if accelerator else ["-np", processes])
            r = haul("import", "mlpstorage", *words, *(["-p", "workflow.checkpoint=True"] if (model, edition) == ("unet3d", "2.0") else []))
            check(r.returncode == 0 and hash_ in r.stderr, (words, r))
            with open(f"{folder}/command.json", "w", encoding="utf-8") as out:
                out.write(r.stdout)
            as_published(judged(edition, f"{folder}/command.json", *size), edition, model, accelerator, hash_, whatif, "import")
        # The ready job, and the submission made of it. unet3d's on H100 and A100 are edition 2.0's.
        ready = f"{model}_{accelerator}" if accelerator else model.replace("-", "_")
        if (model, edition) != ("unet3d", "3.0") or accelerator == "b200":
            for job in (ready, f"mlperf_{ready}"):
                as_published(judged(edition, job, *size), edition, model, accelerator, hash_, whatif, job)
    check(count == 27 and PUBLISHED - seen == {"c48a92d225d70ce8", "7e9f853cebd52aa6", "0918b2db633242db"}, (count, PUBLISHED - seen))


def test_subsets():
    for model, hash_ in (("llama3-70b", "c48a92d225d70ce8"), ("llama3-405b", "7e9f853cebd52aa6"), ("llama3-1t", "0918b2db633242db")):
        check(read("2.0", "checkpointing", model)["subset"] == {"processes": 8, "class": hash_}, model)
        for job in (f"mlperf_{model.replace('-', '_')}_subset",):
            as_published(judged("2.0", job), "2.0", model, None, hash_, False, job)


def test_caches():
    """The closed command of mlpstorage and the ready jobs are the three options."""
    r = haul("import", "mlpstorage", "closed kvcache run --num-processes 2")
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/caches.json", "w", encoding="utf-8") as out:
            out.write(r.stdout)
        for job in (f"{folder}/caches.json", "kvcache_mlperf", "mlperf_kvcache"):
            said = judged("3.0", job)
            check(said["verdict"] == "closed if" and [w["workload"][:8] for w in said["workloads"]] == ["option 1", "option 2", "option 3"], said)


def submitted(leaf, parameters, accelerators, hosts, memory=4):
    """A folder of a run, as a submission has it."""
    os.makedirs(f"{leaf}/dlio_config")
    with open(f"{leaf}/dlio_config/config.yaml", "w", encoding="utf-8") as out:
        json.dump({"workload": parameters}, out)
    with open(f"{leaf}/summary.json", "w", encoding="utf-8") as out:
        json.dump({"num_accelerators": accelerators, "num_hosts": hosts, "host_memory_GB": [memory] * hosts}, out)


def broken(said):
    return {r["rule"] for r in said["rules"] if r["state"] == "broken"}


def undecided(said):
    return {r["rule"] for r in said["rules"] if r["state"] == "undecided"}


# v3.0's checkpoints, full runs of 54 submissions of 17 organisations among them in two invocations: (model, processes, hosts).
CHECKPOINTS = (("llama3-8b", 8, 1), ("llama3-70b", 64, 8), ("llama3-405b", 512, 64), ("llama3-1t", 1024, 128), ("llama3-8b", 8, 2),
               ("llama3-70b", 64, 16), ("llama3-1t", 1024, 32))


def test_published_checkpoints():
    """Checkpoints in one run or in two, on more than four processes per host or on four, about which the rules contradict themselves. What was
    withdrawn, subsets of 8 processes, breaks 4.3.5; more processes are open, and other numbers of them neither."""
    with tempfile.TemporaryDirectory() as folder:
        def judge(name, model, processes, hosts, *halves):
            for half, keys in enumerate(halves):
                submitted(f"{folder}/{name}/{half}", changed(read("3.0", "checkpointing", model)["parameters"], keys), processes, hosts)
            return judged("3.0", f"{folder}/{name}")

        writes, reads = {"checkpoint.num_checkpoints_read": 0}, {"checkpoint.num_checkpoints_write": 0}
        for model, processes, hosts in CHECKPOINTS:
            for name, halves in (("one", ({},)), ("two", (writes, reads)), ("write", (writes,)), ("read", (reads,))):
                said = judge(f"{model}/{hosts}/{name}", model, processes, hosts, *halves)
                where = (model, hosts, name, said)
                check(said["verdict"] == "closed if" and not said["broken"] and not said["workloads"][0]["differences"], where)
                check(("checkpoint.four_per_host" in undecided(said)) == (processes == 4 * hosts), where)
                check(("checkpoint.reading_half" in undecided(said)) == (name == "write") and
                      ("checkpoint.writing_half" in undecided(said)) == (name == "read"), where)
        for model in ("llama3-70b", "llama3-405b", "llama3-1t"):
            said = judge(f"{model}/subset", model, 8, 1, {})
            check(said["verdict"] == "invalid" and "checkpoint.subset" in broken(said), (model, said))
        # Beside the edition's own number of processes: multiples of its mesh, and others.
        for model, processes, wanted in (("llama3-8b", 16, "open"), ("llama3-70b", 128, "open"), ("llama3-70b", 56, "invalid")):
            said = judge(f"{model}/{processes}", model, processes, max(processes // 8, 1), {})
            check(said["verdict"] == wanted and broken(said), (model, processes, said))
        for keys, wanted in (({"checkpoint.num_checkpoints_write": 9}, "invalid"), ({"checkpoint.fsync": False}, "invalid")):
            said = judge(f"changed/{list(keys)[0]}", "llama3-8b", 8, 1, keys)
            check(said["verdict"] == wanted and (broken(said) or said["workloads"][0]["differences"]), (keys, said))


# v3.0's trainings: (model, accelerator, hosts, accelerators); the first is Alluxio's, with 319.7 samples/s at AU 92.6 %.
TRAININGS = (("unet3d", "b200", 8, 8), ("unet3d", "b200", 1, 4), ("retinanet", "b200", 2, 16), ("retinanet", "mi355", 1, 8))
# What a closed submission may set, what an open one may, and what none may.
ALLOWED = ({}, {"reader.read_threads": 16}, {"reader.prefetch_size": 4}, {"dataset.num_subfolders_train": 64},
           {"storage.storage_type": "s3", "storage.storage_root": "bucket", "dataset.data_folder": "unet3d"})
CHANGES = (({"reader.data_loader": "native_dali"}, "open"), ({"reader.batch_size": 8}, "invalid"), ({"train.epochs": 4}, "invalid"),
           ({"train.computation_time": 0.3}, "invalid"), ({"reader.sample_shuffle": "off"}, "invalid"), ({"dataset.num_files_train": 100}, "invalid"))


def test_published_trainings():
    """Trainings on as many files as 500 steps and five times the memory ask for, on file systems and in object stores."""
    with tempfile.TemporaryDirectory() as folder:
        for k, (model, accelerator, hosts, accelerators) in enumerate(TRAININGS):
            found = read("3.0", "training", model)
            own = changed(found["parameters"], found["accelerators"][accelerator].get("changes", {}))
            files = max(500 * own["reader"]["batch_size"] * accelerators, 5 * 64 * hosts * 2**30 // own["dataset"]["record_length_bytes"] + 1)
            for i, (keys, wanted) in enumerate([(keys, "closed if") for keys in ALLOWED] + list(CHANGES)):
                leaf = f"{folder}/{k}/{i}"
                submitted(leaf, changed(own, {"dataset.num_files_train": files, **keys}), accelerators, hosts, 64)
                r = haul("check", leaf, "--edition", "3.0", "--json", env={"HAUL_DATA": "/nowhere"})
                said, where = json.loads(r.stdout), (model, accelerator, keys, r)
                check(said["verdict"] == wanted and said["workloads"][0]["workload"] == f"{model} on {accelerator}", where)
                check((wanted == "closed if") == (not broken(said) and not said["workloads"][0]["differences"]), where)


def test_published_vectors():
    """v3.0's vector databases are a server's, Milvus. haul's own runs of its indexes are closed for nobody, and the rule is named."""
    for job in ("vector_mlperf_1m", "vector_mlperf_10m"):
        said = judged("3.0", job)
        check(said["verdict"] == "closed if" and not said["closed"] and not broken(said) and
              {"vector.engine", "vector.recall", "vector.queries"} <= undecided(said), said)


main()
