#!/usr/bin/env bash
# haul's queue against fio on the same file, in turn, and a table of medians for RESULTS.md.
#
#   bench/run_file.sh BENCH_FILE FOLDER [ROUNDS]
#
# BENCH_FILE is the program of that name in the build; FOLDER lies on the file system in question and
# needs 2 GiB. Each round runs every contestant once on each work; GB/s and CPU s/GB are medians over the
# rounds, ratios are medians of each round's ratio to fio's best engine of the same round.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '4s/^#  *//p' "$0" >&2; exit 2; }
bench=$1 folder=$2 rounds=${3:-7}
command -v fio >/dev/null || { echo "run_file.sh: no fio; packaging/packages-bench.txt" >&2; exit 1; }
mkdir -p "$folder"
figures=$(mktemp)
trap 'rm -f "$figures" "$folder/data"' EXIT

# work: cached|direct sequential|random, block, bytes, depth of the engines that have one
works=(
	"direct sequential 1048576 2147483648 8"
	"cached sequential 1048576 8589934592 2"
	"direct random 4096 134217728 32"
	"cached random 4096 4294967296 32"
)

fio_one()
{
	local engine=$1 cache=$2 order=$3 block=$4 bytes=$5 depth=$6
	local args=(--name=x --filename="$folder/data" --size=2g --bs="$block" --io_size="$bytes"
		--ioengine="$engine" --invalidate=0 --output-format=json)
	[ "$cache" = cached ] || args+=(--direct=1)
	if [ "$order" = random ]; then
		args+=(--rw=randread --norandommap=1 --random_generator=tausworthe64)
	else
		args+=(--rw=read)
	fi
	# What makes fio fastest, as far as it is known to us.
	[ "$engine" = psync ] || args+=(--iodepth="$depth")
	if [ "$engine" != psync ] && [ "$order" = random ]; then
		args+=(--iodepth_batch=16 --iodepth_batch_complete_min=1 --iodepth_batch_complete_max="$depth")
	fi
	[ "$engine" != io_uring ] || args+=(--fixedbufs=1 --registerfiles=1)
	fio "${args[@]}" | python3 -c '
import json, sys
job = json.load(sys.stdin)["jobs"][0]
read = job["read"]
seconds = read["runtime"] / 1e3
gb = read["io_bytes"] / 1e9
cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * seconds
print(f"{gb / seconds:.4f} {cpu / gb:.5f}")'
}

one()
{
	local who=$1 cache=$2 order=$3 block=$4 bytes=$5 depth=$6
	case $who in
	fio-*) fio_one "${who#fio-}" "$cache" "$order" "$block" "$bytes" "$depth" ;;
	haul-psync) "$bench" "$folder" psync 1 "$cache" "$order" "$block" "$bytes" ;;
	haul-uring) "$bench" "$folder" uring "$depth" "$cache" "$order" "$block" "$bytes" ;;
	esac
}

dd if=/dev/urandom of="$folder/data" bs=1M count=2048 status=none conv=fsync
for work in "${works[@]}"; do
	read -r cache order block bytes depth <<<"$work"
	# Warm for the cached, out of the cache for the direct: fio would else read what lies there.
	if [ "$cache" = cached ]; then
		cat "$folder/data" >/dev/null
	else
		dd if="$folder/data" iflag=nocache count=0 status=none
	fi
	for ((round = 0; round < rounds; round++)); do
		for who in fio-psync haul-psync fio-io_uring haul-uring fio-libaio; do
			both=$(one "$who" "$cache" "$order" "$block" "$bytes" "$depth")
			printf '%s\t%s\t%s\t%s\n' "$cache $order" "$round" "$who" "$both" >>"$figures"
		done
	done
done

python3 - "$figures" <<'PYTHON'
import statistics
import sys

figures = {}
for line in open(sys.argv[1]):
    work, turn, who, both = line.rstrip("\n").split("\t")
    figures.setdefault(work, {}).setdefault(who, {})[turn] = tuple(map(float, both.split()))
for column, title, best in ((0, "GB/s", max), (1, "CPU s/GB", min)):
    names = ["fio-psync", "fio-libaio", "fio-io_uring", "haul-psync", "haul-uring"]
    print(f"| {title} | " + " | ".join(n.replace("-", " ") for n in names) + " | haul uring : fio's best |")
    print("|---" * (len(names) + 2) + "|")
    for work, by in figures.items():
        cells = [f"{statistics.median(v[column] for v in by[n].values()):.3f}" for n in names]
        ratios = [by["haul-uring"][t][column] / best(by[n][t][column] for n in names[:3]) for t in by["haul-uring"]]
        print(f"| {work} | " + " | ".join(cells) + f" | {statistics.median(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f}) |")
    print()
PYTHON
