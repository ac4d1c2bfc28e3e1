# SPDX-License-Identifier: Apache-2.0
"""Faults between haul and an object store, which a proxy injects one at a time and counts: the run completes where it can,
and the results have the counts of the proxy."""
import calendar
import time

from haultest import Folder, check, matrix, pauses, some
from objects import io, main, refused, run, servers, works
from ports import free_ports

DATA = "/io/000000"
READS = 40  # of 2 ranks together
SMALL = {"objects": 20, "size": "256 KiB", "block": "256 KiB", "depth": 4}
QUICK = {"retry": {"first": "5 ms", "longest": "200 ms"}, "eject_failures": 0}
KINDS = ("connect", "tls", "timeout", "stall", "broken", "throttle", "server", "denied", "missing", "other")
GET, PUT = f"@method=GET@path={DATA}", f"@method=PUT@path={DATA}"


class Bench:
    """A server with objects to read, and a folder to run in."""

    def __init__(self, server=servers.Rgw):
        self.keeper = servers.kept(server)
        self.uri = "s3://train" if server is servers.Rgw else f"az://{server.ACCOUNT}/train"

    def __enter__(self):
        self.folder = Folder()
        self.at = self.folder.__enter__()
        self.server = self.keeper.__enter__()
        if isinstance(self.server, servers.Rgw):
            self.server.bucket("train")
        else:
            servers.azure_container(self.server, "train")
        works(2, self.at, self.store(self.server), [io("write", **SMALL)], self.server.env())
        return self

    def __exit__(self, *error):
        self.keeper.__exit__(*error)
        self.folder.__exit__()

    def store(self, server, **more):
        return {"uri": self.uri, "endpoints": server.endpoint(), **QUICK, **more}

    def run(self, proxy, *phases, **more):
        return works(2, self.at, self.store(proxy, **more), list(phases), self.server.env())["phases"]


def read_through(bench, rule, **more):
    """Reads and verifies all objects with one fault; returns (the phase, its only endpoint, hits, requests for data)."""
    with servers.Proxy(bench.server.endpoint(), rule + GET, "count" + GET) as proxy:
        p, = bench.run(proxy, io("read", verify="full", **SMALL), **more)
        hits, rest = proxy.stats()["rules"].values()
        return p, p["endpoints"][0], hits, hits + rest


@matrix
def test_reads_complete():
    """Each fault leads to one more attempt, each object arrives complete, and the results have the number, status and kind of
    the faults. A read that was cut continues where it ended."""
    # Long enough that no answer without a fault takes it, on a busy machine either; a fault that is a delay lasts longer.
    timed = {"first_byte_timeout": "10 s", "stall_timeout": "10 s"}
    table = (
        # rule, options, the status of a failed attempt (0: no whole answer), its kind
        ("503@every=5", {}, 503, "throttle"), ("500@every=5", {}, 500, "server"), ("408@every=5", {}, 408, "timeout"),
        ("429:0@every=5", {}, 429, "throttle"), ("err200@every=5", {}, 200, "server"), ("rst@every=5", {}, 0, "broken"),
        ("close@every=5", {}, 0, "broken"), ("rstmid:100000@every=5", {}, 0, "broken"),
        ("trunc:100000@every=5", {}, 0, "broken"), ("trunc:0@every=5", {}, 0, "broken"),
        ("stall:60@every=20", timed, 0, "timeout"), ("stallmid:60@every=20", timed, 0, "stall"),
        ("drip:0.05@every=20", timed, 0, "stall"),
    )
    with Bench() as bench:
        for rule, more, status, kind in some(table, 5):
            p, e, hits, requests = read_through(bench, rule, **more)
            check(hits >= 2, f"{rule}: only {hits} faults")
            check(p["retries"] == hits, f"{rule}: {p['retries']} retries, {hits} faults")
            check(requests == e["requests"] == READS + hits, f"{rule}: {requests} requests of {READS} objects, {e}")
            check(p["errors"] == 0 and p["bytes_read"] == e["bytes"] == READS * 262144, f"{rule}: {p}")
            check((e["attempts"], e["failures"]) == (READS + hits, hits), f"{rule}: {hits} faults, {e}")
            check(e["statuses"] == {"206": READS, str(status): hits}, f"{rule}: {e}")
            check({k: e[k] for k in KINDS if e[k]} == {kind: hits}, f"{rule}: {e}")
            if "mid" in rule or "trunc" in rule:
                # The wire bytes show that the body was not read twice.
                check(e["wire_bytes"] < READS * (262144 + 2000) + hits * 4000, f"{rule}: {e}")


