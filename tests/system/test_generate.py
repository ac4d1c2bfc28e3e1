# SPDX-License-Identifier: Apache-2.0
"""Generated data sets: they are the same for any number of ranks, have the right sizes, can be resumed after a kill and read
by numpy, and haul clean removes them completely."""
import hashlib
import os
import random
import shutil
import signal
import time
import zipfile

import numpy

from haultest import *


def job(folder, fmt="npz", files=60, size=300000, stdev=50000, **more):
    return {
        "name": "gen", "seed": 11, "stores": {"data": {"uri": f"file://{folder}/data"}},
        "dataset": {"store": "data", "format": fmt, "files": files, "sample_bytes": size, "sample_bytes_stdev": stdev,
                    "subfolders": 3, **more},
        "phases": [{"generate": {}}],
    }


def tree(folder):
    found = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(top, name)
            if not name.startswith("."):
                with open(path, "rb") as f:
                    found[os.path.relpath(path, folder)] = hashlib.sha256(f.read()).hexdigest()
    return found


def generate(folder, ranks):
    r = mpi(ranks, "generate", "job.json", cwd=folder)
    check(r.rc == 0, f"{r}")
    return r


@matrix
def test_same_for_any_ranks():
    for i, fmt in enumerate(some(formats(), 3)):
        spf = samples_per_file(fmt, 1 + i % 5, 20000)
        trees = []
        for ranks in (1, 7):
            with Folder() as folder:
                write_job(folder, job(folder, fmt, size=60000, stdev=10000, samples_per_file=spf))
                generate(folder, ranks)
                trees.append(tree(folder + "/data"))
        check(trees[0] and len(trees[0]) % 60 == 0 and trees[0] == trees[1], f"{fmt}: 1 and 7 ranks differ")


def test_numpy_reads():
    for fmt in ("npz", "npy"):
        for spf in (1, 4):
            with Folder() as folder:
                write_job(folder, job(folder, fmt, files=12, samples_per_file=spf))
                generate(folder, 2)
                ids = []
                for path in sorted(tree(folder + "/data")):
                    full = f"{folder}/data/{path}"
                    a = numpy.load(full)
                    if fmt == "npz":
                        with zipfile.ZipFile(full) as z:
                            check(z.testzip() is None, f"{path}: a CRC is wrong")
                        a = a["x"]
                    check(a.dtype == numpy.uint8 and a.size % spf == 0, f"{path}: {a.dtype} {a.shape}")
                    for row in a.reshape(spf, -1):
                        ids.append(int(row[:8].view("<u8")[0]))
                check(sorted(ids) == list(range(12 * spf)), f"{fmt} x {spf}: ids {sorted(ids)[:5]} …")


@matrix
def test_missing_folder_is_not_an_error():
    """haul looks for the manifest and the folder, and their absence does not count as an error."""
    with Folder() as folder:
        for uri in (f"file://{folder}/data", "mem://m", "sim://s"):
            more = {"stores": {"data": {"uri": uri}}}
            write_job(folder, {**job(folder, files=3), **more})
            r = mpi(2, "run", "job.json", "--force", cwd=folder)
            check(r.rc == 0, f"{r}")
            p = report(f"{folder}/results.h5")["phases"][0]
            check(p["errors"] == 0 and p["failures"] == [], f"{uri}: {p['errors']} {p['failures']}")


def test_sizes():
    for mean, stdev in some(((20000, 9300), (20000, 5000), (20000, 18000)), 3):
        with Folder() as folder:
            write_job(folder, job(folder, "raw", files=8000, size=mean, stdev=stdev))
            generate(folder, 2)
            sizes = numpy.array([os.path.getsize(os.path.join(t, n)) for t, _, names in os.walk(folder + "/data")
                                 for n in names if not n.startswith(".")], dtype=float)
            check(len(sizes) == 8000, f"{len(sizes)} files")
            near(sizes.mean(), mean, 0.02 * mean, f"mean of {mean} ± {stdev}")
            near(sizes.std(), stdev, 0.02 * stdev, f"deviation of {mean} ± {stdev}")


