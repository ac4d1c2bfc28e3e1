# SPDX-License-Identifier: Apache-2.0
"""Plain I/O (phase io): its counts are those of strace, its data compress and deduplicate as asked for, the first and the
last rank to finish are timed, and the report compares plain I/O with a training."""
import collections
import hashlib
import math
import os
import re
import shutil
import subprocess
import zlib

from haultest import *

CALLS = "openat,close,pread64,pwrite64,stat,newfstatat,rename,unlink,getdents64"


# strace before 6.6 prints only the number of cachestat.
LOOKS = r"(cachestat|syscall_0x1c3|mincore)\("


def io(operation, **more):
    return {"io": {"operation": operation, **more}}


def traced(folder, ranks, only, trace=CALLS):
    """Runs one phase under strace; returns the ranks' system calls on the objects, and the bytes that they moved."""
    args = command(ranks, "run", "job.json", "--only", only, "--force")
    at = args.index(HAUL)
    for name in os.listdir(folder):
        if name.startswith("trace."):
            os.unlink(os.path.join(folder, name))
    strace = ["strace", "-ff", "-y", "-e", "trace=" + trace, "-o", os.path.join(folder, "trace")]
    r = subprocess.run(args[:at] + strace + args[at:], cwd=folder, capture_output=True, text=True, timeout=HANGS_S,
                       env=environment())
    check(r.returncode == 0, f"{only}: {r.stdout} {r.stderr}")
    calls, moved = collections.Counter(), collections.Counter()
    for name in os.listdir(folder):
        if not name.startswith("trace."):
            continue
        with open(os.path.join(folder, name), errors="replace") as f:
            for line in f:
                if re.match(LOOKS, line):
                    calls["looks"] += 1
                m = re.match(r"(\w+)\(.*?/data/io/(\d{7}\.\d{10}|shared|[\">])", line)
                if not m:
                    continue
                calls[m.group(1)] += 1
                size = re.search(r"\) = (\d+)$", line.strip())
                if m.group(1) in ("pread64", "pwrite64") and size:
                    moved[m.group(1)] += int(size.group(1))
    return calls, moved


@matrix
def test_counts_equal_strace():
    common = {"objects": 3, "size": 40960, "block": 4096}
    shared = {"layout": "strided", "size": 47008 * 5, "block": 47008, "folder": "io"}
    for ranks, layout in some(((2, common), (1, common), (3, common), (2, shared)), 3):
        with Folder() as folder:
            names = ("write", "read", "random", "mixed", "stat", "rename", "list", "delete")
            kinds = {"write": ("write", {}), "read": ("read", {"verify": "full"}),
                     "random": ("read", {"order": "random", "threads": 2}),
                     "mixed": ("mixed", {"order": "replacement", "count": 20}), "stat": ("stat", {}),
                     "rename": ("rename", {}), "list": ("list", {}), "delete": ("delete", {})}
            if layout is shared:
                names = tuple(n for n in names if n not in ("rename", "list"))
            write_job(folder, {"name": "io", "stores": {"d": {"uri": f"file://{folder}/data"}},
                               "phases": [io(kinds[n][0], name=n, **layout, **kinds[n][1]) for n in names]})
            for n in names:
                calls, moved = traced(folder, ranks, n)
                p = report(f"{folder}/results.h5")["phases"][0]
                m, what = p["measures"], f"{ranks} ranks, {n}"
                check(m["reads"] == calls["pread64"], f"{what}: {m['reads']} reads, strace {calls}")
                check(m["writes"] == calls["pwrite64"], f"{what}: {m['writes']} writes, strace {calls}")
                check(p["bytes_read"] == moved["pread64"], f"{what}: {p['bytes_read']} bytes, strace {moved}")
                check(p["bytes_written"] == moved["pwrite64"], f"{what}: {p['bytes_written']} bytes, strace {moved}")
                # The open of the first object fails where the folder is missing, and is made again.
                again = calls["openat"] - m["opens"] - m["creates"]
                if n not in ("list",):
                    check(0 <= again <= (ranks if n == "write" else 0), f"{what}: {m}, strace {calls}")
                    check(m["closes"] == calls["close"], f"{what}: {m['closes']} closes, strace {calls}")
                check(m["renames"] == calls["rename"], f"{what}: {m['renames']} renames, strace {calls}")
                check(m["deletes"] == calls["unlink"], f"{what}: {m['deletes']} deletes, strace {calls}")
                if n == "stat":
                    seen = calls["stat"] + calls["newfstatat"]
                    check(m["stats"] == seen == ranks * layout.get("objects", 1), f"{what}: {m['stats']}, {calls}")
                if n == "list":
                    check(m["entries"] == 3 * ranks * ranks, f"{what}: {m['entries']} entries")
                done = m["opens"] + m["reads"] + m["writes"] + m["closes"] + m["stats"] + m["creates"] + \
                    m["renames"] + m["lists"] + m["deletes"]
                check(m["store_requests"] == done, f"{what}: {m['store_requests']} requests, {done} by kind")
                check(p["operations"] == m["done"], f"{what}: {p['operations']} operations, {m['done']} done")
            check(not os.path.exists(f"{folder}/data/io"), f"{ranks} ranks: objects or their folder remain")