def test_nothing_to_retry():
    """Slow answers and redirections do not count as failures."""
    with Bench() as bench:
        p, e, hits, requests = read_through(bench, "slow:1000000@every=10")
        check((p["retries"], requests) == (0, READS) and hits == 4, f"slow: {p['retries']} retries, {requests} requests")
        p, e, hits, requests = read_through(bench, f"307:{bench.server.endpoint()}@every=4")
        check((p["retries"], p["errors"], requests, hits) == (0, 0, READS, 10), f"307: {p['retries']}, {requests}, {hits}")
        check(e["requests"] == READS + hits and e["attempts"] == READS, f"307: {e}")
        check(e["statuses"] == {"206": READS, "307": hits}, f"307: {e}")


@matrix
def test_unusual_answers():
    """Answers in chunks, after interim answers, with long or slow heads, and such after which the server closes are right:
    each object arrives by one attempt."""
    rules = ("chunked:1000@every=4", "chunked:100000@every=4", "interim@every=4", "headers:65536@every=4", "slowhead:0.001@every=10")
    with Bench() as bench:
        for rule in some(rules, 2):
            p, e, hits, requests = read_through(bench, rule)
            check(hits >= 4 and (p["retries"], p["errors"], requests) == (0, 0, READS), f"{rule}: {hits} {requests} {p}")
            check(e["failures"] == 0 and e["statuses"] == {"206": READS} and e["bytes"] == READS * 262144, f"{rule}: {e}")
        # No other connection is lost than those that the server ends.
        p, e, hits, _ = read_through(bench, "final@every=4")
        check(hits <= e["connections"] <= 8 + hits, f"final: {hits} {e}")


def test_refused_connections():
    """Each connection that is reset before its request was read costs one attempt."""
    with Bench() as bench, servers.Proxy(bench.server.endpoint(), "refuse@every=3", "count" + GET) as proxy:
        p, = bench.run(proxy, io("read", verify="full", **SMALL))
        e, (hits, served) = p["endpoints"][0], proxy.stats()["rules"].values()
        check(p["errors"] == 0 and p["bytes_read"] == READS * 262144 and served == READS, f"{p} {served}")
        check(hits >= 2 and p["retries"] == e["failures"] == e["connect"] + e["broken"] == hits, f"{hits} {e}")
        check(e["attempts"] == READS + hits and e["statuses"] == {"206": READS, "0": hits}, f"{hits} {e}")


def test_retry_after():
    """haul waits as long as the store's Retry-After says, even if that is longer than its own waits."""
    with Bench() as bench:
        p, _, hits, _ = read_through(bench, "429:1@first=1")
        check(hits == p["retries"] == 1 and p["seconds"] >= 1, f"{p['retries']} retries in {p['seconds']} s")
        check(p["latency_ns"]["read"]["max"] >= 1e9, f"{p['latency_ns']['read']}")
        whole, first = p["latency_ns"]["read"], p["latency_ns"]["read_first_attempt"]
        check(whole["count"] == first["count"] == READS, f"{whole} {first}")
        check(whole["mean"] * READS - first["mean"] * READS >= 1e9, f"first attempts include the wait: {whole} {first}")


def test_patience():
    """If the store asks for a wait of a day, haul retries after the time that the job allows."""
    with Bench() as bench:
        p, _, hits, _ = read_through(bench, "429:99999@first=2",
                                     retry={"first": "5 ms", "longest": "20 ms", "patience": "50 ms"})
        check(hits == p["retries"] == 2 and p["errors"] == 0, f"{hits} {p['retries']} {p['errors']}")
        check(p["latency_ns"]["read"]["max"] >= 5e7, f"{p['latency_ns']['read']}")


def test_listing_comes_round():
    """A phase that lists ends with an error if the server's pages repeat without an end."""
    with Bench() as bench, servers.Proxy(bench.server.endpoint(), "round:3@method=GET@path=list-type") as proxy:
        refused("the listing does not get on: the server names a page for the second time", 2, bench.at, bench.store(proxy),
                [io("list", **SMALL)], bench.server.env())
        hits, = proxy.stats()["rules"].values()
        check(3 < hits <= 22, f"{hits} pages were asked for")


def utc(date):
    """The date of a request to S3 or Azure, in seconds."""
    return calendar.timegm(time.strptime(date, "%Y%m%dT%H%M%SZ" if date.endswith("Z") else "%a, %d %b %Y %H:%M:%S GMT"))


def offsets(bench, rule):
    """Reads, one at a time on each rank, from a server whose clock is ahead. Returns the phase, and the difference of the
    date of each signed request from our clock."""
    with servers.Proxy(bench.server.endpoint(), rule + GET, "count" + GET) as proxy:
        p, = bench.run(proxy, io("read", verify="full", **{**SMALL, "depth": 1}))
        reads = [r for r in proxy.trace() if r["method"] == "GET" and DATA in r["path"]]
        return p, sorted(utc(r["date"]) - time.time() for r in reads)


