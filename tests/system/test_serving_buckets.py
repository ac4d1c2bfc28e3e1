# SPDX-License-Identifier: Apache-2.0
"""Mooncake's buckets in the profile serving, from outside: their files, calls and evictions."""
import collections
import glob
import math
import re

from haultest import *
from test_serving import TOKEN_BYTES, calls_on, job_of, paged

# A bucket is full with so many bytes of blocks, or so many blocks; each has its key in front.
BUCKET_BYTES, BUCKET_BLOCKS, KEY = 256 << 20, 500, 16


def bucket_calls(folder, job):
    """Of each file, {(number of its bucket, "bucket" or "meta"): [(place in the order of all calls,
    call, (offset, bytes) or flags)]}."""
    files = collections.defaultdict(list)
    calls = calls_on(folder, job, r"rank_0/(\d+)\.(bucket|meta)")
    for i, (call, name, at, result) in enumerate(calls):
        if result >= 0 and call != "newfstatat":
            files[int(name[1]), name[2]].append((i, call, at))
    return files


def check_bucket(files, number, blocks, block, direct=False):
    """One bucket is written: its blocks, then its other file. With direct I/O its end is padded,
    and cut."""
    data, meta = files[number, "bucket"], files[number, "meta"]
    put = [c for c in data if c[1] == "pwrite64"]
    flags = [f[0][2] for f in (data, meta)]
    for f in flags:
        check("O_WRONLY|O_CREAT|O_TRUNC" in f and "O_EXCL" not in f, f"{number}: {flags}")
    check(data[:len(put) + 1] == [data[0], *put] and data[0][1] == "openat", f"{number}: {data}")
    end = 0
    for _, _, (at, length) in sorted(put, key=lambda c: c[2]):
        check(at == end, f"{number}: {put}")
        end += length
    wanted = blocks * (KEY + block)
    check(wanted <= end <= (paged(wanted) if direct else wanted), f"{number}: {end}, not {wanted}")
    check([c[1] for c in meta] == ["openat", "pwrite64", "unlink"], f"{number}: {meta}")
    check(put[-1][0] < meta[0][0] and meta[1][2][0] == 0, f"{number}: {meta}")
    check(data[-1][1] == "unlink" and meta[-1][0] < data[-1][0], f"{number}: {data[-1]} {meta[-1]}")
    return meta[1][0]


