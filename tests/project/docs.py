# SPDX-License-Identifier: Apache-2.0
"""Documentation: the documents agree with the program. Links lead to files and headings, in the source tree and in an
installation. haul plan accepts the jobs that are shown. The verbs and options after `haul` exist, and some document
explains each key of a job. Each fenced block names its language, so that docs_commands.py knows the commands. The examples
of a format, a workload and a store are the files that the tests compile, and the table of capabilities is complete. The
source files that are named exist. References and man pages are what the program's tables give, and man prints them without
a warning."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HAUL, SOURCE = os.environ["HAUL"], os.environ["HAUL_SOURCE"]
EXAMPLES = {"add-a-format-example.md": "workloads/formats/webdataset.c", "add-a-workload-example.md": "workloads/lookup.c",
            "add-a-backend-example.md": "backends/zero.c"}
PAGE_WORDS = 1500  # at most, except references, which are generated
# What a newcomer must find by the table of contents alone: its words, and the page to which they lead.
QUESTIONS = {"how to run on S3": "stores-objects.md", "what AU is": "reading-results.md",
             "how to write a checkpoint of llama3_8b": "checkpoints.md", "how to add a format": "add-a-format.md"}
LANGUAGES = {"sh", "console", "text", "json", "c", "python"}  # commands; commands with output; output and drawings; the rest
SOURCES = ("core", "facts", "backends", "workloads", "plan", "ranks", "results-schema", "report", "import", "cli", "tests", "bench",
           "packaging", "docs", "cmake", "batch", "slurm", "pbs", "flux", "completion")
OWN = {"batch/setup.sh"}  # files that a user may write
FOLDERS = ("docs", "results-schema", "bench", "tests")  # in addition to the pages beside README.md


def haul(*words):
    return subprocess.run([HAUL, *words], capture_output=True, text=True,
                          env={**os.environ, "HAUL_DATA": "/tmp"})


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def prose(text):
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.S | re.M)


def documents(root, folders):
    return [*sorted(glob.glob(os.path.join(root, "*.md"))),
            *(path for folder in folders
              for path in sorted(glob.glob(os.path.join(root, folder, "**", "*.md"), recursive=True)))]


def anchors(path):
    """The anchors of the headings: in lower case, with hyphens for spaces, without other signs."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ +(.*?) *$", prose(read(path)), re.M)}


def wrong_links(root, paths):
    for path in paths:
        name = os.path.relpath(path, root)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(read(path))):
            if link.startswith("http"):
                continue
            to, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), to)) if to else path
            if not os.path.exists(target) or os.path.relpath(target, root).startswith(".."):
                yield f"{name}: no such file: {link}"
            elif anchor and anchor not in anchors(target):
                yield f"{name}: no such heading: {link}"


def wrong_installed_links():
    """The wrong links in the installed documents."""
    with tempfile.TemporaryDirectory() as prefix:
        done = subprocess.run(["cmake", "--install", os.path.dirname(HAUL), "--prefix", prefix], capture_output=True, text=True)
        readmes = [path for path in glob.glob(os.path.join(prefix, "share", "doc", "**", "README.md"), recursive=True)
                   if os.path.isdir(os.path.join(os.path.dirname(path), "docs"))]
        if done.returncode or len(readmes) != 1:
            yield f"installed: {len(readmes)} README.md; {done.stderr.strip()}"
            return
        root = os.path.dirname(readmes[0])
        pages = documents(root, FOLDERS)
        if len(pages) < 10:
            yield f"installed: only {len(pages)} documents"
        yield from (f"installed: {sentence}" for sentence in wrong_links(root, pages))


def without_licence(text):
    return re.sub(r"\A(//|/\*) SPDX-.*\n", "", text)


def wrong_examples():
    for page, source in EXAMPLES.items():
        shown = re.findall(r"```c\n(.*?)```", read(f"{SOURCE}/docs/{page}"), re.S)
        if shown != [without_licence(read(f"{SOURCE}/tests/{source}"))]:
            yield f"docs/{page}: the example is not tests/{source}"
    bits = re.findall(r"^\tX\((\w+), ", read(f"{SOURCE}/backends/capability.h"), re.M)
    rows = re.findall(r"^   \| `([A-Z_]*[A-Z])` \|", read(f"{SOURCE}/docs/add-a-backend.md"), re.M)
    if bits != rows:
        yield f"docs/add-a-backend.md: the table has {rows}, capability.h {bits}"


def wrong_pages():
    """Pages that are too long, and those to which the table of contents has no link."""
    contents = f"{SOURCE}/docs/README.md"
    linked = {os.path.normpath(os.path.join(SOURCE, "docs", link.partition("#")[0]))
              for link in re.findall(r"\]\(([^)\s]+)\)", prose(read(contents)))}
    for page in glob.glob(f"{SOURCE}/docs/**/*.md", recursive=True) + glob.glob(f"{SOURCE}/results-schema/*.md"):
        name, words = os.path.relpath(page, SOURCE), len(read(page).split())
        if words > PAGE_WORDS and not os.path.basename(page).startswith("reference-"):
            yield f"{name}: {words} words; a page has at most {PAGE_WORDS}"
        if page not in linked and page != contents:
            yield f"{name}: docs/README.md has no link to it"


def unanswered_questions():
    lines = read(f"{SOURCE}/docs/README.md").split("\n")
    for words, page in QUESTIONS.items():
        if not any(words in line and f"]({page})" in line for line in lines):
            yield f"docs/README.md: \"{words}\" does not lead to {page}"


