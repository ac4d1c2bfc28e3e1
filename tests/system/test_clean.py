# SPDX-License-Identifier: Apache-2.0
"""`haul clean` lists what markers and descriptions name and what stands there: whatever was removed before, whatever number of
ranks it has, and whatever cannot be removed beside it. It says what remained."""
import os

from haultest import *

MODEL = {"vocabulary": 1024, "hidden": 128, "feed_forward": 352, "layers": 5, "heads": 8, "kv_heads": 4}


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(top, n), folder) for top, _, names in os.walk(folder) for n in names if n != ".haul-made")


def training(folder, layout):
    checkpoint = {"every_steps": 2, "keep": 2, "model": MODEL, "mesh": {"zero": 3}, "chunk": "64 KiB", "buffers": "512 KiB",
                  "framing": "raw", "layout": layout}
    return {"seed": 7, "stores": {"d": {"uri": f"file://{folder}/data"}},
            "dataset": {"store": "d", "format": "raw", "files": 24, "sample_bytes": 1000},
            "phases": [{"generate": {}},
                       {"train": {"epochs": 1, "batch": 2, "compute": 0, "null_steps": 0, "checkpoint": checkpoint}}]}


def test_checkpoints_that_a_training_keeps():
    """The first of them are gone: those that are there are listed, not counted up from 0."""
    for layout in ("rank", "layer", "distributed", "shared"):
        with Folder() as folder:
            write_job(folder, training(folder, layout))
            r = mpi(2, "run", "job.json", cwd=folder)
            check(r.rc == 0, f"{r}")
            left = sorted(n for n in os.listdir(f"{folder}/data/checkpoints") if n != ".haul-made")
            check(left == ["000001", "000002"], f"{left}")
            r = alone("clean", "job.json", cwd=folder)
            check(r.rc == 0 and files_below(f"{folder}/data") == [] and not os.path.exists(f"{folder}/data/checkpoints"),
                  f"{layout}: {r}: {files_below(folder + '/data')}")


def test_any_number_of_ranks():
    """Phases that run together on ranks 0 to 5, and a checkpoint that needs 4 ranks, are cleaned by one."""
    with Folder() as folder:
        io = {"operation": "write", "objects": 2, "size": 8192, "block": 4096}
        write_job(folder, {"seed": 7, "stores": {"d": {"uri": f"file://{folder}/data"}}, "cluster": {"tensor": 2},
                           "phases": [{"together": [{"io": {"name": "a", "folder": "a", "ranks": "0-1", **io}},
                                                    {"io": {"name": "b", "folder": "b", "ranks": "2-5", **io}}]},
                                      {"checkpoint": {"model": MODEL, "mesh": {"tensor": 2}, "chunk": "64 KiB",
                                                      "buffers": "512 KiB", "operation": "write", "count": 2}}]})
        r = mpi(6, "run", "job.json", cwd=folder)
        check(r.rc == 0 and len(files_below(f"{folder}/data")) > 12, f"{r}")
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and files_below(f"{folder}/data") == [], f"{r}: {files_below(folder + '/data')}")


def test_what_remains_is_told():
    """A data set without a manifest keeps nothing else from being removed; a foreign file is named."""
    with Folder() as folder:
        made = training(folder, "rank")
        write_job(folder, made)
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        os.unlink(f"{folder}/data/.haul-manifest.json")
        open(f"{folder}/data/checkpoints/notes", "w").close()
        r = alone("clean", "job.json", cwd=folder)
        said = " ".join(r.err.split())
        check(r.rc == 1 and "there is no manifest" in said and "all of it stays; elsewhere " in said, f"{r}")
        check(files_below(f"{folder}/data/checkpoints") == ["notes"], f"{r}")
        made["dataset"]["folder"] = "set"
        write_job(folder, made)
        r = mpi(2, "run", "job.json", "--force", "--only", "generate", cwd=folder)
        check(r.rc == 0, f"{r}")
        r = alone("clean", "job.json", cwd=folder)
        said = " ".join(r.out.split())
        check(r.rc == 0 and 'a folder stays: file://' in said and '/checkpoints/ holds "notes"' in said, f"{r}")


def test_what_was_never_made():
    """Nothing to clean is no failure, whether there is a folder or not; files that are there without a manifest are one."""
    with Folder() as folder:
        job = training(folder, "rank")
        job["dataset"]["folder"] = "set"
        write_job(folder, job)
        for ranks in (1, 2):
            r = mpi(ranks, "clean", "job.json", cwd=folder)
            said = " ".join(r.out.split())
            check(r.rc == 0 and "removed 0 files, 0 B; 1 data set was never made: file://" in said and "/data/set holds nothing" in said,
                  f"{r}")
            check(files_below(folder) == ["job.json"] and not os.path.exists(f"{folder}/data/set"), f"{files_below(folder)}")
            os.makedirs(f"{folder}/data", exist_ok=True)
        os.makedirs(f"{folder}/data/set")
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and os.path.exists(f"{folder}/data/set"), f"haul has not made that folder: {r}")
        open(f"{folder}/data/set/mine", "w").close()
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 1 and "there is no manifest" in " ".join(r.err.split()) and files_below(f"{folder}/data") == ["set/mine"], f"{r}")


def test_leftovers_of_killed_writers():
    """Versions that a run had begun and not published have drawn names, and go; others' files stay."""
    with Folder() as folder:
        write_job(folder, training(folder, "rank"))
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        name = next(n for n in os.listdir(f"{folder}/data") if n.startswith("img"))
        for left in (f"{name}.haul-0123abcd", ".haul-manifest.json.haul-00000001", "checkpoints/000001/.haul-checkpoint.json.haul-1",
                     "checkpoints/000001/.haul-checkpoint.json.haul-deadbeef", "other.haul-0123abcd"):
            open(f"{folder}/data/{left}", "w").close()
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and "removed 3 unfinished files" in r.out, f"{r}")
        check(files_below(f"{folder}/data") == ["checkpoints/000001/.haul-checkpoint.json.haul-1", "other.haul-0123abcd"],
              f"{files_below(folder + '/data')}")


main()
