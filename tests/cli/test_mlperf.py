# SPDX-License-Identifier: Apache-2.0
"""The ready jobs mlperf_…: what each is by the rules of each edition, as it is, on machines of several sizes; the class that is
published for it; and jobs that stand on others. Verdicts and hashes are written down as published."""
import glob
import json
import os
import tempfile

from clitest import check, haul, main, refused

CATALOG = os.path.join(os.environ["HAUL_SOURCE"], "workloads/catalog")
# Editions in which the job is closed, and its class; None: none is published.
JOBS = {
    "mlperf_unet3d_b200": ("3.0", "0d3ad0dec188becd"), "mlperf_retinanet_b200": ("3.0", "20c73f53486caba0"),
    "mlperf_retinanet_mi355": ("3.0", "66c43604eb650987"), "mlperf_unet3d_h100": ("2.0", "0f3dd7a4bf6433a3"),
    "mlperf_unet3d_a100": ("2.0", "691cea309c4f2f52"), "mlperf_resnet50_h100": ("2.0", "03a7be3df904e1e7"),
    "mlperf_resnet50_a100": ("2.0", "4a03838105aa5808"), "mlperf_cosmoflow_h100": ("2.0", "4b7b36339a2a5b0d"),
    "mlperf_cosmoflow_a100": ("2.0", "b49b896e947a408b"), "mlperf_dlrm_b200": ("", None), "mlperf_dlrm_mi355": ("", None),
    "mlperf_flux_b200": ("", None), "mlperf_flux_mi355": ("", None),
    "mlperf_llama3_8b": ("2.0 3.0", "68df04b7240e3fb0"), "mlperf_llama3_70b": ("2.0 3.0", "3c53fe70d64f91d4"),
    "mlperf_llama3_405b": ("2.0 3.0", "7adcfa87a5c4c8e6"), "mlperf_llama3_1t": ("2.0 3.0", "45fd627ad9dc5f4c"),
    "mlperf_llama3_70b_subset": ("2.0", "c48a92d225d70ce8"), "mlperf_llama3_405b_subset": ("2.0", "7e9f853cebd52aa6"),
    "mlperf_llama3_1t_subset": ("2.0", "0918b2db633242db"), "mlperf_kvcache": ("3.0", None),
}
RANKS = {"8b": 8, "70b": 64, "405b": 512, "1t": 1024, "subset": 8}


