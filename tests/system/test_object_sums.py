# SPDX-License-Identifier: Apache-2.0
"""Checksums of object stores: haul sends the right checksum with each write, a byte that changes on its way is found by the
store or by haul, and without the option there are no checksums. MD5 is tested with Ceph's gateway and Azurite themselves;
CRC-32C and the checksums in answers of S3 and Google are tested with proxy.py --sums before the gateway."""
from haultest import Folder, check, matrix, some
from objects import io, main, refused, run, servers, works

QUICK = {"retry": {"first": "5 ms", "longest": "50 ms", "attempts": 4}, "eject_failures": 0}
SMALL = {"objects": 8, "size": "64 KiB", "block": "64 KiB", "depth": 2}
PARTS = {"folder": "parts", "objects": 1, "size": "11 MiB", "block": "5632 KiB", "depth": 1}  # two parts
DATA = "@path=.0000000"
CHANGED = "the bytes changed on their way"
OTHER = "the bytes that came have another checksum than the store says"


def written(folder, bench, checksum, header, shape, name, where=DATA, **proxied):
    """Writes through a proxy that changes a byte in every third body, and reads back with every byte verified."""
    server, uri, env = bench
    with servers.Proxy(server, f"spoil:1000@every=3@method=PUT{where}", **proxied) as proxy:
        # Many attempts are allowed, because every third body may belong to the same object again and again.
        store = {"uri": uri, "endpoints": proxy.endpoint(), **QUICK, "checksum": checksum, "transfer": "5632 KiB",
                 "retry": {**QUICK["retry"], "attempts": 40}}
        w, r = works(2, folder, store, [io("write", **shape), io("read", verify="full", **shape)], env)["phases"]
        hits, = proxy.stats()["rules"].values()
        puts = [t for t in proxy.trace() if t["method"] == "PUT" and ".0000000" in t["path"] and t["bytes"] > 1000]
        e, = w["endpoints"]
        # Each PUT has the checksum of its part or object. Those that the proxy changed do not match, are refused and retried.
        check(hits >= 1 and len(puts) == 2 * shape["objects"] * (2 if shape is PARTS else 1) + hits, f"{name}: {puts}")
        check(sorted(t["sums"].get(header, "none") for t in puts) == sorted(hits * [False] + (len(puts) - hits) * [True]),
              f"{name}: {puts}")
        check((w["errors"], w["retries"], e["other"], e["statuses"].get("400")) == (0, hits, hits, hits), f"{name}: {e}")
        check(r["errors"] == 0 and r["retries"] == 0, f"{name}: {r}")
    with servers.Proxy(server, f"spoil:1000@method=PUT{where}", **proxied) as proxy:
        refused((CHANGED, "(400, 4 attempts)"), 2, folder, {**store, **QUICK, "endpoints": proxy.endpoint()},
                [io("write", **shape)], env)


def read(folder, bench, checksum, shape, name, finds=True, **proxied):
    """The proxy changes a byte of one object that is read: that counts as an error of the read, which is not retried."""
    server, uri, env = bench
    store = {"uri": uri, **QUICK, "checksum": checksum, **proxied.pop("store", {})}
    works(2, folder, {**store, "endpoints": server, "checksum": "none"}, [io("write", **shape)], env)
    with servers.Proxy(server, f"corrupt:5000@first=1@method=GET{DATA}", **proxied) as proxy:
        r, result = run(2, folder, {**store, "endpoints": proxy.endpoint()},
                        [io("read", verify="none", on_error="count", **shape)], env)
        p, = result["phases"]
        check((p["errors"], p["retries"]) == (1 if finds else 0, 0), f"{name}: {r} {p}")
        check([f["text"] for f in p["failures"]] == ([OTHER] if finds else []), f"{name}: {p['failures']}")
        check(p["measures"]["done"] == 2 * shape["objects"] - finds, f"{name}: {p}")


@matrix
def test_s3():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("train")
        bench = (rgw.endpoint(), "s3://train/sp ace", rgw.env())
        md5, crc32c = ("md5", "content-md5"), ("crc32c", "x-amz-checksum-crc32c")
        for kind, shape in some(((md5, SMALL), (md5, PARTS), (crc32c, SMALL), (crc32c, PARTS)), 3):
            more = {"sums": "s3"} if kind == crc32c else {}
            written(folder, bench, *kind, shape, f"{kind[0]} of {'parts' if shape == PARTS else 'objects'}", **more)
        # One object of all ranks: haul asks the store for the checksums of the parts.
        shared = {"folder": "shared", "layout": "segmented", "size": "10 MiB", "block": "5 MiB"}
        with servers.Proxy(rgw.endpoint(), sums="s3") as proxy:
            store = {"uri": bench[1], "endpoints": proxy.endpoint(), **QUICK, "checksum": "crc32c"}
            w, r = works(2, folder, store, [io("write", **shared), io("read", verify="full", **shared)], rgw.env())["phases"]
            check((w["errors"], w["retries"], r["errors"]) == (0, 0, 0), f"{w}")
            check(any(x["method"] == "GET" and "uploadId" in x["path"] for x in proxy.trace()), f"{proxy.trace()}")
        whole = {"head_on_open": True}
        read(folder, bench, "crc32c", SMALL, "crc32c of whole objects", sums="s3", store=whole)
        # The store sends no checksum of a range, and by S3's protocol no MD5.
        read(folder, bench, "crc32c", SMALL, "crc32c of ranges", finds=False, sums="s3")
        read(folder, bench, "md5", SMALL, "md5", finds=False, sums="s3", store=whole)


