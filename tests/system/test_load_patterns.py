# SPDX-License-Identifier: Apache-2.0
"""Loading a model as servers do: the calls of each pattern as strace sees them, what each rank needs as a cut of the published
tensor lists says that knows nothing of haul's, how much more than that is read, and the order of the patterns on stores of known
shapes."""
import collections
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time

import h5py
from haultest import *

for other in ("servers", "hostile"):
    sys.path.insert(0, os.path.join(os.environ["HAUL_SOURCE"], "tests", other))
import fuse  # noqa: E402
import servers  # noqa: E402

MIB = 1 << 20
# A model of six layers in three files of some 60 MiB; one of two, in two files of some 10 MiB.
SMALL = {"vocabulary": 8192, "hidden": 1024, "feed_forward": 4096, "layers": 6, "heads": 8, "kv_heads": 2, "tensors": "separate",
         "weights": "bf16"}
SMALLEST = {**SMALL, "vocabulary": 2048, "hidden": 512, "layers": 2}
INDEX = "model.safetensors.index.json"


def made(folder, model, fill="sparse", shard="64 MB", name="model", store=None, env=None):
    """The files of a model, made by haul, and its tensors: name, file, shape, where it begins and ends there."""
    write_job(folder, {"stores": {"s": store or {"uri": f"file://{folder}/data", "engine": "psync"}},
                       "phases": [{"generate": {"folder": name, "model": model, "fill": fill, "shard": shard}}]}, "make.json")
    r = alone("run", "make.json", "--force", cwd=folder, env=env)
    check(r.rc == 0, f"{r}")
    return [] if store else tensors(f"{folder}/data/{name}")


def tensors(folder):
    found = []
    for path in sorted(glob.glob(f"{folder}/*.safetensors")):
        with open(path, "rb") as f:
            size = struct.unpack("<Q", f.read(8))[0]
            header = json.loads(f.read(size))
        check(header.pop("__metadata__") == {"format": "pt"} and size % 8 == 0, path)
        for name, t in header.items():
            found.append((name, os.path.basename(path), t["shape"], *(8 + size + at for at in t["data_offsets"])))
    return found


def load(folder, ranks, store=None, env=None, of="model", **options):
    write_job(folder, {"stores": {"s": store or {"uri": f"file://{folder}/data", "engine": "psync"}},
                       "phases": [{"load": {"folder": of, "null_passes": 0, **options}}]})
    run = alone if ranks == 1 else lambda *args, **more: mpi(ranks, *args, **more)
    return run("run", "job.json", "--force", cwd=folder, env=env)


def loaded(folder, ranks, **options):
    r = load(folder, ranks, **options)
    check(r.rc == 0, f"{options}: {r}")
    return report(f"{folder}/results.h5")["phases"][0]


def of_ranks(folder, column):
    with h5py.File(f"{folder}/results.h5") as f:
        phase = next(p for name, p in f["phases"].items() if name.endswith("_load"))
        return [int(value) for value in phase["ranks"][column]]


# Independent of haul's: by regular expressions over names, in elements.
ROWS = re.compile(r"(q_proj|k_proj|v_proj|gate_proj|up_proj|embed_tokens|lm_head)\.weight$")
COLUMNS = re.compile(r"(o_proj|down_proj)\.weight$")
KV = re.compile(r"[kv]_proj\.weight$")


