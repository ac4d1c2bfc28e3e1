# SPDX-License-Identifier: Apache-2.0
"""haul import mlpstorage: each command line of MLPerf Storage's program becomes the job that DLIO's file of the workload becomes, each
flag of its help is known and either maps or is told, and what is wrong is refused with the nearest word. What comes out plans and runs."""
import json
import os
import re
import shlex
import subprocess
import tempfile

from importtest import *

MPIEXEC = os.environ.get("HAUL_MPIEXEC", "mpiexec")

# The flags of its help, by benchmark: with the value that is given here, or None.
STANDARD = """results-dir=/r rd=/r systemname=s sn=s config-file=c.yaml debug verbose stream-log-level=INFO quiet dry-run
verify-lockfile=f skip-validation skip-ssh-check skip-fs-separation-gate loops=2 allow-invalid-params aip closed open what-if
mpi-bin=mpirun mpi-btl=tcp mpi-params=x oversubscribe allow-run-as-root exec-type=mpi et=mpi hosts=a,b s=a:2
timeseries-interval=1.5 skip-timeseries max-timeseries-samples=9""".split()
FLAGS = {
    "training run -m unet3d -na 4 -at h100": STANDARD + """model=unet3d m=unet3d accelerator-type=h100 at=h100 g=h100 num-accelerators=4 na=4
        num-processes=4 np=4 max-accelerators=4 ma=4 client-host-memory-in-gb=64 cm=64 num-client-hosts=2 nc=2 data-dir=/d dd=/d
        checkpoint-folder=/c cf=/c params=reader.read_threads=2 p=reader.read_threads=2 param=reader.read_threads=2 dlio-bin-path=/b
        dp=/b o-direct file drop-caches-timeout-seconds=5 params=storage.storage_root=b,--object""".split(),
    "checkpointing run -m llama3-8b -np 8": STANDARD + """model=llama3-8b m=llama3-8b num-processes=8 np=8 checkpoint-folder=/c cf=/c
        client-host-memory-in-gb=64 cm=64 num-checkpoints-read=0 ncr=0 num-checkpoints-write=1 ncw=1 checkpoint-subset o-direct file
        accelerator-type=b200 num-client-hosts=1 dlio-bin-path=/b params=checkpoint.fsync=True""".split(),
    "kvcache run": STANDARD[:15] + """model=llama3.1-8b m=llama3.1-8b num-users=9 nu=9 duration=9 d=9 gpu-mem-gb=1.5 cpu-mem-gb=2
        cache-dir=/c generation-mode=fast performance-profile=latency disable-multi-turn disable-prefix-caching enable-rag
        rag-num-docs=3 enable-autoscaling autoscaler-mode=qos seed=7 trials=3 inter-option-delay=9 config=f npernode=2
        num-processes-per-client=2 num-processes=2 np=2 max-concurrent-allocs=4 enable-latency-tracing kvcache-bin-path=/b
        hosts=a exec-type=mpi mpi-bin=mpiexec timeseries-interval=3 object file""".split(),
    "vectordb run": [flag for flag in STANDARD if not flag.startswith("s=")] + """index-type=DISKANN vdb-index=AISAQ vdb-engine=milvus host=h
        s=h port=19530 p=19530 milvus-uri=/m config=f collection=c dimension=768 num-vectors=1000 num-shards=2 vector-dtype=FLOAT_VECTOR
        distribution=zipfian batch-size=8 chunk-size=9 force compact num-query-processes=2 report-count=9 benchmark-mode=timed mode=sweep
        vector-dim=768 search-limit=10 search-ef=64 gt-collection=g num-query-vectors=99 recall-k=10 runtime=9 queries=99 distributed
        npernode=2 num-processes-per-client=2 mpi-impl=openmpi coordination=mpi rank-output-dir=/t seed=7 ready-timeout=9 metric-type=L2
        max-degree=32 search-list-size=100 M=16 ef-construction=200 inline-pq=16 monitor-interval=5 params=a=b storage-root=/v
        storage-type=local_fs file""".split(),
}

