# SPDX-License-Identifier: Apache-2.0
"""haul import of files as they are found outside: of every generation of DLIO, of DAOS and Azure, with references, with
parts that are empty, with names that DLIO does not have, and of files that are no workload at all."""
import json
import os
import tempfile

from importtest import *

PLAIN = "framework: pytorch\ndataset: {format: npz, num_files_train: 80}\n"


def checkpoint_bytes(job, ranks):
    p = plan(job, "--json", "--nodes", 1, "--ranks-per-node", ranks)
    check(p.returncode == 0, p)
    return json.loads(p.stdout)["phases"][-1]["totals"]["checkpoint_bytes"]


def test_generations_of_checkpoints():
    """The keys of checkpoints of each version of DLIO, and the bytes that this version writes on four ranks."""
    before = ("model: unet3d\n" + PLAIN +
              "workflow: {train: True, checkpoint: True}\ncheckpoint: {checkpoint_folder: c, %s}\n")
    groups = "optimization_groups: [1000, 200, 30]"
    for keys, each, ranks, bugs in (
            # 2022, and MLPerf v0.5 and v1.0.
            ("model_size: 499153191", 499153191, 1, 24757599),
            ("epochs_between_checkpoints: 2", 10240, 1, 24757599),
            # January 2024.
            ("model_size: 5000, type: rank_zero", 5000, 1, 24757599),
            ("model_size: 5000, type: all_ranks", 5000, 4, 24757599),
            (f"model_size: 5000, {groups}", 5000 + 3 * 1230, 1, 24757599),
            (f"model_size: 0, {groups}, type: all_ranks", 3 * 1230, 4, 24757599),
            ("model_size: 5000, num_layers: 3, layer_parameters: [100, 7]", 5000 + 3 * 107, 1, 0),
            ("model_size: 5000, layer_parameters: [100, 7]", 5000 + 107, 1, 0),
            ("model_size: 5000, num_layers: 2", 5000 + 2 * 24757599, 1, 0),
            ("model_size: 5000, num_layers: 0", 5000, 1, 0),
            # As the files of 2023 have it (megatron_deepspeed.yaml).
            ("model_size: 30102, type: independent", 30102, 4, 24757599),
            (f"model_size: 30102, type: all_ranks, {groups}, num_layers: 44, layer_parameters: [129761, 20971]",
             30102 + 3 * 1230 + 44 * (129761 + 20971), 4, 0),
            # From then on, until February 2025.
            ("model_size: 5000, num_layers: 4, layer_parameters: [100], tensor_parallelism: 2, type: all_ranks",
             5000 + 6 * 100, 4, 0),
            ("model_size: 5000, num_layers: 4, layer_parameters: [100], pipeline_parallelism: 2, type: all_ranks",
             5000 + 2 * 100, 4, 0),
            ("model_size: 5000, num_layers: 4, layer_parameters: [100], pipeline_parallelism: 2", 5000 + 4 * 100, 1, 0)):
        for options, more in (((), 0), (("--as", "dlio-bugs"), bugs)):
            job, said = imported(before % keys, options=options)
            c = phase(job, "train")["checkpoint"]
            check(c["model"] == {"bytes": each + more}, f"{keys} {options}: {c}")
            check("unknown to DLIO" not in said and "writes one state" in said, said)
        job, said = imported(before % keys)
        total = checkpoint_bytes(job, 4)
        check(ranks * each <= total <= ranks * (each + 2000), f"{keys}: {total}")
        if each == 499153191:
            check(total == 499154090, total)
    _, said = imported(before % "type: some_ranks", rc=2)
    check("checkpoint.type: must be rank_zero or all_ranks" in said, said)
    job, said = imported(before % "model_size: 0")
    check("checkpoint" not in phase(job, "train") and "the model has no size" in said, said)
    # Without a training, these versions write none.
    job, said = imported(before % "model_size: 5000", "workflow.train=false", "workflow.generate_data=true")
    check([list(p) for p in job["phases"]] == [["generate"]] and "only while it trains" in " ".join(said.split()), said)
    # A file with a later key is of a later version, which ignores the earlier ones.
    later = before.replace("model: unet3d", "model: {name: unet3d}") % "model_size: 499153191"
    job, said = imported(later)
    check(checkpoint_bytes(job, 4) == 499154090 and "ignores this key" in said, said)
    job, said = imported(later, options=("--as", "dlio-bugs"))
    check(phase(job, "train")["checkpoint"]["model"] == {"bytes": 10240}, job)
    check("DLIO reads model.model_size_bytes, not this key" in said, said)
    job, _ = imported(later, "checkpoint.num_layers=2", "checkpoint.layer_parameters=[100]",
                      "checkpoint.tensor_parallelism=2", "checkpoint.optimization_groups=[10]")
    check(phase(job, "train")["checkpoint"]["model"] == {"bytes": 499153191 + 30 + 50 * 5}, job)


