#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comparison of haul with DLIO: runs both on the same files with the same settings, and explains why their figures differ.

    bench/parity.py unet3d_h100.yaml --ranks 4 [KEY=VALUE ...]     runs DLIO, then haul
    bench/parity.py unet3d_h100.yaml --ranks 4 --dlio FOLDER       takes DLIO's figures from the output folder of
                                                                   an earlier run, and runs haul

Where there are no files yet, DLIO generates them, so that both read what DLIO writes. See docs/parity.md."""
import argparse
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

MIB = 1 << 20
REREADS = ("npz", "npy", "csv")  # formats of which DLIO reads the whole file again for each sample
SIZES_MAX = 1000                 # files whose sizes are averaged
SAME_AU = 0.005                  # AU values closer than this count as equal


class Refusal(Exception):
    pass


def run(command, **more):
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, **more)
    if done.returncode:
        raise Refusal(f"{' '.join(command[:6])} … ended with status {done.returncode}")
    return done


def program(variable, name, reason):
    """The words that start a program: those in the environment variable, or the program in PATH."""
    words = shlex.split(os.environ.get(variable, ""))
    path = shutil.which(words[0] if words else name)
    if not path:
        raise Refusal(f"{words[0] if words else name} is not in PATH, and {reason}")
    return [path, *words[1:]]


# ---- what both programs measured ----

def read_json(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError) as e:
        raise Refusal(f"{path}: {e}") from e


def dlio_steps(folder):
    """The number of steps in the first epoch: DLIO lists the processing time of each step, block by block."""
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
                "ranks": summary["num_accelerators"], "steps": dlio_steps(folder)}
    except KeyError as e:
        raise Refusal(f"{folder}/summary.json: has no {e}") from e


def read_haul(results, haul):
    report = json.loads(run([*haul, "report", "--json", results], capture_output=True).stdout)
    train = next((p for p in report["phases"] if p["kind"] == "train"), None)
    if train is None:
        raise Refusal(f"{results}: holds no training")
    epochs = [e for e in train["epochs"] if e["samples"]]
    seconds = sum(e["seconds"] for e in epochs)
    samples = sum(e["samples"] for e in epochs)
    return {"au": train["au"]["mean"], "au_mlperf": train["au_mlperf"], "null_au": train["null_au"],
            "samples_s": samples / seconds, "mib_s": train["bytes_read"] / seconds / MIB,
            "samples": epochs[0]["samples"], "sample_bytes": train["bytes_read"] / samples}


def mean_file_bytes(folder, extension):
    """The mean size of the first training files that are found, or None if there are none."""
    sizes = []
    for where, _, names in os.walk(os.path.join(folder, "train")):
        for name in sorted(names):
            if name.endswith("." + extension):
                sizes.append(os.path.getsize(os.path.join(where, name)))
                if len(sizes) == SIZES_MAX:
                    return sum(sizes) / len(sizes)
    return sum(sizes) / len(sizes) if sizes else None


# ---- why the figures differ ----

def explain_rate(dlio, version, said):
    """DLIO's samples/s, corrected."""
    n = dlio["steps"]
    if version != "argonne":
        return dlio["samples_s"]
    if n <= 2:
        said.append(("samples/s", f"DLIO counts n - 2 steps: with {n} steps its throughput means nothing"))
        return dlio["samples_s"]
    samples_s = dlio["samples_s"] * (n - 1) / (n - 2)
    said.append(("samples/s", f"DLIO divides {n} - 2 steps by the time of {n} - 1: it prints {dlio['samples_s']:.4g}, "
                              f"which should be {samples_s:.4g}"))
    return samples_s


