"""The documents agree with the program: links lead somewhere, haul plan accepts whole jobs, verbs and options named after
`haul` exist, each fenced block names its language, so that docs_commands.py knows the commands, and the
examples are what the tests compile."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HAUL, SOURCE = os.environ["HAUL"], os.environ["HAUL_SOURCE"]


def haul(*words):
    return subprocess.run([HAUL, *words], capture_output=True, text=True,
                          env={**os.environ, "HAUL_DATA": "/tmp"})


wrong = []
verbs = {}
for verb in haul("__complete").stdout.split():
    verbs[verb] = set(w for w in haul("__complete", verb).stdout.split() if w.startswith("-"))
assert "run" in verbs, "no verbs"

with open(os.path.join(SOURCE, "backends", "capability.h"), encoding="utf-8") as stream:
    bits = re.findall(r"^\tX\((\w+), ", stream.read(), re.M)
with open(os.path.join(SOURCE, "docs", "add-a-backend.md"), encoding="utf-8") as stream:
    rows = re.findall(r"^   \| `([A-Z_]*[A-Z])` \|", stream.read(), re.M)
if bits != rows:
    wrong.append(f"docs/add-a-backend.md: the table has {rows}, capability.h {bits}")

for page, source in (("add-a-format.md", "workloads/formats/webdataset.c"), ("add-a-workload.md", "workloads/lookup.c"),
                     ("add-a-backend.md", "backends/zero.c")):
    with open(os.path.join(SOURCE, "docs", page), encoding="utf-8") as stream:
        example = re.findall(r"```c\n(.*?)```", stream.read(), re.S)
    with open(os.path.join(SOURCE, "tests", source), encoding="utf-8") as stream:
        if example != [stream.read()]:
            wrong.append(f"docs/{page}: the example is not tests/{source}")

LANGUAGES = {"sh", "console", "text", "json", "c", "python"}  # commands; commands with output; output and drawings; the rest
pages = [os.path.join(SOURCE, "README.md"), *glob.glob(os.path.join(SOURCE, "docs", "**", "*.md"), recursive=True)]
for page in pages:
    name = os.path.relpath(page, SOURCE)
    with open(page, encoding="utf-8") as stream:
        text = stream.read()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        if not os.path.exists(os.path.join(os.path.dirname(page), link)):
            wrong.append(f"{name}: no such file: {link}")
    for block in re.findall(r"```json\n(.*?)```", text, re.S):
        if '"phases"' not in block:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".json") as job:
            json.dump(json.loads(block), job)
            job.flush()
            done = haul("plan", job.name, "--nodes", "1", "--ranks-per-node", "8")
            if done.returncode:
                wrong.append(f"{name}: {done.stderr.strip()}")
    for language in re.findall(r"^ *```(\S*)$", text, re.M)[::2]:
        if language not in LANGUAGES:
            wrong.append(f"{name}: a block is of language \"{language}\", not of {', '.join(sorted(LANGUAGES))}")
    code = "\n".join(re.findall(r"```\w*\n(.*?)```", text, re.S))
    for line in re.findall(r"^(?:\$ )?((?:mpiexec \S+ \d+ )?(?:build/release/)?haul .*)$", code, re.M):
        words = line.split("haul ", 1)[1].split("#")[0].split()
        if not words or words[0] not in verbs:
            wrong.append(f"{name}: no such verb: {line}")
            continue
        for option in (w.split("=")[0] for w in words if w.startswith("--")):
            if option not in verbs[words[0]]:
                wrong.append(f"{name}: {words[0]} has no {option}")

print("\n".join(wrong) or f"{len(pages)} pages")
sys.exit(1 if wrong else 0)
