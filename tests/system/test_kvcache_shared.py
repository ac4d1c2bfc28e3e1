# SPDX-License-Identifier: Apache-2.0
"""Tiers that several ranks share in the phase kvcache, on one node and on several: what one rank has written, the others read, and
every byte is verified; one capacity holds for all; nothing stays behind, not even of a run that was killed; and what cannot be
shared is refused."""
import os
import random
import signal
import time

from haultest import *

REQUESTS = 10
# Users who ask for one token with a prompt that is the same for all of them. One request is served after the other.
USERS = {"users": 1, "served": 1, "requests": REQUESTS, "duration": "600 s", "conversation": {"enabled": False},
         "prefix": {"probability": 1, "prompts": 1, "tokens_min": 1, "tokens_max": 1},
         "templates": [{"name": "one", "context_min": 1, "context_max": 1, "generate_min": 1, "generate_max": 1,
                        "think_min": "100 ms", "think_max": "100 ms"}]}
# A token has 1 MiB.
GQA = {"layers": 64, "hidden": 4096, "heads": 32, "kv_heads": 32, "head_dim": 128}
MLA = {"attention": "mla", "layers": 64, "kv_rank": 8192}


def job(folder, tensor, model, tiers, **options):
    return {"seed": 7, "cluster": {"tensor": tensor}, "stores": {"s": {"uri": f"file://{folder}/data", "engine": "psync"}},
            "phases": [{"kvcache": {"model": model, "verify": "full", "chunk": "256 KiB", **USERS, "tiers": tiers, **options}}]}


def ran(folder, ranks, *args, nodes=1, **options):
    write_job(folder, job(folder, *args, **options))
    r = mpi(ranks, "run", "job.json", "--force", *(["--fake-nodes", nodes] if nodes > 1 else []), cwd=folder)
    check(r.rc == 0, f"{r}")
    phase, = report(f"{folder}/results.h5")["phases"]
    m = phase["measures"]
    check(m["errors"] == m["payload_errors"] == 0 < m["verify_ns"], f"{m}")
    check(not os.path.exists(f"{folder}/data/kvcache"), f"{list(os.walk(folder))}")
    return m, phase["tiers"]


def test_found():
    """The prompt is written once for all, and found by everybody else. Of MLA, one rank of a tensor group writes."""
    for shared, ranks, tensor, model, prompts, writers, nodes in (("no", 2, 1, GQA, 2, 1, 1), ("node", 2, 1, GQA, 1, 1, 1),
                                                                  ("all", 3, 1, GQA, 1, 1, 1), ("node", 4, 2, GQA, 1, 2, 1),
                                                                  ("node", 4, 2, MLA, 1, 1, 1), ("all", 4, 1, GQA, 1, 1, 2),
                                                                  ("all", 4, 2, GQA, 1, 2, 2)):
        with Folder() as folder:
            m, (tier,) = ran(folder, ranks, tensor, model, [{"store": "s", "shared": shared}], nodes=nodes)
            requests = ranks // tensor * REQUESTS
            entries = requests + prompts
            check(m["requests"] == requests == m["hits_prompt"] + m["misses_prompt"], f"{shared}: {m}")
            check(m["misses"] - m["already_there"] == prompts, f"{shared}: {m}")
            check(m["entry_writes"] == writers * entries == tier["entries"], f"{shared}: {m} {tier}")
            check(m["entry_reads"] == tensor * (m["hits_prompt"] + 2 * requests), f"{shared}: {m}")
            check(m["bytes_written"] == tier["used_bytes"] == entries << 20, f"{shared}: {m} {tier}")
            check((m["asked"] > 0) == (shared == "all" and nodes > 1), f"{shared}: {m}")


def test_capacity():
    """Memory of each rank, and a store of 6 MiB for all of them. Two entries fit into 2560 KiB of memory, beyond 80 % of which it
    evicts: the prompt, and the last one that was written."""
    ranks = 3
    with Folder() as folder:
        m, (memory, store) = ran(folder, ranks, 1, GQA, [{"kind": "cpu", "capacity": "2560 KiB"},
                                                         {"store": "s", "capacity": "6 MiB", "shared": "node"}])
        demoted = ranks * (REQUESTS - 1)
        check(m["requests"] == ranks * REQUESTS, f"{m}")
        check(memory["entries"] == 2 * ranks and memory["capacity_bytes"] == ranks * 2560 * 1024, f"{memory}")
        check(memory["demotions_out"] == store["demotions_in"] == demoted, f"{memory} {store}")
        check(store["entries"] == 6 and store["deletions"] == demoted - 6, f"{store}")
        check(store["used_most_bytes"] == store["capacity_bytes"] == 6 << 20, f"{store}")


