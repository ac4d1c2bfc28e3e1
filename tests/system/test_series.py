# SPDX-License-Identifier: Apache-2.0
"""Series of runs: repeats, warm-ups and sweeps are stored in one results file, with known figures on sim://."""
import os
import shutil
import signal
import subprocess
import time

import h5py

from haultest import *

MB = 1000 * 1000


def job(folder=None, ranks=1, steps=20, **train):
    """A job in which a rank at 50 MB/s takes 20 ms for a sample of 1 MB, of which compute hides nothing."""
    store = {"uri": f"file://{folder}/data"} if folder else {"uri": "sim://known", "rank_bandwidth": 50 * MB}
    return {
        "name": "series", "seed": 3, "stores": {"data": store},
        "dataset": {"store": "data", "format": "raw", "files": steps * ranks, "sample_bytes": MB},
        "phases": [{"generate": {}},
                   {"train": {"null_steps": 0, "batch": 1, "compute": "1 ms", "shuffle": "none", "loader": {"workers": 1},
                              **train}}],
    }


def phases_of(path):
    """(kind, run, combination, repeat, warmup, sweep, GB/s) of each phase, by number."""
    def text(value):
        return value.decode() if isinstance(value, bytes) else str(value)
    with h5py.File(path) as f:
        rows = []
        for name, p in f["phases"].items():
            a = p.attrs
            moved = int(a["bytes_read"]) + int(a["bytes_written"])
            rows.append((int(a["number"]), text(a["kind"]), int(a["run"]), int(a["combination"]), int(a["repeat"]),
                         int(a["warmup"]), text(a["sweep"]), moved / float(a["seconds"]) / 1e9))
        summary = f["summary"][:]
        check(len(summary) == len(rows), f"/summary has {len(summary)} rows for {len(rows)} phases")
        rows.sort()
        for row, s in zip(rows, summary):
            check((row[1], row[2], row[4], row[5], row[6]) ==
                  (text(s["kind"]), int(s["run"]), int(s["repeat"]), int(s["warmup"]), text(s["sweep"])),
                  f"/summary says {s} of {row}")
        return [row[1:] for row in rows]


def lost(folder):
    """The largest share of a phase's time that the machine took for other work."""
    phases = [p for p in report(f"{folder}/results.h5")["phases"] if p["kind"] != "generate"]
    return max(machine_took_s(folder, p) / p["seconds"] for p in phases)


def repeats(folder, ranks, **more):
    """A series of a warm-up and three repeats, as the report has it."""
    write_job(folder, job(ranks=ranks, **more))
    r = mpi(ranks, "run", "job.json", "--repeat", 3, "--warmup", 1, cwd=folder)
    check(r.rc == 0, f"{r}")
    rows = phases_of(f"{folder}/results.h5")
    check([row[:-1] for row in rows] ==
          [("generate", 1, 1, 1, 0, ""), ("train", 1, 1, 1, 1, ""), ("train", 2, 1, 1, 0, ""),
           ("train", 3, 1, 2, 0, ""), ("train", 4, 1, 3, 0, "")], f"{rows}")
    dump = subprocess.run(["h5dump", "-d", "/summary", f"{folder}/results.h5"], capture_output=True, text=True)
    check(dump.returncode == 0 and '"repeat"' in dump.stdout, f"{dump}")
    series = report(f"{folder}/results.h5")["series"]
    check([(s["kind"], s["repeats"]) for s in series] == [("generate", 1), ("train", 3)], f"{series}")
    check(series[0]["au"]["mean"] is None and series[0]["bytes_per_second"]["stdev"] is None, f"{series[0]}")
    return series


def test_repeats_of_8_ranks():
    with Folder() as folder:
        repeats(folder, 8, steps=4)


@matrix
@timing
def test_repeats():
    for ranks in some((2, 1), 2):
        with Folder() as folder:
            series = repeats(folder, ranks)
            # All repeats take the same time, because nothing is random and the model's time is independent of the machine.
            near(series[1]["p99_ns"]["mean"], 20e6, 0.02 * 20e6, "p99")
            check(series[1]["p99_ns"]["cv"] < 0.01, f"p99 {series[1]['p99_ns']}")
            rate, took = series[1]["bytes_per_second"], lost(folder)
            near(rate["mean"], ranks * 50 * MB, (0.1 + took) * ranks * 50 * MB, "bytes per second")
            check(rate["cv"] < 0.03 + took and rate["ci95_low"] < rate["mean"] < rate["ci95_high"], f"{rate}")