def test_evidence_costs_only_looks():
    """Reads with evidence make the same system calls as those without, and one more for each look."""
    with Folder(os.getcwd()) as folder:
        common = {"objects": 3, "size": "1 MiB", "block": "256 KiB"}
        write_job(folder, {"name": "io", "stores": {"d": {"uri": f"file://{folder}/data"}}, "phases": [
            io("write", name="write", **common), io("read", name="off", cold={"evidence": 0}, **common),
            io("read", name="on", cold={"evidence": "64 KiB"}, **common)]})
        r = mpi(2, "run", "job.json", "--only", "write", cwd=folder)
        check(r.rc == 0, f"{r}")
        seen = {}
        for name, least, most in (("off", 0, 0), ("on", 80, 116)):
            calls, moved = traced(folder, 2, name, "all")
            p = report(f"{folder}/results.h5")["phases"][0]
            looks = calls.pop("looks", 0)
            check(least <= looks <= most, f"{name}: {looks} looks")
            check(p["measures"]["resident_sampled_bytes"] == 4096 * looks, f"{name}: {looks}, {p['measures']}")
            seen[name] = {c: calls[c] for c in CALLS.split(",")}, moved
        check(seen["on"] == seen["off"], f"{seen}")
        check(seen["on"][0]["pread64"] == 24, f"{seen}")


def test_compress_and_dedup():
    """The data compress and deduplicate as asked for, in blocks of 4 KiB, as a store would do it."""
    for compress, dedup in ((1, 1), (2, 1), (1, 2), (4, 1.5)):
        with Folder() as folder:
            write_job(folder, {"name": "io", "stores": {"d": {"uri": f"file://{folder}/data"}}, "phases": [
                io(what, objects=4, size="3 MiB", compress=compress, dedup=dedup, dedup_distance="1 MiB", verify="full",
                   name=what) for what in ("write", "read")]})
            r = mpi(2, "run", "job.json", cwd=folder)
            check(r.rc == 0, f"{r}")
            blocks = []
            for name in sorted(os.listdir(f"{folder}/data/io")):
                if name.startswith("."):
                    continue
                with open(f"{folder}/data/io/{name}", "rb") as f:
                    data = f.read()
                blocks += [data[i:i + 4096] for i in range(0, len(data), 4096)]
            check(len(blocks) == 8 * 768, f"{len(blocks)} blocks")
            for block in blocks[::7]:
                found = len(block) / len(zlib.compress(block))
                check(0.9 * compress < found < 1.01 * compress, f"compress {compress}: {found:.2f}")
            unique = len({hashlib.sha256(b).digest() for b in blocks})
            near(len(blocks) / unique, dedup, 0.03 * dedup, f"dedup {dedup}")