def cut(tensor, ranks, rank, shares=0, experts=0, kv_heads=0):
    """The strips of a tensor that a rank of so many needs: where the first begins, how far apart they are, bytes of each, number."""
    name, _, shape, begin, end = tensor
    expert = re.search(r"\.experts\.(\d+)\.", name)
    parts, part = ranks, rank % ranks
    if expert and shares:
        # Shares of the experts in order; where more ranks cut tensors than there are shares, these cut each expert.
        parts = max(ranks // shares, 1)
        part = rank % parts
        if int(expert[1]) * shares // experts != rank // parts % shares:
            return begin, 0, 0, 0
    # Where there are fewer heads of keys and values than ranks, ranks share the rows of a head.
    if kv_heads and parts > kv_heads and KV.search(name):
        parts, part = kv_heads, part * kv_heads // parts
    if parts > 1 and ROWS.search(name):
        one = (end - begin) // parts
        return begin + part * one, one, one, 1
    if parts > 1 and COLUMNS.search(name):
        pitch = (end - begin) // shape[0]
        return begin + part * pitch // parts, pitch, pitch // parts, shape[0]
    return begin, end - begin, end - begin, 1


def strips(*args, **more):
    first, pitch, size, count = cut(*args, **more)
    return [(first + i * pitch, size) for i in range(count)]


def needed(listed, *args, **more):
    total = 0
    for t in listed:
        _, _, size, count = cut(t, *args, **more)
        total += size * count
    return total


def test_published_models():
    """The files are those that the Hub has, to the byte; tensors and total_size are those of the indexes."""
    sizes = {"llama3.1-8b": ([4976698672, 4999802720, 4915916176, 1168138808], 291, 16060522496),
             "qwen3-30b-a3b": (None, 18867, 61064245248)}
    for name, (files, count, total) in sizes.items():
        with Folder() as folder:
            listed = made(folder, {"name": name, "weights": "bf16"}, shard=0)
            found = [os.path.getsize(path) for path in sorted(glob.glob(f"{folder}/data/model/*.safetensors"))]
            check(not files or found == files, f"{name}: {found}")
            if not files:
                check(len(found) == 16 and found[0] == 3998893112 and found[-1] == 1085307128, f"{name}: {found}")
            check(len(listed) == count and needed(listed, 1, 0) == total, f"{name}: {len(listed)} tensors")
            with open(f"{folder}/data/model/{INDEX}") as f:
                index = json.load(f)
            check(index["metadata"]["total_size"] == total, f"{name}: {index['metadata']}")
            check(index["weight_map"] == {t[0]: t[1] for t in listed}, f"{name}: the index names other files")
            r = alone("clean", "make.json", cwd=folder)
            check(r.rc == 0 and not glob.glob(f"{folder}/data/model/*"), f"{r}")


@long
def test_ranks_need():
    """Each rank needs what the cut of the tensor list says, of Llama and of a mixture of experts; each byte that is cut has as many
    ranks as share it, and all bytes are those of total_size."""
    cases = [("llama3.1-8b", ranks, 0, 0) for ranks in (1, 2, 8)]
    cases += [("qwen3-30b-a3b", ranks, shares, 128) for ranks in (1, 2, 8) for shares in (0, 1, 4)]
    heads = {"llama3.1-8b": 8, "qwen3-30b-a3b": 4}
    for name in heads:
        with Folder() as folder:
            listed = made(folder, {"name": name, "weights": "bf16"}, shard=0)
            with open(f"{folder}/data/model/{INDEX}") as f:
                total = json.load(f)["metadata"]["total_size"]
            for _, ranks, shares, experts in (c for c in cases if c[0] == name):
                world = max(ranks, shares)
                phase = loaded(folder, world, store={"uri": "sim://x"}, pattern="distributed", tensor=ranks, experts=shares,
                               chunk="64 MiB", buffers="64 MiB", threads=1, model={"name": name, "weights": "bf16"})
                found = of_ranks(folder, "needed_bytes")
                wanted = [needed(listed, ranks, rank, shares=shares, experts=experts, kv_heads=heads[name]) for rank in range(world)]
                check(found == wanted, f"{name}, tensor {ranks}, experts {shares}: {found}, wanted {wanted}")
                check(phase["measures"]["model_bytes"] == total, f"{phase['measures']}")
                by_hand = sum((t[4] - t[3]) * (1 if ".experts." in t[0] else world // min(ranks, heads[name]) if KV.search(t[0]) else
                                               world // ranks if ROWS.search(t[0]) or COLUMNS.search(t[0]) else world)
                              for t in listed)
                check(sum(found) == by_hand, f"{name}, tensor {ranks}, experts {shares}: {sum(found)}, {by_hand} by hand")


class Calls:
    """The calls of one rank on the files of a model: (thread, call, file, values)."""

    def __init__(self, folder, ranks, **options):
        write_job(folder, {"stores": {"s": {"uri": f"file://{folder}/data", "engine": "psync"}},
                           "phases": [{"load": {"folder": "model", "null_passes": 0, "cold": {"evidence": 0}, **options}}]})
        for path in glob.glob(f"{folder}/trace.*"):
            os.unlink(path)
        # One trace for each process, whose lines begin with the thread.
        code = f"exec strace -f -y -s 0 -e trace=openat,pread64,mmap,read -o {folder}/trace.$PMI_RANK \"$@\""
        r = subprocess.run([MPIEXEC, "-n", str(ranks), "sh", "-c", code, "sh", HAUL, "run", "job.json", "--force"], cwd=folder,
                           capture_output=True, text=True, timeout=HANGS_S, env=environment())
        check(r.returncode == 0, f"{options}: {r.stdout}{r.stderr}")
        self.ranks = []
        for rank in range(ranks):
            opens, reads, maps = [], [], []
            # A call may be told in two lines.
            begun = {}
            for line in open(f"{folder}/trace.{rank}", errors="replace"):
                thread, text = line.split(None, 1)
                if "<unfinished ...>" in text:
                    begun[thread] = text.split("<unfinished")[0]
                    continue
                resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text, re.S)
                text = begun.pop(thread, "") + resumed[1] if resumed else text
                name = re.search(r"/data/model/([^\">]*\.safetensors)[\">]", text)
                if not name or re.search(r"= -1 ", text):
                    continue
                if text.startswith("openat"):
                    opens.append((thread, name[1], "O_DIRECT" in text))
                elif text.startswith("pread64"):
                    length, offset, got = re.search(r", (\d+), (\d+)\)\s+= (\d+)", text).groups()
                    reads.append((thread, name[1], int(offset), int(got), int(length)))
                elif text.startswith("mmap"):
                    maps.append((thread, name[1], int(re.match(r"mmap\(NULL, (\d+)", text)[1])))
            self.ranks.append((opens, reads, maps))


def covered(reads, begin=None):
    """Bytes of each file that the reads have, each byte once."""
    found = collections.defaultdict(set)
    for _, name, offset, got, _ in reads:
        found[name].add((offset, offset + got))
    total = 0
    for ranges in found.values():
        at = 0
        for low, high in sorted(ranges):
            total += max(0, high - max(at, low))
            at = max(at, high)
    return total


@matrix
def test_calls():
    """The calls of each pattern: files and their order, sizes, threads, lengths of mappings."""
    with Folder(os.path.dirname(HAUL)) as folder:
        listed = made(folder, SMALL)
        sizes = {os.path.basename(p): os.path.getsize(p) for p in sorted(glob.glob(f"{folder}/data/model/*.safetensors"))}
        headers = sum(min(t[3] for t in listed if t[1] == name) for name in sizes)
        check(len(sizes) >= 3, f"{sizes}")
        for ranks in (1, 2, 8) if FULL else (2,):
            for opens, reads, maps in Calls(folder, ranks, pattern="lazy", tensor=ranks).ranks:
                check(maps == [(maps[0][0], name, size) for name, size in sizes.items() for _ in range(2)], f"lazy: {maps}")
                check([o[1] for o in opens] == [m[1] for m in maps] and not reads, f"lazy: {opens} {reads}")
            for opens, reads, maps in Calls(folder, ranks, pattern="eager", tensor=ranks).ranks:
                check([r[1:] for r in reads] == [(name, 0, size, size) for name, size in sizes.items()], f"eager: {reads}")
                check(len({r[0] for r in reads}) == 1 and len(opens) == len(sizes) and not maps, f"eager: {opens} {maps}")
            whole = []
            for opens, reads, maps in Calls(folder, ranks, pattern="shared", tensor=ranks).ranks:
                pieces = [r for r in reads if r[4] > MIB]
                check(all(o[2] for o in opens) and not maps, f"shared: {opens}")
                check(pieces and all(r[4] <= 16 * MIB + 8192 and r[2] % 512 == 0 for r in pieces), f"shared: {pieces}")
                check(len({r[0] for r in pieces}) <= 8, f"shared: more than 8 threads: {pieces}")
                whole += reads
            check(covered(whole) == sum(sizes.values()), f"shared: {covered(whole)} of {sum(sizes.values())}")
            check(sum(r[3] for r in whole if r[4] > MIB) <= sum(sizes.values()) + ranks * headers + 65536 * len(whole), "shared: twice")
            whole = []
            for opens, reads, maps in Calls(folder, ranks, pattern="distributed", tensor=ranks).ranks:
                pieces = [r for r in reads if r[2] % (2 * MIB) == 0 and r[4] > 65536]
                check(pieces and all(r[4] <= 2 * MIB for r in pieces), f"distributed: {pieces}")
                check(len({r[0] for r in pieces}) <= 16 and not maps, f"distributed: {maps}, {pieces}")
                whole += reads
            check(covered(whole) == sum(sizes.values()), f"distributed: {covered(whole)}")
            for rank, (opens, reads, maps) in enumerate(Calls(folder, ranks, pattern="streamer", tensor=ranks).ranks):
                # One thread: all headers, then what the rank needs in reads of 8 MiB; columns are read whole.
                first, rest = reads[:2 * len(sizes)], reads[2 * len(sizes):]
                check([r[1:3] for r in first] == [(name, at) for name in sizes for at in (0, 8)], f"streamer: {first}")
                wanted = sum(t[4] - t[3] if COLUMNS.search(t[0]) else needed([t], ranks, rank) for t in listed)
                check(rest and all(r[4] <= 8 * MIB for r in rest) and sum(r[3] for r in rest) == wanted, f"streamer: {rest}, {wanted}")
                check(len({r[0] for r in reads}) == 1 and [r[1:3] for r in rest] == sorted(r[1:3] for r in rest), f"streamer: {rest}")
                check([o[1] for o in opens] == 2 * list(sizes) and not maps, f"streamer: {opens} {maps}")
            for rank, (opens, reads, maps) in enumerate(Calls(folder, ranks, pattern="slices", tensor=ranks, gap=0).ranks):
                check(len({r[0] for r in reads}) <= 8 and all(r[4] <= 8 * MIB for r in reads), f"slices: {reads}")
                wanted = needed(listed, ranks, rank)
                check(sum(r[3] for r in reads) == wanted + headers, f"slices: {sum(r[3] for r in reads)}, {wanted} + {headers}")
                check(covered(reads) == wanted + headers and not maps, "slices: a byte was read twice")


@matrix
def test_calls_ahead():
    """prefetch: threads read whole files in blocks of 16 MiB, each its own from the beginning; a rank has every nth file. One more
    thread maps all files. It ends when that is done, so the mapping is slowed down by strips that come from disk."""
    with Folder(os.path.dirname(HAUL)) as folder:
        for ranks, shard in ((1, "64 MB"), (2, "64 MB"), (8, "16 MB")) if FULL else ((2, "64 MB"),):
            shutil.rmtree(f"{folder}/data", ignore_errors=True)
            made(folder, SMALL, fill="full", shard=shard)
            sizes = {os.path.basename(p): os.path.getsize(p) for p in sorted(glob.glob(f"{folder}/data/model/*.safetensors"))}
            check(len(sizes) >= ranks, f"{sizes}")
            calls = Calls(folder, ranks, pattern="prefetch", tensor=ranks, cold={"drop": "fadvise", "evidence": 0})
            for rank, (opens, reads, maps) in enumerate(calls.ranks):
                own = list(sizes)[rank::ranks]
                check({r[1] for r in reads} <= set(own) and (reads or ranks > 2), f"prefetch: {reads}, {own}")
                threads = collections.defaultdict(list)
                for thread, name, offset, got, length in reads:
                    check(length == min(16 * MIB, sizes[name] - offset), f"prefetch: {reads}")
                    threads[thread, name].append(offset)
                check(all(at == [16 * MIB * i for i in range(len(at))] for at in threads.values()), f"prefetch: {threads}")
                check(len(threads) == len({name for _, name in threads}), f"prefetch: two threads read one file: {threads}")
                mapper = {m[0] for m in maps}
                check(len(mapper) == 1 and not mapper & {r[0] for r in reads}, f"prefetch: {maps}")
                check(sorted({m[1:] for m in maps}) == sorted(sizes.items()), f"prefetch: {maps}")


def test_own_files():
    """sharded: each rank maps its own files and no other; a rank that has none is told of."""
    with Folder(os.path.dirname(HAUL)) as folder:
        for ranks in (1, 8, 2) if FULL else (2,):
            shutil.rmtree(f"{folder}/data", ignore_errors=True)
            made(folder, SMALL, shard="16 MB")
            os.unlink(f"{folder}/data/model/{INDEX}")
            for i, path in enumerate(sorted(glob.glob(f"{folder}/data/model/*.safetensors"))):
                os.rename(path, f"{folder}/data/model/model-rank-{i % ranks}-part-{i // ranks}.safetensors")
            for rank, (opens, reads, maps) in enumerate(Calls(folder, ranks, pattern="sharded", tensor=ranks).ranks):
                own = glob.glob(f"{folder}/data/model/model-rank-{rank}-part-*")
                check({m[1] for m in maps} == set(map(os.path.basename, own)) and own and not reads, f"{maps}")
                check(all(m[2] == os.path.getsize(f"{folder}/data/model/{m[1]}") for m in maps), f"{maps}")
        r = load(folder, 3, pattern="sharded", tensor=3)
        check(r.rc != 0 and "no file model-rank-2-part-0.safetensors" in r.err, f"{r}")


def ranges(listed, ranks, rank, gap=0):
    """The number and the bytes of what is read where a gap of so many bytes is read, too, as long as no more than twice the bytes
    needed are."""
    total = count = 0
    for name in sorted({t[1] for t in listed}):
        low = high = used = 0
        for offset, size in (s for t in sorted((t for t in listed if t[1] == name), key=lambda t: t[3]) for s in strips(t, ranks, rank)):
            if high and (offset == high or (offset - high <= gap and offset + size - low <= 2 * (used + size))):
                high, used = offset + size, used + size
                continue
            total += high - low
            low, high, used, count = offset, offset + size, size, count + 1
        total += high - low
    return count, total


@matrix
def test_amplification():
    """eager reads everything on each rank. The plan of slices reads each byte of what is cut once, and of columns what the gap says."""
    with Folder() as folder:
        listed = made(folder, SMALLEST, shard="8 MB")
        headers = sum(min(t[3] for t in listed if t[1] == name) for name in {t[1] for t in listed})
        total = sum(t[4] - t[3] for t in listed)
        for ranks in (1, 2, 4) if FULL else (2,):
            m = loaded(folder, ranks, pattern="eager", tensor=ranks)
            check(m["measures"]["store_bytes"] == ranks * (total + headers), f"eager: {m['measures']}")
            near(m["figures"]["read_amplification"], ranks * (1 + headers / total), 1e-6, "eager")
            m = loaded(folder, ranks, pattern="slices", tensor=ranks, gap=0)
            wanted = sum(needed(listed, ranks, rank) for rank in range(ranks))
            check(m["measures"]["store_bytes"] == wanted + ranks * headers, f"slices: {m['measures']}, {wanted}")
            cut = sum(t[4] - t[3] for t in listed if ROWS.search(t[0]) or COLUMNS.search(t[0]))
            check(wanted == cut + ranks * (total - cut) and m["measures"]["needed_bytes"] == wanted, f"{m['measures']}, {cut}")
            m = loaded(folder, ranks, pattern="slices", tensor=ranks)
            by_hand = sum(ranges(listed, ranks, rank, 4096)[1] for rank in range(ranks)) + ranks * headers
            check(m["measures"]["store_bytes"] == by_hand, f"{ranks}: {m['measures']}, {by_hand} by hand")
            m = loaded(folder, ranks, pattern="shared", tensor=ranks)
            check(m["measures"]["store_bytes"] == total + headers + ranks * headers, f"shared: {m['measures']}")


def sim(folder, pattern, store, model, ranks=1, **more):
    return loaded(folder, ranks, store={"uri": "sim://x", **store}, model=model, pattern=pattern, **more)


@timing
def test_faults():
    """On a store of 1 ms, lazy takes as many milliseconds as there are faults of the read-ahead's size, to within a tenth."""
    with Folder() as folder:
        listed = made(folder, SMALL)
        phase = sim(folder, "lazy", {"latency": "1 ms"}, SMALL)
        # One file here, since haul's model of a store has the files as they are published.
        faults = sum(-(-(t[4] - t[3]) // 131072) for t in listed)
        m = phase["measures"]
        near(m["major_faults"], sum(t[4] - t[3] for t in listed) / 131072, 0.05 * faults, "faults")
        near(phase["figures"]["load_seconds"], m["major_faults"] * 1e-3, 0.1 * m["major_faults"] * 1e-3, "faults x latency")


@long
@timing
def test_orders():
    """The published orders, on stores of the shapes of a local disk, a network file system and an object store."""
    nvme = {"bandwidth": "7 GB/s", "stream": "3 GB/s", "latency": "80 us"}
    nfs = {"bandwidth": "1.2 GB/s", "stream": "1.2 GB/s", "latency": "200 us", "open_latency": "1 ms"}
    objects = {"bandwidth": "4 GB/s", "stream": "80 MB/s", "latency": "1 ms", "first_byte": "15 ms", "open_latency": "10 ms"}

    def takes(pattern, store, model=SMALL, **more):
        return sim(folder, pattern, store, model, **more)["figures"]["load_seconds"]

    with Folder() as folder:
        big = {**SMALL, "layers": 24, "feed_forward": 8192}
        lazy, ahead, shared = (takes(p, nvme, big) for p in ("lazy", "prefetch", "shared"))
        check(ahead < lazy and shared < lazy, f"local disk: lazy {lazy}, prefetch {ahead}, shared {shared}")
        lazy, ahead = (takes(p, nfs, big) for p in ("lazy", "prefetch"))
        check(2 <= lazy / ahead <= 5, f"network file system: lazy {lazy}, prefetch {ahead}")
        tiny = {**SMALL, "layers": 1, "vocabulary": 512}
        lazy, eager, streamer = (takes(p, objects, tiny) for p in ("lazy", "eager", "streamer"))
        check(streamer < eager / 2 and streamer < lazy / 10, f"objects: lazy {lazy}, eager {eager}, streamer {streamer}")

        # The same bytes in 64 times as many tensors: slices asks for each strip by itself, as no gap is read here, either, and
        # takes longer for it. Whole files are asked for as before.
        found = []
        for n in (4, 256):
            model = {**SMALL, "vocabulary": 512, "hidden": 128, "layers": 1, "experts": n, "expert_feed_forward": 65536 // n}
            shutil.rmtree(f"{folder}/data", ignore_errors=True)
            listed = made(folder, model, shard=0)
            phase = sim(folder, "slices", nfs, model, 2, tensor=2, gap=0)
            m = phase["measures"]
            asked = sum(ranges(listed, 2, rank)[0] for rank in range(2))
            check(phase["operations"] == asked + 2 * 2 and m["store_bytes"] - m["header_bytes"] == m["needed_bytes"], f"{asked}: {phase}")
            found.append((asked, m["needed_bytes"], phase["figures"]["load_seconds"],
                          takes("distributed", nfs, model, ranks=2, tensor=2)))
        few, many = found
        check(many[0] > 32 * few[0] and many[1] < 1.1 * few[1], f"requests, bytes: {found}")
        check(many[2] > 4 * few[2] and many[3] < 2 * few[3], f"requests, bytes, seconds of slices and of distributed: {found}")


def damages(folder):
    """(name, what is done to the files, words of the sentence)"""
    second = sorted(glob.glob(f"{folder}/*.safetensors"))[1]

    def begin(number):
        with open(second, "r+b") as f:
            f.write(struct.pack("<Q", number))

    def lie():
        with open(f"{folder}/{INDEX}") as f:
            index = json.load(f)
        index["weight_map"]["other.weight"] = os.path.basename(second)
        with open(f"{folder}/{INDEX}", "w") as f:
            json.dump(index, f)

    return (("header of 1 TiB", lambda: begin(1 << 40), "at most 100 MB"), ("no header", lambda: begin(0), "its header is empty"),
            ("no JSON", lambda: begin(9), os.path.basename(second)),
            ("cut off", lambda: os.truncate(second, 40), "longer than the file"),
            ("no last byte", lambda: os.truncate(second, os.path.getsize(second) - 1), "not in the file"),
            ("lying index", lie, "lacks tensors that model.safetensors.index.json names in it"),
            ("missing file", lambda: os.unlink(second), "No such file"))


def spoiled(whole, folder, number):
    """Makes a folder that has the files of a model, spoiled in that way; returns its name, and words of the sentence it must get."""
    # Sparse files stay sparse.
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["cp", "-a", "--sparse=always", whole, folder], check=True)
    name, spoil, words = damages(folder)[number]
    spoil()
    return name, words


def one_sentence(r, words, what):
    sentences = [line for line in r.err.splitlines() if "model" in line]
    check(r.rc == 1 and words in r.err and len(sentences) == 1, f"{what}: {r}")


PATTERNS = ("lazy", "eager", "prefetch", "slices", "streamer", "distributed", "shared")


@matrix
def test_damaged():
    """One sentence for each, whatever the pattern. Where not all are asked for, each pattern has one damage, and the first has all."""
    with Folder() as folder:
        made(folder, SMALLEST, shard="8 MB", name="whole")
        model = f"{folder}/data/model"
        for i, pattern in enumerate(PATTERNS):
            for number in range(7):
                if FULL or not i or number == i:
                    name, words = spoiled(f"{folder}/data/whole", model, number)
                    ranks = 1 + (number == i)
                    one_sentence(load(folder, ranks, pattern=pattern, tensor=ranks), words, f"{pattern}, {name}")
        # Without an index there is nothing that lies. A part that is missing is known by the numbers of the others.
        for number in (0, 1, 2, 3, 4, 6) if FULL else (4, 6):
            name, words = spoiled(f"{folder}/data/whole", model, number)
            os.unlink(f"{model}/{INDEX}")
            for path in glob.glob(f"{model}/*.safetensors"):
                part = int(re.search(r"-(\d+)-of-", path)[1]) - 1
                os.rename(path, f"{model}/model-rank-0-part-{part}.safetensors")
            words = {2: "part-1.safetensors", 6: "no file model-rank-0-part-1.safetensors"}.get(number, words)
            one_sentence(load(folder, 1, pattern="sharded"), words, f"sharded, {name}")


class Slow(fuse.Fuse):
    """A mount of 1 ms for each read, which notes how many bytes each brought. The kernel keeps pages of files, if these stay."""

    def __init__(self, point):
        super().__init__(point)
        self.reads, self.busy_s, self.stay = [], 0.0, True

    def do(self, code, node, body):
        began = time.monotonic()
        if code == fuse.READ:
            time.sleep(1e-3)
        said = super().do(code, node, body)
        if code == fuse.READ:
            self.reads.append(len(said))
            self.busy_s += time.monotonic() - began
        return said[:8] + struct.pack("<I", 2) + said[12:] if code == fuse.OPEN and self.stay else said


@matrix
@timing
def test_slow_mount():
    """A FUSE mount of 1 ms: each pattern asks it for each byte once, lazy waits for its reads one by one, and damages are told."""
    if not fuse.can_mount():
        print("      no FUSE can be mounted here")
        return
    with Folder() as folder:
        listed = made(folder, SMALLEST, shard="8 MB")
        total = sum(t[4] - t[3] for t in listed)
        shutil.copytree(f"{folder}/data/model", f"{folder}/whole")
        with Slow(f"{folder}/data") as mount:
            for pattern in PATTERNS if FULL else ("lazy", "slices"):
                mount.reads, mount.busy_s = [], 0.0
                phase = loaded(folder, 1, pattern=pattern, cold={"drop": "fadvise", "evidence": 0})
                check(phase["errors"] == 0 and phase["measures"]["needed_bytes"] == total, f"{pattern}: {phase}")
                near(sum(mount.reads), total, 0.01 * total, f"{pattern}: bytes asked of the mount")
                check("lazy, since fuse is none of nfs" in phase["said"], f"{phase['said']}")
                if pattern == "lazy":
                    check(len(mount.reads) < 1.1 * total / 131072, f"{len(mount.reads)} reads")
                    seconds = phase["figures"]["load_seconds"]
                    check(max(len(mount.reads) * 1e-3, 0.95 * mount.busy_s) <= seconds, f"{seconds} of {mount.busy_s}")
            mount.stay = False
            for i, pattern in enumerate(PATTERNS):
                for number in range(7) if FULL else (i,) if i < 2 else ():
                    name, words = spoiled(f"{folder}/whole", f"{mount.back}/model", number)
                    one_sentence(load(folder, 1, pattern=pattern), words, f"{pattern}, {name}")


class Ceph:
    """A bucket of Ceph's gateway."""

    def __init__(self):
        self.server = servers.Rgw()

    def __enter__(self):
        self.server.__enter__()
        self.server.bucket("models")
        self.store, self.env = {"uri": "s3://models/m", "endpoints": self.server.endpoint()}, self.server.env()
        return self

    def __exit__(self, *ends):
        self.server.__exit__(*ends)

    def put(self, key, body):
        self.server.client().put_object(Bucket="models", Key=f"m/{key}", Body=body)


class Azure(Ceph):
    """A container of Azurite."""

    def __init__(self):
        self.server = servers.Azurite()

    def __enter__(self):
        self.server.__enter__()
        servers.azure_container(self.server, "models")
        self.store = {"uri": f"az://{self.server.ACCOUNT}/models/m", "endpoints": self.server.endpoint()}
        self.env = self.server.env()
        return self

    def put(self, key, body):
        status, _, said = servers.azure_request(self.server, "PUT", f"models/m/{key}", headers={"x-ms-blob-type": "BlockBlob"}, body=body)
        check(status == 201, f"{key}: {status} {said}")


@matrix
def test_objects():
    """The same model on object stores: what can read objects does, what maps files is refused, and damages are told."""
    small = {**SMALLEST, "vocabulary": 512, "hidden": 256, "feed_forward": 512}
    for place in (Ceph, Azure):
        with place() as at, Folder() as folder:
            made(folder, small, fill="full", shard="1 MB", store=at.store, env=at.env)
            listed = made(folder, small, shard="1 MB", fill="full")
            for ranks, pattern in ((1, "streamer"), (2, "slices"), (2, "distributed"), (1, "eager"), (2, "shared")):
                phase = loaded(folder, ranks, store=at.store, env=at.env, pattern=pattern, tensor=ranks)
                wanted = [needed(listed, ranks, rank) for rank in range(ranks)]
                check(of_ranks(folder, "needed_bytes") == wanted and phase["errors"] == 0, f"{pattern}: {phase['measures']}")
                check("streamer, since these are objects" in phase["said"], f"{phase['said']}")
            for pattern in ("lazy", "prefetch", "sharded"):
                r = load(folder, 1, store=at.store, env=at.env, pattern=pattern)
                check(r.rc == 2 and "maps files" in r.err and "/pattern" in r.err, f"{pattern}: {r}")
            for number in range(7) if FULL else (4, 6):
                name, words = spoiled(f"{folder}/data/model", f"{folder}/spoiled", number)
                for path in glob.glob(f"{folder}/spoiled/*"):
                    with open(path, "rb") as f:
                        at.put(f"{number}-model/{os.path.basename(path)}", f.read())
                for pattern in ("eager", "slices", "streamer", "distributed", "shared") if FULL else ("streamer",):
                    r = load(folder, 1, store=at.store, env=at.env, pattern=pattern, of=f"{number}-model")
                    one_sentence(r, "404" if number == 6 else words, f"{place.__name__}, {pattern}, {name}")


def test_the_answer():
    """A search over the patterns says which is the best, what vLLM does here by itself, and what to type."""
    with Folder(os.path.dirname(HAUL)) as folder:
        env = {"HAUL_DATA": folder}
        r = alone("run", "model_load", "--set", "generate.model.layers=1", "--set", "generate.model.vocabulary=4096", "--set",
                  "load.cold=none", "--tune", "load.pattern=lazy,slices,eager", "--repeat", "2", cwd=folder, env=env)
        check(r.rc == 0, f"{r}")
        text = " ".join(r.out.split())
        check("vLLM's default here (lazy, since " in text and "is none of nfs, nfs4 and lustre)" in text, f"{r}")
        tune = report(f"{folder}/results.h5")["tune"]
        check(tune["figure"] == "target_load_seconds" and tune["unit"] == "s", f"{tune}")
        page = f"{folder}/page.html"
        check(alone("report", "--html", page, "results.h5", cwd=folder).rc == 0, "no page")
        check("vLLM's default here (lazy" in open(page).read(), "the page does not say it")
        check("vLLM's default here (lazy" in json.dumps(report(f"{folder}/results.h5")), "the JSON does not say it")


if __name__ == "__main__":
    main()
