# SPDX-License-Identifier: Apache-2.0
"""Deletes of several keys by one request: the results count keys and requests, no other object is deleted, and keys that fail
are retried or reported."""
from haultest import Folder, check, matrix, mpi, some
from objects import AWKWARD, CLEAN, io, main, refused, run, servers, works

SET = {"objects": 100, "size": 100, "block": 100}
QUICK = {"retry": {"first": "5 ms", "longest": "100 ms", "attempts": 4}, "eject_failures": 0}


def keys(rgw, bucket):
    pages = rgw.client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return [o["Key"] for page in pages for o in page.get("Contents", [])]


def store(endpoint, bucket="train", **more):
    return {"uri": f"s3://{bucket}/{AWKWARD}", "endpoints": endpoint, **QUICK, **more}


def deletes(proxy):
    """The number of keys of each such delete, in order. Checks that each has the right checksum."""
    check(all(t["sums"] == {"content-md5": True} for t in proxy.trace() if t["method"] == "POST"), f"{proxy.trace()}")
    return [t["keys"] for t in proxy.trace() if t["method"] == "POST"]


def check_all_gone(rgw, p, requests):
    m = p["measures"]
    check((m["done"], m["deletes"], p["errors"]) == (200, requests, 0), f"{m}")
    check(keys(rgw, "train") == ["other"], f"{keys(rgw, 'train')[:5]}")


@matrix
def test_requests_and_operations():
    """Two ranks delete 200 keys, 40 per request: the results count 200 operations and the requests that the proxy saw, and
    only the other object is left. Also with a hash of the body in the signature, and with the signature in the URL."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("train")
        rgw.client().put_object(Bucket="train", Key="other", Body=b"stays")
        for more in some(({}, {"payload": "sha256"}, {"sign": "query"}), 3):
            with servers.Proxy(rgw.endpoint()) as proxy:
                p = works(2, folder, store(proxy.endpoint(), **more),
                          [io("write", depth=8, **SET), io("delete", batch=40, depth=2, **SET)], rgw.env())["phases"][1]
                check(sorted(deletes(proxy)) == [20, 20] + 4 * [40], f"{deletes(proxy)}")
            check_all_gone(rgw, p, 6)
            check(p["endpoints"][0]["requests"] == p["endpoints"][0]["attempts"] == 6, f"{p['endpoints']}")


def test_only_failed_keys_again():
    """Three keys of each third delete fail temporarily: the next attempt has only those. A key that is refused counts as an
    error of that key, and the others are deleted."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("train")
        rgw.client().put_object(Bucket="train", Key="other", Body=b"stays")
        write, delete = io("write", depth=8, **SET), io("delete", batch=50, **SET)
        with servers.Proxy(rgw.endpoint(), "keys:3-SlowDown@every=3@method=POST") as proxy:
            p = works(2, folder, store(proxy.endpoint()), [write, delete], rgw.env())["phases"][1]
            hits = sum(proxy.stats()["rules"].values())
            check(hits and sorted(deletes(proxy)) == hits * [3] + 4 * [50], f"{deletes(proxy)}")
            check_all_gone(rgw, p, 4)
            check(p["retries"] == hits and p["endpoints"][0]["requests"] == 4 + hits, f"{p}")
            check(p["endpoints"][0]["throttle"] == hits, f"{p['endpoints']}")
        with servers.Proxy(rgw.endpoint(), "keys:2-AccessDenied@first=1@method=POST") as proxy:
            delete["io"]["on_error"] = "count"
            r, result = run(2, folder, store(proxy.endpoint()), [write, delete], rgw.env())
            p = result["phases"][1]
            check((p["errors"], p["measures"]["done"], p["retries"]) == (2, 198, 0), f"{r} {p}")
            check(deletes(proxy) == 4 * [50], f"{deletes(proxy)}")
            check({f["text"] for f in p["failures"]} == {"these credentials may not do this (AccessDenied)"}
                  and len({f["object"] for f in p["failures"]}) == 2, f"{p['failures']}")


def test_requests_fail():
    """A delete whose connection breaks, that is refused temporarily, or that gets an error with status 200 is retried
    unchanged."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("train")
        rgw.client().put_object(Bucket="train", Key="other", Body=b"stays")
        for rule in ("503", "close", "err200"):
            with servers.Proxy(rgw.endpoint(), rule + "@first=2@method=POST") as proxy:
                p = works(2, folder, store(proxy.endpoint()),
                          [io("write", depth=8, **SET), io("delete", batch=100, **SET)], rgw.env())["phases"][1]
                check_all_gone(rgw, p, 2)
                check(p["retries"] == 2 and p["endpoints"][0]["requests"] == 4, f"{rule}: {p}")
        with servers.Proxy(rgw.endpoint(), "spoil:70@method=POST") as proxy:
            # The proxy changes a key. This Ceph does not check the checksum, but its answer lacks the key that haul sent.
            refused("the store did not say what became of it (200, 1 attempt)", 2, folder, store(proxy.endpoint()),
                    [io("write", depth=8, **SET), io("delete", batch=100, **SET)], rgw.env())


def test_clean():
    """haul clean asks for the size of each object, and removes haul's objects with one request per thread."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("train")
        rgw.client().put_object(Bucket="train", Key="other", Body=b"stays")
        with servers.Proxy(rgw.endpoint()) as proxy:
            works(2, folder, store(proxy.endpoint()), [io("write", depth=8, **SET), {"generate": {}}], rgw.env(),
                  dataset={"format": "raw", "files": 40, "samples_per_file": 1, "sample_bytes": 1000})
            r = mpi(2, "clean", "job.json", cwd=folder, env={**CLEAN, **rgw.env()})
            check(r.rc == 0, f"{r}")
            check(sum(deletes(proxy)) == 240 and len(deletes(proxy)) <= 2 * (4 + 4), f"{deletes(proxy)}")
        check(keys(rgw, "train") == ["other"], f"{keys(rgw, 'train')[:5]}")


def test_unsupported_stores():
    with Folder() as folder:
        for uri, phase, says in (("az://account/train", "delete", "cannot delete several keys by one request"),
                                 ("gs://train", "delete", "cannot delete several keys by one request"),
                                 (f"file://{folder}/data", "delete", "cannot delete several keys by one request"),
                                 ("s3://train", "stat", "/batch: is of deletes, not of \"stat\"")):
            r, _ = run(1, folder, {"uri": uri}, [io(phase, batch=2, **SET)], {})
            check(r.rc == 2 and says in r.err, f"{uri}: {r}")


main()
