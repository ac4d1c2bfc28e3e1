# SPDX-License-Identifier: Apache-2.0
"""Two runs at once on one data set, checkpoint folder, tier or traced store: the second waits and finds it made, or says who has it. Nothing
is lost, and a run that was killed keeps nobody out."""
import hashlib
import random

from haultest import *

MODEL = {"vocabulary": 1024, "hidden": 128, "feed_forward": 352, "layers": 5, "heads": 8, "kv_heads": 4}


def store(folder):
    return {"d": {"uri": f"file://{folder}/data"}}


def dataset(folder, files=300, **more):
    return {"seed": 7, "stores": store(folder), "phases": [{"generate": {}}],
            "dataset": {"store": "d", "format": "npz", "files": files, "sample_bytes": 40000, **more}}


def checkpoint(folder):
    return {"seed": 7, "stores": store(folder), "phases": [{"checkpoint": {
        "model": MODEL, "mesh": {"zero": 3}, "chunk": "64 KiB", "buffers": "512 KiB", "framing": "raw", "count": 40, "operation": "write"}}]}


def kvcache(folder):
    return {"seed": 7, "stores": store(folder), "phases": [{"kvcache": {
        "model": "llama3.1-8b", "users": 2, "requests": 0, "duration": "1 s", "tiers": [{"store": "d", "capacity": "1 GiB"}]}}]}


def tree(folder):
    return {n: hashlib.sha256(open(os.path.join(at, n), "rb").read()).hexdigest()
            for at, _, names in os.walk(folder) for n in names}


def set_in(folder):
    """The data set, without the record of the run that made its folder, which no two runs share."""
    found = tree(folder)
    check(found.pop(".haul-made", None), f"no record of who made {folder}")
    return found


def pair(folder, apart_s):
    began = time.monotonic()
    first = start(1, "run", "job.json", "--results", "a.h5", "--force", cwd=folder)
    time.sleep(apart_s)
    second = start(1, "run", "job.json", "--results", "b.h5", "--force", cwd=folder)
    return finish(first, began), finish(second, began)


def test_one_data_set():
    """Both are done, with one whole set, whichever came first."""
    with Folder() as folder, Folder() as whole:
        write_job(whole, dataset(whole))
        check(alone("run", "job.json", cwd=whole).rc == 0, "alone")
        wanted = set_in(f"{whole}/data")
        write_job(folder, dataset(folder))
        for _ in range(2):
            ended = pair(folder, random.choice((0, 0.02, 0.1)))
            check(all(r.rc == 0 for r in ended), f"{ended}")
            check(set_in(f"{folder}/data") == wanted, "the set is not that of one run")
            made = sum("made 300 files" in r.out + r.err for r in ended)
            found = sum("300 of 300 files were whole already" in r.out + r.err for r in ended)
            check((made, found) == (1, 1), f"{ended}")
            shutil.rmtree(f"{folder}/data")


def test_one_folder_of_checkpoints_or_tiers():
    """One has it, and the other is refused with who has it; what the first wrote is whole."""
    with Folder() as folder:
        for made in checkpoint, kvcache:
            write_job(folder, made(folder))
            for _ in range(2):
                ended = pair(folder, random.choice((0, 0.02, 0.1)))
                what = f"{made.__name__}: {ended}"
                check(sorted(r.rc for r in ended) in ([0, 1], [0, 0]), what)
                for r in ended:
                    said = " ".join(r.err.split())
                    check(r.rc == 0 or "another run writes there: host " in said and ", process " in said, what)
                r = alone("clean", "job.json", cwd=folder)
                check(r.rc == 0 and tree(f"{folder}/data") == {}, f"{what}: {r}: {tree(folder + '/data')}")


def test_clean_beside_a_run():
    """A folder is not cleaned while a run writes there; one of a run that was killed is."""
    with Folder() as folder:
        write_job(folder, dataset(folder, files=20000))
        p = start(2, "generate", "job.json", cwd=folder, start_new_session=True)
        while p.poll() is None and not os.path.exists(f"{folder}/data/.haul-manifest.json"):
            time.sleep(0.01)
        check(p.poll() is None, "the run has ended")
        signal_ranks(ranks_in(folder), signal.SIGSTOP)  # so that it does not end before the other run looks
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 1 and "another run writes there: host " in " ".join(r.err.split()), f"{r}")
        kill_run(p, folder)
        check(os.path.exists(f"{folder}/data/.haul-owner"), "the killed run left no lock file")
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and tree(f"{folder}/data") == {}, f"{r}: {list(tree(folder + '/data'))[:9]}")


