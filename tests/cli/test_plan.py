# SPDX-License-Identifier: Apache-2.0
"""haul plan: the published figures for Aurora, MLPerf's sizes of data sets, the expected AU on sim://, tables over numbers
of nodes, and the time and memory that the plan of very many files takes."""
import json
import os
import re
import resource
import tempfile

from clitest import check, haul, main, refused

AURORA = {  # nodes: ranks, global batch, files, GB/s at AU 100 %, at 90 %, opens/s
    1: (12, 84, 8400, 132.1, 118.8, 901),
    8: (96, 672, 67200, 1056, 951, 7200),
    64: (768, 5376, 537600, 8451, 7606, 57600),
    512: (6144, 43008, 4300800, 67611, 60850, 461000),
}
SANITIZED = os.environ.get("HAUL_SANITIZED") == "1"


def plan(*args):
    r = haul("plan", *args, "--json")
    check(r.returncode == 0 and r.stderr == "", r)
    return json.loads(r.stdout)


def phase(p, kind):
    return next(phase for phase in p["phases"] if phase["kind"] == kind)


def near(value, wanted, relative):
    check(abs(value - wanted) <= relative * wanted, f"{value}, wanted {wanted}")


def test_aurora():
    for nodes, (ranks, batch, files, full, target, opens) in AURORA.items():
        p = plan("unet3d_aurora", "--nodes", nodes, "--set", f"dataset.files={files}")
        t = phase(p, "train")
        check((p["nodes"], p["ranks"], p["dataset"]["files"]) == (nodes, ranks, files), p)
        check((t["global_batch"], t["steps_per_epoch"], t["samples_dropped"]) == (batch, 100, 0), t)
        near(t["demand"]["bytes_per_second"] / 1e9, full, 0.001)
        near(t["demand"]["at_target_bytes_per_second"] / 1e9, target, 0.001)
        near(t["demand"]["opens_per_second"], opens, 0.005)
        near(p["dataset"]["bytes"], files * 146600628, 0.0001)
        near(t["bytes"], t["epochs"] * files * 146600628, 0.0001)
        near(t["bytes_per_rank"] * ranks, t["bytes"], 1e-9)


def test_text():
    r = haul("plan", "unet3d_aurora", "--nodes", 512)
    check(r.returncode == 0 and r.stderr == "", r)
    for words in ("4,300,800 files", "630.5 TB (573.4 TiB)", "6,144 on 512 nodes", "global batch 43,008",
                  "100 steps per epoch", "0 samples dropped", "AU 100 %   67.6 TB/s", "AU  90 %   60.9 TB/s",
                  "132.1 GB/s per node", "461 k opens/s", "MLPerf wants 500"):
        check(words in r.stdout, f"{words!r} is not in\n{r.stdout}")
    check(all(len(line) <= 100 for line in r.stdout.splitlines()), r.stdout)


def test_two_numbers_of_files():
    """A number of files beside the option that wins over it is told by plan and check, unless both are the same. A ready job has one."""
    job = {"stores": {"d": {"uri": "null://"}}, "phases": [{"train": {"batch": 2, "compute": "1 s"}}],
           "dataset": {"store": "d", "format": "raw", "sample_bytes": 1000}}
    cases = (({"files": 60, "steps_per_epoch": 10}, "steps_per_epoch", 20), ({"files": 60, "files_per_rank": 7}, "files_per_rank", 7),
             ({"files": 20, "steps_per_epoch": 10}, None, 20), ({"steps_per_epoch": 10}, None, 20), ({"files": 60}, None, 60),
             ({"files": 0, "files_per_rank": 7}, None, 7))
    with tempfile.TemporaryDirectory() as folder:
        for keys, wins, files in cases:
            with open(f"{folder}/job.json", "w") as f:
                json.dump({**job, "dataset": {**job["dataset"], **keys}}, f)
            p = plan(f"{folder}/job.json")
            wanted = [f"/dataset/files: says {keys.get('files')} files, and {wins} makes it {files}, which wins"] if wins else []
            check(p["dataset"]["files"] == files and [n for n in p["notes"] if "which wins" in n] == wanted, (keys, p))
            r = haul("check", "--json", f"{folder}/job.json")
            check([json.loads(r.stdout)["note"]] == (wanted or [None]), (keys, r))
    for more, said in (((), False), (("--set", "dataset.files=60000"), True)):
        check(any("says 60,000 files" in n for n in plan("mlperf_unet3d_b200", *more)["notes"]) == said, more)
        check(any("which wins" in n for n in plan("mlperf_unet3d_b200", *more)["notes"]) == said, more)