def explain_bytes(dlio, dataset, mean_file, said):
    """The bytes that DLIO moves per sample."""
    samples_file, sample_bytes = dataset["samples_per_file"], dataset["sample_bytes"]
    moved = mean_file / samples_file if mean_file else sample_bytes
    if samples_file > 1 and dataset["format"] in REREADS:
        moved *= samples_file
        said.append(("bytes", f"DLIO reads the whole file for each of its {samples_file} samples and counts one sample: it "
                              f"moves {samples_file} times the bytes that it prints; haul reads the sample alone"))
    printed = dlio["samples_s"] * sample_bytes / MIB
    said.append(("bytes", f"DLIO counts no bytes: the {dlio['mib_s']:.4g} that it prints are samples/s times record_length "
                          f"({printed:.4g}), in MiB but labelled MB"))
    if mean_file and abs(mean_file / samples_file / sample_bytes - 1) > 0.01:
        said.append(("bytes", f"the files hold {mean_file / samples_file / sample_bytes:.3f} of the bytes per sample that "
                              "the settings give" + ("; DLIO writes JPEG of quality 75" if dataset["format"] == "jpeg"
                                                     else "")))
    return moved


def explain_au(dlio, haul, train, said):
    if haul["au_mlperf"] is not None:
        warmup = train.get("warmup_steps", 1)
        said.append(("AU", f"by DLIO's formula haul reaches {haul['au_mlperf']:.1%}; haul's own AU leaves out "
                           + ("the warm-up step completely, with its barrier" if warmup == 1 else
                              f"{warmup} warm-up steps completely, with their barriers")))
        lost = haul["au_mlperf"] - dlio["au"]
        if lost >= SAME_AU:
            said.append(("AU", f"the remaining {lost:.1%} are DLIO's own cost: its Python opens, reads, decodes and passes "
                               "batches between processes"))
        elif lost <= -SAME_AU:
            said.append(("AU", f"the remaining {-lost:.1%} are haul's own cost: haul report has them by account"))
    if haul["null_au"] is not None:
        said.append(("AU", f"haul alone, on a store that takes no time, reaches {haul['null_au']:.1%}"))


def explain_order(dlio, haul, dataset, train, version, said):
    per_epoch = dlio["steps"] * train["batch"] * dlio["ranks"]
    if per_epoch != haul["samples"]:
        said.append(("samples", f"DLIO read {per_epoch} samples per epoch, haul {haul['samples']}"
                     + ("; DLIO cuts the number of files by samples_per_file" if dataset["samples_per_file"] > 1 else "")))
    if version != "argonne":
        return
    if train["loader"]["kind"] == "pytorch" and train.get("shuffle") != "none":
        said.append(("order", "DLIO does not shuffle under PyTorch: in every epoch each rank reads the same files in the "
                              "same order, which helps the page cache; haul import --as dlio-bugs does the same"))
    if train["loader"]["kind"] == "sample" and dataset["format"] != "tfrecord":
        said.append(("order", "DLIO's iterative sampler reads some files several times and others never; haul reads each "
                              "sample once"))


def explain(dlio, haul, job, mean_file, version="argonne"):
    """DLIO's samples/s and MiB/s, corrected, and the reasons as pairs (figure, sentence). job: what haul import printed.
    mean_file: bytes, or None."""
    dataset = job.get("dataset") or job["datasets"]["train"]
    train = next(p["train"] for p in job["phases"] if "train" in p)
    said = []
    samples_s = explain_rate(dlio, version, said)
    mib_s = samples_s * explain_bytes(dlio, dataset, mean_file, said) / MIB
    explain_au(dlio, haul, train, said)
    explain_order(dlio, haul, dataset, train, version, said)
    return {"samples_s": samples_s, "mib_s": mib_s}, said


def table(dlio, corrected, haul):
    def row(what, a, b, form="{:.4g}"):
        ratio = f"{b / a:8.2f}" if a else "       –"
        return f"{what:<30}{form.format(a):>10}{form.format(b):>12}{ratio}"
    au = haul["au_mlperf"] if haul["au_mlperf"] is not None else haul["au"]
    return [f"{'':<30}{'DLIO':>10}{'haul':>12}    haul / DLIO",
            row("AU, by DLIO's formula", dlio["au"], au, "{:.1%}"),
            row("samples/s, as printed", dlio["samples_s"], haul["samples_s"]),
            row("samples/s, corrected", corrected["samples_s"], haul["samples_s"]),
            row("MiB/s, as printed", dlio["mib_s"], haul["mib_s"]),
            row("MiB/s, moved", corrected["mib_s"], haul["mib_s"])]