@matrix
def test_google():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        servers.public_bucket(rgw, "train")
        with servers.Proxy(rgw.endpoint(), tokens=600) as gate:
            bench = (gate.endpoint(), "gs://train/x", {"GCE_METADATA_HOST": gate.host()})
            md5, crc32c = ("md5", "content-md5"), ("crc32c", "x-goog-hash")
            for kind, shape in some(((md5, SMALL), (crc32c, SMALL), (crc32c, PARTS)), 2):
                written(folder, bench, *kind, shape, f"{kind[0]} of {'parts' if shape == PARTS else 'objects'}", sums="gs")
            for checksum in some(("crc32c", "md5"), 2):
                read(folder, bench, checksum, SMALL, checksum, sums="gs", store={"head_on_open": True})


def test_azure():
    with Folder() as folder, servers.kept(servers.Azurite) as azurite:
        servers.azure_container(azurite, "train")
        bench = (azurite.endpoint(), f"az://{azurite.ACCOUNT}/train/x", azurite.env())
        written(folder, bench, "md5", "content-md5", SMALL, "md5")
        written(folder, bench, "md5", "content-md5", PARTS, "md5 of blocks", where="@path=blockid=")
        read(folder, bench, "md5", SMALL, "md5 of ranges")
        read(folder, bench, "md5", SMALL, "md5 of whole blobs", store={"head_on_open": True})
        # Azure sends no checksum of ranges larger than 4 MiB.
        read(folder, bench, "md5", {**PARTS, "folder": "large", "size": "5 MiB", "block": "5 MiB"}, "large ranges", finds=False)


def test_training():
    """Bodies that are made piece by piece are made twice, first for their checksum. An object that is streamed by one GET is
    compared at its end, and a difference ends the run."""
    data = {"format": "raw", "files": 2, "samples_per_file": 1, "sample_bytes": "20 MiB"}
    train = {"train": {"batch": 1, "verify": "none", "buffers": "8 MiB"}}
    with Folder() as folder, servers.kept(servers.Azurite) as azurite:
        servers.azure_container(azurite, "train")
        store = {"uri": f"az://{azurite.ACCOUNT}/train/x", **QUICK, "checksum": "md5", "put_whole": "32 MiB", "split": "off"}
        with servers.Proxy(azurite.endpoint(), "spoil:9000000@first=1@method=PUT@path=.raw") as proxy:
            g, t = works(2, folder, {**store, "endpoints": proxy.endpoint()}, [{"generate": {}}, train], azurite.env(),
                         dataset=data)["phases"]
            check((g["retries"], g["errors"], t["errors"]) == (1, 0, 0), f"{g}")
            puts = [x for x in proxy.trace() if x["method"] == "PUT" and x["bytes"] >= 20 << 20]
            check(sorted(x["sums"]["content-md5"] for x in puts) == [False] + 2 * [True], f"{puts}")
        with servers.Proxy(azurite.endpoint(), "corrupt:9000000@first=1@method=GET@path=.raw") as proxy:
            refused(OTHER, 2, folder, {**store, "endpoints": proxy.endpoint()}, [{"generate": {}}, train], azurite.env(),
                    dataset=data)


def test_none_by_default():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("train")
        for client in ("haul", "s3dlio", "s3torchconnector", "minio"):
            with servers.Proxy(rgw.endpoint()) as proxy:
                works(1, folder, {"uri": "s3://train", "endpoints": proxy.endpoint(), "client": client},
                      [io("write", **SMALL), io("read", **SMALL)], rgw.env())
                check(not any(t["sums"] or t["sum_asked"] for t in proxy.trace()), f"{client}: {proxy.trace()}")


def test_unsupported_stores():
    with Folder() as folder:
        env = {"GS_ACCESS_KEY_ID": "a", "GS_SECRET_ACCESS_KEY": "b", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        for store, rc, says in (({"uri": "az://account/train"}, 2, "/checksum: Azure does not know CRC-32C"),
                                ({"uri": "gs://train"}, 1, "checksum: with HMAC keys"),
                                ({"uri": "s3://train", "sign": "query"}, 1, "checksum: the signature in a URL does not cover")):
            r, _ = run(1, folder, {**store, "checksum": "crc32c"}, [io("write", **SMALL)], env)
            check(r.rc == rc and says in r.err, f"{store}: {r}")


main()
