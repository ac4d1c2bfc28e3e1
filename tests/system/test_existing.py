# SPDX-License-Identifier: Apache-2.0
"""Existing data sets: haul trains on files that it did not make, with names by DLIO's rules, by templates or by lists. It
reports files that do not fit the job by their names, before it reads them, and never removes such files."""
import os
import re
import subprocess

import h5py
import numpy

import foreign
from haultest import *


def dlio_path(i, files, subfolders, prefix="img", fmt="npz", part="train"):
    """The path that DLIO's generators give a file: numbers with leading zeros, and subfolders if there are two or more."""
    name = f"{prefix}_{str(i).rjust(len(str(files)), '0')}_of_{files}.{fmt}"
    if subfolders > 1:
        return os.path.join(part, str(i % subfolders).rjust(len(str(subfolders)), "0"), name)
    return os.path.join(part, name)


def dlio_dataset(root, files, subfolders=0, part="train", mean=100000, seed=1):
    """Writes npz files of random sizes by numpy, as DLIO's npz generator does. Returns {path: bytes}."""
    rng = numpy.random.default_rng(seed)
    sizes = {}
    for i in range(files):
        path = os.path.join(root, dlio_path(i, files, subfolders, part=part))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        dim = max(1, int(rng.normal(mean ** 0.5, mean ** 0.5 / 8)))
        record = rng.integers(0, 256, size=(dim, dim, 1), dtype=numpy.uint8)
        numpy.savez(path, x=record, y=[0])
        sizes[path] = os.path.getsize(path)
    return sizes


def job(folder, described, **train):
    return {"name": "existing", "seed": 3, "stores": {"data": {"uri": f"file://{folder}"}},
            "dataset": {"store": "data", "format": "npz", "files": 48, "sample_bytes": 100000, **described},
            "phases": [{"train": {"epochs": 1, "batch": 2, "null_steps": 0, "loader": {"workers": 2}, **train}}]}


def reads_of(folder):
    """From strace, for each file: the bytes read, the opens, and, counted apart, the looks at its first bytes. What says how
    many samples a file holds is looked at in reads of at most 4 KiB, which are left out."""
    moved, opens, heads = {}, {}, {}
    for name in os.listdir(folder):
        if not name.startswith("trace"):
            continue
        with open(os.path.join(folder, name), errors="replace") as f:
            for line in f:
                m = re.match(r'pread64\(\d+<([^>]+)>, .*, (\d+), (\d+)\) += (\d+)', line)
                if m and m[2] == "4" and m[3] == "0":  # npz's magic
                    heads[m[1]] = heads.get(m[1], 0) + 1
                elif m and int(m[4]) > 4096:
                    moved[m[1]] = moved.get(m[1], 0) + int(m[4])
                m = re.match(r'openat\(.*O_RDONLY.* = \d+<([^>]+)>', line)
                if m:
                    opens[m[1]] = opens.get(m[1], 0) + 1
    return moved, opens, heads


def traced(ranks, folder, *args):
    whole = command(ranks, *args)
    at = whole.index(HAUL)
    strace = ["strace", "-ff", "-y", "-e", "trace=pread64,openat", "-o", os.path.join(folder, "trace")]
    r = subprocess.run(whole[:at] + strace + whole[at:], cwd=folder, capture_output=True, text=True, timeout=HANGS_S,
                       env=environment())
    check(r.returncode == 0, f"{r.returncode} {r.stderr}")


