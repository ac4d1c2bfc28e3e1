# SPDX-License-Identifier: Apache-2.0
"""Comparison with DLIO (bench/parity.py): the reasons that it gives for known figures, and its runs with handmade outputs of
DLIO, with a stand-in program that takes DLIO's arguments, and without DLIO."""
import copy
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HAUL, SOURCE, MPIEXEC = os.environ["HAUL"], os.environ["HAUL_SOURCE"], os.environ["HAUL_MPIEXEC"]
HERE = os.path.join(os.environ["HAUL_SOURCE"], "tests", "fixtures", "dlio")
SCRIPT = os.path.join(SOURCE, "bench", "parity.py")

spec = importlib.util.spec_from_file_location("parity", SCRIPT)
parity = importlib.util.module_from_spec(spec)
spec.loader.exec_module(parity)

JOB = {"dataset": {"format": "npz", "samples_per_file": 1, "sample_bytes": 65536},
       "phases": [{"train": {"batch": 4, "warmup_steps": 1, "shuffle": {"order": "each_epoch"},
                             "loader": {"kind": "pytorch"}}}]}
HAUL_FIGURES = {"au": 0.95, "au_mlperf": 0.93, "null_au": 0.999, "samples_s": 141, "mib_s": 8.8, "samples": 64}


def said(sentences, what):
    return " ".join(s for w, s in sentences if w == what)


def test_reasons():
    dlio = parity.read_dlio(os.path.join(HERE, "made_dlio"))
    assert dlio == {"au": 0.88, "samples_s": 119.0, "mib_s": 7.4375, "ranks": 2, "steps": 8}, dlio
    right, why = parity.explain(dlio, HAUL_FIGURES, JOB, 65800)
    assert abs(right["samples_s"] - 119 * 7 / 6) < 1e-9, right           # (n-2)/(n-1) undone
    assert abs(right["mib_s"] - 119 * 7 / 6 * 65800 / 2**20) < 1e-9, right
    assert "138.8" in said(why, "samples/s") and "5.0% are DLIO's own cost" in said(why, "AU"), why
    assert "samples" not in dict(why) and "does not shuffle" in said(why, "order"), why
    right, why = parity.explain(dlio, HAUL_FIGURES, JOB, 65800, "mlcommons")
    assert right["samples_s"] == 119 and "order" not in dict(why), why
    # DLIO's JPEG files have 0.555 of the bytes that it counts. It reads a file of four samples whole for each sample.
    job = copy.deepcopy(JOB)
    job["dataset"].update(format="jpeg")
    right, why = parity.explain(dlio, HAUL_FIGURES, job, 36378)
    assert "0.555" in said(why, "bytes") and "quality 75" in said(why, "bytes"), why
    job["dataset"].update(format="npz", samples_per_file=4)
    right, why = parity.explain(dlio, dict(HAUL_FIGURES, samples=256), job, 4 * 65536)
    assert abs(right["mib_s"] - 119 * 7 / 6 * 4 * 65536 / 2**20) < 1e-9 and "4 times" in said(why, "bytes"), why
    assert "DLIO read 64 samples per epoch, haul 256" in said(why, "samples"), why
    # With two steps DLIO's throughput is 0, whatever was read.
    right, why = parity.explain(dict(dlio, steps=2), HAUL_FIGURES, JOB, None)
    assert "means nothing" in said(why, "samples/s"), why


def call(*args, **env):
    return subprocess.run([sys.executable, SCRIPT, *args], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **env})


