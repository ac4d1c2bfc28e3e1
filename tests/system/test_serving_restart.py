# SPDX-License-Identifier: Apache-2.0
"""Servers of a key-value cache that are started anew, from outside: what they read then, and what
they make of files that were damaged meanwhile."""
import glob
import re

from haultest import *
from test_serving import SLOTS, TOKEN_BYTES, job_of, paged, traced
from test_serving_buckets import is_whole

BLOCKS, BLOCK_TOKENS, BUCKET_BLOCKS = 16, 32, 500
SLOT_HEADER = 4096


def restart_job(folder, layout, at_s, **more):
    """A request, whose blocks are written; then the server starts anew; then the same prompt. With
    this seed they come 0.48 and 1.48 times the time to think after the beginning."""
    bucket = layout == "mooncake_bucket"
    model, block_tokens = ("deepseek-v3", 1) if bucket else ("llama3.1-8b", BLOCK_TOKENS)
    job = job_of(folder, layout, model, 512, block_tokens=block_tokens, **more)
    of = job["phases"][0]["kvcache"]
    of["serving"].update(restart=f"{at_s} s", memory="10 GiB")
    of["templates"][0].update(think_min=f"{at_s} s", think_max=f"{at_s} s")
    return job


def slots_of(folder, slots, at_s, **more):
    _, front, header, least, _, _ = SLOTS["lmcache_raw_block"]
    slot = paged(max(header + BLOCK_TOKENS * TOKEN_BYTES["llama3.1-8b"], least))
    tiers = [{"kind": "store", "capacity": front + slots * slot}]
    return restart_job(folder, "lmcache_raw_block", at_s, tiers=tiers, **more), front, slot


def seen_of(folder, job):
    """What the server does from the last write on: [(call, name below the folder of the cache,
    (offset, bytes), or the rest)]; and the phase."""
    calls = []
    for call, path, rest, _ in traced(folder, 1, job)[0]:
        at = re.search(r", (\d+), (\d+) *\)$", rest.strip())
        name = path.split("/data/kvcache/")[1]
        calls.append((call, name, (int(at[2]), int(at[1])) if at else rest))
    written = max(i for i, c in enumerate(calls) if c[0] in ("pwrite64", "rename"))
    return calls[written + 1:], report(f"{folder}/results.h5")["phases"][0]


def check_found(phase, found):
    """All blocks were found again. Memory was empty, so those of the prompt came from the store."""
    of = phase["measures"]
    check(of["start_up_blocks"] == found == of["entry_writes"], f"{of}")
    check(of["start_up_lost"] == of["errors"] == of["payload_errors"] == 0, f"{of}")
    check(of["blocks_memory"] == 0 and of["blocks_store"] == of["hits"] == found, f"{of}")
    facts = {row["name"]: row["value"] for row in phase["serving"]}
    check(facts["start_up"] > 0, f"{facts}")
    check(abs(facts["start_up"] - of["start_up_ns"] / 1e9) < 1e-9, f"{facts}")


@pauses(6, 40)
def test_folder(at_s):
    """LMCache's fs and fs_native: the folder is listed, and each file asked for its size."""
    for layout in ("lmcache_fs", "lmcache_fs_native"):
        with Folder() as folder:
            calls, phase = seen_of(folder, restart_job(folder, layout, at_s))
            check(calls[0][:2] == ("openat", "") and "O_DIRECTORY" in calls[0][2], f"{calls[:3]}")
            asked = [c[1] for c in calls[1:BLOCKS + 1] if c[0] == "newfstatat"]
            check(len(set(asked)) == BLOCKS, f"{layout}: {calls[:BLOCKS + 2]}")
            check(all(name.endswith(".data") for name in asked), f"{layout}: {asked}")
            check_found(phase, BLOCKS)


