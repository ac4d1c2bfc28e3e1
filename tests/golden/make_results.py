# SPDX-License-Identifier: Apache-2.0
"""Writes the results that the golden outputs read, tests/fixtures/results/kinds/NAME.h5.xz: one of each kind of page
(tests/report/html/zoo.py), and those of which MLPerf's tree is made. Real runs take other times whenever they are repeated, so
all golden outputs change with them: make_results.py [NAME…], then golden.py --write."""
import glob
import lzma
import os
import shutil
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INTO = os.path.join(SOURCE, "tests/fixtures/results/kinds")
# The folder and the program stand in the results, with the name of the host (unshare --uts gives it another one).
FOLDER = "/tmp/golden"
os.environ["PATH"] = os.path.dirname(os.path.abspath(os.environ["HAUL"])) + ":" + os.environ["PATH"]
os.environ["HAUL"] = "haul"
os.environ.setdefault("HAUL_MPIEXEC", "mpiexec")
os.environ["HAUL_DATA"] = FOLDER
sys.path.insert(0, os.path.join(SOURCE, "tests/report/html"))
import zoo  # noqa: E402


def ready(name, *words):
    """Runs a job of the catalogue."""
    done = zoo.subprocess.run(["haul", "run", *words, "--quiet", "--results", f"{FOLDER}/{name}.h5", "--force"], cwd=FOLDER,
                              env=zoo.ENV | {"HAUL_DATA": FOLDER}, capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 1, 8):
        raise AssertionError(done)


def cache(name, model, users, allocations, tiers=()):
    return {"kvcache": {"name": name, "model": model, "users": users, "served": users, "threads": 4, "duration": "200 ms",
                        "max_concurrent_allocs": allocations, **({"tiers": [*tiers, "cache"]} if tiers else {})}}


def caches(_):
    job = {"seed": 42, "stores": {"cache": {"uri": "sim://"}},
           "phases": [cache("a", "llama3.1-8b", 200, 16), cache("b", "llama3.1-8b", 100, 16, [{"kind": "cpu", "capacity": "1 MiB"}]),
                      cache("c", "llama3.1-70b-instruct", 70, 4)]}
    zoo.run(FOLDER, "mlperf_kvcache", job, 1, "--repeat", 2)


def trained(_):
    null = ("unet3d_b200", "--set", "stores.data.uri=null://")
    ready("mlperf_made", *null, "--only", "generate", "--set", "dataset.files=1")
    ready("mlperf_trained", *null, "--set", "dataset.files=21", "--set", "train.compute=5 ms", "--set", "train.null_steps=0", "--skip",
          "generate", "--warmup", "1", "--repeat", "5")


def saved(_):
    ready("mlperf_saved", "llama3_8b", "--set", "stores.checkpoints.uri=null://", "--set", "checkpoint.count=3", "--set",
          "checkpoint.pause=0", "--set", "checkpoint.null_passes=0")


def tune(_):
    zoo.run(FOLDER, "tune", zoo.job("settles", [zoo.io_phase(seconds="150 ms")]), 1, "--tune", "io.threads=1,2,4", "--tune",
            "io.block=50KB,100KB", "--tune-by", "io.rate", "--repeat", 2)


MADE = {**zoo.ZOO, "tune": tune, "mlperf_kvcache": caches, "mlperf_trained": trained, "mlperf_saved": saved}

os.makedirs(INTO, exist_ok=True)
shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
for name in sys.argv[1:] or MADE:
    MADE[name](FOLDER)
for path in glob.glob(f"{FOLDER}/*.h5"):
    with open(path, "rb") as f, lzma.open(os.path.join(INTO, os.path.basename(path) + ".xz"), "wb", preset=9) as to:
        shutil.copyfileobj(f, to)
shutil.rmtree(FOLDER)