# Words, and what the refusal says.
REFUSED = [
    ("training run --model unet3 -na 8 -at h100", 'no model "unet3"; the nearest is unet3d'),
    ("training run --model unet3d --num-acelerators 8", "the nearest is --num-accelerators"),
    ("training run --model unet3d -na 8 -at b300", '"b300" has no numbers for unet3d, which has a100, h100, b200'),
    ("training run --model unet3d -na 8", "needs --accelerator-type"),
    ("training run --model unet3d -at h100", "needs --num-accelerators"),
    ("training datasize --model unet3d -at h100", "needs --max-accelerators"),
    ("training run -na 8 -at h100", "needs --model"),
    ("training run --model unet3d -na x -at h100", '--num-accelerators: must be a whole number, is "x"'),
    ("training run --model unet3d -at h100 -na", "its value is missing"),
    ("training run --model unet3d --closed=1", "takes no value"),
    ("training run --num-users 3", 'mlpstorage training has no flag "--num-users"'),
    ("training rum run --model unet3d -na 1 -at h100", 'no command "rum"; the nearest is run'),
    ("training rum --model unet3d -na 1 -at h100", 'no command "rum"; the nearest is run'),
    ("training unet4d run -na 1 -at h100", 'no model "unet4d"; the nearest is unet3d'),
    ("training run --model unet3d --cm 128", 'no flag "--cm"; the nearest is -cm'),
    ("kvcache run --nu=5", "the nearest is -nu"), ("training unet3d run --model dlrm -na 1 -at b200", "is given twice"),
    ("training run unet3d file -na 1 -at h100 dataset.x=1", "keys follow --params"),
    ("training run unet3d -na 1 -at h100 -p dataset.num_files_train", "is no KEY=VALUE"),
    ("trainin run", "the nearest is training"), ("training rum", 'no command "rum"; the nearest is run'),
    ("training", "which command?"), ("closed", "which benchmark?"), ("training run 'x", "a quote is not closed"),
    ("whatif training dlrm run object -na 1 -at b200", "--params storage.storage_root=BUCKET"),
    ("checkpointing run -m llama3-8c -np 8", "the nearest is llama3-8b"),
    ("checkpointing run -m llama3-405b -np 9", "a multiple of 256, or 8 for a subset, is 9"),
    ("checkpointing run -m llama3-8b", "needs --num-processes"), ("checkpointing datagen -m llama3-8b -np 8", "only trainings and vector"),
    ("closed kvcache run --num-users 9", "is fixed in a closed submission"),
    ("kvcache run --closed -p decode.batch_size=4", "--params: is fixed in a closed submission"),
    ("kvcache validate --seed 7 --cache-dir /c", "--seed: is fixed in a closed submission"),
    ("vectordb run --vdb-index FLAT", 'haul has no index "FLAT"'),
    ("closed vectordb DISKAN run", 'no command "DISKAN"'), ("vectordb run --index-type DISKAN", 'no index "DISKAN"; the nearest is DISKANN'),
    ("vectordb AISAQ run --index-type DISKANN", "--index-type: the index is given twice"), ("vectordb run --model x", 'vectordb has no flag "--model"'),
    ("vectordb run --vector-dtype BINARY_VECTOR", "is no type of vectors of haul"), ("vectordb run file --storage-type s3", "give it by --storage-root BUCKET"),
    ("training run unet3d -na 1 -at h100 --object=gcs", "--object: takes s3, or no value"),
    # Commands that make no job, with their flags.
    ("reports reportgen --output-dir /o --results-dir /r", "haul report FILE --json, --csv or --html"),
    ("history show --limit 3 -n 3 --id 4 -i 4", "haul show FILE"), ("history rerun 7", "haul show FILE"),
    ("runs list --mode closed --benchmark training --model unet3d --systemname s --status complete --json", "haul report FILE"),
    ("runs show 7", "haul show FILE"), ("runs rm 7 --older-than 7d --keep-last 2 --yes", "haul report"), ("runs purge -y", "haul report"),
    ("runs gc -y", "haul report"), ("status --submit ready --runs --json", "haul check FILE"), ("submit --dry-run --out p", "haul export --mlperf DIR"),
    ("lockfile generate -o x --extra test --hashes --python-version 3.10 --pyproject p --all", "haul version"),
    ("lockfile verify -l x --skip a --allow-missing --strict", "haul version"), ("init me /r", "folder of its own"),
    ("config show --json", "haul show JOB"), ("config set hosts a b", "haul show JOB"), ("config unset hosts", "haul show JOB"), ("config path", "haul show JOB"),
    ("validate /r --submitters a --mlperf-version 3.0 --csv f --skip-output-file --reference-checksum h", "haul check FILE"),
    ("rules-coverage --rules-md f", "haul check JOB lists each rule"), ("version", "haul version"), ("--version", "haul version"),
]


def command(*words):
    r = run("import", "mlpstorage", *words)
    check(r.returncode == 0, (words, r))
    return json.loads(r.stdout), " ".join(r.stderr.split())


def unnamed(job):
    return {k: v for k, v in job.items() if k != "name"}


