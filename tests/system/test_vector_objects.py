# SPDX-License-Identifier: Apache-2.0
"""Vector search on object stores: each node is one ranged GET, which a proxy counts; and searches that are ended, by a signal
or by an endpoint that does not answer."""
import contextlib
import json
import os
import signal
import socket
import time

import vector_modes
from haultest import MEMORY, Folder, alone, check, finish, matrix, mpi, names_in, report, start, write_job
from objects import CLEAN, main, run, servers, works

SHAPE = {"vectors": 4000, "segments": 2, "dimension": 300, "type": "float16", "degree": 24}
BUILD = {"vector": {"operation": "build", "name": "build", "threads": 2, **SHAPE}}


def search(**more):
    return {"vector": {"operation": "search", "name": "search", "list": 20, "beam": 4, "threads": 2, "count": 10,
                       "verify": "full", **SHAPE, **more}}


def test_each_read_is_one_get():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        rgw.bucket("vectors")
        servers.azure_container(azurite, "vectors")
        for name, uri, endpoint, env in (
                ("s3", "s3://vectors/s", rgw.endpoint(), rgw.env()),
                ("gs", "gs://vectors/g", rgw.endpoint(), {"GS_ACCESS_KEY_ID": rgw.KEY, "GS_SECRET_ACCESS_KEY": rgw.SECRET}),
                ("az", f"az://{azurite.ACCOUNT}/vectors/a", azurite.endpoint(), azurite.env())):
            p, = works(2, folder, {"uri": uri, "endpoints": endpoint}, [BUILD], env)["phases"]
            check(p["measures"]["built_bytes"] == p["bytes_written"] > 4000 * 600, f"{name}: {p['measures']}")
            with servers.Proxy(endpoint) as proxy:
                p, = works(2, folder, {"uri": uri, "endpoints": proxy.endpoint()}, [search()], env)["phases"]
                gets = [t for t in proxy.trace() if t["method"] == "GET" and "disk.index" in t["path"]]
            m = p["measures"]
            check(m["queries"] == 40 and m["reads"] == len(gets) - p["retries"] and m["reads"] > 40 * 2 * 20,
                  f"{name}: {len(gets)} GETs, {m}")
            check(p["errors"] == 0 and p["bytes_read"] == 4096 * m["reads"], f"{name}: {p['bytes_read']}")
            write_job(folder, {"stores": {"d": {"uri": uri, "endpoints": endpoint}}, "phases": [search()]})
            r = alone("clean", "job.json", cwd=folder, env={**CLEAN, **env})
            check(r.rc == 0, f"{name}: {r}")
            r = alone("ls", uri, "--set", f"endpoints={endpoint}", cwd=folder, env={**CLEAN, **env})
            check("disk.index" not in r.out and ".haul" not in r.out, f"{name}: {r}")


