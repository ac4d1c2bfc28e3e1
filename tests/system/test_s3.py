"""s3:// against Ceph's gateway, boto3 on the other side: how often the server is asked, bytes both ways around
the sizes of parts, below awkward prefixes; secrets."""
import os

from haultest import Folder, check
from objects import AWKWARD, download, io, keys, main, run, same_files, servers, upload, works

MIB = 1 << 20
DATA = "/io/000000"  # in the path of every object of an io phase, and of nothing else


def store_of(rgw, prefix="", **more):
    return {"uri": f"s3://train/{prefix}", "endpoints": rgw.endpoints(), **more}


def test_operations():
    """Every operation of the phase io asks the server as often as the results say, and no more."""
    common = {"objects": 5, "size": "64 KiB", "block": "64 KiB", "depth": 3}
    verbs = ("PUT", "HEAD", "GET", "DELETE")
    rules = [f"count@method={v}@path={DATA}" for v in verbs] + ["count@path=list-type=2"]
    with Folder() as folder, servers.Rgw() as rgw, servers.Proxy(rgw.endpoint(), *rules) as proxy:
        rgw.bucket("train")
        before = [0] * len(rules)
        store = {"uri": "s3://train", "endpoints": proxy.endpoint()}
        wanted = {"write": {"PUT": 15, "HEAD": 15}, "read": {"GET": 15}, "stat": {"HEAD": 15}, "list": {"list": 3},
                  "delete": {"DELETE": 15}}
        phases = [io("write", **common), io("read", verify="full", **common), io("stat", **common),
                  io("list", objects=5), io("delete", **common)]
        for name, asked in wanted.items():
            p = works(3, folder, store, phases, rgw.env(), only=name)["phases"][0]
            now = list(proxy.stats()["rules"].values())
            seen = dict(zip(verbs + ("list",), (a - b for a, b in zip(now, before))))
            before = now
            if name != "list":
                seen.pop("list")  # whether the folder was empty
            check(seen == {**dict.fromkeys(seen, 0), **asked}, f"{name}: the server was asked {seen}, wanted {asked}")
            check(p["errors"] == p["retries"] == 0, f"{name}: {p['errors']} errors, {p['retries']} retries")
            m = p["measures"]
            check((m["writes"], m["reads"], m["stats"], m["lists"], m["deletes"]) == tuple(
                asked.get(v, 0) if name != "write" or v == "PUT" else 0 for v in ("PUT", "GET", "HEAD", "list", "DELETE")),
                f"{name}: {m}")
            if name == "write":
                found = keys(rgw.client(), "train", "io/0")
                check(sorted(found.values()) == [65536] * 15, f"{found}")
            if name == "list":
                check(m["entries"] == 3 * 15, f"{m['entries']} entries")
        check(not keys(rgw.client(), "train"), f"left: {keys(rgw.client(), 'train')}")


def test_bytes_both_ways():
    """The same job on file:// is the oracle: boto3 finds its bytes below an awkward prefix, and haul finds
    those that boto3 put there. One byte, around the smallest part, and many parts."""
    sizes = (1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 200 * MIB)
    phases = [io(op, objects=1, size=n, block=min(n, 5 * MIB + n % 2), folder=f"n {n}", verify="full")
              for op in ("write", "read") for n in sizes if n < 200 * MIB]
    phases += [io(op, objects=1, size=sizes[-1], block=8 * MIB, folder="large", verify="full") for op in ("write", "read")]
    for i, p in enumerate(phases):
        p["io"]["name"] = f"{p['io']['operation']}{i}"
    with Folder() as folder, Folder() as back, servers.Rgw() as rgw:
        rgw.bucket("train")
        client = rgw.client()
        works(1, folder, {"uri": f"file://{folder}/data"}, phases, {})
        for p in phases:
            p["io"]["depth"] = min(4, p["io"]["size"] // p["io"]["block"])
        works(1, folder, store_of(rgw, AWKWARD), phases, rgw.env())
        found = keys(client, "train", AWKWARD + "/")
        check(sorted(n for k, n in found.items() if "/.haul" not in k) == sorted(sizes), f"{found}")
        check(not client.list_multipart_uploads(Bucket="train").get("Uploads"), "uploads in parts remain open")
        download(client, "train", AWKWARD + "/", back)
        same_files(f"{folder}/data", back, "written by haul, read by boto3")
        upload(client, "train", "from boto3/", f"{folder}/data")
        reads = [p for p in phases if p["io"]["operation"] == "read"]
        works(1, folder, store_of(rgw, "from boto3"), reads, rgw.env())


def test_secrets_stay_secret():
    """Neither the results, nor what is said, nor what a process shows hold the secret."""
    with Folder() as folder, servers.Rgw() as rgw:
        rgw.bucket("train")
        store = store_of(rgw)
        write = [io("write", objects=1, size="4 KiB", block="4 KiB")]
        good, _ = run(2, folder, store, write, rgw.env())
        with open(os.path.join(folder, "results.h5"), "rb") as f:
            kept = f.read()
        bad, _ = run(2, folder, store, write, {**rgw.env(), "AWS_SECRET_ACCESS_KEY": rgw.SECRET + "not"})
        check(good.rc == 0 and bad.rc == 1, f"{good}\n{bad}")
        for text in (good.out, good.err, bad.out, bad.err, kept.decode("latin1")):
            check(rgw.SECRET not in text and "Signature=" not in text, f"the secret shows: {text[-1000:]}")


if __name__ == "__main__":
    main(test_operations, test_bytes_both_ways, test_secrets_stay_secret)
