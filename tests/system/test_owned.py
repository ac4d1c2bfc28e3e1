# SPDX-License-Identifier: Apache-2.0
"""What haul owns in a place: everything that a run makes is known as haul's from the moment that it has its name. So `haul clean`
leaves nothing, folders that haul made included, whenever the run was killed, and the next run begins; what others have made stays as
it is, whatever it is and wherever it stands.

Arguments: the library that fails or kills a call (tests/preload_call_faults.c), then names of tests."""
import stat

from haultest import *

FAULTS = sys.argv.pop(1)
MODEL = {"vocabulary": 64, "hidden": 32, "feed_forward": 96, "layers": 4, "heads": 4, "kv_heads": 2}
TRACE = f"{SOURCE}/tests/fixtures/traces/tiny-1b_2_users_40s.csv.zst"
CHECKPOINT = {"model": MODEL, "count": 2, "chunk": "64 KiB", "buffers": "512 KiB", "folder": "p/c/k", "operation": "write"}
VECTOR = {"vectors": 3000, "dimension": 24, "degree": 16, "segments": 2, "folder": "p/v/w"}
KINDS = {
    "generate": [{"generate": {}}],
    "io": [{"io": {"operation": "write", "objects": 3, "size": 8192, "block": 4096, "folder": "p/io", "folder_per_rank": True}}],
    "shared": [{"io": {"operation": "write", "layout": "segmented", "size": 8192, "block": 4096, "folder": "p/shared"}}],
    "checkpoint": [{"checkpoint": CHECKPOINT}],
    "together": [{"checkpoint": {**CHECKPOINT, "layout": "shared", "framing": "raw"}}],
    "kvcache": [{"kvcache": {"model": {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}, "users": 4, "requests": 20,
                             "folder": "p/q/kv", "tiers": [{"kind": "cpu", "capacity": "1 MiB"}, {"store": "d", "capacity": "16 MiB"}]}}],
    "replay": [{"replay": {"store": "d", "trace": TRACE, "size_scale": 0.00001, "speed": 0, "folder": "p/r/s"}}],
    "vector": [{"vector": {**VECTOR, "operation": "build"}},
               {"vector": {**VECTOR, "operation": "search", "list": 30, "count": 0, "inserts": 800, "deletes": 500, "merge_at": 65,
                           "merges": 1, "rate": 300, "spread": "segments"}}],
}
KEPT = ("generate", "io", "shared", "checkpoint", "together", "vector")  # the others leave nothing


def job_of(kind, folder):
    data = {"dataset": {"store": "d", "format": "raw", "files": 8, "sample_bytes": 1000, "folder": "p/g/h", "subfolders": 2}}
    return {"seed": 7, "stores": {"d": {"uri": f"file://{folder}/a/b/data"}}, **(data if kind == "generate" else {}),
            "phases": KINDS[kind]}


def tree(folder):
    """All paths below a folder but those of a run itself."""
    return sorted(os.path.relpath(os.path.join(top, name), folder) + "/" * (name in folders)
                  for top, folders, files in os.walk(folder) for name in folders + files
                  if os.path.join(top, name)[len(folder) + 1:].split(".")[0] not in ("job", "results", "victim", "steps"))


def test_folders_that_haul_made():
    """They go with what is in them, above the store and within it; folders of others stay, empty ones, too."""
    for kind in KINDS:
        for theirs in (), ("a",), ("a/b/data/p",), ("a/b/data/p/io", "a/b/data/p/c/k", "a/b/data/p/g"):
            if theirs and kind not in ("io", "checkpoint", "generate"):
                continue
            with Folder() as folder:
                for each in theirs:
                    os.makedirs(f"{folder}/{each}")
                before = tree(folder)
                write_job(folder, job_of(kind, folder))
                r = mpi(2, "run", "job.json", cwd=folder)
                check(r.rc == 0, f"{kind}: {r}")
                check((tree(folder) != before) == (kind in KEPT), f"{kind} left {tree(folder)}")
                r = alone("clean", "job.json", cwd=folder)
                check(r.rc == 0 and tree(folder) == before, f"{kind} beside {theirs}: {r}: {tree(folder)}")


