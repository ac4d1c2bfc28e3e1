# SPDX-License-Identifier: Apache-2.0
"""One sentence for a failure: a store that asks to slow down for ever is told in the same words by every kind of phase and by
the verbs, but for the name of the object."""
import json
import re
import struct

import h5py

from haultest import Folder, alone, check, mpi, write_job
from objects import CLEAN, io, main, servers

MODEL = {"vocabulary": 256, "hidden": 64, "feed_forward": 128, "layers": 1, "heads": 2, "kv_heads": 2}
CACHE = {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}
RETRY = {"attempts": 3, "first": "1 ms", "longest": "5 ms"}
SENTENCE = "the store asks to slow down (SlowDown) (503, 3 attempts)"
DATASET = {"format": "raw", "files": 4, "sample_bytes": "64 KiB", "store": "d"}
CHECKPOINT = {"model": MODEL, "count": 1, "chunk": "5 MiB", "buffers": "15 MiB"}
SETS = {"objects": 2, "size": "64 KiB", "block": "64 KiB"}
# What is there before, the phase or the verb that fails, and of which requests.
CASES = (
    ("io", [], io("write", **SETS), "@method=PUT@path=/io/0"),
    ("io that reads", [io("write", **SETS)], io("read", **SETS), "@method=GET@path=/io/0"),
    ("generate", [], {"generate": {}}, "@method=PUT@path=img_"),
    ("train", [{"generate": {}}], {"train": {"batch": 1, "null_steps": 0}}, "@method=GET@path=img_"),
    ("checkpoint", [], {"checkpoint": {**CHECKPOINT, "operation": "write"}}, "@method=PUT@path=rank"),
    ("checkpoint that reads", [{"checkpoint": {**CHECKPOINT, "operation": "write"}}],
     {"checkpoint": {**CHECKPOINT, "operation": "read"}}, "@method=GET@path=rank"),
    ("load", None, {"load": {"folder": "model"}}, "@method=GET@path=.safetensors"),
    ("kvcache", [], {"kvcache": {"model": CACHE, "users": 2, "requests": 4, "threads": 1, "served": 1, "chunk": "5 MiB",
                                 "tiers": [{"store": "d", "capacity": "24 MiB"}]}}, "@method=PUT@path=conv_"),
)


def said(r):
    """What a run or a verb says of its first failure: the part from the object on."""
    found = re.search(r"s3://\S+: (.*)", r.err)
    check(r.rc == 1 and found, f"{r}")
    return found.group(1)


def job(folder, endpoint, bucket, phases):
    store = {"uri": f"s3://{bucket}/x", "endpoints": endpoint, "transfer": 5 << 20, "retry": RETRY}
    return write_job(folder, {"seed": 7, "stores": {"d": store}, "dataset": DATASET, "phases": phases})


def failing(folder, rgw, number, name, before, phase, which, *words):
    """What one case says. before None: a model is there that the test has made."""
    bucket, env = f"bucket{number}", {**CLEAN, **rgw.env()}
    rgw.bucket(bucket)
    if before is None:
        head = json.dumps({"w": {"dtype": "F16", "shape": [1024], "data_offsets": [0, 2048]}}).encode()
        rgw.client().put_object(Bucket=bucket, Key="x/model/model.safetensors", Body=struct.pack("<Q", len(head)) + head + bytes(2048))
    elif before:
        job(folder, rgw.endpoint(), bucket, before)
        r = mpi(1, "run", "job.json", "--force", cwd=folder, env=env)
        check(r.rc == 0, f"{name}: {r}")
    with servers.Proxy(rgw.endpoint(), "503" + which) as proxy:
        job(folder, proxy.endpoint(), bucket, phase if isinstance(phase, list) else [phase])
        r = mpi(1, *(words or ("run", "job.json", "--force")), cwd=folder, env=env)
    if not words:
        with h5py.File(f"{folder}/results.h5") as f:
            kept = f.attrs["error"].decode()
        check(kept and kept in r.err, f"{name}: the results say \"{kept}\", and the run: {r}")
    return said(r)


def test_phases():
    """Each kind of phase. A training adds where it was."""
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        for number, (name, *case) in enumerate(CASES):
            found = failing(folder, rgw, number, name, *case)
            check(re.sub(r" \(epoch \d+, step \d+\)$", "", found) == SENTENCE, f"{name}: {found}")


def test_verbs():
    """clean, replay and ls."""
    objects = [io("write", **SETS)]
    with Folder() as folder, servers.kept(servers.Rgw) as rgw:
        found = failing(folder, rgw, 20, "clean", objects, objects, "@method=POST@path=delete", "clean", "job.json")
        check(found == SENTENCE, f"clean: {found}")
        with open(f"{folder}/trace.csv", "w") as f:
            f.write("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0.5,Write,1000,Tier-2,made,Decode\n")
        with servers.Proxy(rgw.endpoint(), "503@method=PUT@path=made", "503@method=GET@path=list-type") as proxy:
            options = [word for key, value in (("endpoints", proxy.endpoint()), ("transfer", 5 << 20), ("retry.attempts", 3),
                                               ("retry.first", "1 ms"))
                       for word in ("--set", f"stores.store.{key}={value}")]
            env = {**CLEAN, **rgw.env()}
            found = said(mpi(1, "replay", "trace.csv", "--store", "s3://bucket20/y", "--force", *options, cwd=folder, env=env))
            check(found == SENTENCE, f"replay: {found}")
            options = [word.removeprefix("stores.store.") for word in options]
            found = said(alone("ls", "s3://bucket20/x", *options, cwd=folder, env=env))
            check(found == SENTENCE, f"ls: {found}")


main()
