"""Every ready job, made small: generates and trains for two epochs, all bytes verified, and moves the bytes
that its format's readers take."""
import glob
import json
import os

from haultest import *

SMALL = {  # what a job of the family is cut to, and bytes of a sample
    "cosmoflow": ("dataset.files=40", 30000, 700),
    "resnet50": ("dataset.files=2", 1000, 0),
    "retinanet": ("dataset.files=150", 20000, 0),
    "unet3d": ("dataset.files=40", 50000, 20000),
}
RANKS = 2


def run_small(name):
    files, size, stdev = SMALL[name.split("_")[0]]
    with Folder() as folder:
        sets = [files, f"dataset.sample_bytes={size}", "train.epochs=2", "train.compute=0", "train.verify=full",
                "train.null_steps=0", f"stores.data.uri=file://{folder}/data"]
        if stdev:
            sets.append(f"dataset.sample_bytes_stdev={stdev}")
        if name.endswith("aurora"):
            sets += [f"cluster.ranks_per_node={RANKS}", f"cluster.gpus={RANKS}"]
        arguments = [a for s in sets for a in ("--set", s)]
        r = mpi(RANKS, "run", name, "--quiet", *arguments, cwd=folder, env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{name}: {r}")
        train = next(p for p in report(f"{folder}/results.h5")["phases"] if p["kind"] == "train")
        check(len(train["epochs"]) == 2 and train["errors"] == 0, f"{name}: {train['epochs']}")
        made = [os.path.getsize(os.path.join(t, n)) for t, _, names in os.walk(f"{folder}/data") for n in names
                if not n.startswith(".")]
        return train, sum(e["samples"] for e in train["epochs"]), made


def run_small_io(name):
    """Plain I/O: a few blocks or objects, nothing left behind."""
    with open(f"{SOURCE}/workloads/catalog/{name}.json") as f:
        phases = json.load(f)["phases"]
    with Folder() as folder:
        sets = [f"stores.data.uri=file://{folder}/data"]
        if name == "io_random":
            sets.append("stores.data.direct=false")
        for i, phase in enumerate(phases):
            io = phase["io"]
            if "size" in io and io["size"] != 3901:
                sets.append(f"phases.{i}.io.size={470080 if name == 'io_shared' else '4 MiB'}")
            if "objects" in io:
                sets.append(f"phases.{i}.io.objects=20")
            if "seconds" in io:
                sets.append(f"phases.{i}.io.seconds=0.5")
            if "warmup" in io:
                sets.append(f"phases.{i}.io.warmup=0.1")
        r = mpi(RANKS, "run", name, "--quiet", *[a for s in sets for a in ("--set", s)], cwd=folder,
                env={"HAUL_DATA": folder})
        check(r.rc == 0, f"{name}: {r}")
        done = report(f"{folder}/results.h5")["phases"]
        check(len(done) == len(phases), f"{name}: {len(done)} phases")
        for p in done:
            check(p["errors"] == 0 and p["measures"]["done"] > 0, f"{name}: {p['name']}: {p['measures']}")
        left = [n for _, _, names in os.walk(f"{folder}/data") for n in names]
        check(not left, f"{name}: leaves {left[:5]}")


def test_io():
    for name in ("io_sequential", "io_shared", "io_metadata", "io_random"):
        run_small_io(name)


def test_all():
    names = sorted(os.path.basename(p)[:-5] for p in glob.glob(f"{SOURCE}/workloads/catalog/*.json")
                   if not os.path.basename(p).startswith("io_"))
    check(len(names) >= 11, f"{names}")
    for name in names:
        train, samples, made = run_small(name)
        check(samples > 0, f"{name}: no sample")
        if name.startswith("resnet50"):
            check(made[0] % 1251 == 0 and train["bytes_read"] == samples * made[0] // 1251,
                  f"{name}: {train['bytes_read']} bytes for {samples} records, files of {made}")
        if name.startswith("retinanet"):
            check(set(made) == {20000} and train["bytes_read"] == samples * 20000,
                  f"{name}: {train['bytes_read']} bytes for {samples} pictures")


main(test_io, test_all)