def test_dlio_trained_on_unchanged():
    """haul reads each file once per epoch, and as many bytes as the file has, as strace counts them."""
    for files, subfolders in ((48, 0), (48, 10), (48, 2)):
        with Folder() as folder:
            sizes = dlio_dataset(folder + "/unet3d", files, subfolders)
            before = {p: os.stat(p).st_mtime_ns for p in sizes}
            write_job(folder, job(folder, {"folder": "unet3d", "names": "dlio", "subfolders": subfolders,
                                           "sizes": "stat"}, epochs=2))
            traced(2, folder, "run", "job.json")
            moved, opens, heads = reads_of(folder)
            moved = {p: n for p, n in moved.items() if p in sizes}
            check(moved == {p: 2 * n for p, n in sizes.items()}, f"{moved} is not twice {sizes}")
            heads = {p: n - 1 for p, n in heads.items()}
            check(sum(heads.get(p, 0) for p in sizes) == 2 * 4, f"two ranks do not look at four files each: {heads}")
            # Once more, its samples are counted.
            check(all(opens[p] == 3 + heads.get(p, 0) for p in sizes), f"{opens}")
            train = report(folder + "/results.h5")["phases"][0]
            check(train["bytes_read"] == 2 * sum(sizes.values()), f"{train['bytes_read']}")
            for part in ("each exactly once an epoch", "ids as planned", "not made by haul: bytes not verified"):
                check(part in train["said"], train["said"])
            check({p: os.stat(p).st_mtime_ns for p in sizes} == before, "files were touched")


def test_ready_job_on_existing_data():
    """A job that generates its data can use existing data without that phase."""
    with Folder() as folder:
        sizes = dlio_dataset(folder + "/d", 48)
        ready = job(folder, {"folder": "d"})
        ready["phases"].insert(0, {"generate": {}})
        write_job(folder, ready)
        existing = ("--set", "dataset.names=dlio", "--set", "dataset.sizes=stat")
        r = mpi(2, "run", "job.json", *existing, cwd=folder)
        check(r.rc == 2 and "--skip generate" in r.err, f"{r}")
        r = mpi(2, "run", "job.json", *existing, "--skip", "generate", cwd=folder)
        check(r.rc == 0, f"{r}")
        check(report(folder + "/results.h5")["phases"][0]["bytes_read"] == sum(sizes.values()), "bytes")


def test_evaluation_reads_valid():
    with Folder() as folder:
        sizes = dlio_dataset(folder, 8)
        valid = dlio_dataset(folder, 4, part="valid", seed=2)
        job_ = job(folder, {}, epochs=1, dataset="train", evaluation={"every": 1, "dataset": "valid"})
        common = {"store": "data", "format": "npz", "sample_bytes": 100000, "sizes": "stat"}
        del job_["dataset"]
        job_["datasets"] = {"train": {**common, "files": 8, "names": "dlio"},
                            "valid": {**common, "files": 4, "names": "dlio_valid"}}
        write_job(folder, job_)
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        train = report(folder + "/results.h5")["phases"][0]
        check(train["bytes_read"] == sum(sizes.values()) + sum(valid.values()), f"{train['bytes_read']}")


def trained(folder, store, dataset, sizes, ranks=2, **train):
    j = job(folder, dataset, **train)
    j["stores"]["data"]["uri"] = store
    write_job(folder, j)
    r = mpi(ranks, "run", "job.json", "--force", cwd=folder)
    check(r.rc == 0, f"{r}")
    got = report(folder + "/results.h5")["phases"][0]["bytes_read"]
    check(got == sum(sizes), f"{got} bytes, the files have {sum(sizes)}")


def test_templates_lists_roots():
    with Folder() as folder:
        sizes = []
        for i in range(48):
            path = f"{folder}/d/{i // 10:03d}/picture {i % 10 + 1:02d}.bin"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(os.urandom(1000 + 37 * i))
            sizes.append(1000 + 37 * i)
        raw = {"format": "raw", "sizes": "stat", "sample_bytes": 2000}
        split = "{i/10:03}/picture {i%10+1:02}.bin"
        trained(folder, f"file://{folder}", {**raw, "folder": "d", "names": split}, sizes)
        # Without a folder, names are relative to the root of the store, which may be the root of the file system.
        trained(folder, f"file://{folder}/d", {**raw, "names": split}, sizes)
        trained(folder, f"file://{folder}/d/", {**raw, "names": split}, sizes)
        trained(folder, "file:///", {**raw, "names": f"{folder[1:]}/d/{split}"}, sizes)
        # A list as find prints it, in another order, with the line ends of another system.
        names = [f"./{i // 10:03d}/picture {i % 10 + 1:02d}.bin" for i in range(48)]
        with open(folder + "/list.txt", "w", newline="") as f:
            f.write("\r\n".join(names[::-1]))
        trained(folder, f"file://{folder}", {**raw, "folder": "d", "list": "list.txt"}, sizes)
        # Absolute paths from the root of the file system, and only a part of the list.
        with open(folder + "/absolute.txt", "w") as f:
            f.write("".join(f"{folder}/d/{n[2:]}\n" for n in names))
        trained(folder, "file:///", {**raw, "list": folder + "/absolute.txt"}, sizes)
        trained(folder, "file:///", {**raw, "list": folder + "/absolute.txt", "files": 10}, sizes[:10], batch=1)
        # The same files under two mount points, of which each rank uses its own.
        os.symlink(folder + "/d", folder + "/e")
        trained(folder, [f"file://{folder}/d", f"file://{folder}/e"], {**raw, "names": split}, sizes)