@matrix
@pauses("6 s", "40 s")
def test_buckets(think):
    """Blocks gather until a bucket is full, which is written under its own name, nothing beside it;
    then comes its .meta. A block is read alone, without its key. What fills no bucket is not
    written."""
    for model, token_bytes in TOKEN_BYTES.items():
        tokens, block_tokens = (4096, 256) if FULL else (1000, 1)
        block = block_tokens * token_bytes
        full = min(BUCKET_BLOCKS, BUCKET_BYTES // block)
        buckets, left = divmod((tokens + 1) // block_tokens, full)
        with Folder() as folder:
            job = job_of(folder, "mooncake_bucket", model, tokens, block_tokens=block_tokens,
                         verify="full")
            job["phases"][0]["kvcache"]["templates"][0].update(think_min=think, think_max=think)
            files = bucket_calls(folder, job)
            numbers = sorted({number for number, _ in files})
            check(numbers == list(range(numbers[0], numbers[0] + buckets)), f"{model}: {numbers}")
            check(abs((numbers[0] >> 12) - time.time()) < HANGS_S, f"{model}: {numbers}")
            ended = 0
            for number in numbers:
                check(files[number, "bucket"][0][0] >= ended, f"{model}: two buckets at a time")
                ended = check_bucket(files, number, full, block)
                got = [c[1:] for c in files[number, "bucket"] if c[1] == "pread64"]
                places = [i * (KEY + block) + KEY for i in range(full)]
                check(sorted(got) == [("pread64", (at, block)) for at in places],
                      f"{model} {number}: {got}")
                opens = [c[2] for c in files[number, "bucket"][1:] if c[1] == "openat"]
                check(len(opens) == full and all("O_RDONLY" in f for f in opens),
                      f"{model} {number}: {opens}")
            of = report(f"{folder}/results.h5")["phases"][0]["measures"]
            own = 0 if FULL else 1
            check(of["errors"] == of["payload_errors"] == of["stats"] == 0, f"{model}: {of}")
            for count in ("hits", "entry_reads", "entry_writes"):
                check(of[count] == buckets * full, f"{model}: {count} of {of}")
            check(of["blocks_dropped"] == left + own, f"{model}: {of}")
            check(not os.path.exists(f"{folder}/data/kvcache"), f"{model}: files remain")


@pauses("300 ms", "2 s", "10 s")
def test_buckets_evicted(think):
    """With room for two buckets, the one that was used least recently goes whole, its .meta first,
    before the next is written; the one whose blocks each request reads stays. With direct I/O a
    read takes whole blocks of the file system around a block."""
    block = TOKEN_BYTES["deepseek-v3"]
    with Folder() as folder:
        job = job_of(folder, "mooncake_bucket", "deepseek-v3", BUCKET_BLOCKS, block_tokens=1,
                     verify="full", requests=19,
                     tiers=[{"kind": "store", "capacity": 3 * BUCKET_BLOCKS * (KEY + block) - 1}])
        job["phases"][0]["kvcache"]["templates"][0].update(
            context_min=100, context_max=100, think_min=think, think_max=think)
        job["stores"]["c"]["direct"] = True
        files = bucket_calls(folder, job)
        numbers = sorted({number for number, _ in files})
        check(len(numbers) == 4, f"{numbers}")
        for number in numbers:
            check_bucket(files, number, BUCKET_BLOCKS, block, direct=True)
        begins = [files[number, "bucket"][0][0] for number in numbers]
        goes = [tuple(files[number, ending][-1][0] for ending in ("meta", "bucket"))
                for number in numbers]
        # The first bucket has the shared prompt.
        order = [begins[1], *goes[1], begins[2], *goes[2], begins[3], min(goes[0][0], goes[3][0])]
        check(order == sorted(order), f"{begins} {goes}")
        got = [c for c in files[numbers[0], "bucket"] if c[1] == "pread64"]
        check(len(got) > 10 * BUCKET_BLOCKS, f"{len(got)} reads")
        align = math.gcd(*(at for c in got for at in c[2]))
        starts = [i * (KEY + block) + KEY for i in range(BUCKET_BLOCKS)]
        wanted = {(at // align * align, -(-(at + block) // align) * align - at // align * align)
                  for at in starts}
        check(align in (512, 4096) and {c[2] for c in got} == wanted, f"{align}: {got[:5]}")
        opens = [c[2] for c in files[numbers[0], "bucket"] if c[1] == "openat"]
        check(all("O_DIRECT" in flags for flags in opens), f"{opens[:3]}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        of, tier = phase["measures"], phase["tiers"][0]
        check(of["payload_errors"] == of["blocks_gone"] == 0, f"{of}")
        check(tier["deletions"] == tier["entries"] == 2 * BUCKET_BLOCKS, f"{tier}")


def bucket_job(folder, **more):
    return job_of(folder, "mooncake_bucket", "tiny-1b", 512, block_tokens=1, requests=0, **more)


@pauses("60 ms", "600 ms", "3 s")
def test_buckets_busy(think):
    """Prompts that come while buckets are written and go: what is fetched is there."""
    with Folder() as folder:
        job = bucket_job(folder, users=4, served=4, threads=8, duration="200 s", verify="full",
                         tiers=[{"kind": "store", "capacity": "40 MiB"}])
        of = job["phases"][0]["kvcache"]
        of["requests"] = 300  # as many as fill a few buckets more than there is room for
        of["templates"][0].update(
            context_min=1, context_max=64, think_min="1 us", think_max=think)
        write_job(folder, job)
        r = alone("run", "job.json", "--results", "results.h5", cwd=folder)
        check(r.rc == 0, f"{r}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        of, tier = phase["measures"], phase["tiers"][0]
        check(of["payload_errors"] == of["errors"] == of["blocks_gone"] == 0, f"{of}")
        check(of["hits"] > 0 and tier["deletions"] > 0 and tier["deletions"] % BUCKET_BLOCKS == 0,
              f"{of} {tier}")
        check(of["entry_writes"] == tier["deletions"] + tier["entries"], f"{of} {tier}")


def test_buckets_refused():
    """What buckets cannot be, in a sentence; and what a plan says of them."""
    with Folder() as folder:
        serving = {"layout": "mooncake_bucket", "block_tokens": 1}
        for more, sentence in (
                ({"serving": {**serving, "block_tokens": 1 << 20}}, "is larger than a bucket"),
                ({"serving": {**serving, "pending": 499}}, "less than the 500 blocks of a bucket"),
                ({"tiers": [{"kind": "store", "capacity": "1 MiB"}]}, "no room for one bucket"),
                ({"serving": {**serving, "decode_ranks": 1, "arrive": "constant", "rate": 1}},
                 "finds nothing that another one has written")):
            write_job(folder, bucket_job(folder, **more))
            r = alone("plan", "job.json", cwd=folder)
            said = " ".join(f"{r.out} {r.err}".split())
            check(r.rc != 0 and sentence in said, f"{sentence}: {r}")
        write_job(folder, job_of(folder, "mooncake_bucket", "llama3.1-8b", 4096,
                                 tiers=[{"kind": "store", "capacity": "1 GiB"}]))
        r = alone("plan", "job.json", cwd=folder)
        said = " ".join(f"{r.out} {r.err}".split())
        check("a bucket has 8 blocks in 268435584 bytes" in said, f"{r}")
        check("at most 3 buckets" in said, f"{r}")


def message(data):
    """The fields of a protobuf message, by the definition of its encoding: [(number, value)]."""
    fields, at = [], 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            at, byte, shift = at + 1, data[at], shift + 7
            value |= (byte & 127) << shift - 7
            if byte < 128:
                return value
    while at < len(data):
        tag = number()
        check(tag & 7 in (0, 2), f"tag {tag}")
        value = number()
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        fields.append((tag >> 3, value))
    return fields


def is_whole(meta):
    """Whether a .meta has all of its keys and places."""
    with open(meta, "rb") as stream:
        data = stream.read()
    try:
        said = message(data)
        return len(said) == 1 + 2 * BUCKET_BLOCKS and {2, 3} <= set(dict(message(said[-1][1])))
    except (AssertionError, IndexError, TypeError, ValueError):
        return False


def test_buckets_cleaned():
    """Of a run that was killed, the buckets of all ranks remain, as their .meta files say; `haul
    clean` removes them and their folders, and nothing else."""
    with Folder() as folder:
        write_job(folder, bucket_job(folder))
        process = start(2, "run", "job.json", "--results", "results.h5", cwd=folder,
                        start_new_session=True)
        metas = []
        for _ in range(10 * HANGS_S):
            metas = [sorted(glob.glob(f"{folder}/data/kvcache/rank_{rank}/*.meta"))
                     for rank in range(2)]
            if all(of and is_whole(of[0]) for of in metas):
                break
            time.sleep(0.1)
        kill_run(process, folder)
        check(all(metas), f"{os.listdir(folder)}")
        for meta, *_ in metas:
            with open(meta, "rb") as one, open(meta[:-4] + "bucket", "rb") as other:
                said, data = message(one.read()), other.read()
            keys = [value for field, value in said if field == 2]
            places = [dict(message(value)) for field, value in said if field == 3]
            record = len(data) // BUCKET_BLOCKS
            fields = [field for field, _ in said]
            check(said[0] == (1, len(data)), f"{said[:3]}")
            check(fields == [1] + [2] * 500 + [3] * 500, f"{said[:3]}")
            starts = [i * record for i in range(500)]
            check([p.get(1, 0) for p in places] == starts and 1 not in places[0], f"{places[:3]}")
            check(all((p[2], p[3]) == (KEY, record - KEY) for p in places), f"{places[:3]}")
            check([data[at:at + KEY] for at in starts] == keys, f"{keys[:3]}")
            check(len(set(keys)) == 500, f"{keys[:3]}")
        others = ["-1.meta", ".bucket", "12a.bucket"]
        for other in others:
            with open(f"{folder}/data/kvcache/rank_0/{other}", "w", encoding="utf-8"):
                pass
        r = alone("clean", "job.json", cwd=folder)
        check(r.rc == 0 and any(f'holds "{other}"' in r.out for other in others), f"{r}")
        check(sorted(os.listdir(f"{folder}/data/kvcache/rank_0")) == others, f"{r}")
        check(not os.path.exists(f"{folder}/data/kvcache/rank_1"), f"{r}")


if __name__ == "__main__":
    main()
