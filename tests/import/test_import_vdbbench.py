# SPDX-License-Identifier: Apache-2.0
"""haul import vdbbench: configurations of MLPerf's benchmark of vector databases and the flags of its runs become a job that haul
plans, what does not map is listed with a reason, and what is wrong is refused. What is expected follows from the benchmark's own
defaults and from what it asks of its database."""
import json
import tempfile

from importtest import check, main, run

LOADER = """
dataset: {collection_name: ten_million, num_vectors: 10_000_000, dimension: 1536, distribution: uniform, chunk_size: 500_000,
          batch_size: 100, num_shards: 10, vector_dtype: FLOAT_VECTOR}
database: {host: 10.0.0.1, port: 19530, database: milvus, max_receive_message_length: 1_000_000}
index: {index_type: DISKANN, metric_type: COSINE, max_degree: 64, search_list_size: 200}
workflow: {compact: true}
"""
PIPELINE = """
backend: milvus
mode: both
dataset: {collection_name: small, num_vectors: 20_000, dimension: 64, block_size: 1000, batch_size: 500, seed: 7}
query: {num_query_vectors: 50, query_seed: 99}
ground_truth: {truth_k: 100}
index: {index_type: AISAQ, index_params: {MaxDegree: 32, SearchListSize: 100, inline_pq: 8}, num_shards: 1}
search: {search_k: 20, num_search_rounds: 3, search_batch_size: 4, search_params: {search_list: 15}}
"""


def imported(text, *flags, plans=True):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/one.yaml"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        r = run("import", "vdbbench", *([path] if text else []), *flags)
        check(r.returncode == (0 if plans else 2) and r.stdout, r)
        with open(f"{folder}/job.json", "w", encoding="utf-8") as f:
            f.write(r.stdout)
        planned = run("plan", f"{folder}/job.json")
        check((planned.returncode == 0) == plans, planned)
    job = json.loads(r.stdout)
    return job, [p["vector"] for p in job["phases"]], " ".join(r.stderr.split())


def refused(says, text, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/one.yaml"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        r = run("import", "vdbbench", path, *flags)
    check(r.returncode == 2 and says in " ".join(r.stderr.split()) and not r.stdout, r)


def test_loader():
    """A file of the loader, whose run has no end of its own: 60 seconds, a list of 200."""
    shape = {"folder": "ten_million", "index": "diskann", "vectors": 10000000, "dimension": 1536, "segments": 10, "degree": 64}
    job, (build, search), told = imported(LOADER)
    check(build == {"name": "build", "operation": "build", **shape}, build)
    check(search == {"name": "search", "operation": "search", **shape, "list": 200, "beam": 8, "threads": 1, "depth": 1,
                     "query_vectors": 1000, "seconds": 60, "verify": "none", "on_error": "count"}, search)
    check(job["seed"] == 42 and job["stores"]["data"]["direct"] is True and job["name"] == "one", job)
    for words in ("dataset.batch_size = 100 haul writes the files of an index", "database.host", "num_shards = 10 each is one index file",
                  "index.metric_type", "workflow.compact", "17 keys"):
        check(words in told, f"{words}: {told}")


def test_flags():
    """Flags of a run count more than the file; queries are those of all processes together."""
    _, (_, search), told = imported(LOADER, "num-query-processes=16", "batch-size=3", "queries=1000", "search-ef=5", "search-limit=12",
                                    "index.max_degree=32", "num-shards=1")
    check((search["threads"], search["depth"], search["count"], search["list"], search["degree"]) == (16, 3, 63, 12, 32), search)
    check("segments" not in search and "seconds" not in search and "another begins when one ends" in told, search)
    job, (build, search), _ = imported("", "runtime=5")
    check(job["name"] == "vdbbench" and search["seconds"] == 5 and build["vectors"] == 1000000 and build["dimension"] == 1536, job)


def test_pipeline():
    """A file of the pipeline: three rounds of 50 queries, 4 at a time. An eighth of 64 float32 are 32 bytes of a compressed vector; 8
    of them, for 32 neighbours, are 8 each."""
    job, (build, search), told = imported(PIPELINE)
    check(build == {"name": "build", "operation": "build", "folder": "small", "index": "aisaq", "vectors": 20000, "dimension": 64,
                    "degree": 32, "pq_bytes": 8}, build)
    check((search["list"], search["depth"], search["count"], search["query_vectors"]) == (20, 4, 150, 50) and "beam" not in search, search)
    check(job["seed"] == 7 and "shortened so that it has the size" in told and "query.query_seed" in told, told)
    _, phases, _ = imported(PIPELINE, "mode=load")
    check([p["name"] for p in phases] == ["build"], phases)
    _, phases, _ = imported(PIPELINE, "mode=search")
    check([p["name"] for p in phases] == ["search"], phases)


def test_hnsw():
    """The lowest level has twice the links of the others, and is read through a mapping."""
    job, (build, search), _ = imported("index: {index_type: HNSW, M: 16, ef_construction: 200}", "search-ef=64")
    check((build["index"], build["degree"], search["list"]) == ("hnsw", 32, 64) and "beam" not in search, search)
    check(job["stores"]["data"] == {"uri": "file://./vdbbench", "engine": "mmap"}, job)


def test_lists():
    _, (build, search), told = imported("index: {index_type: IVF_SQ8, lists: 64, max_degree: 5}\nsearch: {probes: 4}", "search-ef=9")
    check((build["index"], build["type"], build["lists"]) == ("ivf", "int8", 64) and "degree" not in build, build)
    check(search["probes"] == 4 and "list" not in search, search)
    check(told.count("it is of another index") == 2, told)


def test_refusals():
    refused("is not a configuration of vdbbench: of its 3 keys, vdbbench has 1", "a: 1\nb: 2\ndimension: 3")
    refused("num_vectors: must be a number", "dataset: {dimension: 4, num_vectors: many}")
    refused('haul has no index "FLAT"', "index: {index_type: FLAT}")
    refused('vector_dtype: "BINARY_VECTOR" is no type', "dataset: {vector_dtype: BINARY_VECTOR}")
    refused('mode: is load, search or both, not "sweep"', "mode: sweep")
    refused("line 2, column 1", "index: {")
    _, _, told = imported("dataset: {dimension: 128}\nsurprise: 1")
    check("unknown to the benchmark: surprise = 1" in told, told)
    imported("dataset: {dimension: 100_000}", plans=False)


if __name__ == "__main__":
    main()
