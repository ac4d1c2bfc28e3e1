# SPDX-License-Identifier: Apache-2.0
"""haul import dlio: every published workload can be imported and planned, every key of DLIO's schema is known, values are
converted correctly, and broken files are refused."""
import glob
import json
import os
import re
import tempfile

from importtest import *

# The keys of DLIO's schema and the additions of its forks, by section.
KEYS = """
framework model.name model.type model.model_size_bytes model.optimization_groups model.num_layers
model.layer_parameters model.model_datatype model.optimizer_datatype model.parallelism.tensor
model.parallelism.pipeline model.parallelism.data model.parallelism.zero_stage model.transformer.vocab_size
model.transformer.hidden_size model.transformer.ffn_hidden_size model.transformer.num_attention_heads
model.transformer.num_kv_heads workflow.generate_data workflow.train workflow.evaluation workflow.checkpoint
workflow.profiling workflow.query storage.storage_type storage.storage_root storage.storage_library
storage.post_generation_settle_seconds
storage.storage_options.access_key_id storage.storage_options.secret_access_key
storage.storage_options.endpoint_url storage.storage_options.region storage.storage_options.s3_force_path_style
storage.storage_options.s3_max_attempts storage.storage_options.storage_library storage.storage_options.uri_scheme
storage.storage_options.secure storage.storage_options.s3_profile storage.storage_options.use_full_object_uri
storage.storage_options.prefetch_workers storage.storage_options.prefetch_window storage.storage_options.columns
storage.storage_options.max_outstanding storage.storage_options.coalesce_rgs storage.storage_options.footer_cap
storage.storage_options.footer_batch_size storage.storage_options.stagger_workers storage.storage_options.decode
storage.storage_options.decode_output storage.storage_options.simulate_io storage.storage_options.sim_log_secs
storage.storage_options.prefetch
dataset.record_length_bytes dataset.record_length_bytes_stdev dataset.record_length_bytes_resize
dataset.num_files_train dataset.num_files_eval dataset.num_samples_per_file dataset.data_folder
dataset.file_prefix dataset.format dataset.num_subfolders_train dataset.num_subfolders_eval
dataset.enable_chunking dataset.chunk_size dataset.compression dataset.compression_level
dataset.generation_buffer_size dataset.keep_files dataset.record_dims dataset.record_element_type
dataset.record_element_bytes dataset.hdf5.chunk_dims dataset.hdf5.num_dset_per_record dataset.hdf5.max_shape
dataset.data_gen_method dataset.skip_listing dataset.listing_validation_interval dataset.parquet.columns
dataset.parquet.row_group_size dataset.parquet.partition_by dataset.parquet.generation_batch_size
dataset.parquet.use_s3dlio_gen dataset.parquet.read_mode
reader.data_loader reader.data_loader_classname reader.data_loader_sampler reader.reader_classname
reader.batch_size reader.batch_size_eval reader.read_threads reader.computation_threads reader.prefetch_size
reader.file_shuffle reader.sample_shuffle reader.shuffle_size reader.read_type reader.file_access
reader.transfer_size reader.dont_use_mmap reader.preprocess_time reader.preprocess_time_stdev
reader.multiprocessing_context reader.pin_memory reader.odirect reader.transformed_record_dims
reader.transformed_record_element_type reader.write_threads
train.epochs train.total_training_steps train.seed train.seed_change_epoch train.computation_time
train.computation_time_stdev evaluation.eval_time evaluation.eval_time_stdev evaluation.eval_after_epoch
evaluation.epochs_between_evals
checkpoint.checkpoint_folder checkpoint.checkpoint_after_epoch checkpoint.epochs_between_checkpoints
checkpoint.steps_between_checkpoints checkpoint.type checkpoint.mode checkpoint.fsync
checkpoint.recovery_rank_shift checkpoint.time_between_checkpoints checkpoint.num_checkpoints_write
checkpoint.num_checkpoints_read checkpoint.rank_sync checkpoint.randomize_tensor checkpoint.ksm
checkpoint.checkpoint_mechanism_classname
output.folder output.log_file output.metric.exclude_start_steps output.metric.exclude_end_steps
profiling.profiler profiling.iostat_devices metric.au listing_threads
""".split()