@timing
def test_first_and_last_done():
    """Ranks have 100 MB/s each, and the last one 30 MB/s: a block of 1 MiB takes 10.49 and 34.95 ms. When the first of
    several fast ranks ends, the others may have one more block to read."""
    for ranks in (2, 4):
        with Folder() as folder:
            write_job(folder, {
                "name": "io",
                "stores": {"d": {"uri": "sim://s", "rank_bandwidth": "100 MB/s", "slow_ranks": {str(ranks - 1): 0.3}}},
                "phases": [io("read", size="32 MiB", name="read")]})
            r = mpi(ranks, "run", "job.json", cwd=folder)
            check(r.rc == 0, f"{r}")
            p = report(f"{folder}/results.h5")["phases"][0]
            m, figures, took = p["measures"], p["figures"], machine_took_s(folder, p)
            fast, first, last = 32 * 2**20 / 100e6, (ranks - 1) * 32 + 9, ranks * 32
            near(m["first_done_ns"] / 1e9, fast, 0.005 + took, "first done")
            near(m["last_done_ns"] / 1e9, fast / 0.3, 0.02 + took, "last done")
            blocks = ranks * math.ceil(took / 0.0105 - 0.2)  # blocks that may be done in that time
            check(m["done"] == last and first - (ranks - 2) - blocks <= m["first_done"] <= first + blocks,
                  f"{m['first_done']} of {m['done']}, wanted {first} of {last}")
            seconds = m["first_done_ns"] / 1e9, m["last_done_ns"] / 1e9
            near(figures["bytes_rate_first_done"], m["first_done_parts"] / 65536 * 2**20 / seconds[0], 1e6, "GB/s first")
            near(figures["bytes_rate_last_done"], last * 2**20 / seconds[1], 1e6, "GB/s last")


@matrix
def test_shift():
    """The rank that finds a wrong byte in the object of rank 0 shows which rank reads that object."""
    for ranks, nodes, shift, reader, node in some(((2, 2, "node", 1, 1), (4, 2, "node", None, 1), (4, 1, "rank", 3, 0),
                                                   (6, 3, "node", None, None), (4, 2, "none", 0, 0),
                                                   (3, 1, "node", 0, 0)), 2):
        with Folder() as folder:
            write_job(folder, {"name": "io", "stores": {"d": {"uri": f"file://{folder}/data"}}, "phases": [
                io("write", size="1 MiB", name="write"),
                io("read", size="1 MiB", name="read", shift=shift, verify="full", on_error="count")]})
            r = mpi(ranks, "run", "job.json", "--fake-nodes", nodes, "--only", "write", cwd=folder)
            check(r.rc == 0, f"{r}")
            with open(f"{folder}/data/io/0000000.0000000000", "r+b") as f:
                byte = f.read(1)
                f.seek(0)
                f.write(bytes([byte[0] ^ 1]))
            r = mpi(ranks, "run", "job.json", "--fake-nodes", nodes, "--only", "read", "--force", cwd=folder)
            p = report(f"{folder}/results.h5")["phases"][0]
            what = f"{ranks} ranks, {nodes} nodes, {shift}: {p['failures']}"
            check(r.rc == 0 and p["errors"] == 1 and p["measures"]["reads"] == ranks, what)
            found = p["failures"][0]
            check(reader is None or found["rank"] == reader, what)
            check(found["node"] == node if node is not None else found["node"] != 0, what)


@timing
def test_beside_a_training():
    with Folder() as folder:
        write_job(folder, {
            "name": "both", "stores": {"a": {"uri": "sim://a", "rank_bandwidth": "100 MB/s"}, "b": {"uri": "null://b"}},
            "dataset": {"store": "a", "files": 40, "sample_bytes": "100 kB", "format": "raw"},
            "phases": [{"io": {"operation": "read", "store": "b", "size": "64 MiB", "name": "other"}},
                       {"train": {"batch": 2, "compute": "20 ms", "null_steps": 0}},
                       {"io": {"operation": "read", "store": "a", "size": "8 MiB", "name": "ceiling"}}]})
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        check("Plain reads take" in r.out and "(ceiling); training took" in r.out, r.out)
        check("plain I/O" in r.out, r.out)
        phases = report(f"{folder}/results.h5")["phases"]
        ceiling, took = phases[1]["ceiling"], machine_took_s(folder, phases[2])
        check(ceiling["phase"] == "ceiling", f"{ceiling}")
        near(ceiling["bytes_per_second"], 200e6, 20e6 + 200e6 * took / phases[2]["seconds"], "ceiling")
        check(0 < ceiling["share"] < 1, f"{ceiling}")


