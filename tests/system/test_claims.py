# SPDX-License-Identifier: Apache-2.0
"""A claim is the same wherever it is told: whether targets are met, of two results of every kind, whole, with their side files left behind,
interrupted, doubtful and void, in the text, JSON, CSV, the page, by accept, compare and export; and none is better than that of the whole
file."""
import collections
import csv
import glob
import io as texts
import itertools

import h5py

from haultest import *
from test_figures import every_kind, flaky_server, more_kinds
from test_object_dialects import KEYS

# Of each kind: targets that are met and missed, and the criterion of accept that asks the same.
TARGETS = {
    "train": {"target_au": (1e-6, 1, "least_au"), "target_rate": (1e-3, 1e12, "least_samples"),
              "target_p99": ("1 h", "1 ns", "most_p99")},
    "io": {"target_rate": (1e-3, 1e12, "least_operations"), "target_bandwidth": (1, 1e15, "least_rate"),
           "target_p99": ("1 h", "1 ns", "most_p99")},
    "checkpoint": {"target_write_seconds": (1e6, 1e-9, "most_checkpoint_time"), "target_read_seconds": (1e6, 1e-9, "most_restore_time")},
    "kvcache": {"target_read_bandwidth": (1, 1e15, "least_read_rate"), "target_hit_rate": (1e-9, 1, None)},
    "load": {"target_load_seconds": (1e6, 1e-9, None)},
    "replay": {"target_bandwidth": (1, 1e15, "least_rate"), "target_rate": (1e-3, 1e12, None)},
    "vector": {"target_rate": (1e-3, 1e12, None), "target_p99": ("1 h", "1 ns", None)},
}
CRITERIA = {bounds[2] for kind in TARGETS.values() for bounds in kind.values()}
SAID = {"met": {"meets"}, "missed": {"misses"}, "unknown": {"is unknown", "would meet", "would miss"}}
REPEATS = 2


def asked(job, which):
    """The job, each phase with all targets of its kind, and rules that ask the same."""
    rules = []
    for phase in job["phases"]:
        kind, options = next(iter(phase.items()))
        if kind not in TARGETS or (kind == "vector" and options["operation"] != "search"):
            continue
        options.update({key: 0.3 for key in ("seconds", "duration") if key in options})
        for name, bounds in TARGETS[kind].items():
            options[name] = bounds[which]
            if bounds[2]:
                rules.append({"phase": options.get("name", kind), bounds[2]: bounds[which]})
    return job, rules


def of_page(path):
    check(alone("report", "--html", f"{path}.html", path).rc == 0, "page")
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', open(f"{path}.html").read(),
                                re.S).group(1))["files"][0]


def states(data):
    """The state of each target of each run of a phase."""
    return {(p["name"], p["run"], t["name"]): t["state"] for p in data["phases"] for t in p["targets"] or ()}


def voided(data):
    return {p["name"] for p in data["phases"] if any(d["voids"] for d in p["doubts"] or ())}


def exported(path, data):
    """What a tree says of its trainings: a success only where AU is met by figures that count."""
    tree = f"{path}.tree"
    r = alone("export", "--mlperf", tree, path)
    found = [json.load(open(one))["metric"]["train_au_meet_expectation"] for one in sorted(glob.glob(f"{tree}/**/training/*/run/2*/summary.json", recursive=True))]
    trained = [p for p in data["phases"] if p["kind"] == "train"] if r.rc == 0 else []
    gone = any(d["doubt"] == "details" for p in data["phases"] for d in p["doubts"] or ())
    check(len(found) == len(trained) and (not gone or r.rc == 2 and ".runs along" in r.err), f"{found}: {r}")
    for p, said in zip(trained, found):
        met = [t["state"] for t in p["targets"] or () if t["name"] == "target_au"] == ["met"] and p["name"] not in voided(data)
        check(said == "fail" or met, f"exported as {said}: {p['targets']}, {p['doubts']}")