def wrong_references():
    """References and man pages that docs/references.py would make otherwise, or at which man warns."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, f"{SOURCE}/docs/references.py", HAUL, folder], check=True)
        for path in sorted(glob.glob(f"{folder}/**/*.*", recursive=True)):
            name = os.path.relpath(path, folder)
            if not os.path.exists(f"{SOURCE}/docs/{name}") or read(path) != read(f"{SOURCE}/docs/{name}"):
                yield f"docs/{name}: is not what the tables say: docs/references.py build/release/haul makes it anew"
            if not name.endswith(".md"):
                done = subprocess.run(["man", "--warnings", f"./{os.path.basename(path)}"], capture_output=True, text=True,
                                      cwd=os.path.dirname(path), env={**os.environ, "LC_ALL": "C.UTF-8", "MANPAGER": "cat"})
                if done.returncode or done.stderr:
                    yield f"docs/{name}: man says: {done.stderr.strip() or done.returncode}"


def missing_sources(name, text, sources):
    """Source files and folders that a page names and that do not exist: as code by their path or the end of it, and anywhere
    by a path that begins with a folder of the sources."""
    folders = {os.path.dirname(source) for source in sources}
    folders |= {os.path.dirname(folder) for folder in folders} | set(SOURCES)
    named = re.findall(r"`([a-z0-9_/-]+\.(?:[ch]|py|sh|pbs|cmake))`", text)
    named += re.findall(rf"(?<![\w/.$}}-])((?:{'|'.join(SOURCES)})/[\w/.-]*\w)", text)
    for path in sorted(set(named)):
        if not any(source == path or source.endswith("/" + path) for source in sources) and path not in folders \
           and "NAME" not in path and path not in OWN:
            yield f"{name}: no such file: {path}"


def wrong_blocks(name, text):
    for block in re.findall(r"```json\n(.*?)```", text, re.S):
        if '"phases"' not in block:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".json") as job:
            json.dump(json.loads(block), job)
            job.flush()
            done = haul("plan", job.name, "--nodes", "1", "--ranks-per-node", "8")
            if done.returncode:
                yield f"{name}: {done.stderr.strip()}"
    for language in re.findall(r"^ *```(\S*)$", text, re.M)[::2]:
        if language not in LANGUAGES:
            yield f"{name}: a block is of language \"{language}\", not of {', '.join(sorted(LANGUAGES))}"


def wrong_commands(name, text, verbs):
    """Checks the calls of haul in blocks and within sentences. The words before haul set environment variables, or are a
    launcher."""
    code = "\n".join(re.findall(r"```\w*\n(.*?)```", text, re.S))
    lines = re.findall(r"^ *(?:\$ )?((?:\w+=\S+ )*(?:mpiexec \S+ \d+ )?(?:build/release/)?haul .*)$", code, re.M)
    spans = re.findall(r"`((?:mpiexec \S+ \d+ )?(?:build/release/)?haul [^`]+)`", prose(text).replace("\n", " "))
    for line in lines + spans:
        words = line.split("haul ", 1)[1].split("#")[0].split()
        if words and words[0] == "VERB":
            continue
        if not words or words[0] not in verbs:
            yield f"{name}: no such verb: {line}"
            continue
        if words[:2] == ["import", "mlpstorage"]:
            continue  # the flags are mlpstorage's
        for option in (w.split("=")[0] for w in words if w.startswith("--")):
            if option not in verbs[words[0]]:
                yield f"{name}: {words[0]} has no {option}"


def keys_of(schema):
    """All names of properties in a JSON Schema."""
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})).union(*map(keys_of, schema.values()))


def unexplained_keys():
    """Keys of a job that no document for users contains as code."""
    text = " ".join(read(path) for path in glob.glob(f"{SOURCE}/docs/*.md") if "reference-" not in path)
    keys = keys_of(json.loads(haul("schema").stdout))
    assert {"batch", "endpoints", "uri"} <= keys, keys
    return [f"{key}: no page of docs/ explains this key of a job" for key in sorted(keys)
            if not re.search(rf'[`".]{key}[`":=]', text)]


def main():
    verbs = {}
    for verb in haul("__complete").stdout.split():
        verbs[verb] = set(w for w in haul("__complete", verb).stdout.split() if w.startswith("-"))
    assert "run" in verbs, "no verbs"
    wrong = [*wrong_examples(), *wrong_links(SOURCE, documents(SOURCE, FOLDERS)), *wrong_installed_links(),
             *unexplained_keys(), *wrong_pages(), *unanswered_questions(), *wrong_references()]
    pages = documents(SOURCE, ["docs"])
    sources = [os.path.relpath(os.path.join(folder, name), SOURCE) for layer in SOURCES
               for folder, _, names in os.walk(os.path.join(SOURCE, layer)) for name in names]
    sources += [name for name in os.listdir(SOURCE) if os.path.isfile(os.path.join(SOURCE, name))]
    for page in documents(SOURCE, FOLDERS):
        wrong += missing_sources(os.path.relpath(page, SOURCE), read(page), sources)
    for page in pages:
        name, text = os.path.relpath(page, SOURCE), read(page)
        wrong += [*wrong_blocks(name, text), *wrong_commands(name, text, verbs)]
    print("\n".join(wrong) or f"{len(pages)} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