@timing
def test_sweep():
    """The rate is ranks x rank_bandwidth where nothing else limits it."""
    with Folder() as folder:
        write_job(folder, job(ranks=2))
        r = mpi(2, "run", "job.json", "--sweep", "stores.data.rank_bandwidth=25 MB/s,50 MB/s,100 MB/s", "--sweep",
                "train.compute=1 ms,2 ms", "--only", "train", cwd=folder)
        check(r.rc == 0, f"{r}")
        rows = phases_of(f"{folder}/results.h5")
        check([row[1] for row in rows] == [1, 2, 3, 4, 5, 6] and [row[2] for row in rows] == [1, 2, 3, 4, 5, 6], f"{rows}")
        wanted, took = [(b, c) for b in (25, 50, 100) for c in (1, 2)], lost(folder)
        series = report(f"{folder}/results.h5")["series"]
        check([s["combination"] for s in series] == [1, 2, 3, 4, 5, 6], f"{series}")
        for row, s, (bandwidth, compute) in zip(rows, series, wanted):
            check(s["sets"] == [f"stores.data.rank_bandwidth={bandwidth} MB/s", f"train.compute={compute} ms"], f"{s}")
            near(s["bytes_per_second"]["mean"] / 1e9, row[6], 1e-6, "the series' GB/s")
            check(row[5] == f"stores.data.rank_bandwidth={bandwidth} MB/s, train.compute={compute} ms", f"{row}")
            near(row[6], 2 * bandwidth / 1000, (0.15 + took) * 2 * bandwidth / 1000, f"GB/s of {row}")
        with h5py.File(f"{folder}/results.h5") as f:
            check(list(f["phases/3_train"].attrs["sets"].astype(str)) ==
                  ["stores.data.rank_bandwidth=50 MB/s", "train.compute=2 ms"], "the attribute sets is wrong")
            base = json.loads(bytes(f["job"][()]).rstrip(b"\0"))
            check(base["stores"]["data"]["rank_bandwidth"] == 50 * MB, "/job is not the job without the sweep")


def test_data_is_made_once():
    """On file:// and mem://, later runs find the data of the first. A series that would make another data set in the same place
    is refused before it runs."""
    with Folder() as folder:
        write_job(folder, job(folder))
        r = mpi(2, "run", "job.json", "--repeat", 2, "--sweep", "train.loader.workers=1,2", cwd=folder)
        check(r.rc == 0, f"{r}")
        check([row[0] for row in phases_of(f"{folder}/results.h5")] == ["generate"] + 4 * ["train"], f"{r}")
        r = mpi(2, "run", "job.json", "--sweep", "dataset.sample_bytes=1MB,2MB", "--results", "no.h5", cwd=folder)
        check(r.rc == 2 and r.err.startswith("haul: --sweep dataset.sample_bytes=2MB: /phases/0/generate: an earlier run "
                                             "of the series makes another data set in this place;"), f"{r}")
        check(sorted(os.listdir(folder)) == ["data", "job.json", "results.h5"],
              f"{os.listdir(folder)}")
        j = job(folder)
        j["stores"]["data"] = {"uri": "mem://m", "capacity": 40 * MB}
        write_job(folder, j)
        r = mpi(2, "run", "job.json", "--repeat", 2, "--force", cwd=folder)
        check(r.rc == 0, f"{r}")


