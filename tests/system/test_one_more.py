# SPDX-License-Identifier: Apache-2.0
"""Extension of haul by one more format, kind of phase and store, each of them one line in its table. The format of
docs/add-a-format.md is listed, generated, streamed, verified and decoded, damaged files are found, and Python's tarfile
reads the files. The kind of phase of docs/add-a-workload.md is planned, run, reported and compared with its targets. A
training reads the store of docs/add-a-backend.md, and haul refuses phases that need what this store lacks."""
import os
import tarfile

from haultest import *

FILES, SAMPLES, SIZE = 6, 7, 3001


def job(folder, dataset={}, **train):
    return {"name": "one more", "seed": 7, "stores": {"data": {"uri": f"file://{folder}/data"}},
            "dataset": {"store": "data", "format": "webdataset", "files": FILES, "samples_per_file": SAMPLES,
                        "sample_bytes": SIZE, "webdataset": {"blocks": 40}, **dataset},
            "phases": [{"generate": {}},
                       {"train": {"epochs": 2, "batch": 1, "verify": "full", "null_steps": 0, "decode": "checksum",
                                  "loader": {"kind": "stream", "workers": 1, "stream": {"transfer": "4 KiB"}}, **train}}]}


def made(folder, **more):
    write_job(folder, job(folder, **more))
    r = mpi(2, "run", "job.json", cwd=folder)
    check(r.rc == 0, f"{r}")
    return sorted(f"{folder}/data/{n}" for n in os.listdir(f"{folder}/data") if not n.startswith("."))


def test_listed():
    check(formats()[-1] == "webdataset", f"{formats()}")
    reference = alone("schema", "--reference").out
    check("webdataset" in reference and "this number of blocks" in reference, reference)


def test_made_and_read():
    with Folder() as folder:
        paths = made(folder)
        check([os.path.basename(p) for p in paths] == [f"img_{i}_of_{FILES}.tar" for i in range(FILES)], f"{paths}")
        ids = []
        for path in paths:
            check(os.path.getsize(path) % (40 * 512) == 0, f"{os.path.getsize(path)}")
            with tarfile.open(path) as archive:
                for member in archive:
                    data = archive.extractfile(member).read()
                    ids.append(int.from_bytes(data[:8], "little"))
                    check(len(data) == SIZE and member.name == f"{ids[-1]}.bin" and member.mode == 0o644, f"{member}")
        check(ids == list(range(FILES * SAMPLES)), f"{ids}")
        p = report(f"{folder}/results.h5")["phases"][1]
        # Each epoch reads the archives to their ends, including the zeros after the last sample.
        whole = 2 * sum(os.path.getsize(path) for path in paths)
        check(p["errors"] == 0 and p["bytes_read"] == whole, f"{p['bytes_read']} of {whole}")


def test_options():
    """The option of the format is parsed, has bounds, is recorded with the data set, and is refused for other formats."""
    with Folder() as folder:
        made(folder)
        write_job(folder, job(folder, {"webdataset": {"blocks": 20}}))
        r = mpi(1, "generate", "job.json", cwd=folder)
        check(r.rc != 0 and "was made with webdataset {" in r.err, f"{r}")
        write_job(folder, job(folder, {"webdataset": {"blocks": 0}}))
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc != 0 and "/dataset/webdataset/blocks: must be at least 1, is 0" in r.err, f"{r}")
        write_job(folder, job(folder, {"format": "raw"}))
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc != 0 and 'is for format "webdataset", not for "raw"' in r.err, f"{r}")


def test_refusals():
    with Folder() as folder:
        write_job(folder, job(folder, {"sample_bytes": 1 << 33}))
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc != 0 and "a member of an archive has less than 8 GiB" in r.err, f"{r}")
        other = job(folder, {"format": "npz"})
        del other["dataset"]["webdataset"]
        write_job(folder, other)
        r = alone("plan", "job.json", cwd=folder)
        check("cannot be read as streams; those of these formats can: raw, tfrecord, webdataset" in " ".join(r.err.split()), f"{r}")
        other["phases"][1]["train"]["loader"] = "pytorch"
        other["dataset"]["format"] = "raw"
        write_job(folder, other)
        r = alone("plan", "job.json", cwd=folder)
        check(" ".join(r.err.split()).endswith("mmap_indexed_binary, webdataset"), f"{r}")


