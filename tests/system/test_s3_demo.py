# SPDX-License-Identifier: Apache-2.0
"""The ready job s3_demo: it runs as docs/stores-objects.md describes it, with an S3 server on this machine
(tests/servers/run.py), keys in the environment, and no change but the address of the server, which the environment may have.
What it is good for, within its budget. Buckets that haul makes, and removes only where they are its own. Plain I/O of the catalogue on objects."""
import time

import boto3
from botocore.config import Config

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


def client():
    return boto3.client("s3", endpoint_url=STORE["endpoints"], region_name="us-east-1", config=Config(s3={"addressing_style": "path"}))


def buckets():
    return {b["Name"] for b in client().list_buckets()["Buckets"]}


def test_from_outside():
    """Only the environment says where the server is, and nobody has made the bucket."""
    sets = ("--set", "dataset.files=8", "--set", "train.epochs=1", "--set", "train.compute=0")
    with Folder() as folder:
        check("haul-demo" not in buckets(), f"{buckets()}")
        for _ in range(2):
            r = mpi(2, "run", "s3_demo", *sets, "--force", "--quiet", cwd=folder, env={"HAUL_S3_ENDPOINT": STORE["endpoints"]})
            check(r.rc == 0, f"{r}")
        keys = {o["Key"] for o in client().list_objects_v2(Bucket="haul-demo")["Contents"]}
        check(".haul-bucket" in keys and len(keys) == 10, f"{keys}")
        r = mpi(2, "clean", "s3_demo", *sets, cwd=folder, env={"HAUL_S3_ENDPOINT": STORE["endpoints"]})
        check(r.rc == 0 and "removed the bucket that haul had made" in r.out and "haul-demo" not in buckets(), f"{r}")
        r = mpi(1, "run", "s3_demo", *sets, "--only", "train", "--force", cwd=folder, env={"HAUL_S3_ENDPOINT": STORE["endpoints"]})
        check(r.rc != 0 and "haul-demo" not in buckets(), f"what only reads makes no bucket: {r}")


def bucket_job(folder, name, **more):
    plain = {"objects": 3, "size": "64 KiB", "block": "64 KiB"}
    write_job(folder, {"stores": {"data": {**STORE, "uri": f"s3://{name}/x", **more}},
                       "dataset": {"store": "data", "format": "raw", "files": 4, "sample_bytes": 1000},
                       "phases": [{"io": {"operation": "write", **plain}}, {"generate": {}}]})


def test_buckets_of_others_stay():
    """A bucket goes if haul made it and nothing else is in it: no object, no folder, no open upload of somebody else."""
    s3 = client()

    def do(verb, *args):
        return mpi(2, verb, "job.json", *args, cwd=folder)

    with Folder() as folder:
        bucket_job(folder, "missing")
        r = do("run", "--quiet")
        check(r.rc == 1 and "create_bucket" in r.err and "missing" not in buckets(), f"{r}")
        s3.create_bucket(Bucket="theirs")
        bucket_job(folder, "theirs", create_bucket=True)
        check(do("run", "--quiet", "--force").rc == 0, "run")
        r = do("clean")
        check(r.rc == 0 and "bucket" not in r.out and "theirs" in buckets(), f"{r}")
        check("Contents" not in s3.list_objects_v2(Bucket="theirs"), "its mark is in a bucket that haul did not make")
        bucket_job(folder, "ours", create_bucket=True)
        for what in "object", "folder", "upload", "nothing":
            r = do("run", "--quiet", "--force")
            check(r.rc == 0 and "ours" in buckets(), f"{what}: {r}")
            key = "there/it is" if what == "folder" else "it is"
            if what == "upload":
                upload = s3.create_multipart_upload(Bucket="ours", Key=key)["UploadId"]
            elif what != "nothing":
                s3.put_object(Bucket="ours", Key=key, Body=b"theirs")
            r = do("clean")
            gone = what == "nothing"
            check(r.rc == 0 and ("removed the bucket" in r.out) == gone and ("ours" not in buckets()) == gone, f"{what}: {r}")
            if what == "upload":
                check(len(s3.list_multipart_uploads(Bucket="ours")["Uploads"]) == 1, "their upload is gone")
                s3.abort_multipart_upload(Bucket="ours", Key=key, UploadId=upload)
            elif not gone:
                check(s3.get_object(Bucket="ours", Key=key)["Body"].read() == b"theirs", what)
                s3.delete_object(Bucket="ours", Key=key)
        r = alone("plan", "job.json", "--set", 'stores.data.uri=["s3://a","s3://b"]', cwd=folder)
        check(r.rc == 2 and "create_bucket: needs a single URI" in r.err, f"{r}")


def test_plain_io_as_it_is():
    """io_sequential on objects: the smaller size is the only change beside the store."""
    store = json.dumps({**STORE, "uri": STORE["uri"] + "/io"})
    with Folder() as folder:
        r = mpi(2, "run", "io_sequential", "--quiet", "--set", f"stores.data={store}", "--set", "io.size=16 MiB", cwd=folder)
        check(r.rc == 0, f"{r}")
        phases = report(f"{folder}/results.h5")["phases"]
        check([p["name"] for p in phases] == ["write", "read", "delete"] and sum(p["errors"] for p in phases) == 0, f"{phases}")
        check(phases[1]["bytes_read"] == 2 * 16 << 20, f"{phases[1]['bytes_read']}")


main()