def test_workloads():
    """The jobs of DLIO's files."""
    def file(name, *overrides):
        where = next(p for p in (f"{HERE}/{f}/{name}.yaml" for f in ("mlc", "mlcommons")) if os.path.exists(p))
        r = run("import", "dlio", where, *overrides)
        check(r.returncode == 0, r)
        return unnamed(json.loads(r.stdout))

    for model, accelerators in (("unet3d", "a100 h100 b200"), ("retinanet", "b200 mi355"), ("resnet50", "a100 h100"),
                                ("cosmoflow", "a100 h100"), ("flux", "b200 mi355"), ("dlrm", "b200 mi355")):
        for accelerator in accelerators.split():
            job, _ = command("whatif", "training", model, "run", "file", "-na", "2", "-at", accelerator)
            check(unnamed(job) == file(f"{model}_{accelerator}"), (model, accelerator, job))
            check(job["name"] == f"{model}_{accelerator}", job)
        job, told = command(f"training datagen --model {model} --num-processes 16 --data-dir /d/")
        check(unnamed(job) == file(f"{model}_datagen", f"++dataset.data_folder=/d/{model}"), (model, job))
        check(told.endswith("then: mpiexec -n 16 haul generate JOB"), told)
    for model, replicas in (("8b", 8), ("70b", 8), ("405b", 2), ("1t", 2)):
        ranks = replicas * {"8b": 1, "70b": 8, "405b": 256, "1t": 512}[model]
        job, told = command(f"checkpointing run --model llama3-{model} --num-processes {ranks} --checkpoint-folder /c -ncw 3 -ncr 3")
        wanted = file(f"llama3_{model}", f"++checkpoint.checkpoint_folder=/c/llama3-{model}",
                      "++checkpoint.num_checkpoints_write=3", "++checkpoint.num_checkpoints_read=3")
        check(unnamed(job) == wanted and f"-n {ranks} " in told, (model, job))


def test_sizes():
    """datasize: files of 500 steps, or of five times the memory; a subset: the bytes of the first eight ranks."""
    job, told = command("training datasize -m unet3d -ma 8 -at b200 -cm 512 --hosts a b")
    check(job["dataset"]["files"] == 37500 and [list(p)[0] for p in job["phases"]] == ["generate", "train"], job)
    check(told.endswith('then: haul plan JOB --nodes 2 --ranks-per-node 4 --memory "512 GiB"'), told)
    job, _ = command("training datasize -m unet3d -ma 8 -at b200 -cm 1")
    check(job["dataset"]["files"] == 28000, job)
    for model, gib in (("8b", 104.705), ("70b", 113.9), ("405b", 98.5), ("1t", 143.7)):
        job, told = command(f"checkpointing datasize -m llama3-{model} -np 8")
        totals = json.loads(plan(job, "--json", "--nodes", 1, "--ranks-per-node", 8).stdout)["phases"][0]["totals"]
        check(abs(totals["bytes"] * totals.get("share", 1) / 2**30 - gib) < 0.06, (model, totals))


CLASSES = [  # as published
    ("training run -m unet3d -na 1 -at b200", "0d3ad0dec188becd"), ("training run -m retinanet -na 1 -at b200", "20c73f53486caba0"),
    ("training run -m unet3d -na 1 -at b200 -p workflow.checkpoint=true", "f636f5a57473fca2"),
    ("training run -m unet3d -na 1 -at b200 -p dataset.num_files_train=9 reader.read_threads=2 reader.batch_size=7.0", "0d3ad0dec188becd"),
    ("training run -m retinanet -na 1 -at mi355", "66c43604eb650987"), ("training run -m resnet50 -na 1 -at h100", "03a7be3df904e1e7"),
    ("training run -m unet3d -na 1 -at h100 -p workflow.checkpoint=True", "0f3dd7a4bf6433a3"),
    ("training run -m unet3d -na 1 -at a100 -p workflow.checkpoint=True", "691cea309c4f2f52"),
    ("training run -m cosmoflow -na 1 -at h100", "4b7b36339a2a5b0d"), ("checkpointing run -m llama3-8b -np 8 -ncr 0", "68df04b7240e3fb0"),
    ("checkpointing run -m llama3-70b -np 64", "3c53fe70d64f91d4"), ("checkpointing run -m llama3-405b -np 512", "7adcfa87a5c4c8e6"),
    ("checkpointing run -m llama3-1t -np 1024 -cf /x", "45fd627ad9dc5f4c"), ("checkpointing run -m llama3-70b -np 8", "c48a92d225d70ce8"),
    ("checkpointing run -m llama3-405b -np 8", "7e9f853cebd52aa6"), ("checkpointing run -m llama3-1t -np 8", "0918b2db633242db"),
]