def test_generations_of_counts():
    """February to April 2025: one number of checkpoints, each of which may be read when it has been written."""
    text = ("framework: pytorch\nmodel: {model_size_bytes: 1000}\nworkflow: {train: False, checkpoint: True}\n"
            "checkpoint: {%s}\n")
    for keys, wanted in (("num_checkpoints: 6", [("write", 6)]),
                         ("num_checkpoints: 6, recovery_after_steps: 1", [("both", 6)]),
                         ("num_checkpoints: 6, recovery_after_steps: 2", [("write", 6), ("read", 3)]),
                         ("num_checkpoints: 6, recovery_after_steps: 9", [("write", 6)]),
                         ("num_checkpoints: 6, num_checkpoints_write: 2", [("write", 2)]),
                         ("num_checkpoints_write: 2, num_checkpoints_read: 2", [("both", 2)])):
        job, said = imported(text % keys)
        check([(p["checkpoint"]["operation"], p["checkpoint"]["count"]) for p in job["phases"]] == wanted, f"{keys}: {job}")
        check("unknown to DLIO" not in said, said)
    for key, shift in (("recovery_rank_shift: 8", "node"), ("recovery_rank_shift: 0", "none"), ("load_rank_shift: 12", "node"),
                       ("recovery_rank_shift: true", "node")):
        job, said = imported(text % f"num_checkpoints: 1, recovery_after_steps: 1, {key}")
        check(phase(job, "checkpoint")["shift"] == shift, f"{key}: {job}")


def test_generations_of_other_keys():
    """Sections and keys of DLIO's first versions."""
    job, said = imported("framework: tensorflow\ndataset: {record_length: 5000, record_length_stdev: 7, batch_size: 3,"
                         " format: npz, num_files_train: 9}\n"
                         "data_reader: {data_loader: tensorflow, read_threads: 5, computatation_threads: 2,"
                         " read_shuffle: seed, memory_shuffle: 'off', prefetch: True, prefetch_size: 4}\n"
                         "workflow: {debug: True}\nlogdir: x\nprofiling: {devices: [a], darshan_preload: b}\n",
                         options=("--as", "dlio-bugs"))
    t, d = phase(job, "train"), job["dataset"]
    check((t["batch"], t["loader"]["workers"], t["loader"]["prefetch"]) == (3, 5, 4), t)
    check(t["shuffle"]["files"] and not t["shuffle"]["samples"], t)
    check((d["sample_bytes"], d["sample_bytes_stdev"]) == (5000, round(7 / 2 ** .5)), d)
    check("unknown to DLIO" not in said, said)
    job, said = imported(PLAIN + "reader: {batch_size: 9}\ndata_reader: {batch_size: 4}\n")
    check(phase(job, "train")["batch"] == 4 and "not this section" in said, said)
    job, said = imported("framework: pytorch\ndataset: {record_length_bytes: 9000, record_length_byte_stdev: 5,"
                         " num_files_train: 4}\n")
    check(job["dataset"]["sample_bytes_stdev"] == 5 and "unknown" not in said, said)


