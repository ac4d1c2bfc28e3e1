#!/usr/bin/env bash
# clang-tidy finds nothing in the program's C files, compiled as the build folder $1 says.
set -euo pipefail
cd "${HAUL_SOURCE:?}"
if ! command -v clang-tidy >/dev/null; then
	echo "clang-tidy is not installed; the C files are not looked through"
	exit 77
fi
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	echo "this is no git checkout; which C files are the program's is not known"
	exit 77
fi
mapfile -t files < <(git ls-files -- '*.c' ':!tests' ':!bench')
if ((!${#files[@]})); then
	echo "git lists no C files"
	exit 1
fi
# Sources that this build leaves out are not looked through either.
mapfile -t built < <(for file in "${files[@]}"; do
	grep -qF "\"file\": \"$PWD/$file\"" "$1/compile_commands.json" && echo "$file"
done)
printf '%s\0' "${built[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$1" --quiet
echo "${#built[@]} of ${#files[@]} files"