@matrix
def test_killed_at_any_step():
    """At a drawn step of those that change files: nothing is left after `clean`, and the next run begins."""
    for kind in KINDS:
        with Folder() as folder:
            env = {"LD_PRELOAD": FAULTS, "HAUL_FAULT_PATH": f"{folder}/a", "HAUL_FAULT_LOG": f"{folder}/steps"}
            write_job(folder, job_of(kind, folder))
            r = mpi(2, "run", "job.json", cwd=folder, env=env)
            check(r.rc == 0, f"{kind}: {r}")
            steps = sum(line.startswith("0 ") for line in open(f"{folder}/steps"))
            check(steps > 5, f"{kind}: {steps} steps of rank 0")
        first = [0, 1, 2, 3, 4, 5] if FULL else [random.randrange(6)]
        for step in first + [random.randrange(steps) for _ in range(12 if FULL else 2)]:
            with Folder() as folder:
                write_job(folder, job_of(kind, folder))
                env = {"LD_PRELOAD": FAULTS, "HAUL_FAULT_PATH": f"{folder}/a", "HAUL_FAULT": f"step:{step}:kill", "HAUL_FAULT_RANK": "0"}
                mpi(2, "run", "job.json", "--grace", "1 s", cwd=folder, env=env)
                left = tree(folder)
                if random.random() < 0.5 and kind not in ("kvcache", "replay"):
                    r = mpi(2, "run", "job.json", "--force", cwd=folder)
                    check(r.rc == 0, f"{kind} killed at step {step} with {left}, the next run: {r}")
                r = alone("clean", "job.json", cwd=folder)
                check(r.rc == 0 and tree(folder) == [], f"{kind} killed at step {step} with {left}: {r}: {tree(folder)}")


@matrix
def test_clean_killed_at_any_step():
    """Of those by which `clean` removes what a run has made: the next one leaves nothing."""
    for kind in KEPT if FULL else random.sample(KEPT, 1):
        with Folder() as folder:
            def cleaned(**env):
                write_job(folder, job_of(kind, folder))
                r = mpi(2, "run", "job.json", "--force", cwd=folder)
                check(r.rc == 0, f"{kind}: {r}")
                mpi(1, "clean", "job.json", cwd=folder, env={"LD_PRELOAD": FAULTS, "HAUL_FAULT_PATH": f"{folder}/a", **env})
                return tree(folder)
            check(cleaned(HAUL_FAULT_LOG=f"{folder}/steps") == [], f"{kind}: {tree(folder)}")
            steps = list(open(f"{folder}/steps"))
            # At the end the folders go, each in a few steps.
            for step in [random.randrange(len(steps)) for _ in range(4)] + list(range(len(steps)))[-12 if FULL else -3:]:
                left = cleaned(HAUL_FAULT=f"step:{step + 1}:kill")
                r = alone("clean", "job.json", cwd=folder)
                check(r.rc == 0 and tree(folder) == [], f"{kind}: clean killed before {steps[step]} with {left}: {r}: {tree(folder)}")


def shape(path):
    """What a path is, and what it holds."""
    st = os.lstat(path)
    return stat.S_IFMT(st.st_mode), st.st_ino, st.st_nlink, open(path).read() if stat.S_ISREG(st.st_mode) else \
        os.readlink(path) if stat.S_ISLNK(st.st_mode) else ""


