# SPDX-License-Identifier: Apache-2.0
"""haul run --interleave, haul compare and haul accept: combinations of a sweep in turn, on sim://, whose rates are known."""
import csv
import io
import re
import shutil
import signal
import time

import h5py

from haultest import *

MB = 1000 * 1000
JOB = {
    "name": "compare", "seed": 3, "stores": {"data": {"uri": "sim://known", "rank_bandwidth": 50 * MB}},
    "dataset": {"store": "data", "format": "raw", "files": 10, "sample_bytes": MB},
    "phases": [{"train": {"null_steps": 0, "batch": 1, "compute": "1 ms", "shuffle": "none", "loader": {"workers": 1},
                          "target_au": 1e-6}}],
}


def test_in_turn():
    """Warm-ups of all combinations, then their repeats in turn. 200 MB/s against 50 MB/s is four times as fast, less what
    compute hides: a verdict that the machine cannot turn over."""
    with Folder() as folder:
        write_job(folder, JOB)
        r = mpi(1, "run", "job.json", "--sweep", "stores.data.rank_bandwidth=200 MB/s,50 MB/s", "--repeat", 4, "--warmup", 1,
                "--interleave", "--strict", cwd=folder)
        check(r.rc == 0, f"{r}")
        with h5py.File(f"{folder}/results.h5") as f:
            rows = sorted((int(p.attrs["number"]), int(p.attrs["run"]), int(p.attrs["combination"]), int(p.attrs["warmup"]),
                           int(p.attrs["repeat"])) for p in f["phases"].values())
        check([row[1:] for row in rows] ==
              [(1, 1, 1, 1), (2, 2, 1, 1)] + [(3 + 2 * i + c, c + 1, 0, i + 1) for i in range(4) for c in (0, 1)], rows)
        r = alone("compare", "results.h5", cwd=folder)
        check(r.rc == 0 and "train: 4 repeats each, taken in turn; geometric means\n" in r.out and r.err == "", f"{r}")
        check("job: stores.data.rank_bandwidth" in r.out and "200 MB/s" in r.out, f"{r}")
        check(max(len(line) for line in r.out.splitlines()) <= 100, r.out)
        r = alone("compare", "--json", "results.h5", cwd=folder)
        pair = json.loads(r.out)["pairs"][0]
        rates = pair["metrics"]["bytes_per_second"]
        check(r.rc == 0 and pair["in_turn"] and pair["judged"] and pair["metric"] == "samples_per_second", f"{pair}")
        check(len(rates["a_values"]) == 4 and rates["low"] < rates["ratio"] < rates["high"], f"{rates}")
        r = alone("compare", "--csv", "results.h5", cwd=folder)
        lines = {line["metrics.name"]: line for line in csv.DictReader(io.StringIO(r.out))}
        check(r.rc == 0 and list(lines) == list(pair["metrics"]), r.out)
        check(abs(float(lines["bytes_per_second"]["metrics.ratio"]) / rates["ratio"] - 1) < 1e-8, f"{lines}")
        check(all(line["phase"] == "train" and line["sentence"] == pair["sentence"] for line in lines.values()), f"{lines}")
        r = alone("compare", "--html", "page.html", "results.h5", cwd=folder)
        with open(f"{folder}/page.html", encoding="utf-8") as f:
            page = json.loads(f.read().split('type="application/json">')[1].split("</script>")[0])
        check(r.rc == 0 and r.out == "" and r.err == "", f"{r}")
        check(page["compare"]["pairs"][0] == pair and page["files"][0]["name"] == "compare", f"{page['compare']}")
        jobs = []
        for run in (), ("--run", 1), ("--run", 2):
            r = alone("show", "results.h5", "--job", *run, cwd=folder)
            check(r.rc == 0 and r.err == "", f"{r}")
            with open(f"{folder}/again.json", "w") as f:
                f.write(r.out)
            check(alone("plan", "again.json", cwd=folder).rc == 0, r.out)
            jobs.append(json.loads(r.out)["stores"]["data"]["rank_bandwidth"])
        check(jobs[0] == jobs[2] != jobs[1], jobs)
        series = report(f"{folder}/results.h5")["series"]
        check([s["repeats"] for s in series] == [4, 4], f"{series}")


