# SPDX-License-Identifier: Apache-2.0
"""Job scripts under a real Slurm with four virtual nodes: complete runs, signals, time limits, requeues, nodes that fail,
the scaling series, and ways to the storage.

test_slurm.py LIBRARY PRELOAD: the test library in place of libdfs, and the preload that does as libpil4dfs."""
import contextlib
import glob
import json
import os
import random
import re
import sys
import tempfile
import time

import h5py

from haultest import HANGS_S, HAUL, SOURCE, Folder, check, long, main, report, write_job

sys.path.insert(0, os.path.join(SOURCE, "tests", "servers"))
import slurm  # noqa: E402

LIBRARY, PRELOAD = sys.argv.pop(1), sys.argv.pop(1)
SMALL, LARGE, SCALING = (os.path.join(SOURCE, "slurm", f"unet3d_{name}.sh") for name in ("small", "512nodes", "scaling"))

# Replaces USR1 before the time limit by a signal without an effect.
NO_SIGNAL = "--signal=B:CONT@1"
ENDLESS = 100000  # epochs


def job(**train):
    return {
        "name": "tiny", "seed": 5, "cluster": {"ranks_per_node": 12}, "stores": {"data": {"uri": "file://${HAUL_DATA}/tiny"}},
        "dataset": {"store": "data", "format": "npz", "files": 4, "sample_bytes": "16 KiB"},
        "phases": [{"generate": {}}, {"train": {"batch": 2, "compute": "5 ms", "null_steps": 0, **train}}],
    }


