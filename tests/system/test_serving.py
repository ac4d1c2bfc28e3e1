# SPDX-License-Identifier: Apache-2.0
"""The profile serving of key-value caches, seen from outside: the files of each layout and the system calls on them, and
which ranks write and read them."""
import collections
import re
import subprocess
import urllib.parse

from haultest import *
from test_ends import KEYS, Quiet

# Bytes of a token, of all layers: models of the built-in list.
TOKEN_BYTES = {"llama3.1-8b": 131072, "deepseek-v3": 70272}
NAMES = {"lmcache_fs": r"org-SEP->{model}@0x01000100@0@[0-9a-f]{{1,16}}\.data",
         "lmcache_fs_native": r"org-SEP->{model}@0x01000100@0@[0-9a-f]{{1,16}}\.data",
         "vllm_fs": r"org_{model}_[0-9a-f]{{12}}_r0/[0-9a-f]{{3}}/[0-9a-f]{{2}}_g0/[0-9a-f]{{64}}\.bin"}
TEMPORARY = {"lmcache_fs": r"\.tmp", "lmcache_fs_native": r"\.tmp", "vllm_fs": r"_[0-9a-f]{8}\.tmp"}
# A path is quoted, or behind the number of a descriptor, and may hold a ">".
CALL = re.compile(r'^(?:\d+ +)?(\w+)\((?:AT_FDCWD(?:<[^"]*>)?, )?(?:"([^"]*)"|\d+<(.*?)>(?=, |\)))(.*)= (-?\d+)')


def traced(folder, ranks, job, *more):
    """Runs the job; what strace sees each rank do with the files of the cache: {rank: [(call, path, rest, result)]}."""
    write_job(folder, job)
    calls = "open,openat,access,stat,newfstatat,rename,unlink,write,pwrite64,read,pread64,fsync,fdatasync,mkdir,getdents64"
    shell = f"exec strace -f -y -s 0 --seccomp-bpf -e trace={calls} -o {folder}/trace.$PMI_RANK {HAUL} run job.json " \
            f"--results results.h5 --force {' '.join(more)}"
    r = subprocess.run([MPIEXEC, "-n", str(ranks), "sh", "-c", shell], cwd=folder, capture_output=True, text=True,
                       timeout=HANGS_S, env=environment())
    check(r.returncode == 0, f"{r.stdout}\n{r.stderr}")
    seen = {}
    for rank in range(ranks):
        with open(f"{folder}/trace.{rank}", encoding="utf-8", errors="replace") as stream:
            text = stream.read()
        text = text.replace("\\76", ">")  # strace writes it so in the paths of descriptors
        # A call that another thread interrupts is in two lines.
        begun, whole = {}, []
        for line in text.split("\n"):
            thread = line.split(" ", 1)[0]
            if "<unfinished ...>" in line:
                begun[thread] = line.split("<unfinished ...>")[0]
            elif "resumed>" in line:
                whole.append(begun.pop(thread, "") + line.split("resumed>", 1)[1])
            else:
                whole.append(line)
        seen[rank] = [(m[1], m[2] or m[3], m[4], int(m[5])) for m in map(CALL.match, whole)
                      if m and "/data/kvcache/" in (m[2] or m[3])]
    return seen


def job_of(folder, layout, model, tokens, block_tokens=256, **more):
    kvcache = {"profile": "serving", "model": model, "users": 1, "duration": "200 s", "requests": 2, "threads": 2,
               "conversation": {"enabled": False},
               "prefix": {"probability": 1, "prompts": 1, "tokens_min": tokens, "tokens_max": tokens},
               "templates": [{"name": "one", "context_min": 1, "context_max": 1, "generate_min": 1, "generate_max": 1,
                              "think_min": "6 s", "think_max": "6 s"}],
               "serving": {"layout": layout, "model_name": f"org/{model}", "block_tokens": block_tokens}}
    kvcache.update(more)
    return {"seed": 7, "stores": {"c": {"uri": f"file://{folder}/data"}}, "phases": [{"kvcache": kvcache}]}


def sizes_of(layout):
    """Tokens of a prompt and of its blocks: under FULL those of the program itself, else as many small ones."""
    if not FULL:
        return 512, 32
    return 4096, 16 if layout in ("vllm_fs", "vllm_disk") else 256


