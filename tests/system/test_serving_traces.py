# SPDX-License-Identifier: Apache-2.0
"""Recorded prompts of the profile serving: what their blocks, the blocks found and caches of limited size amount to, by a definition of
a few lines; and traces that are wrong. Traces are drawn, as Mooncake, Qwen and LMCache write them."""
import collections
import gzip
import shutil
import struct

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


def conversations(requests, apart):
    """Prompts as a server of conversations gets them: a system prompt that many have, then turns, each of which has all full blocks of
    the turn before, which came so many prompts earlier at least. Lengths are as in Mooncake's conversations: 24 blocks a prompt, a
    third of them seen before."""
    size, prompts, open_ones, waiting, number = SIZES["mooncake"], [], [], collections.deque(), 100
    for k in range(requests):
        while waiting and waiting[0][0] + apart <= k:
            open_ones.append(waiting.popleft()[1])
        if open_ones and random.random() < 0.3:
            before = open_ones.pop(random.randrange(len(open_ones)))[:-1]
        else:
            system = random.randrange(8)
            before = [10 * system + i for i in range(1 + system)] if k >= 8 + apart else []
        more = min(1 + int(random.lognormvariate(2.2, 1)), 256)
        ids = (before + list(range(number, number + more)))[:256]
        if k < 8:  # the system prompts are the first ones
            ids = [10 * k + i for i in range(1 + k)] + ids
        number += more
        prompts.append(((len(ids) - 1) * size + random.randint(1, size), ids))
        waiting.append((k, ids))
    return prompts


def counted(prompts, ranks, apart_ms, model):
    """Blocks that a run asks for, writes and finds."""
    with Folder() as folder:
        write_trace(f"{folder}/t.jsonl", "mooncake", prompts, apart_ms)
        job = job_of(folder, f"{folder}/t.jsonl")
        job["phases"][0]["kvcache"]["model"] = model
        write_job(folder, job)
        r = mpi(ranks, "run", "job.json", "--results", "results.h5", cwd=folder)
        check(r.rc == 0, r.err)
        of = report(f"{folder}/results.h5")["phases"][0]["measures"]
        return of["blocks_asked"], of["entry_writes"], of["hits"]


def check_ranks(prompts, ranks, pauses_ms, model):
    """On a busy machine, the blocks of a prompt may not be there yet when another needs them, or too many wait to be written; then all
    come slower."""
    wanted = defined(prompts, SIZES["mooncake"], 1 << 62)[:3]
    for apart_ms in pauses_ms:
        counts = counted(prompts, ranks, apart_ms, model)
        if counts == wanted:
            return
    raise AssertionError(f"{ranks} ranks: {counts}, not {wanted}")


def check_plan(folder, path, prompts, wanted):
    """Blocks, different ones and those found; and what caches of four sizes find."""
    r, plan = planned(folder, job_of(folder, path))
    check(r.rc == 0, r.err)
    rows = plan["tables"]["caches"]["rows"]
    check((plan["totals"]["blocks"], plan["totals"]["distinct_blocks"], rows[0][2]) == wanted and len(rows) == 5, f"{plan}, not {wanted}")
    for i, row in enumerate(rows):
        check((row[2], row[3]) == defined(prompts, 512, row[0] if i else 1 << 62)[2:], row)


@matrix
def test_ranks():
    """A store that ranks share is asked, has and finds as many blocks on any number of ranks, and each is written once."""
    prompts = drawn("mooncake", 240 if FULL else 24, 12)
    for ranks in (1, 4, 8) if FULL else (1, 4):
        check_ranks(prompts, ranks, (40, 160, 640), MODEL)


def test_nothing_found():
    """All lookups of a prompt may be answered, and its blocks computed in no time, while there was no room for its next lookup. All
    blocks may wait to be written: a busy machine comes to that when the last prompt is served."""
    prompts = [(SIZES["mooncake"] * 24, [24 * k + i for i in range(24)]) for k in range(100)]
    for threads, depth in some([(1, 1), (2, 1), (1, 8), (2, 4)], 2):
        with Folder() as folder:
            write_trace(f"{folder}/t.jsonl", "mooncake", prompts, 2)
            job = job_of(folder, f"{folder}/t.jsonl")
            job["stores"]["c"] = {"uri": "sim://c", "latency": "1 ms"}
            job["phases"][0]["kvcache"].update({"threads": threads, "depth": depth, "serving": {"pending": 24 * len(prompts)}})
            write_job(folder, job)
            r = mpi(2, "run", "job.json", cwd=folder)
            check(r.rc == 0, f"{threads} threads, {depth} deep: {r}")
            of = report(f"{folder}/results.h5")["phases"][0]["measures"]
            counts = of["blocks_asked"], of["entry_writes"], of["hits"]
            check(counts == (2400, 2400, 0), f"{threads} threads, {depth} deep: {counts}")


