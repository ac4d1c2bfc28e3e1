#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds whose flags say that no number is NaN, as -ffast-math does and icx by default: cmake/HaulMath.cmake undoes them,
# and a compiler that will not have them undone is refused, by CMake and by core/arithmetic.h. Only with
# HAUL_TEST_FULL=1 for each compiler that is here and each such flag.
set -uo pipefail
root=${HAUL_SOURCE:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

check()
{
	local what=$1
	shift
	if "$@" >"$work/said" 2>&1; then
		echo "ok    $what"
	else
		echo "FAIL  $what"
		tail -n 20 "$work/said" "$work/log"
		failures=$((failures + 1))
	fi
}

cat >"$work/CMakeLists.txt" <<X2
cmake_minimum_required(VERSION 3.25)
project(nan LANGUAGES C)
include($root/cmake/HaulMath.cmake)
include_directories($root)
add_executable(nan nan.c)
target_link_libraries(nan m)
X2
cat >"$work/nan.c" <<'X2'
#include <math.h>
#include <stdio.h>

#include "core/err.h"

int main(int argc, char **argv)
{
	volatile double zero = argc - 1, small = 1e-308;
	double unknown = zero / zero, sum = zero;

	(void)argv;
	for (int i = 1; i <= 100; i++)
		sum += 1.0 / (i + zero);
	printf("%d %d %d %a %d\n", isnan(unknown) != 0, isfinite(unknown) != 0, unknown <= 1, sum, small / 4 > 0);
	return 0;
}
X2

# shellcheck disable=SC2317  # called through check
refused()
{
	! "$1" "$2" -I "$root" -c "$work/nan.c" -o "$work/nan.o" 2>"$work/log" && grep -q "haul needs NaN" "$work/log"
}

build()
{
	rm -rf "$work/build"
	cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >"$work/log" 2>&1 &&
		cmake --build "$work/build" >>"$work/log" 2>&1 && "$work/build/nan"
}

compilers=(gcc) math=(-ffast-math) alone=(-ffast-math)
if [ "${HAUL_TEST_FULL:-0}" = 1 ]; then
	compilers=(gcc clang icx)
	math=(-ffast-math -Ofast -ffinite-math-only "-funsafe-math-optimizations -ffinite-math-only")
	alone=(-ffast-math -ffinite-math-only)
fi
for compiler in "${compilers[@]}"; do
	command -v "$compiler" >/dev/null || continue
	plain=$(build -DCMAKE_C_COMPILER="$compiler")
	check "$compiler: NaN is known" test "${plain%% 0x*}" = "1 0 0"
	for flags in "${math[@]}"; do
		check "$compiler $flags: the same" test "$(build -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$flags")" = "$plain"
	done
	for flags in "${alone[@]}"; do
		check "$compiler $flags without CMake is refused" refused "$compiler" "$flags"
	done
done

# A compiler that puts its own flag after all others.
cat >"$work/stubborn" <<'X2'
#!/bin/sh
exec gcc "$@" -ffast-math
X2
chmod +x "$work/stubborn"
build -DCMAKE_C_COMPILER="$work/stubborn"
check "what cannot be undone is refused by CMake" grep -q "no number is NaN" "$work/log"
check "haul's own build has these flags" grep -q -- "-fno-finite-math-only" "$(dirname "${HAUL:?}")/compile_commands.json"
[ "${HAUL_TEST_FULL:-0}" = 1 ] || exit $((failures > 0))

# Whole programs: what the one with -ffast-math says of the same job and the same results is the same, byte by byte; and its own run
# moves the same bytes.
cd "$work" || exit 1
check "haul is configured with -ffast-math" cmake -S "$root" -B fast -G Ninja -DCMAKE_BUILD_TYPE=Release -DHAUL_TESTS=OFF -DHAUL_BENCH=OFF \
	-DCMAKE_C_FLAGS="-ffast-math -Ofast" -DCMAKE_C_COMPILER_LAUNCHER="$(command -v ccache || true)"
check "and built" cmake --build fast --target haul --parallel 2
cat >job.json <<X2
{"seed": 3, "stores": {"data": {"uri": "file://$work/data"}, "sim": {"uri": "sim://x", "bandwidth": "1 GB/s"}},
 "dataset": {"store": "data", "format": "npz", "files": 24, "sample_bytes": "20 KiB", "sample_bytes_stdev": "3 KiB"},
 "phases": [{"generate": {}}, {"train": {"epochs": 3, "batch": 2, "compute": "2 ms"}},
            {"io": {"operation": "write", "store": "sim", "objects": 40, "size": "64 KiB"}},
            {"train": {"name": "none", "epochs": 1, "batch": 2, "steps": 1}}]}
X2
for program in "$HAUL" fast/haul; do
	name=$(basename "$(dirname "$program")")
	rm -rf data
	check "$name runs" "${HAUL_MPIEXEC:?}" -n 2 "$program" run job.json --results "$name.h5" --repeat 2
done
# same WORD…: both programs say the same, but for the time that a plan took and what is free on the disk now.
# shellcheck disable=SC2317  # called through check
same()
{
	local changes='/^planned in/d; /free/d'
	"$HAUL" "$@" >plain.out 2>&1
	local rc=$?
	fast/haul "$@" >fast.out 2>&1
	[ $? = "$rc" ] && sed "$changes" plain.out >plain.said && sed "$changes" fast.out >fast.said && cmp plain.said fast.said
}
release=$(basename "$(dirname "$HAUL")")
check "plan" same plan job.json --nodes 4
check "plan --json" same plan job.json --nodes 4 --json
check "plan of a ready job, as a table" same plan unet3d_aurora --nodes 1,2,4,512 --storage "650 GB/s"
check "report" same report "$release.h5"
check "report --json" same report --json "$release.h5"
check "report --csv" same report --csv "$release.h5"
check "report --scaling" same report --scaling "$release.h5" fast.h5
check "compare" same compare "$release.h5" fast.h5
check "compare --json" same compare --json "$release.h5" fast.h5
check "accept" same accept --min-au 0.5 "$release.h5"
for results in "$release.h5" fast.h5; do
	"$HAUL" report --json "$results" | grep -E '"(samples|bytes|reads|operations|steps|epochs|status|errors)":' >"$results.counts"
done
check "both runs have the same counts" cmp "$release.h5.counts" fast.h5.counts
check "there are such" test "$(wc -l <fast.h5.counts)" -gt 10
exit $((failures > 0))