def test_lists_and_larger_nodes():
    """The other kinds of indexes: as many GETs as reads, of the size of a list or a node, with one rank and with eight."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.kept(servers.Azurite) as azurite:
        rgw.bucket("vectors")
        servers.azure_container(azurite, "vectors")
        s3, az = ("s3://vectors/k", rgw.endpoint(), rgw.env()), (f"az://{azurite.ACCOUNT}/vectors/k", azurite.endpoint(), azurite.env())
        for (uri, endpoint, env), ranks, index, more in ((s3, 8, "spann", {"probes": 8}), (s3, 1, "aisaq", {}), (az, 1, "aisaq", {}),
                                                         (az, 2, "ivf", {"probes": 3, "lists": 20})):
            kind = {"index": index, "folder": index, **({"lists": 20} if "lists" in more else {})}
            look = search(**{**kind, **more})
            look["vector"].update(count=2, threads=1)
            works(1, folder, {"uri": uri, "endpoints": endpoint}, [{"vector": {**BUILD["vector"], **kind}}], env)
            with servers.Proxy(endpoint) as proxy:
                p, = works(ranks, folder, {"uri": uri, "endpoints": proxy.endpoint()}, [look], env)["phases"]
                gets = [t for t in proxy.trace() if t["method"] == "GET" and f"/{index}/0" in t["path"]]
            m = p["measures"]
            check(m["queries"] == 2 * ranks and m["reads"] == m["expanded"] == len(gets) - p["retries"], f"{uri} {index}: {len(gets)}, {m}")
            if index != "aisaq":
                check(m["reads"] == m["queries"] * 2 * more["probes"] and p["errors"] == 0, f"{uri} {index}: {m}")


def test_ends():
    """A signal ends searches in the middle, and what they counted is kept; an endpoint that does not answer is an error."""
    with Folder(MEMORY) as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("vectors")
        store = {"uri": "s3://vectors/e", "endpoints": rgw.endpoint()}
        works(1, folder, store, [BUILD], rgw.env())
        for spread in ("queries", "segments"):
            write_job(folder, {"stores": {"d": store}, "phases": [search(count=0, seconds=600, spread=spread)]})
            process = start(2, "run", "job.json", "--force", "--live", "-", "--quiet", cwd=folder, env={**CLEAN, **rgw.env()})
            began = time.monotonic()
            for line in process.stdout:
                if json.loads(line).get("items", 0) > 20:
                    break
            process.send_signal(signal.SIGINT)
            r = finish(process, began)
            p, = report(f"{folder}/results.h5")["phases"]
            check(p["status"] == "interrupted" and p["measures"]["queries"] > 0, f"{r} {p['status']} {p['measures']}")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            store["endpoints"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
            r, _ = run(1, folder, {**store, "first_byte_timeout": "300 ms", "retry": {"attempts": 2, "first": "10 ms"}}, [search()], rgw.env())
            check(r.rc != 0, f"{r}")


def test_load():
    """An index is downloaded from an object store to a local one, a GET for each slice; one that a signal ends in the middle
    leaves a copy that is not searched, and that the next replaces."""
    size, piece = 4096 * (1 + 2000 // 5), 512 << 10  # 5 nodes of 700 bytes in a sector
    slices = -(-size // piece)
    load = {"vector": {"operation": "load", "name": "load", "slice": piece, "store": "d", "to": "local", "threads": 2,
                       "verify": "full", **SHAPE}}
    near = {"vector": {**search()["vector"], "store": "local"}}
    with Folder(MEMORY) as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("vectors")
        store = {"uri": "s3://vectors/l", "endpoints": rgw.endpoint()}
        works(2, folder, store, [BUILD], rgw.env())

        def job(endpoint, *phases):
            write_job(folder, {"phases": phases, "stores": {"d": {**store, "endpoints": endpoint},
                                                            "local": {"uri": f"file://{folder}/local", "engine": "uring"}}})

        env = {**CLEAN, **rgw.env()}
        with servers.Proxy(rgw.endpoint(), "delay:300@from=3@method=GET@path=disk.index") as proxy:
            job(proxy.endpoint(), load)
            process, began = start(2, "run", "job.json", "--force", "--quiet", cwd=folder, env=env), time.monotonic()
            while sum(t["method"] == "GET" and "disk.index" in t["path"] for t in proxy.trace()) < 3:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            r = finish(process, began)
        p, = report(f"{folder}/results.h5")["phases"]
        check(p["status"] == "interrupted" and p["measures"]["ready_ns"] == 0, f"{r} {p['status']} {p['measures']}")
        job(rgw.endpoint(), near)
        r = alone("run", "job.json", "--force", cwd=folder, env=env)
        check(r.rc != 0 and "was not built to its end" in r.err, f"{r}")
        with servers.Proxy(rgw.endpoint()) as proxy:
            job(proxy.endpoint(), load, near)
            r = mpi(2, "run", "job.json", "--force", cwd=folder, env=env)
            check(r.rc == 0, f"{r}")
            gets = [t for t in proxy.trace() if t["method"] == "GET" and "disk.index" in t["path"]]
        p, searched = report(f"{folder}/results.h5")["phases"]
        check(len(gets) - p["retries"] == p["measures"]["reads"] == 2 * slices, f"{len(gets)} GETs, {p['measures']}")
        check(p["bytes_read"] == p["bytes_written"] == p["measures"]["loaded_bytes"] == 2 * size, f"{p['measures']}")
        check(searched["errors"] == 0 and searched["measures"]["queries"] == 40, f"{searched['measures']}")


def test_merges():
    """Merges on an object store write new keys. One that a signal ends in the middle leaves the index that was there, of which
    every byte is verified; then the merges of two ranks, whose bytes the store counts, too."""
    shape = {**SHAPE, "vectors": 2000, "spread": "segments"}
    build, change = ({"vector": {**p["vector"], **shape}} for p in (BUILD, search(count=0, seconds=600, list=10, beam=2)))
    build["vector"].pop("spread")
    change["vector"].update(inserts=6000, deletes=2000, merge_at=200, merges=1)
    after = {"vector": {**search(count=10, list=10)["vector"], **shape}}
    size = {n: 4096 * (1 + -(-n // 5)) for n in (1000, 1100)}
    with Folder(MEMORY) as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("vectors")
        store = {"uri": "s3://vectors/m", "endpoints": rgw.endpoint()}
        env = {**CLEAN, **rgw.env()}

        def listed():
            found = rgw.client().list_objects_v2(Bucket="vectors", Prefix="m/")
            return sorted(os.path.basename(o["Key"]) for o in found.get("Contents", []) if "/.haul" not in o["Key"])

        works(2, folder, store, [build], rgw.env())
        with servers.Proxy(rgw.endpoint(), "delay:300@method=PUT@path=.2_disk.index") as proxy:
            write_job(folder, {"stores": {"d": {**store, "endpoints": proxy.endpoint()}}, "phases": [change]})
            process, began = start(2, "run", "job.json", "--force", "--quiet", cwd=folder, env=env), time.monotonic()
            while not any(t["method"] == "PUT" and ".2_disk.index" in t["path"] for t in proxy.trace()):
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            r = finish(process, began)
        p, = report(f"{folder}/results.h5")["phases"]
        check(p["status"] == "interrupted" and p["measures"]["merges"] == 0 and p["measures"]["merges_left"] > 0, f"{r} {p['measures']}")
        works(2, folder, store, [after], rgw.env())
        p, = works(2, folder, store, [change], rgw.env())["phases"]
        m = p["measures"]
        check((m["merges"], m["inserts"], m["deletes"]) == (2, 300, 100) and p["errors"] == 0, f"{m}")
        check(m["merge_written_bytes"] == p["bytes_written"] == 2 * (size[1000] + size[1100]), f"{m}")
        check(m["merge_read_bytes"] == 2 * 2 * size[1000] + 4096 * m["insert_reads"], f"{m}")
        check(listed() == [f"00000{i}{n}" for i in (0, 1) for n in (".2_disk.index", "_generation.json")], f"{listed()}")
        p, = works(2, folder, store, [after], rgw.env())["phases"]
        check(p["errors"] == 0 and p["measures"]["parts"] == 2 * 2 * 10, f"{p['measures']}")
        write_job(folder, {"stores": {"d": store}, "phases": [after]})
        r = alone("clean", "job.json", cwd=folder, env=env)
        check(r.rc == 0 and listed() == [], f"{r} {listed()}")


def stores_of(folder, kind, server, endpoint=None):
    """The server's store, which is the default one, and a folder that an index is loaded into."""
    uri = "s3://vectors/m" if kind == "s3" else f"az://{server.ACCOUNT}/vectors/m"
    return {"d": {"uri": uri, "endpoints": endpoint or server.endpoint(), "retry": {"attempts": 2, "first": "10 ms"}},
            "near": {"uri": f"file://{folder}/near", "engine": "uring"}}


