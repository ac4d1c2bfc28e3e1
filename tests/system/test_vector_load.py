# SPDX-License-Identifier: Apache-2.0
"""An index loaded: every byte of it once, in slices, into another store or nowhere; searches find what was loaded, wrong
bytes are found, and what did not get whole is not searched."""
import filecmp
import os

from haultest import *

SHAPE = {"vectors": 6000, "segments": 3, "dimension": 100, "degree": 30}
NODE = 100 * 4 + 31 * 4
SIZE = 4096 + -(-2000 // (4096 // NODE)) * 4096
SLICE = 256 << 10
FILES = [f"00000{i}_disk.index" for i in range(3)]


def job_of(folder, *phases, engine="psync", **near):
    return {"name": "vectors", "seed": 5,
            "stores": {"far": {"uri": f"file://{folder}/far"}, "near": {"uri": f"file://{folder}/near", "engine": engine, **near}},
            "phases": [{"vector": {**SHAPE, **p}} for p in phases]}


BUILD = {"operation": "build", "store": "far"}
SEARCH = {"operation": "search", "store": "near", "count": 20, "list": 20, "verify": "full"}


def load(**more):
    return {"operation": "load", "store": "far", "slice": SLICE, "threads": 2, "depth": 3, "verify": "full", **more}


def run(folder, job, ranks=1, *more):
    write_job(folder, job)
    return mpi(ranks, "run", "job.json", "--results", "results.h5", "--force", *more, cwd=folder)


def test_every_byte_once():
    """Slices counted by hand, from the size of the files; what was loaded is the same, byte for byte, and is searched."""
    slices = -(-SIZE // SLICE)
    for ranks in (1, 2):
        with Folder() as folder:
            r = run(folder, job_of(folder, BUILD, load(), load(to="near"), SEARCH), ranks)
            check(r.rc == 0, f"{r}")
            build, only, copy, search = report(f"{folder}/results.h5")["phases"]
            check([os.path.getsize(f"{folder}/far/vectors/{f}") for f in FILES] == [SIZE] * 3, "sizes of the files")
            check(build["measures"]["builder_bytes"] == int(1.1 * 2000 * (400 + 1.3 * 4 * 30)), f"{build['measures']}")
            check(build["figures"]["bytes_per_write"] * build["measures"]["writes"] == 3 * SIZE, f"{build['figures']}")
            for p in (only, copy):
                m = p["measures"]
                check(m["reads"] == 3 * slices and m["loaded_bytes"] == p["bytes_read"] == 3 * SIZE, f"{m}")
                check(p["operations"] == 3 * slices and p["errors"] == 0, f"{p['operations']}")
                check(0 < m["done_ns"] <= m["ready_ns"], f"{m}")
                near(p["figures"]["load_rate"] * m["ready_ns"] / 3e9 / SIZE, 1, 1e-9, "load_rate")
                near(p["figures"]["time_to_search"], m["ready_ns"] / 1e9, 1e-9, "time_to_search")
            check(only["measures"]["writes"] == 0 and only["bytes_written"] == 0, f"{only['measures']}")
            check(copy["measures"]["writes"] == 3 * slices and copy["bytes_written"] == 3 * SIZE, f"{copy['measures']}")
            check("the first search could begin after" in copy["said"], copy["said"])
            _, differ, missing = filecmp.cmpfiles(f"{folder}/far/vectors", f"{folder}/near/vectors", FILES, shallow=False)
            check(not differ and not missing, f"{differ} {missing}")
            check(search["measures"]["queries"] == 20 * ranks and search["errors"] == 0, f"{search['measures']}")
            r = alone("clean", "job.json", cwd=folder)
            check(r.rc == 0 and names_in(f"{folder}/far") == names_in(f"{folder}/near") == [], f"{r}")


def test_mapped():
    """A file that is mapped is warmed up by touching it; with cold caches nothing of it is there before."""
    with Folder() as folder:
        job = job_of(folder, {**BUILD, "store": "near"}, load(store="near", slice=SIZE), load(store="near", cold={"evidence": "1 MiB"}),
                     engine="mmap")
        r = run(folder, job)
        check(r.rc == 0, f"{r}")
        _, whole, again = report(f"{folder}/results.h5")["phases"]
        check(whole["measures"]["reads"] == 3 and whole["bytes_read"] == 3 * SIZE, f"{whole['measures']}")
        check(again["bytes_read"] == 3 * SIZE, f"{again['bytes_read']}")


def test_wrong_bytes():
    with Folder() as folder:
        check(run(folder, job_of(folder, BUILD)).rc == 0, "build")
        path, at = f"{folder}/far/vectors/{FILES[1]}", SLICE + 12345
        with open(path, "r+b") as f:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 1]))
        r = run(folder, job_of(folder, load(to="near"), SEARCH))
        check(r.rc != 0 and f"{FILES[1]}: payload differs at byte {at}" in " ".join(r.err.split()), f"{r}")
        r = run(folder, job_of(folder, SEARCH))
        check(r.rc != 0 and "was not built to its end; build it, or load it, again" in r.err, f"{r}")
        r = run(folder, job_of(folder, load(on_error="count")))
        p, = report(f"{folder}/results.h5")["phases"]
        check(p["errors"] == p["measures"]["payload_errors"] == 1, f"{p['errors']} {p['measures']}")
        end = SIZE // SLICE * SLICE + 100  # in the last slice, since others that are wrong may be the first to say so
        os.truncate(path, end)
        r = run(folder, job_of(folder, load(to="near", verify="none")))
        check(r.rc != 0 and f"{FILES[1]}: ends at byte {end} of {SIZE}" in " ".join(r.err.split()), f"{r}")