def test_several_samples_in_a_file():
    with Folder() as folder:
        sizes = []
        for i in range(5):
            with open(f"{folder}/{i}.tfrecord", "wb") as f:
                f.write(os.urandom(100003 + i))
            sizes.append(100003 + i)
        trained(folder, f"file://{folder}", {"format": "tfrecord", "names": "{i}.tfrecord", "sizes": "stat", "files": 5,
                                             "samples_per_file": 8, "sample_bytes": 12000}, sizes, batch=4)


def refused(folder, dataset, says, rc=1, **train):
    write_job(folder, job(folder, dataset, **train))
    r = mpi(2, "run", "job.json", "--force", cwd=folder)
    check(r.rc == rc, f"exit status {rc}: {r}")
    check(says in " ".join(r.err.split()), f"\"{says}\" is not in {r.err}")


def test_mismatches_are_reported():
    names = {"folder": "d", "names": "dlio", "sizes": "stat"}
    with Folder() as folder:
        sizes = dlio_dataset(folder + "/d", 48)
        first, last = min(sizes), max(sizes)
        refused(folder, {**names, "files": 49}, "img_00_of_49.npz: is not there; the job says that file 0 of 49 is called so")
        refused(folder, {**names, "sizes": "given"},
                "with \"sizes\": \"stat\" each is taken as it is")
        refused(folder, {**names, "format": "png"}, "img_00_of_48.png: is not there")
        refused(folder, {**names, "names": "train/img_{i:02}_of_{n}.npz", "format": "png"},
                "begins with the bytes 50 4b 03 04 14 00 00 00; png files begin with 89 50 4e 47 0d 0a 1a 0a")
        refused(folder, {"folder": "d", "list": "no.txt", "sizes": "stat"}, "no.txt: No such file or directory")
        with open(folder + "/short.txt", "w") as f:
            f.write("train/img_00_of_48.npz\n")
        refused(folder, {"folder": "d", "list": "short.txt", "sizes": "stat"},
                "short.txt: holds 1 names, the data set has 48 files")
        write_job(folder, job(folder, {**names, "sample_bytes": 10 ** 7}))
        r = mpi(1, "run", "job.json", "--force", cwd=folder)
        check(r.rc == 0 and "the job expects 10 MB" in " ".join(r.err.split()), f"{r}")
        os.truncate(last, 0)
        refused(folder, names, f"{os.path.basename(last)}: is empty")
        os.unlink(first)
        refused(folder, names, f"{os.path.basename(first)}: is not there")


