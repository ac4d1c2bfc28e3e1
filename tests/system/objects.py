# SPDX-License-Identifier: Apache-2.0
"""Helpers for system tests of object stores, in addition to haultest: servers, jobs on them, and comparisons of files."""
import filecmp
import os
import sys

sys.path.insert(0, os.path.join(os.environ["HAUL_SOURCE"], "tests", "servers"))
import servers  # noqa: E402
from haultest import HANGS_S, HAUL, SANITIZED, check, main, measured, mpi, report, write_job  # noqa: E402, F401

# Removes settings that the machine may have for other users of object stores.
CLEAN = {name: "" for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "GS_", "GCE_", "S3_"))}
CLEAN.update({"AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_CONFIG_FILE": "/dev/null",
              "AWS_EC2_METADATA_DISABLED": "true"})
AWKWARD = "sp ace/per%cent+plus&amp=eq~/é文//x"


def io(operation, **more):
    return {"io": {"operation": operation, "name": operation, **more}}


def run(ranks, folder, store, phases, env, only=None, dataset=None, timeout=HANGS_S, most=None, **job):
    """Runs one job on one store; returns (run, report or None). most: the bytes of memory that a rank may take."""
    if dataset:
        job["dataset"] = {"store": "d", **dataset}
    write_job(folder, {"name": "objects", "stores": {"d": store}, **job, "phases": phases})
    args = ["--only", only] if only else []
    args, env = ["run", "job.json", "--force", *args], {**CLEAN, **env}
    if most:
        r, peak = measured(ranks, [HAUL, *args], folder, env, timeout)
        check(SANITIZED or peak <= most, f"a rank took {peak} bytes of memory: {r}")
    else:
        r = mpi(ranks, *args, cwd=folder, env=env, timeout=timeout)
    path = os.path.join(folder, "results.h5")
    return r, report(path) if os.path.exists(path) else None


def works(*args, **more):
    r, result = run(*args, **more)
    check(r.rc == 0, f"{r}")
    return result


def refused(sentence, *args, **more):
    """Checks that the run fails and that its message contains the sentence."""
    r, _ = run(*args, **more)
    check(r.rc == 1, f"the run does not fail: {r}")
    for part in [sentence] if isinstance(sentence, str) else sentence:
        check(part in r.err, f"the message does not contain {part!r}: {r}")


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder)
                  for at, _, names in os.walk(folder) for name in names)


def same_files(one, other, what):
    """Compares the files byte by byte, except those that haul keeps for itself."""
    names = [n for n in files_below(one) if not os.path.basename(n).startswith(".haul")]
    others = [n for n in files_below(other) if not os.path.basename(n).startswith(".haul")]
    check(names and names == others, f"{what}: {names[:5]} … {others[:5]}")
    for name in names:
        check(filecmp.cmp(os.path.join(one, name), os.path.join(other, name), shallow=False), f"{what}: {name} differs")
    return names
