# SPDX-License-Identifier: Apache-2.0
"""Replaying traces of key-value caches: what reaches the store is what the trace asks for, row by row; traces that are wrong are
refused; nothing stays behind, and `haul replay --clean` removes what a run that was killed has left."""
import collections
import csv
import glob
import io
import json
import os
import shlex
import subprocess
import time
import urllib.parse

from haultest import *

TRACE = f"{SOURCE}/tests/fixtures/traces/tiny-1b_2_users_40s.csv.zst"
# Entries of 100 MB become objects of 1 KB, which a request reads or writes whole.
SCALE = 0.00001
STORE = ("--store", "file://./data", "--set", "stores.store.engine=psync")
QUICK = ("--speed", "max", "--size-scale", SCALE, "--set", "replay.threads=2")


def unpacked():
    return subprocess.run(["zstd", "-dc", TRACE], capture_output=True, check=True).stdout


def asked(text, tiers="012", scale=SCALE):
    """The operations that a trace asks for."""
    return collections.Counter((row["Operation"], int(float(row["Object_Size_Bytes"]) * scale), row["Key"], row["Tier"][-1])
                               for row in csv.DictReader(io.StringIO(text.decode())) if row["Tier"][-1] in tiers)


def logged(folder):
    """The reads and writes in the operation log of two ranks."""
    lines = [line for name in sorted(glob.glob(f"{folder}/ops.*.tsv")) for line in open(name, encoding="utf-8")]
    done = collections.Counter()
    for row in csv.DictReader((line for line in lines if line[0] != "#"), delimiter="\t"):
        if row["op"] in ("GET", "PUT"):
            tier, _, key = row["file"].split("/")[-3:]
            done["Read" if row["op"] == "GET" else "Write", int(row["bytes"]), urllib.parse.unquote(key), tier] += 1
    return done


def replay(folder, trace, *options):
    r = mpi(2, "replay", trace, *STORE, *QUICK, "--op-log", "ops.tsv", "--force", *options, cwd=folder)
    check(r.rc == 0, f"{r}")
    check(not os.path.exists(f"{folder}/data/replay"), f"{list(os.walk(folder))}")
    phase, = report(f"{folder}/results.h5")["phases"]
    check(phase["measures"]["errors"] == 0 and phase["measures"]["payload_errors"] == 0, f"{phase['measures']}")
    return phase


def test_operations():
    """The operation log has exactly the operations of the trace, whichever tiers reach the store."""
    text = unpacked()
    with Folder() as folder:
        for tiers, options in (("012", ()), ("2", ("--tiers", "2")), ("12", ("--tiers", "1,2"))):
            wanted = asked(text, tiers)
            phase = replay(folder, TRACE, *options)
            done = logged(folder)
            check(done == wanted, f"{tiers}: missing {wanted - done}, too many {done - wanted}")
            m = phase["measures"]
            check(phase["rates"]["items"] == "requests", f"{phase['rates']}")
            check(m["requests"] == m["rows"] == wanted.total() > 100, f"{m}")
            check(m["other_tiers"] == asked(text).total() - wanted.total(), f"{m}")
            moved = {op: sum(n * size for (kind, size, _, _), n in wanted.items() if kind == op) for op in ("Read", "Write")}
            check((m["bytes_read"], m["bytes_written"]) == (moved["Read"], moved["Write"]), f"{m}")
            check({t["name"] for t in phase["tiers"]} == {f"Tier-{k}" for k in tiers}, f"{phase['tiers']}")


