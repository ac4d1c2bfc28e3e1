# SPDX-License-Identifier: Apache-2.0
"""Samples of files that other programs made: haul says "each exactly once" only where it has counted them in the files
themselves. Drawn pairs of a format and a damage: each is found, or its samples are "by size" or "as planned"."""
import os
import shutil

import h5py

import foreign
from haultest import *

FILES = 3


def too_few(kind, files, rng, count, size):
    return count + rng.randrange(1, 4)


def too_many(kind, files, rng, count, size):
    return count - rng.randrange(1, count)


def one_other(kind, files, rng, count, size):
    """One file of the set holds another number of samples."""
    names = files[rng.randrange(FILES)]
    foreign.WRITERS[kind][0](rng, names[0], count + rng.choice((-1, 1, 2)), size)
    return count


def cut(kind, files, rng, count, size):
    name = files[rng.randrange(FILES)][0]
    n = os.path.getsize(name)
    # A cut in zeros that fill up the end of a file is none.
    os.truncate(name, n - rng.randrange(1, min(n - 1, n // count)))
    return count


def sparse(kind, files, rng, count, size):
    foreign.with_holes(files[rng.randrange(FILES)][0])
    return count


def no_blocks(kind, files, rng, count, size):
    """The right size, and nothing in it, as after a crash."""
    name = files[rng.randrange(FILES)][0]
    n = os.path.getsize(name)
    os.unlink(name)
    with open(name, "wb") as f:
        f.truncate(n)
    return count


def index_missing(kind, files, rng, count, size):
    os.unlink(rng.choice(files[rng.randrange(FILES)][1:]))
    return count


def index_of_another(kind, files, rng, count, size):
    """The index is of a file that holds another number of samples, or others."""
    names = files[rng.randrange(FILES)]
    beside = [name.replace("/f", "/other/f") for name in names]
    os.makedirs(os.path.dirname(beside[0]), exist_ok=True)
    more = {"index": True} if kind == "tfrecord" else {}
    other = foreign.WRITERS[kind][0](rng, beside[0], count + rng.randrange(3), size + 64, **more)
    for name in names[1:]:
        os.unlink(name)
    for name in other[1:]:
        shutil.move(name, name.replace("/other/f", "/f"))
    return count


def index_cut(kind, files, rng, count, size):
    name = rng.choice(files[rng.randrange(FILES)][1:])
    # Without the end of its last line, an index of lines says the same.
    os.truncate(name, os.path.getsize(name) - rng.randrange(2, 9))
    return count


def whole(kind, files, rng, count, size):
    return count


ANY = (too_few, too_many, one_other, cut, sparse, no_blocks)
INDEX = (index_missing, index_of_another, index_cut)


def drawn(rng, kind, damage):
    """(exit status, what the run said, samples_known of the report, the doubts, bytes read, bytes of all files)."""
    writer, ending, fmt, _ = foreign.WRITERS[kind]
    count = 1 if kind in foreign.SINGLE and damage is not one_other else rng.randrange(2, 7)
    size = rng.randrange(20000, 40000) // 4 * 4 if damage is sparse else rng.randrange(1500, 3000) // 4 * 4
    if kind in foreign.SINGLE:
        count, size = 1, 60000 if damage is sparse else size
    with Folder() as folder:
        os.makedirs(folder + "/d")
        more = {"index": True} if kind == "tfrecord" and damage in INDEX else {}
        files = [writer(rng, f"{folder}/d/f{i}.{ending}", count, size, **more) for i in range(FILES)]
        says = damage(kind, files, rng, count, size)
        job = {"name": "counted", "seed": 3, "stores": {"data": {"uri": f"file://{folder}"}},
               "dataset": {"store": "data", "folder": "d", "names": "f{i}." + ending, "format": fmt, "files": FILES,
                           "sizes": "stat", "samples_per_file": says, "sample_bytes": size, "sample_bytes_stdev": size // 8},
               "phases": [{"train": {"batch": 1, "null_steps": 0, "loader": {"workers": 1}}}]}
        write_job(folder, job)
        r = mpi(1 if damage is whole else rng.choice((1, 1, 2)), "run", "job.json", cwd=folder)
        results = report(folder + "/results.h5") if os.path.exists(folder + "/results.h5") else {"phases": []}
        everything = sum(os.path.getsize(n) for names in files for n in names if os.path.exists(n))
        return r, results, everything


def judge(kind, damage, r, results, everything):
    told = f"{kind}, {damage.__name__}: {r}"
    check(r.rc in (0, 1), told)
    if r.rc == 1:
        check(damage is not whole, "what is whole was refused: " + told)
        check("f0." in r.err or "f1." in r.err or "f2." in r.err, "no file is named: " + told)
        return
    phase, = results["phases"]
    known = phase["samples_known"]
    counted = damage is whole and foreign.WRITERS[kind][3]
    check((known["claim"] == "held") == counted, f"{known} {told}")
    check(("each exactly once" in phase["said"]) == counted, f"{phase['said']} {told}")
    check(("each exactly once" in r.out) == counted, told)
    check(known["evidence"] and (counted or known["missing"]), f"{known} {told}")
    if damage is whole:
        check(known["how"] == ("counted" if counted else known["how"]), f"{known} {told}")
        beside = kind in ("indexed_binary", "mmap_indexed_binary")
        if beside or kind in ("hdf5", "npz", "npy", "parquet", "raw", "safetensors", "csv", *foreign.SINGLE):
            check(phase["bytes_read"] >= everything, f"{phase['bytes_read']} of {everything} bytes: {told}")
        if kind == "megatron":
            check(phase["measures"]["count_bytes"] > 0, f"the index was not read: {told}")
    if damage in (sparse, no_blocks):
        check(phase["measures"]["hole_bytes"] > 0 or known["how"] != "counted", f"{known} {told}")
    # What has an index is not read without it, or beside another's.
    check(damage not in INDEX or kind == "tfrecord" and damage is index_missing, "an index was taken: " + told)


def pairs():
    for kind in foreign.WRITERS:
        for damage in (whole, *ANY, *(INDEX if kind in ("indexed_binary", "mmap_indexed_binary", "megatron", "tfrecord") else ())):
            # A picture is one sample, and a file of another program's is not one of fewer.
            if kind in foreign.SINGLE and damage in (too_many, one_other):
                continue
            yield kind, damage


@matrix
def test_drawn_pairs():
    rng = random.Random(SEED)
    cases = list(pairs())
    for i in range(200 if FULL else 20):
        kind, damage = cases[i] if FULL and i < len(cases) else rng.choice(cases)
        # The file is whole, but the index is not missed: its records are followed.
        if kind == "tfrecord" and damage is index_missing:
            damage = index_of_another
        judge(kind, damage, *drawn(rng, kind, damage))


def test_by_size_and_as_planned():
    """Files without a header: their size says how many samples of one size they hold, else nobody does."""
    for size, how in ((1000, "by size"), (999, "as planned")):
        with Folder() as folder:
            for i in range(FILES):
                foreign.save(f"{folder}/{i}.bin", bytes(4000))
            write_job(folder, {"name": "sizes", "stores": {"data": {"uri": f"file://{folder}"}},
                               "dataset": {"format": "raw", "names": "{i}.bin", "files": FILES, "sizes": "stat",
                                           "samples_per_file": 4, "sample_bytes": size},
                               "phases": [{"train": {"batch": 1, "null_steps": 0}}]})
            r = mpi(1, "run", "job.json", cwd=folder)
            check(r.rc == 0 and f"12 samples {how}, each asked for once an epoch" in " ".join(r.out.split()), f"{r}")
            known = report(folder + "/results.h5")["phases"][0]["samples_known"]
            check(known["how"] == how and known["claim"] == "unknown" and known["missing"], f"{known}")


def test_the_same_everywhere():
    """The sentence, /summary, JSON and the page say the same of it."""
    with Folder() as folder:
        rng = random.Random(1)
        for i in range(FILES):
            foreign.npy(rng, f"{folder}/{i}.npy", 4, 1000)
        for says, how in ((4, "counted"), (4, "as planned")):
            if how == "as planned":
                for i in range(FILES):
                    foreign.save(f"{folder}/{i}.npy", b"\x93NUMPY\x01\0\x06\0{    }", bytes(4000))
            write_job(folder, {"name": "same", "stores": {"data": {"uri": f"file://{folder}"}},
                               "dataset": {"format": "npy", "names": "{i}.npy", "files": FILES, "sizes": "stat",
                                           "samples_per_file": says, "sample_bytes": 1000},
                               "phases": [{"train": {"batch": 1, "null_steps": 0}}]})
            r = mpi(1, "run", "job.json", "--force", cwd=folder)
            check(r.rc == 0, f"{r}")
            path = folder + "/results.h5"
            with h5py.File(path) as f:
                check(f["summary"]["samples"][0].decode() == how, f["summary"][0])
            check(report(path)["phases"][0]["samples_known"]["how"] == how, "JSON")
            page = folder + "/page.html"
            alone("report", "--html", page, path)
            with open(page, encoding="utf-8") as f:
                text = f.read()
            check(f'"{how}"' in text, "the page")


main()
