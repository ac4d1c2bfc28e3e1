#!/usr/bin/python3
"""Starts a server, makes an empty bucket or container in it, says where in HAUL_TEST_STORE, runs a program.

    run.py rgw|rgw-virtual|rgw-presigned|rgw-sha256|azurite|azurite-sas|gcs-hmac PROGRAM [ARGS…]

Exit status: the program's; 77 where the server is not installed.
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


KINDS = {
    "rgw": lambda: s3({}),
    "rgw-virtual": lambda: s3({"addressing": "virtual"}),
    "rgw-presigned": lambda: s3({"sign": "query"}),
    "rgw-sha256": lambda: s3({"payload": "sha256", "head_on_open": True}),
}


def run(store, env):
    return subprocess.run(sys.argv[2:], env={**os.environ, **env, "HAUL_TEST_STORE": json.dumps(store)},
                          check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    try:
        sys.exit(KINDS[sys.argv[1]]())
    except servers.Missing as e:
        print(f"skipped: {e}")
        sys.exit(77)
