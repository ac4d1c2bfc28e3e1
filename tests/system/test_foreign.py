# SPDX-License-Identifier: Apache-2.0
"""What haul may write over: nothing, or a regular file of its kind. Links, devices, pipes and files of others are refused before
anything is done, and stay as they are; names of files that are not whole yet cannot be foreseen. A results file has one owner."""
import stat

from haultest import *

JOB = {"seed": 7, "stores": {"d": {"uri": "mem://d"}},
       "phases": [{"io": {"name": "write", "operation": "write", "objects": 4, "size": 8192, "block": 4096}}]}
# Options that name a file to write, and the file.
WRITERS = {"results": ["run", "job.json", "--force", "--results"],
           "op log": ["run", "job.json", "--force", "--op-log"],
           "live": ["run", "job.json", "--force", "--live"],
           "trace": ["run", "kv.json", "--force", "--io-trace-log"],
           "page": ["report", "good.h5", "--html"],
           "plan": ["plan", "job.json", "--html"]}
KVCACHE = {"seed": 7, "stores": {"s": {"uri": "mem://kv"}},
           "phases": [{"kvcache": {"model": "llama3.1-8b", "users": 1, "requests": 2, "tiers": [{"store": "s", "capacity": "1 GiB"}]}}]}


def prepared(folder):
    write_job(folder, JOB)
    write_job(folder, KVCACHE, "kv.json")
    r = alone("run", "job.json", "--results", "good.h5", cwd=folder)
    check(r.rc == 0, f"{r}")


def shape(path):
    """What a path is, and what it holds."""
    st = os.lstat(path)
    return stat.S_IFMT(st.st_mode), st.st_ino, st.st_rdev, open(path).read() if stat.S_ISREG(st.st_mode) else ""


def test_foreign_things_stay():
    with Folder() as folder:
        prepared(folder)
        victim = f"{folder}/victim"
        with open(victim, "w") as f:
            f.write("mine")
        things = {"link": lambda path: os.symlink(victim, path), "lost link": lambda path: os.symlink(f"{folder}/lost", path),
                  "pipe": os.mkfifo, "folder": os.mkdir}
        if os.geteuid() == 0:
            things["device"] = lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        for what, words in WRITERS.items():
            for kind, make in things.items():
                if what == "live" and kind == "device":
                    continue  # a terminal is one
                path = f"{folder}/out.{kind.replace(' ', '')}.{what.replace(' ', '')}"
                make(path)
                before = shape(path)
                r = alone(*words, path, cwd=folder)
                check(r.rc not in (0, 124) and kind.split()[-1] in r.err.replace("FIFO", "pipe").replace("no program reads", "pipe"),
                      f"{what} to a {kind}: {r}")
                check(shape(path) == before and shape(victim)[3] == "mine", f"{what} to a {kind}: it has changed")
                check(not os.path.exists(f"{folder}/lost"), f"{what} went through a {kind}")


def test_files_of_others_stay():
    """Without --force no file is replaced, and with it a page and live figures replace only their like."""
    with Folder() as folder:
        prepared(folder)
        for what, words in WRITERS.items():
            path = f"{folder}/mine"
            with open(path, "w") as f:
                f.write('{"mine": true}')
            bare = words if what in ("live", "page", "plan") else [w for w in words if w != "--force"]
            r = alone(*bare, path, cwd=folder)
            check(r.rc != 0 and "exists" in r.err and shape(path)[3] == '{"mine": true}', f"{what}: {r}")
        for what in "page", "plan":
            for _ in range(2):
                r = alone(*WRITERS[what], "again.html", cwd=folder)
                check(r.rc == 0, f"{what} over a page of haul: {r}")


def test_links_at_names_of_parts():
    """Names that earlier versions used for files that were not whole, as links to something else: nobody follows them."""
    with Folder() as folder:
        prepared(folder)
        with open(f"{folder}/victim", "w") as f:
            f.write("mine")
        data = {"seed": 7, "stores": {"d": {"uri": f"file://{folder}/data"}},
                "dataset": {"store": "d", "format": "raw", "files": 8, "sample_bytes": 1000}, "phases": [{"generate": {}}]}
        write_job(folder, data, "data.json")
        os.mkdir(f"{folder}/data")
        for name in ("r.h5.part", "r.h5.base", "ops.tsv.part", *(f"data/img_{i}_of_8.raw.haul-part" for i in range(8))):
            os.symlink(f"{folder}/victim", f"{folder}/{name}")
        for words in (["--results", "r.h5"], ["--results", "r.h5", "--force", "--op-log", "ops.tsv"]):
            r = alone("run", "data.json", *words, cwd=folder)
            check(r.rc == 0, f"{r}")
        check(shape(f"{folder}/victim")[3] == "mine", "a link was followed")