def test_refusals():
    """An error in any combination is reported before the first run, and no file is created."""
    cases = [
        (["--sweep", "train.batch"], "--sweep train.batch: write it as path=a,b,c, as in train.batch=2,4,8"),
        (["--sweep", "train.batch=1,2,0"], "--sweep train.batch=0: /phases/1/train/batch: must be at least 1, is 0"),
        (["--sweep", "train.bach=1"], '--sweep train.bach=1: /phases/1/train/bach: unknown key; did you mean "batch"?'),
        (["--sweep", "train.batch=1,999"], "--sweep train.batch=999: /phases/1/train/batch: 20 samples cannot fill one "
                                           "step of 2 ranks x batch 999 = 1,998"),
        (["--repeat", "0"], '--repeat: must be at least 1, is 0'),
        (["--warmup", "-1"], '--warmup: must be a whole number, is "-1"'),
        (["--only", "x"], "--only x: no phase is called x; there are generate, warm (train)"),
        (["--skip", "trian"], "--skip trian: no phase is called trian; there are generate, warm (train)"),
        (["--only", "warm", "--skip", "train"], "--only and --skip leave no phase to run"),
        (["--repeat", "2", "--only", "generate"],
         "no phase is left to repeat: what generates runs once in a series"),
    ]
    with Folder() as folder:
        plain, named = job(), job(name="warm")
        for words, sentence in cases:
            write_job(folder, plain if "train." in words[1] else named)
            r = mpi(2, "run", "job.json", *words, cwd=folder)
            check(r.rc == 2 and r.out == "" and r.err == f"haul: {sentence}\n", f"{words}: {r}\nwanted {sentence}")
            check(os.listdir(folder) == ["job.json"], f"{words}: {os.listdir(folder)}")


def test_target():
    """An AU of 1 ms of 20 ms misses the target of 10 % on average. In a sweep, the message names the combination."""
    with Folder() as folder:
        write_job(folder, job(target_au=0.1))
        r = mpi(1, "run", "job.json", "--strict", "--repeat", 2, "--warmup", 1, "--only", "train", cwd=folder)
        check(r.rc == 8 and r.err.splitlines()[-1].startswith("haul: train: AU ") and
              r.err.splitlines()[-1].endswith(" %, on average over 2 repeats, misses the target of 10 %"), f"{r}")
        r = mpi(1, "run", "job.json", "--strict", "--only", "train", "--force", "--sweep", "train.compute=40 ms,1 ms",
                cwd=folder)
        check(r.rc == 8 and "haul: train with train.compute=1 ms: AU " in r.err, f"{r}")
        r = mpi(1, "run", "job.json", "--strict", "--only", "train", "--force", "--set", "train.compute=40 ms", "--repeat",
                2, cwd=folder)
        check(r.rc == 0, f"{r}")


def series_under_way(folder, more=()):
    """Starts a long series, and waits until two of its runs are published."""
    write_job(folder, job(steps=30))
    process = start(2, "run", "job.json", "--repeat", 50, "--only", "train", *more, cwd=folder)
    while process.poll() is None:
        time.sleep(0.02)
        try:
            with h5py.File(f"{folder}/results.h5") as f:
                if len(f["phases"]) >= 2:
                    break
        except (OSError, KeyError):
            pass
    return process