def put(path, what, folder):
    """Puts something that haul did not make in the place of what is there. Returns the paths that must stay as they are."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    victim = f"{folder}/victim"
    with open(victim, "w") as f:
        f.write("mine" * 500)
    if what == "hard link":
        os.link(victim, path)
    elif what == "link":
        os.symlink(victim, path)
    elif what == "dangling link":
        os.symlink(f"{victim}.none", path)
    elif what == "loop":
        os.symlink(path, path)
    elif what == "folder":
        os.mkdir(path)
        open(f"{path}/mine", "w").close()
        return [path, f"{path}/mine", victim]
    elif what == "FIFO":
        os.mkfifo(path)
    else:
        with open(path, "w") as f:
            f.write("mine")
    return [path, victim]


@matrix
def test_things_of_others():
    """At a drawn name that haul uses, before its first run there or in the place of what it has made: a run and `clean` leave all of it
    as it is, whatever else they do. As root, and as a user."""
    things = ("hard link", "link", "dangling link", "loop", "folder", "FIFO", "file")
    names = {}
    for kind in KINDS:
        with Folder() as folder:
            write_job(folder, job_of(kind, folder))
            env = {"LD_PRELOAD": FAULTS, "HAUL_FAULT_PATH": f"{folder}/a", "HAUL_FAULT_LOG": f"{folder}/steps"}
            r = mpi(2, "run", "job.json", cwd=folder, env=env)
            check(r.rc == 0, f"{kind}: {r}")
            made = {line.split(" ", 3)[3].strip() for line in open(f"{folder}/steps")}
            names[kind] = sorted({os.path.relpath(name, folder) for name in made
                                  if name.startswith(f"{folder}/a/") and not re.search(r"\.haul-[0-9a-f]{8}", name)})
    for i in range(60 if FULL else 10):
        kind, what = random.choice(list(KINDS)), random.choice(things)
        # In a place that is haul's by its record, a file of one name under the name of one of haul's is taken for that.
        name, after = random.choice(names[kind]), what != "file" and random.random() < 0.5
        user = os.geteuid() == 0 and i % 2
        who = {"user": 65534, "group": 65534, "extra_groups": []} if user else {}
        with Folder() as folder:
            write_job(folder, job_of(kind, folder))
            if after:
                r = mpi(2, "run", "job.json", cwd=folder)
                check(r.rc == 0, f"{r}")
            path = f"{folder}/{name}"
            stays = put(path, what, folder)
            if user:
                for top, folders, files in os.walk(folder):
                    for each in [top] + [os.path.join(top, n) for n in folders + files]:
                        os.chown(each, 65534, 65534, follow_symlinks=False)
            before = {p: shape(p) for p in stays}
            said = []
            for ranks, words in (2, ("run", "job.json", "--force", "--grace", "1 s")), (1, ("clean", "job.json")):
                process = start(ranks, *words, cwd=folder, env={"HOME": folder}, **who)
                said.append(finish(process, time.monotonic()))
            case = f"{i}: a {what} at {name} {'after' if after else 'before'} a run of {kind}{' as a user' if user else ''}"
            for p in stays:
                check(os.path.lexists(p), f"{case}: {p} is gone: {said}")
                check(shape(p) == before[p], f"{case}: {p} was {before[p]}, is {shape(p)}: {said}")
            check(not os.path.lexists(f"{folder}/victim.none"), f"{case}: something came through the link")
            check(all(r.rc in (0, 1, 2, 9) for r in said), f"{case}: {said}")  # 9: the launcher was faster


def test_what_cannot_be_removed():
    """It is named, each of it, and all else goes."""
    who = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    with Folder() as folder:
        job = job_of("generate", folder)
        job["phases"] = [*KINDS["generate"], *KINDS["io"], *KINDS["checkpoint"]]
        write_job(folder, job)
        if who:
            os.chown(folder, 65534, 65534)
        process = start(2, "run", "job.json", cwd=folder, env={"HOME": folder}, **who)
        r = finish(process, time.monotonic())
        check(r.rc == 0, f"{r}")
        hard = [f"{folder}/a/b/data/p/g/h/0", f"{folder}/a/b/data/p/io/0000001"]
        hard = [h for h in hard if os.path.isdir(h)] or [os.path.dirname(p) for p in glob.glob(f"{folder}/a/b/data/p/g/h/*/*")][:1]
        for each in hard:
            os.chmod(each, 0o555)
        r = finish(start(1, "clean", "job.json", cwd=folder, env={"HOME": folder}, **who), time.monotonic())
        said = " ".join(r.err.split())
        check(r.rc == 1 and "could not be removed" in said and "elsewhere" in said, f"{r}")
        for each in hard:
            check(f"not removed: file://{each}/" in said, f"{each}: {r}")
        check(not os.path.exists(f"{folder}/a/b/data/p/c") and not os.path.exists(f"{folder}/a/b/data/p/io/0000000"), f"{tree(folder)}")
        for each in hard:
            os.chmod(each, 0o755)
        r = finish(start(1, "clean", "job.json", cwd=folder, env={"HOME": folder}, **who), time.monotonic())
        check(r.rc == 0 and tree(folder) == [], f"{r}: {tree(folder)}")


main()