def test_empty_parts():
    """What a workload asks for and has nothing to do does not stand in the way of the rest."""
    unet3d = open(f"{HERE}/argonne/unet3d_h100.yaml").read()
    generate = ("++workload.workflow.generate_data=True", "++workload.workflow.train=False")
    job, said = imported(unet3d, *generate)
    check([list(p) for p in job["phases"]] == [["generate"]] and list(job["stores"]) == ["data"], job)
    check("neither writes nor reads checkpoints" in " ".join(said.split()) and plan(job).returncode == 0, said)
    for overrides, phases, why in (
            (["train.epochs=0", "workflow.generate_data=true"], ["generate"], "no epochs to train"),
            (["dataset.num_files_train=0", "checkpoint.num_checkpoints_write=2", "workflow.train=false",
              "workflow.generate_data=true"], ["checkpoint"], "no files to generate"),
            (["dataset.num_files_train=0", "dataset.num_files_eval=3", "workflow.generate_data=true"], ["generate"],
             "no files to train on"),
            (["dataset.num_files_eval=0", "workflow.evaluation=true"], ["train"], "")):
        job, said = imported(unet3d, *overrides)
        check([list(p)[0] for p in job["phases"]] == phases and why in said, f"{overrides}: {job} {said}")
        check(plan(job).returncode == 0, job)
    check("nothing to import" in imported(unet3d, "train.epochs=0", rc=2)[1], "nothing")


def test_names_that_dlio_lacks():
    for override, word in (("framework=jax", "must be tensorflow or pytorch"), ("reader.data_loader=foo", "daos_pytorch or none"),
                           ("framework=PyTorch", "must be tensorflow or pytorch"), ("reader.data_loader=torch", "must be"),
                           ("dataset.record_dims=[2,2]", ""), ("dataset.format=zip", "unknown format"),
                           ("checkpoint.mode=most", "default or subset")):
        overrides = [override] + (["dataset.record_element_type=complex128"] if not word else [])
        overrides += ["workflow={train: false, checkpoint: true}", "checkpoint.num_checkpoints_write=1"] \
            if "mode" in override else []
        _, said = imported(PLAIN, *overrides, rc=2)
        check((word or "does not know the size of") in said, f"{override}: {said}")
    for loader, kind in (("dali", "sample"), ("native_dali", "sample"), ("custom", "pytorch"), ("none", "pytorch"),
                         ("pytorch", "pytorch"), ("tensorflow", "sample")):
        check(phase(imported(PLAIN, f"reader.data_loader={loader}")[0], "train")["loader"]["kind"] == kind, loader)


def test_daos():
    text = ("framework: pytorch\nmodel: {name: x, model_size_bytes: 9000}\nstorage: {storage_type: daos_pytorch}\n"
            "dataset: {daos_pool: p, daos_cont: c, data_folder: %s, format: npz, num_files_train: 8}\n"
            "workflow: {train: True, checkpoint: True}\nreader: {data_loader: daos_pytorch, batch_size: 4}\n"
            "checkpoint: {checkpoint_folder: /saved}\n")
    for folder, path in (("/datasets/small", "/datasets/small"), ("datasets/small/", "/datasets/small"), ("/", "/"), ("./", "")):
        job, said = imported(text % folder)
        check(job["stores"]["data"] == {"uri": f"daos://p/c{path}", "client": "pydaos"}, f"{folder}: {job['stores']}")
        check(job["stores"]["checkpoints"]["uri"] == "daos://p/c/saved", job)
        check(phase(job, "train")["loader"]["kind"] == "batch" and "unknown" not in said, job)
        check(plan(job).returncode == 0, plan(job))
    text = text % "/d"
    job, _ = imported(text, "checkpoint.checkpoint_daos_pool=q", "checkpoint.checkpoint_daos_cont=e",
                      "checkpoint.checkpoint_daos_chunk_size=1048576", "checkpoint.checkpoint_daos_chunks_limit=16")
    c = phase(job, "train")["checkpoint"]
    check(job["stores"]["checkpoints"] == {"uri": "daos://q/e/saved", "client": "pydaos"}, job)
    check((c["writers"], c["chunk"], c["buffers"]) == (4, 1 << 20, 16 << 20), c)
    job, _ = imported(text, "workflow.train=false", "checkpoint.num_checkpoints_write=2", "checkpoint.num_checkpoints_read=2")
    c = phase(job, "checkpoint")
    check((c["read_as"], c["writers"]) == ("pydaos", 4) and job["stores"]["checkpoints"]["uri"] == "daos://p/c/saved", job)
    job, _ = imported(text, "~storage.storage_type")  # the loader alone says it
    check(job["stores"]["data"]["uri"] == "daos://p/c/d", job)
    check("dataset.daos_cont: is missing" in imported(text, "~dataset.daos_cont", rc=2)[1], "no container")
    job, said = imported(text, "storage.storage_type=local_fs", "reader.data_loader=pytorch")
    check(job["stores"]["data"]["uri"] == "file:///d" and "dataset.daos_pool" in said, said)


