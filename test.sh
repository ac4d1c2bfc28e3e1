#!/usr/bin/env bash
# Everything that must hold, on one machine: installs what is missing, builds with gcc and clang without
# a warning, runs tests under the sanitizers, then all tests. Asks nothing. The last line is
# ctest's; the exit status is 0 only when all of it holds.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

jobs=$(nproc)
[ "$jobs" -le 8 ] || jobs=8
unset LD_PRELOAD
failed=()

say()
{
	printf '== %s\n' "$*"
}

# must NAME COMMAND…: without it nothing else makes sense.
must()
{
	say "$1"
	"${@:2}" || { echo "haul: test.sh: $1 failed" >&2; exit 1; }
}

# holds NAME COMMAND…: remembered, so that the rest is still seen.
holds()
{
	say "$1"
	"${@:2}" || failed+=("$1")
}

install()
{
	packaging/install-packages.sh packaging/packages-build.txt packaging/packages-test.txt
	local rc=$?
	[ $rc = 0 ] || [ $rc = 3 ]
}

build()
{
	cmake --preset "$1" "${@:2}" >/dev/null && cmake --build --preset "$1" -j "$jobs"
}

must "install what is missing" install
must "install what tests use from npm" packaging/install-npm.sh
must "build, gcc" build release -D HAUL_TESTS=ON
holds "build, clang" build clang
holds "fuzzing" ctest --test-dir build/clang -L fuzz --output-on-failure --no-label-summary
must "build, sanitizers" build asan
# Not those that hold figures against the clock, nor those that only read the sources.
holds "tests under the sanitizers" ctest --test-dir build/asan -j "$jobs" --output-on-failure \
	--no-label-summary -E '^(system_sim|system_null|layers|format|shell|batch_.*|catalog)$'

say "all tests"
summary=$(mktemp)
trap 'rm -f "$summary"' EXIT
ctest --test-dir build/release -j "$jobs" --output-on-failure --no-label-summary | tee "$summary"
rc=${PIPESTATUS[0]}
[ ${#failed[@]} = 0 ] || printf 'haul: test.sh: failed before: %s\n' "${failed[*]}"
grep -E '^[0-9]+% tests passed' "$summary"
[ "$rc" = 0 ] && [ ${#failed[@]} = 0 ]