def descendants(pid):
    """All descendants of a process; those of mpiexec are its proxy and the ranks."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                parents.setdefault(int(f.read().rpartition(")")[2].split()[1]), []).append(int(name))
        except OSError:
            pass
    found = parents.get(pid, [])
    return found + [below for child in found for below in descendants(child)]


def kill_all(process):
    for pid in [process.pid] + descendants(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.communicate()


def test_killed_and_resumed():
    files = 600
    with Folder() as folder, Folder() as whole:
        while True:
            write_job(folder, job(folder, files=files))
            process = start(2, "generate", "job.json", cwd=folder)
            while process.poll() is None and len(tree_names(folder + "/data")) <= files // 100:
                time.sleep(0.001)
            kill_all(process)
            left = len(tree_names(folder + "/data"))
            if left < files or files > 20000:
                break
            shutil.rmtree(folder + "/data")
            files *= 2  # on a busy machine, all files may be there before the kill comes
        check(files // 100 < left < files, f"{left} files after the kill")
        write_job(whole, job(whole, files=files))
        generate(whole, 2)
        wanted = tree(whole + "/data")
        names = sorted(wanted)
        # What a rank leaves that is killed while it writes.
        blocked = next(f"{folder}/data/{name}" for name in names if not os.path.exists(f"{folder}/data/{name}"))
        os.makedirs(os.path.dirname(blocked), exist_ok=True)
        with open(blocked + ".haul-0123abcd", "wb") as f:
            f.write(b"x" * 400000)
        r = generate(folder, 3)
        check("whole already" in r.out + r.err, f"haul does not say what it kept: {r}")
        check(tree(folder + "/data") == wanted, "the resumed data set differs")


def tree_names(folder):
    return [n for _, _, names in os.walk(folder) for n in names if n.endswith(".npz")]


def test_clean():
    with Folder() as folder:
        write_job(folder, job(folder))
        generate(folder, 2)
        foreign = f"{folder}/data/keep.txt"
        open(foreign, "w").write("mine")
        victim = random.choice(sorted(tree(folder + "/data")))
        if victim == "keep.txt":
            victim = "keep.txt"
        else:
            with open(f"{folder}/data/{victim}", "ab") as f:
                f.write(b"changed")
        r = mpi(3, "clean", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        left = set(tree(folder + "/data"))
        check(left == {"keep.txt", victim}, f"left: {sorted(left)[:5]}")


def test_other_settings_refused():
    with Folder() as folder:
        write_job(folder, job(folder))
        generate(folder, 2)
        other = job(folder)
        other["seed"] = 12
        write_job(folder, other)
        before = tree(folder + "/data")
        r = mpi(2, "generate", "job.json", cwd=folder)
        check(r.rc != 0 and "seed" in r.err, f"{r}")
        check(tree(folder + "/data") == before, "the data set was changed")


def test_train_of_another_data_set_is_refused():
    """A mistake in the settings is reported as such, and not as damaged data."""
    with Folder() as folder:
        j = job(folder)
        j["phases"].append({"train": {"batch": 2, "verify": "full", "null_steps": 0}})
        write_job(folder, j)
        r = mpi(2, "run", "job.json", "--skip", "generate", cwd=folder)
        check(r.rc == 1 and "there is no data set in file://" in r.err and "run `haul generate JOB` first" in r.err, f"{r}")
        r = generate(folder, 2)
        check("made 60 files, " in r.out, f"haul does not say what it did: {r}")
        for key, sets in (("seed", "seed=12"), ("sample_bytes", "dataset.sample_bytes=200000"),
                          ("files", "dataset.files=61"), ("format", "dataset.format=npy")):
            r = mpi(2, "run", "job.json", "--skip", "generate", "--force", "--set", sets, cwd=folder)
            check(r.rc == 1 and f"this data set was made with {key}" in r.err, f"{sets}: {r}")
        r = mpi(2, "run", "job.json", "--skip", "generate", "--force", cwd=folder)
        check(r.rc == 0, f"{r}")
        with open(f"{folder}/data/.haul-manifest.json", "r+") as f:
            text = f.read().replace('"complete": true', '"complete": false')
            f.seek(0)
            f.write(text)
            f.truncate()
        r = mpi(2, "run", "job.json", "--skip", "generate", "--force", cwd=folder)
        check(r.rc == 1 and "is not complete; run `haul generate JOB` to finish it" in r.err, f"{r}")


def test_clean_says_what_it_did():
    with Folder() as folder:
        write_job(folder, job(folder))
        generate(folder, 2)
        r = mpi(2, "clean", "job.json", cwd=folder)
        check(r.rc == 0 and "removed 60 files, " in r.out and "left" not in r.out, f"{r}")


main()
