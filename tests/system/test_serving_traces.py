# SPDX-License-Identifier: Apache-2.0
"""Recorded prompts of the profile serving: what their blocks, the blocks found and caches of limited size amount to, by a definition of
a few lines; and traces that are wrong. Traces are drawn, as Mooncake, Qwen and LMCache write them."""
import collections
import gzip
import shutil

from haultest import *

MODEL = {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}
WRITE = {"mooncake": lambda at, tokens, ids, size: {"timestamp": at, "input_length": tokens, "output_length": 3,
                                                    "hash_ids": ids},
         "qwen": lambda at, tokens, ids, size: {"chat_id": 1, "parent_chat_id": -1, "timestamp": at / 1000, "type": "text",
                                                "input_length": tokens, "output_length": 3, "turn": 1, "hash_ids": ids},
         "lmcache": lambda at, tokens, ids, size: {"timestamp": 1756700000 + at / 1000, "model_name": "m", "chunk_size": size,
                                                   "seq_len": tokens, "chunk_hashes": [hex(i) for i in ids]}}
# Tokens of a block; LMCache's lines say how many, so any number.
SIZES = {"mooncake": 512, "qwen": 16, "lmcache": 100}


def defined(prompts, size, room):
    """What a cache of so many blocks finds that loses the block used least recently: blocks, different ones, those found, and tokens."""
    cache, blocks, found, tokens, seen = collections.OrderedDict(), 0, 0, 0, set()
    for length, ids in prompts:
        hits = 0
        while hits < len(ids) and ids[hits] in cache:
            hits += 1
        for i in ids:
            cache[i] = True
            cache.move_to_end(i)
            if len(cache) > room:
                cache.popitem(last=False)
        blocks, found, tokens = blocks + len(ids), found + hits, tokens + min(hits * size, length)
        seen.update(ids)
    return blocks, len(seen), found, tokens


def drawn(form, requests, longest):
    """Prompts as (tokens, blocks): each begins as an earlier one does, and goes on with blocks of its own. The last block may not be
    full; only LMCache has no name for it then."""
    size, prompts, number = SIZES[form], [], random.choice([0, 1 << 40, (1 << 64) - 1 - 2 * requests * longest])
    for _ in range(requests):
        before = random.choice(prompts)[1] if prompts else []
        ids = before[:random.randint(0, len(before))]
        while len(ids) < 1 or (len(ids) < longest and random.random() < 0.8):
            ids = ids + [number]
            number += 1
        rest = random.randint(1, size) if form != "lmcache" else size + random.randint(0, size - 1)
        prompts.append(((len(ids) - 1) * size + rest, ids))
    return prompts


def write_trace(path, form, prompts, apart_ms):
    lines = [json.dumps(WRITE[form](k * apart_ms, tokens, ids, SIZES[form])) for k, (tokens, ids) in enumerate(prompts)]
    with (gzip.open if path.endswith(".gz") else open)(path, "wt") as stream:
        stream.write("\n".join(lines) + "\n" * random.randint(0, 1))


def job_of(folder, trace, **arrivals):
    return {"seed": 7, "stores": {"c": {"uri": f"file://{folder}/data", "fsync": "none"}}, "phases": [{"kvcache": {
        "profile": "serving", "model": MODEL, "users": 1, "duration": "100 s", "threads": 2,
        "arrivals": {"file": trace, **arrivals}, "serving": {}}}]}


def planned(folder, job):
    write_job(folder, job)
    r = alone("plan", "job.json", "--json", cwd=folder)
    return r, json.loads(r.out)["phases"][0] if r.rc == 0 else None


@matrix
def test_caches():
    """Caches without a limit and of four sizes find what the definition says, chunk for chunk."""
    for form in WRITE:
        for requests, longest in some([(60, 12), (1, 1), (7, 40), (2000, 60)], 3):
            with Folder() as folder:
                prompts = drawn(form, requests, longest)
                trace = f"{folder}/t.jsonl" + random.choice(["", ".gz"])
                write_trace(trace, form, prompts, 10)
                r, plan = planned(folder, job_of(folder, trace))
                check(r.rc == 0, r.err)
                size, rooms = SIZES[form], [row[0] for row in plan["tables"]["caches"]["rows"]]
                blocks, distinct, found, tokens = defined(prompts, size, 1 << 62)
                totals = plan["totals"]
                if not (form != "lmcache" and all(n <= size for n, _ in prompts)):  # short prompts fit several sizes
                    check(totals["block_tokens"] == size, totals)
                check((totals["blocks"], totals["distinct_blocks"]) == (blocks, distinct), f"{form}: {totals}")
                check(rooms == [distinct] + [distinct >> i for i in range(1, 5)], rooms)
                for row, room in zip(plan["tables"]["caches"]["rows"], [1 << 62] + rooms[1:]):
                    check((row[2], row[3]) == defined(prompts, size, room)[2:], f"{form}, {room} blocks: {row}")


@matrix
def test_ranks():
    """A store that ranks share is asked, has and finds as many blocks on any number of ranks, and each is written once. The next prompt
    comes when the blocks of the last one are there; a machine that is too busy for that gets more time."""
    prompts = drawn("mooncake", 240 if FULL else 24, 12)
    blocks, distinct, found, _ = defined(prompts, SIZES["mooncake"], 1 << 62)
    for ranks in (1, 4, 8) if FULL else (1, 4):
        for apart_ms in (40, 160, 640):
            with Folder() as folder:
                write_trace(f"{folder}/t.jsonl", "mooncake", prompts, apart_ms)
                write_job(folder, job_of(folder, f"{folder}/t.jsonl"))
                r = mpi(ranks, "run", "job.json", "--results", "results.h5", cwd=folder)
                check(r.rc == 0, r.err)
                of = report(f"{folder}/results.h5")["phases"][0]["measures"]
                counts = of["blocks_asked"], of["entry_writes"], of["hits"]
            if counts == (blocks, distinct, found):
                break
            check(counts[0] == blocks and counts[1] == distinct, f"{ranks} ranks: {counts}, not {blocks, distinct, found}")
        check(counts == (blocks, distinct, found), f"{ranks} ranks: {counts}, not {blocks, distinct, found}")


