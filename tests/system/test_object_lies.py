# SPDX-License-Identifier: Apache-2.0
"""Faulty answers of object stores: endless listings, bodies that are not XML, impossible sizes and the like. haul ends soon
with a sentence for each. The answers come from the proxy, without a server behind it."""
import json
import re
import os

from haultest import Folder, alone, check, mpi, with_transport, write_job
from objects import CLEAN, main, servers

NOBODY = "http://127.0.0.1:1"
QUICK = {"retry": {"attempts": 2, "first": "1 ms", "longest": "2 ms"}}
S3 = ({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, "s3://bucket/x")
AZURE = ({"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": "A" * 86 + "=="}, "az://acct/box/x")
GOOGLE = ({"GS_ACCESS_KEY_ID": "a", "GS_SECRET_ACCESS_KEY": "b"}, "gs://bucket/x")
FOR_EVER = str(10 ** 15)


def ls(store, endpoint, *args, env=None, **options):
    keys, uri = store
    options = with_transport({"uri": uri, **QUICK, "endpoints": endpoint, **options})
    sets = [a for k, v in options.items() if k != "uri" for a in ("--set", f"{k}={json.dumps(v)}")]
    return alone("ls", uri, "--max", FOR_EVER, *sets, *args, env={**CLEAN, **keys, **(env or {})})


def told(r):
    """(exit status, message) of haul ls, without what follows from the number of attempts, which must be there."""
    text, found = re.subn(r" \((\d{3}, )?\d+ attempts?\)\n$", "\n", r.err)
    check(found == 1, f"says nothing of attempts: {r}")
    return r.rc, text


def says(store, rule, sentence, **options):
    """Checks the message of haul ls on a server with this rule; returns the counts of the proxy."""
    with servers.Proxy(NOBODY, rule) as proxy:
        r = ls(store, proxy.endpoint(), **options)
        wanted = f"haul: {store[1]}: {sentence}\n".replace("PROXY", proxy.endpoint())
        check(told(r) == (1, wanted), f"{rule}: wanted {wanted!r}, {r}")
        return proxy.stats()


def test_endless_listings():
    again = "the listing does not get on: the server names a page for the second time"
    for store in (S3, AZURE, GOOGLE):
        for pages in (1, 2, 5, 40):
            asked = says(store, f"round:{pages}", again)["requests"]
            check(pages < asked <= 3 * pages + 2, f"{store[1]}: {asked} requests for a round of {pages}")
        asked = says(store, "empty", "the listing does not get on: 100 pages in a row brought nothing")["requests"]
        check(asked == 100, f"{store[1]}: {asked} requests")
    for store in (S3, GOOGLE):
        says(store, "unmarked", "the listing says that more follows, but not where")


def test_rubbish():
    other = "the server's answer is not the XML that was asked for: it has "
    for store in (S3, AZURE):
        says(store, "rubbish:rubbish", other + "no XML at all (line 1)")
        says(store, "rubbish:", other + "nothing at all (line 1)")
        says(store, "rubbish:<html><p>Welcome</p></html>", "the server's answer is not a listing")
        says(store, "rubbish:<html>\n<p>Wel", other + "an end in the middle (line 2)")
        says(store, "rubbish:<Error><Code>AccessDenied</Code></Error>",
             "these credentials may not do this (AccessDenied)")
    says(S3, "garbage", "the answer is not HTTP/1.1")


def test_long_answers():
    """haul stops reading an answer that is too long: no more of it is sent than was in flight."""
    for rule in ("huge:1000000000", "endless"):
        poured = says(S3, rule, "these credentials may not do this (AccessDenied)")["poured"]
        check(poured < 64 << 20, f"{rule}: {poured} bytes were sent")
    for store in (S3, AZURE, GOOGLE):
        for kind, said in (("elements", "a page of the server's answer has more than 8 MiB"),
                           ("entries", "the server lists more entries than were asked for")):
            poured = says(store, f"longlist:{kind}", said)["poured"]
            check(poured < 64 << 20, f"{store[1]}, {kind}: {poured} bytes were sent")
    says(S3, "line:300000", "a line in the head of the answer is too long")


def test_redirections():
    says(S3, "307:http://127.0.0.1:1", "PROXY redirects to http://127.0.0.1:1, and there is no connection to it: "
         "Connection refused")
    says(S3, "307", "the server redirects, but does not say where to")
    says(S3, "307:ftp://else", "PROXY redirects to ftp://else/bucket, where haul does not follow")


def test_nobody_there():
    r = ls(S3, NOBODY)
    check(told(r) == (1, "haul: s3://bucket/x: no connection to http://127.0.0.1:1: Connection refused\n"), f"{r}")
    r = ls(S3, "http://nowhere.invalid:9000")
    check(told(r) == (1, "haul: s3://bucket/x: no connection to http://nowhere.invalid:9000: its name is not known\n"),
          f"{r}")


def job(folder, store, phases=({"generate": {}},)):
    return write_job(folder, {"name": "lies", "stores": {"d": store}, "dataset": {
        "store": "d", "format": "raw", "files": 4, "sample_bytes": 100}, "phases": list(phases)})


def test_impossible_sizes():
    for length, sentence in (("4611686018427387904", "the server says that the object has 4611686018427387904 bytes, "
                              "which no store holds"),
                             ("-1", "the answer is not HTTP/1.1"),
                             ("99999999999999999999999", "the server does not say how long the object is")):
        with servers.Proxy(NOBODY, f"length:{length}@method=HEAD") as proxy, Folder() as folder:
            r = mpi(1, "run", job(folder, {"uri": S3[1], "endpoints": proxy.endpoint(), **QUICK}), cwd=folder,
                    env={**CLEAN, **S3[0]})
            check(r.rc == 1 and sentence in r.err, f"{length}: {r}")


def test_no_bucket():
    """A URI without a bucket is refused when the job is planned, before any request."""
    for uri, names in (("s3://", "bucket"), ("s3:///x", "bucket"), ("gs://", "bucket"), ("az://", "account/container"),
                       ("az://acct", "account/container"), ("az://acct/", "account/container")):
        with Folder() as folder:
            r = alone("plan", job(folder, {"uri": uri}), cwd=folder)
            check(r.rc == 2 and f'/stores/d/uri: "{uri}" names no {names}; write ' in r.err, f"{uri}: {r}")
    for uri in ("s3://b", "s3://${BUCKET}/x", "s3://set{rank}", "az://acct/{node}/y"):
        with Folder() as folder:
            r = alone("plan", job(folder, {"uri": uri}), cwd=folder, env={"BUCKET": "b"})
            check(r.rc == 0, f"{uri}: {r}")


def test_signatures_that_cannot_be_made():
    """If OpenSSL lacks its algorithms, the message says so."""
    with Folder() as folder:
        with open(os.path.join(folder, "openssl.cnf"), "w", encoding="ascii") as f:
            f.write("openssl_conf = init\n[init]\nproviders = list\n[list]\nnull = none\n[none]\nactivate = 1\n")
        r = ls(S3, NOBODY, env={"OPENSSL_CONF": f.name})
    check((r.rc, r.err) == (1, "haul: OpenSSL has no HMAC of SHA-256\n"), f"{r}")


if __name__ == "__main__":
    main()
