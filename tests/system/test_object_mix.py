# SPDX-License-Identifier: Apache-2.0
"""Mixed object workload (GET, PUT, STAT, DELETE and LIST by shares) on real object stores: a proxy counts the requests, on
objects of random sizes and empty ones. Also retries during a warm-up."""
import collections
import re

from haultest import FULL, Folder, check, matrix, mpi, near, pauses, write_job
from test_object_dialects import as_counted, requests_of_operations
from objects import CLEAN, io, main, run, servers, works

QUICK = {"retry": {"first": "5 ms", "longest": "100 ms", "attempts": 4}, "eject_failures": 0}
SIZES = [{"size": "1 KiB", "to": "60 KiB", "share": 3}, {"size": 30000, "stdev": 40000}]
SET = {"objects": 64, "sizes": SIZES, "block": "1 MiB", "threads": 2}
SHARES = {"get": 45, "put": 15, "stat": 30, "delete": 10, "list": 5}


def each_store(rgw, azurite, schemes):
    """The stores with these schemes; under FULL all."""
    rgw.bucket("mix")
    servers.azure_container(azurite, "mix")
    stores = (("s3", {"uri": "s3://mix/a b", **QUICK}, rgw.endpoint(), rgw.env()),
              ("gs", {"uri": "gs://mix/g", **QUICK}, rgw.endpoint(),
               {"GS_ACCESS_KEY_ID": rgw.KEY, "GS_SECRET_ACCESS_KEY": rgw.SECRET}),
              ("az", {"uri": f"az://{azurite.ACCOUNT}/mix/a", **QUICK}, azurite.endpoint(), azurite.env()))
    return [s for s in stores if FULL or s[0] in schemes]


def kind(t):
    """The operation of a request."""
    path = t["path"]
    if t["method"] == "GET" and ("list-type" in path or "comp=list" in path or "prefix=" in path):
        return "list"
    return {"GET": "get", "HEAD": "stat", "PUT": "put", "DELETE": "delete"}[t["method"]]


@matrix
def test_mix_counted_from_outside():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        for name, store, endpoint, env in each_store(rgw, azurite, ("s3", "az")):
            write, delete = io("write", depth=4, **SET), io("delete", **SET)
            mixed = io("mixed", mix=SHARES, passes=6, depth=4, verify="full", order="replacement", **SET)
            written, = works(2, folder, {**store, "endpoints": endpoint}, [write], env)["phases"]
            with servers.Proxy(endpoint) as proxy:
                p, = works(2, folder, {**store, "endpoints": proxy.endpoint()}, [mixed], env)["phases"]
                seen = collections.Counter(kind(t) for t in proxy.trace() if ".haul-io.json" not in t["path"])
            m = p["measures"]
            check(p["errors"] == 0 and m["absent"] == 0 and m["done"] == 2 * 64 * 6, f"{name}: {p}")
            ours = {"get": m["gets"], "put": m["puts"], "stat": m["stats"], "delete": m["deletes"], "list": m["lists"]}
            # After each PUT, haul asks the store for the size of the object.
            there = {**ours, "stat": ours["stat"] + ours["put"]}
            check(all(there[k] <= seen[k] for k in there) and sum(seen.values()) == sum(there.values()) + p["retries"],
                  f"{name}: {there} in the results, {dict(seen)} at the proxy, {p['retries']} retries")
            for what, share in SHARES.items():
                near(ours[what] / m["done"], share / sum(SHARES.values()), 0.06, f"{name}: {what}")
            hists = p["latency_ns"]
            check(hists["get"]["count"] == m["gets"] and hists["put"]["count"] == m["puts"], f"{name}: {hists}")
            check(written["measures"]["puts"] == 128, f"{name}: {written['measures']}")
            # haul knows that objects are missing, so it refuses to read, but it deletes the others.
            r, _ = run(2, folder, {**store, "endpoints": endpoint}, [io("read", **SET)], env)
            check(r.rc == 1 and "nothing to read" in r.err, f"{name}: {r}")
            p, = works(2, folder, {**store, "endpoints": endpoint}, [delete], env)["phases"]
            check(p["errors"] == 0, f"{name}: {p}")