def test_ended_early():
    """A series that is ended by a signal or by kill -9 keeps its finished runs. A signal also publishes the current phase."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with Folder() as folder:
            process = series_under_way(folder)
            if how == signal.SIGKILL:
                kill_run(process, folder)
            else:
                process.send_signal(how)
                finish(process, time.monotonic())
            rows = phases_of(f"{folder}/results.h5")
            check(2 <= len(rows) < 50, f"{how}: {len(rows)} phases")
            check([row[1] for row in rows] == list(range(1, len(rows) + 1)), f"{how}: {rows}")
            with h5py.File(f"{folder}/results.h5") as f:
                check(f.attrs["runs"] == 50, f"runs is {f.attrs['runs']}")
            result = report(f"{folder}/results.h5")
            check(result["status"] == "interrupted", f"{how}: {result['status']}")
            last = result["phases"][-1]["status"]
            check(last == ("interrupted" if how == signal.SIGTERM else "done"), f"{how}: {last}")


def series(folder, *more, repeat=3, rc=0):
    r = mpi(2, "run", "job.json", "--only", "train", "--repeat", repeat, "--quiet", *more, cwd=folder)
    check(r.rc == rc, f"{more}: {r}")
    return r


def test_side_files():
    """Each run has a file of its own. --force removes those of the series that it replaces, and nothing else."""
    with Folder() as folder:
        write_job(folder, job(steps=2))
        side = f"{folder}/results.h5.runs"
        series(folder, "--side-files")
        first = set(os.listdir(side))
        check(len(first) == 3, f"{first}")
        # The results are moved away by name: their side files stay where they are.
        os.rename(f"{folder}/results.h5", f"{folder}/monday.h5")
        series(folder, "--side-files", repeat=2)
        with open(f"{side}/notes.txt", "w") as f:
            f.write("mine")
        second = set(os.listdir(side)) - first - {"notes.txt"}
        series(folder, "--force", "--side-files", repeat=4)
        third = set(os.listdir(side)) - first - {"notes.txt"}
        check(len(second) == 2 and len(third) == 4 and not second & third, f"{second} {third}")
        check(len(report(f"{folder}/monday.h5")["phases"]) == 3, "what was moved away is whole")
        # Without the side files, what the results file itself has is shown.
        os.makedirs(f"{folder}/mail")
        shutil.copy(f"{folder}/monday.h5", f"{folder}/mail/monday.h5")
        whole, sent = report(f"{folder}/monday.h5"), report(f"{folder}/mail/monday.h5")
        for p, q in zip(whole["phases"], sent["phases"], strict=True):
            check([p[k] for k in ("name", "kind", "run", "repeat", "seconds")] ==
                  [q[k] for k in ("name", "kind", "run", "repeat", "seconds")], f"{q}")
            near(q["rates"]["bytes_per_second"], p["rates"]["bytes_per_second"], 1, "GB/s of a file that was sent")
        for verb in ("report", "compare", "show"):
            r = alone(verb, "mail/monday.h5", *(("monday.h5",) if verb == "compare" else ()), cwd=folder)
            check(r.rc == 0, f"{verb}: {r}")
            check(verb == "show" or "details of the runs are missing" in " ".join(r.out.split()), f"{verb}: {r}")
        # Killed runs leave no file behind that the next one does not remove.
        os.unlink(f"{folder}/results.h5")
        for name in third:
            os.unlink(f"{side}/{name}")
        process = series_under_way(folder)
        kill_run(process, folder)
        write_job(folder, job(steps=2))
        series(folder, "--force", repeat=1)
        check(set(os.listdir(side)) == first | {"notes.txt"}, f"{os.listdir(side)}")
        check(not parts_beside(f"{folder}/results.h5"), "a .part is left")
        check(len(report(f"{folder}/results.h5")["phases"]) == 1, "one run is in the file itself")
        # All runs are in one file, unless side files are asked for.
        series(folder, "--one-file", "--side-files", rc=2)
        series(folder, "--results", "one.h5", "--sweep", "train.compute=1 ms,2 ms", repeat=2)
        check(not os.path.exists(f"{folder}/one.h5.runs"), "side files are left")
        check([row[1:4] for row in phases_of(f"{folder}/one.h5")] == [(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 2, 2)],
              f"{phases_of(f'{folder}/one.h5')}")
        with h5py.File(f"{folder}/one.h5") as f:
            check(all(len(p["ranks"]) == 2 and isinstance(f["phases"].get(name, getlink=True), h5py.HardLink)
                      for name, p in f["phases"].items()) and "series" not in f.attrs, "one file")
        check(report(f"{folder}/one.h5")["status"] == "done", "status")
        # Nothing is written through a link to elsewhere.
        os.mkdir(f"{folder}/elsewhere")
        os.symlink("elsewhere", f"{folder}/linked.h5.runs")
        r = series(folder, "--results", "linked.h5", rc=1)
        check("linked.h5.runs is not a folder of its own" in r.err and not os.path.exists(f"{folder}/linked.h5") and
              os.listdir(f"{folder}/elsewhere") == [], f"{r}")


@timing
def test_plain_io():
    """8 MB at 20 MB/s take 0.4 s, in requests of 100 or 50 kB. The report names the operation of each run."""
    with Folder() as folder:
        write_job(folder, {
            "name": "plain", "stores": {"d": {"uri": "sim://known", "bandwidth": 20 * MB}},
            "phases": [{"io": {"operation": "write", "objects": 4, "size": MB, "block": 100000}}]})
        r = mpi(2, "run", "job.json", "--sweep", "io.block=100000,50000", "--repeat", 2, cwd=folder)
        check(r.rc == 0, f"{r}")
        series, took = report(f"{folder}/results.h5")["series"], lost(folder)
        for s, operations in zip(series, (200, 400)):
            near(s["operations_per_second"]["mean"], operations, (0.1 + took) * operations, f"{s}")
            near(s["bytes_per_second"]["mean"], 20 * MB, (0.1 + took) * 20 * MB, f"{s}")
            check(s["au"]["mean"] is None and s["samples_per_second"]["mean"] is None, f"{s}")
        lines = [line.split() for line in r.out.splitlines()]
        check(["block", "GB/s", "ops/s", "write", "p99", "repeats"] in lines, r.out)
        check(sum(line[:3] == [str(run), "io", "write"] for run in range(1, 5) for line in lines) == 4, r.out)


def test_deadline():
    """The deadline holds for the whole series."""
    with Folder() as folder:
        write_job(folder, job(steps=30))
        r = mpi(2, "run", "job.json", "--repeat", 1000, "--only", "train", "--deadline", "2 s", "--grace", "60 s", cwd=folder)
        check(r.rc == 4, f"{r}")
        check(len(phases_of(f"{folder}/results.h5")) < 1000, "the deadline did not end the series")


def test_an_impossible_combination_is_left_out():
    """psync does one request at a time: with two sweeps that combination is left out with a note, and the others run. The
    report ranks them, and a comparison of runs that cannot be judged is one table."""
    with Folder() as folder:
        write_job(folder, {"stores": {"d": {"uri": "file://./d", "engine": "psync"}},
                           "phases": [{"io": {"operation": "write", "objects": 4, "block": "64 KiB", "size": "256 KiB"}}]})
        sweeps = ["--sweep", "stores.d.engine=psync,uring", "--sweep", "io.depth=1,8,16"]
        r = mpi(2, "run", "job.json", *sweeps, "--quiet", cwd=folder)
        check(r.rc == 0 and r.err.count("left out: --sweep stores.d.engine=psync, io.depth=") == 2, f"{r}")
        found = report(f"{folder}/results.h5")
        check([p["combination"] for p in found["phases"]] == [1, 4, 5, 6] and found["runs"] == 4, f"{found['runs']}")
        best = max(found["phases"], key=lambda p: p["rates"]["bytes_per_second"])
        text = alone("report", "results.h5", cwd=folder).out
        check(f"the best of 4 combinations is {best['sweep']}" in " ".join(text.split()), text)
        rates = [float(line.split()[2]) for line in text[text.index(", the best first"):].splitlines()[2:6]]
        check(rates == sorted(rates, reverse=True), text)
        text = alone("compare", "results.h5", cwd=folder).out
        check(text.count("Not judged") == 1 and len(text.splitlines()) < 25, text)
        # One sweep alone asks for what it names.
        r = mpi(2, "run", "job.json", "--sweep", "io.depth=1,8", "--quiet", "--force", cwd=folder)
        check(r.rc == 2 and "works on one request at a time" in r.err, f"{r}")


def test_made():
    """The first sentence is about what is read, not about what was made for it, even if more was made."""
    with Folder() as folder:
        reads = {"size": MB, "block": MB, "objects": 20}
        write_job(folder, {"name": "get", "stores": {"data": {"uri": "sim://known", "bandwidth": 100 * MB}},
                           "phases": [{"io": {"name": "make", "operation": "write", **reads}},
                                      {"io": {"name": "get", "operation": "read", "verify": "none", "passes": 0, "seconds": "50 ms", **reads}},
                                      {"io": {"name": "delete", "operation": "delete", "size": MB, "objects": 20}}]})
        for more in ((), ("--repeat", 2)):
            r = mpi(1, "run", "job.json", "--force", *more, cwd=folder)
            found = report(f"{folder}/results.h5")
            moved = {p["name"]: p["bytes_read"] + p["bytes_written"] for p in found["phases"]}
            check(r.rc == 0 and found["headline"].startswith("get: ") and moved["make"] > moved["get"], f"{found['headline']}: {moved}")


def resumable(folder, block=100000):
    return write_job(folder, {"seed": 7, "stores": {"d": {"uri": f"file://{folder}/data"}, "n": {"uri": "sim://n", "rank_bandwidth": "10 MB/s"}},
                              "dataset": {"store": "d", "format": "raw", "files": 8, "sample_bytes": 1000},
                              "phases": [{"generate": {}}, {"io": {"name": "w", "operation": "write", "store": "n", "objects": 3,
                                                                   "size": 1000000, "block": block}},
                                         {"train": {"batch": 1, "epochs": 1, "null_steps": 0, "compute": "10 ms"}}]})


RESUMED = ("run", "job.json", "--repeat", 3, "--warmup", 1, "--sweep", "train.batch=1,2", "--results", "r.h5", "--resume", "--quiet")


def places_of(folder):
    return [(p["name"], p["run"], p["repeat"], p["warmup"], p["status"]) for p in report(f"{folder}/r.h5")["phases"]]


@matrix
def test_resumed():
    """A series that is interrupted at drawn moments, by a kill, a signal or a deadline, and gone on with each time, has each repeat once,
    and the figures of one that was not."""
    with Folder() as folder:
        resumable(folder)
        r = mpi(2, *RESUMED, cwd=folder)
        check(r.rc == 0, f"{r}")
        whole, figures = places_of(folder), report(f"{folder}/r.h5")
        check("resumed" not in figures, "it was never interrupted")
    for side_files in some((False, True), 2):
        more = ["--side-files"] if side_files else []
        for how in ("kill", "TERM", "deadline"):
            with Folder() as folder:
                resumable(folder)
                kept, times = 0, 0
                for _ in range(3 if FULL else 2):
                    moment = random.uniform(0.8, 2.2)
                    if how == "deadline":
                        r = mpi(2, *RESUMED, *more, "--deadline", f"{moment} s", cwd=folder)
                    else:
                        process = start(2, *RESUMED, *more, cwd=folder, start_new_session=True)
                        time.sleep(moment)
                        if how == "kill":
                            kill_run(process, folder)
                        else:
                            process.send_signal(signal.SIGTERM)
                            r = finish(process, time.monotonic())
                    if not os.path.exists(f"{folder}/r.h5"):
                        continue
                    runs = {p["run"] for p in report(f"{folder}/r.h5")["phases"]}
                    times += 1
                    check(len(runs) >= kept, f"{how}: {kept} runs were there, and now {runs}")
                    kept = max(len(runs) - 1, 0)
                r = mpi(2, *RESUMED, *more, cwd=folder)
                check(r.rc == 0, f"{how}: {r}")
                resumed = report(f"{folder}/r.h5")
                check(places_of(folder) == whole, f"{how}: {places_of(folder)}, not {whole}")
                check(resumed["status"] == "done" and (not kept or resumed["resumed"] <= times and resumed["resumed_after"] >= kept),
                      f"{how}: {resumed.get('resumed')} times, after {resumed.get('resumed_after')} runs of {kept}")
                check(not kept or "are from before the last interruption" in " ".join(alone("report", "r.h5", cwd=folder).out.split()), "said")
                for a, b in zip(figures["series"], resumed["series"], strict=True):
                    check((a["phase"], a["repeats"]) == (b["phase"], b["repeats"]), f"{how}: {a} {b}")
                for a, b in zip(figures["phases"], resumed["phases"]):
                    # Files that were whole when the first run was interrupted are not made again.
                    same = a["bytes_read"] == b["bytes_read"] and (a["bytes_written"] == b["bytes_written"] or
                                                                   a["name"] == "generate" and a["bytes_written"] > b["bytes_written"])
                    check(same, f"{how}: {a['name']} moved other bytes: {a['bytes_read'], a['bytes_written']}, {b['bytes_read'], b['bytes_written']}")
                    if a["name"] == "w":  # no sooner than its store gives the bytes; how much later, other work on the machine decides
                        check(b["seconds"] >= 0.29 and a["seconds"] >= 0.29, f"{how}: seconds of w in run {a['run']}")


def test_resumed_refusals():
    """Another job, other repeats, another number of ranks: each is told, and the file stays as it is."""
    with Folder() as folder:
        resumable(folder)
        r = mpi(2, *RESUMED, "--deadline", "1.5 s", cwd=folder)
        check(os.path.exists(f"{folder}/r.h5"), f"{r}")
        before = open(f"{folder}/r.h5", "rb").read()
        for ranks, words, says in (2, ("--set", "train.epochs=2"), "another job"), (2, ("--repeat", 4), "other sweeps, repeats"), \
                (1, (), "another number of ranks"), (2, ("--op-log", "ops.tsv"), "does not go with --op-log"):
            r = mpi(ranks, *RESUMED, *words, cwd=folder)
            check(r.rc == 2 and says in " ".join(r.err.split()), f"{words}: {r}")
            check(open(f"{folder}/r.h5", "rb").read() == before, f"{words}: the file has changed")


main()
