# SPDX-License-Identifier: Apache-2.0
"""AU and bytes of trainings on sim:// agree with a computation by hand, within one percentage point and the time that the
machine took for other work. Every change runs only a few cases, since test_train_time.c has all of them in virtual time.

A rank whose workers have one request each in flight has a batch ready every period P; in steady state
AU = compute / max(compute, P)."""
from haultest import *

MIB = 1 << 20


def run(ranks, store, train, files=None, sample=4 * MIB, env=None):
    """Returns the phase, with "lost": the share of its time that the machine took for other work."""
    steps = train.pop("_steps")
    batch = train["batch"]
    files = files or steps * batch * ranks
    job = {
        "name": "sim", "seed": 3,
        "stores": {"data": {"uri": "sim://known", **store}},
        "dataset": {"store": "data", "format": "raw", "files": files, "sample_bytes": sample},
        "phases": [{"train": {"null_steps": 0, "warmup_steps": 4, "shuffle": "none", **train}}],
    }
    with Folder() as folder:
        write_job(folder, job)
        r = mpi(ranks, "run", "job.json", cwd=folder, env=env)
        check(r.rc == 0, f"{r}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        phase["lost"] = machine_took_s(folder, phase) / phase["seconds"]
    check(phase["bytes_read"] == files * sample, f"bytes {phase['bytes_read']}, wanted {files * sample}")
    accounts = sum(phase["accounts"].values())
    within = 0.02 * phase["seconds"] + 0.05 + phase["lost"] * phase["seconds"]
    near(accounts, phase["seconds"], within, "the sum of the accounts")
    return phase


def expect(name, phase, au):
    near(phase["au"]["mean"], au, 0.01 + phase["lost"], f"{name}: AU")


@long
@timing
def test_fed():
    # 4 MiB at 2 GB/s take 2.1 ms, which the compute hides.
    p = run(1, {"bandwidth": "2 GB/s"}, {"batch": 1, "compute": "60 ms", "_steps": 40, "loader": {"workers": 2}})
    expect("fed", p, 1.0)


@timing
def test_starved_by_the_store():
    # 2 ranks x 4 MiB at 100 MB/s: a step takes 83.9 ms, compute is 40 ms.
    p = run(2, {"bandwidth": "100 MB/s"}, {"batch": 1, "compute": "40 ms", "_steps": 30, "loader": {"workers": 2}})
    expect("starved", p, 0.040 / (2 * 4 * MIB / 100e6))


@long
@timing
def test_starved_by_the_rank():
    p = run(2, {"rank_bandwidth": "50 MB/s"}, {"batch": 1, "compute": "50 ms", "_steps": 30, "loader": {"workers": 4}})
    expect("rank limit", p, 0.050 / (4 * MIB / 50e6))


@long
@timing
def test_balanced():
    # The store has 0.9 of the needed bandwidth, so the AU is 90 %.
    rate = 4 * MIB / 0.050 * 0.9
    p = run(1, {"bandwidth": int(rate)}, {"batch": 1, "compute": "50 ms", "_steps": 50, "loader": {"workers": 2}})
    expect("balanced", p, 0.9)


@long
@timing
def test_latency_bound():
    # One worker has one request at a time: 30 ms of latency + 4 MiB at 1 GB/s = 34.2 ms per batch.
    p = run(1, {"bandwidth": "1 GB/s", "latency": "30 ms"},
            {"batch": 1, "compute": "20 ms", "_steps": 60, "loader": {"workers": 1}})
    expect("latency", p, 0.020 / (0.030 + 4 * MIB / 1e9))


@long
@timing
def test_slow_first_byte():
    # Two workers wait at the same time: 2 batches every 60 ms + transfer.
    period = (0.060 + 4 * MIB / 1e9) / 2
    p = run(1, {"bandwidth": "1 GB/s", "first_byte": "60 ms"},
            {"batch": 1, "compute": "20 ms", "_steps": 80, "loader": {"workers": 2}})
    expect("first byte", p, 0.020 / period)


@long
@timing
def test_skewed_rank():
    # Rank 1 has a quarter of 200 MB/s. With a barrier in each step, both ranks wait for it.
    p = run(2, {"rank_bandwidth": "200 MB/s", "slow_ranks": {"1": 0.25}},
            {"batch": 1, "compute": "40 ms", "_steps": 40, "loader": {"workers": 2}})
    expect("skewed", p, 0.040 / (4 * MIB / 50e6))
    check(p["accounts"]["ranks"] > 0.3 * p["accounts"]["storage"], f"the fast rank does not wait: {p['accounts']}")


def loader(kind, workers, **more):
    return {"kind": kind, "workers": workers, **more}


# A store that is bound by latency: 60 ms to the first byte, and very little for the 64 KiB. Batches of 4.
LATENT = {"bandwidth": "8 GB/s", "first_byte": "60 ms"}
LATENT_CASES = [  # loader, ms between batches, ms of compute
    # W workers have W samples in flight, so 4 samples take 60 ms x 4 / W.
    (loader("pytorch", 2), 120, 90),
    (loader("pytorch", 4), 60, 45),
    (loader("sample", 2), 120, 90),
    (loader("sample", 4), 60, 45),
    # With 8 workers and a prefetch of 2 batches of 4, 8 samples are in flight.
    (loader("sample", 8), 30, 22.5),
    # With a prefetch of one batch, there are only its 4 samples to read.
    (loader("sample", 8, prefetch=1), 60, 22.5),
    # Each worker reads all 4 samples of a batch at once.
    (loader("batch", 1), 60, 45),
    (loader("batch", 2), 30, 22.5),
    # With a depth of two, a batch takes two rounds.
    (loader("batch", 1, depth=2), 120, 90),
    # Without workers, the time of the batch and the compute follow each other.
    (loader("batch", 0), 60 + 45, 45),
    (loader("pytorch", 0), 240 + 60, 60),
]


def latent(l, period, compute):
    steps = 4 + 2400 // period // 2 * 2  # whole rounds of two workers after the warm-up
    p = run(1, LATENT, {"batch": 4, "compute": compute / 1e3, "_steps": steps, "loader": dict(l)}, sample=65536)
    expect(f"{l}", p, compute / max(compute, period))
    check(p["accounts_storage"]["first_byte"] > 0.9 * p["accounts"]["storage"], f"{l}: {p['accounts_storage']}")
    check(p["epochs"][0]["samples"] == 4 * steps, f"{l}: {p['epochs'][0]['samples']} samples")


@matrix
@long
@timing
def test_loaders():
    for case in some(LATENT_CASES, 5):
        latent(*case)


@long
@timing
def test_loaders_share_bandwidth():
    """With each loader, the bandwidth of the store limits the training: 2 ranks x 4 x 512 KiB at 100 MB/s take 41.9 ms per
    step."""
    for kind in ("pytorch", "sample", "batch"):
        p = run(2, {"bandwidth": "100 MB/s"}, {"batch": 4, "compute": "20 ms", "_steps": 64, "loader": loader(kind, 2)},
                sample=MIB // 2)
        expect(kind, p, 0.020 / (4 * MIB / 100e6))


@long
@timing
def test_copies():
    """Copies of 4 MiB at 200 MB/s to the accelerator take 21 ms before each 40 ms of compute, and have their own account."""
    p = run(1, {}, {"batch": 1, "compute": "40 ms", "_steps": 40, "warmup_steps": 1,
                    "loader": loader("batch", 2, pin_memory=True, h2d="200 MB/s")})
    expect("copies", p, 0.040 / (0.040 + 4 * MIB / 200e6))
    near(p["accounts"]["copy"], 40 * 4 * MIB / 200e6, 0.05, "the account of copies")


def test_failures():
    """On a failing store, on_error "count" counts the errors and the run succeeds; on_error "stop" ends it."""
    job = {
        "name": "fail", "seed": 3, "stores": {"data": {"uri": "sim://known", "failure_rate": 0.2}},
        "dataset": {"store": "data", "format": "raw", "files": 200, "sample_bytes": 4096},
        "phases": [{"train": {"null_steps": 0, "batch": 2, "on_error": "count"}}],
    }
    with Folder() as folder:
        write_job(folder, job)
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0, f"{r}")
        errors = report(f"{folder}/results.h5")["phases"][0]["errors"]
        check(15 <= errors <= 70, f"{errors} errors of about 40")
        job["phases"][0]["train"]["on_error"] = "stop"
        write_job(folder, job)
        r = mpi(2, "run", "job.json", "--force", cwd=folder)
        check(r.rc == 1, f"{r}")


main()
