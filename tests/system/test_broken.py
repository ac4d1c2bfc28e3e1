# SPDX-License-Identifier: Apache-2.0
"""Broken jobs: haul refuses them on all ranks with exit status 2 and one sentence with the JSON path, and writes nothing.
The cases and a part of their sentences are in tests/fixtures/jobs; test_broken_jobs.c tests all of them without MPI."""
import os

from haultest import *


def cases():
    folder = os.path.join(SOURCE, "tests", "fixtures", "jobs")
    with open(os.path.join(folder, "expected.txt")) as f:
        for line in f:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                name, fragment = line.split("\t")
                yield os.path.join(folder, name), fragment


def refuse(path, fragment, ranks):
    with Folder() as folder:
        r = mpi(ranks, "run", path, cwd=folder)
        name = os.path.basename(path)
        check(r.rc == 2, f"{name}: {r}")
        lines = [line for line in r.err.splitlines() if line.strip()]
        check(len(lines) == 1 and lines[0].startswith("haul: "), f"{name}: the message is not one sentence: {r}")
        check(fragment in lines[0], f"{name}: {lines[0]!r} does not say {fragment!r}")
        check(os.listdir(folder) == [], f"{name}: haul wrote {os.listdir(folder)}")


@matrix
def test_refused():
    every = list(cases())
    check(len(every) >= 120, f"only {len(every)} cases")
    for i, (path, fragment) in enumerate(some(every, 20)):
        refuse(path, fragment, 3 if i % 4 == 0 and "ranks" not in path else 2)


def test_missing_job():
    refuse("/nonexistent/job.json", "No such file", 2)


def test_huge():
    """Jobs too large for the repository: 5 MiB of spaces in a list, and as many values as fit into 4 MiB."""
    with Folder() as folder:
        for name, text, says in (("huge.json", "[" + " " * (5 << 20) + "]", "larger than 4 MiB"),
                                 ("values.json", '{"phases": [' + "1," * (1 << 20) + "1]}", "values")):
            path = os.path.join(folder, name)
            with open(path, "w") as f:
                f.write(text)
            refuse(path, says, 2)


def test_unreadable_folder():
    with Folder() as folder:
        refuse(folder, "", 2)


def test_too_few_ranks():
    with Folder() as folder:
        path = write_job(folder, {
            "name": "few", "cluster": {"tensor": 4, "gpus": 8}, "stores": {"d": {"uri": "null://x"}},
            "dataset": {"store": "d", "files": 100, "sample_bytes": 4096}, "phases": [{"train": {}}]})
        refuse(path, "tensor", 2)


def test_no_phases():
    """A job without phases can be planned; every verb that would run it refuses it with one sentence."""
    with Folder() as folder:
        write_job(folder, {"name": "none", "stores": {"d": {"uri": f"file://{folder}/data"}}, "phases": []})
        for words in (["run"], ["run", "--repeat", 3], ["run", "--sweep", "seed=1,2"], ["generate"], ["clean"]):
            r = mpi(2, words[0], "job.json", *words[1:], cwd=folder)
            who = "--sweep seed=1" if "--sweep" in words else "job.json"
            check(r.rc == 2 and r.out == "" and
                  r.err == f"haul: {who}: /phases: is empty; a run needs at least one phase\n", f"{words}: {r}")
            check(os.listdir(folder) == ["job.json"], f"{words}: haul wrote {os.listdir(folder)}")


main()