def test_one_of_a_thing():
    """What there is one of is said so, and columns are set off by blanks that mean something."""
    one = ("--set", "dataset.files=1", "--set", "dataset.samples_per_file=1", "--set", "train.batch=1")
    r = haul("plan", "unet3d_demo", *one, "--set", "train.epochs=1")
    check(r.returncode == 0 and "1 file · npz" in r.stdout and "1 step per epoch" in r.stdout, r)
    r = haul("plan", "unet3d_h100", "--set", "train.steps=1", "--set", "train.epochs=1")
    check(r.returncode == 0 and " for 1 step\n" in r.stdout, r)
    for args in (("unet3d_demo", *one), ("unet3d_h100", "--nodes", 3), ("unet3d_h100", "--ranks-per-node", 2)):
        r = haul("plan", *args)
        check(r.returncode == 0 and not re.search(r"\b1 (files|ranks|steps|samples|nodes|folders|others)\b", r.stdout), r)
        check("/s  per node" not in r.stdout, r)
    r = haul("plan", "unet3d_demo", "--ranks-per-node", 2, "--set", "cluster.ranks_per_node=1")
    check("the job asks for 1 rank per node: run it" in r.stdout, r)
    r = haul("plan", "unet3d_demo", "--ranks-per-node", 2, "--set", "cluster.tensor=2", "--set", "train.readers=replica")
    check("1 of 2 ranks read, and each hands its batches to 1 other" in r.stdout, r)
    for power in range(1, 5):  # rates of any length
        r = haul("plan", "unet3d_h100", "--set", f"train.compute={10 ** power} ms")
        needs = [line for line in r.stdout.splitlines() if " per node " in line]
        check(needs and all(re.search(r"\S \S+ per node  ", line) for line in needs), r)


def test_spellings():
    """Other spellings of a ready job and of a model are taken; a name that could be several is refused."""
    for name in ("llama3-8b", "llama3.1-8b", "LLaMA3_8B", "llama3.1_8b"):
        check(haul("plan", name).stdout.startswith("job        llama3_8b "), name)
    for name in ("llama3-8b", "Llama3_8B", "llama3.1_8b", "meta-llama/Llama-3.1-8B"):
        check(plan("llama3_8b", "--set", f"checkpoint.model.name={name}")["phases"], name)
    refused(haul("plan", "llama3"), "llama3_8b")


def test_set_by_kind():
    """--set names phases by their names, or all phases of a kind, as --only does."""
    p = plan("io_sequential", "--set", "io.size=1 GiB")
    check([round(phase["bytes"] / 2 ** 30, 6) for phase in p["phases"][:2]] == [1, 1], p)
    p = plan("io_sequential", "--set", "io.size=1 GiB", "--set", "read.size=512 MiB", "--only", "read")
    check(p["phases"][0]["bytes"] == 2 ** 29, p)
    refused(haul("plan", "io_sequential", "--set", "train.batch=4"), "name or kind of a phase")


def test_remedies():
    refused(haul("plan", "unet3d_h100", "--set", "cluster.tensor=8"), "a node has 1 accelerator", "--ranks-per-node 8")


def test_units_that_are_suspicious():
    """A bare number is seconds or bytes. Where that is unlikely, the plan says so."""
    for path, said in (("train.compute=323", "is 5.38 min"), ("train.preprocess=150", "is 2.5 min"), ("train.evaluation.compute=200", "is 3.33 min")):
        text = haul("plan", "unet3d_h100", "--set", path).stdout
        check(said in text and "a bare number is seconds" in text and f'"{path.split("=")[1]} ms"' in text, text)
    text = haul("plan", "io_sequential", "--set", "io.block=4").stdout
    check("is 4 B; a bare number is bytes" in text, text)
    for verb in ("plan", "check"):
        refused(haul(verb, "unet3d_h100", "--memory", 198490886144), '"198490886144" needs a unit', '"198490886144 B"')
    for job in ("unet3d_h100", "llama3_8b", "io_sequential", "io_random", "kvcache_mlperf"):
        check("a bare number" not in haul("plan", job).stdout, job)


