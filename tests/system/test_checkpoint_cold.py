# SPDX-License-Identifier: Apache-2.0
"""Cold reads of checkpoints, seen from outside haul: which pages of the files are in the page cache (fincore), what the disk
delivers, and by which system calls (strace) each rank reads files that another node wrote."""
import collections
import glob
import os
import re
import resource

import h5py

from haultest import *

MIB = 1 << 20
# About 1.2 million parameters: 2.4 MB of weights, 14.2 MB of the optimizer.
MODEL = {"vocabulary": 1024, "hidden": 128, "feed_forward": 352, "layers": 5, "heads": 8, "kv_heads": 4}


def job(folder, *phases, **store):
    return {"seed": 7, "stores": {"c": {"uri": f"file://{folder}/data", **store}},
            "phases": [{"checkpoint": {"model": MODEL, "count": 1, "chunk": "64 KiB", "buffers": "512 KiB", **p}}
                       for p in phases]}


def disk():
    """A folder below that of the build, which is not on tmpfs."""
    return Folder(os.getcwd())


def cached(folder):
    """(Bytes of the files that are in the page cache, bytes of the files), by fincore."""
    files = glob.glob(f"{folder}/data/checkpoints/*/[a-z_]*")
    r = subprocess.run(["fincore", "--bytes", "--noheadings", "--output", "PAGES,SIZE", *files], capture_output=True,
                       text=True, check=True)
    pages, sizes = zip(*(map(int, line.split()) for line in r.stdout.splitlines()))
    check(len(pages) == len(files) > 0, f"{files}: {r.stdout}")
    return sum(pages) * 4096, sum(sizes)


def only(folder, name, ranks=1):
    """Runs a phase; returns (the phase, bytes that the disk delivered)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    r = mpi(ranks, "run", "job.json", "--force", "--only", name, cwd=folder)
    check(r.rc == 0, f"{name}: {r}")
    phase, = report(f"{folder}/results.h5")["phases"]
    check(phase["errors"] == 0, f"{name}: {phase}")
    return phase, (resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before) * 512


def share(phase):
    return phase["measures"]["resident_bytes"] / phase["measures"]["resident_sampled_bytes"]


def test_fincore():
    """Files dropped behind the writer are not in the page cache when the reading begins, and come from the disk. Then they are
    cached, until a phase drops them before it reads them past the page cache. The kernel may take pages of the cache at any
    time, unless the test keeps them there."""
    read = {"operation": "read", "verify": "full", "cold": {"evidence": "64 KiB"}}
    phases = [{"name": "write", "operation": "write", "behind": "drop"}, {"name": "first", **read}, {"name": "warm", **read},
              {"name": "dropped", **read, "cold": {"evidence": "64 KiB", "drop": "fadvise"}}]
    with disk() as folder:
        write_job(folder, job(folder, *phases))
        only(folder, "write")
        there, size = cached(folder)
        check(size > 15 * MIB and there < 0.01 * size, f"{there} of {size} bytes stay behind the writer")
        phase, came = only(folder, "first")
        check(share(phase) < 0.01 and came >= size == phase["bytes_read"], f"first: {share(phase)}, the disk delivers {came}")
        check(cached(folder)[0] > 0.9 * size, f"{cached(folder)} after reading")
        with Kept(folder + "/data") as kept:
            phase, came = only(folder, "warm")
        check(all_cached(share(phase), kept), f"warm: {share(phase)}, pages kept: {kept}")
        check(came < size / 10, f"warm: the disk delivers {came}")
        phase, came = only(folder, "dropped")
        check(share(phase) < 0.01 and came >= size,
              f"dropped: {share(phase)}, {phase['measures']['stayed_bytes']} bytes stayed, the disk delivers {came}")
        check(cached(folder)[0] > 0.9 * size, f"{cached(folder)} after reading")
        write_job(folder, job(folder, *phases, direct=True))
        phase, came = only(folder, "dropped")
        check(cached(folder)[0] < 0.01 * size <= came, f"{cached(folder)} dropped and read past the cache")


def reads(folder, ranks):
    """Bytes that each rank reads of each file of the checkpoint, as strace sees them: {rank: {(file, offset): bytes}}."""
    traced = f"exec strace -ff -y --seccomp-bpf -e trace=pread64 -o {folder}/trace.$PMI_RANK {HAUL} run job.json " \
             "--force --only read --fake-nodes 2"
    r = subprocess.run([MPIEXEC, "-n", str(ranks), "sh", "-c", traced], cwd=folder, capture_output=True, text=True,
                       timeout=HANGS_S, env=environment())
    check(r.returncode == 0, f"{r.stdout}{r.stderr}")
    found = collections.defaultdict(dict)
    for rank in range(ranks):
        for line in (x for path in glob.glob(f"{folder}/trace.{rank}.*") for x in open(path, errors="replace")):
            m = re.search(r"pread64\(.*?/data/checkpoints/000000/([^>.]\S*?)>.*, \d+, (\d+)\) = (\d+)$", line)
            if m:
                found[rank][m[1], int(m[2])] = int(m[3])
    return found


def writer(name, offset, size, ranks):
    """The rank that wrote these bytes."""
    if name == "checkpoint.bin":
        return offset // (size // ranks)
    return int(re.match(r"(?:zero_pp_rank_|__)(\d+)_", name)[1])


@matrix
def test_another_node():
    """Shifted readers read nothing that a rank of their node wrote. With ZeRO 1, data rank 0 has written all weights, so they
    can come from no other node."""
    ranks = 4
    cases = ({"mesh": {"zero": 3}}, {"mesh": {"zero": 3}, "layout": "distributed", "readers": 2},
             {"mesh": {"zero": 3}, "layout": "shared"}, {"mesh": {"zero": 1}},
             {"mesh": {"zero": 1}, "replicas": "first", "layout": "layer"})
    for case in some(cases, 2):
        with Folder() as folder:
            case = {"framing": "raw", **case}
            write_job(folder, job(folder, {"name": "write", "operation": "write", **case},
                                  {"name": "read", "operation": "read", "shift": "node", "verify": "full", **case}))
            r = mpi(ranks, "run", "job.json", "--only", "write", "--fake-nodes", 2, cwd=folder)
            check(r.rc == 0, f"{case}: {r}")
            found = reads(folder, ranks)
            with h5py.File(f"{folder}/results.h5") as f:
                node = list(f["ranks"]["node"])
            check(sorted(node) == [0, 0, 1, 1], f"{node}")
            for rank in range(ranks):
                for (name, offset), _ in found[rank].items():
                    if case["mesh"]["zero"] == 1 and "optim" not in name:
                        continue
                    wrote = writer(name, offset, os.path.getsize(f"{folder}/data/checkpoints/000000/{name}"), ranks)
                    check(node[wrote] != node[rank], f"{case}: rank {rank} reads {name} of rank {wrote}: nodes {node}")
            phase, = report(f"{folder}/results.h5")["phases"]
            moved = sum(sum(one.values()) for one in found.values())
            check(moved == phase["bytes_read"] > 15 * MIB, f"{case}: strace sees {moved} bytes, {phase['bytes_read']}")
            check(all(found[rank] for rank in range(ranks)), f"{case}: a rank reads nothing")


if __name__ == "__main__":
    main()
