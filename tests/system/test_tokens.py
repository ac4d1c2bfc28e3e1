# SPDX-License-Identifier: Apache-2.0
"""Tokens of object stores: haul gets them from Google's metadata service, with the key of a Google service account, from
Azure's managed identity and with an Azure client secret, and renews them when they expire."""
import json

from haultest import SANITIZED, Folder, check, pauses
from objects import io, main, refused, servers, works

SMALL = {"objects": 20, "size": "16 KiB", "block": "16 KiB", "depth": 4}
# Seconds that a token is valid. A request of a slow program must arrive before its token expires.
VALID = 12 if SANITIZED else 4
NOWHERE = {"GCE_METADATA_HOST": "127.0.0.1:1", "AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:1"}


def long_read(seconds):
    return io("read", verify="full", passes=0, seconds=seconds, rate=200, **SMALL)


def store_of(facade):
    return {"uri": "gs://open/a", "endpoints": facade.endpoint()}


@pauses(VALID, 15)
def test_google_metadata(valid):
    """Tokens are renewed during reads that last longer than they are valid, without an error. If the store refuses a token,
    haul gets a new one."""
    with Folder() as folder, servers.Rgw() as rgw:
        servers.public_bucket(rgw, "open")
        with servers.Proxy(rgw.endpoint(), tokens=valid) as facade:
            env = {"GCE_METADATA_HOST": facade.host()}
            p = works(2, folder, store_of(facade), [io("write", **SMALL), long_read(2 * valid + 1)], env)["phases"][1]
            stats = facade.stats()
            check(p["errors"] == 0 and p["measures"]["reads"] > 500, f"{p['errors']} errors, {p['measures']['reads']} reads")
            check(stats["handed"] >= 5 and "401" not in stats["answers"], f"{stats}")
        with servers.Proxy(rgw.endpoint(), "401@first=1@method=GET@path=/a/io/000", tokens=600) as facade:
            env = {"GCE_METADATA_HOST": facade.host()}
            p = works(2, folder, store_of(facade), [long_read(1)], env)["phases"][0]
            stats = facade.stats()
            check(p["errors"] == 0 and p["retries"] == stats["answers"]["401"] == 1 and stats["handed"] == 3, f"{p}\n{stats}")
        # A token that expires on the way of several requests at once, and one that is refused before.
        for lasts, works_again in ((valid, True), (600, False)):
            with servers.Proxy(rgw.endpoint(), f"outlast:{valid + 2}@first=6@method=GET@path=/a/io/000", tokens=lasts) as facade:
                args = (2, folder, store_of(facade), [long_read(1)], {"GCE_METADATA_HOST": facade.host()})
                if works_again:
                    p = works(*args)["phases"][0]
                    check(p["errors"] == 0 and p["retries"] == facade.stats()["answers"]["403"] == 6, f"{p}\n{facade.stats()}")
                else:
                    refused("not accepted", *args)
        with servers.Proxy(rgw.endpoint(), tokens=600) as facade:
            refused("credentials", 2, folder, store_of(facade), [long_read(1)], NOWHERE)


def test_google_service_account():
    with Folder() as folder, servers.Rgw() as rgw, servers.Tls() as tls:
        servers.public_bucket(rgw, "open")
        for name in ("account", "other"):
            tls.openssl("genrsa", "-out", name + ".pem", "2048")
            tls.openssl("rsa", "-in", name + ".pem", "-pubout", "-out", name + ".pub")
        with servers.Proxy(rgw.endpoint(), tokens=VALID, public_key=tls.path("account.pub")) as facade:
            env = {}
            for name in ("account", "other"):
                with open(tls.path(name + ".pem"), encoding="ascii") as f:
                    key = {"type": "service_account", "client_email": "haul@tests.example", "private_key": f.read(),
                           "token_uri": facade.endpoint() + "/token"}
                env[name] = {**NOWHERE, "GOOGLE_APPLICATION_CREDENTIALS": tls.write(name + ".json", json.dumps(key))}
            p = works(2, folder, store_of(facade), [io("write", **SMALL), long_read(1.5 * VALID)], env["account"])["phases"][1]
            check(p["errors"] == 0 and facade.stats()["handed"] >= 4, f"{p['errors']} errors, {facade.stats()}")
            refused("token", 1, folder, store_of(facade), [io("write", **SMALL)], env["other"])


def test_azure():
    """Azure accepts tokens only over TLS."""
    with Folder() as folder, servers.Tls() as tls, servers.Azurite(tls=tls.pair("good")) as azurite, \
            servers.Proxy("127.0.0.1:1", tokens=VALID) as facade:
        servers.azure_container(azurite, "train", ca=tls.ca)
        store = {"uri": f"az://{azurite.ACCOUNT}/train/a", "endpoints": azurite.endpoint(), "ca": tls.ca}
        identity = {"AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://" + facade.host()}
        secret = {**NOWHERE, "AZURE_AUTHORITY_HOST": "http://" + facade.host(), "AZURE_TENANT_ID": "haul-tests",
                  "AZURE_CLIENT_ID": "haul", "AZURE_CLIENT_SECRET": "secret+/="}
        handed = 0
        for env in (identity, secret):
            p = works(2, folder, store, [io("write", **SMALL), long_read(1.5 * VALID)], env)["phases"][1]
            check(p["errors"] == 0, f"{p}")
            check(facade.stats()["handed"] - handed >= 4, f"{facade.stats()}")
            handed = facade.stats()["handed"]
        refused("token", 1, folder, store, [io("write", **SMALL)], {**secret, "AZURE_CLIENT_SECRET": "wrong"})
        refused("certificate", 1, folder, {**store, "ca": ""}, [io("write", **SMALL)], identity)


main()
