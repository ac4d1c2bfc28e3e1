# SPDX-License-Identifier: Apache-2.0
"""Shared objects: all ranks write one object in parts. It has the same bytes as the file that one rank writes, the right
number of parts, and can be read by any number of ranks. If a part is missing, there is no object at all."""
import os
import signal
import time

from haultest import FULL, Folder, check, finish, matrix, mpi, pauses, report, some, start, write_job
from objects import CLEAN, io, main, refused, run, servers, works

EVEN = {"total": 192 << 20, "block": 8 << 20, "layout": "segmented"}
# 24 divides it; 4 or 40 parts, the last one shorter
UNEVEN = {"total": 209715192 if FULL else 20000016, "block": 5 << 20, "layout": "strided"}
QUICK = {"retry": {"first": "5 ms", "longest": "200 ms"}, "eject_failures": 0}
SMALL = {"total": 30 << 20, "block": 5 << 20, "layout": "strided"}
THREE = {**SMALL, "total": 15 << 20}  # parts, of three ranks


def share(what, ranks, **more):
    check(what["total"] % ranks == 0, f"{what} by {ranks}")
    return {"layout": what["layout"], "size": what["total"] // ranks, "block": what["block"], **more}


def made_by_one(folder, what):
    """The expected bytes: those that one rank writes to a file."""
    works(1, folder, {"uri": f"file://{folder}/reference"}, [io("write", **share(what, 1))], {})
    with open(f"{folder}/reference/io/shared", "rb") as f:
        data = f.read()
    os.unlink(f"{folder}/reference/io/shared")
    os.unlink(f"{folder}/reference/io/.haul-io.json")
    check(len(data) == what["total"], f"{len(data)} bytes")
    return data


class S3:
    """The object on S3 or Google's store, as boto3 sees it."""

    def __init__(self, server, scheme="s3"):
        self.server, self.bucket = server, "by-" + scheme
        server.bucket(self.bucket)
        self.client = server.client()
        self.uri = f"{scheme}://{self.bucket}/x"
        self.env = server.env() if scheme == "s3" else {"GS_ACCESS_KEY_ID": server.KEY,
                                                        "GS_SECRET_ACCESS_KEY": server.SECRET}

    def store(self, endpoint=None, **more):
        return {"uri": self.uri, "endpoints": endpoint or self.server.endpoint(), **QUICK, **more}

    def get(self):
        return self.client.get_object(Bucket=self.bucket, Key="x/io/shared")["Body"].read()

    def parts(self):
        return int(self.client.head_object(Bucket=self.bucket, Key="x/io/shared")["ETag"].strip('"').split("-")[1])

    def left(self):
        """Uploads that are still open, and whether the object exists."""
        keys = [o["Key"] for o in self.client.list_objects_v2(Bucket=self.bucket).get("Contents", [])]
        return self.client.list_multipart_uploads(Bucket=self.bucket).get("Uploads", []), "x/io/shared" in keys


class Azure(S3):
    """The object on Azure's store, by requests that the test signs itself."""

    def __init__(self, server):
        self.server = server
        servers.azure_container(server, "shared")
        self.uri, self.env = f"az://{server.ACCOUNT}/shared/x", server.env()

    def get(self):
        status, _, data = servers.azure_request(self.server, "GET", "shared/x/io/shared")
        check(status == 200, f"{status}")
        return data

    def parts(self):
        _, _, text = servers.azure_request(self.server, "GET", "shared/x/io/shared",
                                           [("blocklisttype", "committed"), ("comp", "blocklist")])
        return text.count(b"<Block>")

    def left(self):
        status, _, _ = servers.azure_request(self.server, "HEAD", "shared/x/io/shared")
        return [], status == 200


def whole(at, folder, what, ranks, readers, wanted, store=None):
    """Writes the object, compares it by another client, and reads it by other numbers of ranks. Returns the last phase."""
    parts = -(-what["total"] // what["block"])
    p, = works(ranks, folder, store or at.store(), [io("write", depth=2, **share(what, ranks))], at.env)["phases"]
    m = p["measures"]
    check(p["errors"] == 0 and p["bytes_written"] == what["total"] and m["done_bytes"] == what["total"], f"{p}")
    check(m["writes"] == m["done"] == parts and m["creates"] == m["closes"] == ranks, f"{m}")
    check(at.get() == wanted, f"{ranks} ranks, {what}: the bytes differ")
    check(at.parts() == parts, f"{at.parts()} parts, not {parts}")
    check(at.left() == ([], True), f"{at.left()}")
    for n in readers:
        p, = works(n, folder, at.store(), [io("read", verify="full", **share(what, n))], at.env)["phases"]
        check(p["errors"] == 0 and p["bytes_read"] == what["total"], f"{n} read: {p}")
    return p


def delete(at, folder, what):
    works(1, folder, at.store(), [io("delete", **share(what, 1))], at.env)
    check(not at.left()[1], "the object still exists")


@matrix
def test_any_number_of_ranks():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        stores = (S3(rgw), some((3, 8, 1), 3)), (S3(rgw, "gs"), (3,)), (Azure(azurite), some((3, 8, 1), 3))
        for what in some((UNEVEN, EVEN), 2):
            wanted = made_by_one(folder, what)
            for at, all_ranks in stores:
                for ranks in all_ranks:
                    whole(at, folder, what, ranks, (2,) if ranks > 1 else (3,), wanted)
                delete(at, folder, what)


def test_another_store():
    """Ranks with different stores cannot write one object: the run fails and leaves no upload."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = S3(rgw)
        store = {**at.store(), "uri": [at.uri, at.uri + "y"]}
        r, _ = run(2, folder, store, [io("write", **share(SMALL, 2))], at.env)
        check(r.rc == 1 and "one object cannot be in both" in r.err, f"{r}")
        check(at.left() == ([], False), f"{at.left()}")


def test_written_again():
    """An existing object is written again, by another number of ranks, in random order, by several threads per rank, and every
    part twice."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at, wanted = S3(rgw), made_by_one(folder, SMALL)
        whole(at, folder, SMALL, 2, (), wanted)
        again = {**share(SMALL, 3), "threads": 2, "order": "random", "passes": 2}
        p, = works(3, folder, at.store(), [io("write", **again)], at.env)["phases"]
        check(p["bytes_written"] == 2 * SMALL["total"] and at.get() == wanted, f"{p}")
        check(at.left() == ([], True), f"{at.left()}")


FAULTS = (
    # fault, and the requests that it hits
    ("503@every=3", "@method=PUT@path=partNumber"), ("rst@every=3", "@method=PUT@path=partNumber"),
    ("503@first=1", "@method=POST@path=uploads"), ("500@first=1", "@method=GET@path=uploadId"),
    ("rst@first=1", "@method=GET@path=uploadId"), ("trunc:300@first=1", "@method=GET@path=uploadId"),
    ("503@first=1", "@method=POST@path=uploadId"), ("rst@first=1", "@method=POST@path=uploadId"),
    ("err200@first=1", "@method=POST@path=uploadId"), ("close@first=1", "@method=POST@path=uploadId"),
)


@matrix
def test_faults():
    """Faults of parts, of the list of parts and of the commit: each costs one more attempt, and the bytes are right."""
    azure = (("503@every=3", "@method=PUT@path=blockid="), ("500@first=1", "@method=GET@path=comp=blocklist"),
             ("trunc:300@first=1", "@method=GET@path=comp=blocklist"), ("rst@first=1", "@method=PUT@path=comp=blocklist"))
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        wanted = made_by_one(folder, THREE)
        for at, rules in ((S3(rgw), FAULTS), (Azure(azurite), azure)):
            for rule, where in some(rules, 4):
                with servers.Proxy(at.server.endpoint(), rule + where) as proxy:
                    p = whole(at, folder, THREE, 3, (), wanted, at.store(proxy.endpoint()))
                    hits, = proxy.stats()["rules"].values()
                    check(hits >= 1 and p["retries"] == hits, f"{rule}{where}: {hits} faults, {p['retries']} retries")
            delete(at, folder, THREE)


def test_pages_and_sums():
    """The store lists the parts in small pages, of which one is requested again. Each part has a checksum, which the store
    returns in the list and requires in the commit, as S3 does."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at, wanted = S3(rgw), made_by_one(folder, SMALL)
        with servers.Proxy(rgw.endpoint(), "rst@every=3@method=GET@path=uploadId", "page:2@method=GET@path=uploadId",
                           sums="s3") as proxy:
            whole(at, folder, SMALL, 3, (), wanted, at.store(proxy.endpoint(), checksum="crc32c"))
            pages = [t["path"] for t in proxy.trace() if t["method"] == "GET" and "uploadId" in t["path"]]
            check(proxy.stats()["rules"] == {"0:rst": 1, "1:page": 3} and len(pages) == 4, f"{proxy.stats()} {pages}")
            markers = [page.split("part-number-marker=")[1].split("&")[0] for page in pages[1:]]
            check(markers == ["2", "4", "4"], f"{pages}")
            parts = [t for t in proxy.trace() if "partNumber=" in t["path"]]
            # A part that a slow server has not answered for a minute is sent again.
            check(len({t["path"] for t in parts}) == 6 and all(t["sums"] == {"x-amz-checksum-crc32c": True} for t in parts),
                  f"{parts}")


def test_a_rank_fails():
    """If parts are refused permanently, all ranks end, and neither an upload nor an object is left. An object from before stays
    unchanged."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        for at, part in ((S3(rgw), "partNumber="), (Azure(azurite), "blockid=")):
            write = [io("write", **share(THREE, 3))]

            def no(sentence, rule):
                with servers.Proxy(at.server.endpoint(), rule) as proxy:
                    store = at.store(proxy.endpoint(), retry={"attempts": 3, "first": "5 ms", "longest": "20 ms"})
                    refused(sentence, 3, folder, store, write, at.env)
                    check(next(iter(proxy.stats()["rules"].values())) >= 1, f"{rule}: the fault was never injected")

            no("io/shared", "403exp@from=3@method=PUT@path=" + part)
            check(at.left() == ([], False), f"{at.left()}")
            if part == "partNumber=":
                no("3 attempts", "500@method=POST@path=uploadId")
                check(at.left() == ([], False), f"{at.left()}")
                no("3 attempts", "500@method=GET@path=uploadId")
                check(at.left() == ([], False), f"{at.left()}")
            works(3, folder, at.store(), write, at.env)
            before = at.get()
            no("io/shared", "rst@from=3@method=PUT@path=" + part)
            check(at.left() == ([], True) and at.get() == before, "the object was changed")
            delete(at, folder, THREE)


@pauses("2 s", "60 s")
def test_time_limit(limit):
    """A limit of time: if it ends before the object is complete, there is no object, and the results say so. If it ends
    later, the object exists."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = S3(rgw)
        with servers.Proxy(rgw.endpoint(), "delay:1@method=PUT@path=partNumber") as proxy:
            d = works(2, folder, at.store(proxy.endpoint()), [io("write", seconds="300 ms", **share(SMALL, 2))], at.env)
        check("was dropped" in str(d["phases"][0]), f"{d['phases'][0]}")
        check(at.left() == ([], False), f"{at.left()}")
        r, _ = run(2, folder, at.store(), [io("read", **share(SMALL, 2))], at.env)
        check(r.rc == 1 and "nothing was written" in r.err, f"{r}")
        works(2, folder, at.store(), [io("write", seconds=limit, passes=0, **share(SMALL, 2))], at.env)
        check(at.left() == ([], True) and len(at.get()) == SMALL["total"], f"{at.left()}")
        works(3, folder, at.store(), [io("read", verify="full", **share(SMALL, 3))], at.env)


def test_interrupted():
    """A signal between the parts leaves no upload open."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, \
            servers.Proxy(rgw.endpoint(), "delay:0.3@method=PUT@path=partNumber") as proxy:
        at = S3(rgw)
        write_job(folder, {"name": "stopped", "stores": {"d": at.store(proxy.endpoint())},
                           "phases": [io("write", passes=50, **share(SMALL, 3))]})
        process = start(3, "run", "job.json", "--grace", "60 s", cwd=folder, env={**CLEAN, **at.env})
        while proxy.stats()["requests"] < 15 and process.poll() is None:
            time.sleep(0.05)
        check(len(at.left()[0]) == 1, f"{at.left()}")
        process.send_signal(signal.SIGTERM)
        r = finish(process, time.monotonic())
        # An mpiexec that is signalled itself may end with 0.
        check(report(f"{folder}/results.h5")["status"] == "interrupted" and at.left() == ([], False), f"{at.left()} {r}")


def test_refused_by_the_plan():
    s3, az = {"uri": "s3://b/x", "endpoints": "http://127.0.0.1:1"}, {"uri": "az://a/c/x", "endpoints": "http://127.0.0.1:1"}
    table = (
        (s3, {"size": "8 MiB", "block": "1 MiB"}, "/block: parts of an object of s3:// have at least 5 MiB, not 1 MiB"),
        (s3, {"size": "50 GiB", "block": "5 MiB"},
         "/block: an object of s3:// has at most 10000 parts, not 20480 of 5 MiB"),
        (az, {"size": "50 GiB", "block": "1 MiB"},
         "/block: an object of az:// has at most 50000 parts, not 102400 of 1 MiB"),
        (s3, {"size": "48 MiB", "block": "8 MiB", "count": 3}, "/count: ends before the object is whole"),
        (s3, {"size": "48 MiB", "block": "8 MiB", "order": "replacement"}, "cannot write in place"),
        ({"uri": "mem://m"}, {"size": "48 MiB", "block": "8 MiB"}, "cannot take one object from many ranks"),
    )
    with Folder() as folder:
        for store, what, sentence in table:
            write_job(folder, {"name": "no", "stores": {"d": store}, "phases": [io("write", layout="strided", **what)]})
            r = mpi(2, "run", "job.json", cwd=folder, env=CLEAN)
            check(r.rc == 2 and sentence in r.err, f"{sentence}: {r}")


main()
