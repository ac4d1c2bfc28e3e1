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
build=$1
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed: packaging/install-packages.sh"; exit 1; }
git rev-parse --is-inside-work-tree >/dev/null

# Prints the commit that changes are counted from: the one where this branch left main, or, on main, the last but one.
base()
{
	local main at
	for main in origin/HEAD origin/main main; do
		at=$(git merge-base HEAD "$main" 2>/dev/null) || continue
		[ "$at" != "$(git rev-parse HEAD)" ] || continue
		echo "$at"
		return
	done
	git rev-parse -q --verify HEAD~1 || git rev-parse HEAD
}

# Prints the changed C files; for a changed header, the C file of the same name.
changed()
{
	{
		git diff --no-renames --numstat "$(base)" -- '*.c' '*.h' ':!tests' ':!bench'
		git ls-files --others --exclude-standard -- '*.c' ':!tests' ':!bench' | sed 's/^/1000\t0\t/'
	} | sort -rn | cut -f3 | sed 's/\.h$/.c/' | awk '!seen[$0]++' | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

if [ "${2:-}" = changed ]; then
	mapfile -t files < <(changed)
else
	mapfile -t files < <(git ls-files -- '*.c' ':!tests' ':!bench')
	((${#files[@]})) || { echo "git lists no C files"; exit 1; }
fi
# clang-tidy cannot check the sources that this build leaves out.
mapfile -t built < <(for file in "${files[@]}"; do
	grep -qF "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" && echo "$file"
done)
if [ "${2:-}" = changed ]; then
	built=("${built[@]:0:MOST}")
fi
if ((${#built[@]})); then
	printf '%s\0' "${built[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet
fi
echo "${#built[@]} of ${#files[@]} files"
