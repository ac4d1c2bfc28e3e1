#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program with an object store: starts the server, makes an empty bucket or container, and passes its address in
HAUL_TEST_STORE.

    run.py KIND PROGRAM [ARGS…]

HAUL_TEST_TRANSPORT names the transport of the store; without it the store has its default.

The exit status is that of the program, or 1 if the server is not installed.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import servers  # noqa: E402


def s3(options):
    rgw = servers.Rgw()
    with rgw:
        rgw.bucket("objects")
        host = "localhost" if options.get("addressing") == "virtual" else "127.0.0.1"
        store = {"uri": "s3://objects/pre fix", "endpoints": rgw.endpoint(host=host), **options}
        return run(store, rgw.env())


def azure(env_of):
    with servers.Azurite() as azurite:
        servers.azure_container(azurite, "objects")
        return run({"uri": f"az://{azurite.ACCOUNT}/objects/pre fix", "endpoints": azurite.endpoint()}, env_of(azurite))


def gcs_hmac():
    with servers.Rgw() as rgw:
        rgw.bucket("objects")
        return run({"uri": "gs://objects/pre fix", "endpoints": rgw.endpoint()},
                   {"GS_ACCESS_KEY_ID": rgw.KEY, "GS_SECRET_ACCESS_KEY": rgw.SECRET})


def gcs_tokens():
    """A store whose tokens are said to last for an hour, and are refused after some requests."""
    with servers.Rgw() as rgw:
        servers.public_bucket(rgw, "objects")
        with servers.Proxy(rgw.endpoint(), tokens=3600, uses=50) as facade:
            rc = run({"uri": "gs://objects/pre fix", "endpoints": facade.endpoint()}, {"GCE_METADATA_HOST": facade.host()})
            answers = facade.stats()["answers"]
            if not rc and "401" not in answers:
                sys.exit(f"no token was refused: {answers}")
            return rc


KINDS = {
    "rgw": lambda: s3({}),
    "rgw-virtual": lambda: s3({"addressing": "virtual"}),
    "rgw-presigned": lambda: s3({"sign": "query"}),
    "rgw-sha256": lambda: s3({"payload": "sha256", "head_on_open": True}),
    "azurite": lambda: azure(lambda a: a.env()),
    "azurite-sas": lambda: azure(lambda a: {"AZURE_STORAGE_SAS_TOKEN": servers.azure_sas(a, "objects")}),
    "azurite-connection": lambda: azure(lambda a: {
        "AZURE_STORAGE_CONNECTION_STRING": f"AccountName={a.ACCOUNT};AccountKey={a.KEY};BlobEndpoint={a.endpoint()};"}),
    "gcs-hmac": gcs_hmac,
    "gcs-tokens": gcs_tokens,
}


def run(store, env):
    if os.environ.get("HAUL_TEST_TRANSPORT"):
        store["transport"] = os.environ["HAUL_TEST_TRANSPORT"]
    return subprocess.run(sys.argv[2:], env={**os.environ, **env, "HAUL_TEST_STORE": json.dumps(store)},
                          check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    try:
        sys.exit(KINDS[sys.argv[1]]())
    except servers.Missing as e:
        sys.exit(str(e))