def test_only_the_same_phases():
    """Two files are compared phase by phase, by name and kind, in whatever order they ran; what only one has is told as that.
    Scaling needs different numbers of nodes."""
    plain = {"objects": 8, "size": "64 KiB", "block": "64 KiB"}

    def some_io(name, operation):
        return {"io": {"name": name, "operation": operation, **plain}}

    train = {**JOB["phases"][0]["train"], "epochs": 1}
    jobs = {"a": [some_io("write", "write"), {"train": train}, some_io("only_a", "read"), some_io("both", "read")],
            "b": [some_io("both", "write"), some_io("only_b", "read"), some_io("write", "write"), {"train": train}]}
    with Folder() as folder:
        for name, phases in jobs.items():
            write_job(folder, {**JOB, "stores": {"data": {"uri": "sim://known", "rank_bandwidth": 50 * MB}}, "phases": phases})
            r = mpi(1, "run", "job.json", "--quiet", "--results", f"{name}.h5", cwd=folder)
            check(r.rc == 0, f"{r}")
        r = alone("report", "--html", "page.html", "a.h5", "b.h5", cwd=folder)
        check(r.rc == 0, f"{r}")
        with open(f"{folder}/page.html", encoding="utf-8") as f:
            page = json.loads(f.read().split('type="application/json">')[1].split("</script>")[0])
        told = json.loads(alone("compare", "--json", "a.h5", "b.h5", cwd=folder).out)
        files = {name: {p["name"]: p for p in report(f"{folder}/{name}.h5")["phases"]} for name in jobs}
        for pairs in page["compare"]["pairs"], told["pairs"]:
            both = [pair["phase"] for pair in pairs]
            check(sorted(both) == ["both", "train", "write"], f"{both}")
            for pair in pairs:
                rates = pair["metrics"]["bytes_per_second"]
                found = [side[pair["phase"]]["rates"]["bytes_per_second"] for side in files.values()]
                check([rates["a_values"], rates["b_values"]] == [found[:1], found[1:]], f"{pair['phase']}: {rates}, {found}")
        check(page["scaling"] is None, f"{page['scaling']}")
        text = alone("compare", "a.h5", "b.h5", cwd=folder).out
        check("only_a: only A has finished it." in text and "only_b: only B has finished it." in text, text)
        check("job: only_a" in text and "only_a.block" not in text and len(text.splitlines()) < 80, text)


def test_accept():
    """The exit status tells whether all criteria are met. An unknown one is not."""
    with Folder() as folder:
        write_job(folder, JOB)
        r = mpi(1, "run", "job.json", "--quiet", cwd=folder)
        check(r.rc == 0, f"{r}")
        for rule, rc, line in (({"most_errors": 0, "least_samples": 0.001}, 0, "Accepted: 2 met, 0 missed, 0 unknown."),
                               ({"most_errors": 0, "least_au": 0.999}, 8, "Not accepted: 1 met, 1 missed, 0 unknown."),
                               ({"most_errors": 0, "most_cached": 1}, 8, "Not accepted: 1 met, 0 missed, 1 unknown.")):
            write_job(folder, {"rules": [{"phase": "train", **rule}]}, "rules.json")
            r = alone("accept", "rules.json", "results.h5", cwd=folder)
            check(r.rc == rc and r.out.endswith(f"\n\n{line}\n") and r.err == "", f"{rule}: {r}")
            r = alone("accept", "--json", "rules.json", "results.h5", cwd=folder)
            check(r.rc == rc and json.loads(r.out)["accepted"] == (rc == 0), f"{rule}: {r}")


