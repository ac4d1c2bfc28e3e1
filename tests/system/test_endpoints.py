"""Many ways into one store: several gateways whose own counters say who was asked how often."""
import os
import signal
import subprocess
import threading
import time

from haultest import HAUL, Folder, check, steady, write_job
from objects import CLEAN, io, main, servers, works

MIB = 1 << 20

GATEWAYS = 4
QUICK = {"retry": {"first": "5 ms", "longest": "200 ms"}}
SMALL = {"objects": 32, "size": "64 KiB", "block": "64 KiB", "depth": 2}
RANKS = 4


def store_of(endpoints, balance, **more):
    return {"uri": "s3://train", "endpoints": endpoints, "balance": balance, **QUICK, **more}


def counted(rgw):
    return [rgw.requests(i)["req"] for i in range(GATEWAYS)]


def test_policies():
    """Every kind of operation is balanced: what each gateway counted itself is what the results say of it."""
    asked = {"write": 2, "read": 1, "stat": 1, "delete": 1}  # of an object; a commit asks for the size
    with Folder() as folder, servers.Rgw(gateways=GATEWAYS) as rgw:
        rgw.bucket("train")
        for balance, least, most in (("rank", 1, 1), ("round_robin", 0.95, 1.05), ("random", 0.5, 1.6),
                                     ("least_loaded", 0.4, 2)):
            for operation, times in asked.items():
                what, before = f"{balance}, {operation}", counted(rgw)
                p = works(RANKS, folder, store_of(rgw.endpoints(), balance), [io(operation, **SMALL)],
                          rgw.env())["phases"][0]
                seen = [b - a for a, b in zip(before, counted(rgw))]
                ours = [e["requests"] for e in p["endpoints"]]
                check([e["name"] for e in p["endpoints"]] == rgw.endpoints(), f"{what}: {p['endpoints']}")
                # Besides its objects' requests the phase makes a few for what it keeps of itself.
                check(sum(ours) == RANKS * 32 * times and p["errors"] == p["retries"] == 0, f"{what}: {ours}")
                check(all(0 <= n - m <= 12 for n, m in zip(seen, ours)), f"{what}: {ours}, the gateways {seen}")
                check(all(least * 32 * times <= n <= most * 32 * times for n in ours), f"{what}: {ours}")


def test_node():
    """All ranks of this one node go one way."""
    with Folder() as folder, servers.Rgw(gateways=GATEWAYS) as rgw:
        rgw.bucket("train")
        before = counted(rgw)
        works(RANKS, folder, store_of(rgw.endpoints(), "node"), [io("write", **SMALL)], rgw.env())
        seen = [b - a for a, b in zip(before, counted(rgw))]
        check(seen[0] >= 2 * RANKS * 32 and sum(seen[1:]) == 0, f"{seen}")


@steady
def test_slow_one():
    """One of four answers ten times later: load moves away from it, and does not with round robin."""
    reads = {**SMALL, "objects": 64, "depth": 8}
    with Folder() as folder, servers.Rgw(gateways=GATEWAYS) as rgw:
        rgw.bucket("train")
        works(1, folder, store_of(rgw.endpoints(), "rank"), [io("write", **reads)], rgw.env())
        shares = {}
        for balance in ("round_robin", "least_loaded", "latency"):
            with servers.Proxy(rgw.endpoint(0), "delay:0.1") as slow, servers.Proxy(rgw.endpoint(1), "delay:0.01") as b, \
                    servers.Proxy(rgw.endpoint(2), "delay:0.01") as c, servers.Proxy(rgw.endpoint(3), "delay:0.01") as d:
                proxies = (slow, b, c, d)
                p = works(1, folder, store_of([x.endpoint() for x in proxies], balance),
                          [io("read", passes=4, verify="full", **reads)], rgw.env())["phases"][0]
                seen = [x.stats()["requests"] for x in proxies]
                shares[balance] = seen[0] / sum(seen)
                check(p["errors"] == 0 and sum(seen) >= 256, f"{balance}: {seen}")
        check(0.22 < shares["round_robin"] < 0.28, f"{shares}")
        check(shares["least_loaded"] < 0.15 and shares["latency"] < 0.15, f"{shares}")


