# SPDX-License-Identifier: Apache-2.0
"""Help and completion: the help of each verb, what the shell completes, and the refusals of wrong verbs and options."""
import os
import re
import subprocess
import tempfile

from clitest import HAUL, check, haul, main, refused

VERBS = ["plan", "simulate", "assess", "run", "replay", "generate", "clean", "catalog", "import", "ls", "report", "compare", "accept", "check",
         "validate", "export", "show", "schema", "topo", "doctor", "version", "help"]


def test_overview():
    for args in (["help"], ["--help"], ["-h"]):
        r = haul(*args)
        check(r.returncode == 0 and r.stderr == "", r)
        for verb in VERBS:
            check(f"\n  {verb} " in r.stdout, f"{verb} is missing: {r.stdout}")
        check(all(len(line) <= 80 for line in r.stdout.splitlines()), r.stdout)
        check("__complete" not in r.stdout, r.stdout)


def test_each():
    for verb in VERBS:
        r = haul(verb, "--help")
        check(r.returncode == 0 and r.stderr == "", r)
        lines = r.stdout.splitlines()
        check(lines[0].startswith(f"haul {verb}") and lines[-1].startswith("example: "), r.stdout)
        check(all(len(line) <= 80 for line in lines if not line.startswith("example")), r.stdout)
        check(haul("help", verb).stdout == r.stdout, f"haul help {verb} differs from haul {verb} --help")


# "bytes a request": a rate is said with "per". "is a file" and "asks a store" have a verb before the article.
RATE = re.compile(r"\b(bytes|samples|requests|operations|threads|files|objects|rows|ranks|steps|targets|keys) an? "
                  r"(rank|node|request|chunk|file|sample|thread|step|object|epoch|batch|second|worker|queue)\b")
# A limit is "the greatest number of …": what stands behind "at most" in place of a clause is hard to read.
LIMIT = re.compile(r"\bat most(;|$)")


def test_plain_words():
    """Help is in words that are understood at first reading: no shorthand of the field."""
    texts = haul("schema", "--reference").stdout.split("\n  ")
    for verb in VERBS:
        texts += haul(verb, "--help").stdout.split("\n  ")
    check(len(texts) > 200, len(texts))
    check(not re.search(r"[0-9]{7,} ns", "".join(texts)), "a bound in ns that nobody can read")
    for text in texts:
        words = " ".join(text.split())
        odd = RATE.search(words) or LIMIT.search(words)
        check(not odd, f"{odd}: {words}")
        check(not words.endswith("--json for programs"), words)


def test_completion_knows_what_help_knows():
    check(haul("__complete").stdout.split() == VERBS, haul("__complete"))
    for verb in VERBS:
        words = haul("__complete", verb).stdout.split()
        options = sorted(word for word in words if word.startswith("--"))
        text = haul(verb, "--help").stdout
        shown = sorted(line.split()[0] for line in text.splitlines() if line.startswith("  --"))
        check(options == shown, f"{verb}: {options} {shown}")
    check("unet3d_demo" in haul("__complete", "run").stdout.split(), "haul run does not offer the ready jobs")


def complete(*words):
    """The completions that the shell offers for the last of these words."""
    script = f"source {os.environ['HAUL_SOURCE']}/completion/haul.bash; _haul_words \"$@\""
    r = subprocess.run(["bash", "-c", script, "bash", HAUL, *words], capture_output=True, text=True, timeout=60,
                       check=False)
    check(r.stderr == "", r)
    return r.stdout.split()


def test_completion_of_values():
    check(complete("pl") == ["plan"], complete("pl"))
    check(complete("topo", "--pin", "nu") == ["numa"], complete("topo", "--pin", "nu"))
    check({"generate", "train", "io"} <= set(complete("run", "--only", "")), complete("run", "--only", ""))
    check(complete("run", "--set", "train.loader.wor") == ["train.loader.workers="],
          complete("run", "--set", "train.loader.wor"))
    check(complete("plan", "unet3d_dem") == ["unet3d_demo"], complete("plan", "unet3d_dem"))
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/jobs")
        check(complete("run", folder + "/jo") == [folder + "/jobs"], complete("run", folder + "/jo"))
        for name in ("a.csv", "a.csv.zst", "a.json"):
            open(f"{folder}/{name}", "w").close()
        check(sorted(complete("replay", folder + "/a")) == [f"{folder}/a.csv", f"{folder}/a.csv.zst"],
              complete("replay", folder + "/a"))
        open(f"{folder}/a.h5", "w").close()
        check(sorted(complete("accept", folder + "/a")) == [f"{folder}/a.h5", f"{folder}/a.json"], complete("accept", folder + "/a"))
        check(complete("export", folder + "/a") == [f"{folder}/a.h5"], complete("export", folder + "/a"))
    check({"dlio", "kvcache"} <= set(complete("import", "")), complete("import", ""))
    script = (f"source {os.environ['HAUL_SOURCE']}/completion/haul.bash; COMP_WORDS=(mpiexec -n 4 {HAUL} ru); "
              "COMP_CWORD=4; _haul_launched; echo ${COMPREPLY[@]}")
    r = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    check(r.stdout.split() == ["run"], r)


