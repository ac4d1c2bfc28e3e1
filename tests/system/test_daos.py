# SPDX-License-Identifier: Apache-2.0
"""daos:// over the test library (tests/libs/dfs), which has the interface of libdfs over a directory, and behaves as a
DAOS does (test_daos_faults.py). Runs with several ranks: every operation of io, a training on each format, one connection
for all ranks; and the sentences where there is no library.

test_daos.py LIBRARY PRELOAD: the test library, and the preload that does as libpil4dfs."""
import collections
import json
import os
import re
import struct
import sys

from haultest import FULL, Folder, alone, check, formats, main, matrix, mpi, report, samples_per_file, some, write_job

LIBRARY, PRELOAD = sys.argv.pop(1), sys.argv.pop(1)
# The library completes in any order, cuts reads at its chunks, and takes 16 requests at once from each thread.
UNRULY = {"HAUL_DFS_DISORDER": 1, "HAUL_DFS_CHUNK": 300000, "HAUL_DFS_EVENTS": 16}


def store(**more):
    return {"data": {"uri": "daos://pool/cont/data", "library": LIBRARY, **more}}


def run(folder, ranks, *args, **settings):
    os.makedirs(os.path.join(folder, "pool", "cont"), exist_ok=True)
    settings = {name: str(value) for name, value in settings.items()}
    return mpi(ranks, "run", "job.json", "--force", *args, cwd=folder,
               env={"HAUL_DFS_ROOT": folder, "HAUL_DFS_LOG": os.path.join(folder, "log"), **settings})


def logged(folder):
    """How often each call was logged. Nothing may have broken the rules of the interface."""
    with open(os.path.join(folder, "log")) as f:
        lines = f.read().splitlines()
    wrong = [line for line in lines if line.startswith("wrong")]
    check(not wrong, f"{wrong[:5]}")
    return collections.Counter(line.split()[0] for line in lines)


def window(folder):
    """How many requests a queue had in flight at most."""
    with open(os.path.join(folder, "log")) as f:
        return max(int(line.split()[1]) for line in f if line.startswith("window"))


def io(operation, **more):
    return {"io": {"operation": operation, "name": more.pop("name", operation), "folder": more.pop("folder", "a"), **more}}


# One call in so many fails in passing: a server is lost, answers late, or asks to wait. Reads and writes, which are many
# more, come to a server that is lost for some time.
FAILING = {"HAUL_DFS_FAIL": "open:31:113,lookup:7:110,size:11:16,stat:13:16,mkdir:3:113,remove:17:11,move:19:113,list:5:110,"
                            "split:3:113,read:41:-1011,write:37:-1012", "HAUL_DFS_LOST": "50:8"}


@matrix
def test_operations():
    """Every operation of io, whatever the library does; nothing hangs, and nothing is lost."""
    cases = [(settings, ranks) for ranks in (8, 2) for settings in (FAILING, UNRULY)]
    for settings, ranks in cases if FULL else [(FAILING, 4)]:
        run_operations(ranks, settings)


def run_operations(ranks, settings):
    objects = {"objects": 20, "size": "1 MiB", "block": "64 KiB", "depth": 100, "verify": "full"}
    small = {"objects": 50, "size": "1 KiB", "block": "1 KiB"}
    shared = {"layout": "strided", "size": "3 MiB", "block": "64 KiB", "folder": "b", "verify": "full", "depth": 8}
    phases = [io("write", **objects), io("read", **objects, order="random"), io("mixed", **objects, name="blocks"),
              io("stat", objects=20), io("list", objects=20), io("delete", objects=20),
              io("write", name="write_shared", **shared), io("read", name="read_shared", **shared),
              io("create", folder="c", objects=50), io("rename", folder="c", objects=50),
              io("delete", name="delete_empty", folder="c", objects=50),
              io("write", name="write_small", folder="d", **small),
              io("mixed", name="mix", folder="d", **small, mix={"get": 5, "put": 3, "stat": 1, "list": 1}, count=200)]
    with Folder() as folder:
        write_job(folder, {"stores": store(retry={"first": "1 ms"}), "phases": phases})
        r = run(folder, ranks, **settings)
        check(r.rc == 0, f"{r}")
        made = report(folder + "/results.h5")
        check(len(made["phases"]) == len(phases), f"{[p['name'] for p in made['phases']]}")
        check(all(p["errors"] == 0 for p in made["phases"]), f"{made['phases']}")
        log = logged(folder)
        # Each phase opens the store: one rank connects, the others take over.
        check((log["connect"], log["global"]) == (len(phases), (ranks - 1) * len(phases)), f"{log}")
        left = os.listdir(os.path.join(folder, "pool", "cont", "data"))
        check(sorted(left) == ["b", "d"], f"{left}")


