# SPDX-License-Identifier: Apache-2.0
"""haul import dlio of checkpoints: workloads that only checkpoint, and trainings that do."""
import json
import re

from importtest import *


def test_only_checkpoints():
    """Each key is in the job or among the findings."""
    path = f"{HERE}/argonne/llama_70b_zero3.yaml"
    r = run("import", "dlio", path, "dataset.format=npz", "dataset.num_files_train=9", "reader.batch_size=2",
            "storage.storage_root=/mnt/x", "train.seed=5", "checkpoint.type=rank_zero", "checkpoint.rank_sync=true",
            "checkpoint.randomize_tensor=true", "checkpoint.ksm={await_time: 3}", "model.model_size_bytes=7",
            "checkpoint.checkpoint_mechanism_classname=a.B", "checkpoint.steps_between_checkpoints=4",
            "model.optimization_groups=[1]", "checkpoint.mode=subset", "checkpoint.recovery_rank_shift=true")
    check(r.returncode == 0, r)
    job = json.loads(r.stdout)
    model = {"vocabulary": 128256, "hidden": 8192, "feed_forward": 28672, "heads": 128, "kv_heads": 8, "layers": 80, "tensors": "dlio",
             "weights": "fp16", "optimizer": "fp32"}
    check(job == {"name": "llama_70b_zero3", "seed": 5,
                  "stores": {"checkpoints": {"uri": "file://./checkpoints/llama_70b_zero3", "fsync": "file"}},
                  "phases": [{"checkpoint": {
                      "store": "checkpoints", "folder": "", "operation": "both", "count": 10, "model": model,
                      "mesh": {"tensor": 8, "pipeline": 1, "zero": 3}, "layout": "rank", "pause": 5,
                      "replicas": "first", "shift": "node"}}]}, job)
    for key, why in (("reader.batch_size = 2", "this workload does not train"),
                     ("dataset.format = \"npz\"", "has no use for it"),
                     ("dataset.num_files_train = 9", "has no use for it"),
                     ("storage.storage_root = \"/mnt/x\"", "has no use for it"),
                     ("checkpoint.fsync = true", "DLIO never calls fsync"),
                     ("checkpoint.type = \"rank_zero\"", "DLIO reads it and never uses it"),
                     ("checkpoint.rank_sync = true", "haul measures both"),
                     ("checkpoint.randomize_tensor = true", "always hold random bytes"),
                     ("checkpoint.ksm = ", "no equal pages to merge"),
                     ("checkpoint.checkpoint_mechanism_classname = \"a.B\"", "haul loads none"),
                     ("checkpoint.steps_between_checkpoints = 4", "has no use for it"),
                     ("checkpoint.mode = \"subset\"", "DLIO refuses a subset without"),
                     ("checkpoint.recovery_rank_shift = true", "a rank of another node"),
                     ("model.model_size_bytes = 7", "and no other state"),
                     ("model.optimization_groups = ", "haul computes the optimizer's states"),
                     ("model.name = \"llama_70b_zero3\"", "the name of the file")):
        said = re.search(r"^  " + re.escape(key) + r".*\n      (.*)", r.stderr, re.M)
        check(said and why in said[1], f"{key}: {r.stderr}")
    p = plan(job, "--ranks-per-node", 8)
    check(p.returncode == 0 and "parameters 69,882,617,856" in p.stdout, p)


SAVES = """
framework: pytorch
workflow: {train: False, checkpoint: True}
model: {num_layers: 4, transformer: {hidden_size: 64, num_attention_heads: 4, num_kv_heads: 2}}
checkpoint: {num_checkpoints_write: 3, num_checkpoints_read: 3}
"""


