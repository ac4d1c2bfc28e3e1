# SPDX-License-Identifier: Apache-2.0
"""Key-value caches on an object store: entries are what was written, whole or in parts, and nothing stays, also not after a run
that was killed and cleaned. Traces are replayed there, too."""
import time

import kvcache_options as options
from haultest import Folder, check, kill_run, mpi, report, start, write_job
from objects import CLEAN, main, servers

MIB = 1 << 20
# A token has 256 bytes, so an entry has 32 KB to 6.4 MB, and the largest ones are uploaded in two parts.
MODEL = {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}


def job(folder, rgw, *first, **more):
    store = {"uri": "s3://kvcache/x", "endpoints": rgw.endpoint(), "transfer": 5 * MIB}
    phase = {"model": MODEL, "users": 10, "duration": "600 s", "threads": 4, "served": 4, "chunk": 5 * MIB, "verify": "full",
             "tiers": [{"kind": "cpu", "capacity": "8 MiB"}, {"store": "d", "capacity": "24 MiB"}], **more}
    write_job(folder, {"seed": 7, "stores": {"d": store}, "phases": [*first, {"kvcache": phase}]})
    return {**CLEAN, **rgw.env()}


def left(rgw):
    client = rgw.client()
    keys = [o["Key"] for o in client.list_objects_v2(Bucket="kvcache").get("Contents", [])]
    return keys + [u["Key"] for u in client.list_multipart_uploads(Bucket="kvcache").get("Uploads", [])]


def test_options():
    """MLPerf's three options, and entries that are uploaded in parts."""
    ranks = 2
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("kvcache")
        small = options.phases("d", chunk=5 * MIB)
        env = job(folder, rgw, *small, requests=40, lookup=True, depth=4)
        r = mpi(ranks, "run", "job.json", cwd=folder, env=env)
        check(r.rc == 0, f"{r}")
        *done, parts = report(f"{folder}/results.h5")["phases"]
        for phase, results in zip((p["kvcache"] for p in small), done, strict=True):
            options.judge(phase, results, ranks)
        m = parts["measures"]
        check(m["errors"] == m["payload_errors"] == 0 and m["requests"] >= 80, f"{m}")
        check(m["entry_reads"] == m["stats"] > 0 < m["moves"] and m["deletes"] > 0, f"{m}")
        check(left(rgw) == [], f"{left(rgw)}")


def test_replay():
    """Objects of a trace: an empty one, one that is uploaded in two parts, one that is made first."""
    rows = (("Write", 0, 2, "empty"), ("Read", 0, 2, "empty"), ("Write", 6 * MIB, 2, "a/b"), ("Read", 6 * MIB, 2, "a/b"),
            ("Read", 1000, 1, "made"))
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("kvcache")
        with open(f"{folder}/trace.csv", "w") as f:
            print("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase", file=f)
            for operation, size, tier, key in rows:
                print(f"0.5,{operation},{size},Tier-{tier},{key},Decode", file=f)
        store = {"endpoints": rgw.endpoint(), "transfer": 5 * MIB}
        r = mpi(2, "replay", "trace.csv", "--store", "s3://kvcache/y", "--set", "replay.verify=full",
                *(word for key, value in store.items() for word in ("--set", f"stores.store.{key}={value}")),
                cwd=folder, env={**CLEAN, **rgw.env()})
        check(r.rc == 0, f"{r}")
        m = report(f"{folder}/results.h5")["phases"][0]["measures"]
        check(m["errors"] == m["payload_errors"] == 0 and m["requests"] == len(rows) and m["made"] == 1, f"{m}")
        check((m["bytes_read"], m["bytes_written"]) == (6 * MIB + 1000, 6 * MIB), f"{m}")
        check(left(rgw) == [], f"{left(rgw)}")


def test_killed():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("kvcache")
        env = job(folder, rgw)
        process = start(2, "run", "job.json", cwd=folder, env=env, start_new_session=True)
        while len(left(rgw)) < 5 and process.poll() is None:
            time.sleep(0.05)
        check(process.poll() is None, "the run ended before it was killed")
        kill_run(process, folder)
        there = None  # the gateway may still publish what it has got
        while there != left(rgw):
            there = left(rgw)
            time.sleep(1)
        client, mine = rgw.client(), "x/kvcache/000000/1/00/mine"
        client.put_object(Bucket="kvcache", Key=mine, Body=b"mine")
        # The run may have been killed within an upload. One is always there.
        for key in mine, "x/kvcache/000001/1/37/conv_user_0009_648_turn_2":
            client.create_multipart_upload(Bucket="kvcache", Key=key)
        r = mpi(2, "clean", "job.json", cwd=folder, env=env)
        check(r.rc == 0 and left(rgw) == [mine, mine], f"{r} {left(rgw)}")
        check("unfinished upload" in r.out + r.err, f"{r}")


if __name__ == "__main__":
    main()
