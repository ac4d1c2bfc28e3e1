# SPDX-License-Identifier: Apache-2.0
"""What runs that were killed have left on an object store: objects, and uploads that nobody will end. `haul clean` removes both,
of each kind of phase, and nothing that haul does not describe."""
import os
import random
import re
import signal
import time

from haultest import FULL, Folder, alone, check, finish, kill_run, matrix, mpi, pauses, report, start, write_job
from objects import CLEAN, io, main, servers

MIB = 1 << 20
PHASES = (
    {"generate": {"threads": 2}},
    io("write", folder="a/whole", objects=2, size=15 * MIB, block=5 * MIB, depth=2),
    io("write", folder="a/shared", layout="segmented", size=15 * MIB, block=5 * MIB, depth=2),
)
DATASET = {"store": "d", "format": "npz", "files": 6, "sample_bytes": 15 * MIB, "folder": "a/set", "subfolders": 2}


class Bucket:
    def __init__(self, rgw, folder, scheme):
        self.rgw, self.folder, self.name, self.scheme = rgw, folder, "by-" + scheme, scheme
        rgw.bucket(self.name)
        self.client = rgw.client()
        self.env = {**CLEAN, **(rgw.env() if scheme == "s3" else {"GS_ACCESS_KEY_ID": rgw.KEY, "GS_SECRET_ACCESS_KEY": rgw.SECRET})}

    def job(self, phases, endpoint=None, **more):
        store = {"uri": f"{self.scheme}://{self.name}/x", "endpoints": endpoint or self.rgw.endpoint(), "transfer": 5 * MIB,
                 "retry": {"first": "5 ms", "longest": "200 ms"}, **more}
        data = {"dataset": DATASET} if any("generate" in phase for phase in phases) else {}
        write_job(self.folder, {"seed": 7, "stores": {"d": store}, **data, "phases": phases})

    def begin(self, key):
        return self.client.create_multipart_upload(Bucket=self.name, Key=key)["UploadId"]

    def uploads(self):
        """Ids of the open uploads, and their keys."""
        found = self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])
        return {u["UploadId"]: u["Key"] for u in found}

    def keys(self):
        return [o["Key"] for o in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])]

    def ended(self, phase, *options, kill=True, unanswered=False):
        """Kills a run of the phase, or tells it to end, when uploads are open of which no part but the first three comes through.
        unanswered: when the store has published one of each rank, and does not say so."""
        before = len(self.uploads())
        rule = "slowhead:100@method=POST@path=uploadId=" if unanswered else "delay:300@from=4@method=PUT@path=partNumber"
        with servers.Proxy(self.rgw.endpoint(), rule) as proxy:
            self.job([phase], proxy.endpoint())
            process = start(2, "run", "job.json", "--force", *options, cwd=self.folder, env=self.env, start_new_session=True)
            while sum("/000000" in key for key in self.keys()) < 2 if unanswered else len(self.uploads()) == before:
                check(process.poll() is None, "the run ended before it was killed")
                time.sleep(0.02)
            if kill:
                return kill_run(process, self.folder)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            return finish(process, began, 100)


def check_clean(at):
    """The uploads that runs left open are dropped, and what others upload below the same prefix stays."""
    for phase in PHASES:
        at.ended(phase)
    left = at.uploads()
    kinds = {kind: sum(key.startswith(f"x/a/{kind}/") for key in left.values()) for kind in ("set", "whole", "shared")}
    check(sum(kinds.values()) == len(left) and all(kinds.values()), f"{left}")
    again = [at.begin(key) for key in sorted(set(left.values()))]  # as an earlier run might have left
    others = {at.begin(key): key for key in ("x/a/set/mine", "x/other/a/set", "a/whole/0000000.0000000000", "x/a/sharedx")}
    at.job(PHASES)
    r = mpi(3, "clean", "job.json", cwd=at.folder, env=at.env)
    check(r.rc == 0, f"{r}")
    check(at.uploads() == others, f"{at.uploads()}, not {others}")
    check(f"dropped {len(left) + len(again)} unfinished uploads" in r.out + r.err, f"{r}")
    check(at.keys() == [], f"{at.keys()}")


def test_uploads_that_were_left():
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        for scheme in "s3", "gs":
            check_clean(Bucket(rgw, folder, scheme))