def test_phases_of_one_folder():
    """What one phase makes and another reads must be described alike: the plan finds that they are not."""
    refused(haul("plan", "io_sequential", "--set", "write.size=1GiB"), "/phases/1/io", "its objects were made with size 1073741824", "phase write")
    refused(haul("plan", "io_sequential", "--set", "delete.objects=2"), "/phases/2/io", "objects 1, this phase says 2")
    plan("io_sequential", "--set", "write.size=1GiB", "--set", "read.size=1GiB")
    plan("io_sequential", "--set", "write.size=1GiB", "--only", "write")
    plan("io_sequential", "--set", "write.size=1GiB", "--set", "read.folder=other")


def test_smallest_io_job_on_every_store():
    """What a job does not say fits its store: the default block makes parts that the store takes."""
    with tempfile.TemporaryDirectory() as folder:
        for operation in ("write", "mixed"):
            with open(folder + "/job.json", "w", encoding="utf-8") as f:
                json.dump({"stores": {"data": {"uri": "file:///x"}}, "phases": [{"io": {"operation": operation}}]}, f)
            for uri in ("s3://bucket/x", "gs://bucket/x", "az://account/container/x", "mem://x", "file:///x", "null://x", "sim://x"):
                plan(folder + "/job.json", "--set", f"stores.data.uri={uri}")


def test_ready_jobs_on_an_object_store():
    """Plain I/O of the catalogue takes blocks that fit the store; objects are not called inodes, and one thing is no "1 inodes"."""
    for uri, what in (("s3://bucket/x", "objects"), ("az://account/container/x", "objects"), ("file:///", "inodes")):
        r = haul("plan", "io_sequential", "--set", f"stores.data.uri={uri}")
        space = next((line for line in r.stdout.splitlines() if line.startswith("space ")), "")
        check(r.returncode == 0 and f" and 3 {what}: " in space, r)
    space = haul("plan", "s3_demo").stdout
    check("268.5 MB and 65 objects: not checked (s3)" in space and "this data set has 64; what MLPerf wants takes\n" in space, space)
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/job.json", "w", encoding="utf-8") as f:
            json.dump({"stores": {"data": {"uri": "file:///"}}, "phases": [{"load": {"folder": "x"}}, {"vector": {"operation": "build"}}]}, f)
        check(not re.search(r"\b1 (inodes|objects)\b", haul("plan", folder + "/job.json").stdout), "1 inodes")


def processors_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_time_and_memory():
    for files in (4300800, 160000000):
        before = processors_s()
        r = haul("plan", "unet3d_aurora", "--nodes", 512, "--set", f"dataset.files={files}")
        took = processors_s() - before
        check(r.returncode == 0, r)
        memory = int(re.search(r"planned in .*, (\d+) MiB", r.stdout).group(1))
        print(f"      {files} files: {took:.3f} s of a processor, {memory} MiB")
        if not SANITIZED:
            check(took < 1 and memory < 64, f"{took} s, {memory} MiB")


def datasize(job, *args):
    p = plan(job, *args)
    return phase(p, "train")["datasize"]


