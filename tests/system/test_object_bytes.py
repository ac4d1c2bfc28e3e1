# SPDX-License-Identifier: Apache-2.0
"""Bytes and requests of s3:// and az://: other clients (boto3 with Ceph's gateway, requests signed by hand with Azurite) read
what haul writes and the other way round, around the sizes of parts and with awkward prefixes. The server gets as many
requests as the results say, and no output shows a secret."""
import os
import xml.etree.ElementTree

from haultest import FULL, Folder, check, matrix
from objects import AWKWARD, files_below, io, main, run, same_files, servers, works

MIB = 1 << 20
DATA = "/io/000000"  # a part of the path of every object of an io phase, and of no other object


class S3:
    name, list_path = "s3", "list-type=2"

    def __enter__(self):
        self.keeper = servers.kept(servers.Rgw)
        self.server = self.keeper.__enter__()
        self.server.bucket("train")
        self.client = self.server.client()
        return self

    def __exit__(self, *error):
        self.keeper.__exit__(*error)

    def store(self, prefix="", server=None):
        return {"uri": f"s3://train/{prefix}", "endpoints": (server or self.server).endpoint()}

    def keys(self, prefix=""):
        found = {}
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket="train", Prefix=prefix):
            found.update((o["Key"], o["Size"]) for o in page.get("Contents", []))
        return found

    def get(self, key, path):
        self.client.download_file("train", key, path)

    def put(self, path, key):
        self.client.upload_file(path, "train", key)

    def check_clean(self):
        left = self.client.list_multipart_uploads(Bucket="train").get("Uploads")
        check(not left, f"uploads in parts remain open: {left}")


class Azure:
    name, list_path = "az", "comp=list"

    def __enter__(self):
        self.keeper = servers.kept(servers.Azurite)
        self.server = self.keeper.__enter__()
        servers.azure_container(self.server, "train")
        return self

    def __exit__(self, *error):
        self.keeper.__exit__(*error)

    def store(self, prefix="", server=None):
        return {"uri": f"az://{self.server.ACCOUNT}/train/{prefix}", "endpoints": (server or self.server).endpoint()}

    def ask(self, method, path, wanted, **more):
        status, _, body = servers.azure_request(self.server, method, path, **more)
        check(status == wanted, f"{method} {path}: {status} {body[:300]}")
        return body

    def keys(self, prefix=""):
        found, marker = {}, ""
        while True:
            query = [("restype", "container"), ("comp", "list"), ("prefix", prefix), ("marker", marker)]
            page = xml.etree.ElementTree.fromstring(self.ask("GET", "train", 200, query=query))
            for blob in page.iter("Blob"):
                found[blob.findtext("Name")] = int(blob.findtext("Properties/Content-Length"))
            marker = page.findtext("NextMarker") or ""
            if not marker:
                return found

    def get(self, key, path):
        with open(path, "wb") as f:
            f.write(self.ask("GET", f"train/{key}", 200))

    def put(self, path, key):
        with open(path, "rb") as f:
            self.ask("PUT", f"train/{key}", 201, headers=[("x-ms-blob-type", "BlockBlob")], body=f.read())

    def check_clean(self):
        pass  # Azure does not show blocks without a committed list


def on_both(test):
    def tried():
        for side in (S3, Azure):
            with side() as s, Folder() as folder:
                test(s, folder)
    tried.__name__ = test.__name__
    return tried