def test_uploads_cannot_be_listed():
    """A store that does not list uploads, or does not let this user do it, is cleaned all the same, with a warning."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = Bucket(rgw, folder, "s3")
        at.ended(PHASES[1])
        left = at.uploads()
        with servers.Proxy(rgw.endpoint(), "huge:100@method=GET@path=uploads=") as proxy:
            at.job(PHASES[1:2], proxy.endpoint())
            r = alone("clean", "job.json", cwd=folder, env=at.env)
        check(r.rc == 0 and "open uploads: " in r.err and "where a run was killed" in r.err, f"{r}")
        check(at.keys() == [] and at.uploads() == left, f"{at.keys()} {at.uploads()}")


def test_next_run_drops_uploads():
    """Those of its own objects that a run which was killed has left, and says how many; those of others stay."""
    build = {"vector": {"operation": "build", "folder": "a/index", "vectors": 100000, "dimension": 64, "degree": 8, "segments": 1, "threads": 1}}
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = Bucket(rgw, folder, "s3")
        for phase in PHASES + (build,):
            at.ended(phase)
            left = at.uploads()
            others = {at.begin(os.path.dirname(next(iter(left.values()))) + "/mine")}
            at.job([phase])
            r = mpi(2, "run", "job.json", "--force", cwd=folder, env=at.env)
            check(r.rc == 0 and set(at.uploads()) == others, f"{phase}: {left}, {at.uploads()}: {r}")
            check(f"dropped {len(left)} unfinished upload" in r.err and "of a run that ended early" in r.err, f"{phase}: {left}: {r}")
            for upload, key in at.uploads().items():
                at.client.abort_multipart_upload(Bucket=at.name, Key=key, UploadId=upload)


@matrix
@pauses("4 s", "40 s")
def test_signal_names_uploads(grace):
    """A run that is told to end cannot drop what the store does not answer for any more: it says how many it leaves, and the next
    one drops as many."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = Bucket(rgw, folder, "s3")
        for phase in PHASES if FULL else PHASES[1:2]:
            r = at.ended(phase, "--grace", grace, kill=False)
            left = at.uploads()
            sure, unknown = (sum(int(n) for n in re.findall(fr"warning: {verb} (\d+) unfinished uploads? in s3://by-s3/x, "
                                                            "which `haul clean` drops", r.err)) for verb in ("left", "may have left"))
            check(sure <= len(left) <= sure + unknown, f"{phase}: {sure}, {unknown}, {left}: {r}")
            at.job([phase])
            r = mpi(2, "run", "job.json", "--force", cwd=folder, env=at.env)
            dropped = sum(int(n) for n in re.findall(r"dropped (\d+) unfinished upload", r.err))
            # The store may still do what it was asked for.
            check(r.rc == 0 and not at.uploads() and max(sure, len(left) - unknown) <= dropped <= len(left),
                  f"{phase}: {dropped}, {left}, {at.uploads()}: {r}")


@pauses("4 s", "40 s")
def test_signal_while_store_is_silent(grace):
    """What the store was asked to publish, and has not answered for, may be there or not."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = Bucket(rgw, folder, "s3")
        r = at.ended(io("write", folder="a/whole", objects=1, size=15 * MIB, block=5 * MIB, depth=2), "--grace", grace, kill=False,
                     unanswered=True)
        check(r.err.count("warning: may have left 1 unfinished upload in s3://by-s3/x") == 2 and "warning: left" not in r.err, f"{r}")
        check(not at.uploads(), f"{at.uploads()}")


def test_begun_again():
    """An answer to the request that begins an upload is lost or cut: another one is begun, and the first, whose id nobody knows, is
    told of. Where nobody was asked, or the store refused, none is."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = Bucket(rgw, folder, "s3")
        phase = io("write", folder="a/whole", objects=1, size=15 * MIB, block=5 * MIB, depth=2)
        for transport in ("native", "curl"):
            for fault, first, left, told in (("trunc:0", 1, 1, 1), ("trunc:0", 3, 3, 3), ("rstmid:0", 1, 1, 1), ("close", 2, 0, 2), ("rubbish:x", 1, 0, 1), ("err200", 1, 0, 0), ("503", 2, 0, 0)):
                with servers.Proxy(rgw.endpoint(), f"{fault}@first={first}@method=POST@path=uploads") as proxy:
                    at.job([phase], proxy.endpoint(), transport=transport)
                    r = mpi(2, "run", "job.json", "--force", cwd=folder, env=at.env)
                found = sum(map(int, re.findall(r"warning: may have left (\d+) unfinished upload", r.err)))
                check(r.rc == (fault == "rubbish:x") and (len(at.uploads()), found) == (left, told) and "warning: left" not in r.err,
                      f"{transport}, {fault}: {at.uploads()}, {found}: {r}")
                at.job([phase])
                r = alone("clean", "job.json", cwd=folder, env=at.env)
                check(r.rc == 0 and not at.uploads(), f"{transport}, {fault}: {at.uploads()}: {r}")


