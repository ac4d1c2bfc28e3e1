# SPDX-License-Identifier: Apache-2.0
"""haul plan of checkpoints: MLPerf's totals to the byte, and each rank's bytes by DLIO's formulas, also for models and meshes
that do not divide evenly."""
import json
import tempfile

from clitest import check, haul, main, refused

DATA = {"HAUL_DATA": "/tmp"}


def planned(job, nodes, ranks_per_node, *args):
    r = haul("plan", job, "--json", "--nodes", nodes, "--ranks-per-node", ranks_per_node, *args, env=DATA)
    check(r.returncode == 0 and r.stderr == "", r)
    p = json.loads(r.stdout)["phases"][0]
    table = p["tables"]["ranks"]
    return p, [dict(zip(table["columns"], row)) for row in table["rows"]]


def test_totals():
    """The table of MLPerf Storage's checkpoints: bytes and files of all, GiB of the first 8 ranks."""
    for name, ranks, parameters, total, files, first8_gib in (
            ("llama3_8b", 8, 8030261248, 112425623552, 16, 104.7),
            ("llama3_70b", 64, 69882617856, 978406572032, 128, 113.9),
            ("llama3_405b", 512, 405853388800, 5682508791808, 1544, 98.5),
            ("llama3_1t", 1024, 1183035102480, 16564174094592, 2072, 143.7)):
        p, rows = planned(name, ranks // 8, 8)
        t = p["totals"]
        check(t["parameters"] == parameters and t["bytes"] == total and t["files"] == files, t)
        check(t["weight_bytes"] + t["optimizer_bytes"] == total and "share" not in t, t)
        check(len(rows) == ranks and sum(r["weights"] for r in rows) == t["weight_bytes"], t)
        check(sum(r["optimizer"] for r in rows) == t["optimizer_bytes"], t)
        check(sum(r["bytes"] for r in rows) == total and sum(r["files"] for r in rows) == files, t)
        # Archives add a little around the tensors. Ten checkpoints are written, and read.
        check(sum(r["file_bytes"] for r in rows) == t["file_bytes"], t)
        check(total < t["file_bytes"] < total * 1.001, t)
        check(p["bytes"] == 20 * t["file_bytes"], p)
        p, rows = planned(name, 1, 8)
        check(len(rows) == 8 and abs(sum(r["bytes"] for r in rows) / 2**30 - first8_gib) < 0.05, rows)
        share = sum(r["bytes"] for r in rows) / total
        check(p["totals"]["bytes"] == total, p["totals"])
        check(ranks == 8 or abs(p["totals"]["share"] - share) < 1e-9, p["totals"])


def rank_bytes(m, tp, pp, dp, zero, rank):
    """Weights and optimizer states of a rank, by DLIO's formulas."""
    h, f, v, layers = m["hidden"], m["feed_forward"], m["vocabulary"], m["layers"]
    d = h // m["heads"] * m["kv_heads"]
    parameters = 2 * v * h + layers * (h + h * (h + 2 * d) + h * h + h + 2 * f * h + f * h) + h
    s = dp if zero == 3 else 1
    stage, replica = rank // tp % pp, rank // (tp * pp)
    matrices = [h // s, h * (h + 2 * d) // tp // s, h * h // tp // s, h // s, h * 2 * f // tp // s, h * f // tp // s]
    q, more = divmod(layers, pp)
    first = stage * (q + 1) + 1 if stage < more else more * (q + 1) + (stage - more) * q + 1
    elements = sum(matrices) * (q + 1 if stage < more else q)
    check(1 <= first <= layers, first)
    if stage == 0:
        elements += h * v // tp // s
    if stage == pp - 1:
        elements += h * v // tp // s + h // s
    weights = 0 if zero < 3 and replica else 2 * elements
    n = parameters // (tp * pp * (dp if zero else 1))
    optimizer = 0 if zero == 0 and replica else 4 * 3 * (n + 5 * h)
    return weights, optimizer


def test_formulas():
    """Models that need padding: hidden not divisible by heads, 7 layers on 3 stages, more tensor ranks than KV heads."""
    models = ({"vocabulary": 101, "hidden": 50, "feed_forward": 77, "layers": 7, "heads": 4, "kv_heads": 1},
              {"vocabulary": 32000, "hidden": 2048, "feed_forward": 8193, "layers": 24, "heads": 31, "kv_heads": 3})
    for m in models:
        for tp, pp, dp, zero in ((1, 1, 4, 0), (4, 3, 2, 0), (8, 1, 2, 1), (2, 3, 2, 1), (1, 7, 1, 2), (4, 1, 3, 3)):
            job = {"stores": {"s": {"uri": "null://x"}},
                   "phases": [{"checkpoint": {"model": {**m, "tensors": "dlio"}, "mesh": {"tensor": tp, "pipeline": pp, "data": dp, "zero": zero}}}]}
            with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
                json.dump(job, f)
                f.flush()
                p, rows = planned(f.name, 1, tp * pp * dp)
            wanted = [rank_bytes(m, tp, pp, dp, zero, r) for r in range(tp * pp * dp)]
            check([(r["weights"], r["optimizer"]) for r in rows] == wanted, f"{m} on {(tp, pp, dp, zero)}: {rows}, {wanted}")
            check(p["totals"]["bytes"] == sum(map(sum, wanted)), p["totals"])


def test_text():
    """Totals, then a line for each kind of rank."""
    r = haul("plan", "llama3_405b", "--nodes", 64, "--ranks-per-node", 8, env=DATA)
    check(r.returncode == 0 and r.stderr == "", r)
    for words in ("checkpoint parameters 405,853,388,800 · weight_bytes 811.8 GB", "bytes 5.68 TB", "files 1,544",
                  "232       3.19 GB       9.51 GB       12.7 GB       12.7 GB             5",
                  "256           0 B       9.51 GB       9.51 GB       9.51 GB             1"):
        check(words in r.stdout, f"{words!r} is not in\n{r.stdout}")
    check(all(len(line) <= 100 for line in r.stdout.splitlines()), r.stdout)
    r = haul("plan", "llama3_1t", "--ranks-per-node", 8, env=DATA)
    check("share 0.932 %" in r.stdout and "the phase has the first 8 of them" in r.stdout, r)
    refused(haul("plan", "llama3_8b", "--ranks-per-node", 9, env=DATA), "/phases/0/checkpoint/mesh: ", "a mesh of 8 ranks")


main()
