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


def test_published_halves():
    """v3.0's configurations: trainings as they ran, and checkpoints in one run or in two."""
    with tempfile.TemporaryDirectory() as folder:
        for model, processes in (("llama3-8b", 8), ("llama3-70b", 64), ("llama3-405b", 512), ("llama3-1t", 1024)):
            parameters = read("3.0", "checkpointing", model)["parameters"]
            for name, keys in (("both", {}), ("writes", {"checkpoint.num_checkpoints_read": 0}), ("reads", {"checkpoint.num_checkpoints_write": 0})):
                leaf = f"{folder}/{model}/{'one' if name == 'both' else 'two'}/{name}"
                os.makedirs(f"{leaf}/dlio_config")
                with open(f"{leaf}/dlio_config/config.yaml", "w", encoding="utf-8") as out:
                    json.dump({"workload": changed(parameters, keys)}, out)
                with open(f"{leaf}/summary.json", "w", encoding="utf-8") as out:
                    json.dump({"num_accelerators": processes, "num_hosts": processes // 8, "host_memory_GB": [4]}, out)
            for which in ("one", "two"):
                said = judged("3.0", f"{folder}/{model}/{which}")
                check(said["verdict"] == "closed if" and not said["broken"], (model, which, said))


main()
