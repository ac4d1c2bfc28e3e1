# SPDX-License-Identifier: Apache-2.0
"""Golden outputs: haul says of the results in tests/fixtures/results, and of each job of the catalogue, byte by byte what the files
of this folder hold. Each file has the outputs of one verb in one form. A long output is held by its SHA-256 only, since files of
megabytes are read by nobody; of each form, some are held in full.

golden.py              compares, and prints the differences
golden.py --write      writes the files anew; the commit says which outputs changed, and why
golden.py --dump DIR   writes every output to a file of its own, in full: two programs are compared by diff -r of two folders
Behind each of them the names of verbs (plan, report …) choose some of the outputs."""
import concurrent.futures
import difflib
import glob
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("HAUL_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HAUL = os.environ.get("HAUL") or f"{SOURCE}/build/release/haul"
GOLDEN = f"{SOURCE}/tests/golden"
FIXTURES = f"{SOURCE}/tests/fixtures"
# Bytes of an output that is held in full. Those of FULL always are.
LONG = 12000
FULL = ("report training --json", "report kvcache --json", "report checkpoint --json", "report find --json", "report assess --page", "report tune --page",
        "report mixed --page", "compare a b --json", "compare a b --page", "plan vector_diskann --page", "export mlperf_saved", "validate --csv")
# The machine is that of a fixture, and the catalogue's stores are where they are for nobody.
ENV = {**{key: value for key, value in os.environ.items() if not key.startswith(("HAUL_", "AWS_", "PMI", "SLURM_", "PBS_", "FLUX_"))},
       "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "80", "HWLOC_XMLFILE": f"{FIXTURES}/topologies/dual.xml", "HWLOC_THISSYSTEM": "0"}

# What differs from one machine, hour or version to the next. This is the only place where outputs are changed.
VOLATILE = [
    (re.compile(pattern), word) for pattern, word in (
        (r"planned in [^\n]*", "planned in TIME"),
        (r"\bhaul \d+\.\d+\.\d+( \([0-9a-f]+\))?", "haul VERSION"),
        (r"(has|has only) [\d.]+ [kMGTP]?B and [\d,]+ inodes free", r"\1 SPACE free"),
        (r'("free_(bytes|inodes)": ?)\d+', r"\1SPACE"),
        (r'("(haul_)?(version|commit)": ?)"[^"]*"', r'\1"VERSION"'),
        (r"\bdocs/[a-z-]+\.md", "docs/PAGE"),
        # Two digits: the rest is sizes of structs, which differ between compilers and builds.
        (r'("memory_bytes_per_(?:rank|node)": ?\d\d)\d+', r"\1…"),
        # In the catalogue, MLPerf's data sets are as large as this machine's memory asks for.
        (r"(?m)^(mlperf_\w+) +[\d,]+ +[\d.]+ [kMGTP]?B ", r"\1 FILES SIZE "),
        # A draft of results is compressed by whatever zlib there is.
        (r"(results    about) [^\n]*", r"\1 SIZE"),
        (r'("(?:results_bytes|publication_bytes)": ?|"results": ?\{\s*"bytes": ?)\d+', r"\1SIZE"),
        (re.escape(SOURCE), "SOURCE"),
    )
]


def jobs():
    names = sorted(os.path.basename(path)[:-5] for path in glob.glob(f"{SOURCE}/workloads/catalog/*.json"))
    return [name for name in names if not name.startswith("_")]


def cases():
    """(file, name, words of the command); OUT stands for a file or folder that haul writes."""
    results = sorted(os.path.basename(path)[:-6] for path in glob.glob(f"{FIXTURES}/results/kinds/*.h5.xz")) + ["version_2"]
    yield "catalog.txt", "catalog", ["catalog"]
    yield "validate.txt", "validate", ["validate"]
    yield "validate.json", "validate --json", ["validate", "--json"]
    yield "validate.csv", "validate --csv", ["validate", "--csv"]
    for name in jobs():
        # Each rank of a distributed checkpoint is reckoned by itself, which takes seconds for 512 of them.
        counts = "1,4" if name.startswith(("torchtitan", "megatron_mixtral")) else "1,4,64"
        plan, nodes = ["plan", name, "--memory", "256 GiB"], ["--nodes", counts, "--nic", "2x25 GB/s", "--storage", "650 GB/s"]
        yield "plan.txt", f"plan {name}", plan
        yield "plan.json", f"plan {name} --json", [*plan, "--json"]
        yield "plan_nodes.txt", f"plan {name} --nodes", [*plan, *nodes]
        yield "plan_nodes.json", f"plan {name} --nodes --json", [*plan, *nodes, "--json"]
        check = ["check", name, "--memory", "256 GiB"]
        yield "check.txt", f"check {name}", check
        yield "check.json", f"check {name} --json", [*check, "--json"]
    for name in ("unet3d_h100", "mlperf_llama3_70b", "llama3_70b_load", "kvcache_mlperf", "vector_diskann"):
        yield "plan.page", f"plan {name} --page", ["plan", name, "--memory", "256 GiB", "--nodes", "1,4,64", "--html", "OUT"]
    for name in ("unet3d_h100", "unet3d_demo"):
        search = ["plan", name, "--memory", "256 GiB"]
        yield "plan.txt", f"plan {name} --sweep", [*search, "--sweep", "train.batch=2,4", "--sweep", "train.loader.workers=1,2"]
        yield "plan.txt", f"plan {name} --find", [*search, "--find", "train.batch=1..8", "--until", "train.au >= 0.9", "--repeat", "3"]
        yield "plan.txt", f"plan {name} --tune", [*search, "--tune", "train.loader.workers=1,2,4", "--tune-by", "train.rate"]
        yield "plan.txt", f"plan {name} --nodes 4 --ranks-per-node 8", [*search, "--nodes", "4", "--ranks-per-node", "8"]
    for name in results:
        yield from results_cases(name)
    yield from several(["a", "b"])
    yield from several(["alpha1", "alpha2", "alpha4", "beta1", "beta2", "beta4"])
    yield from several(["sweep"])
    yield from several(["generate", "training"])
    yield from exports()


def results_cases(name):
    report = ["report", f"{name}.h5"]
    yield "report.txt", f"report {name}", report
    yield "report.json", f"report {name} --json", [*report, "--json", "--steps", "8"]
    yield "report.csv", f"report {name} --csv", [*report, "--csv"]
    if name in ("assess", "find", "tune"):
        for form in ([], ["--json"], ["--csv"]):
            said = " ".join(["report", name, "--answer", *form])
            yield f"answer.{form[0][2:] if form else 'txt'}", said, [*report, "--answer", *form]
    yield "report.page", f"report {name} --page", [*report, "--html", "OUT"]
    yield "show.txt", f"show {name}", ["show", f"{name}.h5"]
    yield "check.txt", f"check {name}.h5", ["check", f"{name}.h5"]
    yield "check.json", f"check {name}.h5 --json", ["check", f"{name}.h5", "--json"]
    if name in ("a", "checkpoint", "failed", "mixed", "repeats", "training", "version_2"):
        yield "accept.txt", f"accept rules {name}", ["accept", "rules.json", f"{name}.h5"]
        yield "accept.json", f"accept rules {name} --json", ["accept", "rules.json", f"{name}.h5", "--json"]


def several(names):
    files, said = [f"{name}.h5" for name in names], " ".join(names)
    for verb, more in (("compare", []), ("report", ["--scaling"])) + ((("report", []),) if len(names) > 1 else ()):
        forms = [("txt", []), ("json", ["--json"]), ("csv", ["--csv"])] + ([] if more else [("page", ["--html", "OUT"])])
        for form, words in forms:
            option = ["--page"] if form == "page" else words
            yield f"{'scaling' if more else verb}.{form}", " ".join([verb, said, *more, *option]), [verb, *files, *more, *words]
    yield "scaling.svg", f"report {said} --svg", ["report", *files, "--svg", "OUT"]


def exports():
    for names in (["mlperf_trained"], ["mlperf_made", "mlperf_trained"], ["mlperf_saved"], ["mlperf_kvcache"], ["training"]):
        files = [f"{name}.h5" for name in names]
        yield "export.txt", f"export {' '.join(names)}", ["export", *files, "--mlperf", "OUT"]
    for name in ("mlperf_trained", "mlperf_saved", "mlperf_kvcache", "training"):
        for edition in ("mlperf-2.0", "mlperf-4.0"):
            yield "accept.txt", f"accept {edition} {name}", ["accept", edition, f"{name}.h5"]


def written(path):
    """The text of what haul wrote: of a page its data, of a folder all of its files."""
    if os.path.isdir(path):
        files = sorted(os.path.relpath(os.path.join(at, name), path) for at, _, names in os.walk(path) for name in names)
        return "".join(f"--- {name}\n{open(f'{path}/{name}', encoding='utf-8').read()}\n" for name in files)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if not text.lstrip().startswith("<!"):
        return text
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S).group(1)
    return json.dumps(json.loads(data), indent=1, ensure_ascii=False) + "\n"


def output(folder, number, words):
    """What haul prints and writes, and its exit status where that is not 0."""
    out = f"{folder}/out{number}"
    r = subprocess.run([HAUL, *(out if word == "OUT" else word for word in words)], cwd=folder, env=ENV, text=True, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=300)
    text = r.stdout + (f"--- stderr\n{r.stderr}" if r.stderr else "") + (f"--- exit {r.returncode}\n" if r.returncode else "")
    if os.path.exists(out):
        text += written(out)
    text = text.replace(out, "OUT").replace(folder, "FOLDER")
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return text


def held(name, text):
    """What the golden file holds of an output."""
    if len(text) > LONG and name not in FULL:
        return f"sha256 {hashlib.sha256(text.encode()).hexdigest()}, {len(text)} characters\n"
    return text


def outputs(chosen):
    """[(file, name, text)]"""
    with tempfile.TemporaryDirectory() as folder:
        for path in glob.glob(f"{FIXTURES}/results/kinds/*.h5.xz"):
            with lzma.open(path) as f, open(f"{folder}/{os.path.basename(path)[:-3]}", "wb") as to:
                shutil.copyfileobj(f, to)
        shutil.copy(f"{FIXTURES}/results/version_2.h5", folder)
        shutil.copy(f"{GOLDEN}/rules.json", folder)
        todo = [case for case in cases() if not chosen or case[2][0] in chosen]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            texts = pool.map(lambda at: output(folder, at[0], at[1][2]), enumerate(todo))
            return [(file, name, text) for (file, name, _), text in zip(todo, texts)]


def section(name, text):
    return f"===== {name}\n{text}" + ("" if text.endswith("\n") else "\n")


def read_golden(file):
    path = f"{GOLDEN}/{file}"
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        parts = re.split(r"^===== (.*)\n", f.read(), flags=re.M)
    return {name: section(name, text) for name, text in zip(parts[1::2], parts[2::2])}


def compare(made, whole):
    bad, golden = 0, {file: read_golden(file) for file in sorted({file for file, _, _ in made})}
    for file, name, text in made:
        old, new = golden[file].pop(name, ""), section(name, held(name, text))
        if old == new:
            continue
        bad += 1
        if bad <= 20:
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"golden/{file}", f"haul {name}", n=2))
    gone = [f"{file}: {name}" for file, names in golden.items() for name in names] if whole else []
    if bad or gone:
        print(f"{bad} of {len(made)} outputs are others, {len(gone)} are gone {gone}: see the head of tests/golden/golden.py")
    return 1 if bad or gone else 0


def write(made):
    for file in sorted({file for file, _, _ in made}):
        names = {**read_golden(file), **{name: section(name, held(name, text)) for at, name, text in made if at == file}}
        live = [name for at, name, _ in cases() if at == file]
        with open(f"{GOLDEN}/{file}", "w", encoding="utf-8") as f:
            f.writelines(names[name] for name in live)


def dump(made, folder):
    for file, name, text in made:
        os.makedirs(f"{folder}/{file}", exist_ok=True)
        with open(f"{folder}/{file}/{name.replace('/', '_')}", "w", encoding="utf-8") as f:
            f.write(text)


def run(words):
    if words[:1] == ["--dump"]:
        dump(outputs(words[2:]), words[1])
        return 0
    if words[:1] == ["--write"]:
        write(outputs(words[1:]))
        return 0
    made = outputs(words)
    assert len(made) > 20, made
    return compare(made, not words)


sys.exit(run(sys.argv[1:]))
