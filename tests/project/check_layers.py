"""The order of the layers, read from the includes.

Fails when a file includes a layer it may not know, or a library outside the folders that own it.
Long files and functions are named, not refused: style.md calls them examples, not limits.
"""
import os
import re
import sys

KNOWS = {
    "core": {"core"},
    "backends": {"core", "backends"},
    "workloads": {"core", "backends", "workloads"},
    "plan": {"core", "backends", "workloads", "plan"},
    "results-schema": {"core", "results-schema"},
    "ranks": {"core", "backends", "workloads", "plan", "results-schema", "ranks"},
    "report": {"core", "results-schema", "report"},
    "import": {"core", "import"},
    "cli": {"core", "backends", "workloads", "plan", "results-schema", "ranks", "report", "import", "cli"},
}
# A library's header, and the layers that may include it. Tests and benches may include anything.
LIBRARIES = {
    r"mpi\.h": {"ranks", "results-schema"},
    r"(hdf5|H5\w+)\.h": {"results-schema"},
    r"curl/.*": {"backends"},
    r"hwloc.*": {"plan", "ranks", "cli"},
    r"openssl/.*": {"backends"},
    r"expat\.h": {"backends"},
    r"(cjson/)?cJSON\.h": {"core", "backends", "plan", "report", "cli", "results-schema", "workloads", "import"},
    r"yaml\.h": {"import"},
}
GENERATED = {"haul_build.h"}
FILE_LINES, FUNCTION_LINES = 600, 60
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(root):
    for layer in KNOWS:
        for folder, _, names in os.walk(os.path.join(root, layer)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield layer, os.path.join(folder, name)


def wrong_includes(layer, lines):
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, target = match.group(1) == '"', match.group(2)
        if quoted and target in GENERATED:
            continue
        if quoted:
            other = target.split("/")[0]
            if other not in KNOWS or "/" not in target:
                yield number, f'"{target}" is no path from the root'
            elif other not in KNOWS[layer]:
                yield number, f"{layer} may not include {other} ({target})"
        for pattern, owners in LIBRARIES.items():
            if re.fullmatch(pattern, target) and layer not in owners:
                yield number, f"<{target}> belongs to {', '.join(sorted(owners))}"


def long_functions(lines):
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            if number - start - 1 > FUNCTION_LINES:
                yield start - 1, number - start - 1
            start = None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.environ["HAUL_SOURCE"]
    wrong = files = 0
    for layer, path in sources(root):
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
        name = os.path.relpath(path, root)
        files += 1
        for number, sentence in wrong_includes(layer, lines):
            print(f"{name}:{number}: {sentence}")
            wrong += 1
        if len(lines) > FILE_LINES:
            print(f"note: {name}: {len(lines)} lines")
        for number, length in long_functions(lines):
            print(f"note: {name}:{number}: a function of {length} lines: {lines[number - 1].strip()}")
    print(f"{files} files, {wrong} wrong includes")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