def samples_of(folder, kind, count, files=4):
    """Files of `count` samples of 10 kB each, as other programs write them."""
    if kind == "parquet":
        made = job(folder, {"format": kind, "files": files, "folder": "train", "samples_per_file": count,
                            "sample_bytes": 10000})
        made["phases"] = [{"generate": {}}]
        write_job(folder, made)
        check(mpi(1, "run", "job.json", "--force", cwd=folder).rc == 0, "generate")
        return
    for i in range(files):
        name = f"{folder}/train/img_{i}_of_{files}.{kind}"
        os.makedirs(os.path.dirname(name), exist_ok=True)
        record = numpy.full((100, 100, count), i + 1, dtype=numpy.uint8)
        if kind == "npz":
            numpy.savez(name, x=record, y=[0] * count)
        elif kind == "npy":
            numpy.save(name, record)
        elif kind == "hdf5":
            with h5py.File(name, "w", libver="latest") as f:
                f.create_dataset("records_0", (count, 100, 100), dtype="uint8", data=numpy.ones((count, 100, 100)))
                f.create_dataset("labels", data=[0] * count)
        elif kind == "tfrecord":
            with open(name, "wb") as f:
                for k in range(count):
                    f.write(foreign.record(bytes(10000 + k % 2)))
        elif kind == "csv":
            with open(name, "w") as f:
                for k in range(count):
                    f.write(",".join([str(k)] * 5000) + "\n")
        elif kind == "indexed_binary":
            with open(name, "wb") as f:
                f.write(bytes(10000 * count))
            foreign.indexes(name, [10000] * count)


def test_samples_in_the_files():
    """Files that hold another number of samples than the job says are refused, with the number that they hold."""
    for kind in ("npz", "npy", "hdf5", "tfrecord", "csv", "parquet", "indexed_binary"):
        for count, says, rc in ((4, 4, 0), (4, 5, 1), (4, 1, 1), (1, 2, 1)):
            with Folder() as folder:
                samples_of(folder, kind, count)
                set_ = {"names": "dlio", "format": kind, "files": 4, "samples_per_file": says, "sample_bytes": 10000,
                        "sizes": "stat"}
                write_job(folder, job(folder, set_, batch=1))
                r = mpi(2, "run", "job.json", "--force", cwd=folder)
                check(r.rc == rc, f"{kind}, {count} in a file, the job says {says}: {r}")
                if rc:
                    check(f'"samples_per_file" to {count}' in " ".join(r.err.split()), f"{kind} {says}: {r.err}")
                else:
                    check("each exactly once" in report(folder + "/results.h5")["phases"][0]["said"], "proof")


def test_a_file_that_is_cut_short():
    """A file in the middle of the set that nobody looked at before is damage, and no sample."""
    for stdev in (0, 3000):
        for cut in (100, 9000 if not stdev else 1000):
            with Folder() as folder:
                samples_of(folder, "npy", 1, files=40)
                victim = f"{folder}/train/img_17_of_40.npy"
                os.rename(victim, f"{folder}/x")
                os.makedirs(f"{folder}/train", exist_ok=True)
                # Numbers have as many digits as the number of files.
                for i in range(40):
                    if i != 17:
                        os.rename(f"{folder}/train/img_{i}_of_40.npy", f"{folder}/train/img_{i:02}_of_40.npy")
                os.rename(f"{folder}/x", f"{folder}/train/img_17_of_40.npy")
                set_ = {"names": "dlio", "format": "npy", "files": 40, "sample_bytes": 10000, "sizes": "stat",
                        "sample_bytes_stdev": stdev}
                write_job(folder, job(folder, set_, batch=1))
                check(mpi(1, "run", "job.json", "--force", cwd=folder).rc == 0, "whole files")
                os.truncate(victim, cut)
                r = mpi(1, "run", "job.json", "--force", cwd=folder)
                check(r.rc == 1 and "img_17_of_40.npy" in r.err, f"{stdev} {cut}: {r}")


def test_samples_that_are_dropped():
    """What an epoch leaves out is in every output: text, JSON, CSV and the plan."""
    for files, batch, dropped in ((100, 7, 100 - 7 * 14), (12, 3, 0)):
        with Folder() as folder:
            made = job(folder, {"format": "raw", "files": files, "sample_bytes": 1000}, batch=batch, epochs=2)
            made["stores"]["data"]["uri"] = "mem://x"
            made["phases"].insert(0, {"generate": {}})
            write_job(folder, made)
            r = mpi(1, "run", "job.json", cwd=folder)
            sentence = f"{dropped} of {files} samples dropped in each epoch"
            check(r.rc == 0 and (sentence in r.out) == (dropped > 0), f"{r}")
            train = report(folder + "/results.h5")["phases"][1]
            check(train["measures"]["samples_dropped"] == dropped and (sentence in train["said"]) == (dropped > 0), train)
            csv = subprocess.run([HAUL, "report", "--csv", folder + "/results.h5"], capture_output=True, text=True, check=True)
            names, _, row = (line.split(",") for line in csv.stdout.splitlines())
            check(row[names.index("samples_dropped")] == str(dropped), csv.stdout)