def test_magic():
    """haul recognizes archives that it did not make by their magic, which is not at the begin of the file."""
    with Folder() as folder:
        paths = made(folder)
        there = {"names": "img_{i}_of_{n}.tar", "sizes": "stat"}
        write_job(folder, job(folder, there, verify="none", decode="none"))
        r = mpi(2, "run", "job.json", "--skip", "generate", "--force", cwd=folder)
        check(r.rc == 0, f"{r}")
        with open(paths[0], "r+b") as f:
            f.seek(257)
            f.write(b"USTAR")
        r = mpi(2, "run", "job.json", "--skip", "generate", "--force", cwd=folder)
        says = "has the bytes 55 53 54 41 52 at byte 257, where webdataset files have 75 73 74 61 72"
        check(r.rc != 0 and says in " ".join(r.err.split()), f"{r}")
        os.truncate(paths[0], 100)
        r = mpi(2, "run", "job.json", "--skip", "generate", "--force", cwd=folder)
        says = "ends before byte 257, where webdataset files have the bytes 75 73 74 61 72"
        check(r.rc != 0 and says in " ".join(r.err.split()), f"{r}")


def test_wrong_ends():
    """The end of a file is checked, not only that of a sample: haul notices an archive without its zeros, and one with a
    member too few."""
    stride = 512 + -(-SIZE // 512) * 512
    for damage, says in (
            (lambda f: f.seek(SAMPLES * stride) and f.write(b"x" * 512), "has no member where one must begin"),
            (lambda f: f.seek((SAMPLES - 1) * stride) and f.write(bytes(stride)), "has another number of members than samples"),
            (lambda f: f.seek(300) and f.write(b"x"), "a member's head has another checksum")):
        with Folder() as folder:
            paths = made(folder)
            with open(paths[0], "r+b") as f:
                damage(f)
            write_job(folder, job(folder, verify="none"))
            r = mpi(2, "run", "job.json", "--only", "train", "--force", cwd=folder)
            check(r.rc == 1 and f"decode: {says}" in r.err and os.path.basename(paths[0]) in r.err, f"{says}: {r}")


def test_read_only_store():
    """zero:// says that nothing can be written: the plan refuses what writes, and takes what reads."""
    with Folder() as folder:
        zero = {"name": "zero", "stores": {"z": {"uri": "zero://any"}}}
        io = {"objects": 1, "size": "1 MiB", "block": "64 KiB"}
        for phase in ({"generate": {}}, {"io": {**io, "operation": "write"}}, {"io": {**io, "operation": "delete"}},
                      {"checkpoint": {"operation": "write", "model": {"bytes": "1 MiB"}, "mesh": {}, "framing": "raw"}}):
            name = next(iter(phase))
            data = {"dataset": {"format": "raw", "files": 2, "sample_bytes": 1024}} if name == "generate" else {}
            write_job(folder, {**zero, **data, "phases": [phase]})
            r = alone("plan", "job.json", cwd=folder)
            says = f'/phases/0/{name}: store "z" (zero://) cannot be written, which this phase needs'
            check(r.rc == 2 and says in " ".join(r.err.split()), f"{r}")
        write_job(folder, {**zero, "phases": [{"io": {**io, "operation": "read"}}]})
        check(alone("plan", "job.json", cwd=folder).rc == 0, "the plan of a read")


def lookup(folder, **options):
    """A job whose second phase is of the kind that docs/add-a-workload.md adds."""
    return {**job(folder), "phases": [{"generate": {}}, {"lookup": {"passes": 2, "threads": 2, **options}}]}


def test_phase_planned():
    """The options, the targets and the text of the plan come from the tables of the new file."""
    with Folder() as folder:
        write_job(folder, lookup(folder))
        r = alone("plan", "job.json", "--ranks-per-node", "3", cwd=folder)
        check(r.rc == 0 and "lookups" in r.out and "12" in r.out, f"{r}")
        r = alone("plan", "job.json", "--ranks-per-node", "7", cwd=folder)
        check(r.rc == 2 and "/phases/1/lookup: there are more ranks than files" in r.err, f"{r}")
        write_job(folder, lookup(folder))
        r = mpi(2, "run", "job.json", "--publish-every", "1 min", cwd=folder)
        said = report(f"{folder}/results.h5")["phases"][-1]["said"]
        check(r.rc == 0 and "published only now that it has ended: --publish-every has no effect on a phase of this kind" in said, f"{r} {said}")
        write_job(folder, lookup(folder, pases=2))
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc == 2 and 'did you mean "passes"' in r.err, f"{r}")
        reference = alone("schema", "--reference").out
        check("lookup" in reference and "how often every file is asked for" in reference, reference)
        write_job(folder, {**lookup(folder), "stores": {"data": {"uri": "null://x"}}})
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc == 2 and "cannot tell that an object is missing" in " ".join(r.err.split()), f"{r}")


