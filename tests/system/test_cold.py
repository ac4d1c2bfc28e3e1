# SPDX-License-Identifier: Apache-2.0
"""Evidence of cold reads: the share of the data that is in the page cache before it is read. It is all after a warm read,
and none after dropping. A store in memory is never cold, and haul says so."""
import os
import re
import subprocess

from haultest import *

FILES, MIB = 48, 1 << 20


def job(folder, *phases, **store):
    return {"name": "cold", "seed": 11, "stores": {"data": {"uri": f"file://{folder}/data", **store}},
            "dataset": {"store": "data", "format": "npz", "files": FILES, "sample_bytes": "2 MiB"},
            "phases": [{"generate": {}}, *[{"train": {"batch": 2, "null_steps": 0, "loader": {"workers": 2}, **p}}
                                           for p in phases]]}


def run(folder, *phases, ranks=2, rc=0, more=(), **store):
    """Runs a training per phase, after the data was made; returns (run, the phases of the report after the first one)."""
    write_job(folder, job(folder, *phases, **store))
    r = mpi(ranks, "run", "job.json", "--force", *more, cwd=folder)
    check(r.rc == rc, f"{r}")
    return r, (report(folder + "/results.h5")["phases"][0 if more else 1:] if rc == 0 else [])


def cached_is_said(said, kept):
    found = re.search(r"\b(\d+\.\d) % of the bytes were in the page cache", said)
    return found and all_cached(float(found[1]) / 100, kept)


def shares(phase):
    return [e["cached_share"] for e in phase["epochs"]]


def disk():
    """A folder below that of the build, which is not on tmpfs."""
    return Folder(os.getcwd())


def test_warm_and_dropped():
    """All bytes are cached when a warm read begins, and less than 1 % after dropping."""
    with disk() as folder:
        warm = {"name": "warm", "epochs": 2, "cold": {"evidence": "64 KiB"}}
        cold = {"name": "cold", "epochs": 3, "cold": {"drop": "fadvise", "evidence": "64 KiB"}}
        _, (first,) = run(folder, warm)
        check(all_cached(shares(first)[1], False), f"second epoch: {shares(first)}")
        with Kept(folder + "/data") as kept:
            _, (a,) = run(folder, warm, more=("--only", "warm"))
        check(all(all_cached(share, kept) for share in shares(a)) and cached_is_said(a["said"], kept),
              f"warm: {shares(a)} {a['said']}")
        _, (b,) = run(folder, cold, more=("--only", "cold"))
        check(max(shares(b)) < 0.01, f"dropped: {shares(b)}")
        check("0.0 % of the bytes were in the page cache" in b["said"], b["said"])
        for epoch in (*a["epochs"], *b["epochs"]):
            looks = epoch["resident_sampled_bytes"] / 4096
            near(looks, epoch["bytes_read"] / 65536, 0.1 * epoch["bytes_read"] / 65536, "looks")


def test_once_before_the_phase():
    with disk() as folder:
        _, (_, a) = run(folder, {}, {"epochs": 2, "cold": {"drop": "fadvise", "when": "phase", "evidence": "64 KiB"}})
        first, second = shares(a)
        check(first < 0.01 and all_cached(second, False), f"{first} {second}")