@steady
def test_killed_one():
    """One gateway of four is killed under way, and comes back: nothing is lost, and it is used again."""
    for balance in ("rank", "round_robin", "least_loaded"):
        with Folder() as folder, servers.Rgw(gateways=GATEWAYS) as rgw:
            rgw.bucket("train")
            store = store_of(rgw.endpoints(), balance, eject_failures=3, eject_time="100 ms")
            works(RANKS, folder, store, [io("write", **SMALL)], rgw.env())
            other = threading.Thread(target=kill_for_a_while, args=(rgw, 2))
            other.start()
            p = works(RANKS, folder, store, [io("read", verify="full", passes=0, seconds=8, **SMALL)],
                      rgw.env())["phases"][0]
            other.join()
            check(p["errors"] == 0, f"{balance}: {p['errors']} errors")
            check(p["retries"] > 0 and p["endpoints"][2]["failures"] > 0, f"{balance}: {p['endpoints']}")
            check(rgw.requests(2)["get"] > 0, f"{balance}: nobody came back to it")


def kill_for_a_while(rgw, i):
    time.sleep(1.5)
    rgw.end(rgw.gateways[i], signal.SIGKILL)
    time.sleep(0.5)
    rgw.restart(i)


def test_lists_and_ranges():
    """Endpoints as ranges, from a file, from the environment's names."""
    write = [io("write", **SMALL)]
    with Folder() as folder, servers.Rgw(gateways=2) as rgw:
        rgw.bucket("train")
        listed = f"{folder}/endpoints"
        with open(listed, "w", encoding="ascii") as f:
            f.write("# two\n" + "\n".join(rgw.endpoints()) + "\n")
        both = ",".join(rgw.endpoints())
        bare = {k: v for k, v in store_of("", "round_robin").items() if k != "endpoints"}
        for store, env in ((store_of("file:" + listed, "round_robin"), {}), (bare, {"S3_ENDPOINT_URIS": both}),
                           (bare, {"S3_ENDPOINT_FILE": listed})):
            before = [rgw.requests(i)["req"] for i in range(2)]
            works(2, folder, store, write, {**rgw.env(), **env})
            seen = [rgw.requests(i)["req"] - before[i] for i in range(2)]
            # 64 objects by two requests each, and a few of the phase's own.
            check(all(60 <= n <= 80 for n in seen), f"{store} {env}: {seen}")
        works(2, folder, bare, write, {**rgw.env(), "AWS_ENDPOINT_URL": rgw.endpoint()})


def test_connections_are_kept():
    """10,000 small objects, 256 requests in flight: no connection is made twice that could have been kept."""
    many = {"objects": 5000, "size": "1 KiB", "block": "1 KiB", "depth": 128}
    with Folder() as folder, servers.Rgw() as rgw, servers.Proxy(rgw.endpoint()) as proxy:
        rgw.bucket("train")
        works(2, folder, store_of(rgw.endpoint(), "rank"), [io("write", **many)], rgw.env())
        p = works(2, folder, store_of(proxy.endpoint(), "rank"), [io("read", verify="full", **many)], rgw.env())["phases"][0]
        stats = proxy.stats()
        check(p["measures"]["reads"] == 10000 and p["errors"] == p["retries"] == 0, f"{p}")
        # 256, and those of the phase's own few requests.
        check(stats["requests"] >= 10000 and stats["connections"] <= 256 + 4, f"{stats}")
        made, = (e["connections"] for e in p["endpoints"])
        check(made <= 256 and stats["connections"] - 4 <= made, f"{made} connections, the proxy's {stats}")


def test_memory_is_bounded():
    """By what the job names: 256 in flight cost their buffers, and little more than one does."""
    if os.environ.get("HAUL_SANITIZED") == "1":
        return  # the sanitizers' own memory
    with Folder() as folder, servers.Rgw() as rgw:
        rgw.bucket("train")
        peak = {}
        for size, depth, objects in ((1024, 1, 1000), (1024, 256, 10000), (262144, 256, 1024)):
            for operation in ("write", "read"):
                job = {"name": "memory", "stores": {"d": store_of(rgw.endpoint(), "rank")}, "phases": [
                    io(operation, objects=objects, size=size, block=size, depth=depth, folder=f"{size} {depth}")]}
                peak[operation, size, depth] = peak_memory(write_job(folder, job), {**CLEAN, **rgw.env()})
        for operation in ("write", "read"):
            least = peak[operation, 1024, 1]
            check(peak[operation, 1024, 256] <= least + 16 * MIB, f"{operation}: {peak}")
            # A socket's worth of upload stands in libcurl, too: 64 KiB each.
            check(peak[operation, 262144, 256] <= least + 256 * (262144 + 65536) + 48 * MIB, f"{operation}: {peak}")


def peak_memory(job, env):
    with subprocess.Popen([HAUL, "run", job, "--force"], cwd=os.path.dirname(job), env={**os.environ, **env},
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = status
    check(status == 0, f"{job}: exit {status}")
    return used.ru_maxrss * 1024


if __name__ == "__main__":
    main(test_policies, test_node, test_slow_one, test_killed_one, test_lists_and_ranges, test_connections_are_kept,
         test_memory_is_bounded)
