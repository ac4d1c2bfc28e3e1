# SPDX-License-Identifier: Apache-2.0
"""What an object store is good for (haul assess, haul simulate), on Ceph: within its budget, and confirmed by runs of their own."""
import time

from assessing import assess, confirm, workload
from haultest import *
from objects import CLEAN, servers
from simulating import predicts


@pauses(20, 80, 300)
def test_ceph(budget):
    """A card within the budget and 30 s, and nothing is left."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("assessed")
        began = time.monotonic()
        r, found = assess(folder, "s3://assessed/x", "--set", f"endpoints={rgw.endpoint()}", "--budget", f"{budget} s", "--space", "32 MiB", ranks=2,
                          env={**CLEAN, **rgw.env()})
        took = time.monotonic() - began
        check(r.rc == 0 and took < budget + 30, f"{took} s: {r}")
        a = found["assess"]
        check(a["end"] == "found" and all(row["value"] and row["value"] > 0 for row in a["ceilings"]), f"{a}")
        check("checkpoints/h" in r.out and "streams read" in r.out and workload(found, "llama3_8b")["carries"] > 0, r.out)
        check("Contents" not in rgw.client().list_objects_v2(Bucket="assessed"), "objects are left")


@long
@timing
def test_confirmed_on_ceph():
    with servers.kept(servers.Rgw) as rgw:
        rgw.bucket("confirmed")
        confirm({"uri": "s3://confirmed/x", "endpoints": rgw.endpoint()}, ("cosmoflow_h100", "retinanet_b200"), 4, "--budget", "60 s", "--space", "256 MiB",
                env={**CLEAN, **rgw.env()})


@long
@timing
def test_predicted_on_ceph():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        rgw.bucket("data")
        predicts(folder, {"uri": "s3://data/x", "endpoints": rgw.endpoint()}, env={**CLEAN, **rgw.env()}, objects=8, steps=20)


main()
