# SPDX-License-Identifier: Apache-2.0
"""haul import torchtitan: the checkpoints of a configuration in TOML become a job that haul plans; what does not map is listed, and
what is not TOML, or none of its keys, is refused by its line."""
import json
import tempfile

from importtest import check, main, run

WHOLE = """# All forms of values.
[job]
dump_folder = "/scratch/out"   # a text
[model]
name = 'llama3'
flavor = "70B"
converters = ["float8",  # one
  'mx',
]
[optimizer]
lr = 3e-4
[training]
steps = 2_000
local_batch_size = 1
[parallelism]
data_parallel_shard_degree = 4
data_parallel_replicate_degree = 2
tensor_parallel_degree = 8
[checkpoint]
enable = true
folder = "checkpoint"
interval = 100
async_mode = "async"
keep_latest_k = 3
last_save_in_hf = true
export_dtype = "bfloat16"
strange = 1.5
"""


def imported(text, *flags, rc=0):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/one.toml"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        r = run("import", "torchtitan", path, *flags)
        check(r.returncode == rc, r)
        if rc:
            check(not r.stdout and "haul: " in r.stderr, r)
            return None, " ".join(r.stderr.split())
        with open(f"{folder}/job.json", "w", encoding="utf-8") as f:
            f.write(r.stdout)
        planned = run("plan", f"{folder}/job.json", "--nodes", 8, "--ranks-per-node", 8)
        check(planned.returncode == 0, planned)
    return json.loads(r.stdout), " ".join(r.stderr.split())


def test_a_whole_file():
    job, said = imported(WHOLE)
    check(job["stores"]["checkpoints"] == {"uri": "file:///scratch/out/checkpoint", "fsync": "file"}, job["stores"])
    saves, last = (p["checkpoint"] for p in job["phases"])
    mesh = {"tensor": 8, "pipeline": 1, "data": 8, "zero": 3, "replicate": 2}
    check(saves["mesh"] == mesh and last["mesh"] == mesh, saves)
    check((saves["layout"], saves["count"], saves["keep"], saves["purge"]) == ("dcp", 19, 3, "thread"), saves)
    check(saves["model"] == {"name": "llama3.1-70b-instruct", "tensors": "separate", "weights": "fp32"}, saves)
    check((last["layout"], last["framing"], last["consolidate"], last["consolidators"], last["count"]) ==
          ("hf", "safetensors", "ranks", 5, 1), last)
    check((last["model"]["weights"], last["model"]["optimizer"]) == ("bf16", "none"), last)
    for words in ("checkpoint.strange = 1.5", "optimizer.lr = 0.0003", "model.converters", "checkpoint.async_mode", "checkpoint.interval"):
        check(words in said, f"{words}: {said}")
    check("job.dump_folder" not in said and "training.steps" not in said, said)


def test_defaults_and_flags():
    job, _ = imported('[model]\nflavor = "8B"\n[checkpoint]\nfolder = "c"\n')
    saves, last = (p["checkpoint"] for p in job["phases"])
    check((saves["count"], saves["keep"], last["layout"], last["model"]["weights"]) == (19, 10, "dcp", "fp32"), job)
    check(saves["mesh"] == {"tensor": 1, "pipeline": 1, "zero": 3}, saves)
    job, _ = imported('model.flavor = "8B"\ncheckpoint.interval = 10\n', "checkpoint.last_save_model_only=false", "training.steps=50")
    check(len(job["phases"]) == 1 and job["phases"][0]["checkpoint"]["count"] == 5, job)
    check("keep" not in job["phases"][0]["checkpoint"], job)


def test_what_is_refused():
    head = '[model]\nflavor = "8B"\n'
    for text, why in ((head + "x", "line 3: a key has no value"), (head + "flavor = 1", "line 3: a key is given twice"), (head + "a = 2026-01-01", "line 3: a value is"),
                      (head + 'a = "b', "line 3: a text does not end"), (head + 'a = """b"""', "several lines"), (head + "a = [1, 2", "line 3"),
                      (head + "a = 1 b", "line 3: more follows"), ("[model\nflavor = 1", "line 1: a table's name does not end"),
                      (head + "[model.flavor]", "line 3: a table is a value"), (head + '[checkpoint]\ninterval = "x"', "checkpoint.interval: must be a whole number"),
                      ('[model]\nflavor = "debugmodel"\n', "model.flavor: haul knows"), ("[package]\nname = 'x'\nversion = 1\n", "is not a configuration"),
                      (head + r'a = "\q"', "escape"), (head + "a = [[[[[[[[[1]]]]]]]]]", "too many values")):
        _, said = imported(text, rc=2)
        check(why in said, f"{why}: {said}")


if __name__ == "__main__":
    main()