@long
def test_large():
    """Traces of the number, lengths and reuse of Mooncake's published ones: counts, and LRU of four sizes, are those of the definition;
    and so is what 1, 4 and 8 ranks count. Where HAUL_TRACES names the folder of the published files, they have the published counts."""
    prompts = conversations(12000, 100)
    wanted = defined(prompts, 512, 1 << 62)[:3]
    check(wanted[0] > 200000 and 0.3 < wanted[2] / wanted[0] < 0.7, f"drawn otherwise than a server's: {wanted}")
    with Folder() as folder:
        write_trace(f"{folder}/t.jsonl", "mooncake", prompts, 300)
        check_plan(folder, f"{folder}/t.jsonl", prompts, wanted)
    prompts = conversations(600, 100)
    for ranks in (1, 4, 8):
        check_ranks(prompts, ranks, (15, 45, 120), {**MODEL, "hidden": 2, "head_dim": 2})
    published = {"conversation": (288500, 182790, 105710), "synthetic": (121877, 43924, 77953)}
    for name, wanted in published.items() if "HAUL_TRACES" in os.environ else ():
        with Folder() as folder:
            path = f"{folder}/{name}.jsonl"
            shutil.copy(f"{os.environ['HAUL_TRACES']}/{name}_trace.jsonl", path)
            with open(path, encoding="utf-8") as stream:
                check_plan(folder, path, [(row["input_length"], row["hash_ids"]) for row in map(json.loads, stream)], wanted)


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


def pack(v):
    """MessagePack of a value, with the shortest head or, by chance, a longer one."""
    if isinstance(v, float):
        return b"\xcb" + struct.pack(">d", v)
    if isinstance(v, int):
        return bytes([v]) if v < 128 and random.random() < 0.5 else b"\xcf" + struct.pack(">Q", v)
    if isinstance(v, bytes):
        return b"\xc4" + bytes([len(v)]) + v
    if isinstance(v, str):
        b = v.encode()
        return (bytes([0xa0 | len(b)]) if len(b) < 32 else b"\xda" + struct.pack(">H", len(b))) + b
    if v is None:
        return b"\xc0"
    short = len(v) < 16 and random.random() < 0.5
    if isinstance(v, dict):
        return (bytes([0x80 | len(v)]) if short else b"\xde" + struct.pack(">H", len(v))) + b"".join(pack(k) + pack(x) for k, x in v.items())
    return (bytes([0x90 | len(v)]) if short else b"\xdd" + struct.pack(">I", len(v))) + b"".join(map(pack, v))


def typed(kind, v):
    return {"__t__": kind, "v": v}


def call(at, name, ids, ranks=1, typed_keys=True):
    """A record of LMCache's storage trace."""
    keys = [typed("ObjectKey", {"chunk_hash": i.to_bytes(8, "big"), "model_name": "m", "kv_rank": rank, "object_group_id": 0})
            for i in ids for rank in range(ranks)]
    args = {"spec": typed("PrefetchRequestSpec", {"num_kv_readers": 1, "keys": keys})} if typed_keys else {"mode": "new", "keys": keys}
    return pack({"type": "record", "t_mono": at, "t_wall": 1.7e9 + at, "args": args,
                 "qualname": f"lmcache.v1.distributed.storage_manager.StorageManager.{name}"})


def framed(frames):
    return b"".join(struct.pack(">I", len(f)) + f for f in frames)


HEADER = {"type": "header", "magic": b"LMCT", "format_version": 1, "level": "storage", "trace_schema_version": 1, "t_mono_start": 1.5,
          "t_wall_start": 1.7e9, "sm_config_json": "{}", "sm_config_digest": "0" * 64}