def with_default(phases):
    return [{"vector": {"store": "d", **p["vector"]}} for p in phases]


def left_on(folder, stores, phases, env):
    """What haul clean leaves, and whether it says that something stays."""
    write_job(folder, {"stores": stores, "phases": phases})
    r = alone("clean", "job.json", cwd=folder, env={**CLEAN, **env})
    listed = alone("ls", stores["d"]["uri"], "--set", f"endpoints={stores['d']['endpoints']}", cwd=folder, env={**CLEAN, **env})
    check(r.rc == 0 and not any(name in listed.out for name in ("disk.index", "hnsw.bin", "generation", ".haul")), f"{r} {listed}")
    check(not names_in(f"{folder}/near"), f"{r}")


MODES = [(kind, ranks, mode) for kind in ("az", "s3") for mode in vector_modes.MODES for ranks in (1, 2, 8)]


@contextlib.contextmanager
def kept(kind):
    with servers.kept(servers.Rgw if kind == "s3" else servers.Azurite) as server:
        if kind == "s3":
            server.bucket("vectors")
        else:
            servers.azure_container(server, "vectors")
        yield server


@matrix
def test_modes():
    """Loads, segments that are spread, merges and HNSW, by one rank and by eight; then all of it is removed."""
    for kind, ranks, mode in vector_modes.drawn(MODES):
        with Folder() as folder, kept(kind) as server:
            stores, phases = stores_of(folder, kind, server), with_default([vector_modes.built(mode), *vector_modes.phases(mode, "near")])
            done = works(ranks, folder, None, phases, server.env(), stores=stores)["phases"]
            vector_modes.counted(mode, ranks, done)
            left_on(folder, stores, phases, server.env())


@matrix
def test_dead_endpoint():
    """An endpoint that answers nothing more, from some request for the index on: the run ends with a sentence about it. What was not
    loaded whole is not searched; of a segment that was not merged, the index is the one from before; and all of it is removed."""
    for kind, ranks, mode in vector_modes.drawn([(k, r, m) for k, r, m in MODES if r < 8]):
        with Folder() as folder, kept(kind) as server:
            env, build = server.env(), with_default([vector_modes.built(mode)])
            phases = with_default(vector_modes.phases(mode, "near"))
            works(ranks, folder, None, build, env, stores=stores_of(folder, kind, server))
            dies = f"rst@from={2 if mode == 'slices' else 3}@path=" + {"merge": ".2_disk.index", "hnsw": "hnsw.bin"}.get(mode, "disk.index")
            with servers.Proxy(server.endpoint(), dies) as proxy:
                stores = stores_of(folder, kind, server, proxy.endpoint())
                r, done = run(ranks, folder, None, phases[:1], env, stores=stores)
                p, = done["phases"]
                check(r.rc == 1 and "the connection broke (2 attempts)" in " ".join(r.err.split()) and p["status"] == "failed", f"{mode}: {p['status']} {r}")
            stores = stores_of(folder, kind, server)
            if phases[1:]:
                r, _ = run(ranks, folder, None, phases[1:], env, stores=stores)
                loaded = mode in ("load", "slices")
                check("was not built to its end" in r.err if loaded else r.rc == 0, f"{mode}: {r}")
            done = works(ranks, folder, None, phases, env, stores=stores)["phases"]
            if mode != "merge":
                vector_modes.counted(mode, ranks, done)
            left_on(folder, stores, build + phases, env)


if __name__ == "__main__":
    main()
