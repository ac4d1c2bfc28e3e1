# SPDX-License-Identifier: Apache-2.0
"""Tensor groups of the phase kvcache: every rank moves its shards, a request takes as long as the slowest of its group, what several
ranks hold is written once, nothing stays behind, and groups that cannot be are refused."""
import os

from haultest import *

USERS = {"users": 1, "prefix": {"enabled": False}, "conversation": {"enabled": False},
         "templates": [{"name": "one", "context_min": 1, "context_max": 1, "generate_min": 1, "generate_max": 1,
                        "think_min": "200 ms", "think_max": "200 ms"}]}
# A token has 1 MiB.
GQA = {"layers": 64, "hidden": 4096, "heads": 32, "kv_heads": 32, "head_dim": 128}
MLA = {"attention": "mla", "layers": 64, "kv_rank": 8192}


def job(tensor, model, store, **options):
    return {"seed": 7, "cluster": {"tensor": tensor}, "stores": {"s": store},
            "phases": [{"kvcache": {"model": model, **USERS, "duration": "3 s", **options}}]}


def ran(folder, ranks, tensor, model, store, **options):
    write_job(folder, job(tensor, model, store, **options))
    r = mpi(ranks, "run", "job.json", "--force", cwd=folder)
    check(r.rc == 0, f"{r}")
    phase, = report(f"{folder}/results.h5")["phases"]
    return phase


def test_slowest():
    """Rank 1 has a quarter of the speed: a shard of 256 KiB takes 26.2 ms at 10 MB/s and 104.9 ms there."""
    with Folder() as folder:
        store = {"uri": "sim://s", "rank_bandwidth": "10 MB/s", "slow_ranks": {"1": 0.25}}
        phase = ran(folder, 4, 4, GQA, store, duration="600 s", requests=3)
        m, shard_ns = phase["measures"], (1 << 18) * 100
        check(m["users"] == 1 and m["requests"] == 3, f"{m}")
        check(4 * m["requests"] <= m["entry_writes"] <= 4 * (m["requests"] + 1), f"{m}")
        check(m["bytes_written"] == m["entry_writes"] << 18, f"{m}")
        # It is never faster. How much slower it is says how busy the machine is.
        check(phase["latency_ns"]["request"]["p50"] >= 0.98 * 3 * 4 * shard_ns, f"{phase['latency_ns']}")


def test_written_once():
    with Folder() as folder:
        store = {"uri": f"file://{folder}/data", "engine": "psync"}
        # A phase that ends by time may have demoted an entry and not begun to write the next one.
        phase = ran(folder, 4, 2, MLA, store, verify="full", duration="600 s", requests=14,
                    tiers=[{"kind": "cpu", "capacity": "3 MiB"}, {"store": "s", "capacity": "8 MiB"}])
        m, tiers = phase["measures"], phase["tiers"]
        check(m["errors"] == 0 and m["payload_errors"] == 0 and m["users"] == 2 and m["requests"] == 2 * 14, f"{m}")
        check(tiers[0]["writes"] == 2 * (tiers[1]["demotions_in"] + 2 * 2), f"{tiers}")
        check(m["bytes_written"] == tiers[1]["demotions_in"] << 20, f"{m}")
        check(not os.path.exists(f"{folder}/data/kvcache"), f"{list(os.walk(folder))}")


def test_refused():
    with Folder() as folder:
        write_job(folder, job(4, GQA, {"uri": "sim://s"}, tiers=[{"kind": "gpu", "capacity": "141 GB"}, "s"]))
        for per_node, nodes, gpus, says in ((8, 1, 8, "4 x 141 GB = 564 GB"), (2, 2, 2, "a node has 2 accelerators"),
                                            (6, 2, 8, "must be on one node")):
            r = alone("plan", "job.json", "--ranks-per-node", per_node, "--nodes", nodes, "--set", f"cluster.gpus={gpus}",
                      cwd=folder)
            check(says in r.out + r.err and (r.rc == 0) == (per_node == 8), f"{r}")


if __name__ == "__main__":
    main()