def test_datasize():
    """MLPerf's rules, computed by hand: 500 steps of all accelerators, 5 times the memory of all nodes, in whole files,
    rounded down as mlpstorage does."""
    tib = 1 << 40
    for job, nodes, ranks, memory, steps, by_memory in (
            ("unet3d_h100", 1, 1, "16 GiB", 3500, 585),           # 500 * 7; 85899345920 / 146600628 = 585.9
            ("unet3d_h100", 4, 2, "512 GiB", 28000, 75000),       # 10995116277760 / 146600628 = 75000.5
            ("resnet50_h100", 1, 8, "1 GiB", 1278, 37),           # 1600000 / 1251 = 1278.98; 143441 bytes per sample
            ("retinanet_b200", 1, 8, "1 TiB", 96000, 17022569)):
        s = datasize(job, "--nodes", nodes, "--ranks-per-node", ranks, "--memory", memory)
        check((s["files_for_steps"], s["files_for_memory"]) == (steps, by_memory), f"{job}: {s}")
        check(s["files"] == max(steps, by_memory), f"{job}: {s}")
    check((s["folders"], s["files_per_folder"], s["folders_advised"]) == (117, 10003, 1702), s)
    check(s["files_missing"] == 17022569 - 1170301 and s["node_memory_bytes"] == tib, s)
    near(s["bytes"], 17022569 * 322957, 0.001)
    check(s["inodes"] == 17022569 + 1702 + 1, s)
    with tempfile.TemporaryDirectory() as folder:
        s = datasize("unet3d_h100", "--set", f"stores.data.uri=file://{folder}/not/yet")
        fs = os.statvfs(folder)
        check(s["space"]["path"] == os.path.realpath(folder), s)
        near(s["space"]["free_bytes"], fs.f_bavail * fs.f_frsize, 0.05)
        near(s["space"]["free_inodes"], fs.f_favail, 0.05)
    check(s["node_memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE"), s)
    check("datasize" not in phase(plan("unet3d_h100", "--set", "stores.data.uri=sim://x"), "train"), "sim://")
    # Rows of MLPerf v1.0 that it accepted have as many files as it wants, though not 500 whole steps: no note.
    for files, noted in ((1278, False), (1277, True)):
        p = plan("resnet50_h100", "--ranks-per-node", 8, "--memory", "1 GiB", "--set", f"dataset.files={files}")
        notes = " ".join(p["notes"])
        check(("MLPerf wants 500" in notes) == noted, f"{files}: {notes}")
        check(phase(p, "train")["datasize"]["files_missing"] == int(noted), f"{files}: {p}")
    r = haul("plan", "unet3d_h100", "--memory", "2 TiB", "--nodes", 2)
    check("MLPerf     wants 150,000 files" in r.stdout and
          "5 × 2 TiB of memory × 2 nodes" in r.stdout and "this data set has 28,000" in r.stdout, r.stdout)
    check(all(len(line) <= 100 for line in r.stdout.splitlines()), r.stdout)
    r = haul("plan", "unet3d_h100", "--set", "dataset.sample_bytes=1 MiB", "--set", "dataset.sample_bytes_stdev=0")
    check("of this node's memory × 1 node" in r.stdout, r.stdout)
    refused(haul("plan", "unet3d_h100", "--memory", "much"), "--memory", "much")


def test_sweep():
    r = haul("plan", "unet3d_h100", "--sweep", "train.batch=7,14", "--only", "train")
    check(r.returncode == 0 and r.stdout.count("\njob ") == 2 and "train.batch=14\n" in r.stdout, r)
    r = haul("plan", "unet3d_h100", "--sweep", "train.batch=7,14", "--sweep", "train.epochs=1,2,3", "--json")
    found = [(phase(p, "train")["batch"], phase(p, "train")["epochs"]) for p in json.loads(r.stdout)]
    check(found == [(b, e) for b in (7, 14) for e in (1, 2, 3)], f"{found}")
    refused(haul("plan", "unet3d_h100", "--sweep", "train.bach=7,14"), "--sweep train.bach=7", "batch")


def test_whole_phases():
    # A limit of steps or of seconds ends a training, whatever the number of epochs.
    p = phase(plan("bert_v100", "--set", "train.steps=1000"), "train")
    check(abs(p["total_seconds"] - 1000 * p["seconds_per_epoch"] / p["steps_per_epoch"]) < 1e-6 * p["total_seconds"], p)
    p = phase(plan("unet3d_h100", "--set", "train.seconds=30"), "train")
    check(abs(p["total_seconds"] - 30) < 1e-9 and p["bytes"] < 30.5 * p["demand"]["bytes_per_second"], p)
    r = haul("plan", "unet3d_h100", "--set", "train.seconds=30")
    check("ends after 30 s" in r.stdout, r)