def clock_is_believed(bench, rule, ahead):
    """Checks that each rank signs by the server's clock after one refusal."""
    p, off = offsets(bench, rule)
    check(p["errors"] == 0 and p["retries"] == p["endpoints"][0]["denied"] == 2, f"{rule}: {p}")
    check(len(off) == READS + 2 and all(abs(s) < 120 for s in off[:2]) and all(abs(s - ahead) < 120 for s in off[2:]),
          f"{rule}: {off}")


def test_clock():
    with Bench() as bench:
        clock_is_believed(bench, "skewed:600", 600)


@matrix
def test_corrupt_bytes_are_found():
    """haul finds corrupt bytes by their content, since no status or checksum shows them."""
    with Bench() as bench:
        for rule in some(("corrupt:0@every=8", "corrupt:131071@every=8", "corrupt:262143@every=8"), 3):
            with servers.Proxy(bench.server.endpoint(), rule + GET) as proxy:
                p, = bench.run(proxy, io("read", verify="full", on_error="count", **SMALL))
                hits, = proxy.stats()["rules"].values()
                check(hits == 5 and p["measures"]["payload_errors"] == p["errors"] == hits, f"{rule}: {hits}, {p}")
                at = rule.split(":")[1].split("@")[0]
                check(all(f"payload differs at byte {at}" in f["text"] for f in p["failures"]), f"{p['failures']}")


@matrix
@pauses(1.5, 10)
def test_endpoint_dies_and_comes_back(seconds):
    """The only endpoint fails and comes back: requests are retried until then. A proxy that resets connections counts them;
    one that does not listen cannot."""
    with Bench() as bench:
        for rule in some((f"deaf:{seconds}", f"down:{seconds}"), 2):
            with servers.Proxy(bench.server.endpoint(), f"{rule}@path={DATA}@first=1") as proxy:
                p, = bench.run(proxy, io("read", verify="full", **SMALL), eject_failures=3, eject_time="200 ms",
                               retry={"attempts": 200, "first": "50 ms", "longest": "500 ms"})
                e, stats = p["endpoints"][0], proxy.stats()
            check(stats["rules"] == {"0:" + rule.split(":")[0]: 1}, f"{rule}: {stats}")
            check(p["errors"] == 0 and p["bytes_read"] == READS * 262144 and p["seconds"] > 1, f"{rule}: {p}")
            check(p["retries"] == e["failures"] == e["connect"] + e["broken"] > 8, f"{rule}: {e}")
            check(e["attempts"] == e["requests"] == READS + e["failures"], f"{rule}: {e}")
            check(e["statuses"] == {"206": READS, "0": e["failures"]}, f"{rule}: {e}")
            if rule.startswith("deaf"):
                check(e["failures"] == stats["owed"], f"{rule}: {e} {stats}")


@matrix
def test_writes_complete():
    """Objects that are written with faults can be read and verified without them."""
    large = {"objects": 1, "size": "24 MiB", "block": "8 MiB", "depth": 3, "folder": "large"}
    table = (("503@every=5", PUT, SMALL), ("rst@every=5", PUT, SMALL), ("429:0@every=5", PUT, SMALL),
             ("500@every=2", "@method=PUT@path=partNumber", large), ("rst@every=2", "@method=PUT@path=partNumber", large),
             ("503@first=1", "@method=POST@path=uploads", large), ("err200@first=1", "@method=POST@path=uploadId", large))
    with Bench() as bench:
        for rule, where, what in some(table, 3):
            with servers.Proxy(bench.server.endpoint(), rule + where) as proxy:
                p, = bench.run(proxy, io("write", **what))
                hits, = proxy.stats()["rules"].values()
                check(hits >= 1 and p["retries"] == hits and p["errors"] == 0,
                      f"{rule}{where}: {p['retries']} retries, {p['errors']} errors, {hits} faults")
            p, = bench.run(bench.server, io("read", verify="full", **what))
            check(p["errors"] == 0, f"{rule}{where}: {p}")


