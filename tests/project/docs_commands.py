# SPDX-License-Identifier: Apache-2.0
"""Commands in the documents: each one runs without an error, in the order of the page, as a reader would type it. The pages
come in the order of the table of contents (docs/README.md), since a later page uses the files that an earlier one has made.
The jobs are made small, and paths outside the reader's folder are moved into a scratch folder.

Commands are the lines of ```sh blocks, the "$ " lines of ```console blocks, whole ```python blocks, and within sentences the
calls of haul that are complete: `haul plan unet3d_aurora --html plan.html`, not `haul clean JOB` or `haul report --json`.
NOT_RUN lists the commands that an ordinary machine cannot run, and why. A command that fails and is not in NOT_RUN fails the test, and so does
a line of NOT_RUN that is no longer in any document."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HAUL, SOURCE, MPIEXEC = os.environ["HAUL"], os.environ["HAUL_SOURCE"], os.environ["HAUL_MPIEXEC"]
RANKS = 2
SECONDS = 1200  # a command that takes longer counts as hung; simulations compute for minutes on a busy machine

BUILDS = "builds haul, which is done before this test"
PARITY = "needs DLIO: import_parity runs it with a program that takes DLIO's arguments"
SITE = "needs the batch system of a site: batch_scripts runs the scripts with programs in its place"
SOURCES = "needs sources that the reader downloads"
DAOS = "needs DAOS: system_daos runs the job over a test library"
TUNES = "takes many minutes: system_tune asks such questions of sim://"
FINDS = "needs a data set and ranks as large as the answer: system_find asks such questions of sim://"
ANSWERS = "needs results of a search: golden and system_find ask for answers"
MODELS = "makes 16 GB and reads them many times: system_load_patterns loads a model of two layers"
SIMULATES = "takes minutes: system_simulate simulates smaller jobs"
PREDICTS = "takes minutes: system_simulate has all predictions, and the text of some"
S3_SERVER = "needs an S3 server: system_s3_demo runs these commands against Ceph"
NOT_RUN = {
    "./quickstart.sh": "installs packages, and " + BUILDS,
    "./test.sh": "runs the tests, this one included",
    "./test.sh --long": "runs the tests, this one included",
    "cmake --preset release && cmake --build --preset release": BUILDS,
    "cmake -B build/release -DCMAKE_BUILD_TYPE=Release -DHAUL_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$HOME/haul": BUILDS,
    "cmake --build build/release --parallel 8 && cmake --install build/release": BUILDS,
    "packaging/install-packages.sh packaging/packages-build.txt": "installs packages, as root",
    "(cd build/release && cpack -G DEB)": "makes a package: the test packages does",
    "apt-get install ./build/release/haul_0.1.0_amd64.deb": "installs a package, as root: the test packages_full does",
    "P=$HOME/haul": SOURCES,
    "(cd cJSON-*    && cmake -B b -DCMAKE_INSTALL_PREFIX=$P -DENABLE_CJSON_TEST=OFF && cmake --build b && cmake --install b)":
        SOURCES,
    "(cd isa-l-*    && ./autogen.sh && ./configure --prefix=$P && make && make install)": SOURCES,
    "(cd liburing-* && ./configure --prefix=$P && make && make install)": SOURCES,
    "spack repo add packaging/spack/spack_repo/haul": "needs Spack",
    "spack dev-build haul@main": "needs Spack",
    'haul simulate unet3d_aurora --nodes 1,8,64,512 --storage "bandwidth=20 TiB/s, node=200 GB/s, latency=1 ms, p99=20 ms"': SIMULATES,
    'haul simulate unet3d_aurora --nodes 1,8,64 --find bandwidth --storage "latency=1 ms"': SIMULATES,
    'haul simulate unet3d_aurora --find nodes=1..1024 --storage "bandwidth=2 TB/s"': SIMULATES,
    'haul simulate unet3d_h100 --nodes 1,2,4,...,64 --storage assess.h5 --storage "bandwidth=200 GB/s"': SIMULATES,
    'haul simulate unet3d_aurora --nodes 512 --storage "bandwidth=10 TB/s, latency=1 ms"': SIMULATES,
    'haul simulate unet3d_aurora --nodes 512 --storage "bandwidth=60 TB/s, latency=1 ms, p99=20 ms"': SIMULATES,
    "haul validate --simulated": PREDICTS,
    "haul report --answer results.h5": ANSWERS,
    "HAUL_DATA=/lustre/project/haul sbatch --nodes=4 slurm/unet3d_small.sh": SITE,
    "HAUL_DATA=/lustre/project/haul NODES=4 slurm/unet3d_small.sh check": SITE,
    "qsub -A PROJECT -v HAUL_DATA=/lus/flare/projects/PROJECT/haul pbs/unet3d_small.pbs": SITE,
    "HAUL_DATA=/lustre/project/haul flux batch -N 4 flux/unet3d_small.sh": SITE,
    "haul ls s3://train/unet3d --set endpoints=http://s3-1:9000 --json": "needs an S3 server: system_ls runs haul ls against "
                                                                         "several",
    "export AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=SECRET": S3_SERVER,
    "export AWS_ENDPOINT_URL=https://s3.example.com HAUL_BUCKET=my-bucket": S3_SERVER,
    "haul ls s3://my-bucket": S3_SERVER,
    "mpiexec -n 8 haul run s3_one": S3_SERVER,
    "minio server /scratch/minio &": S3_SERVER,
    "export AWS_ACCESS_KEY_ID=minioadmin AWS_SECRET_ACCESS_KEY=minioadmin": S3_SERVER,
    "mpiexec -n 2 haul run s3_demo --op-log ops.tsv.zst": S3_SERVER,
    "haul clean s3_demo": S3_SERVER,
    "haul ls s3://haul-demo/unet3d --set endpoints=http://127.0.0.1:9000": S3_SERVER,
    "export DAOS_POOL=mypool DAOS_CONT=mycont HAUL_DATA=/tmp/mypool/mycont": DAOS,
    "mpiexec -n 24 haul run daos_head_to_head --results plain.h5": DAOS,
    "export LD_PRELOAD=/usr/lib64/libpil4dfs.so": DAOS,
    "mpiexec -n 24 haul run daos_head_to_head --results intercepted.h5 --only train_dfuse --only checkpoint_dfuse "
    "--only load_dfuse": DAOS,
    "bench/parity.py unet3d_h100.yaml --ranks 4 --data /scratch/parity dataset.num_files_train=512": PARITY,
    "bench/parity.py unet3d_h100.yaml --ranks 4 --data /scratch/parity --dlio hydra_log/unet3d/2026-01-01-00-00-00": PARITY,
    "mpiexec -n 8 haul run compare_write --sweep stores.data.client=haul,s3dlio,s3torchconnector,minio --repeat 5 --interleave "
    "--results write.h5": S3_SERVER,
    "haul compare write.h5": S3_SERVER,
    "haul ls s3://train/unet3d --set endpoints=http://s3:9000": S3_SERVER,
    "haul import dlio": "names the verb; its example is in a block",
    "haul import dlio --as dlio-bugs": "names the option; its example is in a block",
    "haul import kvcache": "names the verb",
    "haul import torchtitan llama3_8b.toml checkpoint.interval=250 > job.json": "needs a file of torchtitan; import_torchtitan has some",
    "haul import vdbbench": "names the verb; an example is in a block",
    "haul import vdbbench config.yaml runtime=60 index.max_degree=32": "needs a file of vdbbench; import_vdbbench reads some",
    "haul import mlpstorage": "names the verb; its examples are in a block",
    "haul run kvcache_mlperf --repeat 3": "takes an hour: kvcache_all runs the same options",
    'mpiexec -n 8 haul run unet3d_accelerators --find ranks=1..8 --until "train.au >= 90 %"': FINDS,
    'mpiexec -n 4 haul run unet3d_laptop --find ranks=1..4 --until "train.au >= 90 %" --results h100.h5': FINDS,
    'haul run kvcache_users --find kvcache.users=10..1000/10 --until "kvcache.request_p95 <= 200 ms"': FINDS,
    'haul run kvcache_serving --find kvcache.users=10..1000/10 --until "kvcache.ttft_p95 <= 500 ms" --results users.h5': FINDS,
    'mpiexec -n 4 haul run job.json': "names the job on the same page",
    'mpiexec -n 4 haul run job.json --find kvcache.users=10..1000/10 --until "kvcache.ttft_p95 <= 500 ms"': FINDS,
    "haul run io_tune --tune stores.data.engine=psync,uring --tune read.depth=1..16 --results tune.h5": TUNES,
    "export HAUL_DATA=/mnt/storage/haul PATH=$PWD/build/release:$PATH": "names a folder of the reader",
    "mpiexec -n 2 haul run model_load --tune load.pattern=lazy,prefetch,eager,slices,shared --set load.tensor=2 --results load.h5": MODELS,
    "haul run model_load --tune load.pattern=lazy,prefetch,eager,slices,shared --results load.h5": MODELS,
    "HAUL_S3_ENDPOINT=http://a:9000 HAUL_BUCKET=bench haul run s3_get --repeat 5 --results a.h5": S3_SERVER,
    "HAUL_S3_ENDPOINT=http://b:9000 HAUL_BUCKET=bench haul run s3_get --repeat 5 --results b.h5": S3_SERVER,
    "haul compare a.h5 b.h5": S3_SERVER,
    'mpiexec -n 8 haul run io_tune --find read.threads=1..256 --until "read.p99 <= 5 ms"': FINDS,
    "mpiexec -n 8 haul run io_tune --tune stores.data.engine=psync,uring --tune read.depth=1..16 --tune read.threads=1..16": TUNES,
    "haul check WRITES.json READS.json": "names jobs of the reader: cli_check checks halves together",
    "haul import dlio RUN/": "names a folder of the reader: import takes run folders in its tests",
    "haul assess file:///mnt --results assess.h5": "takes ten minutes: system_assess assesses small stores",
    'mpiexec -n 8 haul assess file:///scratch/haul --budget "10 min"': "takes ten minutes: system_assess assesses small stores",
    "mpiexec -n 8 haul assess s3://bucket/prefix --set endpoints=http://s3:9000": S3_SERVER,
    "haul check first.h5 second.h5": "names the results of a series: cli_check judges some",
    "import pandas": "needs pandas, which the tests do not install",
}

# Commands that a reader has run before coming to those of the page.
BEFORE = {
    "README.md": ["mpiexec -n 4 build/release/haul run unet3d_demo --force --quiet"],  # quickstart.sh has done it
    "docs/coming-from-dlio.md": ["haul import dlio unet3d_h100.yaml workflow.generate_data=True workflow.train=False > made.json",
                      "haul generate made.json --quiet"],
    "docs/reference-options.md": ["rm -f results.h5"],
    "docs/exporting.md": ["mpiexec -n 2 haul run first.json --quiet --force --op-log ops.tsv.zst"],
}
WITHOUT_ARGUMENTS = {"catalog", "schema", "topo", "doctor", "version"}  # verbs whose name alone is a command
# Judgements: results of small jobs need not be accepted.
MAY_MISS = {"haul check series.h5", "haul accept rules.json accept.h5", "haul accept accept_unet3d accept.h5", "haul accept rules.json results.h5"}
# Commands that one command of a page needs in addition: a trace, data as DLIO would have made them.
BEFORE_COMMAND = {
    "mpiexec -n 2 haul run unet3d_demo": ["rm -f results.h5"],
    "haul compare monday.h5 tuesday.h5": ["cp monday.h5 tuesday.h5"],
    "mpiexec -n 4 haul replay ops.csv.zst --store file:///scratch/kv --tiers 2": [
        "printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\\n0,Write,9,Tier-2,k,Prefill\\n' > ops.csv.zst"],
    'haul replay ops.csv.zst --through mlperf-v3 --gpu-mem "0.5 GiB" --cpu-mem "1 GiB" --io-trace-log other.csv --results other.h5': [
        "printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\\n0,Write,9,Tier-2,k,Prefill\\n' > ops.csv.zst"],
    "haul accept rules.json accept.h5": ["mpiexec -n 2 haul run accept_unet3d --quiet --force --results accept.h5"],
    "mpiexec -n 64 haul run accept_unet3d": ["rm accept.h5"],
    "haul export --mlperf tree unet3d.h5": ["rm -rf tree", "mpiexec -n 2 haul run unet3d_demo --quiet --force --results unet3d.h5"],
    "haul export --mlperf tree made.h5": ["rm -rf tree", "mpiexec -n 2 haul run unet3d_demo --only generate --quiet --force --results made.h5"],
    "haul export --xlsx caches.xlsx caches.h5": [
        'printf \'{"stores":{"data":{"uri":"sim://"}},"phases":[{"kvcache":{"model":"tiny-1b","users":2,"duration":"100 ms"}}]}\' > caches.json',
        "haul run caches.json --quiet --force --results caches.h5"],
    "mpiexec -n 8 haul run unet3d_h100 --results dlio.h5": [
        "haul generate unet3d_h100 --quiet --set dataset.folder=train"],
}

SMALL_IO = {"size": "4 MiB", "objects": 20, "seconds": 0.2, "warmup": 0}
SMALL_DLIO = """
model: {name: unet3d}
framework: pytorch
workflow: {generate_data: False, train: True}
dataset: {data_folder: data/unet3d, format: npz, num_files_train: 32, record_length_bytes: 20000}
reader: {data_loader: pytorch, batch_size: 7, read_threads: 2, file_shuffle: seed, sample_shuffle: seed}
train: {epochs: 2, computation_time: 0.001}
"""


def blocks(text):
    """(language, body) of each fenced block."""
    for found in re.finditer(r"^( *)```(\w+)\n(.*?)^ *```$", text, re.S | re.M):
        yield found.group(2), re.sub("^" + found.group(1), "", found.group(3), flags=re.M)


def commands(text):
    """(line of the page, Python code or None) of each command. A Python block is named by its first line, and runs after
    those before it."""
    python = ""
    for language, body in blocks(text):
        if language == "python":
            first = body.split("\n", 1)[0]
            python += "" if first in NOT_RUN else body + "\n"
            yield first, python
        lines = body.replace("\\\n", " ").split("\n") if language in ("sh", "console") else []
        for line in lines:
            if language == "console" and not line.startswith("$ "):
                continue
            line = re.sub(r"\s+# .*", "", line.removeprefix("$ ")).strip()
            if line and not line.startswith("#"):
                yield line, None
    for span in re.findall(r"`((?:mpiexec -n \d+ )?haul [^`]+)`", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.S | re.M)):
        span = " ".join(span.split())
        if complete(span.split("haul ")[1].split()):
            yield span, None


def complete(words):
    """Whether a call of haul names all that it works on, or needs nothing."""
    named = [word for word in words[1:] if not word.startswith("-")]
    return (bool(named) or words[0] in WITHOUT_ARGUMENTS) and not any(re.search(r"^[A-Z]+…?$|[…\[]", word) for word in words)


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def pages():
    """README.md, and the pages in the order in which the table of contents has them."""
    contents = os.path.join(SOURCE, "docs", "README.md")
    paths = [os.path.join(SOURCE, "README.md"), contents]
    for link in re.findall(r"\]\(([^)\s#]+\.md)\)", read(contents)):
        path = os.path.normpath(os.path.join(SOURCE, "docs", link))
        if path not in paths and path.startswith(os.path.join(SOURCE, "docs")):
            paths.append(path)
    return paths


def shrink(job, scratch):
    """A job with the same parts and few bytes, whose /scratch is in the scratch folder."""
    job = json.loads(json.dumps(job).replace("file:///scratch", f"file://{scratch}/scratch"))
    for dataset in [job["dataset"]] if "dataset" in job else job.get("datasets", {}).values():
        dataset.update(files=min(dataset["files"], 32), sample_bytes=20000)
        dataset.pop("subfolders", None)
        if "sample_bytes_stdev" in dataset:
            dataset["sample_bytes_stdev"] = 5000
    if "base" in job:  # which is made small itself
        job["set"] = [change.replace("steps_per_epoch=500", "steps_per_epoch=0").replace("memories=5", "memories=0")
                      for change in job["set"] if change != "dataset.files=0"]
    for phase in job.get("phases", []):
        if "train" in phase:
            phase["train"].update(compute="1 ms", epochs=2, null_steps=0)
        if "io" in phase:
            phase["io"].update({key: small for key, small in SMALL_IO.items() if key in phase["io"]})
        if "kvcache" in phase:
            phase["kvcache"].update(duration="2 s")
        if "checkpoint" in phase:
            phase["checkpoint"].update(model={"bytes": 1000000}, count=2, pause=0, null_passes=0)
    return job


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def prepare(scratch):
    """Makes the reader's folder: programs, small jobs, a DLIO workload, a node's topology."""
    os.makedirs(f"{scratch}/bin")
    os.makedirs(f"{scratch}/build")
    os.symlink(os.path.dirname(HAUL), f"{scratch}/build/release")
    os.symlink(HAUL, f"{scratch}/bin/haul")
    # A link would not work, because mpiexec searches its helper programs in its own folder.
    write(f"{scratch}/bin/mpiexec", f'#!/bin/sh\nexec {MPIEXEC} "$@"\n')
    os.chmod(f"{scratch}/bin/mpiexec", 0o755)
    for path in glob.glob(os.path.join(SOURCE, "workloads", "catalog", "*.json")):
        with open(path, encoding="utf-8") as stream:
            write(f"{scratch}/catalog/{os.path.basename(path)}", json.dumps(shrink(json.load(stream), scratch)))
    for path in pages():
        for language, body in blocks(read(path)):
            if language == "json" and '"phases"' in body:
                job = json.loads(body)
                write(f"{scratch}/{job['name']}.json", json.dumps(shrink(job, scratch)))
            if language == "json" and '"rules"' in body and '"edition"' not in body:
                write(f"{scratch}/rules.json", body)
    write(f"{scratch}/unet3d_h100.yaml", SMALL_DLIO)
    shutil.copy(os.path.join(SOURCE, "tests", "fixtures", "topologies", "aurora.xml"), f"{scratch}/node.xml")


def run(line, python, scratch, exported):
    """Runs a command, and returns a sentence if it fails. exported: lines of the page that set the environment."""
    line = re.sub(r"mpiexec -n \d+", f"mpiexec -n {RANKS}", line)
    line = re.sub(r"(?<![\w./])/scratch", f"{scratch}/scratch", line)
    line = re.sub(r"file:///scratch", f"file://{scratch}/scratch", line)
    if line.startswith("export "):
        exported.append(line)
        return None
    # Without looking for devices, which few commands need, each of them takes half as long.
    env = {"HWLOC_COMPONENTS": "-pci,-linuxio", **os.environ, "PATH": f"{scratch}/bin:" + os.environ["PATH"], "HOME": scratch, "HAUL_DATA": f"{scratch}/data"}
    if re.search(r"\bhaul (run|generate|clean)\b", line):
        env["HAUL_CATALOG"] = f"{scratch}/catalog"
    try:
        done = subprocess.run([sys.executable, "-c", python] if python else ["bash", "-ec", "\n".join([*exported, line])],
                              cwd=scratch, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"{line}: did not end within {SECONDS} s"
    # "closed if" has an exit status of its own: 9.
    well = (0, 8) if line in MAY_MISS else (0, 9) if line.startswith("haul check ") else (0,)
    return None if done.returncode in well else f"{line}: status {done.returncode}\n{done.stdout[-2000:]}"


def run_page(page, text, scratch):
    """Returns sentences about failures, the number of commands run, and the lines of NOT_RUN on the page."""
    wrong, count, left, exported = [], 0, set(), []
    todo = list(commands(text))
    if all(line in NOT_RUN for line, _ in todo):
        return wrong, count, {line for line, _ in todo}
    for line in BEFORE.get(page, []):
        wrong += filter(None, [run(line, None, scratch, [])])
    for line, python in todo:
        if line in NOT_RUN:
            left.add(line)
            continue
        for start, before in BEFORE_COMMAND.items():
            for one in before if line.startswith(start) else []:
                wrong += filter(None, [run(one, None, scratch, exported)])
        wrong += [f"{page}: {w}" for w in [run(line, python, scratch, exported)] if w]
        count += 1
    return wrong, count, left


def main():
    wrong, count, left = [], 0, set()
    with tempfile.TemporaryDirectory() as scratch:
        prepare(scratch)
        for path in pages():
            failed, ran, skipped = run_page(os.path.relpath(path, SOURCE), read(path), scratch)
            wrong, count, left = wrong + failed, count + ran, left | skipped
    wrong += [f"NOT_RUN: no document has \"{line}\"" for line in NOT_RUN if line not in left]
    print("\n".join(wrong) or f"{count} commands were run, {len(NOT_RUN)} were not")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