def test_verbs_of_other_tools():
    refused(haul("datasize"), "haul plan JOB", "MLPerf")
    refused(haul("training"), "haul run JOB")


def test_unknown_verb():
    refused(haul("plam"), "plam", 'did you mean "plan"?')
    refused(haul("xyzzyplugh"), "xyzzyplugh", "haul help")
    refused(haul())
    refused(haul("help", "plam"), "plam")


def test_unknown_option():
    refused(haul("plan", "x", "--node", "4"), "--node", 'did you mean "--nodes"?')
    refused(haul("run", "x", "--forse"), 'did you mean "--force"?')
    refused(haul("plan", "x", "-n", "4"), "-n")
    refused(haul("catalog", "--qqqqqqq"), "haul catalog --help")


def test_options_of_other_tools():
    """What DLIO's, MLPerf's, IOR's, fio's and warp's users type by habit is answered with what to write here."""
    for option, words in (("--num-accelerators", "mpiexec -n 8"), ("-na", "mpiexec"), ("--client-host-memory-in-gb=128", "--memory"),
                          ("--data-dir", "stores.data.uri"), ("--results-dir", "--results"), ("--loops", "--repeat"),
                          ("--param", "--set"), ("--bs=4k", "io.block"), ("--iodepth", "io.depth"), ("--rw=randread", "io.operation"),
                          ("--runtime", "seconds"), ("-b", "docs/plain-io.md"), ("-t2m", "docs/plain-io.md"), ("--access-key", "AWS_ACCESS_KEY_ID"),
                          ("--concurrent", "io.threads"), ("--num-checkpoints-write", "checkpoint.count"), ("--what-if", "haul plan")):
        refused(haul("run", "unet3d_demo", option, "8"), f'unknown option "{option}": ', words)
    # Of a verb that has the same option, that one is named.
    for verb, option, words in (("check", "--cm", "haul check --memory SIZE"), ("plan", "-cm", "haul plan --memory SIZE"),
                                ("check", "--nnodes=4", "haul check --nodes N"), ("run", "--loops", "haul run --repeat N"),
                                ("plan", "--override", "haul plan --set PATH=VALUE")):
        refused(haul(verb, "unet3d_demo", option, "8"), words)
    refused(haul("run", "unet3d_demo", "++workload.train.epochs=1"), "haul import dlio", "--set")
    refused(haul("plan", "unet3d_demo", "train.batch=2"), "--set train.batch=4")


def test_help_says_where_more_is():
    for verb in ("run", "plan", "generate"):
        check("docs/reference-job.md" in haul(verb, "--help").stdout, verb)
    text = haul("run", "--help").stdout
    ordinary, seldom = text.split("For tests and tuning:")
    for option in ("--op-log-per", "--op-log-rows", "--fake-nodes"):
        check(option not in ordinary and option in seldom, text)
    text = haul("accept", "--help").stdout
    for rule in ("least_rate", "least_au", "most_p99", "most_errors", "most_cached", "client_not_limit", '"judge"'):
        check(rule in text, text)


def test_values():
    refused(haul("plan", "x", "--nodes", "0"), "--nodes", "number of nodes")
    refused(haul("plan", "x", "--nodes", "-3"), "--nodes")
    refused(haul("plan", "x", "--memory", "128"), "128 GiB")
    refused(haul("plan", "x", "--nodes", "4k"), "4k")
    refused(haul("plan", "x", "--nodes"), "--nodes needs a value")
    refused(haul("plan", "x", "--json=yes"), "--json takes no value")
    refused(haul("run", "x", "--deadline", "soon"), "--deadline", "soon")
    refused(haul("run", "x", "--io-trace-format", "fio"), "--io-trace-format: needs --io-trace-log")
    refused(haul("run", "x", "--io-trace-log", "y", "--io-trace-format", "bio"), 'must be "csv", "full", "fio" or "warp", is "bio"; did you mean "fio"?')
    refused(haul("run", "x", "--io-trace-ranks", "all"), "--io-trace-ranks: needs --io-trace-log")
    refused(haul("topo", "--pin", "cores"), "--pin", '"none", "core", "numa", "tile", "nic" or "list", is "cores"; did you mean "core"?')


def test_arguments():
    refused(haul("plan"), "needs JOB")
    refused(haul("plan", "a", "b"), 'unexpected argument "b"')
    refused(haul("run"), "needs JOB")
    refused(haul("replay"), "needs TRACE")
    refused(haul("replay", "x.csv"), "needs --store URI")
    refused(haul("replay", "x.csv", "--store", "mem://s", "--speed", "fast"), "--speed", "recorded, max")
    refused(haul("replay", "x.csv", "--store", "mem://s", "--speed", "0"), "--speed")
    refused(haul("replay", "x.csv", "--store", "mem://s", "--size-scale", "half"), "--size-scale")
    refused(haul("report"), "results.h5: No such file or directory")
    refused(haul("schema", "x"), 'unexpected argument "x"')


def test_only_rank_0_prints_the_refusal():
    r = haul("plam", env={"PMI_RANK": "1"})
    check(r.returncode == 2 and r.stderr == "" and r.stdout == "", r)
    refused(haul("plam", env={"PMI_RANK": "0"}))


main()