# A run with phases that answer some criteria and not others: on two nodes, with two repeats.
ACCEPTED = {
    "name": "accepted", "seed": 5,
    "stores": {"data": {"uri": "sim://data", "latency": "1 ms", "open_latency": "1 ms"}, "near": {"uri": "file://./near"},
               "bad": {"uri": "sim://bad", "failure_rate": 0.5}},
    "datasets": {"data": {"store": "data", "format": "raw", "files": 64, "sample_bytes": 16384},
                 "near": {"store": "near", "format": "raw", "files": 64, "sample_bytes": 16384}},
    "phases": [{"generate": {"name": "made", "dataset": "data"}}, {"generate": {"name": "near", "dataset": "near"}},
               {"train": {"name": "far", "dataset": "data", "null_steps": 0, "batch": 1, "compute": "40 ms", "loader": {"workers": 1}}},
               {"train": {"name": "cached", "dataset": "near", "null_steps": 0, "batch": 1, "compute": "1 ms", "loader": {"workers": 1},
                          "cold": {"evidence": "64 KiB"}}},
               {"io": {"name": "ops", "store": "data", "operation": "write", "objects": 16, "size": "16 KiB", "block": "16 KiB"}},
               {"io": {"name": "broken", "store": "bad", "operation": "read", "objects": 64, "size": "4 KiB", "block": "4 KiB",
                       "on_error": "count"}},
               {"checkpoint": {"store": "data", "count": 1, "chunk": "64 KiB", "buffers": "512 KiB",
                               "model": {"vocabulary": 64, "hidden": 32, "feed_forward": 64, "layers": 2, "heads": 2, "kv_heads": 2}}}],
}
# Of each criterion: a phase with a bound that it meets, one that it misses, and one that has nothing to say about it.
CRITERIA = {
    "least_rate": ("far", "1 B/s", "1000000 TB/s", "none"),
    "least_operations": ("ops", 0.001, 1e15, "far"),
    "least_samples": ("far", 0.001, 1e15, "ops"),
    "least_au": ("far", 1e-6, 1, "made"),
    "most_p99": ("far", "1 h", "1 ns", "none"),
    "least_node_share": ("far", 1e-9, 2, "none"),
    "most_cv": ("far", 1000, 1e-12, "made"),
    "most_errors": ("broken", 1000000, 0, "none"),
    "most_cached": ("cached", 1, 1e-6, "made"),
    "most_checkpoint_time": ("checkpoint", "1 h", "1 ns", "far"),
    "most_restore_time": ("checkpoint", "1 h", "1 ns", "ops"),
}


def accepted_of(rules, path):
    """The verdicts, and the phases of which the file says that their figures are void."""
    write_job(os.getcwd(), rules, "rules.json")
    r = alone("accept", "--json", "rules.json", path)
    check(r.rc == 8 and r.err == "", f"{r}")
    out = json.loads(r.out)
    return out["criteria"], {d["phase"] for d in out["doubts"] if d["voids"]}


def test_accept_each_criterion():
    """What a run has measured answers each criterion: a low bound is met, a high one missed, and a phase without the figure
    leaves it unknown, as do figures that are void. Of the client only that there is an answer, which is up to the machine."""
    with Folder() as folder:
        write_job(folder, ACCEPTED)
        r = mpi(2, "run", "job.json", "--fake-nodes", 2, "--repeat", 2, "--quiet", cwd=folder)
        check(r.rc == 0, f"{r}")
        rules = [{"phase": "far", "client_not_limit": True}, {"phase": "none", "client_not_limit": True},
                 {"phase": "far", "most_p99": "1 h", "histogram": "other"}]
        wanted = [None, "unknown", "unknown"]
        for key, (phase, low, high, other) in CRITERIA.items():
            rules += [{"phase": phase, key: low}, {"phase": phase, key: high}, {"phase": other, key: low}]
            wanted += ["met", "missed", "unknown"]
        rules += [{"phase": "cached", "least_rate": 1}, {"phase": "cached", "least_samples": 1e15}]
        wanted += ["unknown"] * 2
        os.chdir(folder)
        found, void = accepted_of({"rules": rules}, "results.h5")
        check(len(found) == len(wanted), f"{len(found)} verdicts of {len(wanted)} rules: {found}")
        check({"cached", "broken"} <= void, f"{void}")
        for rule, state, one in zip(rules, wanted, found):
            check(one["phase"] == rule["phase"] and one["criterion"] in rule, f"{rule}: {one}")
            if one["phase"] in void and one["criterion"] not in ("most_errors", "most_cached", "client_not_limit"):
                check(one["state"] == "unknown" and (state == "unknown" or "does not count" in one["sentence"] or "value" not in one),
                      f"{rule}: {one}")
            else:
                check(one["state"] == state if state else one["state"] in ("met", "missed"), f"{rule}: {one}")


