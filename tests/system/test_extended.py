# SPDX-License-Identifier: Apache-2.0
"""Extension of haul by one more account, measure, figure, target, table, option and capability, each of them one line in one
table (tests/extended/extend.py). They appear wherever haul shows things of their kind, although no other code of the
program knows of them."""
import h5py

from haultest import *

FILES, SAMPLES, EPOCHS, RANKS, TOKENS = 4, 5, 2, 2, 100
READ = FILES * SAMPLES * EPOCHS


def job(folder, uri="file://data", **train):
    return {"name": "extended", "stores": {"data": {"uri": uri.replace("data", f"{folder}/data")}},
            "dataset": {"store": "data", "files": FILES, "samples_per_file": SAMPLES, "sample_bytes": 4096},
            "phases": [{"generate": {}},
                       {"train": {"epochs": EPOCHS, "batch": 1, "compute": "2 ms", "null_steps": 0,
                                  "verify": "none", **train}}]}


def words(text):
    return " ".join(text.split())


def ran(folder, *args, **train):
    write_job(folder, job(folder, tokens=TOKENS, **train))
    return mpi(RANKS, "run", "job.json", *args, cwd=folder)


def test_results_file():
    """The measure and the account are columns of the ranks, and the account also of the epochs. The table is a data set, and
    the target is a row in the targets of its phase."""
    with Folder() as folder:
        r = ran(folder, target_tokens=1)
        check(r.rc == 0, f"{r}")
        with h5py.File(f"{folder}/results.h5") as f:
            train = f["phases/1_train"]
            ranks, epochs = train["ranks"], train["epochs"]
            check(int(ranks["tokens"].sum()) == READ * TOKENS, f"{ranks['tokens']}")
            check((ranks["logging_ns"] >= 2_000_000 * READ // RANKS).all(), f"{ranks['logging_ns']}")
            check(0 < epochs["logging_ns"].sum() <= ranks["logging_ns"].sum(), f"{epochs['logging_ns']}")
            formulas = dict(zip(ranks.dtype.names, ranks.attrs["formulas"]))
            check(formulas["tokens_per_second"] == b"1e9 * tokens / wall_ns", f"{formulas}")
            check(train.attrs["main_figure"] in (b"samples_per_second", "samples_per_second"), f"{train.attrs['main_figure']}")
            sources = train["sources"]
            check(sources["names"][:].tolist() == [b"web"], f"{sources['names'][:]}")
            check(sources["rows"]["samples"].tolist() == [READ], f"{sources['rows'][:]}")
            targets = {t["name"]: t for t in train["targets"]}
            check(targets[b"target_tokens"]["asked"] == 1 and targets[b"target_tokens"]["met"], f"{targets}")


def test_report_json():
    with Folder() as folder:
        r = ran(folder, target_tokens=1)
        check(r.rc == 0, f"{r}")
        p = report(f"{folder}/results.h5")["phases"][1]
        check(p["measures"]["tokens"] == READ * TOKENS, f"{p['measures']}")
        check(p["figures"]["tokens_per_second"] > 1 and p["figures"]["logging_s"] > 0, f"{p['figures']}")
        check(0 < p["accounts"]["logging"], f"{p['accounts']}")
        near(sum(p["accounts"].values()), p["measures"]["wall_sum_ns"] / 1e9 / RANKS, 1e-9, "the sum of the accounts")
        check(p["sources"] == [{"name": "web", "samples": READ}], f"{p['sources']}")
        target = [t for t in p["targets"] if t["name"] == "target_tokens"]
        # The data come from the page cache, so nobody says that they meet a target.
        check(len(target) == 1 and target[0]["state"] == "unknown" and not target[0]["met"] and target[0]["asked"] == 1, f"{p['targets']}")


def test_report_text():
    """The text names the account in the division of the lost time, prints the table, and has a sentence for the target."""
    with Folder() as folder:
        r = ran(folder, target_tokens=1, compute="0.1 ms")
        check(r.rc == 0, f"{r}")
        text = alone("report", f"{folder}/results.h5").out
        check("% for logging" in words(text), text)
        check("train, sources" in text and "web 40" in [words(line) for line in text.splitlines()], text)
        check("rate of tokens" in text and "would meet the target of 1/s" in " ".join(text.split()), text)


def test_strict():
    with Folder() as folder:
        r = ran(folder, "--strict", target_tokens=1e12)
        check(r.rc == 8 and "rate of tokens" in r.err and "misses the target of" in r.err, f"{r}")
        # From the page cache it is met by figures that do not count, which is not done.
        r = ran(folder, "--strict", "--force", "--set", "train.target_tokens=1")
        check(r.rc == 8 and "would meet the target of 1/s, but that does not count: " in r.err, f"{r}")


def test_schema():
    """The JSON Schema and the reference contain the option and that of the target. Values outside its bounds are refused."""
    phase = json.dumps(json.loads(alone("schema").out)["properties"]["phases"])
    check('"tokens": {' in phase and '"maximum": 1048576' in phase and '"target_tokens": {' in phase, phase)
    reference = words(alone("schema", "--reference").out)
    check("tokens whole number, 0 … 1048576, default 512 tokens of a sample" in reference, reference)
    check("target_tokens" in reference and "tokens per second of all ranks to reach" in reference, reference)
    with Folder() as folder:
        write_job(folder, job(folder))
        r = alone("plan", "job.json", "--set", "train.tokens=1048577", cwd=folder)
        check(r.rc == 2 and "/phases/1/train/tokens: must be at most 1048576, is 1048577" in words(r.err), f"{r}")
        r = alone("plan", "job.json", "--set", "train.token=1", cwd=folder)
        check(r.rc == 2 and '"tokens"' in r.err, f"{r}")
        r = mpi(RANKS, "run", "job.json", "--set", "train.tokens=7", cwd=folder)
        check(r.rc == 0, f"{r}")
        p = report(f"{folder}/results.h5")["phases"][1]
        check(p["measures"]["tokens"] == READ * 7, f"{p['measures']}")


def test_capability():
    """A phase that needs the capability is refused with its words on a store without it, and accepted on one with it."""
    with Folder() as folder:
        write_job(folder, job(folder, tokens=2000))
        r = alone("plan", "job.json", cwd=folder)
        says = 'store "data" (file://) cannot cut samples into tokens, which this phase needs'
        check(r.rc == 2 and says in words(r.err), f"{r}")
        write_job(folder, job(folder, uri="sim://s", tokens=2000))
        r = alone("plan", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")


main()