@on_both
def test_operations(side, folder):
    """Each operation of the phase io makes exactly as many requests to the server as the results say."""
    common = {"objects": 5, "size": "64 KiB", "block": "64 KiB", "depth": 3}
    verbs = ("PUT", "HEAD", "GET", "DELETE")
    wanted = {"write": {"PUT": 15}, "read": {"GET": 15}, "stat": {"HEAD": 15}, "list": {"list": 3},
              "delete": {"DELETE": 15}}
    rules = [f"count@method={v}@path={DATA}" for v in verbs] + ["count@path=" + side.list_path]
    phases = [io("write", **common), io("read", verify="full", **common), io("stat", **common),
              io("list", objects=5), io("delete", **common)]
    with servers.Proxy(side.server.endpoint(), *rules) as proxy:
        before = [0] * len(rules)
        for operation, asked in wanted.items():
            what = f"{side.name}, {operation}"
            p = works(3, folder, side.store("", proxy), phases, side.server.env(), only=operation)["phases"][0]
            now = list(proxy.stats()["rules"].values())
            seen = dict(zip(verbs + ("list",), (a - b for a, b in zip(now, before))))
            before = now
            if operation != "list":
                seen.pop("list")  # by which the phase looks whether the folder is empty
            check(seen == {**dict.fromkeys(seen, 0), **asked}, f"{what}: the server was asked {seen}, wanted {asked}")
            m = p["measures"]
            done = {"PUT": m["writes"], "GET": m["reads"], "HEAD": m["stats"], "list": m["lists"], "DELETE": m["deletes"]}
            check({k: v for k, v in done.items() if v} == asked, f"{what}: {m}")
            check(p["errors"] == p["retries"] == 0, f"{what}: {p['errors']} errors, {p['retries']} retries")
            check(p["endpoints"][0]["requests"] == sum(asked.values()), f"{what}: {p['endpoints']}")
            if operation == "write":
                check(sorted(side.keys("io/0").values()) == [65536] * 15, f"{what}: {side.keys()}")
            if operation == "list":
                check(m["entries"] == 3 * 15, f"{what}: {m['entries']} entries")
        check(not side.keys(), f"{side.name}: left: {side.keys()}")


@matrix
@on_both
def test_bytes_both_ways(side, folder):
    """The same job on file:// gives the expected bytes. Another client reads them below an awkward prefix, and haul reads
    those that the other client wrote. The sizes are one byte, those around the smallest part, and many parts."""
    sizes = (1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, (200 if FULL else 24) * MIB)
    phases = [io(op, objects=1, size=n, block=min(n, 5 * MIB + n % 2), folder=f"n {n}", verify="full")
              for op in ("write", "read") for n in sizes[:-1]]
    phases += [io(op, objects=1, size=sizes[-1], block=8 * MIB, folder="large", verify="full") for op in ("write", "read")]
    for i, p in enumerate(phases):
        p["io"]["name"] = f"{p['io']['operation']}{i}"
    works(1, folder, {"uri": f"file://{folder}/data"}, phases, {})
    for p in phases:
        p["io"]["depth"] = min(4, p["io"]["size"] // p["io"]["block"])
    works(1, folder, side.store(AWKWARD), phases, side.server.env())
    found = side.keys(AWKWARD + "/")
    check(sorted(n for k, n in found.items() if "/.haul" not in k) == sorted(sizes), f"{side.name}: {found}")
    side.check_clean()
    for key in found:
        path = f"{folder}/back/{key[len(AWKWARD) + 1:]}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        side.get(key, path)
    same_files(f"{folder}/data", f"{folder}/back", f"{side.name}: written by haul, read by another")
    for name in files_below(f"{folder}/data"):
        side.put(f"{folder}/data/{name}", f"from another/{name}")
    works(1, folder, side.store("from another"), [p for p in phases if p["io"]["operation"] == "read"], side.server.env())


@on_both
def test_secrets_stay_secret(side, folder):
    """Neither the results nor the output contain a secret or a signature."""
    write = [io("write", objects=1, size="4 KiB", block="4 KiB")]
    good, _ = run(2, folder, side.store(), write, side.server.env())
    with open(f"{folder}/results.h5", "rb") as f:
        kept = f.read().decode("latin1")
    secret = {"AWS_SECRET_ACCESS_KEY": "c2VjcmV0AA==", "AZURE_STORAGE_KEY": "c2VjcmV0AA=="}
    bad, _ = run(2, folder, side.store(), write, {**side.server.env(), **secret})
    check(good.rc == 0 and bad.rc == 1, f"{side.name}: {good}\n{bad}")
    for text in (good.out, good.err, bad.out, bad.err, kept):
        for hidden in (servers.Rgw.SECRET, servers.Azurite.KEY, "c2VjcmV0AA==", "Signature=", "SharedKey "):
            check(hidden not in text, f"{side.name}: {hidden} shows: {text[-1000:]}")


main()
