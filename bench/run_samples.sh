#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Benchmark of small samples: the cost per sample in each format with many samples per file, and libhdf5 beside haul.
#
#   bench/run_samples.sh BUILD FOLDER [ROUNDS]
#
# BUILD is the build folder; FOLDER is on the file system to measure and needs 1.6 GB. All files are in the page
# cache. There is one rank with one worker, no compute and no verification. The contestants take turns in each
# round, and figures are medians over the rounds. The cost is the processor time of the whole process without its
# start, so other work on the machine does not count. If strace is installed, the script also prints the requests
# and bytes of a row of HDF5. It removes the files at the end.
set -euo pipefail
shopt -s inherit_errexit

[ $# -ge 2 ] || { sed -n '4s/^#  *//p' "$0" >&2; exit 2; }
build=$(realpath "$1") rounds=${3:-5}
mkdir -p "$2"
folder=$(realpath "$2")
trap 'rm -rf "$folder"/{npz,tfrecord,parquet,hdf5} "$folder"/{job.json,results.h5,error,figures} "$folder"/trace*' EXIT

job()
{
	case $1 in
	npz) set='"files": 6000, "sample_bytes": 65536, "subfolders": 8' epochs=4 batch=32 ;;
	tfrecord*) set='"files": 4, "samples_per_file": 1251, "sample_bytes": 114660' epochs=6 batch=36 ;;
	parquet) set='"files": 2, "samples_per_file": 196608, "sample_bytes": 761, "parquet": {"row_group": 8192,
		"columns": ["50 float16", "40 float32 read", "16 float32", "49 float64", "45 int8"]}' epochs=6 batch=4096 ;;
	hdf5) set='"files": 40, "samples_per_file": 100, "sample_bytes": 65536' epochs=5 batch=20 ;;
	esac
	loader='{"workers": 1}'
	[ "$1" != tfrecord_stream ] || loader='{"kind": "stream", "workers": 1, "stream": {"interleave": 1}}'
	cat >"$folder/job.json" <<JSON
{"name": "samples", "seed": 5, "stores": {"files": {"uri": "file://$folder/${1%_stream}"}},
 "dataset": {"store": "files", "format": "${1%_stream}", $set},
 "phases": [{"generate": {}},
            {"train": {"batch": $batch, "epochs": $epochs, "shuffle": "none", "verify": "none", "null_steps": 0,
                       "cold": {"evidence": 0}, "sync": "none", "loader": $loader}}]}
JSON
}

haul()
{
	"$build/haul" run "$folder/job.json" --results "$folder/results.h5" --force "$@" >/dev/null 2>"$folder/error" ||
		{ cat "$folder/error" >&2; return 1; }
}

# train NAME: prints the samples, seconds, processor seconds and bytes of the training.
train()
{
	job "$1"
	haul --only train
	/usr/bin/python3 - "$folder/results.h5" <<'PYTHON'
import sys

import h5py

with h5py.File(sys.argv[1]) as f:
    phases = f["phases"]
    row = phases[list(phases)[0]]["ranks"][0]
    print(int(row["samples"]), row["wall_ns"] / 1e9, (int(row["cpu_user_ns"]) + int(row["cpu_system_ns"])) / 1e9,
          int(row["bytes_read"]))
PYTHON
}

for format in npz tfrecord parquet hdf5; do
	job "$format"
	haul --only generate
	find "$folder/$format" -type f -exec cat {} + >/dev/null
done
mapfile -t rows < <(find "$folder/hdf5" -name '*.hdf5' | sort)
: >"$folder/figures"
for ((round = 0; round < rounds; round++)); do
	for who in npz tfrecord tfrecord_stream parquet hdf5; do
		printf '%s %s\n' "$who" "$(train "$who")" >>"$folder/figures"
	done
	printf 'libhdf5 %s 0\n' "$("$build/bench/bench_hdf5" 5 "${rows[@]}")" >>"$folder/figures"
done

/usr/bin/python3 - "$folder/figures" <<'PYTHON'
import statistics
import sys

by = {}
for line in open(sys.argv[1]):
    who, samples, wall, cpu, moved = line.split()
    by.setdefault(who, []).append((float(cpu) / int(samples) * 1e6, int(samples) / float(wall),
                                   float(cpu) / (int(moved) / 1e9) if int(moved) else 0))
print("| what | us of a core per sample | samples/s per core | samples/s by wall time | CPU s/GB moved |")
print("|---|---|---|---|---|")
for who, runs in by.items():
    cost = sorted(r[0] for r in runs)
    gb = statistics.median(r[2] for r in runs)
    print(f"| {who} | {statistics.median(cost):.2f} ({cost[0]:.2f} to {cost[-1]:.2f}) | "
          f"{1e6 / statistics.median(cost):,.0f} | {statistics.median(r[1] for r in runs):,.0f} | "
          f"{f'{gb:.3f}' if gb else '–'} |")
PYTHON

command -v strace >/dev/null || { echo "run_samples.sh: without strace, requests are not counted; packaging/packages-bench.txt" >&2; exit 0; }
calls()
{
	strace -ff -y -e trace=openat,read,pread64,preadv,lseek,fstat,newfstatat,close -o "$folder/trace" "$@" >/dev/null 2>&1
	/usr/bin/python3 - "$folder" <<'PYTHON'
import collections
import glob
import re
import sys

calls, moved = collections.Counter(), 0
for name in glob.glob(sys.argv[1] + "/trace*"):
    for line in open(name, errors="replace"):
        m = re.match(r"(\w+)\(.*img_.*hdf5.*\) = (\d+)", line)
        if m:
            calls[m.group(1)] += 1
            moved += int(m.group(2)) if "read" in m.group(1) else 0
print(moved, dict(calls))
PYTHON
	rm -f "$folder"/trace*
}
echo
job hdf5
echo "4,000 rows of HDF5, bytes and calls: libhdf5 $(calls "$build/bench/bench_hdf5" 1 "${rows[@]}")"
echo "haul $(calls "$build/haul" run "$folder/job.json" --results "$folder/results.h5" --force --only train \
	--set train.epochs=1)"