@matrix
def test_listing():
    """Many objects of one folder, in the long test 10,000: each rank's threads list their parts of it side by side, in two passes.
    Most of the parts have nothing, and leave their place to others."""
    count = 10000 if FULL else 2000
    for ranks in some((2, 8), 2):
        with Folder() as folder:
            same = {"objects": count // ranks}
            objects = dict(same, depth=16)
            write_job(folder, {"stores": store(), "phases": [
                io("create", **objects), io("list", parts=64, threads=2, depth=4, passes=2, **same), io("rename", **objects),
                io("list", name="lost", parts=3, **same)]})
            r = run(folder, ranks, "--only", "create", "--only", "list", "--only", "rename", HAUL_DFS_DISORDER=1)
            check(r.rc == 0, f"{r}")
            phases = {p["name"]: p["measures"] for p in report(folder + "/results.h5")["phases"]}
            check(phases["list"]["entries"] == 2 * count and phases["list"]["done"] == 8, f"{phases['list']}")
            logged(folder)
            # An object that the store does not list is missed.
            objects = os.path.join(folder, "pool", "cont", "data", "a")
            os.unlink(os.path.join(objects, sorted(n for n in os.listdir(objects) if n[0] != ".")[77]))
            r = run(folder, ranks, "--only", "lost")
            check(r.rc != 0 and f"the parts of the listing together have {count - 1} objects, not {count}" in r.err, f"{r}")


@matrix
def test_formats():
    """A training reads each sample once and finds its bytes, whatever the library does, with more than 64 requests in
    flight per thread; and with fewer, where the library takes no more."""
    for (fmt, ranks) in some([(fmt, ranks) for ranks in (2, 8) for fmt in formats()], 16):
        for settings, most in ((dict(UNRULY, HAUL_DFS_EVENTS=4096), 96), (UNRULY, 16)):
            with Folder() as folder:
                write_job(folder, {"stores": store(transfer="256 B"), "dataset": {
                    "format": fmt, "files": 16, "samples_per_file": samples_per_file(fmt, 4, 30000),
                    "sample_bytes": 30000},
                    "phases": [{"generate": {}}, {"train": {"batch": 2, "verify": "full", "null_steps": 0,
                                                            "loader": {"depth": 96}}}]})
                r = run(folder, ranks, **settings)
                check(r.rc == 0 and "each exactly once" in r.out, f"{fmt}, {ranks} ranks: {r}")
                logged(folder)
                check(64 < window(folder) <= 96 if most > 64 else window(folder) == most,
                      f"{fmt}, {ranks} ranks: {window(folder)} in flight")


def test_ranks_and_window():
    """8 ranks, each with more than 64 requests in flight, and servers that are lost for some requests."""
    with Folder() as folder:
        write_job(folder, {"stores": store(transfer="4 KiB", retry={"first": "1 ms"}), "dataset": {
            "format": "raw", "files": 32, "sample_bytes": "1 MiB"},
            "phases": [{"generate": {}}, {"train": {"batch": 1, "verify": "full", "null_steps": 0,
                                                    "loader": {"workers": 1, "depth": 96}}}]})
        r = run(folder, 8, HAUL_DFS_DISORDER=1, HAUL_DFS_LOST="100:8")
        check(r.rc == 0 and "each exactly once" in r.out, f"{r}")
        log = logged(folder)
        check(log["connect"] == 2 and log["global"] == 14, f"{log}")


@matrix
def test_first_job():
    """The training job of the quick start, with all bytes compared."""
    for ranks in some((2, 8), 2):
        with Folder() as folder:
            os.makedirs(os.path.join(folder, "pool", "cont"))
            r = mpi(ranks, "run", "unet3d_demo", *[a for s in (
                "stores.data.uri=daos://pool/cont/demo", f"stores.data.library={LIBRARY}", "dataset.sample_bytes=1 MiB",
                "train.compute=0", "train.verify=full") for a in ("--set", s)], cwd=folder, env={"HAUL_DFS_ROOT": folder})
            check(r.rc == 0 and "each exactly once" in r.out, f"{r}")


def test_clients():
    """PyDAOS opens each sample each time; haul keeps files open that nobody changes."""
    opened = {}
    for client in ("dfs", "pydaos"):
        with Folder() as folder:
            write_job(folder, {"stores": store(client=client), "dataset": {"format": "raw", "files": 10, "sample_bytes": 30000},
                               "phases": [{"generate": {}}, {"train": {
                                   "batch": 5, "epochs": 3, "verify": "full", "null_steps": 0,
                                   "loader": {"kind": "batch", "workers": 1, "depth": 5}}}]})
            r = run(folder, 1)
            check(r.rc == 0 and "each exactly once" in r.out, f"{r}")
            check(report(folder + "/results.h5")["stores"][0]["client"] == client, f"{r}")
            opened[client] = logged(folder)["open"]
    # The other files that are opened, such as the manifest, are the same.
    check(opened["pydaos"] - opened["dfs"] == 20, f"{opened}")


def test_interception():
    """Under libpil4dfs, what goes around it is replaced, and the results say so."""
    for engine in ("psync", "uring"):
        with Folder() as folder:
            write_job(folder, {"stores": {"data": {"uri": f"file://{folder}/data", "engine": engine, "preallocate": True}},
                               "dataset": {"format": "npz", "files": 16, "sample_bytes": 200000}, "phases": [
                {"generate": {}}, {"train": {"batch": 2, "verify": "full", "null_steps": 0, "cold": "fadvise"}},
                io("write", objects=3, size="1 MiB", block="64 KiB"),
                io("read", objects=3, size="1 MiB", block="64 KiB", verify="full", cold="fadvise"),
                io("list", objects=3), io("delete", objects=3)]})
            r = mpi(2, "run", "job.json", cwd=folder, env={"LD_PRELOAD": PRELOAD, "HAUL_PIL4DFS_ROOT": folder})
            check(r.rc == 0 and "each exactly once" in r.out, f"{r}")
            results = report(folder + "/results.h5")
            facts = results["stores"][0]
            check(facts["engine"] == "psync by libpil4dfs", f"{facts}")
            check("each process has its own connection to the pool" in facts["note"], f"{facts}")
            check("reserves no room" in facts["note"], f"{facts}")
            check(("engine uring does not work here (it goes around libpil4dfs)" in facts["note"]) == (engine == "uring"),
                  f"{facts}")
            # What the page cache holds is not asked, because the reads go around it.
            train = next(p for p in results["phases"] if p["kind"] == "train")
            check("page cache" not in train["said"], f"{train['said']}")


def model_file(path):
    """A file of safetensors with one matrix."""
    header = json.dumps({"model.layers.0.mlp.up_proj.weight": {
        "dtype": "BF16", "shape": [512, 128], "data_offsets": [0, 131072]}}).encode()
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + os.urandom(131072))


