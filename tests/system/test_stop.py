# SPDX-License-Identifier: Apache-2.0
"""Stopping ranks that compute for a long time: a signal to one rank, or an error of one, ends a step of twenty minutes on all
ranks, on one node and on several."""
import os
import random
import re
import signal
import socket
import time

import h5py

from haultest import Folder, check, finish, main, ranks_of, report, start, write_job

COMPUTE = 1200  # seconds; more than finish() waits


def job(folder, **train):
    return {"name": "stop", "stores": {"data": {"uri": f"file://{folder}/data"}},
            "dataset": {"format": "npy", "files": 64, "sample_bytes": 4096},
            "phases": [{"generate": {}},
                       {"train": {"batch": 1, "compute": f"{COMPUTE} s", "sync": "step", "null_steps": 0, **train}}]}


def wait_for_compute(process, path):
    while process.poll() is None:
        time.sleep(0.02)
        try:
            with h5py.File(path) as f:
                if "0_generate" in f["phases"]:
                    time.sleep(1)
                    return
        except (OSError, KeyError):
            pass
    raise AssertionError("the data set was not made")


def stops(signum, nodes):
    with Folder() as folder:
        write_job(folder, job(folder))
        process = start(4, "run", "job.json", "--grace", "60 s", "--fake-nodes", nodes, cwd=folder)
        began = time.monotonic()
        wait_for_compute(process, folder + "/results.h5")
        os.kill(random.choice(list(ranks_of(process).values())), signum)
        r = finish(process, began)
        check(r.rc == 4, f"{r}")
        check(report(folder + "/results.h5")["status"] == "interrupted", "the status is not \"interrupted\"")
        with h5py.File(folder + "/results.h5") as f:
            check(set(f["phases/1_train/ranks"]["steps"]) == {0}, "a step was counted that no rank completed")


def test_one_node():
    stops(signal.SIGTERM, 1)


def test_several_nodes():
    stops(signal.SIGTERM, 4)


def test_hup():
    stops(signal.SIGHUP, 2)


def test_error_of_one_rank():
    with Folder() as folder:
        write_job(folder, job(folder, loader={"workers": 1, "prefetch": 1}))
        check(start(2, "generate", "job.json", cwd=folder).wait() == 0, "generate")
        victim = sorted(n for n in os.listdir(folder + "/data") if n.endswith(".npy"))[7]
        os.unlink(f"{folder}/data/{victim}")
        began = time.monotonic()
        # Without shuffling, the missing file is in the first batch of a rank. Otherwise a rank might need it only in a later
        # step, after twenty minutes.
        process = start(8, "run", "job.json", "--skip", "generate", "--grace", "60 s", "--fake-nodes", 3, "--set", "train.shuffle=none",
                        cwd=folder)
        r = finish(process, began)
        check(r.rc == 1 and victim in r.err and re.search(r'rank \d on ' + socket.gethostname().split('.')[0], r.err), f"{r}")


main()