@long
def test_public():
    """Mooncake's two public traces, where HAUL_TRACES names their folder: counts of published files, and LRU by the definition."""
    folder_of = os.environ.get("HAUL_TRACES")
    known = {"conversation": (288500, 182790, 105710), "synthetic": (121877, 43924, 77953)}
    for name, wanted in known.items() if folder_of else ():
        with Folder() as folder:
            path = f"{folder}/{name}.jsonl"
            shutil.copy(f"{folder_of}/{name}_trace.jsonl", path)
            with open(path, encoding="utf-8") as stream:
                prompts = [(row["input_length"], row["hash_ids"]) for row in map(json.loads, stream)]
            _, plan = planned(folder, job_of(folder, path))
            rows = plan["tables"]["caches"]["rows"]
            check((plan["totals"]["blocks"], plan["totals"]["distinct_blocks"], rows[0][2]) == wanted, plan["totals"])
            for i, row in enumerate(rows):
                check((row[2], row[3]) == defined(prompts, 512, row[0] if i else 1 << 62)[2:], row)


def line(at, tokens, ids, **more):
    return json.dumps({"timestamp": at, "input_length": tokens, "output_length": 1, "hash_ids": ids, **more}) + "\n"


def test_wrong():
    """A line that is wrong is refused with its number; with lenient, it is left out and counted, and all others stay."""
    good = [line(k, 1000, [0, k + 1]) for k in range(20)]
    lookup = '{"timestamp": %g, "chunk_size": %d, "seq_len": 1000, "chunk_hashes": ["0x1", "0x2", "0x3"]}\n'
    wrong = {"cut": line(5, 1000, [0, 9])[:-20] + "\n", "back": line(2, 1000, [0, 9]), "beyond": line(5, 1000, [0, 1 << 64]),
             "below": line(5, 1000, [0, -(1 << 63) - 1]), "few": line(5, 9000, [0]), "many": line(5, 1000, [0, 9, 10]),
             "none": line(5, 9000, []), "negative": line(5, -1, [0, 9]), "huge": line(5, 1 << 40, [0, 9]),
             "half": line(5, 1000, [0, 1.5]), "text": line(5, 1000, [0, "1"]), "object": line(5, 1000, {"0": 1}),
             "late": line(1e300, 1000, [0, 9]), "zero": "\0\n", "long": line(5, 1000, [0, 9], text="x" * (300 << 10)),
             "chunks": lookup % (0.005, 300), "words": "what is this\n"}
    looks_alike = [line(0, 1000, [0, 1]).replace('"hash_ids": [0, 1]', '"text": "\\"hash_ids\\": [7, 8]", "hash_ids": [0, 1]'),
                   line(0, 1000, [0, 1]).replace('"hash_ids": [', '"more": {"hash_ids": [7, 8]}, "\\u0068ash_ids": [')]
    with Folder() as folder:
        for name, bad in list(wrong.items()) + [("first", line(0, 9000, [0]))]:
            at = 0 if name == "first" else 5
            with open(f"{folder}/t.jsonl", "w", encoding="utf-8") as stream:
                stream.write("".join(good[:at] + [bad] + good[at:]))
            r, _ = planned(folder, job_of(folder, f"{folder}/t.jsonl"))
            # The first line may be right as far as one can know; then the next one is refused.
            check(r.rc != 0 and f"line {2 if name == 'first' else at + 1}" in r.err, f"{name}: {r.out} {r.err}")
            r, plan = planned(folder, job_of(folder, f"{folder}/t.jsonl", lenient=True))
            check(r.rc == 0 and (plan["totals"]["blocks"], plan["totals"]["distinct_blocks"]) == (40, 21), f"{name}: {r.out} {r.err}")
            notes = " ".join(json.loads(r.out)["notes"])
            check("1 rows are wrong and left out" in notes and f"line {at + 1}" in notes, f"{name}: {notes}")
        for text in looks_alike:
            with open(f"{folder}/t.jsonl", "w", encoding="utf-8") as stream:
                stream.write(text + "".join(good[1:]))
            r, plan = planned(folder, job_of(folder, f"{folder}/t.jsonl"))
            check(r.rc == 0 and plan["totals"]["distinct_blocks"] == 21, f"{text}: {r.out} {r.err}")
        whole = gzip.compress("".join(good).encode())
        with open(f"{folder}/t.jsonl", "wb") as stream:
            stream.write(whole[:-5])
        r, _ = planned(folder, job_of(folder, f"{folder}/t.jsonl"))
        check(r.rc != 0 and "ends in the middle" in r.err, r.err)
        r, plan = planned(folder, job_of(folder, f"{folder}/t.jsonl", lenient=True))
        check(r.rc == 0 and plan["totals"]["blocks"] >= 38, r.err)


def test_cut():
    """Blocks of a context that is cut are cut, too."""
    with Folder() as folder:
        with open(f"{folder}/t.jsonl", "w", encoding="utf-8") as stream:
            stream.write(line(0, 5000, list(range(10))) + line(9, 700, [0, 1]))
        for most, blocks in ((0, 12), (5000, 12), (1025, 5), (512, 2)):
            _, plan = planned(folder, job_of(folder, f"{folder}/t.jsonl", context_max=most))
            check(plan["totals"]["blocks"] == blocks, f"{most}: {plan['totals']}")


main()