CHECKPOINTS = {  # of workloads that only checkpoint: bytes of a checkpoint, on the fewest ranks that have all of it
    "llama3_8b": (8, 112425623552), "llama3_8b_checkpoint": (8, 112425623552), "llama3_70b": (64, 978406572032),
    "llama3_405b": (512, 5682508791808), "llama3_1t": (1024, 16564174094592), "llama_405b": (512, 5682508791808),
    "llama_70b": (32, 978390843392), "llama_70b_zero3": (64, 978406572032), "llama_7b": (1, 94338064384),
    "llama_7b_zero3": (1, 94338064384), "llama_8b_zero3": (8, 112425623552),
}


def check_checkpoints(path, figures, job):
    """Ten checkpoints, or two, of the bytes of the tables, on a store of their own."""
    name = os.path.basename(path)[:-5]
    count = 2 if name.endswith("_checkpoint") else 10
    check(list(job["stores"]) == ["checkpoints"] and "dataset" not in job, f"{path}: {job}")
    check(job["stores"]["checkpoints"]["uri"] == f"file://./checkpoints/{name}", f"{path}: {job}")
    check(job["stores"]["checkpoints"].get("fsync") == (None if count == 2 else "file"), f"{path}: {job}")
    c = phase(job, "checkpoint")
    check(len(job["phases"]) == 1 and (c["operation"], c["count"], c["pause"]) == ("both", count, 5), f"{path}: {c}")
    ranks, total = CHECKPOINTS[name]
    whole = json.loads(plan(job, "--json", "--nodes", ranks // 8 or 1, "--ranks-per-node", min(ranks, 8)).stdout)
    check(whole["phases"][0]["totals"]["bytes"] == total, f"{path}: {whole['phases'][0]['totals']}, wanted {total}")
    check(figures["phases"][0]["kind"] == "checkpoint", f"{path}: {figures}")


SAVED = {  # of trainings with checkpoints: when, how many in all, bytes that 8 ranks write of each
    "unet3d_a100": ({"every_epochs": 2, "first_epoch": 5}, 1, 499153191),
    "unet3d_h100": ({"every_epochs": 2, "first_epoch": 5}, 1, 499153191),
    "unet3d_v100": ({"every_epochs": 2, "first_epoch": 5}, 1, 499153191),
    "bert_v100": ({"every_steps": 250}, 4, 4034713312), "megatron_deepspeed_LLNL": ({"every_steps": 1000}, 1, 8 * 6018848406),
    "hybrid_storage": ({"every_epochs": 5, "first_epoch": 10}, 0, 0),  # 20 samples do not fill a step
    "multi_endpoint_mpi": ({"every_epochs": 1, "first_epoch": 2}, 0, 0),
    "multi_endpoint_roundrobin": ({"every_epochs": 1, "first_epoch": 2}, 0, 0),
    "llama_1t": ({"every_epochs": 1}, 1, 265266655680),  # the embedding and two of 128 layers, a 64th of the optimizer
}


def check_saves(path, job):
    """Checkpoints within a training, on a store of their own."""
    name = os.path.basename(path)[:-5]
    check(list(job["stores"]) == ["data", "checkpoints"] and job["dataset"]["store"] == "data", f"{path}: {job}")
    check(job["stores"]["checkpoints"]["uri"].endswith(f"checkpoints/{name.split('_')[0]}") or
          job["stores"]["checkpoints"]["uri"].endswith(f"checkpoints/{name}"), f"{path}: {job['stores']}")
    when, count, bytes_ = SAVED[name]
    c = phase(job, "train")["checkpoint"]
    check({k: c[k] for k in ("every_steps", "every_epochs", "first_epoch") if k in c} == when, f"{path}: {c}")
    check(c["store"] == "checkpoints" and c["folder"] == "", f"{path}: {c}")
    totals = json.loads(plan(job, "--json", "--ranks-per-node", 8).stdout)["phases"][-1]["totals"]
    check(totals["checkpoints"] == count, f"{path}: {totals}")
    # The files frame their tensors.
    check(abs(totals.get("checkpoint_bytes", 0) - bytes_) <= bytes_ * 0.0005, f"{path}: {totals}")


def test_tables():
    """For all 55 workloads, the plan has the figures of the file. Those that only checkpoint have a phase for it, and
    trainings with checkpoints write them."""
    files = sorted(glob.glob(f"{HERE}/*/*.yaml"))
    check(len(files) == 55, len(files))
    schema = run("schema").stdout
    objects, indexed = '"endpoints"' in schema, '"indexed_binary"' in schema
    planned = only_checkpoints = saving = 0
    for path in files:
        r = run("import", "dlio", path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        check(r.returncode == 0 and "unknown to DLIO:" not in r.stderr, f"{path}: {r}")
        check(all(len(line) <= 100 for line in r.stderr.splitlines() if not line.startswith("haul: ")),
              r.stderr)
        job = json.loads(r.stdout)
        idle = "  train: False" in text and "  generate_data: False" in text
        if (not idle and job["stores"]["data"]["uri"].startswith("s3:") and not objects or
                "indexed_binary" in text and not indexed):
            check("this haul cannot run the job" in r.stderr, r)
            continue
        p = plan(job, "--json", "--nodes", 1, "--ranks-per-node", 1)
        check(p.returncode == 0, f"{path}: {p}")
        figures = json.loads(p.stdout)
        check(("checkpoint" in job["phases"][0]) == idle and (figures.get("dataset") is None) == idle, f"{path}: {job}")
        saves = "  train: True" in text and "  checkpoint: True" in text
        check(("this workload writes no checkpoints" in r.stderr) == ("  model_size" in text and not idle and not saves),
              f"{path}: {r.stderr}")
        left = re.findall(r"^  ((?:model|checkpoint)\.\S+)", r.stderr.partition("not mapped:")[2], re.M)
        if idle or saves:
            alone = {f"checkpoint.{k}" for k in ("time_between_checkpoints", "num_checkpoints_write", "num_checkpoints_read")}
            check(set(left) <= {"model.name", "checkpoint.type"} | (alone if saves else set()), f"{path}: {r.stderr}")
        if saves:
            check_saves(path, job)
        saving += saves
        if idle:
            check_checkpoints(path, figures, job)
            left = r.stderr.partition("not mapped:")[2]
            check(re.findall(r"^  (\S+) = ", left, re.M) == ["model.name"], f"{path}: {r.stderr}")
        only_checkpoints += idle
        for line in text.splitlines():
            if line.startswith("  num_files_train:"):
                check(figures["dataset"]["files"] == int(line.split()[1]), f"{path}: {figures['dataset']}")
        planned += 1
    check(planned >= 51 and only_checkpoints == 11, (planned, only_checkpoints))
    check(not objects or not indexed or saving == len(SAVED), saving)


def test_no_phases():
    """A job without phases is planned with a note, and a run refuses it."""
    job = {"name": "none", "stores": {"data": {"uri": "null://x"}}, "phases": []}
    p = plan(job)
    check(p.returncode == 0 and "· no phases ·" in p.stdout and "the job has no phases: this will be refused" in p.stdout,
          p)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(job, f)
        f.flush()
        for verb in ("run", "generate"):
            r = run(verb, f.name, "--results", "/nonexistent/r.h5")
            check(r.returncode == 2 and r.stderr == f"haul: {f.name}: /phases: is empty; a run needs at least one phase\n",
                  r)


def test_zero_steps():
    """20 samples do not fill a batch of 32: the plan has a note, and a run refuses the job."""
    r = run("import", "dlio", f"{HERE}/mlc/hybrid_storage.yaml", "storage.storage_type=local_fs",
            "storage.storage_root=/tmp")
    job = json.loads(r.stdout)
    p = plan(job)
    check(p.returncode == 0 and "cannot fill one step" in p.stdout, p)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(job, f)
        f.flush()
        r = run("run", f.name, "--results", "/nonexistent/r.h5")
    check(r.returncode == 2 and "cannot fill one step" in r.stderr, r)


def test_every_key_is_known():
    known = {line.split()[0]: line for line in run("import", "dlio", "--keys").stdout.splitlines()}
    missing = [k for k in KEYS if k not in known]
    check(not missing, missing)
    for line in known.values():
        check("->" in line or "not mapped: " in line, line)


# Keys that have an effect only together with others.
BESIDE = {
    "framework": ("tensorflow", ["~reader.data_loader"]),
    "workflow.train": ("false", ["workflow.generate_data=true"]),
    "workflow.evaluation": ("false", []),
    "storage.storage_library": ("direct", []),
    "storage.storage_options.storage_library": ("direct", []),
    "storage.storage_options.uri_scheme": ("az", ["storage.storage_type=s3"]),
    "dataset.format": ("csv", []),
    "reader.data_loader": ("tensorflow", []),
    "train.seed_change_epoch": ("false", ["reader.file_shuffle=seed"]),
}
VALUES = ("7", "true", "'npz'", "['a']", "{mean: 3}", "[3, 5]", "'random'", "'s3'", "0.5")


def test_nothing_is_silent():
    """Each key, given alone, changes the job or is reported among the findings."""
    plain = run("import", "dlio", f"{HERE}/argonne/default.yaml").stdout
    silent = []
    for key in KEYS:
        special, beside = BESIDE.get(key, (None, []))
        before = run("import", "dlio", f"{HERE}/argonne/default.yaml", *beside).stdout if beside else plain
        for value in (special,) if special else VALUES:
            r = run("import", "dlio", f"{HERE}/argonne/default.yaml", *beside, f"{key}={value}")
            if r.returncode == 0 and (r.stdout != before or f"  {key}" in r.stderr):
                break
        else:
            silent.append(key)
    check(not silent, silent)


def test_values():
    text = """
framework: pytorch
workflow: {generate_data: True, train: True, evaluation: True}
dataset:
  data_folder: /data/set
  format: hdf5
  num_files_train: 0x10
  num_files_eval: 4
  num_subfolders_train: 2
  num_samples_per_file: 4
  record_dims: [3, 8, 8]
  record_element_type: float32
  hdf5: {num_dset_per_record: 2, chunk_dims: [1, 8]}
reader: {data_loader: pytorch, batch_size: 2, batch_size_eval: 3, read_threads: 3, prefetch_size: 7,
         file_shuffle: seed, sample_shuffle: off, odirect: True, write_threads: 5,
         preprocess_time: {type: exponential, scale: 0.5}}
train: {epochs: 3, computation_time: 0.5, computation_time_stdev: 0.1, seed: 9, seed_change_epoch: False}
evaluation: {eval_time: {type: uniform, min: 1, max: 2}, eval_after_epoch: 2, epochs_between_evals: 2}
output: {metric: {exclude_start_steps: 3}}
metric: {au: 0.7}
"""
    job, said = imported(text)
    check(job["seed"] == 9 and job["stores"]["data"] == {"uri": "file:///data/set", "direct": True}, job)
    d = job["datasets"]["train"]
    check(d["files"] == 16 and d["samples_per_file"] == 4 and d["sample_bytes"] == 768, d)
    check(d["hdf5"] == {"datasets": 2, "chunk_bytes": 32} and d["folder"] == "train" and d["subfolders"] == 2, d)
    check("names" not in d, d)
    check(job["datasets"]["valid"]["files"] == 4 and job["datasets"]["valid"]["folder"] == "valid", job)
    check([list(p)[0] for p in job["phases"]] == ["generate", "generate", "train"], job["phases"])
    check(job["phases"][1]["generate"] == {"dataset": "valid", "threads": 5}, job["phases"])
    t = phase(job, "train")
    check(t["compute"] == {"type": "normal", "mean": 0.5, "stdev": 0.1}, t)
    check(t["preprocess"] == {"type": "exponential", "mean": 0.5}, t)
    check(t["loader"] == {"kind": "pytorch", "workers": 3, "prefetch": 3}, t)
    check(t["shuffle"] == {"order": "once", "files": True, "samples": False}, t)
    check(t["warmup_steps"] == 3 and t["target_au"] == 0.7 and t["epochs"] == 3 and t["sync"] == "step", t)
    check(t["evaluation"] == {"every": 2, "dataset": "valid", "batch": 3,
                              "compute": {"type": "uniform", "min": 1, "max": 2}}, t)
    check(plan(job, "--nodes", 1, "--ranks-per-node", 2).returncode == 0, plan(job))
    check(".haul-manifest.json" in said, said)


def test_columns():
    job, _ = imported("""
framework: pytorch
workflow: {generate_data: True}
dataset:
  format: parquet
  record_length_bytes: 50
  parquet:
    row_group_size: 64
    columns: [{name: a, dtype: fp32, size: 3, read: true}, {name: b, dtype: int8}, {name: c, dtype: int8},
              {name: d, dtype: float64, read: true}]
""")
    check(job["dataset"]["parquet"] == {"row_group": 64, "columns": ["1 bytes:12 read", "2 int8", "1 float64 read"]},
          job)
    check(job["dataset"]["sample_bytes"] == 22, job)
    job, _ = imported(open(f"{HERE}/mlc/dlrm_datagen.yaml").read())
    check(job["dataset"]["sample_bytes"] == 761 and job["dataset"]["parquet"]["columns"] ==
          ["46 float16", "44 float64", "29 float32", "41 int8", "27 float32 read", "5 float64 read", "4 float16 read", "4 int8 read"], job)
    # A Parquet file has a limit of runs of like columns. If there are more, columns of the same type are put together.
    columns = ", ".join(f"{{name: c{i}, dtype: {'int8' if i % 2 else 'int64'}}}" for i in range(20))
    job, said = imported(f"framework: pytorch\nworkflow: {{generate_data: true}}\n"
                         f"dataset: {{format: parquet, parquet: {{columns: [{columns}]}}}}\n")
    check(job["dataset"]["parquet"]["columns"] == ["10 int64", "10 int8"] and "side by side" in said, (job, said))


def test_stores():
    for storage, folder, uri in (
            ("", "data/x/", "file://./data/x"), ("", "./", "file://./"), ("", "/abs/x", "file:///abs/x"),
            ("storage_root: /mnt/a/", "data/x", "file:///mnt/a/data/x"),
            ("storage_type: direct_fs, storage_root: /mnt", "d", "direct:///mnt/d"),
            ("storage_type: s3, storage_root: bucket", "data/x/", "s3://bucket/data/x"),
            ("storage_type: s3, storage_root: c, storage_options: {uri_scheme: az}", "d", "az://c/d"),
            ("storage_type: s3dlio, storage_root: 's3://b/p/'", "d", "s3://b/p/d"),
            ("storage_type: s3dlio, storage_root: 'file:///mnt/p/'", "d", "file:///mnt/p/d"),
            ("storage_library: direct", "/d", "direct:///d")):
        job, _ = imported(f"framework: pytorch\nstorage: {{{storage}}}\ndataset: {{data_folder: {folder}}}\n")
        check(job["stores"]["data"]["uri"] == uri, f"{storage} {folder}: {job['stores']}")
    job, said = imported("""
framework: pytorch
storage:
  storage_type: s3
  storage_root: b
  storage_options: {endpoint_url: 'http://h:9000', access_key_id: AKIASECRET, region: eu, s3_force_path_style: true,
                    s3_max_attempts: 3}
""")
    check(job["stores"]["data"] == {"uri": "s3://b/data", "endpoints": "http://h:9000", "region": "eu",
                                    "addressing": "path", "retry": {"attempts": 3}}, job)
    check("AWS_ACCESS_KEY_ID" in said and "AKIASECRET" not in said, said)
    for library, client in (("s3dlio", "s3dlio"), ("s3torchconnector", "s3torchconnector"), ("minio", "minio"),
                            ("boto", None)):
        job, said = imported("framework: pytorch\nstorage: {storage_type: s3, storage_root: b, storage_library: "
                             f"{library}}}\n")
        check(job["stores"]["data"].get("client") == client, job)
        check(("imitates no such client" in said) == (client is None), said)
    _, said = imported("framework: pytorch\nstorage: {storage_options: {region: eu}}\n")
    check("storage.storage_options.region" in said, said)


def test_overrides():
    base = "framework: pytorch\nreader: {batch_size: 2}\ntrain: {computation_time: 1}\n"
    for override, wanted in (
            ("++workload.reader.batch_size=4", ("batch", 4)), ("reader.batch_size=5", ("batch", 5)),
            ("+workload.train.epochs=3", ("epochs", 3)), ("~reader.batch_size", ("batch", 1)),
            ("~workload.train.computation_time", ("compute", None)),
            ("train.computation_time={type:normal,mean:0.5,stdev:0.1}",
             ("compute", {"type": "normal", "mean": 0.5, "stdev": 0.1})),
            ("train.computation_time={mean: 2.0}", ("compute", 2)), ("metric.au=null", ("target_au", 0.9))):
        job, _ = imported(base, override)
        key, value = wanted
        check(phase(job, "train").get(key) == value, f"{override}: {phase(job, 'train')}")
    job, _ = imported(base, "dataset.file_prefix='a,b'", "dataset.record_dims=[3,5]")
    check(job["dataset"]["prefix"] == "a,b" and job["dataset"]["sample_bytes"] == 15, job)
    job, _ = imported(f"workload:\n  framework: pytorch\n  reader: {{batch_size: 3}}\n", "++workload.train.epochs=2")
    check(phase(job, "train")["batch"] == 3 and phase(job, "train")["epochs"] == 2, job)
    for override, word in (("reader.batch_size=1,2", "--sweep"), ("~reader.x", "no such key"), ("batch", "KEY=VALUE"),
                           ("workload=unet3d", "another workload"), ("=3", "must begin"), ("a..b=3", "must begin"),
                           ("framework.x=3", "not keys"), ("x={a:1,a:2}", "twice"), ("x=[1", "line"),
                           ("reader.batch_size=four", "whole number"), ("reader.batch_size=-1", "of 0 or more, is -1"),
                           ("reader.sample_shuffle=sed", "must be off, seed or random, is \"sed\""),
                           ("reader.file_shuffle=true", "must be off, seed or random")):
        _, said = imported(base, override, rc=2)
        check(word in said, f"{override}: {said}")


def test_defects():
    text = """
framework: pytorch
dataset: {format: jpeg, num_files_train: 100, record_length_bytes: 322957, record_length_bytes_stdev: 1000}
reader: {data_loader: pytorch, file_shuffle: seed, sample_shuffle: seed}
"""
    meant, _ = imported(text)
    check(meant["dataset"]["sample_bytes"] == 322957 and meant["dataset"]["sample_bytes_stdev"] == 1000, meant)
    check(phase(meant, "train")["shuffle"]["samples"], meant)
    bent, said = imported(text, options=("--as", "dlio-bugs"))
    check(abs(bent["dataset"]["sample_bytes"] - 179275) < 50, bent)           # the measured mean of DLIO's generator
    check(bent["dataset"]["sample_bytes_stdev"] == round(1000 / 2 ** .5 * .5551), bent)
    check(phase(bent, "train")["shuffle"] == "none" and "as DLIO does with torch" in said, (bent, said))
    flux = "framework: pytorch\nmodel: {name: flux}\ndataset: {format: npz, record_length: 5000}\n"
    job, said = imported(flux)
    check(job["dataset"]["sample_bytes"] == 5000 and "ignores this key" in said, said)
    job, said = imported(flux, options=("--as", "dlio-bugs"))
    check(job["dataset"]["sample_bytes"] == 65536 and "dataset.record_length = 5000" in said, said)
    tf = "framework: tensorflow\nreader: {file_shuffle: 'off'}\n"
    check(phase(imported(tf)[0], "train")["shuffle"] == "none", "off")
    check(phase(imported(tf, options=("--as", "dlio-bugs"))[0], "train")["shuffle"]["files"], "off as text")
    _, said = imported("framework: pytorch\nworkflow: {train: False, checkpoint: True}\nmodel: {model_size: 499153191}\n"
                       "checkpoint: {fsync: True, num_checkpoints_write: 1}\n")
    check("DLIO reads model_size_bytes and ignores this key" in said and "DLIO never calls fsync" in said, said)


def test_shuffle_window():
    r = run("import", "dlio", f"{HERE}/argonne/bert_v100.yaml")
    t = phase(json.loads(r.stdout), "train")
    check(t["shuffle"] == {"order": "once", "files": True, "samples": True, "window": 1024}, r)
    check(t["steps"] == 1000 and t["loader"]["kind"] == "stream", t)
    check(t["loader"]["stream"] == {"interleave": 1, "transfer": 262144}, t)
    check("transfer" not in json.loads(r.stdout)["stores"]["data"], r.stdout)


def test_model_as_text():
    """DLIO's older files give the name of the model as a string: "model: unet3d"."""
    text = """
model: unet3d
framework: pytorch
workflow: {generate_data: False, train: True}
dataset: {data_folder: data/unet3d, format: npz, num_files_train: 168, record_length: 234560851}
reader: {data_loader: pytorch, read_threads: 4, batch_size: 2}
train: {epochs: 10, computation_time: 0.753}
"""
    job, said = imported(text)
    check(job["dataset"]["files"] == 168 and job["dataset"]["sample_bytes"] == 234560851, job)
    check(phase(job, "train")["batch"] == 2 and phase(job, "train")["compute"] == 0.753, job)
    check('model = "unet3d"' in said and "haul takes it for model.name" in said, said)
    check('model.name = "unet3d"' in said, said)
    as_object, said_too = imported(text.replace("model: unet3d", "model: {name: unet3d}"))
    check(as_object["phases"] == job["phases"] and "a text names the model" not in said_too, said_too)
    _, said = imported(text, "model=bert")
    check('model.name = "bert"' in said, said)
    _, said = imported(text, "model=7", rc=2)
    check("model: must hold keys" in said, said)
    _, said = imported(text.replace("unet3d\n", "'${oc.env:HAUL_TEST_UNSET}'\n", 1), rc=2)
    check('model: "HAUL_TEST_UNSET" is a variable' in said, said)


def test_unknown():
    _, said = imported("framework: pytorch\nreader: {batchsize: 4, read_threads: 2}\ntrain: {batch_size: 3}\nzzzzz: 1\n'reader.x': 1\n"
                       "dataset: {num_files_train: 8, num_samples_per_file: 4}\n")
    check('reader.batchsize = 4' in said and 'did you mean "reader.batch_size"?' in said, said)
    check("train.batch_size = 3" in said and "zzzzz" in said and "reader.x" in said, said)
    _, said = imported("framework: pytorch\ndefaults: [_self_, {override hydra/job_logging: x}]\n"
                       "dataset: {data_folder: data}\n")
    check("haul reads one file" in said, said)


def test_files_of_other_tools():
    """Keys that other tools' files have, too, make no workload of DLIO's defaults out of them. A workload of few keys is one."""
    for text in ("model: resnet\ndataset: {root: /data, batch_size: 32}\ntrain: {epochs: 3}\n",
                 "framework: pytorch\nmodel: {name: x}\ndataset: {path: /d, batch_size: 3}\ntrain: {epochs: 3, lr: 0.1}\n",
                 "dataset: {format: parquet, batch_size: 8}\ntrain: {epochs: 1, seed: 1}\n",
                 "train: {epochs: 3, optimizer: adam}\ndataset: {data_folder: x}\n",
                 "model: {name: gpt2, num_layers: 12}\ntrain: {epochs: 2, batch_size: 4}\ndataset: {name: wikitext}\n",
                 "reader: {read_threads: 4, path: x, columns: [a], limit: 5}\n",
                 "checkpoint: {path: /ckpt, every: 100, keep: 3}\nmodel: {hidden_size: 4}\n"):
        _, said = imported(text, rc=2)
        check("is not a DLIO workload" in said, f"{text}: {said}")
    for text in ("framework: pytorch\ndataset: {batch_size: 4}\ntrain: {epochs: 1}\n", "dataset: {num_files_train: 4}\n",
                 "framework: tensorflow\nworkflow: {generate_data: True}\n"):
        imported(text)


def test_refused():
    laughs = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(b + 1)}: &{chr(b + 1)} [{', '.join([f'*{chr(b)}'] * 8)}]\n" for b in range(ord("a"), ord("k")))
    for text, word in ((laughs, "more values"), ("a: 1\na: 2\n", "twice"), ("a: {b: 1, b: 2}\n", "twice"),
                       ("a: &x [*x]\n", "unknown alias"), ("a: *x\n", "unknown alias"),
                       ("[" * 100 + "]" * 100, "too deep"), ("a: !!python/object/apply:os.system [x]\n", "unknown tag"),
                       ("a: !!python/name:os x\n", "unknown tag"), ("--- 1\n--- 2\n", "second document"),
                       ("", "nothing"), ("[1, 2]\n", "must hold keys"), ("{[1]: 2}\n", "plain text"),
                       ("a: b: c\n", "line 1"), ("a: \x01\n", "line 1"), ('a: "\\0"\n', "zero byte"),
                       ("reader: 5\n", "must hold keys"), ("x" * (1 << 20) + "x", "larger"),
                       ("x: 1\n" * 20000, "twice"), ("workload: unet3d\n", "another file"),
                       ("framework: pytorch\ndataset: {format: zip}\n", "unknown format"),
                       ("framework: pytorch\nworkflow: {train: False}\n", "nothing to import"),
                       ("framework: pytorch\nmetric: {au: 900}\n", "metric.au"),
                       ("framework: pytorch\ntrain: {computation_time: {type: cauchy}}\n", "computation_time"),
                       ("framework: pytorch\ntrain: {computation_time: {type: normal, mean: 1}}\n", "stdev"),
                       ("framework: pytorch\nstorage: {storage_type: tape}\n", "storage_type")):
        _, said = imported(text, rc=2)
        check(word in said and said.count("haul: ") == 1, f"{text[:40]!r}: {said}")
    check(run("import", "tar", "x").returncode == 2 and run("import", "dlio").returncode == 2, "usage")
    check("No such file" in run("import", "dlio", "/nonexistent.yaml").stderr, "a missing file")
    # Harmless anchors and merges are accepted.
    job, _ = imported("x: &d {format: npz, num_files_train: 5}\nframework: pytorch\n"
                      "dataset: {<<: *d, num_files_train: 7}\n")
    check(job["dataset"]["files"] == 7 and job["dataset"]["format"] == "npz", job)


OF_1_0 = """
model: unet3d
framework: pytorch
workflow: {generate_data: False, train: True, checkpoint: True, profiling: False}
dataset: {data_folder: data/unet3d/, format: npz, num_files_train: 168, num_samples_per_file: 1, record_length: 146600628,
          record_length_stdev: 68341808, record_length_resize: 2097152}
reader: {data_loader: pytorch, batch_size: 7, read_threads: 4, file_shuffle: seed, sample_shuffle: seed}
train: {epochs: 5, computation_time: 0.323}
checkpoint: {checkpoint_folder: checkpoints/unet3d, checkpoint_after_epoch: 5, epochs_between_checkpoints: 2, model_size: 499153191}
metric: {au: 0.90}
"""


def test_class_of_old_keys():
    """The class is of the keys of a file as they are: edition 1.0 has a model without a name, and its size among the checkpoints."""
    _, told = imported(OF_1_0)
    check("class: f4d46006aa421634, that of unet3d on h100, edition 1.0" in told, told)


main()