def test_expected():
    """On sim:// the answers are known beforehand: a step takes as long as the slowest of compute, the store's bytes, the
    bytes of a rank, and the waits of a worker. They are computed by hand, as in test_sim.py."""
    size = 4 << 20
    for ranks, store, train, step in (
            (1, {"bandwidth": "2 GB/s"}, {"compute": "60 ms"}, 0.060),
            (2, {"bandwidth": "100 MB/s"}, {"compute": "40 ms"}, 2 * size / 100e6),
            (2, {"rank_bandwidth": "50 MB/s"}, {"compute": "50 ms"}, size / 50e6),
            (2, {"rank_bandwidth": "200 MB/s", "slow_ranks": {"1": 0.25}}, {"compute": "40 ms"}, size / 50e6),
            (2, {"bandwidth": "200 MB/s", "slow_ranks": {"1": 0.25}}, {"compute": "40 ms"}, size / 50e6),
            (1, {"bandwidth": "1 GB/s", "latency": "30 ms"}, {"compute": "20 ms", "workers": 1}, 0.030 + size / 1e9),
            (1, {"bandwidth": "1 GB/s", "first_byte": "60 ms"}, {"compute": "20 ms"}, (0.060 + size / 1e9) / 2),
            (1, {"open_latency": "10 ms", "latency": "50 ms"}, {"compute": "20 ms", "workers": 0}, 0.020 + 0.060),
            (1, {"latency": "50 ms"}, {"compute": "20 ms", "kind": "batch"}, None),
            (1, {"latency": "50 ms"}, {"compute": "20 ms", "h2d": "1 GB/s"}, None)):
        loader = {"kind": train.pop("kind", "pytorch"), "workers": train.pop("workers", 2), "h2d": train.pop("h2d", 0)}
        job = {"stores": {"data": {"uri": "sim://known", **store}},
               "dataset": {"format": "raw", "files": 40 * ranks, "sample_bytes": size},
               "phases": [{"train": {"batch": 1, "loader": loader, **train}}]}
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/job.json", "w") as f:
                json.dump(job, f)
            p = phase(plan(f"{folder}/job.json", "--ranks-per-node", ranks), "train")
            text = haul("plan", f"{folder}/job.json", "--ranks-per-node", ranks).stdout
        if step is None:
            check("expected" not in p and "expected" not in text, p)
            continue
        compute = float(train["compute"].split()[0]) / 1e3
        near(p["expected"]["seconds_per_epoch"], 40 * step, 1e-9)
        near(p["expected"]["au"], compute / step, 1e-9)
        check("at best    " in text and f"· AU {100 * compute / step:.1f} %, as sim:// is set up" in text, text)
    # Where latencies vary and ranks wait for each other, it is a bound, and of one number of nodes or several the same.
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/job.json", "w") as f:
            json.dump({"stores": {"data": {"uri": "sim://known", "latency": "400 ms", "latency_stdev": "200 ms"}},
                       "dataset": {"format": "raw", "files": 640, "sample_bytes": 1000},
                       "phases": [{"train": {"batch": 1, "compute": "500 ms", "loader": {"workers": 1}}}]}, f)
        words = ("plan", f"{folder}/job.json", "--ranks-per-node", 16)
        text = " ".join(haul(*words).stdout.split())
        check("at best 20 s per epoch" in text and "if each request takes the average; haul simulate knows" in text, text)
        rows = json.loads(haul(*words, "--nodes", "1,2", "--json").stdout)["scaling"]
        for row in rows:
            one = json.loads(haul(*words, "--nodes", row["nodes"], "--json").stdout)
            check(phase(one, "train")["seconds_per_epoch"] == row["seconds_per_epoch"], (row, one))
    p = phase(plan("unet3d_h100"), "train")
    check("expected" not in p, p)


def test_what_is_read_again():
    """haul plan names the right reason for bytes that are read again: fewer files than ranks that read whole files, or
    bytes that are not part of samples."""
    for fmt, loader, files, says in (
            ("tfrecord", "stream", 4, "on average: there are fewer files than ranks, and each reads whole files"),
            ("tfrecord", "stream", 64, None),
            ("parquet", "pytorch", 4, "on average: headers, groups and files are read again")):
        r = haul("plan", "unet3d_demo", "--ranks-per-node", 16, "--set", f"dataset.format={fmt}", "--set",
                 f"dataset.files={files}", "--set", "dataset.samples_per_file=100", "--set",
                 f"train.loader.kind={loader}")
        check(r.returncode == 0 and (says in r.stdout if says else "on average:" not in r.stdout), r)


def test_columns():
    """A plan says which part of a sample is read, where its columns are not all: 40 float32 of 761 bytes; nothing of flux, which reads all."""
    r = haul("plan", "dlrm_b200")
    check("of 761 B of a sample, 160 B are in the columns that are read: it moves 170 B on average" in r.stdout, r)
    r = haul("plan", "flux_b200")
    check("columns that are read" not in r.stdout and "headers, groups and files are read again" in r.stdout, r)


def test_told_ranks_per_node():
    """A plan for another number of ranks per node than the job's says how to run the job with that number."""
    r = haul("plan", "unet3d_aurora", "--ranks-per-node", 6)
    check("run it with --set cluster.ranks_per_node=6" in r.stdout, r)