def test_several_nodes():
    """Memory of each rank, and a store of 6 MiB for the ranks of two nodes, each of which knows half of it: 3 entries. An entry that
    is being written is not removed, and the last tier takes every entry: while each of 4 ranks writes into one half, it has 4. An
    attempt to make room removes more than one answer names."""
    ranks = 4
    with Folder() as folder:
        m, (memory, store) = ran(folder, ranks, 1, GQA, [{"kind": "cpu", "capacity": "2560 KiB"},
                                                         {"store": "s", "capacity": "6 MiB", "shared": "all", "promote_after": 3}],
                                 nodes=2)
        check(m["requests"] == ranks * REQUESTS, f"{m}")
        check(memory["demotions_out"] == store["demotions_in"] >= ranks * (REQUESTS - 2), f"{memory} {store}")
        check(store["entries"] == store["demotions_in"] + store["writes"] - store["deletions"], f"{store}")
        check(store["used_bytes"] <= store["used_most_bytes"] <= 2 * max(3, ranks) << 20, f"{store}")
        check(store["capacity_bytes"] == 6 << 20, f"{store}")
        m, (store,) = ran(folder, ranks, 1, GQA, [{"store": "s", "capacity": "16 MiB", "low": 0.1, "shared": "all"}], nodes=2,
                          requests=20)
        check(m["requests"] == ranks * 20 and store["deletions"] > 40, f"{m} {store}")
        check(store["used_most_bytes"] <= store["capacity_bytes"] == 16 << 20, f"{store}")


def test_signal():
    """A signal to one rank ends the phase on all of them, with what they have asked each other, and nothing stays."""
    with Folder() as folder:
        write_job(folder, job(folder, 1, GQA, [{"store": "s", "capacity": "32 MiB", "shared": "all"}], requests=0,
                              precondition="4 MiB", precondition_tokens=1))
        began = time.monotonic()
        process = start(4, "run", "job.json", "--fake-nodes", 2, "--grace", "60 s", cwd=folder)
        root, found = f"{folder}/data/kvcache", []
        while process.poll() is None and len(found) < 8:
            time.sleep(0.01)
            found = [path for path, _, names in os.walk(root) for name in names if name.startswith("user_")]
        check(process.poll() is None, "the run ended before the signal")
        os.kill(random.choice(list(ranks_of(process).values())), signal.SIGTERM)
        r = finish(process, began)
        check(r.rc == 4 and not os.path.exists(root), f"{r} {list(os.walk(root))}")
        check(report(f"{folder}/results.h5")["status"] == "interrupted", "the status is not \"interrupted\"")


def test_killed():
    """All entries of a shared tier lie under the folder of the first rank, and `haul clean` finds them."""
    with Folder() as folder:
        write_job(folder, job(folder, 1, GQA, [{"store": "s", "shared": "node"}], requests=0))
        process = start(2, "run", "job.json", cwd=folder, start_new_session=True)
        root, found = f"{folder}/data/kvcache", []
        while process.poll() is None and len(found) < 4:
            time.sleep(0.01)
            found = [path for path, _, names in os.walk(root) for name in names if name.startswith("user_")]
        check(process.poll() is None, "the run ended before it was killed")
        kill_run(process, folder)
        check(all(path.startswith(f"{root}/000000/0/") for path in found), f"{found}")
        r = alone("clean", "job.json", cwd=folder)
        left = [name for _, _, names in os.walk(root) for name in names]
        check(r.rc == 0 and not left, f"{r}: {left}")


def test_refused():
    with Folder() as folder:
        write_job(folder, job(folder, 1, GQA, [{"store": "s", "shared": "all"}]))
        r = alone("plan", "job.json", "--ranks-per-node", 2, "--nodes", 2, cwd=folder)
        check(r.rc == 0 and "of all ranks: 95 % of what is free" in r.out, f"{r}")
        write_job(folder, {**job(folder, 1, GQA, [{"store": "s", "shared": "all"}]), "stores": {"s": {"uri": "mem://s"}}}, "mem.json")
        r = alone("plan", "mem.json", "--ranks-per-node", 2, "--nodes", 2, cwd=folder)
        check(r.rc == 2 and "serves one node" in r.err, f"{r}")
        r = alone("plan", "job.json", "--ranks-per-node", 2, "--nodes", 2, "--set", "kvcache.tiers.0.shared=node", cwd=folder)
        check(r.rc == 0 and "of a node: 95 % of what is free" in r.out, f"{r}")
        r = alone("run", "job.json", "--io-trace-log", "trace.csv", cwd=folder)
        check(r.rc == 2 and "is not possible with a trace" in r.err, f"{r}")


if __name__ == "__main__":
    main()