def test_checkpoints():
    """Each setting of checkpoints, by overrides of a small workload."""
    job, said = imported(SAVES)
    c = phase(job, "checkpoint")
    check(job["stores"]["checkpoints"] == {"uri": "file://./checkpoints"} and "pause" not in c, job)
    check(c["mesh"] == {"tensor": 1, "pipeline": 1, "zero": 0} and c["layout"] == "rank" and c["shift"] == "none", c)
    check(c["model"]["vocabulary"] == 32000 and c["model"]["feed_forward"] == 8192 and "not mapped" not in said, (c, said))
    for overrides, wanted in (
            (["model.parallelism={tensor: 2, pipeline: 2, data: 3, zero_stage: 1}"],
             {"mesh": {"tensor": 2, "pipeline": 2, "data": 3, "zero": 1}, "layout": "layer"}),
            (["model.parallelism={tensor: 2, pipeline: 1, data: -1, zero_stage: 3}"],
             {"mesh": {"tensor": 2, "pipeline": 1, "zero": 3}, "layout": "rank"}),
            (["checkpoint.time_between_checkpoints=2.5"], {"pause": 2.5}),
            (["checkpoint.num_checkpoints_read=0"], {"operation": "write", "count": 3}),
            (["checkpoint.num_checkpoints_read=9"], {"operation": "both", "count": 3}),
            (["checkpoint.num_checkpoints_write=0"], {"operation": "read", "count": 3}),
            (["model.model_datatype=bf16", "model.optimizer_datatype=fp64"], {})):
        job, said = imported(SAVES, *overrides)
        c = phase(job, "checkpoint")
        check(len(job["phases"]) == 1 and {k: c[k] for k in wanted} == wanted, f"{overrides}: {c}")
        check(plan(job, "--ranks-per-node", 4).returncode == 0, job)
    check((c["model"]["weights"], c["model"]["optimizer"]) == ("bf16", "fp64"), c)
    check("haul reads each checkpoint once, and 3 are written" in
          imported(SAVES, "checkpoint.num_checkpoints_read=9")[1], "more reads than writes")
    # Two phases, of which the second reads a part of what the first wrote.
    job, said = imported(SAVES, "checkpoint.num_checkpoints_read=2", "checkpoint.recovery_rank_shift=true")
    check([(p["checkpoint"]["name"], p["checkpoint"]["operation"], p["checkpoint"]["count"]) for p in job["phases"]] ==
          [("write", "write", 3), ("read", "read", 2)], job)
    check(all(p["checkpoint"]["shift"] == "node" for p in job["phases"]), job)
    check(said.count("checkpoint.recovery_rank_shift") == 1 and plan(job).returncode == 0, said)
    # After data have been generated, and with what DLIO does instead.
    job, _ = imported(SAVES, "workflow.generate_data=true", "dataset.format=npz")
    check([list(p)[0] for p in job["phases"]] == ["generate", "checkpoint"] and
          list(job["stores"]) == ["data", "checkpoints"] and plan(job).returncode == 0, job)
    job, said = imported(SAVES, "checkpoint.fsync=true", "checkpoint.recovery_rank_shift=true",
                         "checkpoint.time_between_checkpoints=-1", options=("--as", "dlio-bugs"))
    c = phase(job, "checkpoint")
    check(c["pause"] == 1 and c["shift"] == "none" and "fsync" not in job["stores"]["checkpoints"], job)
    check(said.count("as DLIO does") == 3, said)
    for overrides, sentence in ((["checkpoint={}"], "neither writes nor reads"),
                                (["model.model_datatype=fp12"], "unknown number format"),
                                (["model.optimization_groups=[a]", "model.num_layers=-1"], "list of whole numbers"),
                                (["model={type: transformer}"], "the model has no size")):
        check(sentence in imported(SAVES, *overrides, rc=2)[1], overrides)


