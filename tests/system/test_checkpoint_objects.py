# SPDX-License-Identifier: Apache-2.0
"""Checkpoints on an object store: a model is written by 8 ranks, as objects of a rank or as one upload of all ranks, and read by
8, 4 and 16; the gateway counts the bytes. Ranks that are killed leave no object that is not whole, and no checkpoint that a
reader takes for whole.

test_checkpoint_objects.py EMPTY_PROCESS"""
import json
import sys
import time

from haultest import (FULL, HAUL, SANITIZED, Folder, alone, check, kill_run, long, matrix, mpi, peak_of_rank, report, start,
                      write_job)
from objects import CLEAN, main, servers

EMPTY = sys.argv.pop(1)
MIB = 1 << 20
# 5.8 million parameters; each of 8 ranks has 2 parts of 5 MiB.
MODEL = {"vocabulary": 4096, "hidden": 256, "feed_forward": 704, "layers": 5, "heads": 8, "kv_heads": 4}
MESH = {"tensor": 2, "data": 4, "zero": 3}
RING = {"count": 1, "chunk": "5 MiB", "buffers": "15 MiB", "framing": "raw", "model": MODEL, "mesh": MESH}
# Ranks that read, and their mesh.
READERS = ((8, {}), (4, {"read_mesh": {"tensor": 2, "data": 2, "zero": 1}}),
           (16, {"read_mesh": {"tensor": 2, "data": 8, "zero": 3}}))
# The part after which the second checkpoint stalls.
KILLS = [(part, layout) for part in range(9, 17) for layout in ("rank", "shared")]


class Bucket:
    """A bucket, and jobs that have their checkpoints in it."""

    def __init__(self, rgw, folder, env=None):
        self.rgw, self.folder = rgw, folder
        rgw.bucket("checkpoints")
        self.client = rgw.client()
        self.env = {**CLEAN, **rgw.env()}

    def job(self, *phases, endpoint=None):
        store = {"uri": "s3://checkpoints/x", "endpoints": endpoint or self.rgw.endpoint(),
                 "retry": {"first": "5 ms", "longest": "200 ms"}}
        return write_job(self.folder, {"seed": 7, "stores": {"c": store}, "phases": [{"checkpoint": p} for p in phases]})

    def run(self, ranks, *phases, rc=0):
        """Runs a job; returns (the run, its last phase)."""
        self.job(*phases)
        r = mpi(ranks, "run", "job.json", "--force", cwd=self.folder, env=self.env)
        check(r.rc == rc, f"{r}")
        return r, (report(f"{self.folder}/results.h5")["phases"][-1] if rc == 0 else None)

    def clean(self):
        r = alone("clean", "job.json", cwd=self.folder, env=self.env)
        check(r.rc == 0, f"{r}")
        check(self.objects() == {}, f"`haul clean` leaves {self.objects()}")

    def objects(self):
        """Sizes of the objects by their names."""
        found = self.client.list_objects_v2(Bucket="checkpoints").get("Contents", [])
        return {o["Key"].split("x/checkpoints/")[-1]: o["Size"] for o in found}

    def uploads(self):
        return self.client.list_multipart_uploads(Bucket="checkpoints").get("Uploads", [])

    def begin(self, key):
        return self.client.create_multipart_upload(Bucket="checkpoints", Key=key)["UploadId"]

    def parts(self, name):
        """Parts of which the object was made."""
        etag = self.client.head_object(Bucket="checkpoints", Key=f"x/checkpoints/{name}")["ETag"].strip('"')
        return int(etag.split("-")[1]) if "-" in etag else 1