def test_waiting_ends_when_told_to():
    """A run that waits for another one's data set ends at a signal and at its deadline."""
    with Folder() as folder:
        write_job(folder, dataset(folder, files=100000))
        p = start(1, "generate", "job.json", cwd=folder, start_new_session=True)
        while p.poll() is None and not os.path.exists(f"{folder}/data/.haul-manifest.json"):
            time.sleep(0.01)
        signal_ranks(ranks_in(folder), signal.SIGSTOP)
        r = alone("run", "job.json", "--deadline", "1 s", "--grace", "60 s", cwd=folder)
        check(p.poll() is None, f"the first run has ended: {r}")
        check("waiting: file://" in r.err and report(f"{folder}/results.h5")["status"] == "interrupted"
              if os.path.exists(f"{folder}/results.h5") else r.rc != 0, f"{r}")
        second = start(1, "run", "job.json", "--force", "--grace", "60 s", cwd=folder)
        check(any("waiting: file://" in line for line in second.stderr), "the second run does not wait")
        second.terminate()
        finish(second, time.monotonic())
        kill_run(p, folder)


def results(folder):
    """What both runs write has a place of its own, but the results file is one."""
    return {"seed": 7, "stores": store(folder), "phases": [{"io": {
        "name": "write", "operation": "write", "store": "d", "objects": 40, "size": "16 KiB", "block": "16 KiB"}}]}


def one_of_each(folder, made, whole):
    """A pair that was drawn: how far apart, with how many ranks each. Nothing is lost, and the second waits or says who has it."""
    name, ranks, apart_s = made.__name__, [random.randint(1, 3) for _ in range(2)], random.choice((0, 0, random.uniform(0, 0.4)))
    write_job(folder, made(folder))
    began, both = time.monotonic(), []
    for k in range(2):
        options = (["--results", "r.h5", "--set", f"write.folder=io{k}"] if made is results else ["--results", f"{k}.h5"])
        both.append(start(ranks[k], "run", "job.json", "--force", *options, cwd=folder))
        time.sleep(apart_s)
    ended = [finish(p, began) for p in both]
    what = f"{name}, {ranks} ranks, {apart_s:.2f} s apart: {ended}"
    said = [" ".join(r.err.split()) for r in ended]
    who = [": host " in s and ", process " in s for s in said]
    if made is dataset:
        check(all(r.rc == 0 for r in ended) and set_in(f"{folder}/data") == whole, what)
        check(sorted(("made 300 files" in r.out + r.err, "300 of 300 files were whole already" in r.out + r.err) for r in ended)
              == [(False, True), (True, False)], what)
    else:
        # Both are done where the first had ended before the second began, unless its checkpoints are those of another number of ranks.
        other = [made is checkpoint and ranks[0] != ranks[1] and "a checkpoint of another model, mesh or layout is there" in s for s in said]
        check(any(r.rc == 0 for r in ended) and all(r.rc == 0 or w or o for r, w, o in zip(ended, who, other, strict=True)), what)
    for k in range(2):
        path = f"{folder}/r.h5" if made is results else f"{folder}/{k}.h5"
        if ended[k].rc == 0 or made is results:
            found = report(path)
            check(found["status"] == "done" and all(p["status"] in ("done", "limit") for p in found["phases"]), f"{what}: {found}")
    if made is not results:
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and tree(f"{folder}/data") == {}, f"{what}: {r}: {tree(folder + '/data')}")
    return sum(r.rc != 0 for r in ended)


@matrix
def test_drawn_pairs():
    """Pairs on one data set, one folder of checkpoints, one tier, one results file, in turn."""
    with Folder() as whole:
        write_job(whole, dataset(whole))
        check(alone("run", "job.json", cwd=whole).rc == 0, "alone")
        wanted, refused = set_in(f"{whole}/data"), 0
        for i in some(range(50), 13):
            with Folder() as folder:
                refused += one_of_each(folder, (dataset, checkpoint, kvcache, results)[i % 4], wanted)
        print(f"{refused} were told who has it")


if __name__ == "__main__":
    main()
