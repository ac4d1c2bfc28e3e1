#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds whose flags say that no number is NaN, as -ffast-math does and icx by default: cmake/HaulMath.cmake undoes them,
# and a compiler that will not have them undone is refused, by CMake and by core/arithmetic.h.
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

for compiler in gcc clang icx; do
	command -v "$compiler" >/dev/null || continue
	plain=$(build -DCMAKE_C_COMPILER="$compiler")
	check "$compiler: NaN is known" test "${plain%% 0x*}" = "1 0 0"
	for flags in -ffast-math -Ofast -ffinite-math-only "-funsafe-math-optimizations -ffinite-math-only"; do
		check "$compiler $flags: the same" test "$(build -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$flags")" = "$plain"
	done
	for flags in -ffast-math -ffinite-math-only; do
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
exit $((failures > 0))