class Site(Folder):
    """A folder with a job, its data and results, and the settings for the scripts. Of several trainings, the last one is over
    only when something ends it; so is the training of the run that endless names by the end of its results file."""

    def __init__(self, trainings=1, endless=None, **train):
        super().__init__()
        self.haul = HAUL
        if endless:
            self.haul = self.path + "/haul"
            with open(os.open(self.haul, os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as f:
                f.write(f'#!/bin/sh\ncase "$*" in *{endless}*) set -- "$@" --set train.epochs={ENDLESS};; esac\nexec {HAUL} "$@"\n')
        said = job(**train)
        said["phases"] += [{"train": {**said["phases"][1]["train"], "name": f"more{i}"}} for i in range(1, trainings)]
        if trainings > 1:
            said["phases"][-1]["train"]["epochs"] = ENDLESS
        write_job(self.path, said, "tiny.json")

    def __enter__(self):
        return self

    def env(self, **more):
        return {"HAUL": self.haul, "HAUL_DATA": self.path + "/data", "JOB": self.path + "/tiny.json",
                "RANKS_PER_NODE": "2", "STEPS": "10", "RESERVE": "5", "CHECK_SECONDS": "120",
                "RESULTS_DIR": self.path + "/results", **more}

    def submit(self, script, *options, **more):
        self.job = CLUSTER.sbatch("--output=" + self.path + "/log", *options, script, env=self.env(**more), cwd=self.path)
        return self.job

    def log(self):
        try:
            with open(self.path + "/log", encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return CLUSTER.call("squeue", "--long").stdout

    def ended(self, status, seconds=HANGS_S):
        """Waits for the job, and checks the exit status of its script."""
        said = CLUSTER.wait(self.job, seconds)
        check(said["ExitCode"] == f"{status}:0", f"the job ended with {said['ExitCode']}, not {status}:\n{self.log()}")

    def until(self, holds, what, seconds=HANGS_S):
        deadline = time.monotonic() + seconds
        while not holds():
            check(time.monotonic() < deadline, f"{what}: did not happen within {seconds} s\n{self.log()}")
            time.sleep(0.1)

    def trains(self):
        """Waits until the job's first phase is published, so that its training runs."""
        self.until(lambda: phases(self.results()), "the first phase")

    def results(self, more=""):
        return f"{self.path}/results/tiny.{self.job}{more}.h5"

    def begun(self, more):
        """Whether the run with these results has begun."""
        return os.path.exists(self.results(more)) or bool(glob.glob(self.results(more) + ".part-*"))


def phases(path):
    """(kind, status) of each phase published so far; an empty list if there is no file."""
    try:
        with h5py.File(path) as f:
            return [(text(p.attrs["kind"]), text(p.attrs["status"])) for p in f["phases"].values()]
    except (OSError, KeyError):
        return []


def ranks_of(job):
    """The ranks of a job of Slurm's."""
    return [pid for pid, _ in CLUSTER.ours(f"SLURM_JOB_ID={job}") if program_of(pid) == os.path.realpath(HAUL)]


def program_of(pid):
    try:
        return os.path.realpath(f"/proc/{pid}/exe")
    except OSError:
        return None


def rows(site):
    """(number of nodes, exit status) of each row in the table of a series."""
    with open(f"{site.path}/results/tiny.{site.job}.tsv", encoding="utf-8") as f:
        return [(words[0], words[2]) for words in map(str.split, f.readlines()[1:])]


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def test_check():
    """The word check, for a login node, submits nothing, and reports each mistake by one sentence."""
    with Site() as site:
        def tried(script=SMALL, **more):
            done = CLUSTER.call(script, "check", env=site.env(**more), cwd=site.path)
            return done.returncode, done.stdout
        rc, out = tried(NODES="2")
        check(rc == 0 and "nothing is wrong" in out and "ranks      4 on 2 nodes" in out, f"{rc} {out}")
        for wrong, says in (({"HAUL": site.path + "/huul"}, f"HAUL: there is no program {site.path}/huul"),
                            ({"HAUL_DATA": ""}, "HAUL_DATA: set it to the folder for the data set"),
                            ({"JOB": "tiny"}, "haul plan tiny failed"),
                            ({"RANKS_PER_NODE": "x"}, 'RANKS_PER_NODE: "x" is not a whole number'),
                            ({"SETUP": site.path + "/none"}, f"SETUP: there is no file {site.path}/none"),
                            ({"RESULTS_DIR": site.path + "/tiny.json/none"}, f"RESULTS_DIR: {site.path}/tiny.json is not a folder"),
                            ({"HAUL_ROOT": site.path}, f"{site.path} is not haul's folder")):
            rc, out = tried(**wrong)
            check(rc == 2 and out.count(says) == 1, f"{wrong}: {rc} {out}")
        rc, out = tried(LARGE, SBATCH_PARTITION="low")
        check(rc == 2 and "Requested node configuration is not available" in out, f"{rc} {out}")
        check(CLUSTER.ask("squeue", "--noheader") == "" and not os.path.exists(site.path + "/results"),
              "check submitted a job or made a folder")


def test_small():
    """The small script runs to its end, with another number of ranks per node than the job's. The log has the plan and the
    nodes."""
    with Site() as site:
        site.submit(SMALL, "--nodes=2")
        site.ended(0)
        said = report(site.results())
        check([p["status"] for p in said["phases"]] == ["done", "done"], f"{said}")
        with h5py.File(site.results()) as f:
            check(len(f["ranks"]) == 4, f"{f['ranks'][:]}")
        log = site.log()
        for line in (r"data set   80 files", r"ranks      4 on 2 nodes", r"^HAUL_DATA +" + site.path, r"^\$ df -PT",
                     r"2 nodes, 4 ranks; results: ", r"haul's exit status: 0"):
            check(re.search(line, log, re.M), f"{line}: {log}")
        check(not glob.glob(site.path + "/results/hosts*"), "the list of nodes is left")


def test_threads_of_cores():
    """A job with one thread of each core is bound to each of them once: Slurm then counts cores, and the node says that it has two
    threads of each."""
    with Site() as site:
        site.submit(SMALL, "--nodes=1", "--ntasks-per-node=6", "--threads-per-core=1", RANKS_PER_NODE="6")
        site.ended(0)
        check("are not bound" not in site.log(), site.log())
        with h5py.File(site.results()) as f:
            check(len(f["ranks"]) == 6, f"{f['ranks'][:]}")


def test_signals():
    """After USR1, as Slurm sends it before the time limit, and after scancel, the results so far are written, and the status
    is not 0."""
    with Site(epochs=10000) as told, Site(epochs=10000) as cancelled:
        for site in (told, cancelled):
            site.submit(SMALL, "--nodes=2")
        for site in (told, cancelled):
            site.trains()
        CLUSTER.ask("scancel", "--batch", "--signal=USR1", told.job)
        CLUSTER.ask("scancel", cancelled.job)
        told.ended(4)
        CLUSTER.wait(cancelled.job)
        for site in (told, cancelled):
            site.until(lambda: len(phases(site.results())) == 2, "results of both phases")
            check(phases(site.results()) == [("generate", "done"), ("train", "interrupted")], f"{phases(site.results())}")
        check("stopped by a signal" in told.log(), told.log())


def test_failing_node():
    """A node that dies before the run is left out, and the log has its name and the reason. The set-up file waits until the
    node is dead."""
    with Site() as site:
        with open(site.path + "/wait.sh", "w", encoding="utf-8") as f:
            f.write(f": >{site.path}/here\nuntil [ -e {site.path}/dead ]; do sleep 0.1; done\n")
        site.submit(SMALL, "--nodes=4", "--no-kill", NODES="3", SETUP=site.path + "/wait.sh")
        site.until(lambda: os.path.exists(site.path + "/here"), "the set-up file")
        CLUSTER.fail(3)
        with open(site.path + "/dead", "w", encoding="utf-8"):
            pass
        try:
            site.ended(0)
            check(re.search(r"left out: n3: .*(connection|answer|not available)", site.log(), re.I), site.log())
            with h5py.File(site.results()) as f:
                check(len(f["ranks"]) == 6, f"{f['ranks'][:]}")
        finally:
            CLUSTER.revive(3)


@long
def test_requeue():
    """A requeued job keeps its number, and both of its runs have results files."""
    with Site(epochs=10000) as site:
        site.submit(SMALL, "--nodes=2")
        site.trains()
        CLUSTER.ask("scontrol", "requeue", site.job)
        site.until(lambda: len(phases(site.results())) == 2, "the results of the first run")
        check(phases(site.results())[1] == ("train", "interrupted"), f"{phases(site.results())}")
        site.until(lambda: phases(site.results(".1")), "the second run", 150)
        CLUSTER.ask("scancel", "--batch", "--signal=USR1", site.job)
        site.ended(4)
        check(phases(site.results(".1"))[-1] == ("train", "interrupted"), f"{phases(site.results('.1'))}")


# Trainings of a run that loses a rank, each of ten steps of 5 ms.
TRAININGS = 24


def published(path):
    """The phases published so far, each with its status and its number of ranks; none while there is no file."""
    try:
        with h5py.File(path) as f:
            return {name: (text(p.attrs["status"]), len(p["ranks"])) for name, p in f["phases"].items()}
    except (OSError, KeyError):
        return {}


def lose_rank(site, after):
    """Kills one rank of a run a moment after so many phases are published. The phases that were there before."""
    site.until(lambda: len(published(site.results())) >= after and len(ranks_of(site.job)) == 4, f"{after} phases")
    time.sleep(random.uniform(0, 0.3))
    before, ranks = published(site.results()), ranks_of(site.job)
    check(len(ranks) == 4 and len(before) < 1 + TRAININGS, f"the run is over before a rank was killed\n{site.log()}")
    CLUSTER.kill(random.choice(ranks))
    return before


def ended_in_order(site, before):
    """Slurm has ended the run that lost a rank: all ranks are gone, the status tells of the signal, and the results open with
    each phase that had been published."""
    said = CLUSTER.wait(site.job)
    check(said["ExitCode"] == "137:0", f"{said}\n{site.log()}")  # 128 + 9
    site.until(lambda: not ranks_of(site.job), "the end of all ranks")
    kept = published(site.results())
    print(f"      killed after {len(before)} phases, {len(kept)} kept", flush=True)
    check(before.items() <= kept.items() and all(p == ("done", 4) for p in kept.values()), f"{before}, then {kept}")
    if kept:
        check(len(report(site.results())["phases"]) == len(kept), f"{kept}")


def lose_ranks(*after):
    """Runs side by side, each on two nodes, that lose a rank after so many phases, the least first."""
    with contextlib.ExitStack() as stack:
        sites = [stack.enter_context(Site(trainings=TRAININGS)) for _ in after]
        for site in sites:
            site.submit(SMALL, "--nodes=2")
        before = [lose_rank(site, count) for site, count in zip(sites, after)]
        for site, phases_before in zip(sites, before):
            ended_in_order(site, phases_before)


def test_killed_rank():
    lose_ranks(1, 4)


@long
def test_killed_ranks():
    """At twenty moments, from before the first phase to the last quarter of the phases."""
    for trial in range(10):
        lose_ranks(trial, 2 * trial)


def test_time_limit():
    """The time limit of the job, less RESERVE, becomes haul's deadline without another setting."""
    with Site(epochs=ENDLESS) as site:
        site.submit(SMALL, "--nodes=1", "--time=1", NO_SIGNAL, RESERVE="25")
        site.ended(4)
        check(phases(site.results()) == [("generate", "done"), ("train", "interrupted")], f"{phases(site.results())}")
        check("deadline" in site.log().split("results: ")[1] and "stopped by a signal" not in site.log(), site.log())


def test_scaling():
    """The table has a row for each number of nodes, each with its own results file."""
    with Site() as site:
        site.submit(SCALING, "--nodes=4", "--ntasks-per-node=2", NODES="4")
        site.ended(0)
        stem = f"{site.path}/results/tiny.{site.job}"
        with open(stem + ".tsv", encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f]
        check(rows[1:] == [[str(n), str(2 * n), "0", f"{stem}.n{n}.h5", "-", "1"] for n in (1, 2, 4)], f"{rows}")
        for n in (1, 2, 4):
            said = report(f"{stem}.n{n}.h5")
            train = said["phases"][-1]
            check(len(said["phases"]) == 1 and train["status"] == "done" and train["measures"]["samples"] == 40 * n, f"{train}")


@long
def test_ways():
    """Three ways on 1, 2 and 4 nodes, twice, from one submission: one table, one page, one figure."""
    with Site() as site, tempfile.TemporaryDirectory(dir="/dev/shm") as mount:
        write_job(site.path, {**job(), "ways": {"files": {}, "mount": {"stores": {"data": {"uri": f"file://{mount}/d"}}},
                                                "sim": {"stores": {"data": {"uri": "sim://d", "bandwidth": "1 GB/s"}}}}}, "tiny.json")
        site.submit(SCALING, "--nodes=4", "--ntasks-per-node=2", NODES="4", REPEATS="2", COLD="none")
        site.ended(0)
        names = [f"{site.path}/results/tiny.{site.job}.n{n}.{way}.r{r}.h5" for n in (1, 2, 4) for r in (1, 2) for way in ("files", "mount", "sim")]
        with open(f"{site.path}/results/tiny.{site.job}.tsv", encoding="utf-8") as f:
            check([line.split("\t")[3] for line in f][1:] == names, "the order of the runs")
        said = json.loads(CLUSTER.ask(HAUL, "report", "--scaling", "--json", *names))["scaling"]
        check([(row["way"], row["nodes"], row["repeats"]) for row in said] == [(w, n, 2) for w in ("files", "mount", "sim") for n in (1, 2, 4)], f"{said}")
        for row in said:
            own = [report(name)["phases"][-1]["figures"]["bytes_per_second"] for name in names if f".n{row['nodes']}.{row['way']}." in name]
            check(abs(row["bytes_per_second"]["mean"] / (sum(own) / 2) - 1) < 1e-9, f"{row}: {own}")
        CLUSTER.ask(HAUL, "report", "--svg", site.path + "/f.svg", *names)
        CLUSTER.ask(HAUL, "report", "--html", site.path + "/p.html", *names)


# The programs of DAOS at a site without a launcher of dfuse. What dfuse mounts is a folder, which this machine shows to all of its
# nodes; a file per node says where it is mounted. On n3 dfuse fails.
DAOS_PROGRAMS = {
    "daos": "",
    "dfuse": 'if [ "$node" = n3 ]; then echo "dfuse: no agent" >&2; exit 1; fi\n: >"$mounts/$node"',
    "mountpoint": '[ -e "$mounts/$node" ]',
    "fusermount3": 'rm "$mounts/$node" && echo "$node" >>"$mounts/unmounted"',
    "df": """case $* in
*--output=fstype*) echo Type; [ -e "$mounts/$node" ] && echo fuse.daos || echo ext4 ;;
*--output=target*) printf 'Mounted on\\n/\\n' ;;
*) exec /bin/df "$@" ;;
esac""",
}


def daos_programs(site):
    """Puts them into a folder. The folder, and the one of the files of mounts."""
    folder, mounts = site.path + "/bin", site.path + "/mounts"
    os.mkdir(folder)
    os.mkdir(mounts)
    for name, body in DAOS_PROGRAMS.items():
        with open(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nnode=$SLURMD_NODENAME mounts={mounts}\n{body}\n")
    os.symlink(LIBRARY, folder + "/libdfs.so")
    return folder, mounts


@long
def test_access():
    """Three ways to a container of DAOS from one submission: each in turn on the same nodes and data; the node where dfuse fails
    is left out before the first run, and what was mounted is unmounted at the end."""
    with Site() as site, tempfile.TemporaryDirectory(prefix="haul", dir="/tmp") as pool:
        programs, mounts = daos_programs(site)
        ways = ("dfs", "dfuse", "pil4dfs")
        site.submit(SCALING, "--nodes=4", "--ntasks-per-node=2", NODES="3", SIZES="1 3", ACCESS=" ".join(ways),
                    DAOS_POOL=os.path.basename(pool), DAOS_CONT="c", HAUL_DATA=pool + "/c/data", PIL4DFS=PRELOAD,
                    HAUL_PIL4DFS_ROOT=pool, HAUL_DFS_ROOT="/tmp", HAUL_DFS_LOG=site.path + "/calls", LD_LIBRARY_PATH=programs,
                    PATH=programs + ":" + CLUSTER.path_of_programs)
        site.ended(0, 300)
        check("dfuse on n3: dfuse: no agent" in site.log(), site.log())
        check(re.search(rf"left out: n3: {pool}/c is on ext4, not on dfuse", site.log()), site.log())
        stem = f"{site.path}/results/tiny.{site.job}"
        with open(stem + ".tsv", encoding="utf-8") as f:
            done = [line.split("\t") for line in f][1:]
        check([(row[0], row[2], row[4]) for row in done] == [(n, "0", way) for n in ("1", "3") for way in ways], f"{done}")
        for nodes, _, _, name, way, *_ in done:
            said = report(name)
            check([p["measures"]["samples"] for p in said["phases"]] == [40 * int(nodes)], f"{said['phases']}")
            kind, facts = said["stores"][0]["uri"].split(":")[0], said["stores"][0]
            check(kind == ("daos" if way == "dfs" else "file"), f"{facts}")
            check(("libpil4dfs" in facts["engine"]) == (way == "pil4dfs"), f"{facts}")
            with h5py.File(name) as f:
                check(len(f["ranks"]) == 2 * int(nodes), f"{f['ranks'][:]}")
        with open(site.path + "/calls", encoding="utf-8") as f:
            calls = f.read()
        check(f"connect {os.path.basename(pool)}/c" in calls and "\nopen " in calls and "wrong" not in calls, f"{calls}")
        with open(mounts + "/unmounted", encoding="utf-8") as f:
            check(sorted(f.read().split()) == ["n1", "n2", "n4"], "what was unmounted")
        check(os.listdir(mounts) == ["unmounted"], f"{os.listdir(mounts)}")


@long
def test_questions():
    """A search over nodes takes its question as any other option, for a load and for settings."""
    with Site() as site:
        site.submit(SMALL, "--nodes=2", EXTRA="--find ranks=2..4 --until train.au>=1% --repeat 1")
        site.ended(0)
        said = report(site.results())
        found = said["find"]
        check((found["end"], found["carries"], found["path"]) == ("all", 4, "ranks"), f"{found}")
        check([s["value"] for s in found["steps"]] == [2, 4] and "all of 2 to 4 ranks meet AU ≥ 1 %" in said["headline"], f"{said['headline']}")
        sets = [p["together"]["set"] for p in said["phases"] if p["kind"] == "train"]
        check(sets == ["ranks 0-1", "ranks 0-3"], f"{sets}")
        site.submit(SMALL, "--nodes=2", EXTRA="--tune train.loader.workers=1,2 --repeat 2")
        site.ended(0)
        said = report(site.results())
        tune = said["tune"]
        check(tune["end"] == "found" and {tuple(row["sets"]) for row in tune["settings"]} >= {(f"train.loader.workers={n}",) for n in (1, 2)}, f"{tune}")
        with h5py.File(site.results()) as f:
            check(len(f["ranks"]) == 4 and "tune/settings" in f, f"{list(f)}")
        check(os.path.exists(site.results()[:-3] + ".tuned.json"), "the job as tuned")


def test_512_nodes():
    """Slurm accepts the large scripts unchanged, which request 516 nodes."""
    for script in (LARGE, SCALING):
        done = CLUSTER.call("sbatch", "--test-only", "--partition=large", script)
        check(done.returncode == 0 and "107328 processors on nodes c[1-516]" in done.stdout, done.stdout)


@long
def test_preempted():
    """A job in a partition of higher priority takes the nodes: the run writes its results so far in the grace time, is requeued,
    and runs again when the nodes are free."""
    with Site(epochs=10000) as site, Site() as other:
        site.submit(SMALL, "--nodes=3")
        site.trains()
        other.submit(SMALL, "--nodes=4", "--partition=high")
        other.ended(0)
        check(phases(site.results())[1:] == [("train", "interrupted")], f"{phases(site.results())}")
        site.until(lambda: phases(site.results(".1")), "the second run", 150)
        CLUSTER.ask("scancel", "--batch", "--signal=USR1", site.job)
        site.ended(4)


@long
def test_limit_reached():
    """If WALLTIME is too long, Slurm's signal before the limit ends the run in order. Without that signal the limit ends the
    run, and the results so far are written, too."""
    with Site(epochs=ENDLESS) as warned, Site(epochs=ENDLESS) as killed:
        warned.submit(SMALL, "--nodes=1", "--time=1", "--signal=B:USR1@30", WALLTIME="3600")
        killed.submit(SMALL, "--nodes=1", "--time=1", NO_SIGNAL, WALLTIME="3600")
        warned.ended(4, 180)
        CLUSTER.wait(killed.job, 180)
        check(CLUSTER.show(killed.job)["JobState"] in ("TIMEOUT", "COMPLETING"), f"{CLUSTER.show(killed.job)}")
        for site in (warned, killed):
            site.until(lambda: len(phases(site.results())) == 2, "results of both phases")
            check(phases(site.results())[1:] == [("train", "interrupted")], f"{phases(site.results())}\n{site.log()}")


@long
def test_node_dies():
    """A node dies during a run of the series: that run fails, and the next ones use the other nodes."""
    with Site(epochs=30, endless=".n4.h5") as site:
        site.submit(SCALING, "--nodes=4", "--ntasks-per-node=2", NODES="4", SIZES="1 4 2", STEPS="20")
        site.until(lambda: site.begun(".n4"), "the run on four nodes")
        CLUSTER.fail(3)
        try:
            site.until(lambda: phases(site.results(".n2")) == [("train", "done")], "the run on two nodes", 200)
            check(re.search(r"left out: n3:", site.log()), site.log())
            CLUSTER.wait(site.job)
            check([n for n, _ in rows(site)] == ["1", "4", "2"], f"{rows(site)}")
            check([s == "0" for _, s in rows(site)] == [True, False, True], f"{rows(site)}")
        finally:
            CLUSTER.revive(3)


PUBLISH_S = 2


def lost_at(site):
    """The seconds of the training that went on when its node was lost, and are in no results."""
    with h5py.File(site.results()) as f:
        last = list(f["phases"].values())[-1].attrs
        return site.struck - last["started"] / 1e9 - last["wall_seconds"]


def strike(site, i, holds, what):
    """Kills node i of a site's run at a drawn moment behind the one at which that holds."""
    site.until(holds, what, 300)
    time.sleep(random.random() * 2 * PUBLISH_S)
    site.struck = time.time()
    CLUSTER.fail(i)


def lose_node(i, status, expected, **more):
    """A training of 60 epochs, of which the first run has no end, loses node i: returns the site's log and the phases of each results
    file, in the order of the runs."""
    with Site(epochs=60, endless="/tiny.[0-9].h5*|*/tiny.[0-9][0-9].h5") as site:
        site.submit(SMALL, "--nodes=3", "--no-kill", NODES="2", PUBLISH=f"{PUBLISH_S} s", **more)
        strike(site, i, lambda: ("train", "running") in phases(site.results()), "a publication while the training runs")
        try:
            CLUSTER.wait(site.job, 400)
            found = [phases(path) for path in (site.results(), site.results(".1")) if os.path.exists(path)]
            log = site.log()
            check(f"lost during the run: n{i}" in log, log)
            check([f[-1][1] for f in found] == expected, f"{found}\n{log}")
            check(int(CLUSTER.show(site.job)["ExitCode"].split(":")[0]) == status, f"{CLUSTER.show(site.job)}\n{log}")
            # And as long as a slow machine publishes.
            check(lost_at(site) <= PUBLISH_S + 2, f"{lost_at(site)} s are lost\n{log}")
            return log
        finally:
            CLUSTER.revive(i)


@long
def test_lost_node_and_spare():
    """The run begins again with the spare node; what was published of the first one stays."""
    log = lose_node(2, 0, ["running", "done"])
    check("with a spare one in the place of what was lost" in log, log)


def trained(site):
    """What haul says of a site's results, the repeats of the training that are done, and what each of them has counted."""
    found = report(site.results())
    done = [p for p in found["phases"] if p["name"] == "train" and p["status"] == "done"]
    return found, [p["repeat"] for p in done], [{n: p["measures"][n] for n in ("samples", "steps", "logical_bytes", "operations")} for p in done]


@long
def test_lost_node_in_a_series():
    """The series goes on with the spare node: repeats that ended are kept, each is there once, and its figures are those of a
    series that lost none."""
    with Site(epochs=60) as site, Site(epochs=60) as whole:
        series = ("--nodes=3", "--no-kill"), {"NODES": "2", "PUBLISH": f"{PUBLISH_S} s", "EXTRA": "--repeat 4"}
        whole.submit(SMALL, *series[0], **series[1])
        whole.ended(0, 300)
        site.submit(SMALL, *series[0], **series[1])
        strike(site, 2, lambda: ("train", "running") in phases(site.results())[2:], "a publication of the second repeat")
        try:
            CLUSTER.wait(site.job, 300)
            found, repeats, counts = trained(site)
            log = site.log()
            check("goes on with the runs that are left" in log and not os.path.exists(site.results(".1")), log)
            check(repeats == [1, 2, 3, 4] and found["resumed"] == 1 and found["resumed_after"] >= 1, f"{repeats} {log}")
            check(all(p["status"] == "done" for p in found["phases"]), log)
            check(counts == trained(whole)[2] and counts[0]["steps"] > 0, f"{counts} of {trained(whole)[2]}")
        finally:
            CLUSTER.revive(2)


@long
def test_lost_node_without_spare():
    """SPARE=no: with fewer nodes where NODES_LEAST allows it, else not at all."""
    log = lose_node(2, 0, ["running", "done"], SPARE="no", NODES_LEAST="1")
    check("the run begins again on the 1 nodes that are left" in log, log)


@long
def test_scaling_requeued():
    with Site(epochs=30, endless=".n2.h5") as site:
        site.submit(SCALING, "--nodes=2", "--ntasks-per-node=2", NODES="2", STEPS="20")
        site.until(lambda: site.begun(".n2"), "the run on two nodes")
        CLUSTER.ask("scontrol", "requeue", site.job)
        site.until(lambda: site.begun(".n2.1"), "the second run on two nodes", 150)
        site.ended(0)
        check("1 nodes: done before this job was requeued" in site.log(), site.log())
        check(rows(site)[0] == ("1", "0") and rows(site)[-1] == ("2", "0"), f"{rows(site)}")
        check(phases(site.results(".n2"))[-1] == ("train", "interrupted"), f"{phases(site.results('.n2'))}")


@long
def test_broadcast():
    """With BCAST, the program is copied to the node before the run and removed after it."""
    with Site() as site:
        site.submit(SMALL, "--nodes=1", BCAST="yes", BCAST_DIR=site.path)
        site.ended(0)
        check(f"{site.path}/haul.{site.job}" in text(h5py.File(site.results()).attrs["command_line"]), "the copy did not run")
        check(not glob.glob(site.path + "/haul.*"), f"{os.listdir(site.path)}")


if __name__ == "__main__":
    # The test fails if Slurm is not installed, because nothing else shows that the scripts work.
    with slurm.Slurm(4) as CLUSTER:
        main()
