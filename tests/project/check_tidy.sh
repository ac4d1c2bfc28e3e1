#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Static analysis: clang-tidy finds nothing in the program's C files, with the compile options of the build folder.
#
#   check_tidy.sh BUILD            all files
#   check_tidy.sh BUILD changed    the files that the branch, the last commit or the working tree changes: at most
#                                  MOST of them, in the order of their number of changed lines
set -euo pipefail
MOST=12
cd "${HAUL_SOURCE:?}"
# shellcheck source=tests/project/changed.sh
source tests/project/changed.sh
build=$1
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed: packaging/install-packages.sh"; exit 1; }

# Prints the changed C files; for a changed header, the C file of the same name.
changed_c()
{
	changed '*.c' '*.h' ':!tests' ':!bench' | sed 's/\.h$/.c/' | awk '!seen[$0]++' | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

if [ "${2:-}" = changed ]; then
	mapfile -t files < <(changed_c)
else
	mapfile -t files < <(git ls-files -- '*.c' ':!tests' ':!bench')
	((${#files[@]})) || { echo "git lists no C files"; exit 1; }
fi
# clang-tidy reads files one by one, so they are configured as units of their own.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t same < <(sed -nE 's/^((CMAKE_BUILD_TYPE|CMAKE_C_COMPILER|HAUL_MPI):[A-Z]+=.*)/-D\1/p' "$build/CMakeCache.txt")
cmake -S . -B "$work" -G Ninja -DHAUL_UNITY=OFF -DHAUL_TESTS=OFF -DHAUL_BENCH=OFF "${same[@]}" >"$work/log" ||
	{ cat "$work/log"; exit 1; }
cmake --build "$work" --target haul_build_id >"$work/log"
# clang-tidy cannot check the sources that this build leaves out.
mapfile -t built < <(for file in "${files[@]}"; do
	grep -qF "\"file\": \"$PWD/$file\"" "$work/compile_commands.json" && echo "$file"
done)
if [ "${2:-}" = changed ]; then
	built=("${built[@]:0:MOST}")
fi
if ((${#built[@]})); then
	printf '%s\0' "${built[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$work" --quiet
fi
echo "${#built[@]} of ${#files[@]} files"
