#!/usr/bin/env bash
# clang-tidy finds nothing in the program's C files, compiled as the build folder says.
#
#   check_tidy.sh BUILD            all of them
#   check_tidy.sh BUILD changed    those that the branch, the last commit or the working tree changes: at most
#                                  MOST, those with most changed lines first
set -euo pipefail
MOST=12
cd "${HAUL_SOURCE:?}"
build=$1
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed: packaging/install-packages.sh"; exit 1; }
git rev-parse --is-inside-work-tree >/dev/null

# The commit that changes are counted from: where this branch left main, or the one before the last on main.
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

# C files, a header by the file of its name.
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
# Sources that this build leaves out are not looked through either.
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