def test_drop_that_is_not_believed():
    """An answer with a body is none to a request that drops an upload or deletes an object: the upload is told of, and the object
    is deleted by a further attempt."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = Bucket(rgw, folder, "s3")
        phase = io("write", folder="a/whole", objects=1, size=15 * MIB, block=5 * MIB, depth=2)
        for transport in ("native", "curl"):
            with servers.Proxy(rgw.endpoint(), "rubbish:x@path=partNumber", "rubbish:x@method=DELETE@path=uploadId") as proxy:
                at.job([phase], proxy.endpoint(), transport=transport)
                r = mpi(1, "run", "job.json", "--force", cwd=folder, env=at.env)
            check(r.rc == 1 and len(at.uploads()) == 1 and "may have left 1 unfinished upload in s3://by-s3/x" in r.err, f"{at.uploads()}: {r}")
            for upload, key in at.uploads().items():
                at.client.abort_multipart_upload(Bucket=at.name, Key=key, UploadId=upload)
            with servers.Proxy(rgw.endpoint(), "rubbish:x@first=1@method=DELETE@path=0000000") as proxy:
                at.job([phase, {"io": {**phase["io"], "operation": "delete", "name": "delete"}}], proxy.endpoint(), transport=transport)
                r = mpi(1, "run", "job.json", "--force", cwd=folder, env=at.env)
                hits, = proxy.stats()["rules"].values()
            deleted = report(f"{folder}/results.h5")["phases"][1]["measures"]
            check(r.rc == 0 and hits == 1 and deleted["retries"] == 1 and not [k for k in at.keys() if "0000000" in k] and not at.uploads(),
                  f"{deleted['retries']}: {at.keys()}: {r}")


def test_objects_of_others():
    """What stands at a name that haul would use is neither replaced nor removed, whichever kind of phase comes there."""
    checkpoint = {"checkpoint": {"folder": "a/kept", "operation": "write", "count": 2, "model": {"bytes": MIB}}}
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = Bucket(rgw, folder, "s3")
        for phase in *PHASES, checkpoint:
            at.job([phase])
            r = mpi(1, "run", "job.json", "--force", cwd=folder, env=at.env)
            mine = random.choice([key for key in at.keys() if not key.rsplit("/", 1)[-1].startswith(".haul")])
            check(r.rc == 0 and alone("clean", "job.json", cwd=folder, env=at.env).rc == 0 and at.keys() == [], f"{r}: {at.keys()}")
            lock = "/".join(mine.split("/")[:3]) + ".haul-owner"
            for key, says in ((mine, "it stays"), (lock, "is an object that haul did not make"))[:1 if "io" in phase else 2]:
                at.client.put_object(Bucket=at.name, Key=key, Body=b"mine")
                r = mpi(1, "run", "job.json", "--force", cwd=folder, env=at.env)
                check(r.rc == 1 and says in " ".join(r.err.split()), f"{key}: {r}")
                r = alone("clean", "job.json", cwd=folder, env=at.env)
                check(at.client.get_object(Bucket=at.name, Key=key)["Body"].read() == b"mine" and at.keys() == [key], f"{key}: {at.keys()}: {r}")
                at.client.delete_object(Bucket=at.name, Key=key)


def test_versions_that_stay():
    """Of what was removed, in a bucket that keeps versions, are counted."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        at = Bucket(rgw, folder, "s3")
        for kept in False, True:
            if kept:
                at.client.put_bucket_versioning(Bucket=at.name, VersioningConfiguration={"Status": "Enabled"})
            at.job([io("write", folder="a/whole", objects=3, size=1 * MIB)])
            r = mpi(2, "run", "job.json", "--force", cwd=folder, env=at.env)
            check(r.rc == 0, f"{r}")
            made = [key for key in at.keys() if not key.rsplit("/", 1)[-1].startswith(".haul")]
            r = alone("clean", "job.json", cwd=folder, env=at.env)
            check(r.rc == 0 and at.keys() == [] and made, f"{r} {made}")
            check(f"the bucket keeps {len(made)} versions of what was removed" in r.out + r.err if kept else "version" not in r.out + r.err, f"{made}: {r}")
            there = at.client.list_object_versions(Bucket=at.name)
            left = {v["Key"] for v in there.get("Versions", [])}
            check((set(made) <= left) == kept, f"{made} {left}")
        for v in there["Versions"] + there["DeleteMarkers"]:
            at.client.delete_object(Bucket=at.name, Key=v["Key"], VersionId=v["VersionId"])


if __name__ == "__main__":
    main()
