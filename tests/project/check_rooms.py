#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rooms as units: the build folder compiles each room, which is one folder of a layer, as one unit that includes all of its
files. Where it was configured with HAUL_UNITY=OFF, the rooms are compiled here.

    check_rooms.py SOURCE BUILD           the change set
    check_rooms.py SOURCE BUILD apart     each file by itself, as far as its meaning: what it uses, it includes. For every change,
                                          those that it touches or that include a header that it touches; in the long tests, all
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# Units of their own, with the reason.
ALONE = {
    "backends/table.c": "it alone may know which parts are built",
    "workloads/table.c": "programs with other workloads replace it",
}
OTHERS = ("tests", "bench", "build")
ROOMS_LEAST, FILES_LEAST = 40, 300


def cached(build, name):
    with open(os.path.join(build, "CMakeCache.txt")) as cache:
        found = re.search(rf"^{name}:[A-Z]+=(.*)$", cache.read(), re.M)
    return found.group(1) if found else ""


def configured(source, build, folder, unity):
    """Configures the folder as the build is, but for the units, and returns it."""
    same = [f"-D{name}={cached(build, name)}" for name in ("CMAKE_BUILD_TYPE", "CMAKE_C_COMPILER", "CMAKE_C_COMPILER_LAUNCHER")]
    subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DHAUL_UNITY={unity}", "-DHAUL_TESTS=OFF",
                    "-DHAUL_BENCH=OFF", *same], check=True, stdout=subprocess.DEVNULL)
    return folder


def compiled(build):
    """The files of the layers' and the program's own targets that the build compiles."""
    with open(os.path.join(build, "compile_commands.json")) as commands:
        return {one["file"] for one in json.load(commands)
                if re.search(r" -o \S*CMakeFiles/haul\w*\.dir/", one["command"])}


def touched(source, path, changed):
    """Whether a change touches the file or a header that it includes."""
    with open(path, encoding="utf-8") as stream:
        return not changed.isdisjoint([os.path.relpath(path, source), *re.findall(r'^#include "(.*)"', stream.read(), re.M)])


def alone(source, build, folder):
    """What the compiler says of the files that lack an include, each compiled by itself without code."""
    with open(os.path.join(configured(source, build, folder, "OFF"), "compile_commands.json")) as commands:
        files = {one["file"]: one for one in json.load(commands) if one["file"].startswith(source + os.sep)}
    every = len(files)
    if os.environ.get("HAUL_TEST_FULL") != "1":
        changed = subprocess.run(["bash", "-c", "source tests/project/changed.sh; changed '*.[ch]'"], cwd=source, check=True,
                                 capture_output=True, text=True).stdout.split()
        files = {path: one for path, one in files.items() if touched(source, path, set(changed))}

    def said(one):
        words = [word for word in shlex.split(one["command"]) if not word.startswith("-O") and word != "-c"]
        del words[words.index("-o"):words.index("-o") + 2]
        words += ["-fsyntax-only", f"-I{build}/generated"]
        return subprocess.run(words, cwd=one["directory"], capture_output=True, text=True).stderr

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return every, len(files), [text for text in pool.map(said, files.values()) if text]


def rooms(source, build):
    """Each folder's units: lists of files below the source tree."""
    found = {}
    for path in compiled(build):
        files = [path]
        if "/Unity/" in path:
            with open(path) as unit:
                files = re.findall(r'^#include "(.*)"', unit.read(), re.M)
        files = [os.path.relpath(file, source) for file in files]
        if files[0].split(os.sep)[0] not in (*OTHERS, os.pardir):
            found.setdefault(os.path.dirname(files[0]), []).append(files)
    return found


def main(source, build, apart=None):
    source, wrong = os.path.abspath(source), []
    with tempfile.TemporaryDirectory() as folder:
        if apart:
            every, count, wrong = alone(source, os.path.abspath(build), folder)
            print(*wrong, f"{count} of {every} files", sep="\n")
            return 1 if wrong or every < FILES_LEAST else 0
        if cached(build, "HAUL_UNITY") != "ON":
            build = configured(source, build, folder, "ON")
            subprocess.run(["cmake", "--build", build, "--target", "haul"], check=True)
        found = rooms(source, build)
    for room, units in sorted(found.items()):
        together = [unit for unit in units if unit[0] not in ALONE or len(unit) > 1]
        if len(together) != 1:
            wrong.append(f"{room}: {len(together)} units: {[unit[0] for unit in together]}")
        wrong += [f"{room}: {file} is of another room" for unit in units for file in unit if os.path.dirname(file) != room]
    count = sum(len(unit) for units in found.values() for unit in units)
    print(*wrong, f"{len(found)} rooms, {count} files", sep="\n")
    return 1 if wrong or len(found) < ROOMS_LEAST else 0


sys.exit(main(*sys.argv[1:]))
