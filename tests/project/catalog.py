# SPDX-License-Identifier: Apache-2.0
"""Catalogue of ready jobs: haul plan computes the published figures for each (MLPerf Storage's demand per accelerator,
Aurora's table), and the jobs for scaling tables read from the storage, not from the page cache."""
import glob
import json
import os
import subprocess
import sys

HAUL, SOURCE = os.environ["HAUL"], os.environ["HAUL_SOURCE"]


def plan(job, nodes, ranks_per_node):
    out = subprocess.run([HAUL, "plan", job, "--nodes", str(nodes), "--ranks-per-node", str(ranks_per_node),
                          "--json"], check=True, capture_output=True, text=True,
                         env={**os.environ, "HAUL_DATA": "/tmp", "HAUL_BUCKET": "account/bucket"})
    return json.loads(out.stdout)


def train(planned):
    return next(p for p in planned["phases"] if p["kind"] == "train")


def near(what, value, wanted, tolerance=0.002):
    assert abs(value - wanted) <= tolerance * wanted, f"{what}: {value}, wanted {wanted}"


names = sorted(os.path.basename(p)[:-5] for p in glob.glob(os.path.join(SOURCE, "workloads/catalog/*.json")))
listed = subprocess.run([HAUL, "catalog"], check=True, capture_output=True, text=True).stdout
standing = set()  # on another job
for name in names:
    with open(os.path.join(SOURCE, "workloads/catalog", name + ".json"), encoding="utf-8") as stream:
        job = json.load(stream)
    assert job["name"] == name, name
    assert name in listed, f"{name} is not listed by haul catalog"
    if "base" not in job:
        plan(name, 1, 4)
    else:  # the test cli_mlperf plans these
        standing.add(name)
        assert job["base"][:-5] in names and job["base"][:-5] in (name.removeprefix("mlperf_").removesuffix("_subset"), "kvcache_mlperf"), job

# The demand is the GB/s per accelerator that an AU of 100 % needs: batch * record / step.
for name, demand in (("unet3d_a100", 1.614e9), ("unet3d_h100", 3.177e9), ("unet3d_h100_cold", 3.177e9),
                     ("unet3d_b200", 6.335e9), ("unet3d_b200_cold", 6.335e9)):
    phase = train(plan(name, 1, 8))
    assert phase["steps_per_epoch"] == 500 and phase["epochs"] == 5, phase
    near(name, phase["demand"]["bytes_per_second"], 8 * demand)

# Files, samples and steps are those of the published tables; the demand is batch * record / step.
for name, files, samples, steps, epochs, demand in (
        ("resnet50_a100", 1024, 1024 * 1251, 400, 5, 400 * 114660.07 / .435),
        ("resnet50_h100", 1024, 1024 * 1251, 400, 5, 400 * 114660.07 / .224),
        ("cosmoflow_a100", 524288, 524288, 65536, 5, 2828486 / .00551),
        ("cosmoflow_h100", 524288, 524288, 65536, 5, 2828486 / .0035),
        ("resnet50_v100", 1024, 1024 * 1251, 2502, 5, 64 * 114660.07 / .195),
        ("resnet50_tf", 1024, 1024 * 1251, 2502, 1, 64 * 114660.07 / .098),
        ("cosmoflow_v100", 524288, 524288, 65536, 5, 2828486 / .00936),
        ("retinanet_b200", 1170301, 1170301, 6095, 8, 24 * 322957 / .04755),
        ("retinanet_mi355", 1170301, 1170301, 4063, 8, 36 * 322957 / .071325)):
    planned = plan(name, 1, 8)
    phase = train(planned)
    assert planned["dataset"]["files"] == files and planned["dataset"]["samples"] == samples, planned["dataset"]
    assert phase["steps_per_epoch"] == steps and phase["epochs"] == epochs, phase
    near(name, phase["demand"]["bytes_per_second"], 8 * demand)