def test_requests_per_operation():
    """Requests that a proxy logs before real stores: of each create, stat, delete, small PUT, PUT and GET of 8 MiB one, and one more where
    a PUT is to be verified. Haul's figure is what was counted."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        for name, store, endpoint, env in each_store(rgw, azurite, ("s3", "az")):
            with servers.Proxy(endpoint) as proxy:
                for case, wanted, operations in requests_of_operations():
                    before = len(proxy.trace())
                    works(2, folder, {**store, "endpoints": proxy.endpoint()}, [{"io": {"objects": 3, "verify": "none", **case}}], env)
                    seen = collections.Counter(t["method"] for t in proxy.trace()[before:] if re.search(r"/\w+/\d{7}", t["path"]))
                    check(seen == {method: 6 * each for method, each in wanted.items()}, f"{name}: {case}: {seen}")
                    as_counted(folder, sum(seen.values()), 6, operations)


@matrix
def test_large_objects_in_parts():
    """Objects larger than a block are written in parts and read block by block, and every byte is verified."""
    what = {"objects": 4, "sizes": [{"size": "100 KiB", "share": 3}, {"size": "11 MiB", "to": "13 MiB"}], "block": "5 MiB"}
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        for name, store, endpoint, env in each_store(rgw, azurite, ("gs", "az")):
            phases = [io("write", depth=2, **what), io("read", depth=2, verify="full", **what),
                      io("mixed", read_share=0.7, passes=1, verify="full", **what), io("delete", **what)]
            d = works(2, folder, {**store, "endpoints": endpoint}, phases, env)
            write, read, mixed, _ = d["phases"]
            check(all(p["errors"] == 0 for p in d["phases"]), f"{name}: {d['phases']}")
            check(write["bytes_written"] == read["bytes_read"] > 2 * 11 * 2**20, f"{name}: {write} {read}")
            check(write["measures"]["writes"] == read["measures"]["reads"] == 6 + 2 * 3, f"{name}: {write['measures']}")
            check(mixed["measures"]["gets"] + mixed["measures"]["puts"] == 8, f"{name}: {mixed['measures']}")


@matrix
def test_empty_objects():
    what = {"objects": 20, "depth": 4}
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        for name, store, endpoint, env in each_store(rgw, azurite, ("s3", "gs")):
            d = works(2, folder, {**store, "endpoints": endpoint},
                      [io("create", **what), io("stat", verify="full", **what), io("list", **what)], env)
            create, stat, listed = d["phases"]
            check(create["measures"]["creates"] == 40 and create["errors"] == 0, f"{name}: {create}")
            check(stat["measures"]["stats"] == 40 and stat["errors"] == 0, f"{name}: {stat}")
            check(listed["measures"]["entries"] == 80 and listed["errors"] == 0, f"{name}: {listed}")
            r = mpi(3, "clean", "job.json", cwd=folder, env={**CLEAN, **env})
            check(r.rc == 0 and "removed 40 files, " in r.out, f"{name}: {r}")


def test_clean_knows_each_size():
    """For objects of random sizes, haul clean removes those that are as haul made them, and leaves one that another client has
    made longer."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("cleaned")
        store = {"uri": "s3://cleaned/x", "endpoints": rgw.endpoint(), **QUICK}
        works(2, folder, store, [io("write", **SET)], rgw.env())
        rgw.client().put_object(Bucket="cleaned", Key="x/io/0000001.0000000003", Body=bytes(99999))
        r = mpi(3, "clean", "job.json", cwd=folder, env={**CLEAN, **rgw.env()})
        check(r.rc == 0 and "removed 127 files, " in r.out and "left 1 file that is not as haul made it, as " in r.out, f"{r}")


@pauses(1, 10)
def test_retries_of_the_warmup_are_not_counted(warmup):
    """Regression: such retries once made the count of first attempts negative."""
    retry = {"first": "2 ms", "longest": "4 ms", "attempts": 100, "budget": 0}
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("mix")
        with servers.Proxy(rgw.endpoint(), "503@first=30@method=PUT@path=io/00") as proxy:
            store = {"uri": "s3://mix/w", "endpoints": proxy.endpoint(), "eject_failures": 0, "retry": retry}
            p, = works(2, folder, store, [io("write", objects=30 * warmup, size=5000, block=5000, rate=30, warmup=f"{warmup} s")],
                       rgw.env())["phases"]
            hits, = proxy.stats()["rules"].values()
        m, hists = p["measures"], p["latency_ns"]
        check(hits == 30 and 0 < m["writes"] < 60 * warmup, f"{hits} {m}")
        check(hists["write_first_attempt"]["count"] == hists["write"]["count"] == m["writes"], f"{hists} {m}")
        check(p["retries"] == 0 and p["errors"] == 0, f"{p}")


def test_refused_by_the_plan():
    table = (
        ({"operation": "read", "mix": {"get": 1}}, "/mix: is of \"mixed\", not of \"read\""),
        ({"operation": "mixed", "mix": {"put": 1, "delete": 2}}, "/mix/delete: more objects would be deleted than are put"),
        ({"operation": "mixed", "mix": {"put": 2, "delete": 1}, "objects": 7}, "/objects: a mix that deletes needs at least 8"),
        ({"operation": "mixed", "mix": {"get": 1}, "read_share": 0.9}, "/read_share: \"mix\" says it"),
        ({"operation": "mixed", "order": "random"}, "/order: whole objects of a mix are taken in turn"),
        ({"operation": "mixed", "layout": "segmented"}, "cannot write in place"),
        ({"operation": "write", "sizes": [{"size": 1}], "size": 1}, "/size: \"sizes\" says it"),
        ({"operation": "write", "sizes": [{"size": 5, "to": 4}]}, "/sizes/0/to: must not be less than size"),
        ({"operation": "write", "sizes": [{"size": "6 MiB"}], "block": "1 MiB"}, "parts of an object of s3:// have at least 5 MiB"),
        ({"operation": "write", "sizes": [{"size": 1}], "layout": "strided"}, "/sizes: \"strided\" is one object for all ranks"),
        ({"operation": "write", "sizes": [{"size": 1}], "dedup": 2}, "/dedup: repeats need objects of one size"),
        ({"operation": "write", "sizes": [{"share": 1}]}, "/sizes/0/size: is missing"),
    )
    with Folder() as folder:
        for what, sentence in table:
            write_job(folder, {"name": "no", "stores": {"d": {"uri": "s3://b/x", "endpoints": "http://127.0.0.1:1"}},
                               "phases": [{"io": what}]})
            r = mpi(1, "run", "job.json", cwd=folder, env=CLEAN)
            check(r.rc == 2 and sentence in r.err, f"{sentence}: {r}")


main()
