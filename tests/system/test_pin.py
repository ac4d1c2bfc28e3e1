# SPDX-License-Identifier: Apache-2.0
"""Binding of ranks to cores: the masks of all threads of all ranks, read from /proc during the run."""
import collections
import glob
import os
import subprocess
import time

import h5py

from haultest import HANGS_S, Folder, HAUL, MPIEXEC, alone, check, command, environment, main, mpi, pauses, ranks_in, write_job

# All devices of this node, but not the search that binds the thread to each core in turn while it asks what the core is.
os.environ.setdefault("HWLOC_COMPONENTS", "-x86")
CPUSETS = ("/sys/fs/cgroup/cpuset", "/sys/fs/cgroup")


# Writes through the page cache are what io_uring gives to threads of the kernel (iou-wrk).
WRITE = {"io": {"operation": "write", "objects": 4, "size": "4 MiB", "block": "64 KiB", "depth": 8, "threads": 2, "passes": 0,
                "seconds": 0.5, "verify": "none"}}


def job(pin, seconds=1, store=None):
    return {"cluster": pin,
            "stores": {"data": store or {"uri": "sim://pin", "latency": "1 ms"}},
            "dataset": {"store": "data", "format": "raw", "files": 64, "sample_bytes": "64 KiB"},
            "phases": ([WRITE, {"generate": {}}] if store else []) +
                      [{"train": {"epochs": 1000, "seconds": seconds, "batch": 2, "compute": "2 ms",
                                  "loader": {"workers": 2}}}]}


def files(folder):
    return {"uri": f"file://{folder}/data", "engine": "uring"}


def numbers(text):
    """The numbers in a text such as "0-2,5", as a set."""
    out = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        out |= set(range(int(first), int(last or first) + 1))
    return out


def masks(pid):
    out = []
    for task in glob.glob(f"/proc/{pid}/task/*/status"):
        try:
            with open(task, encoding="ascii", errors="replace") as f:
                out += [numbers(line.split(":")[1]) for line in f if line.startswith("Cpus_allowed_list")]
        except OSError:
            pass
    return out


def watch(seconds, prefix, ranks, cluster, cpuset=None, bound=None, store=None):
    """Runs a job and watches its ranks. Returns {pid: the masks that its threads had}, {pid: the masks at the last look},
    standard error, and the binding in the results. bound: one core per rank, to which a launcher binds it."""
    with Folder() as folder:
        folder = os.path.realpath(folder)
        path = write_job(folder, job(cluster, seconds, store=store and store(folder)))

        def enter():
            if cpuset:
                with open(os.path.join(cpuset, "cgroup.procs"), "w") as f:
                    f.write("0")
        words = command(ranks, "run", path)
        if bound:
            words = [MPIEXEC]
            for core in bound:
                words += ["-n", "1", "taskset", "-c", str(core), HAUL, "run", path, ":"]
            words.pop()
        p = subprocess.Popen(prefix + words, cwd=folder, env=environment(), text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             preexec_fn=enter)
        seen, last, threads = {}, {}, collections.Counter()
        while p.poll() is None:
            for pid in (int(os.path.basename(path)) for path in ranks_in(folder)):
                now = masks(pid)
                threads[pid] = max(threads[pid], len(now))
                if now:
                    seen.setdefault(pid, set()).update(frozenset(m) for m in now)
                    last[pid] = now
            time.sleep(0.05)
        _, err = p.communicate()
        check(p.returncode == 0, f"{prefix} {cluster}: exit {p.returncode}\n{err}")
        with h5py.File(os.path.join(folder, "results.h5")) as f:
            found = [numbers(row["cores_found"].decode()) for row in f["ranks"]]
    # A parent of a rank, which has one thread, was seen before there was a rank, or after.
    seen, last = ({pid: of[pid] for pid in of if threads[pid] > 1} for of in (seen, last))
    check(len(seen) == ranks, f"{len(seen)} ranks seen, {ranks} started")
    check(max(threads.values()) >= 4, f"{threads} threads per rank: the workers were not seen")
    return seen, last, err, found


def stays(seen, given):
    for pid, sets in seen.items():
        for mask in sets:
            check(mask <= given, f"a thread of {pid} may run on {sorted(mask)}, but the rank has {sorted(given)}")


@pauses(1, 6)
def test_slices_are_kept(seconds):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("      this machine has only one core: not tested")
        return
    for pin in ("core", "numa", "tile", "nic"):
        seen, last, _, found = watch(seconds, [], 2, {"pin": pin})
        stays(seen, set(cores))
        ends = [{frozenset(m) for m in sets} for sets in last.values()]
        check(all(len(e) == 1 for e in ends), f"{pin}: threads of one rank differ: {ends}")
        check(len(set.union(*ends)) == 2 and not set.intersection(*map(set, set.union(*ends))),
              f"{pin}: ranks share cores: {ends}")
        check({frozenset(f) for f in found} == set.union(*ends), f"{pin}: the results say {found}, /proc says {ends}")