def test_refusals():
    refused(haul("plan", "unet3d_aurra"), "unet3d_aurra", 'did you mean "unet3d_aurora"?')
    refused(haul("plan", "/nonexistent/job.json"), "/nonexistent/job.json", "No such file")
    refused(haul("plan", "unet3d_demo", "--set", "train.bach=4"), "bach")
    refused(haul("plan", "unet3d_demo", "--set", "cluster.tensor=64"), "/cluster/tensor")
    refused(haul("plan", "unet3d_demo", "--skip", "trian"), "--skip trian: no phase is called trian; there are generate, train")
    refused(haul("plan", "unet3d_demo", "--only", "train", "--skip", "train"), "--only and --skip leave no phase to run")


def test_table_of_nodes():
    """The training of the scaling scripts needs 132 GB/s per node. The AU is the share of that which 650 GB/s give."""
    words = ("plan", "unet3d_aurora", "--nodes", "1,2,4,...,512", "--set", "dataset.steps_per_epoch=100",
             "--nic", "8x25 GB/s", "--storage", "650 GB/s")
    r = haul(*words, "--json")
    check(r.returncode == 0, r)
    p = json.loads(r.stdout)
    check([row["nodes"] for row in p["scaling"]] == [2 ** i for i in range(10)], p)
    for row in p["scaling"]:
        nodes, needs = row["nodes"], row["nodes"] * 84 * 146600628 / 0.093254
        capacity = min(650e9, nodes * 200e9)
        check((row["ranks"], row["files"]) == (12 * nodes, 8400 * nodes), row)
        check(abs(row["bytes_per_second"] / needs - 1) < 1e-3, row)
        check(abs(row["au"] - min(1, capacity / needs)) < 1e-3, row)
    check((p["target_au"], p["nodes_max"]) == (0.9, 5), p)
    r = haul(*words)
    lines = r.stdout.splitlines()
    check(r.returncode == 0 and len(lines) == 14 and all(len(line) <= 110 for line in lines), r)
    check(lines[0].split()[:3] == ["nodes", "ranks", "files"] and lines[10].split()[:3] == ["512", "6,144", "4,300,800"], r)
    check("an AU of 90 % is kept on up to 5 nodes" in r.stdout, r)
    refused(haul("plan", "unet3d_aurora", "--nodes", "4,2"), "--nodes: must be a number of nodes")
    refused(haul("plan", "unet3d_aurora", "--nodes", "4", "--nic", "25 GB/s"), "--nic: is for a table")
    refused(haul("plan", "unet3d_aurora", "--nodes", "4,8", "--storage", "fast"), "--storage: ")


def without_space(value):
    """Without what is free on file systems, which changes at any time."""
    if isinstance(value, list):
        return [without_space(one) for one in value]
    if isinstance(value, dict):
        return {key: without_space(one) for key, one in value.items() if key != "space"}
    return value


