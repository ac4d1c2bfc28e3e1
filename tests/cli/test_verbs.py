# SPDX-License-Identifier: Apache-2.0
"""Verbs that run without MPI: schema, catalog, plan, report, topo, doctor and version, each on real input."""
import json
import os
import tempfile

from clitest import check, haul, main, refused


def test_schema():
    r = haul("schema")
    check(r.returncode == 0 and r.stderr == "", r)
    schema = json.loads(r.stdout)
    check("2020-12" in schema["$schema"] and "phases" in schema["properties"], schema.keys())
    r = haul("schema", "--reference")
    check(r.returncode == 0 and "batch" in r.stdout and "sample_bytes" in r.stdout, r)


def test_catalog():
    r = haul("catalog")
    check(r.returncode == 0 and r.stderr == "", r)
    lines = r.stdout.splitlines()
    check(all(len(line) <= 100 for line in lines), r.stdout)
    rows = {line.split()[0]: line for line in lines if line.startswith("unet3d")}
    check("4,300,800" in rows["unet3d_aurora"] and "11.00" in rows["unet3d_aurora"] and
          "90 %" in rows["unet3d_aurora"], rows)
    check("3.18" in rows["unet3d_h100"], rows)
    jobs = [i for i, line in enumerate(lines[1:-2], 1) if not line.startswith(" ")]
    check(jobs and all(lines[i + 1].startswith("  ") and lines[i + 1].endswith(".") for i in jobs), "a job without its sentence")
    with tempfile.TemporaryDirectory() as folder:
        r = haul("catalog", env={"HAUL_CATALOG": folder})
        check(r.returncode == 0 and "unet3d" not in r.stdout, r)


def test_near_names():
    """For a part of a name, the refusal lists the ready jobs that begin with it, or else those that contain it."""
    refused(haul("plan", "unet3d"), '"unet3d" is not a file, and no ready job is called that; there are unet3d_a100, ',
            "unet3d_demo", "unet3d_h100")
    refused(haul("plan", "ResNet50"), "there are resnet50_a100, resnet50_h100, resnet50_tf, resnet50_v100")
    refused(haul("plan", "aurora"), "there is unet3d_aurora")
    refused(haul("plan", "unet3d_h1000"), 'did you mean "unet3d_h100"?')
    refused(haul("plan", "qqqqqqqqqq"), "haul catalog lists them")
    with tempfile.TemporaryDirectory() as folder:
        for i in range(100):
            with open(f"{folder}/a_long_name_of_a_job_{i:03}.json", "w"):
                pass
        r = haul("plan", "long_name", env={"HAUL_CATALOG": folder})
        refused(r, "a_long_name_of_a_job_000, ", ", ...")
        check(len(r.stderr) < 1000, r)


def test_report_on_other_files():
    refused(haul("report", "/nonexistent/results.h5"), "/nonexistent/results.h5")
    with tempfile.NamedTemporaryFile() as f:
        f.write(b"rubbish" * 1000)
        f.flush()
        refused(haul("report", f.name), os.path.basename(f.name))
    refused(haul("report", "a.h5", "--json", "--csv"), "exclude")


def test_folder():
    """A line for each results file; others are counted."""
    results = os.path.join(os.environ["HAUL_SOURCE"], "tests", "fixtures", "results", "version_2.h5")
    with tempfile.TemporaryDirectory() as folder:
        r = haul("report", folder)
        check(r.returncode == 0 and r.stdout == "there are no results files here\n" and r.stderr == "", r)
        for name in ("b.h5", "a.h5"):
            os.symlink(results, os.path.join(folder, name))
        for name in ("rubbish.h5", "notes.txt"):
            with open(os.path.join(folder, name), "w") as f:
                f.write("rubbish")
        r = haul("report", folder)
        lines = r.stdout.splitlines()
        check(r.returncode == 0 and [line.split()[0] for line in lines[:3]] == ["file", "a.h5", "b.h5"], r)
        check("2026-11-26 14:46" in lines[1] and "done" in lines[1] and len(lines) == 4, r)
        check(lines[3] == "1 more file is named *.h5, not of haul", r)
        rows = json.loads(haul("report", folder, "--json").stdout)["results"]
        check([row["file"] for row in rows] == ["a.h5", "b.h5"] and rows[0]["ranks"] == 2, rows)
        check(0 < rows[0]["au"] < 1 and rows[0]["phase"] != "", rows)


def test_page():
    """A page is written as a whole or not at all, and never over results."""
    results = os.path.join(os.environ["HAUL_SOURCE"], "tests", "fixtures", "results", "version_2.h5")
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        r = haul("report", "--html", page, results)
        check(r.returncode == 0 and r.stdout == "" and r.stderr == "", r)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        check(text.startswith("<!doctype html>") and "version_2" in text and text.rstrip().endswith("</html>"), text[:300])
        with open(page, "rb") as f:
            before = f.read()
        refused(haul("report", "--html", page, "/nonexistent/results.h5"), "/nonexistent/results.h5")
        with open(page, "rb") as f:
            check(f.read() == before, "the page of other results is gone")
        refused(haul("report", "--html", results), "is no page of haul")
        refused(haul("report", "--html", page, "--json", results), "--html has all of it")
        refused(haul("compare", "--html", page, "--json", results), "--html and --json exclude each other")
        refused(haul("compare", "--html", results, results), "is no page of haul")
        r = haul("report", "--html", "/dev/full", results)
        check(r.returncode == 2 and "/dev/full is a device" in r.stderr, f"{r}")


