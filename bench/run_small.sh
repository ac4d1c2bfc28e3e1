#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Benchmark of small files: the cost of a sample in a training, its profile, and the waits for locks.
#
#   bench/run_small.sh BUILD FOLDER [ROUNDS]
#
# BUILD is the build folder; FOLDER is on the file system to measure and needs 1.4 GB. 8 workers read 20,000 npz
# files of 64 KiB from the page cache without compute: in a plain loop in C (open, fstat, pread, close), with each
# loader, and on null://. The contestants take turns in each round, and figures are medians over the rounds. The
# cost of a sample is the processor time of the whole process, so other work on the machine does not count. If
# perf is installed and permitted, the script also prints the profile and the waits for locks. The files stay for
# the next call.
set -euo pipefail
shopt -s inherit_errexit

[ $# -ge 2 ] || { sed -n '4s/^#  *//p' "$0" >&2; exit 2; }
build=$(realpath "$1") rounds=${3:-5}
mkdir -p "$2"
folder=$(realpath "$2")
epochs=8
figures=$folder/figures
trap 'rm -f "$figures" "$folder"/{figures.err,list,job.json,results.h5,perf.data,lock.data}' EXIT

cat >"$folder/job.json" <<JSON
{"name": "small", "seed": 5,
 "stores": {"files": {"uri": "file://$folder/data"}, "nothing": {"uri": "null://nothing"}},
 "dataset": {"store": "files", "format": "npz", "files": 20000, "sample_bytes": 65536, "subfolders": 16},
 "phases": [{"generate": {}},
            {"train": {"batch": 32, "epochs": $epochs, "null_steps": 0, "sync": "none",
                       "loader": {"kind": "pytorch", "workers": 8, "prefetch": 2}}}]}
JSON

haul()
{
	"$build/haul" run "$folder/job.json" --results "$folder/results.h5" --force "$@" >/dev/null 2>"$folder/figures.err" ||
		{ cat "$folder/figures.err" >&2; return 1; }
	}

train()
{
	haul --only train "$@"
	/usr/bin/python3 - "$folder/results.h5" <<'PYTHON'
import sys

import h5py

with h5py.File(sys.argv[1]) as f:
    phases = f["phases"]
    row = phases[list(phases)[0]]["ranks"][0]
    print(int(row["samples"]), row["wall_ns"] / 1e9, (int(row["cpu_user_ns"]) + int(row["cpu_system_ns"])) / 1e9)
PYTHON
}

one()
{
	case $1 in
	plain) "$build/bench/bench_small" 8 "$epochs" <"$folder/list" ;;
	null) train --set train.store=nothing --set train.epochs=40 ;;
	unverified) train --set train.verify=none ;;
	*) train --set "train.loader.kind=$1" ;;
	esac
}

haul --only generate
find "$folder/data" -name '*.npz' | shuf --random-source=<(yes) >"$folder/list"
xargs -a "$folder/list" cat >/dev/null
: >"$figures"
for ((round = 0; round < rounds; round++)); do
	for who in plain pytorch unverified sample batch null; do
		both=$(one "$who")
		printf '%s %s\n' "$who" "$both" >>"$figures"
	done
done

python3 - "$figures" <<'PYTHON'
import statistics
import sys

by = {}
for line in open(sys.argv[1]):
    who, samples, wall, cpu = line.split()
    by.setdefault(who, []).append((int(samples) / float(wall), float(cpu) / int(samples) * 1e6))
print("| who | us of a core per sample | samples/s per core | samples/s by wall time |")
print("|---|---|---|---|")
for who, runs in by.items():
    cost = sorted(c for _, c in runs)
    print(f"| {who} | {statistics.median(cost):.2f} ({cost[0]:.2f} to {cost[-1]:.2f}) "
          f"| {1e6 / statistics.median(cost):,.0f} | {statistics.median(s for s, _ in runs):,.0f} |")
PYTHON

command -v perf >/dev/null || { echo "run_small.sh: without perf there is no profile; packaging/packages-bench.txt" >&2; exit 0; }
again=(run "$folder/job.json" --results "$folder/results.h5" --force --only train)
echo
perf record -F 4000 -g -o "$folder/perf.data" -- "$build/haul" "${again[@]}" >/dev/null 2>&1
echo "share of the processor time, including called functions:"
perf report -i "$folder/perf.data" --children -g none --percent-limit 1.5 --stdio 2>/dev/null | grep -v '^#' | grep . | sed -n 1,40p
echo
perf lock record -o "$folder/lock.data" -- "$build/haul" "${again[@]}" >/dev/null 2>&1
echo "processor time of this run, then its waits for locks in the kernel, the longest first:"
/usr/bin/python3 -c '
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    row = f["phases"][list(f["phases"])[0]]["ranks"][0]
    print((int(row["cpu_user_ns"]) + int(row["cpu_system_ns"])) / 1e9, "s")' "$folder/results.h5"
perf lock contention -i "$folder/lock.data" 2>&1 | sed -n 1,14p
