# SPDX-License-Identifier: Apache-2.0
"""Jobs that are simulated, and stores that are measured on few ranks and predict more."""
import json

from haultest import alone, check, machine_took_s, mpi, near, report, write_job

MIB = 1 << 20


def job(store, train, files, sample=4 * MIB, more=None):
    return {"name": "simulated", "seed": 3, "stores": {"data": {"uri": "sim://known", **store}, **(more or {})},
            "dataset": {"store": "data", "format": "raw", "files": files, "sample_bytes": sample},
            "phases": [{"train": {"null_steps": 0, "warmup_steps": 2, "shuffle": "each_epoch", **train}}]}


def au(result, phase=0):
    return result["phases"][phase]["au"]["mean"]


def predicts(folder, store, env=None, objects=32, steps=60):
    """A store that was measured on 1 and 2 ranks predicts a training of 4 and of 8, which ask for more than it has; or haul says
    that the cores are the limit there."""
    reads = {"operation": "read", "objects": objects, "size": "16 MiB", "passes": 0, "seconds": "3 s"}
    measure = [{**reads, "operation": "write", "block": "16 MiB", "passes": 1, "seconds": "0 s"}, {**reads, "block": "4 MiB"},
               {**reads, "block": "64 KiB"}, {**reads, "block": "4 MiB", "threads": 4, "depth": 4}]

    def ran(ranks, what, *more):
        write_job(folder, what)
        r = mpi(ranks, "run", "job.json", "--quiet", "--force", *more, cwd=folder, env=env)
        check(r.rc == 0, f"{r}")
        return report(f"{folder}/{more[-1] if more else 'results.h5'}")["phases"]

    def measured(ranks, name):
        phases = [{"io": {**phase, "name": f"p{i}", "folder": f"of{ranks}"}} for i, phase in enumerate(measure)]
        found = ran(ranks, {"name": "measure", "stores": {"data": store}, "phases": phases}, "--results", name)
        return max(p["rates"]["bytes_per_second"] for p in found[1:])

    rate = max(measured(ranks, f"measured{ranks}.h5") for ranks in (1, 2))
    # 8 ranks ask for 1.3 times as much as there is
    compute = 8 * 4 * 4 * MIB / (1.3 * rate)
    train = {"batch": 4, "steps": steps, "warmup_steps": 5, "compute": f"{compute * 1e3:.3f} ms", "loader": {"workers": 2, "prefetch": 2}}
    what = {**job({}, train, 8 * steps * 4), "stores": {"data": store}}
    ran(2, {**what, "phases": [{"generate": {}}]})
    found = {ranks: ran(ranks, what)[0] for ranks in (4, 8)}
    # A disk that others use, too, is another one at the end
    drift = abs(max(measured(ranks, f"after{ranks}.h5") for ranks in (1, 2)) / rate - 1)
    write_job(folder, what)
    for ranks, phase in found.items():
        r = alone("simulate", "job.json", "--ranks-per-node", ranks, "--seeds", 1, "--json", "--storage", "measured1.h5", "--storage",
                  "measured2.h5", cwd=folder)
        check(r.rc == 0, f"{r}")
        lost = machine_took_s(folder, phase) / phase["seconds"] / ranks
        print(f"{ranks} ranks: AU {100 * phase['au']['mean']:.1f} %, simulated {100 * au(json.loads(r.out)):.1f} %, drift "
              f"{100 * drift:.1f} %, without a core {100 * lost:.1f} %. {r.err}")
        if "the cores may be the limit" not in r.err and max(drift, lost) < 0.05:  # else it is another store that was measured
            near(au(json.loads(r.out)), phase["au"]["mean"], 0.05, f"AU of {ranks} ranks")