def test_azure():
    wanted = "az://account/set/a/data"
    for storage in ("storage_type: adls_gen2, storage_root: 'abfs://set@account.dfs.core.windows.net/a'",
                    "storage_type: adls_gen2, storage_root: 'set@account.dfs.core.windows.net/a'",
                    "storage_type: s3, storage_root: 'abfss://set@account.dfs.core.windows.net/a/'",
                    "storage_type: s3, storage_root: 'account/set/a', storage_options: {uri_scheme: az}",
                    "storage_type: s3, storage_root: 'set@account/a', storage_options: {uri_scheme: abfs}"):
        job, _ = imported(PLAIN + f"storage: {{{storage}}}\n")
        check(job["stores"]["data"]["uri"] == wanted, f"{storage}: {job['stores']}")
    _, said = imported(PLAIN + "storage: {storage_type: adls_gen2, storage_root: 'abfs://set/a'}\n", rc=2)
    check("names no account" in said, said)


def test_references():
    text = ("base: {root: /mnt/x, n: 7}\nframework: pytorch\nstorage: {storage_root: '${base.root}'}\n"
            "dataset: {format: npz, num_files_train: '${base.n}', data_folder: '%s', file_prefix: ok}\n"
            "reader: {batch_size: 3, batch_size_eval: '${.batch_size}'}\n")
    os.environ["HAUL_TEST_SCRATCH"] = "/scratch/me"
    os.environ.pop("HAUL_TEST_UNSET", None)
    for folder, path in (("${storage.storage_root}/train", "/mnt/x/train"), ("${oc.env:HAUL_TEST_SCRATCH}/x", "/scratch/me/x"),
                         ("${workload.storage.storage_root}/t", "/mnt/x/t"), ("${..base.root}/up", "/mnt/x/up"),
                         ("${oc.env:HAUL_TEST_UNSET,/else}/x", "/else/x"), ("a/${.file_prefix}_${base.n}", "/mnt/x/a/ok_7"),
                         ("${oc.env:HAUL_TEST_UNSET,${base.root}}/y", "/mnt/x/y"), ("${oc.select:base.none,/z}", "/z"),
                         ("${base.list}", None), ("${env:HAUL_TEST_SCRATCH}", "/scratch/me")):
        if path is None:
            continue
        job, said = imported(text % folder)
        check(job["stores"]["data"]["uri"] == f"file://{path}", f"{folder}: {job['stores']}")
        check(job["dataset"]["files"] == 7, job)
    for folder, why in (("${oc.env:HAUL_TEST_UNSET}/x", "HAUL_TEST_UNSET"), ("${storage.none}/x", "storage.none"),
                        ("${now:%Y}/x", "not known before DLIO runs"), ("${dataset.data_folder}", "itself"),
                        ("${base}/x", "not to a list or to keys"), ("${base.root/x", "without its end"), ("???", "must be given")):
        _, said = imported(text % folder, rc=2)
        check("dataset.data_folder: " in said and why in said, f"{folder}: {said}")
    # What the job has no use for stays as it is; a section may be a reference, and an override, too.
    job, said = imported(text % "d" + "output: {folder: '${hydra:runtime.output_dir}'}\n")
    check("output.folder = \"${hydra:runtime.output_dir}\"" in said, said)
    job, _ = imported("framework: pytorch\nmine: {format: npz, num_files_train: 9}\ndataset: '${mine}'\n",
                      "reader.batch_size=${dataset.num_files_train}")
    check(job["dataset"]["files"] == 9 and phase(job, "train")["batch"] == 9, job)
    laughs = "framework: pytorch\nbase:\n  l0: [x, x, x, x, x, x, x, x]\n"
    for i in range(1, 9):
        laughs += f"  l{i}: [" + ", ".join(["'${base.l%d}'" % (i - 1)] * 8) + "]\n"
    _, said = imported(laughs + "storage: {endpoint_uris: '${base.l8}'}\ndataset: {num_files_train: 4}\n", rc=2)
    check("more values" in said, said)


