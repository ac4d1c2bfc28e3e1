# SPDX-License-Identifier: Apache-2.0
"""Client profiles against Ceph's gateway: the requests of each are those of its row in docs/stores-objects-requests.md, and options of
the job take precedence."""
import json

import h5py

from haultest import Folder, check, pauses
from objects import io, main, run, servers, works

MIB = 1 << 20
# For an object of 40 MiB: the parts written and the ranges read, in MiB; the least and the most requests of each that must
# have been under way at once; the number of HEADs; whether written bytes are hashed.
CLIENTS = {
    None: ([8] * 5, [8] * 5, (1, 1), (1, 1), 0, False),
    "haul": ([8] * 5, [8] * 5, (1, 1), (1, 1), 0, False),
    "s3dlio": ([8, 16, 16], [8] * 5, (2, 3), (2, 5), 1, False),
    "s3torchconnector": ([8] * 5, [8] * 5, (2, 5), (2, 5), 0, False),
    "minio": ([8, 32], [40], (2, 2), (1, 1), 0, True),
}


def length(r, whole):
    if not r["range"]:
        return whole * MIB
    first, last = r["range"].split("=")[1].split("-")
    return int(last) - int(first) + 1


def mib(lengths):
    """The lengths in MiB. A length with a stray byte becomes a fraction."""
    return sorted(n // MIB if n % MIB == 0 else n / MIB for n in lengths)


def pattern(proxy, seen, whole):
    """The requests for data objects after the first `seen` ones, in the terms of a row of CLIENTS."""
    new = [r for r in proxy.trace()[seen:] if "/.haul" not in r["path"] and ".raw" in r["path"]]
    puts = [r for r in new if r["method"] == "PUT"]
    gets = [r for r in new if r["method"] == "GET"]
    return {"puts": mib(r["bytes"] for r in puts), "gets": mib(length(r, whole) for r in gets),
            "puts_under_way": max((r["under_way"] for r in puts), default=0),
            "gets_under_way": max((r["under_way"] for r in gets), default=0),
            "heads": sum(r["method"] == "HEAD" for r in new), "posts": sum(r["method"] == "POST" for r in new),
            "hashed": all(len(r["sha256"]) == 64 for r in puts)}


def go(folder, rgw, proxy, size, **store):
    """Returns (pattern of writing, pattern of reading) of one object of size MiB."""
    store = {"uri": f"s3://train/{len(proxy.trace())}", "endpoints": proxy.endpoint(), **store}
    dataset = {"format": "raw", "files": 1, "samples_per_file": 1, "sample_bytes": size * MIB}
    phases = [{"generate": {}}, {"train": {"epochs": 1, "batch": 1, "compute": 0, "buffers": "1 GiB", "verify": "full",
                                           "null_steps": 0, "loader": {"kind": "pytorch", "workers": 1}}}]
    result = []
    for kind in ("generate", "train"):
        seen = len(proxy.trace())
        works(1, folder, store, phases, rgw.env(), only=kind, dataset=dataset)
        result.append(pattern(proxy, seen, size))
    return result


@pauses(0.1, 1, 4)
def test_wire(delay):
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.Proxy(rgw.endpoint(), f"delay:{delay}@path=.raw") as proxy:
        rgw.bucket("train")
        for client, (parts, ranges, writing, reading, heads, hashed) in CLIENTS.items():
            w, r = go(folder, rgw, proxy, 40, **({"client": client} if client else {}))
            check(w["puts"] == parts and w["posts"] == 2 and not w["gets"], f"{client} writes {w}")
            check(writing[0] <= w["puts_under_way"] <= writing[1], f"{client} writes {w}")
            check(w["hashed"] == hashed, f"{client} writes {w}")
            check(r["gets"] == ranges and not r["puts"] and r["heads"] == heads, f"{client} reads {r}")
            check(reading[0] <= r["gets_under_way"] <= reading[1], f"{client} reads {r}")
            with h5py.File(f"{folder}/results.h5") as f:
                row = f["stores"][0]
                check(row["client"].decode() == (client or "haul"), f"{row}")


def test_small_and_own_options():
    """Below s3dlio's thresholds, the object is written and read by one request each. An option of the job replaces the
    profile's, and no other option changes."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.Proxy(rgw.endpoint(), "delay:0.1@path=.raw") as proxy:
        rgw.bucket("train")
        w, r = go(folder, rgw, proxy, 20, client="s3dlio")
        check((w["puts"], w["posts"], r["gets"], r["heads"]) == ([20], 0, [20], 1), f"{w} {r}")
        w, r = go(folder, rgw, proxy, 40, client="s3dlio", part="8 MiB", head_on_open=False, transfer="20 MiB",
                  retry={"first": "10 ms"})
        check((w["puts"], r["gets"], r["heads"]) == ([8] * 5, [20, 20], 0), f"{w} {r}")
        with h5py.File(f"{folder}/results.h5") as f:
            job = f["job"][()] if "job" in f else f.attrs["job"]
            store = json.loads(job)["stores"]["d"]
            check(store["retry"]["attempts"] == 3 and store["in_flight"] == 32 and store["part"] == 8 * MIB, f"{store}")
        w, r = go(folder, rgw, proxy, 40, split="adaptive", in_flight=4, transfer="16 MiB")
        check(r["gets"] == [10] * 4 and w["puts"] == [8, 16, 16], f"{w} {r}")
        r, _ = run(1, folder, {"uri": "gs://train/x", "client": "minio"}, [{"generate": {}}], rgw.env(),
                   dataset={"format": "raw", "files": 1, "sample_bytes": 4096})
        check(r.rc == 2 and "/stores/d/client: minio knows only s3://" in r.err, f"{r}")


def test_discard():
    """With discard, every byte is requested and counted, but none is examined: a corrupt one passes, and the results say
    that nobody saw the bytes."""
    data = {"objects": 2, "size": "3 MiB", "block": "1 MiB"}
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.Proxy(rgw.endpoint(), "corrupt:7@method=GET@path=/io/00") as proxy:
        rgw.bucket("train")
        store = {"uri": "s3://train", "endpoints": proxy.endpoint()}
        works(1, folder, store, [io("write", **{**data, "block": "3 MiB"})], rgw.env())
        p = works(1, folder, store, [io("read", verify="none", discard=True, **data)], rgw.env())["phases"][0]
        check(p["bytes_read"] == 6 * MIB and p["errors"] == 0 and "nobody saw them" in p["said"], f"{p}")
        r, _ = run(1, folder, store, [io("read", verify="full", **data)], rgw.env())
        check(r.rc == 1, f"the corrupt byte was not found: {r}")
        for uri, more, sentence in (("s3://train", {}, "/discard: what is dropped cannot be compared"),
                                    ("file://./x", {"verify": "none"}, "hands over all that it reads")):
            r, _ = run(1, folder, {"uri": uri}, [io("read", discard=True, **data, **more)], rgw.env())
            check(r.rc == 2 and sentence in r.err, f"{r}")


main()