def test_accept_without_side_files():
    """What stayed behind with the side files is unknown, and says so, and so is what figures of /summary say, which may be void for all
    that they tell. What the worst repeat did is the same. No criterion is better than by the whole file."""
    with Folder() as folder:
        write_job(folder, ACCEPTED)
        r = mpi(2, "run", "job.json", "--fake-nodes", 2, "--repeat", 3, "--side-files", "--quiet", cwd=folder)
        check(r.rc == 0, f"{r}")
        os.mkdir(f"{folder}/away")
        shutil.copy(f"{folder}/results.h5", f"{folder}/away")
        rules = [{"phase": phase, "no_doubt": True} for phase in ("far", "ops", "broken", "checkpoint")]
        rules += [{"phase": phase, key: bound} for key, values in CRITERIA.items() for phase in ("far", "ops", "broken", "checkpoint")
                  for bound in values[1:3]]
        told = 0
        os.chdir(folder)
        for judge in ("mean", "interval"):
            whole, left = (accepted_of({"judge": judge, "rules": rules}, path)[0] for path in ("results.h5", "away/results.h5"))
            check(len(whole) == len(left) == len(rules), f"{len(whole)}, {len(left)} of {len(rules)}")
            for a, b in zip(whole, left):
                check(b["state"] in (a["state"], "unknown"), f"{judge}: {a}: {b}")
                check(b["state"] != "unknown" or a["state"] == "unknown" or "side files" in b["sentence"] or "--side-files" in b["sentence"], f"{b}")
                if b["state"] != "unknown" and b["criterion"] != "no_doubt":
                    check(abs(a["value"] - b["value"]) <= 1e-6 * abs(a["value"]), f"{judge}: {a}: {b}")
                    told += 1
                check(b["state"] != "met" or b["criterion"] in ("most_errors", "most_cached"), f"{b}")
        check(told >= 8, f"{told} criteria were told from /summary")


def test_part_of_a_phase():
    """Whether a phase that was ended by a signal meets a target is unknown, whatever its figures are until then, and to all the same."""
    targets = {"target_bandwidth": 1, "target_rate": 1e12, "target_p99": "1 h"}
    with Folder() as folder:
        write_job(folder, {"stores": {"s": {"uri": "sim://x", "latency": "1 ms"}},
                           "phases": [{"io": {"operation": "read", "size": "1 MB", "block": "4 KiB", "passes": 100000, **targets}}]})
        process = start(2, "run", "job.json", "--grace", "60 s", "--live", "-", "--quiet", cwd=folder)
        for line in process.stdout:
            if json.loads(line).get("bytes"):
                break
        process.send_signal(signal.SIGINT)
        r = finish(process, time.monotonic())
        p, = report(f"{folder}/results.h5")["phases"]
        check(p["status"] == "interrupted" and p["measures"]["bytes_read"] > 0, f"{r}: {p['status']}")
        check({t["name"]: t["state"] for t in p["targets"]} == dict.fromkeys(targets, "unknown"), f"{p['targets']}")
        check(alone("report", "--html", "page.html", "results.h5", cwd=folder).rc == 0, "page")
        page = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', open(f"{folder}/page.html").read(), re.S)[1])
        check([t["state"] for t in page["files"][0]["phases"][0]["targets"]] == ["unknown"] * len(targets), "page")
        text = " ".join(alone("report", "results.h5", cwd=folder).out.split())
        check(not re.search(r"\b(meets|misses|met|missed)\b", text.replace("neither met nor missed", "")), text)
        write_job(folder, {"rules": [{"phase": "io", "least_rate": 1}, {"phase": "io", "least_operations": 1e12}]}, "rules.json")
        r = alone("accept", "--json", "rules.json", "results.h5", cwd=folder)
        check(r.rc == 8 and {c["state"] for c in json.loads(r.out)["criteria"]} == {"unknown"}, f"{r}")


def test_refusals():
    with Folder() as folder:
        write_job(folder, JOB)
        r = mpi(1, "run", "job.json", "--repeat", 2, "--interleave", cwd=folder)
        check(r.rc == 2 and r.err == "haul: --interleave: there is nothing to take in turn without --sweep\n", f"{r}")
        r = mpi(1, "run", "job.json", "--quiet", cwd=folder)
        check(r.rc == 0, f"{r}")
        r = alone("compare", "results.h5", cwd=folder)
        check(r.rc == 2 and r.err.startswith("haul: there is nothing to compare with: give two files, "), f"{r}")


main()