# ---- running both programs ----

def hydra_override(text):
    """A user's override in the form that DLIO takes: the keys of a workload file are below "workload", and "++" sets a key
    whether or not the file has it."""
    removes = text.startswith("~")
    path = text.lstrip("~" if removes else "+")
    if path.startswith("hydra."):
        return text
    if not path.startswith("workload."):
        path = "workload." + path
    return ("~" if removes else "++") + path


def run_dlio(arguments, data, out):
    dlio = program("DLIO_BENCHMARK", "dlio_benchmark",
                   "the comparison needs it: install DLIO on this machine, or run it elsewhere and give its output folder "
                   "by --dlio")
    mpiexec = program("DLIO_MPIEXEC" if os.environ.get("DLIO_MPIEXEC") else "MPIEXEC", "mpiexec", "DLIO needs it")
    name = os.path.splitext(os.path.basename(arguments.workload))[0]
    config = os.path.join(out, "config")
    os.makedirs(os.path.join(config, "workload"), exist_ok=True)
    shutil.copy(arguments.workload, os.path.join(config, "workload", name + ".yaml"))
    # Hydra takes its own options only before the first override.
    common = [*mpiexec, "-n", str(arguments.ranks), *dlio, "--config-dir", config, f"workload={name}",
              *map(hydra_override, [*arguments.overrides, f"dataset.data_folder={data}", "workflow.checkpoint=False"])]
    if not os.path.isdir(os.path.join(data, "train")):
        run([*common, *map(hydra_override, ["workflow.generate_data=True", "workflow.train=False"]),
             f"hydra.run.dir={out}/datagen"], stdout=sys.stderr)
    run([*common, *map(hydra_override, ["workflow.generate_data=False", "workflow.train=True"]),
         f"hydra.run.dir={out}/dlio"], stdout=sys.stderr)
    return os.path.join(out, "dlio")


def import_job(arguments, haul, data, out):
    command = [*haul, "import", "dlio", arguments.workload, *arguments.overrides, f"dataset.data_folder={data}",
               "workflow.generate_data=False", "workflow.train=True"]
    path = os.path.join(out, "job.json")
    with open(path, "w", encoding="utf-8") as stream:
        run(command, stdout=stream)
    return path


def compare(arguments):
    haul = program("HAUL", "haul", "it is one of the two programs: build it, or name it in HAUL")
    data, out = os.path.abspath(arguments.data), os.path.abspath(arguments.out or tempfile.mkdtemp(prefix="parity-"))
    os.makedirs(out, exist_ok=True)
    folder = arguments.dlio or run_dlio(arguments, data, out)
    dlio = read_dlio(folder)
    path = import_job(arguments, haul, data, out)
    results = os.path.join(out, "haul.h5")
    run([*program("MPIEXEC", "mpiexec", "haul needs it"), "-n", str(arguments.ranks), *haul, "run", path,
         "--results", results, "--force", "--quiet"], stdout=sys.stderr)
    measured, job = read_haul(results, haul), read_json(path)
    dataset = job.get("dataset") or job["datasets"]["train"]
    corrected, said = explain(dlio, measured, job, mean_file_bytes(data, dataset["format"]), arguments.version)
    print("\n".join(table(dlio, corrected, measured)) + "\n")
    for what, sentence in said:
        print(f"{what:<10} {sentence}")
    print(f"\nresults    {results}   job {path}   DLIO {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", help="a DLIO workload file")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra's overrides, for both programs")
    parser.add_argument("--ranks", type=int, default=2, help="processes of each program (default 2)")
    parser.add_argument("--data", default="./parity-data", help="folder of the data, for both (default ./parity-data)")
    parser.add_argument("--out", help="folder for what both programs write (default: a new one)")
    parser.add_argument("--dlio", help="output folder of an earlier DLIO run")
    parser.add_argument("--version", choices=("argonne", "mlcommons"), default="argonne",
                        help="whose DLIO it is (default argonne)")
    try:
        compare(parser.parse_intermixed_args())
    except Refusal as e:
        print(f"parity: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