@pauses(1, 6)
def test_readers_of_files_are_in_the_slice(seconds):
    """All threads of a rank that read and write files: its own, and those that the kernel may start for it."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return
    seen, last, _, found = watch(seconds, [], 2, {"pin": "list", "cores": f"{cores[1]}:{cores[0]}"}, store=files)
    stays(seen, set(cores))
    check({frozenset(m) for sets in last.values() for m in sets} == {frozenset({cores[0]}), frozenset({cores[1]})}, last)
    check(all(len({frozenset(m) for m in sets}) == 1 for sets in last.values()), f"threads of one rank differ: {last}")
    check(found == [{cores[1]}, {cores[0]}], f"results say {found}")


@pauses(1, 6)
def test_taskset_is_never_left(seconds):
    cores = sorted(os.sched_getaffinity(0))
    for core in (cores[0], cores[-1]):
        for cluster in ({"pin": "core"}, {"pin": "nic"}, {"pin": "list", "cores": f"{core}:{core}"}, {}):
            seen, _, _, found = watch(seconds, ["taskset", "-c", str(core)], 2, cluster)
            stays(seen, {core})
            check(found == [{core}, {core}], f"{cluster}: results say {found}")


@pauses(1, 6)
def test_binding_of_the_launcher_is_kept(seconds):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return
    bound = [cores[1], cores[0]]
    for pin in ("core", "tile"):
        seen, _, err, found = watch(seconds, [], 2, {"pin": pin}, bound=bound)
        check({frozenset(m) for sets in seen.values() for m in sets} == {frozenset({c}) for c in bound}, seen)
        check(found == [{c} for c in bound], f"{pin}: results say {found}")
        check(err.count("its choice is kept") == 1, err)


def test_a_list_outside_the_mask_is_refused():
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return
    with Folder() as folder:
        path = write_job(folder, job({"pin": "list", "cores": f"{cores[1]}:{cores[1]}"}))
        p = subprocess.run(["taskset", "-c", str(cores[0])] + command(2, "run", path), cwd=folder,
                           env=environment(), capture_output=True, text=True, timeout=HANGS_S, check=False)
        check(p.returncode != 0 and "may be used here" in p.stderr, p)


@pauses(1, 6)
def test_cpuset_is_never_left(seconds):
    """Threads stay in a cgroup with one core, if this machine allows us to make one."""
    core = sorted(os.sched_getaffinity(0))[-1]
    for base in CPUSETS:
        name = os.path.join(base, f"haul-test-{os.getpid()}")
        cpus = os.path.join(name, "cpuset.cpus")
        try:
            os.mkdir(name)
        except OSError:
            continue
        try:
            if not os.path.exists(cpus):
                continue
            memories = os.path.join(name, "cpuset.mems")
            with open(memories, "w") as f:
                f.write("0")
            with open(cpus, "w") as f:
                f.write(str(core))
            for pin in ("core", "tile"):
                seen, _, _, found = watch(seconds, [], 2, {"pin": pin}, cpuset=name)
                stays(seen, {core})
                check(found == [{core}, {core}], f"{pin}: results say {found}")
            return
        except OSError as e:
            print(f"      {base}: {e}")
        finally:
            os.rmdir(name)
    print("      this test cannot make a cpuset here: not tested")


def test_topo_in_a_mask():
    core = sorted(os.sched_getaffinity(0))[-1]
    p = subprocess.run(["taskset", "-c", str(core), HAUL, "topo", "--pin", "numa"], capture_output=True, text=True,
                       timeout=HANGS_S, check=False)
    row = p.stdout.splitlines()[-1].split()
    check(p.returncode == 0 and row[0] == "0" and row[-1] == str(core), p)
    check(alone("topo").rc == 0, "haul topo failed")


def test_accelerator_of_the_launcher():
    """/ranks.gpu is the accelerator that the launcher gave to a rank. Without one it is the rank's share of cluster.gpus."""
    clear = {v: "" for v in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")}
    for env, gpus in (({"CUDA_VISIBLE_DEVICES": "5"}, [5, 5]), ({"ZE_AFFINITY_MASK": "3"}, [3, 3]), ({}, [0, 2])):
        with Folder() as folder:
            write_job(folder, job({"gpus": 4}, seconds="50 ms"))
            r = mpi(2, "run", "job.json", cwd=folder, env={**clear, **env})
            check(r.rc == 0, f"{r}")
            with h5py.File(f"{folder}/results.h5") as f:
                check(f["ranks"]["gpu"].tolist() == gpus, f"{env}: {f['ranks']['gpu']}")


main()