def test_one_flipped_byte():
    with Folder() as folder:
        write_job(folder, {"name": "io", "stores": {"d": {"uri": f"file://{folder}/data"}}, "phases": [
            io("write", objects=2, size="1 MiB", name="write"),
            io("read", objects=2, size="1 MiB", name="read", verify="full")]})
        r = mpi(2, "run", "job.json", "--only", "write", cwd=folder)
        check(r.rc == 0, f"{r}")
        path = f"{folder}/data/io/0000001.0000000001"
        for at in (0, 4095, 4096, 777777, 2**20 - 1):
            with open(path, "r+b") as f:
                f.seek(at)
                byte = f.read(1)
                f.seek(at)
                f.write(bytes([byte[0] ^ 4]))
            r = mpi(2, "run", "job.json", "--only", "read", "--force", cwd=folder)
            check(r.rc == 1 and f"payload differs at byte {at}" in r.err and "0000001.0000000001" in r.err, f"{r}")
            with open(path, "r+b") as f:
                f.seek(at)
                f.write(byte)
        r = mpi(2, "run", "job.json", "--only", "read", "--force", cwd=folder)
        check(r.rc == 0, f"{r}")


def test_interrupted():
    """The objects of an interrupted run can be read as far as they were written, and are all deleted."""
    with Folder() as folder:
        common = {"objects": 2, "size": "4 MiB", "block": "64 KiB"}
        write_job(folder, {"name": "io", "stores": {"d": {"uri": f"file://{folder}/data"}}, "phases": [
            io("write", name="write", bandwidth="4 MB/s", **common),
            io("read", name="read", verify="full", **common), io("delete", name="delete", **common)]})
        began = time.monotonic()
        p = start(2, "run", "job.json", "--only", "write", "--grace", "60 s", cwd=folder)
        first = [f"{folder}/data/io/000000{rank}.0000000000" for rank in range(2)]
        while p.poll() is None and not all(os.path.exists(n) and os.path.getsize(n) >= 1 << 18 for n in first):
            time.sleep(0.02)
        p.terminate()
        finish(p, began)
        check(report(f"{folder}/results.h5")["status"] == "interrupted", "the run was not interrupted")
        r = mpi(2, "run", "job.json", "--skip", "write", "--force", cwd=folder)
        check(r.rc == 0, f"{r}")
        read, deleted = report(f"{folder}/results.h5")["phases"]
        check(0 < read["measures"]["done"] < 256 and read["errors"] == 0, f"{read['measures']}")
        check("not written to their end" in read["said"], read["said"])
        check(not os.path.exists(f"{folder}/data/io"), "objects remain")


