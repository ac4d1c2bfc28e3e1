"""bench/parity.py: its reasons from known figures, DLIO's outputs as made by hand, a real run of haul, and what it
says where there is no DLIO."""
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
    assert "138.8" in said(why, "samples/s") and "5.0%" in said(why, "AU"), why
    assert "samples" not in dict(why) and "does not shuffle" in said(why, "order"), why
    right, why = parity.explain(dlio, HAUL_FIGURES, JOB, 65800, "mlcommons")
    assert right["samples_s"] == 119 and "order" not in dict(why), why
    # DLIO's JPEG: 0.555 of what it counts; four samples a file, read whole for each.
    job = copy.deepcopy(JOB)
    job["dataset"].update(format="jpeg")
    right, why = parity.explain(dlio, HAUL_FIGURES, job, 36378)
    assert "0.555" in said(why, "bytes") and "quality 75" in said(why, "bytes"), why
    job["dataset"].update(format="npz", samples_per_file=4)
    right, why = parity.explain(dlio, dict(HAUL_FIGURES, samples=256), job, 4 * 65536)
    assert abs(right["mib_s"] - 119 * 7 / 6 * 4 * 65536 / 2**20) < 1e-9 and "4 times" in said(why, "bytes"), why
    assert "DLIO read 64 an epoch, haul 256" in said(why, "samples"), why
    # Two steps: DLIO's throughput is 0 whatever was read.
    right, why = parity.explain(dict(dlio, steps=2), HAUL_FIGURES, JOB, None)
    assert "says nothing" in said(why, "samples/s"), why


def call(*args, **env):
    return subprocess.run([sys.executable, SCRIPT, *args], capture_output=True, text=True, timeout=120,
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
        # The names are DLIO's: what it would list.
        names = sorted(n for n in os.listdir(os.path.join(data, "train")) if not n.startswith("."))
        assert names[0] == "img_00_of_64.npz" and len(names) == 64, names
        r = call(workload, "--ranks", "2", "--data", data, "--out", os.path.join(folder, "out"), "--dlio",
                 os.path.join(HERE, "made_dlio"), PATH=mpi, MPIEXEC=MPIEXEC)
        assert r.returncode == 0, r
        for words in ("AU, by DLIO's formula", "88.0%", "119", "138.8", "8 - 2 steps", "labelled MB"):
            assert words in r.stdout, (words, r.stdout)
        with open(os.path.join(folder, "out", "job.json"), encoding="utf-8") as f:
            assert json.load(f)["dataset"]["names"] == "dlio", "names"


def test_without_dlio():
    with tempfile.TemporaryDirectory() as folder:
        r = call(os.path.join(HERE, "parity.yaml"), "--data", folder, "--out", folder, PATH=folder)
        assert r.returncode == 2 and "dlio_benchmark is not in PATH" in r.stderr and "--dlio" in r.stderr, r
        r = call(os.path.join(HERE, "parity.yaml"), "--dlio", folder, "--out", folder)
        assert r.returncode == 2 and "summary.json" in r.stderr and "Traceback" not in r.stderr, r


for test in (test_reasons, test_run, test_without_dlio):
    test()
    print("ok   ", test.__name__)