def test_head_to_head():
    """The ready job: data are made once, and read in all ways; the second run is the one under interception."""
    small = '{"vocabulary": 64, "hidden": 32, "feed_forward": 96, "layers": 128, "heads": 4, "kv_heads": 2}'
    ways = ("dfs", "pydaos", "dfuse")
    sets = [f"stores.{way}.library={LIBRARY}" for way in ways[:2]]
    for i, way in enumerate(ways):
        sets += [f"datasets.{way}.files=40", f"datasets.{way}.sample_bytes=100000",
                 f"phases.{1 + i}.train.compute=0", f"phases.{1 + i}.train.verify=full", f"phases.{1 + i}.train.null_steps=0",
                 f"phases.{4 + i}.checkpoint.model={small}", f"phases.{4 + i}.checkpoint.pause=0",
                 f"phases.{4 + i}.checkpoint.verify=full", f"phases.{7 + i}.load.pause=0"]
    with Folder() as folder:
        container = os.path.join(folder, "pool", "cont")
        model_file(os.path.join(container, "head_to_head", "model", "model.safetensors"))
        env = {"HAUL_DFS_ROOT": folder, "DAOS_POOL": "pool", "DAOS_CONT": "cont", "HAUL_DATA": container}
        arguments = [a for s in sets for a in ("--set", s)]
        r = mpi(2, "run", "daos_head_to_head", *arguments, cwd=folder, env=env)
        check(r.rc == 0, f"{r}")
        results = report(folder + "/results.h5")
        names = [f"{kind}_{way}" for kind in ("train", "checkpoint", "load") for way in ways]
        check([p["name"] for p in results["phases"]][1:] == names, f"{[p['name'] for p in results['phases']]}")
        check(all(p["errors"] == 0 for p in results["phases"]), f"{results['phases']}")
        facts = {s["name"]: s for s in results["stores"]}
        check([facts[way]["client"] for way in ways] == ["dfs", "pydaos", ""], f"{facts}")
        check("4 engines with 64 targets" in facts["dfs"]["layout"], f"{facts}")
        only = [a for name in names if name.endswith("dfuse") for a in ("--only", name)]
        r = mpi(2, "run", "daos_head_to_head", "--results", "intercepted.h5", *only, *arguments, cwd=folder,
                env={**env, "LD_PRELOAD": PRELOAD, "HAUL_PIL4DFS_ROOT": container})
        check(r.rc == 0, f"{r}")
        results = report(folder + "/intercepted.h5")
        check([p["name"] for p in results["phases"]] == [n for n in names if n.endswith("dfuse")], f"{results['phases']}")
        check([s["engine"] for s in results["stores"] if s["name"] == "dfuse"] == ["psync by libpil4dfs"], f"{results['stores']}")