def test_checkpoint_folders():
    """The folder of checkpoints is a store of its own, wherever the data are."""
    for overrides, store in (
            (["checkpoint.checkpoint_folder=/mnt/c/"], {"uri": "file:///mnt/c"}),
            (["checkpoint.checkpoint_folder=file:///mnt/c", "storage.storage_type=s3", "storage.storage_root=data"],
             {"uri": "file:///mnt/c"}),
            (["checkpoint.checkpoint_folder=saved/here", "storage.storage_type=direct_fs"], {"uri": "direct://./saved/here"}),
            (["checkpoint.checkpoint_folder=bucket/here", "storage.storage_type=s3", "checkpoint.fsync=true",
              "storage.storage_options={endpoint_url: 'http://h:9000', region: r, storage_library: minio}"],
             {"uri": "s3://bucket/here", "endpoints": "http://h:9000", "region": "r", "client": "minio"})):
        job, said = imported(SAVES, *overrides)
        check(job["stores"] == {"checkpoints": store}, f"{overrides}: {job['stores']}")
        check(("an object is durable" in said) == ("checkpoint.fsync=true" in overrides), said)


def test_checkpoint_states():
    """Sizes in place of dimensions, as older files give them: a flat state for each rank that writes."""
    flat = "framework: pytorch\nworkflow: {train: False, checkpoint: True}\ncheckpoint: {num_checkpoints_write: 1}\n"
    for model, bytes_, mesh in (
            ("", 10240, {"zero": 0}),
            ("model: unet3d", 10240, {"zero": 0}),
            ("model: {model_size_bytes: 5000}", 5000, {"zero": 0}),
            ("model: {model_size: 499153191}", 499153191, {"zero": 0}),
            ("model: {model_size_bytes: 0, optimization_groups: [10, 20]}", 90, {"zero": 0}),
            ("model: {model_size_bytes: 0, optimization_groups: [10, 20], parallelism: {zero_stage: 1}}", 90, {"zero": 3}),
            ("model: {model_size_bytes: 0, layer_parameters: [7, 9], num_layers: 2}", 80, {"zero": 0}),
            ("model: {model_size_bytes: 0, layer_parameters: [7, 9], num_layers: 2, parallelism: {tensor: 2}}", 35,
             {"data": 2, "zero": 3}),
            # megatron_deepspeed_LLNL's: (40 + 3) / 8 layers per stage.
            ("model: {model_size: 30102, optimization_groups: [1009254400, 865075200, 793600], num_layers: 40, "
             "layer_parameters: [52583936, 209715200], parallelism: {pipeline: 8, tensor: 4, zero_stage: 1, data: 2}}",
             30102 + 3 * 1875123200 + 6 * (52583936 + 209715200) // 4, {"data": 64, "zero": 3})):
        job, said = imported(flat + model)
        c = phase(job, "checkpoint")
        check(c["model"] == {"bytes": bytes_} and c["layout"] == "rank", f"{model}: {c}")
        check(c["mesh"] == {"tensor": 1, "pipeline": 1, **mesh}, f"{model}: {c}")
        check(f"one state of {bytes_} bytes" in said and plan(job).returncode == 0, said)


TRAINS = """
framework: pytorch
workflow: {train: True, checkpoint: True}
dataset: {format: npz, num_files_train: 80, record_length_bytes: 1000}
train: {epochs: 10}
"""


def test_training_checkpoints():
    """When a training writes checkpoints, how many there are, and which model."""
    for overrides, when, count in (
            ([], {"every_epochs": 1}, 10),
            (["checkpoint_after_epoch=4"], {"every_epochs": 1, "first_epoch": 4}, 7),
            (["epochs_between_checkpoints=3"], {"every_epochs": 3, "first_epoch": 1}, 4),
            (["checkpoint_after_epoch=3", "epochs_between_checkpoints=3"], {"every_epochs": 3}, 3),
            (["checkpoint_after_epoch=2", "epochs_between_checkpoints=0"], {"every_epochs": 10, "first_epoch": 2}, 1),
            (["steps_between_checkpoints=25", "checkpoint_after_epoch=2"], {"every_steps": 25}, 8),
            (["steps_between_checkpoints=-1"], {"every_epochs": 1}, 10)):
        job, said = imported(TRAINS, *(f"checkpoint.{o}" for o in overrides))
        c = phase(job, "train")["checkpoint"]
        check({k: c[k] for k in ("every_steps", "every_epochs", "first_epoch") if k in c} == when, f"{overrides}: {c}")
        totals = json.loads(plan(job, "--json", "--ranks-per-node", 4).stdout)["phases"][0]["totals"]
        check(totals["checkpoints"] == count and totals["bytes_written"] == count * totals["checkpoint_bytes"],
              f"{overrides}: {totals}")
        check(("begins again in each epoch" in said) == ("every_steps" in when), said)
        check(("takes precedence" in said) == (len(overrides) == 2 and "every_steps" in when), said)
    for override, why in (("steps_between_checkpoints=0", "DLIO writes no checkpoint then"),
                          ("checkpoint_after_epoch=0", "its epochs count from 1"),
                          ("checkpoint_after_epoch=11", "the training has fewer epochs")):
        job, said = imported(TRAINS, f"checkpoint.{override}", "model.model_size=7")
        check("checkpoint" not in phase(job, "train") and list(job["stores"]) == ["data"], job)
        check(f"checkpoint.{override.replace('=', ' = ')}\n      " in said and why in said, said)
        check("model.model_size = 7\n      this workload writes no checkpoints" in said, said)
    # A model of unknown size: the training is imported without checkpoints.
    for model, left in (("{type: transformer}", "model.type = \"transformer\""),
                        ("{type: transformer, model_size: 7}", "model.model_size = 7"),
                        ("{model_size_bytes: 0, optimization_groups: [0]}", "model.model_size_bytes = 0")):
        job, said = imported(TRAINS, f"model={model}", "checkpoint.checkpoint_after_epoch=2", "checkpoint.fsync=true")
        check("checkpoint" not in phase(job, "train") and list(job["stores"]) == ["data"], job)
        why = "\n      the model has no size, so the job has no checkpoints"
        check(f"{left}{why}" in said and f"checkpoint.fsync = true{why}" in said, said)
        check(re.search(r"model\.num_layers.*\n      without it the model has no size", said), said)
        check(plan(job).returncode == 0, job)
    for options, overrides, model in (
            ((), ["model.model_size=499153191"], {"bytes": 499153191}),
            (("--as", "dlio-bugs"), ["model.model_size=499153191"], {"bytes": 10240}),
            ((), ["model={model_size_bytes: 0, optimization_groups: [10, 20]}"], {"bytes": 90})):
        job, said = imported(TRAINS, *overrides, options=options)
        check(phase(job, "train")["checkpoint"]["model"] == model, job)
        check(not options or "DLIO reads model_size_bytes, not this key" in said, said)
    job, said = imported(TRAINS, "model={num_layers: 2, parallelism: {tensor: 2, pipeline: 2, zero_stage: 1}}",
                         "checkpoint.fsync=true", "checkpoint.checkpoint_folder=/mnt/c", "storage.storage_type=s3",
                         "storage.storage_root=bucket", "checkpoint.time_between_checkpoints=5",
                         "checkpoint.randomize_tensor=false")
    c = phase(job, "train")["checkpoint"]
    check(c["layout"] == "layer" and c["mesh"] == {"tensor": 2, "pipeline": 2, "zero": 1}, c)
    check(c["model"]["layers"] == 2 and c["model"]["hidden"] == 2048, c)
    check(job["stores"]["checkpoints"]["uri"] == "s3://mnt/c" and job["stores"]["data"]["uri"].startswith("s3://bucket"), job)
    check("DLIO uses it only where the workload does not train" in said and "always hold random bytes" in said, said)
    job, said = imported(TRAINS, "checkpoint.fsync=true", "checkpoint.checkpoint_folder=file:///mnt/c",
                         "storage.storage_type=s3", "storage.storage_root=bucket")
    check(job["stores"]["checkpoints"] == {"uri": "file:///mnt/c", "fsync": "file"}, job)


main()