def test_run():
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        workload = os.path.join(HERE, "parity.yaml")
        made = subprocess.run([HAUL, "import", "dlio", workload, f"dataset.data_folder={data}",
                               "workflow.generate_data=True", "workflow.train=False"], capture_output=True, text=True)
        job = os.path.join(folder, "make.json")
        with open(job, "w", encoding="utf-8") as f:
            f.write(made.stdout)
        mpi = os.path.dirname(MPIEXEC) + os.pathsep + os.environ["PATH"]
        done = subprocess.run([MPIEXEC, "-n", "2", HAUL, "run", job, "--quiet"], cwd=folder, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done
        # The names are those that DLIO would list.
        names = sorted(n for n in os.listdir(os.path.join(data, "train")) if not n.startswith("."))
        assert names[0] == "img_00_of_64.npz" and len(names) == 64, names
        r = call(workload, "--ranks", "2", "--data", data, "--out", os.path.join(folder, "out"), "--dlio",
                 os.path.join(HERE, "made_dlio"), PATH=mpi, MPIEXEC=MPIEXEC)
        assert r.returncode == 0, r
        for words in ("AU, by DLIO's formula", "88.0%", "119", "138.8", "8 - 2 steps", "labelled MB"):
            assert words in r.stdout, (words, r.stdout)
        with open(os.path.join(folder, "out", "job.json"), encoding="utf-8") as f:
            assert json.load(f)["dataset"]["names"] == "dlio", "names"


def test_overrides():
    """Hydra takes the keys of a workload file below "workload". "++" sets a key whether or not the file has it."""
    for given, wanted in (("reader.batch_size=4", "++workload.reader.batch_size=4"),
                          ("+reader.batch_size=4", "++workload.reader.batch_size=4"),
                          ("++workload.reader.batch_size=4", "++workload.reader.batch_size=4"),
                          ("workload.train.epochs=1", "++workload.train.epochs=1"), ("~reader.odirect", "~workload.reader.odirect"),
                          ("~workload.reader.odirect", "~workload.reader.odirect"), ("hydra.run.dir=x", "hydra.run.dir=x")):
        assert parity.hydra_override(given) == wanted, (given, parity.hydra_override(given))


# A stand-in for DLIO. It takes its arguments as Hydra does: its own options before the first override, and no key outside
# the configuration. haul makes the files, and the figures are the handmade ones.
STAND_IN = f"""#!{sys.executable}
import argparse, json, os, shutil, subprocess, sys
parser = argparse.ArgumentParser()
parser.add_argument("overrides", nargs="*")
parser.add_argument("--config-dir")
given = parser.parse_args()
name = next(o for o in given.overrides if o.startswith("workload=")).partition("=")[2]
keys = dict(o.lstrip("+").split("=", 1) for o in given.overrides if not o.startswith("workload="))
for key in keys:
    if not key.startswith(("workload.", "hydra.")):
        sys.exit("Could not override '" + key + "'. Key is not in struct")
workload = os.path.join(given.config_dir, "workload", name + ".yaml")
if os.environ.get("PMI_RANK", "0") != "0":
    sys.exit()
with open(os.environ["STAND_IN_LOG"], "a", encoding="utf-8") as log:
    log.write(json.dumps(keys) + chr(10))
if keys["workload.workflow.generate_data"] == "True":
    job = os.path.join(given.config_dir, "job.json")
    with open(job, "w", encoding="utf-8") as out:
        subprocess.run([{HAUL!r}, "import", "dlio", workload] + [k + "=" + v for k, v in keys.items() if k[:6] != "hydra."],
                       stdout=out, stderr=subprocess.DEVNULL, check=True)
    alone = {{k: v for k, v in os.environ.items() if not k.startswith(("PMI", "MPI", "HYDI"))}}
    subprocess.run([{HAUL!r}, "generate", job, "--quiet"], check=True, env=alone, stdin=subprocess.DEVNULL)
else:
    shutil.copytree({os.path.join(HERE, "made_dlio")!r}, keys["hydra.run.dir"])
"""


def test_documented_command():
    """The command of docs/parity.md works as it is written there, with options between the workload and the overrides."""
    with open(os.path.join(SOURCE, "docs", "parity.md"), encoding="utf-8") as page:
        line = next(line for line in page if line.startswith("bench/parity.py ") and "--dlio" not in line)
    with tempfile.TemporaryDirectory() as folder:
        dlio, log = os.path.join(folder, "dlio_benchmark"), os.path.join(folder, "log")
        with open(dlio, "w", encoding="utf-8") as f:
            f.write(STAND_IN)
        os.chmod(dlio, 0o755)
        words = [w.replace("unet3d_h100.yaml", os.path.join(HERE, "parity.yaml")).replace("/scratch/parity", f"{folder}/data")
                 .replace("=512", "=64") for w in line.split()[1:]]
        assert words[-1] == "dataset.num_files_train=64" and "--ranks" in words, words
        r = call(*words, "--out", os.path.join(folder, "out"), PATH=os.pathsep.join([folder, os.environ["PATH"]]),
                 MPIEXEC=MPIEXEC, STAND_IN_LOG=log)
        assert r.returncode == 0, r
        assert "138.8" in r.stdout, r.stdout
        with open(log, encoding="utf-8") as f:
            datagen, train = map(json.loads, f)
        assert datagen["workload.dataset.num_files_train"] == "64", datagen
        assert datagen["workload.workflow.generate_data"] == "True" == train["workload.workflow.train"], (datagen, train)
        assert train["workload.dataset.data_folder"] == f"{folder}/data", train
        with open(os.path.join(folder, "out", "job.json"), encoding="utf-8") as f:
            assert json.load(f)["dataset"]["files"] == 64, "files"


def test_without_dlio():
    with tempfile.TemporaryDirectory() as folder:
        r = call(os.path.join(HERE, "parity.yaml"), "--data", folder, "--out", folder, PATH=folder)
        assert r.returncode == 2 and "dlio_benchmark is not in PATH" in r.stderr and "--dlio" in r.stderr, r
        r = call(os.path.join(HERE, "parity.yaml"), "--dlio", folder, "--out", folder)
        assert r.returncode == 2 and "summary.json" in r.stderr and "Traceback" not in r.stderr, r


for test in (test_reasons, test_run, test_overrides, test_documented_command, test_without_dlio):
    test()
    print("ok   ", test.__name__)