def test_a_part_of_a_set():
    """DLIO reads the first files of a larger set. What is elsewhere, or called otherwise, is told with the remedy."""
    names = {"folder": "d", "names": "dlio", "sizes": "stat"}
    for subfolders in (0, 4):
        with Folder() as folder:
            sizes = list(dlio_dataset(folder + "/d", 48, subfolders).values())
            trained(folder, f"file://{folder}", {**names, "subfolders": subfolders, "files": 16}, sizes[:16])
    with Folder() as folder:
        dlio_dataset(folder + "/d", 48)
        dlio_dataset(folder + "/e", 48, 4)
        for change, word in (({"files": 49}, 'set "files" to 48 at most'), ({"prefix": "pic"}, 'set "prefix" to "img"'),
                             ({"format": "hdf5"}, "files that end with .npz"), ({"folder": "no"}, 'there is nothing in no/train/: look at the store\'s "uri"'),
                             ({"subfolders": 4}, "d/train/ holds files of this set"), ({"folder": "e"}, '"subfolders" (DLIO\'s num_subfolders) to 4'),
                             ({"folder": "e", "subfolders": 3}, "number of subfolders"),
                             ({"folder": "", "names": "d/train/{i}.npz"}, 'holds "img_')):
            refused(folder, {**names, **change}, word)


def test_errors_during_the_training():
    """Errors that the looks at the start do not find: a file in the middle that is missing, empty or truncated."""
    with Folder() as folder:
        for i in range(400):
            with open(f"{folder}/{i}.bin", "wb") as f:
                f.write(b"x" * 5000)
        raw = {"format": "raw", "names": "{i}.bin", "files": 400, "sample_bytes": 5000}
        os.unlink(folder + "/233.bin")
        refused(folder, {**raw, "sizes": "stat"}, "233.bin: No such file or directory (epoch 1")
        open(folder + "/233.bin", "w").close()
        refused(folder, {**raw, "sizes": "stat"}, "233.bin: is empty (epoch 1")
        with open(folder + "/233.bin", "wb") as f:
            f.write(b"x" * 4000)
        refused(folder, {**raw, "sizes": "given"}, "233.bin: ends at byte 4000 of 5000 (epoch 1")


def test_nothing_is_made_or_removed():
    with Folder() as folder:
        sizes = dlio_dataset(folder + "/d", 48)
        making = job(folder, {"folder": "d", "names": "dlio", "sizes": "stat"})
        making["phases"].insert(0, {"generate": {}})
        write_job(folder, making)
        r = mpi(2, "generate", "job.json", cwd=folder)
        check(r.rc == 2 and "these files exist already" in r.err, f"{r}")
        write_job(folder, job(folder, {"folder": "d", "names": "dlio", "sizes": "stat"}))
        r = mpi(2, "clean", "job.json", cwd=folder)
        check(r.rc != 0 and "nothing of it is ever removed" in r.err, f"{r}")
        # A manifest that haul did not write for these files does not allow haul to remove them.
        with open(folder + "/d/.haul-manifest.json", "w") as f:
            f.write('{"haul_manifest": 1, "made_by": "haul 0.1.0", "complete": true, "seed": "3", "dataset": '
                    '{"format": "npz", "files": 48, "sample_bytes": 100000, "folder": "d", "names": "dlio"}}')
        own = job(folder, {"folder": "d"})
        write_job(folder, own)
        r = mpi(2, "clean", "job.json", cwd=folder)
        check(r.rc != 0 and "describes files that haul did not make" in r.err, f"{r}")
        check(all(os.path.getsize(p) == n for p, n in sizes.items()), "files are missing")


main()
