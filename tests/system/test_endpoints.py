# SPDX-License-Identifier: Apache-2.0
"""Several endpoints of one store: requests are balanced over gateways by each policy, as the gateways' own counters say, and
go on when one gateway is slow or is killed.

test_endpoints.py EMPTY_PROCESS"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from haultest import FULL, HANGS_S, HAUL, SANITIZED, TRANSPORT, Folder, alone, check, finish, machine_took_s, matrix, report, some, start, timing, \
    write_job
from objects import CLEAN, io, main, servers, works

EMPTY = sys.argv.pop(1)
GATEWAYS = 4
MANY = 10000 if FULL else 600
QUICK = {"retry": {"first": "5 ms", "longest": "200 ms"}}
SMALL = {"objects": 32, "size": "64 KiB", "block": "64 KiB", "depth": 2}
RANKS = 4


@contextlib.contextmanager
def gateways():
    with servers.Rgw(gateways=GATEWAYS) as rgw:
        rgw.bucket("train")
        yield rgw


def store_of(endpoints, balance, **more):
    return {"uri": "s3://train", "endpoints": endpoints, "balance": balance, **QUICK, **more}


def counted(rgw):
    return [rgw.requests(i)["req"] for i in range(GATEWAYS)]


def dealt(rgw, balance, endpoints=None, took=None, objects=32):
    """Checks that the requests in the results are those that each gateway counted. Returns, for each kind of operation, the
    requests at each gateway, where 1 is the average. took gets the shares of the phases that the machine took for other
    work."""
    operations = "write", "read", "stat", "delete"  # one request per object each
    shares, endpoints = {}, endpoints or rgw.endpoints()
    with Folder() as folder:
        before = counted(rgw)
        phases = [io(operation, **{**SMALL, "objects": objects}) for operation in operations]
        done = works(RANKS, folder, store_of(endpoints, balance), phases, rgw.env())["phases"]
        if took is not None:
            took.update({p["name"]: machine_took_s(folder, p) / p["seconds"] for p in done})
        seen, whole = [b - a for a, b in zip(before, counted(rgw))], [0] * GATEWAYS
    for p, operation in zip(done, operations, strict=True):
        what, ours = f"{balance}, {operation}", [e["requests"] for e in p["endpoints"]]
        whole = [a + b for a, b in zip(whole, ours)]
        check([e["name"] for e in p["endpoints"]] == endpoints, f"{what}: {p['endpoints']}")
        check(sum(ours) == RANKS * objects and p["errors"] == p["retries"] == 0, f"{what}: {ours}")
        shares[operation] = [n / objects for n in ours]
    # Besides the requests for its objects, a phase makes a few for haul's own objects.
    check(all(0 <= n - m <= 12 * len(operations) for n, m in zip(seen, whole)), f"{balance}: {whole}, the gateways {seen}")
    return shares


def balanced(shares, least, most):
    check(all(least <= share <= most for of in shares.values() for share in of), f"{shares}")


@matrix
def test_policies(rgw):
    """Each policy balances every kind of operation. Random shares of 128 requests each have a standard deviation of 0.08 at
    most, and five of these are allowed."""
    for balance, objects, least, most in some((("rank", 32, 1, 1), ("random", 128, 0.6, 1.4), ("round_robin", 32, 0.95, 1.05),
                                               ("least_loaded", 32, 0, GATEWAYS)), 2):
        balanced(dealt(rgw, balance, objects=objects), least, most)


@timing
def test_least_loaded_among_equals(rgw):
    """Equal endpoints get about the same number of requests. Each answers after 20 ms, much more than this machine adds."""
    with contextlib.ExitStack() as stack:
        proxies = [stack.enter_context(servers.Proxy(e, "delay:0.02")) for e in rgw.endpoints()]
        took = {}
        shares = dealt(rgw, "least_loaded", [x.endpoint() for x in proxies], took)
        balanced(shares, 0.7 - max(took.values()), 1.3 + max(took.values()))


def own_of(began):
    """Requests by which leases may have been renewed since then."""
    return 2 * int((time.monotonic() - began) / 15)


def test_node(rgw):
    """With the policy node, all ranks of this one node use one endpoint."""
    with Folder() as folder:
        before = counted(rgw)
        began = time.monotonic()
        works(RANKS, folder, store_of(rgw.endpoints(), "node", uri="s3://train/node"), [io("write", **SMALL)], rgw.env())
        own = 12 + own_of(began)
        seen = [b - a for a, b in zip(before, counted(rgw))]
        check(RANKS * 32 <= seen[0] <= RANKS * 32 + own and sum(seen[1:]) == 0, f"{seen}")


@timing
def test_slow_one(rgw):
    """One endpoint of four takes ten times longer: load moves away from it, but not with round robin."""
    reads = {**SMALL, "objects": 64, "depth": 8}
    with Folder() as folder:
        works(1, folder, store_of(rgw.endpoints(), "rank", uri="s3://train/slow"), [io("write", **reads)], rgw.env())
        shares, took = {}, 0
        for balance in ("round_robin", "least_loaded", "latency"):
            with contextlib.ExitStack() as stack:
                proxies = [stack.enter_context(servers.Proxy(e, f"delay:{0.01 if i else 0.1}"))
                           for i, e in enumerate(rgw.endpoints())]
                p = works(1, folder, store_of([x.endpoint() for x in proxies], balance, uri="s3://train/slow"),
                          [io("read", passes=4, verify="full", **reads)], rgw.env())["phases"][0]
                seen = [x.stats()["requests"] for x in proxies]
                shares[balance] = seen[0] / sum(seen)
                took = max(took, machine_took_s(folder, p) / p["seconds"])
                check(p["errors"] == 0 and sum(seen) >= 256, f"{balance}: {seen}")
        check(0.22 < shares["round_robin"] < 0.28, f"{shares}")
        check(shares["least_loaded"] < 0.15 + took and shares["latency"] < 0.15 + took, f"{shares}, {took} by the machine")


def until(condition, process):
    while not condition():
        check(process.poll() is None, "the run has ended")
        time.sleep(0.05)


def killed_under_way(rgw, folder, store, which):
    """Kills a gateway while reads use it, restarts it when the others have served more reads, and stops the run when the
    gateway is used again. Returns the phase."""
    def gets(gateway):
        return rgw.requests(gateway)["get"]

    def others():
        return sum(gets(i) for i in range(GATEWAYS) if i != which)

    write_job(folder, {"name": "killed", "stores": {"d": store},
                       "phases": [io("read", verify="full", passes=0, seconds=1000, rate=200, **SMALL)]})
    used = gets(which)
    process = start(RANKS, "run", "job.json", "--force", "--grace", "60 s", cwd=folder, env={**CLEAN, **rgw.env()})
    try:
        until(lambda: gets(which) >= used + 20, process)
        rgw.end(rgw.gateways[which], signal.SIGKILL)
        served = others()
        until(lambda: others() >= served + 200, process)
        rgw.restart(which)
        until(lambda: gets(which) > 0, process)
    finally:
        process.send_signal(signal.SIGTERM)
        finish(process, time.monotonic())
    result = report(os.path.join(folder, "results.h5"))
    check(result["status"] == "interrupted", f"{result['status']}")
    return result["phases"][0]


@matrix
def test_killed_one(rgw):
    """One gateway of four is killed during reads and restarted: with each policy no read is lost, and it is used again."""
    for balance, which in some((("rank", 2), ("node", 0), ("round_robin", 2), ("random", 2), ("least_loaded", 2),
                                ("latency", 2)), 3):
        with Folder() as folder:
            store = store_of(rgw.endpoints(), balance, eject_failures=3, eject_time="100 ms",
                             uri=f"s3://train/killed-{balance}")
            # Writes are a run of their own, so that no read of haul's own objects is taken for one of the phase.
            works(RANKS, folder, store, [io("write", **SMALL)], rgw.env())
            p = killed_under_way(rgw, folder, store, which)
            check(p["errors"] == 0, f"{balance}: {p['errors']} errors")
            check(p["retries"] > 0 and p["endpoints"][which]["failures"] > 0, f"{balance}: {p['endpoints']}")


def test_lists_of_endpoints(rgw):
    """Endpoints can be given by a file and by environment variables."""
    write = [io("write", **SMALL)]
    two = rgw.endpoints()[:2]
    with Folder() as folder:
        listed = f"{folder}/endpoints"
        with open(listed, "w", encoding="ascii") as f:
            f.write("# two\n" + "\n".join(two) + "\n")
        bare = {k: v for k, v in store_of("", "round_robin", uri="s3://train/lists").items() if k != "endpoints"}
        for store, env in ((store_of("file:" + listed, "round_robin", uri="s3://train/lists"), {}), (bare, {"S3_ENDPOINT_URIS": ",".join(two)}),
                           (bare, {"S3_ENDPOINT_FILE": listed})):
            before = counted(rgw)
            began = time.monotonic()
            works(2, folder, store, write, {**rgw.env(), **env})
            most = 44 + own_of(began)
            seen = [b - a for a, b in zip(before, counted(rgw))]
            # 64 objects take a request each, and the phase makes a few for haul's own objects.
            check(all(32 <= n <= most for n in seen[:2]) and sum(seen[2:]) == 0, f"{store} {env}: {seen}")
        works(2, folder, bare, write, {**rgw.env(), "AWS_ENDPOINT_URL": rgw.endpoint()})


@matrix
def test_many_small_objects(rgw):
    """Many objects with 256 requests in flight: connections are kept, and the process takes at most the memory that
    the plan says (the job's buffers and 32 MiB) more than an empty process with MPI and HDF5. The same holds for larger
    objects."""
    empty = peak_memory([EMPTY], None, {})
    for size, threads, objects in some(((4096, 1, MANY), (262144, 1, 1500), (262144, 4, 1500)), 3):
        with Folder() as folder, servers.Proxy(rgw.endpoint()) as proxy:
            for operation in ("write", "read"):
                counts = operation == "read" and objects == MANY
                way = proxy.endpoint() if counts else rgw.endpoint()
                phase = io(operation, objects=objects, size=size, block=size, depth=256 // threads, threads=threads,
                           folder=f"{size}")
                job = {"name": "many", "stores": {"d": store_of(way, "rank", uri=f"s3://train/many-{threads}")}, "phases": [phase]}
                peak, planned, p = alone_measured(folder, job, {**CLEAN, **rgw.env()})
                what = f"{operation} of {objects} x {size}, {threads} threads"
                check(p["errors"] == p["retries"] == 0 and p["measures"][operation + "s"] == objects, f"{what}: {p}")
                made, = (e["connections"] for e in p["endpoints"])
                check(made <= 256, f"{what}: {made} connections")
                print(f"      {what}: {peak / 2 ** 20:.1f} MiB, empty {empty / 2 ** 20:.1f}, planned {planned / 2 ** 20:.1f}",
                      flush=True)
                if not SANITIZED:  # sanitizers take memory of their own
                    check(peak <= empty + planned, f"{what}: {peak} bytes, empty {empty}, planned {planned}")
                if counts:
                    stats = proxy.stats()
                    # At most 256 connections, and a few for haul's own objects.
                    check(stats["requests"] >= MANY and made <= stats["connections"] <= made + 4, f"{made}, {stats}")


def test_connections_of_phases(rgw):
    """A phase goes on with the connections of an earlier one, if it has as many requests in flight on the same store."""
    with Folder() as folder, servers.Proxy(rgw.endpoint()) as proxy:
        phases = [io("write", objects=32, size=4096, block=4096, depth=depth, folder=f"p{i}")
                  for i, depth in enumerate((4, 4, 8, 8))]
        for i, phase in enumerate(phases):
            phase["io"]["name"] = f"p{i}"
        store = store_of(proxy.endpoint(), "rank", uri="s3://train/phases")
        done = works(2, folder, store, phases, rgw.env())["phases"]
        made = [sum(e["connections"] for e in p["endpoints"]) for p in done]
        check(2 <= made[0] <= 8 and 2 <= made[2] <= 16, f"{made} connections")
        if TRANSPORT != "curl":
            check(made[1] == made[3] == 0, f"{made} connections")
            # A few more for haul's own objects.
            check(sum(made) <= proxy.stats()["connections"] <= sum(made) + 4, f"{made}, {proxy.stats()}")


def test_thousand_connections(rgw):
    """One rank with 1,024 requests in flight, over four gateways: each request has a connection of its own, which later
    requests use again, and nothing fails."""
    threads, depth, objects, passes = 8, 128, 1024, 2
    with Folder() as folder:
        store = store_of(rgw.endpoints(), "round_robin", uri="s3://train/thousand")
        small = {"objects": objects, "size": 4096, "block": 4096, "threads": threads}
        works(1, folder, store, [io("write", depth=8, **small)], rgw.env())
        p, = works(1, folder, store, [io("read", depth=depth, passes=passes, **small)], rgw.env())["phases"]
    made = [e["connections"] for e in p["endpoints"]]
    check(p["errors"] == p["retries"] == 0 and sum(e["requests"] for e in p["endpoints"]) == passes * objects, f"{p}")
    # A connection to one gateway may be idle while another gateway needs one more.
    check(1000 <= sum(made) <= GATEWAYS * threads * depth, f"{made} connections")


def alone_measured(folder, job, env):
    """Runs the job on one rank; returns (its peak resident set, the memory in the plan, the phase)."""
    path = write_job(folder, job)
    plan = alone("plan", path, "--json", cwd=folder, env=env)
    check(plan.rc == 0, f"{plan}")
    peak = peak_memory([HAUL, "run", path, "--force"], folder, env)
    done = report(os.path.join(folder, "results.h5"))["phases"][0]
    return peak, json.loads(plan.out)["memory_bytes_per_node"], done


def peak_memory(args, cwd, env):
    """The peak resident set of a process in bytes. A process inherits the peak of its parent, so a small parent starts it."""
    code = "import resource, subprocess, sys; rc = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; " \
           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(rc)"
    r = subprocess.run([sys.executable, "-S", "-c", code, *args], cwd=cwd, env={**os.environ, **env}, capture_output=True,
                       text=True, timeout=HANGS_S, check=False)
    check(r.returncode == 0, f"{args}: {r.stdout} {r.stderr}")
    return int(r.stdout) << 10


main(server=gateways)