def test_phase_run():
    """Each pass looks up the files of every rank. The report, its JSON and --strict handle the phase."""
    with Folder() as folder:
        write_job(folder, lookup(folder, target_rate=1e12))
        r = mpi(2, "run", "job.json", "--strict", cwd=folder)
        check(r.rc == 8, f"{r}")
        p = report(f"{folder}/results.h5")["phases"][1]
        size = sum(os.path.getsize(f"{folder}/data/{n}") for n in os.listdir(f"{folder}/data") if not n.startswith("."))
        check(p["kind"] == "lookup" and p["operations"] == p["measures"]["found"] == 2 * FILES, f"{p}")
        check(p["measures"]["found_bytes"] == 2 * size and p["measures"]["absent"] == 0 and p["errors"] == 0, f"{p}")
        check(p["latency_ns"]["stat"]["count"] == 2 * FILES and p["figures"]["lookup_rate"] > 0, f"{p}")
        text = alone("report", "results.h5", cwd=folder).out
        check("lookup" in text and "misses the target" in " ".join(text.split()), text)
        os.remove(f"{folder}/data/img_0_of_{FILES}.tar")
        r = mpi(2, "run", "job.json", "--only", "lookup", "--force", "--set", "lookup.target_rate=0", cwd=folder)
        check(r.rc == 0 and "2 lookups found no file" in " ".join((r.out + r.err).split()), f"{r}")
        check(report(f"{folder}/results.h5")["phases"][0]["measures"]["absent"] == 2, "missing files were not counted")


def test_store():
    """The store of one source file: its option is parsed, and a training reads its objects, which haul did not make."""
    with Folder() as folder:
        zero = {"name": "zero", "stores": {"data": {"uri": "zero://x", "size": "64 KiB"}},
                "dataset": {"format": "raw", "files": 8, "sample_bytes": "64 KiB", "names": "object_{i}", "sizes": "stat"},
                "phases": [{"train": {"epochs": 1, "batch": 2, "null_steps": 0}}]}
        write_job(folder, zero)
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        p = report(f"{folder}/results.h5")["phases"][0]
        check(p["errors"] == 0 and p["bytes_read"] == 8 * 65536, f"{p}")
        zero["stores"]["data"]["size"] = "16 KiB"
        write_job(folder, {**zero, "dataset": {**zero["dataset"], "sizes": "given"}})
        r = mpi(2, "run", "job.json", "--force", cwd=folder)
        check(r.rc == 1 and "16384" in r.err and "65536" in r.err, f"{r}")
        write_job(folder, {**zero, "phases": [{"io": {"operation": "list"}}]})
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc == 2 and "cannot list" in " ".join(r.err.split()), f"{r}")
        zero["stores"]["data"]["size"] = 0
        write_job(folder, zero)
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc == 2 and "/stores/data/size: must be at least 1" in r.err, f"{r}")


main()