def test_frames():
    """A storage trace of LMCache: what is prefetched is a prompt. Frames that are cut, lie about their size or hold something else are
    refused with their number, or counted."""
    prompts = [(256 * len(ids), ids) for _, ids in drawn("mooncake", 50, 20)]
    good = [pack(HEADER)]
    for k, (_, ids) in enumerate(prompts):
        good += [call(k / 10, "submit_prefetch_task", ids, 1 + k % 2, k % 3 > 0), call(k / 10 + 0.01, "reserve_write", ids[-1:])]
    at = 9  # frame 10, a prefetch
    wrong = {"back": (call(0.05, "submit_prefetch_task", [1]), "is earlier"), "nothing": (pack(None), "must be"),
             "cut": (good[at][:-1], "no MessagePack"), "more": (good[at] + b"\xc0", "no MessagePack"),
             "far": (b"\xdf\xff\xff\xff\xff", "no MessagePack"), "text": (b"\xdb\xff\xff\xff\xff", "no MessagePack"),
             "deep": (b"\x91" * 100000 + b"\xc0", "must be"), "keys": (call(0.5, "submit_prefetch_task", []).replace(b"keys", b"kays"), "keys"),
             "hash": (good[at].replace(b"chunk_hash", b"chunk_hush"), "chunk_hash"), "never": (b"\xc1", "no MessagePack"),
             "nan": (call(float("nan"), "submit_prefetch_task", [1]), "t_mono"), "header": (pack({**HEADER, "magic": b"LMCU"}), "")}
    with Folder() as folder:
        path = f"{folder}/t.lct"

        def given(data, **more):
            with (gzip.open if random.random() < 0.3 else open)(path, "wb") as stream:
                stream.write(data)
            return planned(folder, job_of(folder, path, **more))
        r, plan = given(framed(good))
        check(r.rc == 0, r.err)
        rows = plan["tables"]["caches"]["rows"]
        check(plan["totals"]["block_tokens"] == 256 and
              (plan["totals"]["blocks"], rows[0][0], rows[0][2], rows[0][3]) == defined(prompts, 256, 1 << 62), plan)
        for row in rows[1:]:
            check((row[2], row[3]) == defined(prompts, 256, row[0])[2:], row)
        blocks = plan["totals"]["blocks"]
        for name, (frame, says) in wrong.items():
            data = framed(good[:at + 1] + [frame] + good[at + 1:])
            r, _ = given(data)
            check(r.rc != 0 and f"frame {at + 2}: " in r.err and says in r.err, f"{name}: {r}")
            r, plan = given(data, lenient=True)
            check(r.rc == 0 and plan["totals"]["blocks"] == blocks and "1 rows are wrong" in r.out, f"{name}: {r}")
        for data, says in ((framed(good)[:-3], f"frame {len(good)}: is cut off"), (framed(good) + b"\0\0", "is cut off"),
                           (framed(good) + b"\xff\xff\xff\xff", "says that it has 4294967295 bytes"),
                           (framed(good) + b"\0\0\0\0x", "says that it has 0 bytes"),
                           (framed(good) + b"\0\0\1\0x", "is cut off: 1 of its 256")):
            r, _ = given(data)
            check(r.rc != 0 and says in r.err, r)
            r, plan = given(data, lenient=True)
            check(r.rc == 0 and plan["totals"]["blocks"] == blocks and "1 rows are wrong" in r.out, r)
        for change, says in (({"format_version": 2}, "another version"), ({"level": "mq"}, "another level")):
            r, _ = given(framed([pack({**HEADER, **change})] + good[1:]))
            check(r.rc != 0 and says in r.err, r)


def test_cut():
    """Blocks of a context that is cut are cut, too."""
    with Folder() as folder:
        with open(f"{folder}/t.jsonl", "w", encoding="utf-8") as stream:
            stream.write(line(0, 5000, list(range(10))) + line(9, 700, [0, 1]))
        for most, blocks in ((0, 12), (5000, 12), (1025, 5), (512, 2)):
            _, plan = planned(folder, job_of(folder, f"{folder}/t.jsonl", context_max=most))
            check(plan["totals"]["blocks"] == blocks, f"{most}: {plan['totals']}")


main()
