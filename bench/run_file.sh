#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Benchmark of file:// against fio, on the same files in turn: prints medians, ratios and a verdict per row, for RESULTS.md.
#
#   [RUN='chrt -f 50'] bench/run_file.sh BENCH_FILE FOLDER [ROUNDS] [WORK…]
#
# BENCH_FILE is the program of that name in the build. FOLDER is on the file system to measure and needs 4 GiB;
# the row "memory-unique" needs 1 GiB of /dev/shm. In each round, every contestant runs once on a row, in turn.
# GB/s and CPU s/GB are medians over the rounds. A ratio is the median over the rounds of the ratio to the best
# fio engine of the round. WORK: names of rows ("direct-random"), by default all. RUN: a command that starts
# each contestant, for a machine that has other work to do.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '4s/^#  *//p' "$0" >&2; exit 2; }
bench=$1 folder=$(realpath -m "$2") rounds=${3:-7}
shift $(($# < 3 ? $# : 3))
wanted=("$@")
memory=/dev/shm/haul-bench.$$
read -ra run <<<"${RUN:-}"
command -v fio >/dev/null || { echo "run_file.sh: no fio; packaging/packages-bench.txt" >&2; exit 1; }
mkdir -p "$folder" "$memory"
figures=$(mktemp)
trap 'rm -rf "$figures" "$folder/data" "$folder/out" "$folder/out.haul-part" "$folder/fio" "$memory"' EXIT

# Name, folder, cached|direct, work, block, bytes, depth (for engines that have one). Then the bounds of GB/s and CPU
# s/GB as ratios to the best of fio; the engine of haul with the most GB/s is judged. The bound is 0.95, parity, where
# the device is the limit; there the CPU decides.
works=(
	"direct-sequential folder direct sequential 1048576 2147483648 8 1.4 1.0"
	"cached-sequential folder cached sequential 1048576 8589934592 2 1.0 1.0"
	"direct-random folder direct random 4096 268435456 32 0.95 1.0"
	"cached-random folder cached random 4096 4294967296 32 1.0 1.0"
	"direct-write folder direct write 1048576 2147483648 8 0.95 1.0"
	"direct-unique folder direct unique 1048576 2147483648 8 0.95 0.6"
	"memory-unique memory cached unique 1048576 1073741824 1 1.0 0.6"
)

fio_one()
{
	local engine=$1 where=$2 cache=$3 work=$4 block=$5 bytes=$6 depth=$7
	local args=(--name=x --bs="$block" --ioengine="$engine" --invalidate=0 --output-format=json)

	[ "$cache" = cached ] || args+=(--direct=1)
	# These are the fastest settings of fio that we know.
	case $work in
	sequential) args+=(--rw=read) ;;
	random) args+=(--rw=randread --norandommap=1 --random_generator=tausworthe64) ;;
	write) args+=(--rw=write --end_fsync=1 --scramble_buffers=0) ;;
	unique) args+=(--rw=write --end_fsync=1 --refill_buffers=1) ;;
	esac
	case $work in
	sequential | random) args+=(--filename="$where/data" --size=2g --io_size="$bytes") ;;
	*) args+=(--filename="$where/fio" --size="$bytes" --unlink=1) ;;
	esac
	[ "$engine" = psync ] || args+=(--iodepth="$depth")
	if [ "$engine" != psync ] && [ "$work" = random ]; then
		args+=(--iodepth_batch=16 --iodepth_batch_complete_min=1 --iodepth_batch_complete_max="$depth")
	fi
	[ "$engine" != io_uring ] || args+=(--fixedbufs=1 --registerfiles=1)
	${run[@]+"${run[@]}"} fio "${args[@]}" | python3 -c '
import json, sys
job = json.load(sys.stdin)["jobs"][0]
moved = job["read"] if job["read"]["io_bytes"] else job["write"]
seconds = moved["runtime"] / 1e3
gb = moved["io_bytes"] / 1e9
cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * seconds
print(f"{gb / seconds:.4f} {cpu / gb:.5f}")'
}