NO_WORKLOADS = {
    "nothing": "{}\n", "Hydra": "hydra:\n  run: {dir: x}\n  job_logging: {version: 1}\ndefaults: [_self_, {workload: default}]\n",
    "CI": "on: push\njobs: {build: {runs-on: ubuntu-latest, steps: [{uses: checkout}]}}\nname: build\n",
    "compose": "version: '3'\nservices: {db: {image: postgres}}\n", "framework": "framework: pytorch\n",
    "training": "model: {name: resnet, type: cnn}\ntrain: {epochs: 3, lr: 0.1}\ndataset: {root: /x, format: npz}\nloss: {name: ce}\n",
    "conda": "name: env\nchannels: [x]\ndependencies: [python]\n",
    "overrides": "- workload=unet3d_h100\n- ++workload.dataset.num_files_train=400\n",
}


def test_only_a_workload_is_one():
    for name, text in NO_WORKLOADS.items():
        _, said = imported(text, rc=2)
        word = "is a list of overrides" if name == "overrides" else "is not a DLIO workload"
        check(word in said, f"{name}: {said}")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(text)
            f.flush()
            r = run("import", "kvcache", f.name, "num-users=3")
        check(r.returncode == 2 and "is not a config.yaml" in r.stderr and not r.stdout, f"{name}: {r}")
    for text in ("dataset: {num_files_train: 3}\n", "workflow: {train: True}\n", "reader: {batch_size: 3}\n"):
        imported(text)


def test_a_list_of_overrides():
    """Hydra's overrides.yaml, given after the workload, is applied in its place among the other overrides."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "overrides.yaml")
        with open(path, "w") as f:
            f.write("- workload=unet3d_h100\n- ++hydra.run.dir=/x\n- ++workload.dataset.num_files_train=400\n"
                    "- ++workload.reader.batch_size=3\n")
        job, _ = imported(PLAIN, path, "reader.batch_size=5")
        check((job["dataset"]["files"], phase(job, "train")["batch"]) == (400, 5), job)
        job, _ = imported(PLAIN, "reader.batch_size=5", path)
        check(phase(job, "train")["batch"] == 3, job)
        with open(path, "w") as f:
            f.write("a: 1\n")
        check("is not a list of overrides" in imported(PLAIN, path, rc=2)[1], "no list")
        check("No such file" in imported(PLAIN, path + ".yaml", rc=2)[1], "no file")


def test_a_job_that_cannot_run():
    """The job is printed, and the exit status says that it is none to run."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(PLAIN + "train: {epochs: 10000000000}\n")
        f.flush()
        r = run("import", "dlio", f.name)
        check(r.returncode == 2 and json.loads(r.stdout)["name"] and "cannot run the job: " in r.stderr, r)
        # A size that is too large is blamed on the key that makes it so.
        large = ["train.epochs=1", "dataset.format=indexed_binary", "dataset.record_length_bytes=671088640",
                 "dataset.num_samples_per_file=4194304000"]
        for stdev, key in ((0, "samples_per_file: the largest file"), (1000, "sample_bytes_stdev: the largest file")):
            r = run("import", "dlio", f.name, *large, f"dataset.record_length_bytes_stdev={stdev}")
            check(r.returncode == 2 and key in r.stderr, r)
        r = run("import", "dlio", f.name, "train.epochs=1000000")
        check(r.returncode == 0, r)


main()
