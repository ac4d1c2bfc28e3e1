#!/usr/bin/env python3
"""DLIO and haul on the same files with the same settings, and where their figures differ, why.

    bench/parity.py unet3d_h100.yaml --ranks 4 [KEY=VALUE ...]     runs both
    bench/parity.py unet3d_h100.yaml --ranks 4 --dlio FOLDER       DLIO's part was run before: its output folder

DLIO makes the files where there are none, so that both read what DLIO writes. See docs/parity.md."""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

MIB = 1 << 20
REREADS = ("npz", "npy", "csv")  # DLIO reads the whole file again for each of its samples
LOOKED_AT = 1000                 # files whose sizes are looked at


class Refusal(Exception):
    pass


def run(command, **more):
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, **more)
    if done.returncode:
        raise Refusal(f"{' '.join(command[:6])} … ended with status {done.returncode}")
    return done


def program(name, needed_for):
    path = os.environ.get(name.upper()) or shutil.which(name)
    if not path:
        raise Refusal(f"{name} is not in PATH, and {needed_for}")
    return path


# ---- what was measured ----

def read_json(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError) as e:
        raise Refusal(f"{path}: {e}") from e


def steps_of(folder):
    """Steps of the first epoch, from a rank's own output: the blocks' lists of processing times."""
    outputs = sorted(glob.glob(os.path.join(folder, "*_output.json")))
    if not outputs:
        raise Refusal(f"{folder}: holds no RANK_output.json of DLIO")
    first = next((e for e in read_json(outputs[0]).values() if isinstance(e, dict) and "proc" in e), None)
    if first is None:
        raise Refusal(f"{outputs[0]}: holds no epoch with \"proc\"")
    return sum(len(block) for block in first["proc"].values())


def read_dlio(folder):
    summary = read_json(os.path.join(folder, "summary.json"))
    metric = summary.get("metric", {})
    try:
        return {"au": metric["train_au_mean_percentage"] / 100,
                "samples_s": metric["train_throughput_mean_samples_per_second"],
                "mib_s": metric["train_io_mean_MB_per_second"],
                "ranks": summary["num_accelerators"], "steps": steps_of(folder)}
    except KeyError as e:
        raise Refusal(f"{folder}/summary.json: has no {e}") from e


def read_haul(results, haul):
    report = json.loads(run([haul, "report", "--json", results], capture_output=True).stdout)
    train = next((p for p in report["phases"] if p["kind"] == "train"), None)
    if train is None:
        raise Refusal(f"{results}: holds no training")
    epochs = [e for e in train["epochs"] if e["samples"]]
    seconds = sum(e["seconds"] for e in epochs)
    samples = sum(e["samples"] for e in epochs)
    return {"au": train["au"]["mean"], "au_mlperf": train["au_mlperf"], "null_au": train["null_au"],
            "samples_s": samples / seconds, "mib_s": train["bytes_read"] / seconds / MIB,
            "samples": epochs[0]["samples"], "sample_bytes": train["bytes_read"] / samples}


def file_bytes(folder, extension):
    """The mean size of a training file, of the first that are found."""
    sizes = []
    for where, _, names in os.walk(os.path.join(folder, "train")):
        for name in sorted(names):
            if name.endswith("." + extension):
                sizes.append(os.path.getsize(os.path.join(where, name)))
                if len(sizes) == LOOKED_AT:
                    return sum(sizes) / len(sizes)
    return sum(sizes) / len(sizes) if sizes else None


# ---- why they differ ----

def explain(dlio, haul, job, mean_file, version="argonne"):
    """(DLIO's samples/s and MiB/s put right, sentences). job: of haul import; mean_file: bytes, or None."""
    dataset = job.get("dataset") or job["datasets"]["train"]
    train = next(p["train"] for p in job["phases"] if "train" in p)
    samples_file, format_ = dataset["samples_per_file"], dataset["format"]
    n, said = dlio["steps"], []
    samples_s = dlio["samples_s"]
    if version == "argonne" and n > 2:
        samples_s *= (n - 1) / (n - 2)
        said.append(("samples/s", f"DLIO counts {n} - 2 steps over the time of {n} - 1: {dlio['samples_s']:.4g} printed "
                                  f"is {samples_s:.4g}"))
    elif version == "argonne":
        said.append(("samples/s", f"DLIO counts n - 2 steps: with {n} its throughput says nothing"))
    bytes_sample = mean_file / samples_file if mean_file else dataset["sample_bytes"]
    if samples_file > 1 and format_ in REREADS:
        bytes_sample *= samples_file
        said.append(("bytes", f"DLIO reads the whole file for each of its {samples_file} samples and counts one: it moves "
                              f"{samples_file} times what it prints; haul reads the sample"))
    mib_s = samples_s * bytes_sample / MIB
    printed = dlio["samples_s"] * dataset["sample_bytes"] / MIB
    said.append(("bytes", f"DLIO counts no bytes: {dlio['mib_s']:.4g} is samples/s times record_length "
                          f"({printed:.4g}), in MiB labelled MB"))
    if mean_file and abs(mean_file / samples_file / dataset["sample_bytes"] - 1) > 0.01:
        said.append(("bytes", f"the files have {mean_file / samples_file / dataset['sample_bytes']:.3f} of the bytes a sample "
                              "that the settings say" + ("; DLIO's JPEG are of quality 75" if format_ == "jpeg" else "")))
    if haul["au_mlperf"] is not None:
        said.append(("AU", f"by DLIO's formula haul has {haul['au_mlperf']:.1%}; its own AU leaves out "
                           f"{train.get('warmup_steps', 1)} steps whole, their barrier too"))
        lost = haul["au_mlperf"] - dlio["au"]
        if abs(lost) >= 0.005:
            said.append(("AU", f"what remains, {abs(lost):.1%}, is {'DLIO' if lost > 0 else 'haul'}'s own cost: "
                               + ("its Python opens, reads, decodes and hands on batches between processes"
                                  if lost > 0 else "see haul report, by account")))
    if haul["null_au"] is not None:
        said.append(("AU", f"haul alone, on a store that takes no time: {haul['null_au']:.1%}"))
    per_epoch = n * train["batch"] * dlio["ranks"]
    if per_epoch != haul["samples"]:
        said.append(("samples", f"DLIO read {per_epoch} an epoch, haul {haul['samples']}"
                     + ("; DLIO cuts the number of files by samples_per_file" if samples_file > 1 else "")))
    if train["loader"]["kind"] == "pytorch" and train.get("shuffle") != "none" and version == "argonne":
        said.append(("order", "DLIO does not shuffle under PyTorch: each rank reads the same files in the same order each "
                              "epoch, which caches like; haul import --as dlio-bugs does the same"))
    if train["loader"]["kind"] == "sample" and format_ != "tfrecord" and version == "argonne":
        said.append(("order", "DLIO's iterative sampler reads some files several times and others never; haul each once"))
    return {"samples_s": samples_s, "mib_s": mib_s}, said


