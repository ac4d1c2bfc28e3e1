# SPDX-License-Identifier: Apache-2.0
"""Object stores: the same training works on each of them, other clients read and write the same bytes, the counts are those of
the servers, and refusals are sentences."""
import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.environ["HAUL_SOURCE"], "tests", "servers"))
import servers  # noqa: E402
from haultest import Folder, alone, check, main, mpi, names_in, report, write_job  # noqa: E402

FILES, EPOCHS = 24, 2


def job(store, **more):
    """The job for all stores, in which only the description of the store differs."""
    return {
        "name": "objects", "seed": 7, "stores": {"data": store},
        "dataset": {"store": "data", "format": "npz", "files": FILES, "samples_per_file": 1,
                    "sample_bytes": "1 MiB", "sample_bytes_stdev": "100 KiB", "folder": "set one"},
        "phases": [{"generate": {"threads": 2}},
                   {"train": {"epochs": EPOCHS, "batch": 2, "compute": "5 ms", "verify": "full",
                              "loader": {"workers": 2}}}],
        **more,
    }


def run(folder, name, store, env, ranks=2, **more):
    path = write_job(folder, job(store, **more), name + ".json")
    results = os.path.join(folder, name + ".h5")
    r = mpi(ranks, "run", path, "--results", results, cwd=folder, env=env)
    check(r.rc == 0, f"{name}: {r}")
    return report(results)


def phase(d, kind):
    return next(p for p in d["phases"] if p["kind"] == kind)


def test_the_same_training_everywhere(s):
    rgw, azurite = s["rgw"], s["azurite"]
    rgw.bucket("train")
    servers.azure_container(azurite, "train")
    servers.public_bucket(rgw, "open")
    with Folder() as folder, servers.Proxy(rgw.endpoint(), tokens=4) as facade:
        runs = {
            "file": run(folder, "file", {"uri": f"file://{folder}/data"}, {}),
            "s3": run(folder, "s3", {"uri": "s3://train/a", "endpoints": rgw.endpoints(), "balance": "round_robin"},
                      rgw.env()),
            "az": run(folder, "az", {"uri": f"az://{azurite.ACCOUNT}/train/a", "endpoints": azurite.endpoint()},
                      azurite.env()),
            "gs": run(folder, "gs", {"uri": "gs://open/a", "endpoints": facade.endpoint()},
                      {"GCE_METADATA_HOST": facade.host()}),
        }
        check(facade.stats()["handed"] >= 2, f"tokens: {facade.stats()}")
    wanted = [(e["samples"], e["id_sum"], e["id_hash"]) for e in phase(runs["file"], "train")["epochs"]]
    for name, d in runs.items():
        train = phase(d, "train")
        check(d["status"] == "done" and train["errors"] == 0, f"{name}: {train}")
        check([(e["samples"], e["id_sum"], e["id_hash"]) for e in train["epochs"]] == wanted, f"{name}: {train['epochs']}")
        check(train["bytes_read"] == phase(runs["file"], "train")["bytes_read"], f"{name}: {train['bytes_read']}")