def page_data(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    check(text.startswith("<!doctype html>") and text.rstrip().endswith("</html>"), text[:300])
    return json.loads(re.search(r'type="application/json">([^<]*)</script>', text).group(1))["plan"]


def test_page():
    """The page has what --json prints, for each number of nodes and for all of them."""
    job = ("unet3d_aurora", "--set", "dataset.steps_per_epoch=100", "--storage", "650 GB/s", "--memory", "1 TiB")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        r = haul("plan", *job, "--html", path)
        check(r.returncode == 0 and r.stdout == "" and r.stderr == "", r)
        data = page_data(path)
        part = data["combinations"][0]
        check(len(data["combinations"]) == 1 and data["combinations_left_out"] == 0, data)
        check((part["sweep"], part["refused"], part["brief"]) == ("", [], False), part)
        check([one["nodes"] for one in part["plans"]] == [2 ** i for i in range(10)], part["plans"])
        for one in part["plans"][0], part["plans"][9]:
            wanted = plan("unet3d_aurora", "--set", "dataset.steps_per_epoch=100", "--memory", "1 TiB", "--nodes", one["nodes"])
            check(without_space(one) == without_space(wanted), f"{one}, wanted {wanted}")
        check(part["table"] == plan(*job, "--nodes", "1,2,4,...,512"), part["table"])
        check(data["limits"] == {"nic_bytes_per_second_per_node": None, "storage_bytes_per_second": 650e9}, data["limits"])


def test_page_of_other_numbers():
    """A page of given numbers of nodes, of sweeps, and of a job that does not run on few nodes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        r = haul("plan", "unet3d_demo", "--nodes", "3", "--nic", "25 GB/s", "--sweep", "train.batch=1,2", "--html", path)
        check(r.returncode == 0 and r.stdout == "", r)
        parts = page_data(path)["combinations"]
        check([part["sweep"] for part in parts] == ["train.batch=1", "train.batch=2"], parts)
        check([[one["nodes"] for one in part["plans"]] for part in parts] == [[3], [3]], parts)
        r = haul("plan", "unet3d_demo", "--set", "cluster.pipeline=8", "--ranks-per-node", 4, "--html", path)
        check(r.returncode == 0, r)
        part = page_data(path)["combinations"][0]
        check([row["nodes"] for row in part["refused"]] == [1] and "need at least 8 ranks" in part["refused"][0]["why"], part["refused"])
        check([one["nodes"] for one in part["plans"]] == [2 ** i for i in range(1, 10)], part["plans"])
        with open(path, "rb") as f:
            before = f.read()
        refused(haul("plan", "unet3d_demo", "--html", path, "--set", "train.bach=4"), "bach")
        refused(haul("plan", "unet3d_demo", "--html", path, "--json"), "--html and --json exclude each other")
        refused(haul("plan", "unet3d_demo", "--html", path, "--sweep", "train.batch=" + ",".join(map(str, range(1, 66)))), "65 combinations")
        with open(path, "rb") as f:
            check(f.read() == before, "the page of another plan is gone")
        results = os.path.join(os.environ["HAUL_SOURCE"], "tests", "fixtures", "results", "version_2.h5")
        refused(haul("plan", "unet3d_demo", "--html", results), "is no page of haul")
        r = haul("plan", "unet3d_demo", "--html", "/dev/full")
        check(r.returncode == 2 and "/dev/full is a device" in r.stderr, f"{r}")


def test_too_few_samples_is_a_note():
    r = haul("plan", "unet3d_demo", "--nodes", 4096)
    check(r.returncode == 0 and "will be refused" in r.stdout, r)


def test_no_phases_is_a_note():
    r = haul("plan", "unet3d_demo", "--set", "phases=[]")
    check(r.returncode == 0 and "· no phases ·" in r.stdout and
          "notes      the job has no phases: this will be refused" in r.stdout, r)
    p = plan("unet3d_demo", "--set", "phases=[]", "--nodes", 4)
    check(p["phases"] == [] and "the job has no phases: this will be refused" in p["notes"], p)
    refused(haul("plan", "unet3d_demo", "--set", "phases=[]", "--only", "train"),
            "--only train: no phase is called train; there are none")


def test_phases_left_out():
    """A ready job on existing data: with the phase that generates it is refused, and without it the plan needs no space."""
    existing = ("--set", "dataset.names=dlio", "--set", "dataset.sizes=stat")
    refused(haul("plan", "unet3d_b200", *existing), "leave the phase out (--skip generate)")
    for words in (("--skip", "generate"), ("--only", "train")):
        r = haul("plan", "unet3d_b200", *existing, *words)
        check(r.returncode == 0 and "unet3d_b200 · train · seed" in r.stdout, r)
        check("space" not in r.stdout and "moves" not in r.stdout, r)
        phases = json.loads(haul("plan", "unet3d_b200", *existing, *words, "--json").stdout)["phases"]
        check([p["name"] for p in phases] == ["train"], phases)
    # A job with checkpoints needs the space of those.
    r = haul("plan", "unet3d_h100", *existing, "--skip", "generate")
    check("moves" not in r.stdout and re.search(r"^space +499.2 MB and ", r.stdout, re.M), r)


DATA = {"HAUL_DATA": "/tmp"}
# What a store needs to be planned on, and no network.
ACCOUNTS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1", "AZURE_STORAGE_ACCOUNT": "a",
            "AZURE_STORAGE_KEY": "YWJj"}
STORES = {"file": "file:///tmp/haul", "direct": "direct:///tmp/haul", "s3": "s3://b/p", "az": "az://a/c", "gs": "gs://b/p",
          "mem": "mem://", "null": "null://", "sim": "sim://", "daos": "daos://p/c"}
# What no default can mend: such a store keeps no bytes, or does not let ranks share an object.
CANNOT = {("null", "load"), ("sim", "load"), ("mem", "shared")}


def kinds(folder):
    trace = os.path.join(folder, "t.csv")
    with open(trace, "w") as f:
        f.write("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n1,Write,4096,Tier-2,k,Prefill\n")
    every = {"generate": {"generate": {}}, "train": {"train": {}}, "checkpoint": {"checkpoint": {"model": "llama3_8b"}},
             "shared": {"checkpoint": {"model": "llama3_8b", "layout": "shared", "framing": "raw"}}, "load": {"load": {}},
             "kvcache": {"kvcache": {"model": "llama3.1-8b"}}, "tiers": {"kvcache": {"model": "llama3.1-8b", "tiers": [{"store": "s"}]}},
             "replay": {"replay": {"trace": trace}}}
    for operation in ("write", "read", "mixed", "stat", "create", "delete", "list"):
        every["io " + operation] = {"io": {"operation": operation}}
    return every


def test_every_kind_on_every_store():
    """The smallest job of each kind plans on each store: what is left out fits the store."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.json")
        for store, uri in STORES.items():
            for kind, phase in kinds(folder).items():
                job = {"stores": {"s": {"uri": uri}}, "phases": [phase]}
                if kind in ("generate", "train"):
                    job["dataset"] = {"format": "npz", "files": 4, "samples_per_file": 1, "sample_bytes": 1000000}
                with open(path, "w") as f:
                    json.dump(job, f)
                r = haul("plan", path, env=ACCOUNTS)
                check((r.returncode == 0) == ((store, kind) not in CANNOT), f"{kind} on {store}: {r}")