def test_many_samples_in_a_file():
    """Each file is dropped once, whichever ranks read its samples."""
    with disk() as folder:
        # Without the advice the kernel would read ahead into other samples of the same epoch.
        j = job(folder, {}, {"epochs": 2, "cold": {"drop": "fadvise", "evidence": "64 KiB"}}, fadvise="random")
        j["dataset"].update(format="raw", files=6, samples_per_file=16, sample_bytes="512 KiB")
        write_job(folder, j)
        r = mpi(3, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        a = report(folder + "/results.h5")["phases"][2]
        check(max(shares(a)) < 0.01, f"{shares(a)}")


def test_direct_has_no_evidence():
    with disk() as folder:
        _, (a,) = run(folder, {}, direct=True)
        check(shares(a) == [None] and "page cache" not in a["said"], f"{shares(a)} {a['said']}")


def test_files_of_another_user():
    """The kernel tells the cached share only to users who may write the files. haul reports that to other users."""
    if os.getuid() != 0:
        return
    with disk() as folder:
        write_job(folder, job(folder, {"cold": {"drop": "fadvise", "evidence": "64 KiB"}}))
        r = mpi(2, "generate", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        os.makedirs(folder + "/out")
        for path, mode in ((folder, 0o755), (folder + "/data", 0o755), (folder + "/out", 0o777)):
            os.chmod(path, mode)
        whole = command(2, "run", "../job.json", "--skip", "generate")
        at = whole.index(HAUL)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        r = subprocess.run(whole[:at] + user + whole[at:], cwd=folder + "/out", capture_output=True, text=True,
                           timeout=HANGS_S, env=environment())
        check(r.returncode == 0, f"{r}")
        check("Linux tells only users who may write the files" in " ".join(r.stdout.split()), r.stdout)


def test_memory_is_never_cold():
    if not os.path.isdir("/dev/shm") or os.statvfs("/dev/shm").f_bavail * 4096 < 200 * MIB:
        return
    with Folder("/dev/shm") as folder:
        r, (a,) = run(folder, {"cold": "fadvise"})
        check(shares(a) == [1], f"{shares(a)}")
        check("(tmpfs) and never cold" in a["said"], a["said"])
        check("its reads are never cold" in " ".join(r.err.split()), r.err)


def plain(folder, *phases, ranks=2, more=(), **store):
    """Runs phases of io over one set of objects, each with its options; returns (run, phases of the report)."""
    write_job(folder, {"name": "cold", "stores": {"data": {"uri": f"file://{folder}/data", **store}},
                       "phases": [{"io": {"size": "8 MiB", "objects": 4, **p}} for p in phases]})
    r = mpi(ranks, "run", "job.json", "--force", *more, cwd=folder)
    check(r.rc == 0, f"{r}")
    return r, report(folder + "/results.h5")["phases"]


def test_plain_reads():
    """Phases of io give the same evidence as a training, for each order, layout and number of threads. The bytes of each
    read are examined before the kernel reads ahead."""
    for more in ({}, {"order": "random", "block": 65536}, {"threads": 2, "depth": 1}, {"layout": "segmented", "objects": 1},
                 {"layout": "strided", "objects": 1, "order": "random", "block": 65536}, {"operation": "mixed", "block": 65536}):
        # The kernel takes a random read for a sequential one where the pages before it have just been read, and then reads
        # ahead. In an object that ranks share it reads ahead into another rank's bytes, before that rank opens the object.
        store = {"fadvise": "random"} if more.get("order") == "random" or more.get("objects") == 1 else {}
        with disk() as folder:
            evidence = {"operation": "read", **more, "cold": {"evidence": "64 KiB"}}
            drops = {**evidence, "cold": {"drop": "fadvise", "evidence": "64 KiB"}}
            write = {"name": "write", "operation": "write", **{k: more[k] for k in ("layout", "objects") if k in more}}
            phases = [write, {"name": "warm", **evidence}, {"name": "each", **drops},
                      {"name": "once", **drops, "cold": {**drops["cold"], "when": "phase"}}]
            _, (w,) = plain(folder, *phases, more=("--only", "write"), **store)
            with Kept(folder + "/data") as kept:
                _, (warm,) = plain(folder, *phases, more=("--only", "warm"), **store)
            _, (dropped, once) = plain(folder, *phases, more=("--only", "each", "--only", "once"), **store)
            check(w["measures"]["resident_sampled_bytes"] == 0 and w["figures"]["cached_share"] is None, f"{w}")
            check("page cache" not in w["said"], w["said"])
            check(all_cached(warm["figures"]["cached_share"], kept), f"{more}: {warm['figures']}")
            check(cached_is_said(warm["said"], kept), warm["said"])
            for p in (dropped, once):
                check(p["figures"]["cached_share"] < 0.01, f"{more}: {p['figures']}")
                check("0.0 % of the bytes were in the page cache" in p["said"], p["said"])
                check(p["measures"]["drop_ns"] > 0 and p["measures"]["stayed_bytes"] == 0, f"{p['measures']}")
            for p in (warm, dropped, once):
                looks = p["measures"]["resident_sampled_bytes"] / 4096
                # mixed examines, in order, all bytes that it opens, although it then writes about half of them.
                wanted = 2 * more.get("objects", 4) * 8 * MIB / 65536
                near(looks, wanted, 0.1 * wanted + 4, f"{more}: looks")


def test_plain_reads_again():
    """Bytes that have been read are cached in the second pass."""
    for order in ("sequential", "random"):
        with disk() as folder:
            _, (_, p) = plain(folder, {"operation": "write"}, {"operation": "read", "order": order, "passes": 2,
                                                               "cold": {"drop": "fadvise", "evidence": "64 KiB"}})
            near(p["figures"]["cached_share"], 0.5, 0.03, f"{order}: cached")


def test_plain_reads_of_memory_and_direct():
    if os.path.isdir("/dev/shm"):
        with Folder("/dev/shm") as folder:
            r, (_, p) = plain(folder, {"operation": "write"}, {"operation": "read", "cold": "fadvise"})
            check(p["figures"]["cached_share"] == 1 and "(tmpfs) and never cold" in p["said"], f"{p['said']}")
            check("its reads are never cold" in " ".join(r.err.split()), r.err)
    with disk() as folder:
        _, (_, p) = plain(folder, {"operation": "write"}, {"operation": "read"}, direct=True)
        check(p["figures"]["cached_share"] is None and "page cache" not in p["said"], f"{p['said']}")


def test_drop_caches_only_for_root():
    with disk() as folder:
        write_job(folder, job(folder, {}, {"cold": {"drop": "drop_caches", "evidence": "64 KiB"}}))
        r = mpi(2, "run", "job.json", cwd=folder)
        if r.rc == 0:
            check(max(shares(report(folder + "/results.h5")["phases"][2])) < 0.01, "not dropped")
        else:
            check("/proc/sys/vm/drop_caches" in r.err and "only root may" in r.err, f"{r}")


def test_memory_hog():
    """One rank per node holds the memory, only while the phase runs. More memory than the node has is refused."""
    with disk() as folder:
        write_job(folder, job(folder, {"epochs": 2, "compute": "20 ms", "cold": {"memory_hog": "256 MiB"}}))
        whole = command(2, "run", "job.json")
        at = whole.index(HAUL)
        strace = ["strace", "-ff", "-e", "trace=mmap,munmap", "-o", os.path.join(folder, "trace")]
        r = subprocess.run(whole[:at] + strace + whole[at:], cwd=folder, capture_output=True, text=True, timeout=HANGS_S,
                           env=environment())
        check(r.returncode == 0, r.stderr)
        text = "".join(open(os.path.join(folder, n), errors="replace").read()
                       for n in os.listdir(folder) if n.startswith("trace"))
        taken = re.findall(rf"mmap\(NULL, {256 * MIB}, .*\) = (0x[0-9a-f]+)", text)
        check(len(taken) == 1 and f"munmap({taken[0]}, {256 * MIB})" in text, f"{taken}")
        r, _ = run(folder, {"cold": {"memory_hog": "900 TiB"}}, rc=1)
        check("900 TiB are wanted and" in " ".join(r.err.split()), f"{r}")


main()