def test_one_owner_of_results():
    """Pairs of runs on one results file: the second says who has it, before anything is done, and the first loses nothing. What a
    killed owner leaves hinders nobody."""
    with Folder() as folder:
        write_job(folder, {"seed": 7, "stores": {"d": {"uri": "sim://d"}}, "phases": [
            {"io": {"name": "read", "operation": "read", "objects": 4, "size": "1 MiB", "block": "64 KiB", "passes": 0,
                    "seconds": 1000}}]})
        first = start(2, "run", "job.json", "--results", "r.h5", cwd=folder, start_new_session=True)
        while not os.path.exists(f"{folder}/r.h5") and first.poll() is None:
            time.sleep(0.01)
        r = alone("run", "job.json", "--results", "r.h5", "--force", cwd=folder)
        said = " ".join(r.err.split())
        check(r.rc == 2 and "r.h5 belongs to a run that goes on: host " in said and ", process " in said, f"{r}")
        kill_run(first, folder)
        check(os.path.exists(f"{folder}/r.h5.owner"), "the killed run left no lock file")
        write_job(folder, JOB)
        r = alone("run", "job.json", "--results", "r.h5", "--force", cwd=folder)
        check(r.rc == 0 and report(f"{folder}/r.h5")["status"] == "done" and not parts_beside(f"{folder}/r.h5"), f"{r}")


def foreign_at(path, what, victim):
    """Puts something that haul did not make at the path. Returns what must stand there afterwards."""
    if what == "hard link":
        os.link(victim, path)
    elif what == "hard link to an old lock":
        with open(path + ".elsewhere", "w") as f:
            f.write("host n07, process 4711, since 2026-03-01 10:00:00 UTC\n")
        os.link(path + ".elsewhere", path)
    elif what == "link":
        os.symlink(victim, path)
    elif what == "dangling link":
        os.symlink(victim + ".none", path)
    elif what == "folder":
        os.mkdir(path)
    elif what == "FIFO":
        os.mkfifo(path)
    elif what == "empty file":
        open(path, "w").close()
    else:
        with open(path, "w") as f:
            f.write("host of the party\n")
    return shape(path)


def test_locks_write_through_no_name_that_exists():
    """At each name of a lock each kind of thing that haul did not make: it is refused by name, stays as it was, and nothing is made."""
    kinds = ("hard link", "hard link to an old lock", "link", "dangling link", "folder", "FIFO", "empty file", "file")
    with Folder() as folder:
        write_job(folder, {**JOB, "stores": {"d": {"uri": f"file://{folder}/data"}},
                           "dataset": {"store": "d", "format": "raw", "files": 2, "sample_bytes": 1000}, "phases": [{"generate": {}}]})
        with open(f"{folder}/victim", "w") as f:
            f.write("mine")
        os.mkdir(f"{folder}/data")
        for lock in ("r.h5.owner", "data/.haul-owner"):
            for what in kinds:
                path = f"{folder}/{lock}"
                before = foreign_at(path, what, f"{folder}/victim")
                r = alone("run", "job.json", "--results", "r.h5", cwd=folder)
                check(r.rc != 0 and lock in r.err, f"{lock}, {what}: {r}")
                check(shape(path) == before and shape(f"{folder}/victim")[3] == "mine", f"{lock}, {what}: {shape(path)} was {before}")
                check(not os.path.exists(f"{folder}/victim.none"), f"{lock}, {what}: a file was made through a link")
                os.rmdir(path) if what == "folder" else os.unlink(path)
                for left in (path + ".elsewhere", f"{folder}/r.h5"):
                    if os.path.exists(left):
                        os.unlink(left)
        r = alone("run", "job.json", "--results", "r.h5", cwd=folder)
        check(r.rc == 0 and not os.path.exists(f"{folder}/data/.haul-owner"), f"{r}")


def test_pairs_that_begin_at_once():
    """Both write one file: each pair leaves one whole run, and the other was refused."""
    with Folder() as folder:
        write_job(folder, {**JOB, "stores": {"d": {"uri": f"file://{folder}/data"}}})
        for pair in range(4):
            force = ["--force"] if pair % 2 else []
            began = time.monotonic()
            both = [start(1, "run", "job.json", "--results", f"{pair}.h5", "--set", f"write.folder=f{pair}{k}", *force, cwd=folder)
                    for k in range(2)]
            ended = [finish(p, began) for p in both]
            check(all(r.rc in (0, 2) for r in ended) and any(r.rc == 0 for r in ended), f"{ended}")
            check(all("belongs to a run that goes on" in r.err or "exists" in r.err for r in ended if r.rc), f"{ended}")
            check(report(f"{folder}/{pair}.h5")["status"] == "done" and not parts_beside(f"{folder}/{pair}.h5"), f"{ended}")


main()