def machines(job):
    """As it is, on this machine; trainings and caches, and checkpoints on full nodes, on larger ones, too."""
    yield ()
    ranks = RANKS.get(job.split("_")[-1]) if "llama" in job else None
    for nodes, memory in ((1, "64 GiB"),) if "llama" in job else ((20, "2 TiB"),):
        if ranks:
            yield ("--nodes", ranks // 8, "--ranks-per-node", 8, "--memory", memory)
        else:
            yield ("--nodes", nodes, "--ranks-per-node", 4, "--memory", memory)


def judged(edition, *words):
    r = haul("check", *words, "--edition", edition, "--json", env={"HAUL_DATA": "/nowhere"})
    check(r.returncode in (8, 9) and r.stdout, r)
    said = json.loads(r.stdout)
    check((said["verdict"] == "closed if") == (r.returncode == 9) and not said["closed"], r)
    return said


def test_all_are_here():
    names = {os.path.basename(path)[:-5] for path in glob.glob(f"{CATALOG}/mlperf_*.json")}
    check(names == set(JOBS), names ^ set(JOBS))


def test_verdicts():
    for job, (closed, hash_) in JOBS.items():
        for words in machines(job):
            for edition in ("2.0", "3.0"):
                said = judged(edition, job, *words)
                broken = {row["rule"] for row in said["rules"] if row["state"] == "broken"}
                if edition in closed.split():
                    check(said["verdict"] == "closed if" and said["category"] == "closed" and not broken, (job, words, edition, said))
                elif "llama" in job:  # a subset
                    check(said["verdict"] == "invalid" and "checkpoint.subset" in broken, (job, words, edition, said))
                elif job == "mlperf_unet3d_b200":
                    check(said["verdict"] == "invalid" and "train.compute" in str(said["workloads"]), (job, words, edition, said))
                else:
                    check(said["verdict"] == "what-if", (job, words, edition, said))
        one = said["classes"]
        check([c["hash"] for c in one if c["editions"]] == ([hash_] if hash_ else []), (job, one))


def test_said():
    """The verdict of what an edition has not says so."""
    r = haul("check", "mlperf_dlrm_b200")
    check("only" in r.stdout and "the others are what-if" in " ".join(r.stdout.split()), r)


def test_names():
    """The name as words, in other spellings, and the list of the family."""
    wanted = haul("plan", "mlperf_unet3d_b200", "--json").stdout
    for words in (("mlperf", "unet3d", "b200"), ("mlperf", "unet3d-B200"), ("mlperf-unet3d-b200",)):
        r = haul("plan", *words, "--json")
        check(r.returncode == 0 and json.loads(r.stdout)["phases"] == json.loads(wanted)["phases"], r)
    check("llama3_8b" in haul("plan", "mlperf", "llama3.1-8b").stdout, "llama3.1-8b")
    refused(haul("run", "mlperf"), *JOBS)
    refused(haul("run", "mlperf", "unet3d"), "mlperf_unet3d_a100, mlperf_unet3d_b200, mlperf_unet3d_h100")


def test_sizes():
    """Files of 500 steps, or of five times the memory, whichever are more; and the series."""
    def files(*words):
        r = haul("plan", "mlperf_unet3d_b200", *words, "--json", env={"HAUL_DATA": "/nowhere"})
        return json.loads(r.stdout)["dataset"]["files"]
    check(files("--ranks-per-node", 8, "--memory", "1 GiB") == 500 * 7 * 8, "steps")
    check(files("--nodes", 2, "--memory", "512 GiB") == -(-5 * 2 * 512 * 2**30 // 146600628), "memory")
    check(files("--nodes", 2, "--memory", "512 GiB", "--set", "dataset.memories=0") == 500 * 7 * 2, "memory not asked for")
    check(files("--nodes", 2, "--set", "cluster.memory=512 GiB") == files("--nodes", 2, "--memory", "512 GiB"), "memory of the job")
    check("series     5 runs after 1 warm-up that is left out\n" in haul("plan", "mlperf_unet3d_b200").stdout, "no series in the plan")
    refused(haul("plan", "unet3d_b200", "--set", "dataset.memories=5"), "/dataset/memories: is only beside steps_per_epoch")


def test_base():
    """A job that stands on another: its keys, then changes, then those of the command line."""
    base = {"name": "base", "seed": 7, "about": "base", "stores": {"d": {"uri": "null://"}},
            "dataset": {"store": "d", "format": "raw", "files": 8, "sample_bytes": 1000},
            "phases": [{"train": {"batch": 2}}]}
    with tempfile.TemporaryDirectory() as folder:
        def write(name, job):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
                json.dump(job, out)
            return f"{folder}/{name}"
        write("base.json", base)
        good = write("good.json", {"name": "good", "seed": 9, "base": "base.json", "set": ["train.batch=4", "dataset.files=16"]})
        said = json.loads(haul("plan", good, "--json").stdout)
        check(said["phases"][0]["global_batch"] == 4 and said["dataset"]["files"] == 16, said)
        text = haul("plan", good).stdout
        check("good · train · seed 9\n" in text, text)
        said = json.loads(haul("plan", good, "--json", "--set", "train.batch=8").stdout)
        check(said["phases"][0]["global_batch"] == 8, said)
        for job, words in (({"base": "none.json"}, ("/base", "none.json")), ({"base": "good.json"}, ("/base", "has none itself")),
                           ({"base": "a/base.json"}, ("/base", "same folder")), ({"base": 3}, ("/base", "same folder")),
                           ({"base": "base.json", "set": "train.batch=4"}, ("/set: must be a list",)),
                           ({"base": "base.json", "set": [4]}, ("/set",)),
                           ({"base": "base.json", "set": ["train.batch=1", "train.none=4"]}, ("train", "none")),
                           ({"base": "base.json", "set": ["batch"]}, ("/set/0", "path=value")),
                           ({"base": "base.json", "set": ["train.batch=0"]}, ("batch",)),
                           ({**base, "set": []}, ('/set: is only of a job with "base"',))):
            bad = write("bad.json", {"name": "bad", **job})
            refused(haul("plan", bad), "bad.json", *words)


main()