def test_changed():
    """Half the size is half the bytes, and a row that is deleted is an operation less."""
    rows = unpacked().splitlines(True)
    even = [rows[0]] + [row.replace(row.split(b",")[2], b"%d" % (int(row.split(b",")[2]) // 200000 * 200000), 1)
                        for row in rows[1:]]
    with Folder() as folder:
        path = f"{folder}/trace.csv"
        bytes_moved = []
        for scale in (SCALE, SCALE / 2):
            with open(path, "wb") as f:
                f.writelines(even)
            m = replay(folder, path, "--size-scale", scale)["measures"]
            bytes_moved.append(m["bytes_read"] + m["bytes_written"])
        near(bytes_moved[1], bytes_moved[0] / 2, len(rows), "half the bytes")
        gone = next(i for i, row in enumerate(rows) if b",Write," in row and i > 100)
        with open(path, "wb") as f:
            f.writelines(rows[:gone] + rows[gone + 1:])
        check(replay(folder, path)["measures"]["requests"] == len(rows) - 2, "a row deleted")
        check(logged(folder) == asked(b"".join(rows[:gone] + rows[gone + 1:])), "a row deleted: the log")


def columns(text):
    """Rows without their times."""
    return [row[1:] for row in csv.reader(io.StringIO(text.decode(), newline=""))]


def test_through():
    """With the capacities that a trace was recorded with, tiers make all of its rows again; with others, they do not. What they
    make is what the store is asked for."""
    def through(*options):
        r = alone("replay", TRACE, "--through", "mlperf-v3", "--io-trace-log", "out.csv", "--force", *options, cwd=folder)
        check(r.rc == 0, f"{r}")
        with open(f"{folder}/out.csv", "rb") as f:
            return f.read()

    with Folder() as folder:
        recorded = columns(unpacked())
        check(columns(through("--gpu-mem", "0.5 GiB", "--cpu-mem", "1 GiB")) == recorded, "the rows of the recording")
        check(columns(through("--gpu-mem", "1 GiB", "--cpu-mem", "1 GiB")) != recorded, "other capacities, the same rows")
        other = ("--gpu-mem", "0.5 GiB", "--cpu-mem", "1 GiB", "--storage-capacity", "2 GiB")
        rows = asked(through(*other, "--io-trace-format", "full"))
        deletes = sum(n for (op, *_), n in rows.items() if op == "Delete")
        m = replay(folder, TRACE, "--through", "mlperf-v3", *other)["measures"]
        check(deletes > 0 and m["object_deletes"] == deletes and m["misses"] > 0, f"{deletes} deletes, {m}")
        wanted = collections.Counter({key: n for key, n in rows.items() if key[0] != "Delete"})
        check(logged(folder) == wanted, "the log")
        r = mpi(2, "replay", TRACE, *STORE, "--gpu-mem", "1 GiB", cwd=folder)
        check(r.rc == 2 and "/gpu: is the capacity of a tier" in r.err, f"{r}")


def test_log():
    """The operation log of a run is replayed: the same operations again."""
    def sizes(operations):
        counts = collections.Counter()
        for (op, size, *_), n in operations.items():
            counts[op, size] += n
        return counts

    with Folder() as folder:
        replay(folder, TRACE)
        wanted = sizes(logged(folder))
        with open(f"{folder}/all.tsv", "wb") as out:
            for name in sorted(glob.glob(f"{folder}/ops.*.tsv")):
                with open(name, "rb") as f:
                    out.write(f.read())
        m = replay(folder, "all.tsv", "--size-scale", 1, "--set", "replay.verify=full")["measures"]
        check(sizes(logged(folder)) == wanted, f"{m}")
        check(m["rows"] == m["requests"] == wanted.total() and m["passed"] > 0, f"{m}")
        r = mpi(2, "replay", "all.tsv", *STORE, "--through", "mlperf-v3", "--force", cwd=folder)
        check(r.rc != 0 and "is an operation log" in r.err, f"{r}")


def test_wrong():
    rows = unpacked().splitlines(True)
    packed = open(TRACE, "rb").read()
    cases = ((b"".join(rows[:4]) + b"1795305707.0,Write,-1,Tier-2,k,Prefill\r\n", "line 5: Object_Size_Bytes"),
             (b"".join(rows[:4]) + b"1795305707.0,Write,1,Tier-2,,Prefill\r\n", "line 5: Key"),
             (b"".join(rows[:4]) + rows[4][:30], "line 5: has "), (packed[:-5], "ends in the middle of a frame"))
    with Folder() as folder:
        for data, says in cases:
            with open(f"{folder}/wrong", "wb") as f:
                f.write(data)
            r = mpi(2, "replay", "wrong", *STORE, *QUICK, "--force", cwd=folder)
            check(r.rc != 0 and says in r.err and "wrong: " in r.err, f"{says}: {r}")
            check(not glob.glob(f"{folder}/data/replay"), "the store was touched")
            r = mpi(2, "replay", "wrong", *STORE, *QUICK, "--force", "--lenient", cwd=folder)
            check(r.rc == 0 and "1 row was left out" in r.out, f"{says}: {r}")


def test_killed():
    def objects():
        return [f"{path}/{name}" for path, _, names in os.walk(f"{folder}/data") for name in names if name != ".haul-made"]

    with Folder() as folder:
        process = start(2, "replay", TRACE, *STORE, "--size-scale", SCALE, cwd=folder, start_new_session=True)
        while process.poll() is None and len(objects()) < 10:
            time.sleep(0.01)
        check(process.poll() is None, "the run ended before it was killed")
        kill_run(process, folder)
        check(json.load(open(f"{folder}/data/replay/.haul-replay.json"))["tiers"] == 7, "description")
        r = mpi(2, "replay", TRACE, *STORE, *QUICK, "--force", cwd=folder)
        said = re.search("`haul (replay .* --clean)` removes", " ".join(r.err.split()))
        check(r.rc != 0 and said, f"{r}")
        mine = [f"{folder}/data/replay/2/mine.txt", f"{folder}/data/replay/mine.txt"]
        os.makedirs(f"{folder}/data/replay/2", exist_ok=True)
        for path in mine:
            open(path, "w").close()
        r = mpi(2, *shlex.split(said[1]), cwd=folder)
        check(r.rc == 0 and sorted(objects()) == sorted(mine), f"{r}: {objects()}")


def test_bytes_of_an_iolog():
    """A replay says first where it moves other bytes than the log did; it moves those of one that writes files from their begin."""
    cases = (("/a write 1048576 4096", "/a write 4194304 4096", 4096 * 3, 4096), ("/a read 4190208 4096", "/a write 65536 4096", 4096 * 3, None),
             ("/a write 4096 4096", "/a write 8192 4096", 4096 * 3, 4096 * 3))
    for one, other, logged, moved in cases:
        with Folder() as folder:
            first = "/b" if "4194304" in other else "/a"
            with open(f"{folder}/io.log", "w") as f:
                f.write("\n".join(["fio version 2 iolog", "/a add", "/b add", "/a open", "/b open", f"{first} write 0 4096", one, other,
                                   "/a close", "/b close"]) + "\n")
            write_job(folder, {"stores": {"s": {"uri": "mem://", "capacity": "64 MiB"}}, "phases": [{"replay": {"trace": f"{folder}/io.log"}}]})
            r = mpi(1, "run", "job.json", cwd=folder)
            check(r.rc == 0, f"{r}")
            phase = report(f"{folder}/results.h5")["phases"][0]
            found = phase["bytes_read"] + phase["bytes_written"]
            differs = abs(found - logged) > logged / 100
            warned = re.search(r"warning: .* moves (\d+) bytes where the log moved (\d+)", r.err)
            check((moved is None or found == moved) and bool(warned) == differs, f"{one}, {other}: {found} {r}")
            check(not warned or list(map(int, warned.groups())) == [found, logged], f"{found} of {logged}: {r}")
            # The plan has the same bytes, and the same sentence, before anything runs.
            plan = json.loads(alone("plan", "--json", "job.json", cwd=folder).out)
            check(plan["phases"][0]["totals"]["trace_bytes"] == found, f"{found}: {plan}")
            told = [note for note in plan["notes"] if "where the log moved" in note]
            check(len(told) == differs and all(note in r.err for note in told), f"{told}: {r}")


if __name__ == "__main__":
    main()
