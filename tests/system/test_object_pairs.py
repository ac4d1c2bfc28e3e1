# SPDX-License-Identifier: Apache-2.0
"""Two runs at once on one folder of an object store: an object that only one of them can make says who has it. A run that was killed keeps
nobody out for long, and a store that heeds no conditions is found out."""
import random
import time

from haultest import Folder, alone, check, finish, start, write_job
from objects import CLEAN, main, servers
from test_ends import KEYS, Quiet
from test_pairs import MODEL

HELD = b"host n07, process 4711, since 2026-03-01 10:00:00 UTC\nlease 0123456789abcdef 00000000-0000-0000-0000-000000000000 1 4711 1\n".ljust(320)


def generate(store):
    return {"seed": 7, "stores": {"d": store}, "phases": [{"generate": {}}],
            "dataset": {"store": "d", "format": "npz", "files": 40, "sample_bytes": 40000}}


def checkpoint(store):
    return {"seed": 7, "stores": {"d": store}, "phases": [{"checkpoint": {
        "model": MODEL, "mesh": {"zero": 3}, "chunk": "5 MiB", "buffers": "10 MiB", "framing": "raw", "count": 10, "operation": "write"}}]}


def kvcache(store, duration="1 s"):
    return {"seed": 7, "stores": {"d": store}, "phases": [{"kvcache": {
        "model": {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}, "users": 1, "duration": duration, "chunk": "5 MiB",
        "tiers": [{"store": "d", "capacity": "8 MiB"}]}}]}


def pair(folder, env):
    began = time.monotonic()
    first = start(1, "run", "job.json", "--results", "a.h5", "--force", cwd=folder, env=env)
    time.sleep(random.choice((0, 0.02, 0.1)))
    second = start(1, "run", "job.json", "--results", "b.h5", "--force", cwd=folder, env=env)
    return finish(first, began), finish(second, began)


def judge(folder, store, env, left):
    for rounds in range(2):
        write_job(folder, generate(store))
        ended = pair(folder, env)
        said = [r.out + r.err for r in ended]
        check(all(r.rc == 0 for r in ended), f"{ended}")
        check(sorted(("made 40 files" in s, "40 of 40 files were whole" in s) for s in said) == [(False, True), (True, False)], f"{ended}")
        r = alone("clean", "job.json", cwd=folder, env=env)
        check(r.rc == 0 and left() == [], f"{r}: {left()}")
    write_job(folder, checkpoint(store))
    ended = pair(folder, env)
    check(sorted(r.rc for r in ended) in ([0, 1], [0, 0]), f"{ended}")
    for r in ended:
        said = " ".join(r.err.split())
        check(r.rc == 0 or "another run writes there: host " in said and ", process " in said, f"{r}")
    r = alone("clean", "job.json", cwd=folder, env=env)
    check(r.rc == 0 and left() == [], f"{r}: {left()}")


def test_ceph():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("pairs")

        def left():
            return [o["Key"] for o in rgw.client().list_objects_v2(Bucket="pairs").get("Contents", [])]
        judge(folder, {"uri": "s3://pairs/x", "endpoints": rgw.endpoint()}, {**CLEAN, **rgw.env()}, left)


def test_azurite():
    with Folder() as folder, servers.kept(servers.Azurite) as azurite:
        servers.azure_container(azurite, "pairs")
        store = {"uri": f"az://{azurite.ACCOUNT}/pairs/w", "endpoints": azurite.endpoint()}
        env = {**CLEAN, **azurite.env()}

        def left():
            r = alone("ls", store["uri"], "--set", f"endpoints={azurite.endpoint()}", cwd=folder, env=env)
            return [line for line in r.out.splitlines() if "haul-owner" in line]
        judge(folder, store, env, left)


def on(server):
    return {"uri": "s3://bucket/x", "endpoints": [f"http://127.0.0.1:{server.server_port}"]}


def test_leases():
    """One that is not renewed is taken over, one that is renewed is not; and who is waited for is said."""
    lock = "/bucket/x/kvcache.haul-owner"
    with Folder() as folder, Quiet(lambda method, n: False) as server:
        write_job(folder, kvcache(on(server)))
        for age_s, taken, quotes in ((5, False, True), (3600, True, True), (5, False, False), (3600, True, False)):
            server.objects[lock], server.made[lock] = HELD, time.time() - age_s
            server.quotes = quotes
            r = alone("run", "job.json", "--force", cwd=folder, env=KEYS)
            check(r.rc == (0 if taken else 1), f"{age_s} {quotes}: {r}")
            check(taken or "host n07, process 4711, since 2026-03-01 10:00:00 UTC (a lease of 60 s, renewed" in " ".join(r.err.split()), f"{r}")
            check((server.objects.get(lock) is None) == taken, f"{age_s}: {server.objects.get(lock)}")


def test_renewed():
    """A run that takes long renews its lease, by requests that are in no count."""
    lock = "/bucket/x/kvcache.haul-owner"
    with Folder() as folder, Quiet(lambda method, n: False) as server:
        write_job(folder, kvcache(on(server), "18 s"))
        r = alone("run", "job.json", "--force", cwd=folder, env=KEYS)
        # Made, proven to be alone (which the store refuses), and renewed every 15 s.
        check(r.rc == 0 and 2 <= server.log.count(lock) <= 1 + r.seconds // 15 and lock not in server.objects, f"{server.log.count(lock)}: {r}")


def without_conditions(status):
    with Folder() as folder, Quiet(lambda method, n: False) as server:
        server.conditions, server.refuses = False, status
        write_job(folder, kvcache(on(server)))
        r = alone("run", "job.json", "--force", cwd=folder, env=KEYS)
        said = " ".join(r.err.split())
        check(r.rc == 0 and said.count("the store heeds no conditions such as If-None-Match, so nothing keeps another run from writing there") == 1, f"{r}")
        check(not [k for k in server.objects if "haul-owner" in k], f"{list(server.objects)}")


def test_store_without_conditions():
    """One that makes the object in any case, and those that do not know the header."""
    for status in (None, 501, 400):
        without_conditions(status)


main()