def test_compare_of_other_files():
    refused(haul("compare"), "compare: needs FILE…")
    refused(haul("compare", "/nonexistent/results.h5"), "/nonexistent/results.h5")


def test_accept_of_other_files():
    refused(haul("accept", "rules.json"), "accept: needs RULES FILE…")
    refused(haul("accept", "/nonexistent/rules.json", "results.h5"), "/nonexistent/rules.json")
    with tempfile.NamedTemporaryFile("w") as f:
        f.write('{"rules": [{"phase": "read", "most_erors": 0}]}')
        f.flush()
        refused(haul("accept", f.name, "results.h5"), 'unknown key; did you mean "most_errors"?')
        f.seek(0)
        f.write('{"rules": [{"phase": "read", "most_errors": 0}]}')
        f.truncate()
        f.flush()
        refused(haul("accept", f.name, "/nonexistent/results.h5"), "/nonexistent/results.h5")


def test_show():
    """The job of a results file is a job that can be run again."""
    results = os.path.join(os.environ["HAUL_SOURCE"], "tests", "fixtures", "results", "version_2.h5")
    r = haul("show", results, "--job")
    check(r.returncode == 0 and r.stderr == "" and json.loads(r.stdout)["name"] == "version_2", r)
    check(haul("show", results).stdout == haul("show", results, "--job").stdout, "show needs no --job")
    refused(haul("show", results, "--job", "--run", "2"), "has no run 2")
    refused(haul("show", "/nonexistent/results.h5", "--job"), "/nonexistent/results.h5")


def test_topo():
    aurora = {"HWLOC_SYNTHETIC": "pack:2 [numa(memory=549755813888)] core:52 pu:2"}
    r = haul("topo", "--ranks-per-node", 12, "--pin", "numa", env=aurora)
    check(r.returncode == 0 and r.stderr == "", r)
    check("2 packages · 2 NUMA nodes · 104 cores · 208 threads" in r.stdout, r.stdout)
    check(all(len(line) <= 100 for line in r.stdout.splitlines()), r.stdout)
    check(haul("topo").returncode == 0, haul("topo"))
    folder = os.path.join(os.environ["HAUL_SOURCE"], "tests", "fixtures", "topologies")
    for node in ("aurora", "aurora_hidden", "aurora_cgroup", "dual", "dual_cgroup"):
        for pin in ("none", "core", "numa", "tile", "nic"):
            for ranks in (1, 5, 12, 100):
                r = haul("topo", "--xml", f"{folder}/{node}.xml", "--pin", pin, "--ranks-per-node", ranks)
                check(r.returncode == 0 and r.stderr == "", r)
                check(all(len(line) <= 100 for line in r.stdout.splitlines()), r.stdout)
    r = haul("topo", "--xml", f"{folder}/aurora_hidden.xml", "--pin", "nic", "--ranks-per-node", 12)
    check("unplaced   GPUs     card0-5" in r.stdout, r.stdout)
    refused(haul("topo", "--xml", "/nonexistent.xml"), "/nonexistent.xml")
    refused(haul("topo", "--xml", __file__), "not a topology")
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as damaged, open(f"{folder}/dual.xml", encoding="utf-8") as whole:
        for line in whole:  # hwloc crashes where a thread has no such set
            damaged.write(line.replace("complete_cpuset", "none") if 'type="PU" os_index="19"' in line else line)
        damaged.flush()
        refused(haul("topo", "--xml", damaged.name), "not a topology")
    refused(haul("topo", "--pin", "core", "--reserved-cores", "x"), "/cluster/reserved_cores")
    refused(haul("topo", "--pin", "list"), "/cluster/cores")
    refused(haul("topo", "--pin", "list", "--cores", "0-"), "/cluster/cores")


def test_doctor():
    with tempfile.TemporaryDirectory() as folder:
        r = haul("doctor", cwd=folder)
        check(r.returncode == 0 and r.stderr == "", r)
        for what in ("MPI ", "MPI waits", "HDF5", "io_uring", "huge pages", "O_DIRECT", "memory lock", "Slurm, PBS", "clock"):
            check(any(line.startswith(what) for line in r.stdout.splitlines()), f"{what}: {r.stdout}")
        check(os.listdir(folder) == [], os.listdir(folder))


def test_version():
    r = haul("version")
    check(r.returncode == 0 and r.stdout.startswith("haul "), r)
    check(haul("--version").stdout == r.stdout, "--version differs")


def test_full_output():
    with open("/dev/full", "w") as full:
        import subprocess
        r = subprocess.run([os.environ["HAUL"], "schema"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    check(r.returncode == 1 and "standard output" in r.stderr, r)


main()