def table(dlio, right, haul):
    def row(what, a, b, form="{:.4g}"):
        ratio = f"{b / a:8.2f}" if a else "       –"
        return f"{what:<30}{form.format(a):>10}{form.format(b):>12}{ratio}"
    au = haul["au_mlperf"] if haul["au_mlperf"] is not None else haul["au"]
    return [f"{'':<30}{'DLIO':>10}{'haul':>12}    haul / DLIO",
            row("AU, by DLIO's formula", dlio["au"], au, "{:.1%}"),
            row("samples/s, as printed", dlio["samples_s"], haul["samples_s"]),
            row("samples/s, put right", right["samples_s"], haul["samples_s"]),
            row("MiB/s, as printed", dlio["mib_s"], haul["mib_s"]),
            row("MiB/s, moved", right["mib_s"], haul["mib_s"])]


# ---- running both ----

def run_dlio(arguments, data, out):
    dlio = program("dlio_benchmark", "the comparison needs it: pip install dlio_benchmark on this machine, or run it "
                                     "elsewhere and give its output folder by --dlio")
    mpiexec = program("mpiexec", "both programs need it")
    name = os.path.splitext(os.path.basename(arguments.workload))[0]
    config = os.path.join(out, "config")
    os.makedirs(os.path.join(config, "workload"))
    shutil.copy(arguments.workload, os.path.join(config, "workload", name + ".yaml"))
    common = [mpiexec, "-n", str(arguments.ranks), dlio, f"workload={name}", "--config-dir", config,
              f"++workload.dataset.data_folder={data}", "++workload.workflow.checkpoint=False", *arguments.overrides]
    if not os.path.isdir(os.path.join(data, "train")):
        run([*common, "++workload.workflow.generate_data=True", "++workload.workflow.train=False",
             f"++hydra.run.dir={out}/datagen"])
    run([*common, "++workload.workflow.generate_data=False", "++workload.workflow.train=True",
         f"++hydra.run.dir={out}/dlio"])
    return os.path.join(out, "dlio")


def import_job(arguments, haul, data, out):
    command = [haul, "import", "dlio", arguments.workload, *arguments.overrides, f"dataset.data_folder={data}",
               "workflow.generate_data=False", "workflow.train=True"]
    path = os.path.join(out, "job.json")
    with open(path, "w", encoding="utf-8") as stream:
        run(command, stdout=stream)
    return path


def compare(arguments):
    haul = program("haul", "it is what is compared: build it, or name it in HAUL")
    data, out = os.path.abspath(arguments.data), os.path.abspath(arguments.out or tempfile.mkdtemp(prefix="parity-"))
    os.makedirs(out, exist_ok=True)
    folder = arguments.dlio or run_dlio(arguments, data, out)
    dlio = read_dlio(folder)
    path = import_job(arguments, haul, data, out)
    results = os.path.join(out, "haul.h5")
    run([program("mpiexec", "both programs need it"), "-n", str(arguments.ranks), haul, "run", path, "--results", results,
         "--force", "--quiet"], stdout=sys.stderr)
    measured, job = read_haul(results, haul), read_json(path)
    dataset = job.get("dataset") or job["datasets"]["train"]
    right, said = explain(dlio, measured, job, file_bytes(data, dataset["format"]), arguments.version)
    print("\n".join(table(dlio, right, measured)) + "\n")
    for what, sentence in said:
        print(f"{what:<10} {sentence}")
    print(f"\nresults    {results}   job {path}   DLIO {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", help="a DLIO workload file")
    parser.add_argument("overrides", nargs="*", help="Hydra's overrides, for both")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--data", default="./parity-data", help="folder of the data, for both")
    parser.add_argument("--out", help="folder for what both write")
    parser.add_argument("--dlio", help="output folder of a DLIO run that was made before")
    parser.add_argument("--version", choices=("argonne", "mlcommons"), default="argonne", help="which DLIO it is")
    try:
        compare(parser.parse_args())
    except Refusal as e:
        print(f"parity: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
