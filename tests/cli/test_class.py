# SPDX-License-Identifier: Apache-2.0
"""The class within which MLPerf Storage compares results, of haul's own jobs and results: all that are published, by haul check, plan
and report. Hashes are written down as published."""
import json
import tempfile

from clitest import check, haul, main

TRAININGS = {"unet3d_b200": ("0d3ad0dec188becd", "3.0"), "retinanet_b200": ("20c73f53486caba0", "3.0"),
             "retinanet_mi355": ("66c43604eb650987", "3.0"), "unet3d_h100": ("0f3dd7a4bf6433a3", "2.0"),
             "unet3d_a100": ("691cea309c4f2f52", "2.0"), "resnet50_h100": ("03a7be3df904e1e7", "2.0"),
             "cosmoflow_h100": ("4b7b36339a2a5b0d", "2.0")}
# Of all processes of the mesh, and of a subset of 8.
CHECKPOINTS = {"llama3_8b": (1, "68df04b7240e3fb0", None), "llama3_70b": (8, "3c53fe70d64f91d4", "c48a92d225d70ce8"),
               "llama3_405b": (64, "7adcfa87a5c4c8e6", "7e9f853cebd52aa6"), "llama3_1t": (128, "45fd627ad9dc5f4c", "0918b2db633242db")}
# What the algorithm does not count, and what it does.
SAME = ("dataset.files=9000", "train.loader.workers=2", "train.loader.prefetch=4", "dataset.subfolders=3", "stores.data.uri=null://",
        "train.batch=7")
OTHER = ("train.batch=8", "train.epochs=4", "train.compute=161 ms", "train.target_au=0.8", "dataset.format=npy", "train.steps=600",
         "dataset.sample_bytes_stdev=0", "dataset.samples_per_file=2", "train.shuffle=none", "train.loader.kind=sample")
SAVED_OTHER = ("checkpoint.mesh.zero=1", "checkpoint.pause=4 s", "stores.checkpoints.fsync=none", "checkpoint.model.type=fp32")


def classes(verb, *words):
    r = haul(verb, *words, "--json", env={"HAUL_DATA": "/nowhere"})
    check(r.returncode in (0, 8, 9) and r.stdout, r)
    return json.loads(r.stdout)["classes"]


def test_published():
    for job, (wanted, edition) in TRAININGS.items():
        for verb in ("check", "plan"):
            one, = classes(verb, job)
            check(one["hash"] == wanted and one["editions"] == edition and one["phase"] == "train", (verb, job, one))
    for job, (nodes, whole, subset) in CHECKPOINTS.items():
        one, = classes("check", job, "--nodes", nodes, "--ranks-per-node", 8)
        check(one["hash"] == whole and one["editions"] == "2.0, 3.0", (job, one))
        if subset:
            one, = classes("plan", job, "--ranks-per-node", 8)
            check(one["hash"] == subset and one["editions"] == "2.0", (job, one))
    for job in ("kvcache_mlperf", "io_random", "bert_v100", "llama_7b"):
        check(classes("check", job) == [], job)


def test_what_counts():
    for change in SAME:
        check(classes("check", "unet3d_b200", "--set", change)[0]["hash"] == TRAININGS["unet3d_b200"][0], change)
    seen = {TRAININGS["unet3d_b200"][0]}
    for change in OTHER:
        one, = classes("check", "unet3d_b200", "--set", change)
        check(one["hash"] not in seen and one["of"] == "", (change, one))
        seen.add(one["hash"])
    for change in SAVED_OTHER:
        one, = classes("check", "llama3_8b", "--ranks-per-node", 8, "--set", change)
        check(one["hash"] not in seen and one["of"] == "", (change, one))
        seen.add(one["hash"])


def test_with_checkpoints():
    """MLPerf's own unet3d on b200 with its checkpoints switched on."""
    one, = classes("check", "unet3d_b200", "--set", "train.checkpoint.every_epochs=2", "--set", "train.checkpoint.first_epoch=5",
                   "--set", "train.checkpoint.model.bytes=499153191")
    check(one["hash"] == "f636f5a57473fca2", one)


def test_said():
    wanted = "0d3ad0dec188becd, that of unet3d on b200, edition 3.0"
    r = haul("check", "unet3d_b200")
    check(f"class of train: {wanted}" in r.stdout, r)
    r = haul("plan", "unet3d_b200")
    check(f"class      {wanted}" in r.stdout, r)
    with tempfile.TemporaryDirectory() as folder:
        for name, change in (("same", "dataset.files=8"), ("other", "train.batch=8")):
            path = f"{folder}/{name}.h5"
            r = haul("run", "unet3d_b200", "--set", "stores.data.uri=null://", "--set", "dataset.files=8", "--set", change, "--set",
                     "train.null_steps=0", "--skip", "generate", "--results", path)
            check(r.returncode == 0, r)
            check((f"MLPerf class of train: {wanted}" in r.stdout) == (name == "same"), r)
            one, = json.loads(haul("report", path, "--json").stdout)["classes"]
            check((one["hash"] == wanted[:16]) == (name == "same"), one)
            check(classes("check", path)[0]["hash"] == one["hash"], one)


main()
