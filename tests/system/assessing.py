# SPDX-License-Identifier: Apache-2.0
"""Assessments (haul assess), and runs of their own that confirm what the card says."""
import os

from haultest import Folder, check, mpi, report


def assess(folder, uri, *more, ranks=1, env=None):
    r = mpi(ranks, "assess", uri, "--force", *more, cwd=folder, env=env)
    return r, report(f"{folder}/results.h5") if os.path.exists(f"{folder}/results.h5") else None


def ceiling(found, name):
    return next(row["value"] for row in found["assess"]["ceilings"] if row["name"] == name)


def workload(found, name):
    return next(row for row in found["assess"]["workloads"] if row["name"] == name)


# Steps of a run of its own, those of warm-up, in which a loader uses up what it holds, and samples of a step.
SHAPES = {"cosmoflow_h100": (150, 50, 1), "retinanet_b200": (75, 55, 24), "resnet50_h100": (48, 36, 400)}


def au_alone(folder, name, accelerators, store, ranks, env):
    """The AU of a workload of the catalogue in a run of its own on so many accelerators."""
    store = {**store, "uri": f"{store['uri']}/{name}"}
    steps, warmup, batch = SHAPES[name]
    sets = {f"stores.data.{key}": value for key, value in store.items()}
    sets |= {"ranks": accelerators, "train.epochs": 1, "train.steps": steps, "train.warmup_steps": warmup}
    words = ["--only", "train"]
    if not store["uri"].startswith("sim:"):
        words = []
        sets |= {"dataset.files": max(steps * batch * ranks // (1251 if name == "resnet50_h100" else 1), 8 * ranks),
                 "train.cold": "fadvise" if store["uri"].startswith("file:") else "none"}
        sets |= {"dataset.subfolders": 1} if name != "resnet50_h100" else {}
    r = mpi(ranks, "run", name, *words, "--force", "--results", "alone.h5", *sum((["--set", f"{k}={v}"] for k, v in sets.items()), []), cwd=folder, env=env)
    check(r.rc == 0, f"{r}")
    return report(f"{folder}/alone.h5")["phases"][-1]["au"]["mean"]


def confirm(store, names, ranks, *more, env=None):
    """Runs of their own carry what the card says, to within one accelerator: one less reaches the target, two more do not."""
    sim = store["uri"].startswith("sim:")
    with Folder() as folder:
        store = {**store, "uri": store["uri"].replace("FOLDER", folder)}
        sets = sum((["--set", f"{k}={v}"] for k, v in store.items() if k != "uri"), [])
        r, found = assess(folder, store["uri"], *sets, *more, ranks=ranks, env=env)
        check(r.rc == 0, f"{r}")
        for name in names:
            row = workload(found, name)
            # Beyond the cores of a small machine they are the limit, as the card says, and not the storage.
            fewer, over = min(int(row["carries"]) - 1, ranks if sim else min(ranks, len(os.sched_getaffinity(0)))), int(row["carries"]) + 2
            if fewer >= 1:
                au = au_alone(folder, name, fewer, store, ranks, env)
                check(au >= row["target"], f"{name} on {fewer}: AU {au} of {row}")
            if over <= ranks:
                au = au_alone(folder, name, over, store, ranks, env)
                check(au < row["target"], f"{name} on {over}: AU {au} of {row}")
            check(fewer >= 1 or over <= ranks, f"{row}")
