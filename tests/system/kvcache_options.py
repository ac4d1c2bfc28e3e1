# SPDX-License-Identifier: Apache-2.0
"""The three options of MLPerf's key-value cache benchmark, scaled down: the phases of the catalogue's job with a hundredth of the
tokens and a tenth of the users, on one store each.

On a store, a rank never has more bytes than the capacity of its tier and one entry of the greatest size for each of
`max_concurrent_allocs` requests. Each of these deletes victims before it writes its entry, and the last victim may be larger than
what had to be freed. What is freed too much is given to other requests at once, which may write before that victim is gone."""
import json

from haultest import SOURCE, check

# A token has as many bytes as a block of a file system, so that du counts the bytes of entries and nothing else.
MODELS = {"llama3.1-8b": 8, "llama3.1-70b-instruct": 16}
TOKEN = 512
TOKENS_MOST = 195
CAPACITY, MEMORY = 2 << 20, 1 << 20
REQUESTS = 80


def template(name, context, generate, think_ms):
    return {"name": name, "context_min": context[0], "context_max": context[1], "generate_min": generate[0],
            "generate_max": generate[1], "think_min": f"{think_ms[0]} ms", "think_max": f"{think_ms[1]} ms"}


TEMPLATES = [template("chatbot", (4, 32), (50, 200), (10, 50)),
             template("coding", (32, TOKENS_MOST), (100, 500), (20, 100)),
             template("document", (32, 128), (200, 800), (30, 150))]


def token_bytes(phase):
    return phase["model"]["layers"] * TOKEN


def phases(store, chunk="256 KiB"):
    with open(f"{SOURCE}/workloads/catalog/kvcache_mlperf.json") as f:
        made = [p["kvcache"] for p in json.load(f)["phases"]]
    for p in made:
        # The job names each tier: memory by its kind, its one store by the store's name.
        tiers = [{"store": store, "capacity": CAPACITY} if tier == "cache" else {**tier, "capacity": MEMORY}
                 for tier in p["tiers"]]
        p.update(name=f"{store}_{p['name']}", folder=f"{store}_{p['folder']}", duration="600 s", requests=REQUESTS, after=0,
                 model={"layers": MODELS[p["model"]], "hidden": 128, "heads": 1, "kv_heads": 1, "head_dim": 128},
                 templates=TEMPLATES, prefill_from=78, users=p["users"] // 10, served=p["served"] // 10, threads=4,
                 max_concurrent_allocs=p["max_concurrent_allocs"] // 4, chunk=chunk, verify="full", tiers=tiers)
    check([[t.get("store", t.get("kind")) for t in p["tiers"]] for p in made] == [[store], ["cpu", store], [store]], f"{made}")
    return [{"kvcache": p} for p in made]


def bytes_most(phase, ranks):
    """What all ranks may have on the store at a time."""
    most = min(phase["served"], phase["max_concurrent_allocs"]) * TOKENS_MOST * token_bytes(phase)
    return ranks * (CAPACITY + most)


def judge(phase, done, ranks):
    """Checks the results of a phase: all bytes were verified, and entries had to leave the store."""
    m, tiers = done["measures"], done["tiers"]
    check(done["name"] == phase["name"], f"{done['name']}, not {phase['name']}")
    check(m["requests"] >= ranks * REQUESTS and m["errors"] == m["payload_errors"] == 0 < m["verify_ns"], f"{m}")
    check([t["name"] for t in tiers] == [t.get("store", "cpu") for t in phase["tiers"]], f"{tiers}")
    check(m["entry_reads"] > 0 < tiers[-1]["deletions"], f"{m} {tiers}")
    check(0 < tiers[-1]["used_most_bytes"] <= ranks * CAPACITY, f"{tiers}")
    check(m["bytes_written"] >= tiers[-1]["demoted_in_bytes"] + tiers[-1]["written_bytes"], f"{m} {tiers}")
    # What moves between tiers is not among the entries that are read and written, as in MLPerf's bandwidths.
    check((m["entry_read_bytes"], m["entry_written_bytes"]) == (tiers[-1]["read_bytes"], tiers[-1]["written_bytes"]), f"{m} {tiers}")
    check(m["bytes_read"] == m["entry_read_bytes"] and m["bytes_written"] > m["entry_written_bytes"] or len(tiers) == 1, f"{m}")
    check(sum(c["requests"] for c in done["qos"]) == m["requests"], f"{done['qos']}")
    if len(tiers) > 1:
        check(tiers[0]["demotions_out"] == tiers[1]["demotions_in"] > 0, f"{tiers}")