@matrix
@pauses("6 s", "40 s")
def test_layouts(think):
    """A prompt's blocks: their names, number and sizes, and the calls on each, of two models and each layout of files. All of a first
    request is written before the second begins."""
    for i, (model, token_bytes) in enumerate(TOKEN_BYTES.items()):
        for layout, name in list(NAMES.items()) if FULL else list(NAMES.items())[i::2]:
            tokens, block_tokens = sizes_of(layout)
            with Folder() as folder:
                job = job_of(folder, layout, model, tokens, block_tokens=block_tokens)
                job["phases"][0]["kvcache"]["templates"][0].update(think_min=think, think_max=think)
                seen = traced(folder, 1, job)[0]
                block = re.compile(r".*/data/kvcache/" + name.format(model=re.escape(model)) + "$")
                part = re.compile(block.pattern[:-1] + TEMPORARY[layout] + "$")
                lookup = "access" if layout == "vllm_fs" else "stat"
                files = collections.defaultdict(list)
                for call, path, rest, result in seen:
                    if block.match(path) or part.match(path):
                        key = re.sub(TEMPORARY[layout] + "$", "", path)
                        files[key].append(({"newfstatat": "stat", "openat": "open"}.get(call, call), bool(part.match(path)),
                                           rest, result))
                check(len(files) == tokens // block_tokens, f"{layout} {model}: {len(files)} files")
                for path, calls in files.items():
                    flags = [c[2] for c in calls if c[0] == "open" and c[1] and c[3] >= 0]
                    check(len(flags) == 1 and "O_WRONLY|O_CREAT|" in flags[0] and "O_TRUNC" in flags[0] and
                          ("O_EXCL" in flags[0]) == (layout == "vllm_fs"), f"{layout} {path}: {flags}")
                    # Of the opens in a folder that is not there yet, only the one that makes it counts.
                    order = [c[0] for c in calls if c[3] >= 0 or c[0] == lookup]
                    moved = [c[3] for c in calls if c[0] in ("write", "pwrite64")]
                    check(moved == [block_tokens * token_bytes], f"{layout} {path}: {moved}")
                    check([c for c in order if c in ("fsync", "fdatasync")] == [], f"{layout} {path}: {order}")
                    written = order[order.index("open") - 1:order.index("rename") + 1]
                    check(written == [lookup, "open", "pwrite64", "rename"], f"{layout} {path}: {order}")
                    read = order[order.index("rename") + 1:]
                    check(read[:1] == [lookup] and read.count("pread64") == 1 and read[-1] == "unlink",
                          f"{layout} {path}: {order}")
                check(not os.path.exists(f"{folder}/data/kvcache"), f"{layout}: files remain")


# Of each layout that cuts a file in slots: the file of rank 0, bytes before the slots, of a header, of a slot
# at least; and the requests of a put and of a get, each as its bytes of the header and whether it moves the block.
SLOTS = {"vllm_disk": (r"blocks\.rank_0", 0, 0, 0, [(0, True)], [(0, True)]),
         "lmcache_raw_block": (r"raw_block\.rank_0", 1 << 28, 4096, 1 << 20,
                               [(4096, False), (0, True)], [(0, True)]),
         "mooncake_offset": (r"rank_0/kv_cache\.data", 0, 4096, 0, [(4096, True)],
                             [(4096, False), (0, True)])}


def paged(count):
    """Rounded up to whole pages."""
    return -(-count // 4096) * 4096


def requests_of(slot, header, block, parts):
    """(offset, bytes) of the requests for the block of a slot that begins there, with direct I/O."""
    return [(slot + (0 if head else header), head + (paged(block) if whole else 0))
            for head, whole in parts]


def calls_on(folder, job, name):
    """Runs the job; what was done with files of that name: [(call, match of the name, (offset, bytes) or flags, result)]. No
    others are touched."""
    calls = []
    for call, path, rest, result in traced(folder, 1, job)[0]:
        inside = path.split("/data/kvcache/")[1]
        match = re.fullmatch(name, inside)
        if match:
            at = re.search(r", (\d+), (\d+) *\)$", rest.strip())
            check(result >= 0 or call == "openat", f"{path}: {call} {rest}")
            calls.append((call, match, (int(at[2]), int(at[1])) if at else rest, result))
        else:
            # The phase's own description, its folder's owner, and folders that are made or removed.
            check("haul" in inside or call in ("mkdir", "access") or not inside, f"{call} {path}")
    return calls


def slots_seen(folder, layout, model, block, slots, tokens, block_tokens, think):
    """Runs three requests of a shared prompt, each with four blocks of its own, in a file of so many slots; what was done
    with it: [(call, (offset, bytes) or flags)], the bytes of a slot, and the measures."""
    _, front, header, least, _, _ = SLOTS[layout]
    slot = paged(max(header + block, least))
    job = job_of(folder, layout, model, tokens, block_tokens=block_tokens, requests=3, verify="full",
                 tiers=[{"kind": "store", "capacity": front + slots * slot + 4095}])
    job["phases"][0]["kvcache"]["templates"][0].update(
        context_min=4 * block_tokens, context_max=4 * block_tokens, think_min=think, think_max=think)
    job["stores"]["c"]["direct"] = True
    calls = [(call, at, result) for call, _, at, result in calls_on(folder, job, SLOTS[layout][0])]
    return calls, slot, report(f"{folder}/results.h5")["phases"][0]


@matrix
@pauses("4 s", "40 s")
def test_slots(think):
    """Blocks in slots of one file per rank: the file is opened once and has its whole size before the first block; a put and a get are
    the requests of their program, to whole slots and from where the block was put; a lookup is none; no block makes, renames or
    removes anything; and beyond the capacity slots are used again, but not those of blocks that are read."""
    for i, (model, token_bytes) in enumerate(TOKEN_BYTES.items()):
        for layout in list(SLOTS) if FULL else list(SLOTS)[i::2]:
            tokens, block_tokens = sizes_of(layout)
            # These blocks are not whole pages; under FULL, those of vllm_disk are not.
            if not FULL and "deepseek" in model:
                block_tokens = 16
            block, shared = block_tokens * token_bytes, tokens // block_tokens
            slots = shared + 6
            with Folder() as folder:
                calls, slot, phase = slots_seen(folder, layout, model, block, slots, tokens, block_tokens, think)
                _, front, header, _, put, get = SLOTS[layout]
                where = f"{layout} {model}"
                flags = [rest for call, rest, fd in calls if call == "openat" and fd >= 0]
                check(len(flags) == 1 and "O_RDWR|O_CREAT" in flags[0] and "O_DIRECT" in flags[0], f"{where}: {flags}")
                rest = collections.Counter(call for call, _, _ in calls if call not in ("openat", "pwrite64", "pread64"))
                # A look at the file when it is opened, and before it is removed in the end.
                check(rest == {"newfstatat": 2, "unlink": 1} and calls[-1][0] == "unlink", f"{where}: {rest}")
                moved = [(call, where) for call, where, _ in calls if call in ("pwrite64", "pread64")]
                end = front + slots * slot
                check(moved[0] == ("pwrite64", (end - 4096, 4096)), f"{where}: {moved[0]}")
                written = [at for call, at in moved[1:] if call == "pwrite64"]
                read = [at for call, at in moved if call == "pread64"]
                starts = [front + slot * n for n in range(slots)]
                of_put = {start: requests_of(start, header, block, put) for start in starts}
                of_get = {start: requests_of(start, header, block, get) for start in starts}
                # Every request is part of a put or get of a slot, and all of them are whole.
                puts, gets = collections.Counter(written), collections.Counter(read)
                times = {start: puts[of_put[start][0]] for start in starts}
                check(puts == {at: n for start, n in times.items() for at in of_put[start] if n}, f"{where}: {puts}")
                check(shared + 8 <= sum(times.values()) <= shared + 12, f"{where}: {times}")
                check(max(times.values()) == 2 and set(times.values()) <= {1, 2}, f"{where}: {times}")
                kept = [start for start in starts if gets[of_get[start][0]]]
                check(len(kept) == shared and all(times[start] == 1 for start in kept), f"{where}: {gets}")
                check(gets == {at: 2 for start in kept for at in of_get[start]}, f"{where}: {gets}")
                of, tier = phase["measures"], phase["tiers"][0]
                check(of["payload_errors"] == 0 and of["errors"] == 0 and of["hits"] == 2 * shared, of)
                check(of["lookups"] == 1 + 2 * (shared + 1) and of["stats"] == of["opens"] == 0, of)
                check(tier["deletions"] == sum(times.values()) - slots, f"{where}: {tier}")
                check(not os.path.exists(f"{folder}/data/kvcache"), f"{where}: files remain")


@long
def test_index():
    """LMCache's index of slots: after a minute, a header and a page of it, in front of the slots."""
    with Folder() as folder:
        job = slots_job(folder, "lmcache_raw_block", duration="64 s")
        job["stores"]["c"]["direct"] = True
        rests = [rest for call, path, rest, _ in traced(folder, 1, job)[0]
                 if call == "pwrite64" and "raw_block.rank_0" in path]
        moved = [tuple(map(int, re.search(r", (\d+), (\d+) *\)$", rest.strip()).groups())) for rest in rests]
        check([of for of in moved if of[1] < 1 << 28] == [(4096, 0), (4096, 4096)], f"{moved}")
        with_blocks = [of for of in moved if of[1] >= 1 << 28]
        check(len(with_blocks) > 30 and max(at for _, at in with_blocks) < 300 << 20, f"{with_blocks}")


def slots_job(folder, layout, **more):
    return job_of(folder, layout, "tiny-1b", 512, block_tokens=32, requests=0, **{
        "tiers": [{"kind": "store", "capacity": "300 MiB"}], **more})


@matrix
@pauses("60 ms", "600 ms", "3 s")
def test_slots_busy(think):
    """Prompts that come while their blocks are still being written, in a file with room for few more than one of them: what is
    fetched has been written, and is not written over meanwhile."""
    for layout, (_, front, *_) in some(list(SLOTS.items()), 2):
        with Folder() as folder:
            job = slots_job(folder, layout, users=4, served=4, threads=8, duration="200 s", verify="full",
                            tiers=[{"kind": "store", "capacity": front + (24 << 20)}])
            of = job["phases"][0]["kvcache"]
            of["requests"] = 300  # as many as bring more blocks than there is room for
            of["templates"][0].update(context_min=1, context_max=64, think_min="1 us", think_max=think)
            write_job(folder, job)
            r = alone("run", "job.json", "--results", "results.h5", cwd=folder)
            check(r.rc == 0, f"{layout}: {r}")
            phase = report(f"{folder}/results.h5")["phases"][0]
            of = phase["measures"]
            check(of["payload_errors"] == of["errors"] == of["blocks_gone"] == 0, f"{layout}: {of}")
            check(of["hits"] > 0 and phase["tiers"][0]["deletions"] > 0, f"{layout}: {of}")


def test_slots_refused():
    """What a file of slots cannot be, in a sentence."""
    with Folder() as folder:
        serving = {"layout": "vllm_disk", "decode_ranks": 1, "arrive": "constant", "rate": 1}
        for store, more, sentence in (
                ({}, {"tiers": [{"kind": "store"}]}, 'layout "vllm_disk" makes a file of that size'),
                ({}, {"tiers": [{"kind": "store", "capacity": "64 KiB"}]}, "has no room for one block"),
                ({}, {"serving": serving}, "finds nothing that another one has written"),
                ({"uri": "mem://s"}, {}, "cannot write in place"),
                ({"uri": "s3://bucket"}, {}, "cannot write in place")):
            job = slots_job(folder, "vllm_disk", **more)
            job["stores"]["c"].update(store)
            write_job(folder, job)
            r = alone("plan", "job.json", cwd=folder, env=KEYS)
            check(r.rc != 0 and sentence in " ".join(f"{r.out} {r.err}".split()), f"{sentence}: {r}")


@matrix
def test_slots_cleaned():
    """Of a run that was killed, the files of all ranks remain; `haul clean` removes them and their folders."""
    for layout, (name, *_) in some(list(SLOTS.items()), 2):
        with Folder() as folder:
            write_job(folder, slots_job(folder, layout))
            files = [f"{folder}/data/kvcache/" + name.replace("\\", "").replace("_0", f"_{rank}")
                     for rank in range(2)]
            process = start(2, "run", "job.json", "--results", "results.h5", cwd=folder,
                            start_new_session=True)
            for _ in range(10 * HANGS_S):
                if all(map(os.path.exists, files)):
                    break
                time.sleep(0.1)
            kill_run(process, folder)
            check(all(map(os.path.exists, files)), f"{layout}: {os.listdir(folder)}")
            r = alone("clean", "job.json", cwd=folder)
            check(r.rc == 0 and not os.path.exists(f"{folder}/data/kvcache"), f"{layout}: {r}")


class Noting(Quiet):
    """Notes what is asked of it: (method, name in the request, bytes sent, Range)."""

    def __init__(self):
        super().__init__(lambda method, before: False)
        self.noted, self.RequestHandlerClass = [], Noting.Handler

    class Handler(Quiet.Handler):
        def do(self):
            self.server.noted.append((self.command, self.path, int(self.headers.get("Content-Length", 0)), self.headers.get("Range")))
            self.path = urllib.parse.unquote(self.path)
            super().do()

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = do


@timing
@matrix
@pauses("6 s", "40 s")
def test_s3(think):
    """The objects of LMCache's s3 adapter, seen by the server: names with "@" as %40, each looked up by HEAD, put once as a whole, and
    got once as a whole."""
    for model, token_bytes in some(list(TOKEN_BYTES.items()), 2):
        tokens, block_tokens = sizes_of("lmcache_s3")
        with Folder() as folder, Noting() as server:
            job = job_of(folder, "lmcache_s3", model, tokens, block_tokens=block_tokens)
            job["phases"][0]["kvcache"]["templates"][0].update(think_min=think, think_max=think)
            job["stores"]["c"] = {"uri": "s3://bucket/x", "endpoints": [f"http://127.0.0.1:{server.server_port}"]}
            write_job(folder, job)
            r = alone("run", "job.json", "--results", "results.h5", cwd=folder, env=KEYS)
            check(r.rc == 0, f"{r}")
            name = re.compile(r"/bucket/x/kvcache/org/" + re.escape(model) + r"%4001000100%400%40[0-9a-f]{1,16}")
            files = collections.defaultdict(list)
            for method, path, sent, part in server.noted:
                if "haul" not in path and method in ("HEAD", "PUT", "GET") and "?" not in path:
                    check(name.fullmatch(path), f"{method} {path}")
                    files[path].append((method, sent, part))
            check(len(files) == tokens // block_tokens, f"{model}: {len(files)} objects")
            whole = block_tokens * token_bytes
            for path, asked in files.items():
                check([m for m, _, _ in asked][-2:] == ["HEAD", "GET"], f"{path}: {asked}")
                check([(sent, part) for m, sent, part in asked if m == "PUT"] == [(whole, None)], f"{path}: {asked}")
                check([part for m, _, part in asked if m == "GET"] == [None], f"{path}: {asked}")
            check(not [path for path in server.objects if "haul" not in path], "objects remain")


@pauses(4, 60)
def test_prefill_and_decode(seconds):
    """Prefill on ranks 0 and 1, decode on 2 and 3: each block is written once by the one side, and read by the other."""
    with Folder() as folder:
        job = job_of(folder, "lmcache_fs", "tiny-1b", 1024, requests=0, duration=f"{seconds} s", prefix={"enabled": False},
                     templates=[{"name": "one", "context_min": 1024, "context_max": 1024, "generate_min": 1,
                                 "generate_max": 1}],
                     serving={"layout": "lmcache_fs", "decode_ranks": 2, "arrive": "constant", "rate": 3, "hand_over": "200 s"})
        seen = traced(folder, 4, job)
        calls = ("pwrite64", "pread64")
        moved = {rank: {call: collections.Counter(re.sub(r"\.tmp$", "", path) for c, path, _, n in seen[rank]
                                                  if c == call and ".data" in path and n > 0) for call in calls}
                 for rank in seen}
        written = moved[0]["pwrite64"] + moved[1]["pwrite64"]
        read = moved[2]["pread64"] + moved[3]["pread64"]
        check(len(written) >= 40, f"{len(written)} blocks")
        check(set(written.values()) == {max(written.values())}, f"a block was written twice: {written}")
        check(not moved[2]["pwrite64"] and not moved[3]["pwrite64"], "a decoding rank has written")
        check(not moved[0]["pread64"] and not moved[1]["pread64"], "a prefilling rank has read")
        check(set(read) <= set(written) and len(read) >= len(written) - 16, f"{len(read)} of {len(written)} read")
        check(set(read.values()) == {max(read.values())}, f"a block was read twice: {read}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        check(phase["measures"]["blocks_gone"] == 0 and phase["measures"]["errors"] == 0, phase["measures"])
        check(phase["measures"]["hits"] == phase["measures"]["blocks_asked"] - phase["measures"]["misses"], phase["measures"])


# LMCache's table of reads in flight (fs_native_read_depth @2249e8a): of each budget in MiB, the share of the best rate where
# each read is late by so many ms. The array reads 54 GB/s; blocks have 6 MiB.
BUDGETS = (384, 768, 1536, 3072, 6144)
DEPTH_SHARES = {8: (65.4, 97.6, 98.9, 100, 99.9), 32: (31.6, 57.5, 99.8, 98.7, 100)}


def fetch_rate(folder, late_ms, budget_mib):
    """Bytes per second that four workers fetch: each has a quarter of the budget, and of a batch of 256 blocks, over 256 readers.
    A worker is a request of 64 blocks. How long a read takes by itself is not published: 1 ms, and the time in which a
    thread of haul wakes."""
    of = job_of(folder, "lmcache_fs_native", {"layers": 12, "hidden": 512, "heads": 4, "kv_heads": 4, "head_dim": 128}, 64 * 256,
                users=4, served=4, requests=0, threads=1, depth=256, duration="2 s" if FULL else "1 s",
                serving={"layout": "lmcache_fs_native", "block_tokens": 256, "fetch_bytes": f"{budget_mib // 4} MiB"})
    of["phases"][0]["kvcache"]["templates"][0].update(think_min="1 us", think_max="1 us")
    of["stores"]["c"] = {"uri": "sim://s", "rank_bandwidth": "54 GB/s", "latency": f"{late_ms} ms", "first_byte": "1 ms"}
    write_job(folder, of)
    r = alone("run", "job.json", "--results", "results.h5", "--force", cwd=folder)
    check(r.rc == 0, f"{r}")
    measures = report(f"{folder}/results.h5")["phases"][0]["measures"]
    return 4e9 * measures["fetched_tokens"] * 24576 / measures["fetch_ns"]


@long
@timing
@matrix
def test_fetch_bytes():
    """Reads in flight by bytes: the shares of LMCache's table within 3 points. What else the machine does makes reads later and
    never sooner, so of up to four runs the best one counts."""
    for late_ms, shares in list(DEPTH_SHARES.items()) if FULL else [(32, DEPTH_SHARES[32][:3])]:
        rates = [0] * len(shares)
        for _ in range(4):
            with Folder() as folder:
                rates = [max(rate, fetch_rate(folder, late_ms, budget)) for rate, budget in zip(rates, BUDGETS)]
            found = [100 * rate / max(rates) for rate in rates]
            if all(abs(a - b) <= 3 for a, b in zip(found, shares)):
                break
        else:
            check(False, f"{late_ms} ms: {found} of the best, {shares} in the table")
        print(f"{late_ms} ms: {' '.join(f'{share:.1f}' for share in found)}")


def waits_of(due, service, room=1 << 62):
    """Lindley: how long each request waits that arrives at those times at a server that takes so long, and how many are turned
    away because `room` of them wait already."""
    starts, waits, away, free, head = [], [], 0, 0, 0
    for at in due:
        while head < len(starts) and starts[head] <= at:
            head += 1
        if len(starts) - head >= room:
            away += 1
            continue
        starts.append(max(at, free))
        waits.append(starts[-1] - at)
        free = starts[-1] + service
    return waits, away


def served_alone(folder, due, service, room):
    """Measures of a server of one prompt at a time: each of the trace is one block, which is there from the first one on."""
    with open(f"{folder}/t.jsonl", "w", encoding="utf-8") as stream:
        for at in due:
            print(json.dumps({"chat_id": 1, "parent_chat_id": -1, "timestamp": round(at, 6), "type": "text", "turn": 1,
                              "input_length": 16, "output_length": 1, "hash_ids": [1]}), file=stream)
    job = job_of(folder, "haul", {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}, 16, requests=0, threads=1,
                 served=1, duration="600 s", arrivals={"file": f"{folder}/t.jsonl"}, serving={"block_tokens": 16, "queue": room})
    for unused in ("users", "templates", "conversation", "prefix"):
        del job["phases"][0]["kvcache"][unused]
    job["stores"]["c"] = {"uri": "sim://s", "rank_bandwidth": f"{16 * 256 / service:.0f} B/s"}
    write_job(folder, job)
    r = alone("run", "job.json", "--results", "results.h5", "--force", cwd=folder)
    check(r.rc == 0, f"{r}")
    return report(f"{folder}/results.h5")["phases"][0]["measures"]


@timing
@matrix
def test_open_arrivals():
    """Prompts that arrive at random at a store that takes a constant time wait as Lindley's recursion says from the recorded times; that
    this is M/D/1's waiting, the unit test of serving says over more of them. Waiting counts from when a prompt was due, so it is not
    less, and those that find the queue full are counted. Other load of the machine makes it more, for which only the full form looks.
    There are three attempts."""
    service = 0.1 if FULL else 0.03
    for rho, room, count in ((0.5, 0, 300), (0.9, 0, 500), (1.1, 20, 300)) if FULL else ((1.2, 0, 40), (1.2, 3, 40)):
        for _ in range(3):
            due, at = [0], 20 * service
            for _ in range(count):
                due.append(at)
                at += random.expovariate(rho / service)
            with Folder() as folder:
                of = served_alone(folder, due, service, room)
            check(of["offered"] == len(due) == of["requests"] + of["turned_away"], of)
            waits, away = waits_of(due, service, room or 1 << 62)
            found, wanted = of["request_queue_ns"] / 1e9 / of["requests"], sum(waits) / len(waits)
            # One more that is turned away spares others a wait.
            least = found >= (0.8 if room else 0.95) * wanted and of["turned_away"] >= away - 1 - 0.05 * away
            if least and (not FULL or found <= 1.05 * wanted and of["turned_away"] <= away + 1 + 0.05 * away):
                break
        else:
            check(False, f"{rho}: {found} s, not {wanted}; {of['turned_away']} turned away, not {away}")
        print(f"{rho}: {found * 1e3:.3f} ms, by Lindley {wanted * 1e3:.3f}; {of['turned_away']} turned away, by it {away}")


@pauses("6 s", "40 s")
def test_report(think):
    """The report of a server answers its question, has its own tables and none of MLPerf's; what was saved follows from the measures."""
    with Folder() as folder:
        job = job_of(folder, "haul", "tiny-1b", 1024)
        job["phases"][0]["kvcache"]["serving"]["prefill_tokens_per_second"] = 8000
        job["phases"][0]["kvcache"]["templates"][0].update(think_min=think, think_max=think)
        write_job(folder, job)
        r = subprocess.run([HAUL, "run", "job.json", "--results", "results.h5"], cwd=folder, capture_output=True, text=True,
                           timeout=HANGS_S, env=environment())
        check(r.returncode == 0, f"{r.stdout}\n{r.stderr}")
        check("1 user has 95 of 100 first tokens within" in " ".join(r.stdout.split()), r.stdout)
        check("MLPerf" not in r.stdout and ", qos" not in r.stdout, r.stdout)
        phase = report(f"{folder}/results.h5")["phases"][0]
        parts = {row["name"]: row for row in phase["first_tokens"]}
        check(list(parts) == ["ttft", "request_queue", "lookup", "fetch", "recompute", "stall"], parts)
        check(parts["ttft"]["count"] == 2 and parts["fetch"]["count"] == 1, parts)
        facts, of = {row["name"]: row["value"] for row in phase["serving"]}, phase["measures"]
        saved = of["saved_compute_ns"] - of["lookup_ns"] - of["stall_ns"]
        check(of["saved_compute_ns"] == 128000000 and abs(facts["saved_time"] - saved / 1e9) < 1e-9, facts)
        check(abs(facts["saved_share"] - saved / (of["saved_compute_ns"] + of["missing_compute_ns"])) < 1e-9, facts)
        check(facts["fetch_pays_from_tokens"] is None, facts)
        found = f"of 100 blocks of prompts, {100 * of['hits'] / of['blocks_asked']:.0f} were found"
        # On a busy machine a fetch may take longer than computing.
        became = f"which saved {100 * facts['saved_share']:.0f} % of the time of computing all" if saved > 0 else \
            "but first tokens had come earlier if all had been computed"
        check(f"{found}, {became}" in " ".join(r.stdout.split()), r.stdout)
        check("mlperf_figures" not in phase or not phase["mlperf_figures"], phase)


if __name__ == "__main__":
    main()