# Jobs that read more than their samples: bert reads whole files, 62 of 500 per rank, with a frame around each 2,500 bytes.
# Parquet adds footers and page headers, and flux (one file) reads a row group once for each worker with a batch of it.
for name, files, samples, steps, epochs, least, most in (
        ("bert_v100", 500, 500 * 313532, 62 * 313532 // 48, 1, 48 * 2500 / .968, 1.04),
        ("default", 64, 64, 2, 10, 4 * 4096, 1.2),
        ("dlrm", 1, 1024, 128, 1, 671088640 / .064296, 1.01),
        ("dlrm_b200", 1024, 1024 * 4718592, 49152, 1, 12288 * 160 / .000375, 1.6),
        ("dlrm_mi355", 1024, 1024 * 4718592, 32768, 1, 18432 * 160 / .0005625, 1.6),
        ("flux_b200", 4296, 4296 * 288, 3222, 1, 6 * 48 * 2164832 / 1.35, 1.01),
        ("flux_mi355", 4296, 4296 * 288, 2148, 1, 4 * 72 * 2164832 / 2.025, 1.01),
        ("megatron_deepspeed", 1, 277203535, 2165652, 1, 16 * 2048 / 2.44, 8)):
    planned = plan(name, 1, 8)
    phase = train(planned)
    assert planned["dataset"]["files"] == files and planned["dataset"]["samples"] == samples, planned["dataset"]
    assert phase["steps_per_epoch"] == steps and phase["epochs"] == epochs, phase
    demand = phase["demand"]["bytes_per_second"] / 8
    assert least <= demand <= most * least, f"{name}: {demand}, wanted {least} to {most} times as much"

# Checkpoints within a training, as DLIO's files have them: how many on 8 ranks, and the tensors of each.
for name, count, bytes_ in (("unet3d_a100", 1, 499153191), ("unet3d_h100", 1, 499153191), ("unet3d_v100", 1, 499153191),
                            ("bert_v100", 4, 4034713312), ("megatron_deepspeed", 1, 8 * 6018848406), ("s3_hybrid", 5, 499153191)):
    totals = train(plan(name, 1, 8))["totals"]
    assert totals["checkpoints"] == count, f"{name}: {totals}"
    near(name, totals["checkpoint_bytes"], bytes_, 0.0001)

# Checkpoints: MLPerf's totals are tested with haul plan; here are ranks, files per checkpoint, and how often.
for name, nodes, ranks_per_node, files, bytes_ in (
        ("llama3_8b", 1, 8, 16, 112425623552), ("llama3_70b", 8, 8, 128, 978406572032),
        ("llama3_405b", 64, 8, 1544, 5682508791808), ("llama3_1t", 128, 8, 2072, 16564174094592),
        ("llama_7b", 1, 4, 5, 94338801664), ("llama_7b_zero3", 1, 4, 8, 94338801664),
        ("llama_8b_zero3", 1, 8, 16, 112425623552), ("llama_70b", 4, 8, 696, 978390843392),
        ("llama_70b_zero3", 8, 8, 128, 978406572032)):
    phase = plan(name, nodes, ranks_per_node)["phases"][0]
    totals = phase["totals"]
    assert (phase["kind"], totals["files"], totals["bytes"]) == ("checkpoint", files, bytes_), (name, phase)
    with open(os.path.join(SOURCE, "workloads/catalog", name + ".json"), encoding="utf-8") as stream:
        checkpoint = json.load(stream)["phases"][0]["checkpoint"]
    assert (checkpoint["operation"], checkpoint["count"], checkpoint["pause"]) == ("both", 10, "5 s"), checkpoint

# Distributed checkpoints: float32 with a step for each tensor (torchtitan); bfloat16 with a float32 copy (Megatron); each with two moments.
for name, nodes, files, (layers, hidden, inner, experts), each, step in (
        ("torchtitan_llama3_8b", 1, 9, (32, 4096, 14336, 0), 12, 4), ("torchtitan_llama3_70b", 2, 17, (80, 8192, 28672, 0), 12, 4),
        ("torchtitan_llama3_405b", 2, 17, (126, 16384, 53248, 0), 12, 4), ("megatron_mixtral_8x7b", 4, 33, (32, 4096, 14336, 8), 14, 0)):
    words = 32000 if experts else 128256
    layer = 2 * hidden * hidden + 2 * hidden * 1024 + (experts or 1) * 3 * hidden * inner + experts * hidden + 2 * hidden
    totals = plan(name, nodes, 8)["phases"][0]["totals"]
    assert totals["parameters"] == 2 * words * hidden + hidden + layers * layer, (name, totals)
    assert (totals["files"], totals["bytes"]) == (files, each * totals["parameters"] + step * (9 * layers + 3)), (name, totals)

# Model loading: how many ranks share the model, and what a rank needs of memory, which is not the model's size.
for ranks, part in ((4, True), (8, False), (16, False)):
    planned = plan("llama3_70b_load", 1, ranks)
    phase, = planned["phases"]
    assert phase["kind"] == "load" and 128 << 20 <= phase["memory_bytes_per_rank"] < 160 << 20, phase
    assert any("8 ranks share the model" in note for note in planned["notes"]) == part, planned["notes"]

# On few nodes a data set may fit into memory. So the epochs of a scaling table have to begin without it in the page cache.
cold = set()
for name in set(names) - {"daos_head_to_head"} - standing:  # which compares ways to the same storage; which have a base
    with open(os.path.join(SOURCE, "workloads/catalog", name + ".json"), encoding="utf-8") as stream:
        phases = json.load(stream)["phases"]
    cold.update(name for phase in phases if phase.get("train", {}).get("cold") == "fadvise")
assert cold == {"accept_unet3d", "unet3d_accelerators", "unet3d_aurora", "unet3d_b200_cold", "unet3d_h100_cold", "unet3d_laptop"}, cold
for name in cold - {"accept_unet3d", "unet3d_accelerators", "unet3d_aurora", "unet3d_laptop"}:
    warm, dropped = (json.load(open(os.path.join(SOURCE, "workloads/catalog", n + ".json"), encoding="utf-8"))
                     for n in (name[:-len("_cold")], name))
    warm["about"] = dropped["about"]
    warm["name"], warm["phases"][1]["train"]["cold"] = name, "fadvise"
    assert warm == dropped, f"{name} differs in more than cold"

# Rules of acceptance: each file is named as the job whose phases it judges, and is no job itself.
rules = sorted(glob.glob(os.path.join(SOURCE, "workloads/catalog/rules/*.json")))
assert [os.path.basename(path) for path in rules] == ["accept_unet3d.json"], rules
for path in rules:
    with open(path, encoding="utf-8") as stream:
        judged = {rule["phase"] for rule in json.load(stream)["rules"]}
    phases = {phase["name"] for phase in plan(os.path.basename(path)[:-5], 1, 4)["phases"]}
    assert judged <= phases, f"{path}: {judged - phases}"
assert "rules" not in listed, listed

aurora = plan("unet3d_aurora", 512, 12)
phase = train(aurora)
assert aurora["ranks"] == 6144 and aurora["dataset"]["files"] == 4300800, aurora
assert phase["steps_per_epoch"] == 100, phase
near("Aurora bytes", aurora["dataset"]["bytes"], 573.44 * 2**40)
near("Aurora AU 100 %", phase["demand"]["bytes_per_second"], 67.611e12)
near("Aurora AU 90 %", phase["demand"]["at_target_bytes_per_second"], 60.850e12)
near("Aurora opens", phase["demand"]["opens_per_second"], 461e3)
print(f"{len(names)} jobs")
sys.exit(0)