def test_training():
    """A data set is generated and trained on with faults of many kinds. Each sample is verified, and they are those of the same
    job on file://. A wrong byte ends the training."""
    rules = ("count@path=.haul", "503@every=9", "rst@every=11", "rstmid:3000@every=13@method=GET", "500@every=17",
             "429:0@every=19", "trunc:50000@every=23@method=GET")
    dataset = {"format": "npz", "files": 24, "samples_per_file": 1, "sample_bytes": "200 kB"}
    phases = [{"generate": {}}, {"train": {"epochs": 3, "batch": 2, "compute": "1 ms", "verify": "full"}}]
    with Folder() as folder, servers.kept(servers.Rgw) as rgw, servers.Proxy(rgw.endpoint(), *rules) as proxy:
        rgw.bucket("train")
        store = {"uri": "s3://train/set", "endpoints": proxy.endpoint(), **QUICK}
        here = works(2, folder, {"uri": f"file://{folder}/data"}, phases, {}, dataset=dataset)["phases"][1]
        made, there = works(2, folder, store, phases, rgw.env(), dataset=dataset)["phases"]
        kept, *hits = proxy.stats()["rules"].values()
        check(all(hits) and made["retries"] + there["retries"] == sum(hits) and kept,
              f"{made['retries']} and {there['retries']} retries, {proxy.stats()}")
        check([(e["samples"], e["id_sum"], e["id_hash"]) for e in there["epochs"]] ==
              [(e["samples"], e["id_sum"], e["id_hash"]) for e in here["epochs"]], f"{there['epochs']}")
        with servers.Proxy(rgw.endpoint(), "corrupt:77777@from=30@method=GET@path=/set/") as wrong:
            refused("differs", 2, folder, {**store, "endpoints": wrong.endpoint()}, phases[1:], rgw.env(), dataset=dataset)
        with servers.Proxy(rgw.endpoint(), "503@method=GET@path=/set/img") as never:
            few = {**store, "endpoints": never.endpoint(), "retry": {"attempts": 3, "first": "5 ms", "longest": "20 ms"}}
            refused("(SlowDown) (503, 3 attempts) (epoch 1, step ", 2, folder, few, phases[1:], rgw.env(), dataset=dataset)


@matrix
def test_azure():
    """The same faults on az://, in reads, small and large writes, and with a corrupt byte."""
    blocks = {"objects": 1, "size": "24 MiB", "block": "8 MiB", "depth": 3, "folder": "large"}
    with Bench(servers.Azurite) as bench:
        for rule, status, kind in some((("503@every=5", 503, "throttle"), ("500@every=5", 500, "server"),
                                        ("rst@every=5", 0, "broken"), ("trunc:100000@every=5", 0, "broken")), 2):
            p, e, hits, _ = read_through(bench, rule)
            check(p["errors"] == 0 and p["retries"] == hits >= 2, f"{rule}: {hits} faults, {p['retries']} retries")
            check(e["statuses"] == {"206": READS, str(status): hits} and e[kind] == hits, f"{rule}: {e}")
        for rule, what in some((("500@every=5" + PUT, SMALL), ("rst@every=3@method=PUT@path=blockid=", blocks),
                                ("500@first=1@method=PUT@path=comp=blocklist", blocks)), 2):
            with servers.Proxy(bench.server.endpoint(), rule) as proxy:
                p, = bench.run(proxy, io("write", **what))
                hits, = proxy.stats()["rules"].values()
            check(p["errors"] == 0 and p["retries"] == hits >= 1, f"{rule}: {hits} faults, {p['retries']} retries")
            p, = bench.run(bench.server, io("read", verify="full", **what))
            check(p["errors"] == 0, f"{rule}: {p}")
        clock_is_believed(bench, "late:1200", 1200)
        with servers.Proxy(bench.server.endpoint(), "corrupt:77@every=8" + GET) as proxy:
            p, = bench.run(proxy, io("read", verify="full", on_error="count", **SMALL))
            check(p["errors"] == 5 and "differs at byte 77" in p["failures"][0]["text"], f"{p['failures']}")


def test_giving_up():
    """If a fault persists, haul reports it after the attempts that the job allows. An upload that fails leaves nothing."""
    write = [io("write", objects=1, size="24 MiB", block="8 MiB", folder="never")]
    read = [io("read", **SMALL)]
    with Bench() as bench:
        def no(sentence, rule, phases, retry=3):
            with servers.Proxy(bench.server.endpoint(), rule) as proxy:
                store = bench.store(proxy, retry={"attempts": retry, "first": "5 ms", "longest": "20 ms"})
                refused(sentence, 2, bench.at, store, phases, bench.server.env())
                return next(iter(proxy.stats()["rules"].values()))

        no(["SlowDown", "3 attempts"], "503" + GET, read)
        no("3 attempts", "rst" + GET, read)
        no("1 attempt)", "403exp" + GET, read)
        no("3 attempts", "500@method=POST@path=uploadId", write)
        left = bench.server.client().list_multipart_uploads(Bucket="train").get("Uploads", [])
        check(not left, f"uploads in parts remain open: {left}")
        r, _ = run(2, bench.at, {**bench.store(bench.server), "endpoints": f"http://127.0.0.1:{free_ports(1)[0]}",
                                 "retry": {"attempts": 2, "first": "5 ms"}}, read, bench.server.env())
        check(r.rc == 1 and "no connection to http://127.0.0.1:" in r.err, f"{r}")


main()