def parts_of(size):
    return -(-size // (5 * MIB))


def moved(rgw, before):
    """Bytes that the gateway has taken and given. Ceph counts one byte less than it gives for each GET; it counts a HEAD,
    by which haul asks for the size of the marker, as a GET."""
    now = rgw.requests()
    return now["put_b"] - before["put_b"], now["get_b"] - before["get_b"] + now["get"] - before["get"] - 1


@matrix
def test_written_by_8_and_read_by_others():
    """Objects stream, and the regions of the shared one are made as a whole before they are uploaded."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        s3 = Bucket(rgw, folder)
        for layout, fill in ("rank", "stream"), ("shared", "whole"):
            what = {**RING, "layout": layout}
            before = rgw.requests()
            _, phase = s3.run(8, {**what, "operation": "write", "fill": fill})
            sizes = s3.objects()
            marker = sizes.pop("000000/.haul-checkpoint.json")
            written = phase["bytes_written"]
            check(phase["errors"] == 0 and written == sum(sizes.values()) > 80e6, f"{layout}: {sizes} {phase}")
            taken, _ = moved(rgw, before)
            # The marker is written before and after the files; "false" is longer than "true". The lease on the folder is sent twice,
            # and taken once; a run that takes long sends it again.
            leases, rest = divmod(taken - written - 2 * marker - 1, 320)
            check(leases >= 2 and rest == 0, f"{layout}: {written} written, the gateway took {taken}")
            check(all(s3.parts(name) == parts_of(size) for name, size in sizes.items()), f"{layout}: {sizes}")
            check(len(sizes) == (1 if layout == "shared" else 16) and not s3.uploads(), f"{layout}: {sizes} {s3.uploads()}")
            for ranks, mesh in READERS if FULL else READERS[1:2]:
                before = rgw.requests()
                _, phase = s3.run(ranks, {**what, "operation": "read", "verify": "full", **mesh})
                _, given = moved(rgw, before)
                check(phase["errors"] == 0 and phase["measures"]["payload_errors"] == 0, f"{layout} by {ranks}: {phase}")
                check(given == phase["bytes_read"] + marker, f"{layout} by {ranks}: {phase['bytes_read']} read, {given} given")
                check(given > 80e6, f"{layout} by {ranks}: {given} bytes")
            s3.job({**what, "operation": "write"})
            s3.clean()


def wholes(s3):
    """For each checkpoint whether its marker says that it is whole, and its objects."""
    found = {}
    for name, size in s3.objects().items():
        folder, _, name = name.partition("/")
        whole, objects = found.get(folder, (False, {}))
        if name == ".haul-checkpoint.json":
            key = f"x/checkpoints/{folder}/{name}"
            whole = json.load(s3.client.get_object(Bucket="checkpoints", Key=key)["Body"])["whole"]
        else:
            objects[name] = size
        found[folder] = whole, objects
    return found


def killed(s3, process):
    """Kills all ranks while they upload the second checkpoint, of which no further part comes through."""
    def begun():
        return any("/000001/" in upload["Key"] for upload in s3.uploads()) and "000001" in wholes(s3)

    while not begun() and process.poll() is None:
        time.sleep(0.02)
    if process.poll() is not None:
        raise AssertionError(f"the run ended before it was killed: {process.communicate()}")
    kill_run(process, s3.folder)


@matrix
def test_killed():
    """Ranks are killed while they upload the second checkpoint. Its objects are there with all their bytes or not at all, its
    marker does not say that it is whole, and a reader refuses it but reads the first one. Of 4 ranks each writes 2 parts.
    The next run drops what they had uploaded, and `haul clean` does, but not what somebody else uploads beside it."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        s3 = Bucket(rgw, folder)
        for part, layout in KILLS if FULL else ((11, "rank"), (12, "shared")):
            what = {**RING, "layout": layout, "count": 2}
            case = f"{layout}, part {part}"
            with servers.Proxy(rgw.endpoint(), f"delay:300@from={part}@method=PUT@path=partNumber") as proxy:
                s3.job({**what, "operation": "write"}, endpoint=proxy.endpoint())
                killed(s3, start(4, "run", "job.json", "--force", cwd=folder, env=s3.env, start_new_session=True))
            found = wholes(s3)
            (whole, first), (unfinished, objects) = found["000000"], found["000001"]
            check(whole and len(first) == (1 if layout == "shared" else 8), f"{case}: {found}")
            check(not unfinished and all(first[name] == size for name, size in objects.items()), f"{case}: {found}")
            check(len(objects) < len(first), f"{case}: {found}")
            r, _ = s3.run(4, {**what, "operation": "read"}, rc=1)
            check("000001/: this checkpoint is not whole" in r.err, f"{case}: {r}")
            s3.run(4, {**what, "count": 1, "operation": "read", "verify": "full"})
            uploads = s3.uploads()  # by now, those that were on their way when the ranks were killed are there
            check(uploads, f"{case}: {found}")
            others = [s3.begin(f"x/checkpoints/{key}") for key in ("000001/other.bin", "mine", "000007/__0_0.distcp")]
            # The next run comes no further than the first one.
            r, _ = s3.run(4, {**what, "count": 1, "operation": "write"})
            check(sorted(others) == sorted(u["UploadId"] for u in s3.uploads()), f"{case}: {s3.uploads()} are left: {r}")
            said = f"dropped {len(uploads)} unfinished upload{'s' * (len(uploads) > 1)} of a run that ended early in s3://"
            check(said in r.err and "checkpoints/000001" in r.err, f"{case}: {said}: {r}")
            again = [s3.begin(u["Key"]) for u in uploads]
            s3.job({**what, "operation": "write"})
            s3.clean()
            check(again and sorted(others) == sorted(u["UploadId"] for u in s3.uploads()), f"{case}: {s3.uploads()} are left")
            for u in s3.uploads():
                s3.client.abort_multipart_upload(Bucket="checkpoints", Key=u["Key"], UploadId=u["UploadId"])


@long
def test_memory():
    """A large checkpoint with 8 parts in flight, while a ninth is made: the buffers, and at most 32 MiB more than an empty
    process."""
    bytes_, chunk = 4 << 30, 14 * MIB
    buffers = 9 * chunk
    what = {"count": 1, "model": {"bytes": bytes_}, "buffers": buffers, "chunk": chunk, "fillers": 2}
    phases = [("write", {"operation": "write"}), ("read", {"operation": "read"}),
              ("verify", {"operation": "read", "verify": "full"})]
    empty, _ = peak_of_rank([EMPTY])
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        s3 = Bucket(rgw, folder)
        s3.job(*({"name": name, **what, **more} for name, more in phases))
        for name, _ in phases:
            peak, _ = peak_of_rank([HAUL, "run", "job.json", "--only", name, "--force"], folder, s3.env)
            phase, = report(f"{folder}/results.h5")["phases"]
            print(f"      {name}: {peak / MIB:.1f} MiB, empty {empty / MIB:.1f} MiB", flush=True)
            check(phase["bytes_written"] + phase["bytes_read"] > bytes_ and phase["errors"] == 0, f"{name}: {phase}")
            check(peak > empty + buffers, f"{name}: {peak} bytes, empty {empty}: not all buffers were used")
            if not SANITIZED:  # sanitizers take memory of their own
                check(peak <= empty + buffers + 32 * MIB, f"{name}: {peak} bytes, empty {empty}")


if __name__ == "__main__":
    main()