def test_more_parts_than_a_store_takes():
    """Files of more parts than S3 takes are found by the plan, which names the key that decides."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.json")
        with open(path, "w") as f:
            json.dump({"stores": {"s": {"uri": "s3://b/p"}}, "phases": [{"generate": {}}],
                       "dataset": {"format": "raw", "files": 2, "samples_per_file": 1, "sample_bytes": "160 GiB"}}, f)
        r = haul("plan", path, env=ACCOUNTS)
        check(r.returncode == 2 and "/stores/s/part: an object of s3:// has at most 10000 parts, not 20480 of 8 MiB" in r.stderr, r)
        r = haul("plan", path, "--set", "stores.s.part=32 MiB", env=ACCOUNTS)
        check(r.returncode == 0, r)


def test_endpoint_without_a_protocol():
    """A port says nothing of TLS: an endpoint that has one says which it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.json")
        with open(path, "w") as f:
            json.dump({"stores": {"s": {"uri": "s3://b/p", "endpoints": "127.0.0.1:27480"}}, "phases": [{"load": {}}]}, f)
        r = haul("plan", path, env=ACCOUNTS)
        check(r.returncode == 2 and "write http://127.0.0.1:27480 or https://127.0.0.1:27480" in r.stderr, r)
        r = haul("plan", path, "--set", "stores.s.endpoints=http://127.0.0.1:27480", env=ACCOUNTS)
        check(r.returncode == 0, r)


def test_a_store_of_another_kind():
    """A ready job for files plans on objects: what only files have goes with the file store, and what nobody has does not."""
    r = haul("plan", "kvcache_mlperf", "--set", "stores.cache.uri=s3://b/k", env={**ACCOUNTS, **DATA})
    check(r.returncode == 0, r)
    r = haul("plan", "kvcache_mlperf", "--set", "stores.cache.uri=s3://b/k", "--set", "stores.cache.fsync=file",
             env={**ACCOUNTS, **DATA})
    check(r.returncode == 2 and "fsync" in r.stderr, r)


def test_bucket_before_an_address():
    """A bucket's name cannot stand before an address, with a port or without. Before a name it can."""
    for endpoints, right in (("http://10.0.0.1:9000", False), ("10.0.0.{1...3}", False), ("http://[::1]:9000", False),
                             (["https://s3.example.com", "http://10.1.2.3"], False), ("https://s3.example.com", True),
                             ("http://10.example.com:9000", True)):
        for scheme in ("s3", "gs"):
            job = {"stores": {"data": {"uri": f"{scheme}://bucket/x", "endpoints": endpoints, "addressing": "virtual"}},
                   "phases": [{"io": {"operation": "write", "objects": 2, "size": "1 MiB"}}]}
            with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
                json.dump(job, f)
                f.flush()
                r = haul("plan", f.name)
                check(r.returncode == (0 if right else 2) and ("is an address" in r.stderr) != right, f"{endpoints}: {r}")
                job["stores"]["data"]["addressing"] = "path"
                f.seek(0)
                json.dump(job, f)
                f.truncate()
                f.flush()
                check(haul("plan", f.name).returncode == 0, endpoints)


main()