def test_sentences():
    with Folder() as folder:
        for library, version, sentence in (("/nowhere/libdfs.so", "2.8.0", "module load daos"),
                                           (LIBRARY, "3.0.0", "has version 3.0.0")):
            r = alone("ls", "daos://pool/cont/data", "--set", f"library={library}", cwd=folder,
                      env={"HAUL_DFS_VERSION": version})
            check(r.rc != 0 and sentence in r.err, f"{r}")
        write_job(folder, {"stores": store(), "phases": [io("write", objects=2, size="64 KiB", block="64 KiB")]})
        # A server that does not come back ends the run.
        r = run(folder, 2, "--set", "stores.data.retry.attempts=2", "--set", "stores.data.retry.first=1ms",
                HAUL_DFS_LOST="1:1000000")
        check(r.rc != 0 and "a server of DAOS cannot be reached" in r.err, f"{r}")
        r = run(folder, 2, "--set", "stores.data.uri=daos://pool/other/data")
        check(r.rc != 0 and 'the pool "pool" has no container "other"' in r.err, f"{r}")


def test_doctor():
    """Without the option `library`, libdfs is where the dynamic linker finds it."""
    with Folder() as folder:
        # A file that is no library hides that of a machine with DAOS.
        with open(os.path.join(folder, "libdfs.so"), "w") as f:
            f.write("none")
        r = alone("doctor", cwd=folder, env={"LD_LIBRARY_PATH": folder})
        check(r.rc == 0 and re.search(r"daos:// +no library +only daos:// needs it", r.out), f"{r}")
        os.unlink(os.path.join(folder, "libdfs.so"))
        os.symlink(LIBRARY, os.path.join(folder, "libdfs.so"))
        for version, found in (("2.7.3", "libdfs, client interface 2.7.3 of DAOS +ok"), ("3.0.0", "another library")):
            r = alone("doctor", cwd=folder, env={"LD_LIBRARY_PATH": folder, "HAUL_DFS_VERSION": version})
            check(r.rc == 0 and re.search(f"daos:// +{found}", r.out), f"{r}")
        # The client starts only where the node's agent answers.
        for fails, sentence in (("init:1:5", "is daos_agent running"), ("init:1:22", "compare the name in daos_agent.yml"),
                                ("init:1:113", "access points in daos_agent.yml")):
            r = alone("doctor", cwd=folder, env={"LD_LIBRARY_PATH": folder, "HAUL_DFS_FAIL": fails})
            check(r.rc == 0 and re.search("daos:// +libdfs.* cannot be used:\n.*" + sentence, r.out), f"{r}")
        r = alone("doctor", cwd=folder, env={"LD_LIBRARY_PATH": folder, "HAUL_DFS_HANG": folder})
        check(r.rc == 0 and "does not answer within 5 s" in r.out, f"{r}")
        os.makedirs(os.path.join(folder, "pool", "cont", "a"))
        r = alone("ls", "daos://pool/cont/", cwd=folder, env={"LD_LIBRARY_PATH": folder, "HAUL_DFS_ROOT": folder})
        check(r.rc == 0 and "a/" in r.out, f"{r}")


main()