def test_clean():
    """haul clean, with another number of ranks, removes the objects in the description, also a renamed one. It leaves
    foreign files and files of another size."""
    with Folder() as folder:
        data = f"{folder}/data"
        common = {"objects": 5, "size": 8192, "block": 4096}
        write_job(folder, {"name": "io", "stores": {"d": {"uri": f"file://{data}"}}, "phases": [
            io("write", name="write", **common), io("read", name="read", **common),
            io("create", name="create", folder="names", folder_per_rank=True, objects=4),
            io("write", name="shared", folder="one", layout="strided", size=8192, block=4096)]})
        r = mpi(3, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        os.rename(f"{data}/io/0000001.0000000003", f"{data}/io/0000001.0000000003.renamed")
        with open(f"{data}/io/mine", "w") as f:
            f.write("foreign")
        with open(f"{data}/io/0000002.0000000004", "a") as f:
            f.write("longer than haul made it")
        r = mpi(2, "clean", "job.json", cwd=folder)
        check(r.rc == 0 and "removed 27 files, " in r.out and
              "; left 1 file that is not as haul made it, as " in r.out and "/io/0000002.0000000004" in r.out, f"{r}")
        check(names_in(data) == ["io"], f"{os.listdir(data)}")
        check(names_in(f"{data}/io") == [".haul-io.json", "0000002.0000000004", "mine"],
              f"{os.listdir(data + '/io')}")
        shutil.rmtree(data)
        for left in ("io/.haul-io.json.haul-0123abcd", "names/mine"):
            # A run was killed before its description was published.
            os.makedirs(os.path.dirname(f"{data}/{left}"))
            with open(f"{data}/{left}", "w") as f:
                f.write("{")
        r = mpi(2, "clean", "job.json", cwd=folder)
        check(r.rc == 0 and names_in(data) == ["io", "names"] and not names_in(f"{data}/io") and
              names_in(f"{data}/names") == ["mine"], f"{r}: folders of others stay")
        j = {"name": "io", "stores": {"d": {"uri": f"file://{data}"}}, "phases": [
                {"generate": {}}, io("write", folder="two", **common)],
             "dataset": {"store": "d", "format": "raw", "files": 2, "sample_bytes": 100, "folder": "set"}}
        write_job(folder, j)
        r = mpi(2, "run", "job.json", "--only", "io", "--force", cwd=folder)
        check(r.rc == 0, f"{r}")
        os.mkdir(f"{data}/set")
        open(f"{data}/set/mine", "w").close()
        r = mpi(2, "clean", "job.json", cwd=folder)
        check(r.rc == 1 and "all of it stays; elsewhere 10 files were removed" in " ".join(r.err.split()),
              f"{r}")
        check(names_in(f"{data}/set") == ["mine"], f"{r}")


def test_mixed_lasts_as_long_as_asked():
    """A mix that has seconds and no passes ends by its time, and its report tells of reads and writes; deletes move no bytes."""
    with Folder() as folder:
        same = {"objects": 4, "size": "1 MiB", "block": "64 KiB"}
        write_job(folder, {"name": "mix", "stores": {"data": {"uri": "mem://mix"}}, "phases": [
            io("write", **same), io("mixed", name="mixed", seconds=1, **same), io("delete", name="delete", **same)]})
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        phases = report(f"{folder}/results.h5")["phases"]
        check(phases[1]["status"] == "limit" and phases[1]["seconds"] > 0.9, f"{phases[1]}")
        rows = [line.split()[:3] for line in r.out.split("\nmixes ")[-1].splitlines() if re.match("mixed +(read|write) +[0-9]", line)]
        counted = [["mixed", of, f"{phases[1]['latency_ns'][of]['count']:,.0f}"] for of in ("read", "write")]
        check(rows == counted, f"{counted}: {r.out}")
        rows = [line for line in r.out.splitlines() if line.startswith("delete")]
        check(rows and all(" 0 " not in line[:40] and "–" in line for line in rows), r.out)


def test_mix_of_arrivals():
    """With arrivals, the parts of a mix are told from when they were due, as the phase is: where the store cannot keep up, that is
    another figure than the time of a request."""
    with Folder() as folder:
        same = {"objects": 4, "size": "1 MiB", "block": "64 KiB"}
        write_job(folder, {"name": "mix", "stores": {"data": {"uri": "mem://mix"}}, "phases": [
            io("write", **same), io("mixed", name="mixed", seconds=1, arrivals="constant", rate=1000000, **same)]})
        r = alone("run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        found = report(f"{folder}/results.h5")["phases"][1]["latency_ns"]
        whole, parts = (text.splitlines() for text in r.out.split("\nmixes "))
        rows = [line.split() for line in parts if line.startswith("mixed ")]
        wanted = [["mixed", of, f"{found[of]['count']:,.0f}"] for of in ("read_response", "write_response")]
        check([row[:3] for row in rows] == wanted, f"{wanted}: {r.out}")
        of_phase, = (line.split() for line in whole if re.match("mixed +read_response ", line))
        check(of_phase[-8:] == rows[0][-8:], f"{of_phase} {rows[0]}")
        check(found["read_response"]["p99"] > found["read"]["p99"], f"{found}")


main()