def test_classes():
    """The classes within which results are compared, all those that are published; another batch is another class."""
    for words, wanted in CLASSES:
        _, told = command(words)
        check(f"class: {wanted}, that of " in told and "no published workload" not in told, (words, told))
    _, told = command("training run -m unet3d -na 1 -at b200 -p reader.batch_size=8")
    check("that of no published workload" in told, told)
    _, told = command("training datagen -m unet3d -np 1")
    check("class:" not in told, told)


def test_flags():
    """Each flag is known to its benchmark, in the list of --keys, and on the page."""
    listed = run("import", "mlpstorage", "--keys").stdout
    with open(os.path.join(SOURCE, "docs", "coming-from-mlpstorage-flags.md"), encoding="utf-8") as f:
        page = f.read()
    known = set(re.findall(r"^--[\w-]+", listed, re.M)) | set(re.findall(r"^--[\w-]+/(-\w+)", listed, re.M))
    meaningless = set(re.findall(r"`(--[\w-]+)`", "".join(line.split("|")[1] for line in page[page.index("These have no meaning"):].splitlines()
                                                           if line.startswith("| `"))))
    given = set()
    for words, flags in FLAGS.items():
        for few in (flags[i::12] for i in range(12)):  # several of them in one command, but none and its own letters
            line, names = words.split(), []
            for flag in few:
                name, _, value = flag.partition("=")
                value, _, more = value.partition(",--")
                names.append(("-" if "--" + name not in known else "--") + name)
                line += [names[-1]] + ([value] if value else []) + (["--" + more] if more else [])
                given |= {"--" + more} if more else set()
            given |= set(names)
            _, told = command(*line)
            check("unknown to DLIO" not in told, (line, told))
            for name in meaningless & set(names):
                check(f"{name} " in told or name == "--params" and "vectordb" not in words, f"{line}: nothing is told of {name}: {told}")
    check({k for k in known if k.startswith("--")} <= given, known - given)
    for flag in sorted(k for k in known if k.startswith("--")):
        check(f"`{flag}`" in page, f"the page docs/coming-from-mlpstorage-flags.md does not name {flag}")


def test_words():
    """One text, several words, the program's name, quotes and continued lines are the same command."""
    words = ["training", "run", "--model", "unet3d", "--num-accelerators", "8", "--accelerator-type", "h100", "--data-dir", "/a b",
             "--params", "dataset.num_files_train=64", "reader.read_threads=2"]
    job, _ = command(*words)
    check(job["stores"]["data"]["uri"] == "file:///a b/unet3d" and job["dataset"]["files"] == 64, job)
    for other in ([shlex.join(words)], ["./mlpstorage " + shlex.join(words).replace(" --", " \\\n  --")], ["uv", "run", "mlpstorage", *words],
                  ["training run --model=UNET3D --num-acc=8 -g h100 -dd '/a b' --param dataset.num_files_train=64 --param reader.read_threads=2"]):
        check(command(*other)[0] == job, other)
    job, _ = command("training run unet3d object -na 1 -at h100 -dd data -p storage.storage_root=bucket")
    check(job["stores"]["data"]["uri"] == "s3://bucket/data/unet3d", job)
    _, told = command("training run unet3d -na 1 -at h100 -p reader.batchsize=4 --loops 5 -rd /r --hosts a b -cm 64")
    check("reader.batchsize" in told and "reader.batch_size" in told, told)
    check("then: mpiexec -n 1 haul run JOB --repeat 5 --results /r/unet3d.h5" in told, told)
    check('--hosts = "b"' in told and '--client-host-memory-in-gb = "64"' in told, told)
    # Of keys that haul does not map, those that were typed are told, and not those of the workload's own file.
    _, told = command("training run unet3d -na 1 -at h100 -p dataset.generation_buffer_size=3")
    check("dataset.generation_buffer_size = 3 haul generates files of any size" in told, told)
    check(told.count("not mapped:") == 1 and "3 keys" in told, told)
    _, told = command("training run unet3d -na 1 -at h100")
    check("not mapped" not in told, told)


def test_cache():
    """A closed run has the three options of the rules; an open one what its flags say."""
    job, told = command("closed kvcache run --cache-dir /c --trials 3 -np 4")
    phases = [p["kvcache"] for p in job["phases"]]
    check([(p["model"], p["users"], p["max_concurrent_allocs"], p["duration"], p.get("after")) for p in phases] ==
          [("llama3.1-8b", 200, 16, 300, None), ("llama3.1-8b", 100, 16, 300, 90), ("llama3.1-70b-instruct", 70, 4, 300, 90)], phases)
    check([len(p["tiers"]) for p in phases] == [1, 2, 1] and len({p["folder"] for p in phases}) == 3, phases)
    check(told.endswith("then: mpiexec -n 4 haul run JOB --repeat 3") and plan(job).returncode == 0, told)
    job, told = command("open kvcache run -nu 7 -d 5 --npernode 2 --hosts a b")
    check(job["phases"][0]["kvcache"]["users"] == 7 and "mpiexec -n 4 " in told, (job, told))