def test_counts_agree_with_the_gateways(s):
    rgw = s["rgw"]
    rgw.bucket("counted")
    before = [rgw.requests(i) for i in range(3)]
    with Folder() as folder:
        d = run(folder, "counted", {"uri": "s3://counted/x", "endpoints": rgw.endpoints(), "balance": "round_robin"},
                rgw.env())
    after = [rgw.requests(i) for i in range(3)]
    ours = {}
    for p in d["phases"]:
        for e in p["endpoints"]:
            ours[e["name"]] = ours.get(e["name"], 0) + e["requests"]
    # The results do not count the requests for the manifest: a HEAD and a GET of the training, a HEAD of generate, and,
    # because the manifest is missing there, the listing of the folder. And the lease on the folder: it is made, proven, and removed,
    # and renewed every 15 s, the first time by two requests.
    others = 0
    for i in range(3):
        theirs = after[i]["req"] - before[i]["req"]
        check(ours[rgw.endpoint(i)] <= theirs, f"endpoint {i}: {ours[rgw.endpoint(i)]} in the results, {theirs} at the gateway")
        others += theirs - ours[rgw.endpoint(i)]
    renewed = int(phase(d, "generate")["wall_seconds"] // 14)
    check(7 <= others <= 7 + renewed + (renewed > 0), f"{others} requests are not in the results, wanted 7; renewed {renewed} times")
    train = phase(d, "train")["endpoints"]
    # Each of two ranks takes the endpoints in its own order, so the shares differ by at most one per rank.
    share = [e["attempts"] for e in train]
    check(sum(share) == FILES * EPOCHS and max(share) - min(share) <= 2, f"shares: {share}")
    check(sum(e["bytes"] for e in train) == phase(d, "train")["bytes_read"], f"bytes: {train}")
    check(all(e["wire_bytes"] > e["bytes"] and e["failures"] == 0 for e in train), f"{train}")
    check(all(e["statuses"] == {"206": e["requests"]} for e in train), f"{train}")


def test_other_clients_read_and_write_the_same(s):
    rgw, azurite = s["rgw"], s["azurite"]
    client = rgw.client()
    rgw.bucket("interop")
    servers.azure_container(azurite, "interop")
    with Folder() as folder:
        only = {"phases": [{"generate": {}}]}
        run(folder, "file", {"uri": f"file://{folder}/data"}, {}, **only)
        s3 = {"uri": "s3://interop/w", "endpoints": rgw.endpoint()}
        az = {"uri": f"az://{azurite.ACCOUNT}/interop/w", "endpoints": azurite.endpoint()}
        run(folder, "s3", s3, rgw.env(), **only)
        run(folder, "az", az, azurite.env(), **only)
        names = names_in(f"{folder}/data/set one")
        check(len(names) == FILES + 1, f"{names}")
        for name in names:
            with open(f"{folder}/data/set one/{name}", "rb") as f:
                wanted = f.read()
            got = client.get_object(Bucket="interop", Key=f"w/set one/{name}")["Body"].read()
            check(got == wanted, f"s3 {name}: {len(got)} bytes")
            status, _, got = servers.azure_request(azurite, "GET", f"interop/w/set one/{name}")
            check(status == 200 and got == wanted, f"az {name}: {status}, {len(got)} bytes")
            client.put_object(Bucket="interop", Key=f"r/set one/{name}", Body=wanted)
            status, _, _ = servers.azure_request(azurite, "PUT", f"interop/r/set one/{name}",
                                                 headers=[("x-ms-blob-type", "BlockBlob")], body=wanted)
            check(status == 201, f"az put {name}: {status}")
        train = {"phases": [job({})["phases"][1]]}
        for name, store, env in (("s3r", s3, rgw.env()), ("azr", az, azurite.env())):
            store["uri"] = store["uri"][:-1] + "r"
            d = run(folder, name, store, env, **train)
            check(phase(d, "train")["errors"] == 0, f"{name}: {d}")


def refused(folder, name, store, env, *words):
    path = write_job(folder, job(store), name + ".json")
    env = {"AWS_EC2_METADATA_DISABLED": "true", "AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:1",
           "GCE_METADATA_HOST": "127.0.0.1:1", "HOME": folder, **env}
    r = mpi(2, "run", path, "--results", os.path.join(folder, name + ".h5"), cwd=folder, env=env)
    check(r.rc in (1, 2), f"{name}: {r}")
    for word in words:
        check(word in r.err + r.out, f"{name}: no \"{word}\" in {r}")
    for secret in (rgw_secret, azure_secret, "wrongsecret"):
        check(secret not in r.err + r.out, f"{name}: a secret is shown: {r}")


rgw_secret, azure_secret = servers.Rgw.SECRET, servers.Azurite.KEY


def test_refusals(s):
    rgw, azurite, tls = s["rgw"], s["azurite"], s["tls"]
    rgw.bucket("refused")
    servers.azure_container(azurite, "refused")
    s3 = {"uri": "s3://refused/x", "endpoints": rgw.endpoint()}
    az = {"uri": f"az://{azurite.ACCOUNT}/refused/x", "endpoints": azurite.endpoint()}
    with Folder() as folder, servers.Listener(tls.pem("wronghost")) as wrong, \
            servers.Listener(tls.pem("expired")) as expired, servers.Listener(tls.pem("good")) as unknown:
        def ask(name, store, env, *words):
            refused(folder, name, store, env, *words)
        ask("secret", s3, {**rgw.env(), "AWS_SECRET_ACCESS_KEY": "wrongsecret"}, "SignatureDoesNotMatch")
        ask("key", s3, {**rgw.env(), "AWS_ACCESS_KEY_ID": "nobody"}, "InvalidAccessKeyId")
        ask("none", s3, {}, "no credentials")
        ask("profile", {**s3, "profile": "away"}, {}, "has no profile \"away\"")
        ask("bucket", {**s3, "uri": "s3://nosuchbucket/x"}, rgw.env(), "no such bucket")
        ask("account key", az, {"AZURE_STORAGE_KEY": "A" * 86 + "=="}, "the account key or signature is not accepted")
        ask("account", {**az, "uri": "az://nobody/refused/x"}, azurite.env(), "AZURE_STORAGE_ACCOUNT is",
            "the URI's account is \"nobody\"")
        ask("container", {**az, "uri": f"az://{azurite.ACCOUNT}/missing/x"}, azurite.env(), "no such container")
        ask("expired", az, {"AZURE_STORAGE_SAS_TOKEN": servers.azure_sas(azurite, "refused", -60)},
            "the shared access signature has expired")
        ask("other sas", az, {"AZURE_STORAGE_SAS_TOKEN": servers.azure_sas(azurite, "other")},
            "the shared access signature does not allow this")
        ask("google", {"uri": "gs://refused/x", "endpoints": rgw.endpoint()}, {}, "no credentials")
        ask("hmac", {"uri": "gs://refused/x", "endpoints": rgw.endpoint()},
            {"GS_ACCESS_KEY_ID": rgw.KEY, "GS_SECRET_ACCESS_KEY": "wrongsecret"}, "SignatureDoesNotMatch")
        ca = {"ca": tls.ca}
        ask("wrong host", {**s3, "endpoints": wrong.endpoint(), **ca}, rgw.env(), "certificate is for another host")
        ask("old", {**s3, "endpoints": expired.endpoint(), **ca}, rgw.env(), "certificate has expired")
        ask("unknown", {**s3, "endpoints": unknown.endpoint()}, rgw.env(), "no known CA signed")
        ask("nobody", {**s3, "endpoints": "http://127.0.0.1:1", "retry": {"attempts": 2}}, rgw.env(),
            "no connection to http://127.0.0.1:1: Connection refused")


def test_tls(s):
    """Certificates are verified with a CA bundle. If they are not verified, the results say so. They also name the transport,
    and say how often it copies."""
    rgw, tls = s["rgw"], s["tls"]
    rgw.bucket("tls")
    only = {"phases": [{"generate": {}}]}
    with Folder() as folder:
        d = run(folder, "good", {"uri": "s3://tls/x", "endpoints": rgw.endpoint(tls=True), "ca": tls.ca}, rgw.env(), **only)
        check(all("insecure" not in row["note"] for row in d["stores"]), f"{d['stores']}")
        d = run(folder, "bundle", {"uri": "s3://tls/b", "endpoints": rgw.endpoint(tls=True)},
                {**rgw.env(), "AWS_CA_BUNDLE": tls.ca}, **only)
        for transport, engine, copies in (("native", "native", 1), ("curl", "libcurl", 2)):
            d = run(folder, transport, {"uri": f"s3://tls/{transport}", "endpoints": rgw.endpoint(tls=True), "insecure": True,
                                        "transport": transport}, rgw.env(), **only)
            row = d["stores"][0]
            check("insecure" in row["note"] and (row["engine"], row["copies_read"]) == (engine, copies), f"{row}")


def test_tls_in_pieces(s):
    """Bytes that OpenSSL has received, but the transport has not read, are not forgotten: no read waits for an event that has
    already happened."""
    rgw, tls = s["rgw"], s["tls"]
    rgw.bucket("pieces")
    with Folder() as folder, servers.Relay(rgw.ports[1], 40000, 0.003) as relay:
        store = {"endpoints": f"https://127.0.0.1:{relay.port}", "ca": tls.ca, "first_byte_timeout": "60 s",
                 "stall_timeout": "60 s", "retry": {"attempts": 1}}
        for size in ("1 MiB", "16 KiB", "3 KiB"):  # head and body of the last arrive together
            dataset = {**job({})["dataset"], "sample_bytes": size, "sample_bytes_stdev": 0}
            name = size.replace(" ", "")
            d = run(folder, name, {**store, "uri": "s3://pieces/" + name}, rgw.env(), dataset=dataset)
            train = phase(d, "train")
            check(sum(e["samples"] for e in train["epochs"]) == FILES * EPOCHS and train["errors"] == 0, f"{train}")
            check(all(e["failures"] == 0 and e["attempts"] == e["requests"] for e in train["endpoints"]), f"{train}")


def test_whole_objects(s):
    """Without splitting, an object is read by one GET although the buffers are smaller, and every byte is verified."""
    rgw = s["rgw"]
    rgw.bucket("whole")
    store = {"uri": "s3://whole/x", "split": "off"}
    phases = job({})["phases"]
    phases[1]["train"]["buffers"] = "512 KiB"
    with Folder() as folder, servers.Proxy(rgw.endpoint(), "corrupt:900000@from=3@method=GET") as proxy:
        d = run(folder, "whole", {**store, "endpoints": rgw.endpoint()}, rgw.env(), phases=phases)
        # haul's own transport receives into the buffers of the training.
        copies = 0 if d["stores"][0]["engine"] == "native" else 1
        check(d["stores"][0]["copies_read"] == copies, f"{d['stores']}")
        gets = sum(e["requests"] for e in phase(d, "train")["endpoints"])
        check(gets == FILES * EPOCHS, f"{gets} requests for {FILES * EPOCHS} samples")
        check(all(set(e["statuses"]) == {"200"} for e in phase(d, "train")["endpoints"]), f"{d}")
        path = write_job(folder, job({**store, "endpoints": proxy.endpoint()}, phases=phases[1:]), "corrupt.json")
        r = mpi(2, "run", path, "--results", os.path.join(folder, "corrupt.h5"), cwd=folder, env=rgw.env())
        check(r.rc == 1 and "differs at byte" in r.err, f"{r}")


def test_interfaces(s):
    """Each rank connects from its own one of the interfaces in the job."""
    rgw = s["rgw"]
    rgw.bucket("interfaces")
    with Folder() as folder, servers.Proxy(rgw.endpoint()) as proxy:
        store = {"uri": "s3://interfaces/x", "endpoints": proxy.endpoint()}
        d = run(folder, "two", {**store, "interface": ["127.0.0.2", "127.0.0.3"]}, rgw.env())
        check(d["stores"][0]["layout"].endswith("from interfaces 127.0.0.2, 127.0.0.3"), f"{d['stores']}")
        seen = [e["from"] for e in proxy.trace()]
        check(set(seen) == {"127.0.0.2", "127.0.0.3"}, f"{set(seen)}")
        check(min(seen.count(a) for a in set(seen)) >= FILES * EPOCHS // 2, f"{[(a, seen.count(a)) for a in set(seen)]}")
        run(folder, "name", {**store, "interface": "lo"}, rgw.env())
        check({e["from"] for e in proxy.trace()[len(seen):]} == {"127.0.0.1"}, "the interface of the server itself")
        p = alone("plan", os.path.join(folder, "two.json"))
        check("\ninterfaces data: 127.0.0.2, 127.0.0.3 · each rank of a node has one near its cores\n" in p.out, f"{p}")
        p = alone("plan", "--json", os.path.join(folder, "two.json"))
        check('"interfaces"' in p.out and '"127.0.0.3"' in p.out, f"{p}")
        for name, more, sentence in (
                ("gone", {"interface": ["127.0.0.2", "hsn9"]}, 's3://interfaces/x: interface "hsn9": this node has no such interface'),
                ("closed", {"interface": "127.0.0.2", "endpoints": "http://127.0.0.1:1", "retry": {"attempts": 1}},
                 "no connection to http://127.0.0.1:1 from interface 127.0.0.2")):
            path = write_job(folder, job({**store, **more}), name + ".json")
            r = mpi(2, "run", path, "--results", os.path.join(folder, name + ".h5"), cwd=folder, env=rgw.env())
            check(r.rc == 1 and sentence in r.err, f"{r}")


def test_a_model_is_loaded(s):
    """Ranks find the objects of a model by listing, ask for their sizes, and read them by ranges."""
    rgw = s["rgw"]
    rgw.bucket("models")
    streams = {"chunk": "5 MiB", "buffers": "10 MiB"}
    folder_of = "checkpoints/000000"
    store = {"uri": "s3://models/x", "endpoints": rgw.endpoint()}
    phases = [{"checkpoint": {"model": {"bytes": "12 MB"}, "operation": "write", "framing": "safetensors", "count": 1, **streams}},
              {"load": {"folder": folder_of, "tensor": 1, "threads": 2, **streams}},
              {"load": {"name": "first", "folder": folder_of, "tensor": 2, "readers": "first", **streams}}]
    with Folder() as folder:
        d = run(folder, "model", store, rgw.env(), phases=phases)
        written = phase(d, "checkpoint")["measures"]["bytes_written"]
        each, first = (p["measures"] for p in d["phases"][1:])
        check(each["bytes_read"] == 2 * written and each["errors"] == 0, f"{each['bytes_read']} read, {written} written")
        check(first["bytes_read"] == written and first["handed_bytes"] == written - first["header_bytes"], f"{first}")
        path = write_job(folder, job(store, phases=[{"load": {"folder": "checkpoints", **streams}}]), "none.json")
        r = mpi(2, "run", path, "--results", os.path.join(folder, "none.h5"), cwd=folder, env=rgw.env())
        check(r.rc == 1 and "has neither model.safetensors.index.json nor any file *.safetensors" in r.err, f"{r}")


@contextlib.contextmanager
def everything():
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        os.environ.pop(name, None)
    with servers.Tls() as tls, servers.Rgw(gateways=3, tls=tls.pem("good")) as rgw, servers.Azurite() as azurite:
        yield {"tls": tls, "rgw": rgw, "azurite": azurite}


main(server=everything)
