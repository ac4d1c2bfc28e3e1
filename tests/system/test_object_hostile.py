# SPDX-License-Identifier: Apache-2.0
"""Answers that no store should give, on each kind of store and over each transport: nothing wrong is taken where the framing tells,
whatever is verified; a commit counts only by the store's own word; nothing lasts for ever, and no answer fills the memory."""
from haultest import HAUL, SANITIZED, TRANSPORT, Folder, check, long, matrix, measured, some
from objects import CLEAN, io, main, run, servers, works
from test_object_lies import AZURE, GOOGLE, NOBODY, S3, job

MIB = 1 << 20
MOST = 256 * MIB  # of memory, for a rank, whatever a server answers
READS = {"objects": 20, "size": "256 KiB", "block": "256 KiB", "depth": 4}
WRITES = {"objects": 1, "size": 15 * MIB, "block": 5 * MIB, "depth": 2, "folder": "big"}
QUICK = {"retry": {"attempts": 10, "first": "5 ms", "longest": "50 ms"}, "eject_failures": 0}  # a request may be hit several times in a row
NEXT = "HTTP/1.1 206 Partial Content\\r\\nContent-Range: bytes 0-65535/262144\\r\\nContent-Length: 65536\\r\\n\\r\\n" + "w" * 65536
READ_TABLE = ("beyond:" + NEXT, "beyond:x", "more:1", "more:100000", "less:1", "less:30000", "range:1", "range:65536", "norange")
WHOLE = ("", "<html><p>Welcome</p></html>", "<Error/>", "<CompleteMultipartUploadResult><ETag>a-3</ETag>")


class Store:
    """A bucket of a server, seen as one kind of store."""

    def __init__(self, scheme, server, folder):
        self.scheme, self.server, self.folder = scheme, server, folder
        if scheme == "az":
            servers.azure_container(server, "hostile")
            self.uri, self.env = f"az://{server.ACCOUNT}/hostile/x", server.env()
            self.commit = "@method=PUT@path=comp=blocklist"
        else:
            server.bucket("hostile-" + scheme)
            self.uri = f"{scheme}://hostile-{scheme}/x"
            self.env = server.env() if scheme == "s3" else {"GS_ACCESS_KEY_ID": server.KEY, "GS_SECRET_ACCESS_KEY": server.SECRET}
            self.commit = "@method=POST@path=uploadId"

    def store(self, at, **more):
        return {"uri": self.uri, "endpoints": at.endpoint(), **QUICK, **more}

    def uploads(self):
        if self.scheme == "az":
            return []  # blocks that were never committed are not listed
        return self.server.client().list_multipart_uploads(Bucket="hostile-" + self.scheme).get("Uploads", [])


def stores(folder):
    with servers.kept(servers.Rgw) as rgw:
        for scheme in "s3", "gs":
            yield Store(scheme, rgw, folder)
    with servers.kept(servers.Azurite) as azurite:
        yield Store("az", azurite, folder)


def reads(s):
    """All bytes are right, and each answer that does not fit costs one more attempt."""
    works(2, s.folder, s.store(s.server), [io("write", **READS)], s.env, most=MOST)
    for rule in some(READ_TABLE, {"s3": 3, "gs": 8, "az": 4}[s.scheme]):
        with servers.Proxy(s.server.endpoint(), rule + "@every=6@method=GET@path=000000") as proxy:
            p, = works(2, s.folder, s.store(proxy), [io("read", verify="full", **READS)], s.env, most=MOST)["phases"]
            hits, = proxy.stats()["rules"].values()
        what = f"{s.scheme}, {rule[:12]}"
        check(hits >= 5 and p["errors"] == 0 and p["bytes_read"] == 40 * 262144, f"{what}: {hits} hits, {p}")
        # libcurl closes a connection on which bytes come behind an answer, and says nothing of them.
        silent = TRANSPORT == "curl" and rule.startswith("beyond")
        check(p["retries"] == hits or silent and p["retries"] <= hits, f"{what}: {hits} hits, {p['retries']} retries")