one()
{
	local who=$1 where=$2 cache=$3 work=$4 block=$5 bytes=$6 depth=$7

	case $who in
	fio-*) fio_one "${who#fio-}" "$where" "$cache" "$work" "$block" "$bytes" "$depth" ;;
	haul-uring) ${run[@]+"${run[@]}"} "$bench" "$where" uring "$depth" "$cache" "$work" "$block" "$bytes" ;;
	haul-*) ${run[@]+"${run[@]}"} "$bench" "$where" "${who#haul-}" 1 "$cache" "$work" "$block" "$bytes" ;;
	esac
}

is_wanted()
{
	local name

	[ ${#wanted[@]} -gt 0 ] || return 0
	for name in "${wanted[@]}"; do
		[ "$name" != "$1" ] || return 0
	done
	return 1
}

dd if=/dev/urandom of="$folder/data" bs=1M count=2048 status=none conv=fsync
for row in "${works[@]}"; do
	read -r name place cache work block bytes depth gb_bound cpu_bound <<<"$row"
	is_wanted "$name" || continue
	where=$folder
	[ "$place" = folder ] || where=$memory
	contestants=(fio-psync haul-psync fio-io_uring haul-uring fio-libaio)
	case $name in
	cached-*) contestants+=(haul-mmap) ;;
	# With io_uring, kernel threads copy writes to the page cache, and fio does not count their CPU time.
	memory-*) contestants=(fio-psync haul-psync fio-libaio) ;;
	esac
	# Cached rows need the file in the page cache. Direct rows need it outside, since fio would read cached pages.
	if [ "$cache" = cached ]; then
		cat "$folder/data" >/dev/null
	else
		dd if="$folder/data" iflag=nocache count=0 status=none
	fi
	for ((round = 0; round < rounds; round++)); do
		for who in "${contestants[@]}"; do
			both=$(one "$who" "$where" "$cache" "$work" "$block" "$bytes" "$depth")
			printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$gb_bound" "$cpu_bound" "$round" "$who" "$both" >>"$figures"
		done
	done
done

python3 - "$figures" <<'PYTHON'
import statistics
import sys

FIO = ["fio-psync", "fio-libaio", "fio-io_uring"]
HAUL = ["haul-psync", "haul-mmap", "haul-uring"]
GB, CPU = 0, 1
figures, bounds = {}, {}
for line in open(sys.argv[1]):
    name, gb, cpu, turn, who, both = line.rstrip("\n").split("\t")
    bounds[name] = float(gb), float(cpu)
    figures.setdefault(name, {}).setdefault(who, {})[turn] = tuple(map(float, both.split()))


def median(by, who, column):
    return statistics.median(v[column] for v in by[who].values()) if who in by else None


def ratios(by, who, column):
    best = (max, min)[column]
    return [by[who][t][column] / best(by[n][t][column] for n in FIO if n in by) for t in by[who]]


for column, title in ((GB, "GB/s"), (CPU, "CPU s/GB")):
    print(f"| {title} | " + " | ".join(n.replace("-", " ") for n in FIO + HAUL) + " |")
    print("|---" * (len(FIO + HAUL) + 1) + "|")
    for name, by in figures.items():
        cells = [median(by, n, column) for n in FIO + HAUL]
        print(f"| {name.replace('-', ' ')} | " + " | ".join("–" if c is None else f"{c:.3f}" for c in cells) + " |")
    print()
print("| haul : fio's best | engine | GB/s | wanted | CPU s/GB | wanted | |")
print("|---|---|---|---|---|---|---|")
for name, by in figures.items():
    least, most = bounds[name]
    who = max((n for n in HAUL if n in by), key=lambda n: median(by, n, GB))
    gb, cpu = ratios(by, who, GB), ratios(by, who, CPU)
    holds = statistics.median(gb) >= least and statistics.median(cpu) <= most
    print(f"| {name.replace('-', ' ')} | {who.replace('haul-', '')} | {statistics.median(gb):.2f} ({min(gb):.2f} to {max(gb):.2f}) "
          f"| ≥ {least} | {statistics.median(cpu):.2f} ({min(cpu):.2f} to {max(cpu):.2f}) | ≤ {most} "
          f"| {'holds' if holds else 'misses'} |")
PYTHON