@pauses(6, 40)
def test_slots(at_s):
    """LMCache's raw_block: the header pages of both copies of the index, none of which was written;
    then the header of each slot, whether it has a block or not. Slots are used after that."""
    for direct in (False, True):
        with Folder() as folder:
            job, front, slot = slots_of(folder, BLOCKS + 11, at_s)
            job["stores"]["c"]["direct"] = direct
            calls, phase = seen_of(folder, job)
            got = [at for call, name, at in calls if call == "pread64"]
            index = [(copy * front // 2, SLOT_HEADER) for copy in range(2)]
            headers = [(front + n * slot, SLOT_HEADER) for n in range(BLOCKS + 11)]
            check(got[:2] == index and sorted(got[2:len(headers) + 2]) == headers, f"{got}")
            check(len(got) == len(headers) + 2 + BLOCKS, f"{got}")
            check_found(phase, BLOCKS)


@pauses(6, 40)
def test_buckets(at_s):
    """Mooncake's buckets: a listing; of each bucket its .meta is read, and then its other file
    asked for its size; a listing."""
    with Folder() as folder:
        calls, phase = seen_of(folder, restart_job(folder, "mooncake_bucket", at_s))
        check_found(phase, BUCKET_BLOCKS)
        order = [(call, name.split(".")[-1]) for call, name, _ in calls]
        listing = [("openat", "rank_0/"), ("getdents64", "rank_0"), ("getdents64", "rank_0")]
        # The file's size comes with its open.
        meta = [("openat", "meta"), ("newfstatat", "meta"), ("pread64", "meta")]
        check(order[:10] == [*listing, *meta, ("newfstatat", "bucket"), *listing], f"{calls[:12]}")
        check(calls[5][2][0] == 0 and calls[3][1][:-4] + "bucket" == calls[6][1], f"{calls[:8]}")


@pauses(8, 40)
def test_ranks(seconds):
    """Two ranks that share a folder, and delete blocks that the other one has found: each comes to
    the end of all prompts, starts anew, and asks for the blocks of both."""
    with Folder() as folder:
        job = job_of(folder, "lmcache_fs_native", "tiny-1b", 512, block_tokens=32, requests=0,
                     users=4, threads=4, duration=f"{seconds} s", verify="full", on_error="count",
                     tiers=[{"kind": "store", "capacity": "40 MiB"}])
        of = job["phases"][0]["kvcache"]
        of["prefix"], of["conversation"] = {}, {}
        of["templates"][0].update(context_max=512, think_min="1 ms", think_max="60 ms")
        of["serving"].update(restart=f"{seconds / 2} s", memory="20 MiB", pending=64)
        write_job(folder, job)
        r = mpi(2, "run", "job.json", "--results", "results.h5", cwd=folder)
        check(r.rc == 0, f"{r}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        of, there = phase["measures"], phase["tiers"][0]["entries"]
        check(of["start_up_ns"] > 0 and of["payload_errors"] == 0, f"{of}")
        check(there < of["start_up_blocks"] <= 3 * there, f"{of['start_up_blocks']}, {there}")
        check(of["errors"] == of["blocks_gone"] and of["left"] <= 8, f"{of}")


def damaged(folder, job, ready, damage):
    """Runs the job, and damages its files once they are there, before the server starts anew.
    Returns the phase."""
    job["phases"][0]["kvcache"]["on_error"] = "count"
    write_job(folder, job)
    process = start(1, "run", "job.json", "--results", "results.h5", cwd=folder)
    data = f"{folder}/data/kvcache"
    for _ in range(10 * HANGS_S):
        if ready(data):
            break
        time.sleep(0.1)
    damage(data)
    r = finish(process, time.monotonic())
    check(not os.path.exists(data), f"files remain: {r}")
    return report(f"{folder}/results.h5")["phases"][0]


def check_lost(phase, blocks, lost, hits, wrong):
    of = phase["measures"]
    check((of["start_up_blocks"], of["start_up_lost"]) == (blocks, lost), f"{of}")
    check(of["hits"] == hits and of["payload_errors"] == of["errors"] == wrong, f"{of}")
    check("lost_blocks" in [doubt["doubt"] for doubt in phase["doubts"]], f"{phase['doubts']}")


def overwrite(path, at, data):
    with open(path, "r+b") as stream:
        stream.seek(at)
        stream.write(data)


@pauses(10, 60)
def test_damaged(at_s):
    """A file that has gone, a header and a .meta with wrong bytes: these blocks are not found, and
    computed and written again; the results doubt the storage."""
    with Folder() as folder:
        phase = damaged(folder, restart_job(folder, "lmcache_fs", at_s),
                        lambda data: len(glob.glob(f"{data}/*.data")) == BLOCKS,
                        lambda data: os.unlink(sorted(glob.glob(f"{data}/*.data"))[7]))
        hits = phase["measures"]["hits"]
        check(hits < BLOCKS, f"{hits} hits")
        check_lost(phase, BLOCKS - 1, 1, hits, 0)
    with Folder() as folder:
        job, front, slot = slots_of(folder, BLOCKS, at_s)
        name = "raw_block.rank_0"

        def written(data):
            if not os.path.exists(f"{data}/{name}"):
                return False
            with open(f"{data}/{name}", "rb") as stream:
                magic = []
                for n in range(BLOCKS):
                    stream.seek(front + n * slot)
                    magic.append(stream.read(8))
            return set(magic) == {b"LMCBLK01"}
        phase = damaged(folder, job, written,
                        lambda data: overwrite(f"{data}/{name}", front + 5 * slot, b"LMCBLK02"))
        of = phase["measures"]
        check_lost(phase, BLOCKS - 1, 1, of["hits"], 1)
        # The phase is over with the second prompt.
        check(of["entry_writes"] + of["blocks_dropped"] == BLOCKS + 1, f"{of}")
    with Folder() as folder:
        job = restart_job(folder, "mooncake_bucket", at_s)
        phase = damaged(folder, job, lambda data: any(map(is_whole, glob.glob(f"{data}/rank_0/*.meta"))),
                        lambda data: overwrite(glob.glob(f"{data}/rank_0/*.meta")[0], 9000, b"?"))
        check_lost(phase, 0, BUCKET_BLOCKS, 0, 1)


def test_refused():
    """It is before the end; and a plan says what it reads."""
    for layout, says in (("lmcache_fs", "asks for the size of each block"),
                         ("lmcache_s3", "reads nothing"), ("vllm_disk", "finds nothing")):
        with Folder() as folder:
            job = restart_job(folder, layout, 6, tiers=[{"kind": "store", "capacity": "1 GiB"}])
            write_job(folder, job)
            r = alone("plan", "job.json", cwd=folder)
            check(r.rc == 0 and says in " ".join(r.out.split()), f"{r}")
            job["phases"][0]["kvcache"]["serving"]["restart"] = "200 s"
            write_job(folder, job)
            r = alone("plan", "job.json", cwd=folder)
            check(r.rc != 0 and "serving/restart" in f"{r.out} {r.err}", f"{r}")


if __name__ == "__main__":
    main()