def commits(s):
    """An answer that does not say that the object is whole is asked for again; where it comes every time, the write fails, no upload
    remains, and an older object of that size is neither taken for the new one nor removed."""
    for body in some(WHOLE, {"s3": 2, "gs": 4, "az": 3}[s.scheme]):
        with servers.Proxy(s.server.endpoint(), f"rubbish:{body}@first=1{s.commit}") as proxy:
            p, = works(1, s.folder, s.store(proxy, transfer=5 * MIB), [io("write", **WRITES)], s.env, most=MOST)["phases"]
            check(p["errors"] == 0 and p["retries"] == 1, f"{s.scheme}, {body!r} once: {p}")
        with servers.Proxy(s.server.endpoint(), f"rubbish:{body}{s.commit}") as proxy:
            r, _ = run(1, s.folder, s.store(proxy, transfer=5 * MIB), [io("write", **WRITES)], s.env, most=MOST)
            check(r.rc == 1 and "does not say that the store has published the object" in " ".join(r.err.split()),
                  f"{s.scheme}, {body!r}: {r}")
        check(s.uploads() == [], f"{s.scheme}, {body!r}: {s.uploads()}")
        p, = works(1, s.folder, s.store(s.server), [io("read", verify="full", **WRITES)], s.env, most=MOST)["phases"]
        check(p["errors"] == 0, f"{s.scheme}, {body!r}: {p}")


@matrix
def test_hostile_answers():
    with Folder() as folder:
        for s in stores(folder):
            reads(s)
            commits(s)


def test_throttles_are_no_lease():
    """A store that always asks to slow down has said nothing of another run: nobody waits for one."""
    for rule in "429:100000", "flood:503", "408":
        with servers.Proxy(NOBODY, rule) as proxy, Folder() as folder:
            job(folder, {"uri": S3[1], "endpoints": proxy.endpoint(), **SOON}, [{"generate": {}}])
            r, _ = measured(1, [HAUL, "run", "job.json", "--force"], folder, {**CLEAN, **S3[0]})
            check(r.rc == 1 and "another run" not in r.err, f"{rule}: {r}")


# Answers of a server that means harm or is broken, without a server behind it.
ENDLESS = ("huge:1000000000", "endless", "flood:200", "flood:206", "flood:404", "flood:503", "heads", "longlist:elements", "longlist:entries",
           "round:3", "empty", "unmarked", "line:300000", "length:4611686018427387904", "length:4096", "garbage", "rubbish:", "err200",
           "rubbish:<html>", "307", "307:http://127.0.0.1:1", "beyond:x", "401", "408", "429:100000", "close", "rst", "stall:100000")
SOON = {"retry": {"attempts": 2, "first": "1 ms", "longest": "2 ms", "patience": "2 ms"}, "eject_failures": 0,
        "first_byte_timeout": "500 ms", "stall_timeout": "500 ms", "connect_timeout": "500 ms"}


@long
def test_endless_answers():
    """Whatever a server answers to each kind of request, haul ends by itself, with a sentence, and within its memory. A limit of
    time for each would measure the machine: each answer here that takes its time takes for ever, and the test as a whole has a limit."""
    phases = {"read": [io("read", **READS)], "write": [io("write", **WRITES)], "list": [io("list", **READS)],
              "stat": [io("stat", **READS)], "generate": [{"generate": {}}], "delete": [io("delete", **READS)]}
    highest = 0
    for keys, uri in S3, GOOGLE, AZURE:
        for rule in ENDLESS if uri == S3[1] else some(ENDLESS, 3):
            with servers.Proxy(NOBODY, rule) as proxy, Folder() as folder:
                store = {"uri": uri, "endpoints": proxy.endpoint(), **SOON}
                for name in some(list(phases), 2):
                    job(folder, store, phases[name])
                    for verb in ("run", "clean") if name == "generate" else ("run",):
                        r, peak = measured(2, [HAUL, verb, "job.json", *(["--force"] if verb == "run" else [])], folder, {**CLEAN, **keys})
                        highest = max(highest, peak)
                        check(r.rc in (0, 1) and (r.rc == 0 or "haul: " in r.err), f"{uri}, {rule}, {verb} {name}: {r}")
                        check(r.rc == 1 or verb == "clean" or name == "delete", f"{uri}, {rule}, {verb} {name} succeeds: {r}")
                        check(SANITIZED or peak <= MOST, f"{uri}, {rule}, {verb} {name}: {peak} bytes of memory")
    print(f"at most {highest / MIB:.0f} MiB of memory in a rank")


if __name__ == "__main__":
    main()
