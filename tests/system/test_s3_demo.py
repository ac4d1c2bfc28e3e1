# SPDX-License-Identifier: Apache-2.0
"""The ready job s3_demo: it runs as docs/stores-objects.md describes it, with an S3 server on this machine
(tests/servers/run.py), keys in the environment, and no change but the address of the server."""
from haultest import *

STORE = json.loads(os.environ["HAUL_TEST_STORE"])


def test_as_the_guide_says():
    with Folder() as folder:
        r = mpi(2, "run", "s3_demo", "--set", f"stores.data.endpoints={STORE['endpoints']}",
                "--set", f"stores.data.uri={STORE['uri']}", "--set", "train.verify=full", cwd=folder)
        check(r.rc == 0, f"{r}")
        generate, train = report(f"{folder}/results.h5")["phases"]
        check(generate["measures"]["bytes_written"] > 200e6 and train["errors"] == 0, f"{train}")
        check([e["samples"] for e in train["epochs"]] == [64] * 3, f"{train['epochs']}")


main()