def test_vectors():
    """The job of haul import vdbbench, with the phases of the command; queries are shared among ranks and their threads."""
    shape = {"folder": "c", "index": "aisaq", "vectors": 4000, "dimension": 768, "type": "int8", "segments": 2, "degree": 32, "pq_bytes": 192}
    flags = ["index-type=AISAQ", "vector-dtype=INT8_VECTOR", "dimension=768", "num-vectors=4000", "num-shards=2", "max-degree=32", "collection=c",
             "seed=7"]
    words = " ".join("--" + flag.replace("=", " ") for flag in flags) + " --storage-root {}"
    own = run("import", "vdbbench", *flags, "num-query-processes=3", "queries=50", "search-ef=50", "batch-size=4", "num-query-vectors=64")
    check(own.returncode == 0, own)
    with tempfile.TemporaryDirectory() as folder:
        made, told = command(f"closed vectordb datagen file {words.format(folder)} --batch-size 1000 --npernode 2 --hosts a b")
        check(made["phases"] == [{"vector": {"name": "build", "operation": "build", **shape}}] and made["seed"] == 7, made)
        check(made["stores"]["data"] == {"uri": f"file://{folder}", "engine": "uring", "direct": True}, made)
        check(told.endswith("then: mpiexec -n 4 haul run JOB"), told)
        both, told = command(f"vectordb datasize {words.format(folder)}")
        check([p["vector"]["operation"] for p in both["phases"]] == ["build", "search"] and told.endswith("--ranks-per-node 1"), both)
        ran, told = command(f"closed vectordb AISAQ run {words.format(folder).replace('--index-type AISAQ', '')} --queries 100 --num-query-processes 3 "
                            "--npernode 2 --search-ef 50 --batch-size 4 --num-query-vectors 64 -rd /r")
        check(ran["phases"] == json.loads(own.stdout)["phases"][1:] and ran["phases"][0]["vector"]["count"] == 17, ran)
        check(told.endswith("then: mpiexec -n 2 haul run JOB --repeat 5 --results /r/vectordb.h5"), told)
        for name, job in (("made", made), ("ran", ran)):
            with open(f"{folder}/{name}.json", "w", encoding="utf-8") as f:
                json.dump({**job, "stores": {"data": {"uri": f"file://{folder}", "engine": "uring"}}}, f)
            r = subprocess.run([HAUL, "run", f"{folder}/{name}.json", "--quiet", "--results", f"{folder}/{name}.h5"], capture_output=True, text=True,
                               timeout=120)
            check(r.returncode == 0, r)
    job, _ = command("vectordb run --vdb-index IVF_SQ8 --object s3 --storage-root bucket/a")
    check(job["stores"]["data"] == {"uri": "s3://bucket/a"} and job["phases"][0]["vector"]["type"] == "int8", job)
    job, _ = command("vectordb run-search --runtime 5 --storage-type s3 --storage-root b")
    check(job["phases"][0]["vector"]["seconds"] == 5, job)


def test_refused():
    for words, says in REFUSED:
        r = run("import", "mlpstorage", words)
        check(r.returncode == 2 and not r.stdout and says in r.stderr, (words, r))


def test_runs():
    """datagen and run, one after the other, as their users do."""
    small = "dataset.num_files_train=8 dataset.record_length_bytes=4096 dataset.record_length_bytes_stdev=0"
    with tempfile.TemporaryDirectory() as folder:
        for words, verb in ((f"training datagen -m unet3d -np 2 -dd {folder} -p {small}", "generate"),
                            (f"training run -m unet3d -na 2 -at h100 -dd {folder} -p {small} reader.batch_size=2 train.epochs=2 "
                             "train.computation_time=0.001", "run")):
            job, told = command(words)
            check(f"mpiexec -n 2 haul {verb} JOB" in told, told)
            path = os.path.join(folder, verb + ".json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(job, f)
            r = subprocess.run([*MPIEXEC.split(), "-n", "2", HAUL, verb, path, "--quiet", "--results", os.path.join(folder, verb + ".h5")],
                               capture_output=True, text=True, timeout=120)
            check(r.returncode == 0, (words, r))


main()