def claims(path, rules):
    """{(phase, run, target or criterion): state}, which all outputs tell alike."""
    data, page, text = report(path), of_page(path), alone("report", path).out
    found = states(data)
    check(states(page) == found and voided(page) == voided(data), f"page: {found}")
    # Phases of one name may be several of a run, each with a verdict of its own.
    nth, lines = collections.Counter(), {}
    for p in data["phases"]:
        nth[p["run"], p["name"]] += 1
        void_too = any(d["voids"] for d in p["doubts"] or ())
        of = lines.setdefault(p["name"], {})
        of[nth[p["run"], p["name"]]] = of.get(nth[p["run"], p["name"]], False) or void_too
    void = {name for name, of in lines.items() if all(of.values())}
    check(page["headline"] == data["headline"], f"{page['headline']}: {data['headline']}")
    words = " ".join(text.split())
    check(" ".join(data["headline"].split()) in words, text)
    rows = list(csv.DictReader(texts.StringIO(alone("report", "--csv", path).out)))
    check([row["status"] for row in rows] == [p["status"] for p in data["phases"]], f"CSV: {[row['status'] for row in rows]}")
    first = data["phases"][data["headline_phase"]]
    check(not first["rates"].get("bytes_per_second") or "has no figure" not in data["headline"], data["headline"])
    for p in data["phases"]:
        for t in p["targets"] or ():
            said = re.findall(rf"[.;] {p['name']}: {re.escape(t['label'])} [^;]{{0,60}}?(meets|misses|is unknown|would meet|would miss)([^.]*(?:\.\d[^.]*)*)\.", words)
            check({one for one, _ in said} <= SAID[t["state"]], f"{t}: {said}")
            # Figures that are void do not count, in each sentence.
            check(p["name"] not in void or all("does not count" in rest or one == "is unknown" for one, rest in said), f"{t}: {said}")
            check((t["state"] == "met") == t["met"] and (not t["met"] or t["found"] is not None), f"{t}")
            check(t["state"] == "unknown" or not any(d["voids"] for d in p["doubts"] or ()), f"{p['name']}: {t}, {p['doubts']}")
    check(not any(d["voids"] for d in first["doubts"] or ()) or "not count" in data["headline"], data["headline"])
    folder = os.path.dirname(path)
    write_job(folder, {"rules": rules}, "rules.json")
    r = alone("accept", "--json", "rules.json", path, cwd=folder)
    told = json.loads(r.out)["criteria"]
    for rule, one in zip(rules, told):
        name = next(name for kind in TARGETS.values() for name, bounds in kind.items() if bounds[2] == one["criterion"] and
                    name in {t["name"] for p in data["phases"] for t in p["targets"] or () if p["name"] == rule["phase"]} | {name})
        runs = {state for (phase, _, target), state in found.items() if (phase, target) == (rule["phase"], name)}
        # Without its side files a result has no targets, and with them an unknown one cannot be met.
        check(one["state"] == "unknown" or one["state"] in runs and "unknown" not in runs, f"{name} is {runs}: {one}")
        found[rule["phase"], 0, one["criterion"]] = one["state"]
    check((r.rc == 0) == all(one["state"] == "met" for one in told), f"{r}")
    check(("Accepted: " in alone("accept", "rules.json", path, cwd=folder).out) == (r.rc == 0), f"{r}")
    write_job(folder, {"rules": [{"phase": name, "no_doubt": True} for name in lines]}, "doubts.json")
    verdicts = json.loads(alone("accept", "--json", "doubts.json", path, cwd=folder).out)["criteria"]
    for name, of in lines.items():
        told = [one["state"] for one in verdicts if one["phase"] == name]
        check(told.count("met") <= list(of.values()).count(False), f"{name}: {verdicts}, void: {of}")
        found[name, 0, "no_doubt"] = next((state for state in told if state != "met"), "met")
    exported(path, data)
    return found


def compared(a, b):
    """{phase: claim}; of void sides, of parts, and of those whose details are away, nothing is claimed."""
    r = alone("compare", "--json", a, b)
    found = {pair["phase"]: pair["claim"] for pair in json.loads(r.out)["pairs"]} if r.rc == 0 else {}
    void = voided(report(a)) | voided(report(b))
    void |= {p["name"] for path in (a, b) for p in report(path)["phases"] if any(d["doubt"] == "details" for d in p["doubts"] or ())}
    check(all(claim == "unknown" for phase, claim in found.items() if phase in void), f"{found}, void: {void}")
    return found


def never_better(whole, other, about):
    check(other.keys() <= whole.keys(), f"{about}: {other.keys() - whole.keys()}")
    for key, state in other.items():
        check(state in (whole[key], "unknown") or (state == "missed" and key[2] in CRITERIA), f"{about}: {key} is {state}, of the whole file {whole[key]}")


def interrupted(path):
    """The same, as if its last run had been ended by a signal."""
    for name in (path, *glob.glob(f"{path}.runs/*")):
        with h5py.File(name, "r+") as file:
            for phase in file["phases"].values() if "phases" in file else ():
                if isinstance(phase, h5py.Group) and "status" in phase.attrs:
                    phase.attrs.modify("status", b"interrupted")


def holds(job, env=None):
    sides = []
    for which in (0, 1):
        folder = tempfile.mkdtemp(dir=os.getcwd())
        asks, rules = asked(job(folder), which)
        asks["stores"]["memory"] = {"uri": "sim://memory", "latency": "100 us", "open_latency": "100 us"}  # mem:// serves one node
        if "flaky" in asks["stores"]:
            asks["stores"]["flaky"].update(latency="100 us", open_latency="100 us")
        write_job(folder, asks)
        r = mpi(2, "run", "job.json", "--quiet", "--fake-nodes", 2, "--side-files", "--repeat", REPEATS, cwd=folder, env=env)
        check(r.rc in (0, 8), f"{r}")
        path = f"{folder}/results.h5"
        whole = claims(path, rules)
        want = ("met", "missed")[which]
        wrong = {key: state for key, state in whole.items() if state not in (want, "unknown") and key[2] != "no_doubt"}
        check(not wrong and list(whole.values()).count(want) >= 4, f"{want}: {whole}")
        judged = {phase for phase, run, _ in whole if run}
        check(voided(report(path)) & judged and judged - voided(report(path)), f"of {judged}, void: {voided(report(path))}")
        for name in ("away", "part"):
            os.mkdir(f"{folder}/{name}")
            shutil.copy(path, f"{folder}/{name}")
        shutil.copytree(f"{path}.runs", f"{folder}/part/results.h5.runs")
        interrupted(f"{folder}/part/results.h5")
        left, part = claims(f"{folder}/away/results.h5", rules), claims(f"{folder}/part/results.h5", rules)
        never_better(whole, left, "without side files")
        never_better(whole, part, "interrupted")
        check(not any(state == "met" for state in part.values()), f"interrupted: {part}")
        sides.append((path, f"{folder}/away/results.h5", f"{folder}/part/results.h5"))
    whole = compared(sides[0][0], sides[1][0])
    check(whole, "nothing is compared")
    for a, b in itertools.product(*sides):
        found = compared(a, b)
        check(all(found[key] in (whole.get(key), "unknown") for key in found), f"{a}, {b}: {found}, whole {whole}")


def test_kinds():
    with Folder() as folder:
        os.chdir(folder)
        holds(every_kind)


@long
def test_more_kinds():
    with Folder() as folder, flaky_server() as server:
        os.chdir(folder)
        holds(lambda path: more_kinds(path, server), KEYS)


if __name__ == "__main__":
    main()