def test_refusals():
    with Folder() as folder:
        for more, says in (({"to": "far"}, "is the store that the index is loaded from"), ({"to": "nowhere"}, 'there is no store "nowhere"'),
                           ({"to": "near", "slice": 5000}, "is not a multiple of 4096 bytes"),
                           ({"store": "model", "to": "near"}, "has none")):
            job = job_of(folder, load(**more))
            job["stores"]["model"] = {"uri": "sim://model"}
            write_job(folder, job)
            r = alone("plan", "job.json", cwd=folder)
            check(r.rc != 0 and says in r.err, f"{r}")
        r = run(folder, job_of(folder, load()))
        check(r.rc != 0 and "has no index; build it first" in r.err, f"{r}")


def test_known_time():
    """On a store of 100 MB/s a load takes as long as its bytes do."""
    with Folder() as folder:
        job = {"stores": {"s": {"uri": "sim://s", "bandwidth": "100 MB/s"}}, "phases": [{"vector": {**SHAPE, **load(verify="none")}}]}
        del job["phases"][0]["vector"]["store"]
        r = run(folder, job)
        check(r.rc == 0, f"{r}")
        p, = report(f"{folder}/results.h5")["phases"]
        check(p["bytes_read"] == 3 * SIZE, f"{p}")
        check(p["measures"]["ready_ns"] >= 3 * SIZE * 10, f"{p['measures']['ready_ns']}")


def test_full_disk():
    """A copy that does not fit is refused before, or ends in a sentence that names the file; the index it came from stays."""
    with Folder() as folder, Tmpfs("2m") as small:
        if not small:
            return
        job = job_of(folder, BUILD, load(to="near"))
        job["stores"]["near"] = {"uri": f"file://{small}/near"}
        r = run(folder, job)
        check(r.rc == 2 and "not enough space" in r.err, f"{r}")
        r = run(folder, job, 2, "--ignore-space")
        check(r.rc == 1 and "No space left" in r.err and f"{small}/near/vectors/" in " ".join(r.err.split()), f"{r}")
        check([os.path.getsize(f"{folder}/far/vectors/{f}") for f in FILES] == [SIZE] * 3, "sizes of the files")
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and names_in(f"{folder}/far") == names_in(f"{small}/near") == [], f"{r}")


if __name__ == "__main__":
    main()
