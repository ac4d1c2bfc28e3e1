#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole test suite, on one machine. It installs the missing packages and asks no questions. The last line of the
# output is the summary of ctest; the exit status is 0 only if everything passed.
#
#   ./test.sh          the tests for every change, in 15 to 35 minutes on two cores: builds by gcc and clang
#                      without a warning, unit tests under the sanitizers, a fuzz run, then the tests of all kinds
#   ./test.sh --long   the other tests, in one to three hours: all kinds of tests under the address sanitizer, whole
#                      matrices, 64 ranks, many kills, longer fuzzing, a soak, clang-tidy on every file
#
# docs/testing.md says which test belongs to which set.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

case "${1:-}" in
'') set_of_tests=after-asan rest=OFF per_core=6 ;;
--long) set_of_tests=long rest=ON per_core=4 ;;
*)
	echo "usage: ./test.sh [--long]" >&2
	exit 2
	;;
esac

jobs=$(nproc)
[ "$jobs" -le 6 ] || jobs=6
# Most tests spend much of their time waiting, for servers or for planned times. On a machine with other work, many at a time
# also get a larger share of it. Those of --long use the processors more, and would only take longer each.
at_once=$((per_core * jobs))
unset LD_PRELOAD
failed=()
# Each test makes a folder of its own in this one. The attribute lets ext4 put each of those into another group of inodes;
# in one, it would pass by all files that were deleted within the last minutes whenever it makes one.
TMPDIR=$(mktemp -d -t haul-tests-XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
chattr +T "$TMPDIR" 2>/dev/null # other file systems do not know it
chmod 1777 "$TMPDIR"            # some tests act as other users

say()
{
	printf '== %s, after %d:%02d min\n' "$1" $((SECONDS / 60)) $((SECONDS % 60))
}

# must NAME COMMAND…: ends the script if the command fails, since nothing after it would make sense.
must()
{
	say "$1"
	"${@:2}" || { echo "haul: test.sh: $1 failed" >&2; exit 1; }
}

# holds NAME COMMAND…: records a failure of the command and goes on, so that the other tests still run.
holds()
{
	say "$1"
	"${@:2}" || failed+=("$1")
}

# install LIST…
install()
{
	packaging/install-packages.sh "$@"
	local rc=$?
	[ $rc = 0 ] || [ $rc = 3 ]
}

# begin NAME COMMAND…: runs the command beside what follows. end NAME: waits for it, shows its output, returns its exit status.
declare -A begun
begin()
{
	"${@:2}" >"$TMPDIR/$1" 2>&1 &
	begun[$1]=$!
}

end()
{
	wait "${begun[$1]}"
	local rc=$?
	cat "$TMPDIR/$1"
	return $rc
}

# Tests of --long build haul with other options, and find here what they have compiled before.
export CCACHE_DIR=$PWD/build/ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1

# build PRESET [TARGET…]
build()
{
	cmake --preset "$1" -D HAUL_TESTS=ON -D HAUL_FUZZ_GUIDED=$rest \
		-D HAUL_SANITIZE_POINTERS=$rest >/dev/null &&
		cmake --build --preset "$1" -j "$at_once" ${2:+--target "${@:2}"}
}

# tests PRESET
tests()
{
	ctest --preset "$1" -j "$at_once" --no-label-summary
}

# The thread sanitizer does not work with every layout of the address space, so switch randomization off.
tests_of_threads()
{
	local fixed=()
	! setarch -R true 2>/dev/null || fixed=(setarch -R)
	"${fixed[@]}" ctest --preset tsan -j "$at_once" --no-label-summary
}

must "install the missing packages" install packaging/packages-build.txt
# Where a registry does not answer, the tests that need its packages fail, and the others run.
holds "install the missing packages of the tests" install packaging/packages-test.txt
begin npm packaging/install-npm.sh # over the network, while the compilers work
if [ $set_of_tests = after-asan ]; then
	must "build, gcc" build release other_tests
	must "build, clang with the address sanitizer" build asan haul sanitized_tests
	must "build, clang with the thread sanitizer" build tsan
	holds "install the npm packages of the tests" end npm
	# Both have a few long tests at the end, which leave cores idle.
	begin asan tests asan
	holds "unit tests under the thread sanitizer" tests_of_threads
	holds "unit tests and fuzz targets under the address sanitizer" end asan
else
	must "build, gcc" build release
	must "build, clang with the address sanitizer" build asan
	holds "install the npm packages of the tests" end npm
	holds "tests under the address sanitizer" tests asan-long
fi

say "all tests"
tests $set_of_tests | tee "$TMPDIR/summary"
rc=${PIPESTATUS[0]}
say "the end"
[ ${#failed[@]} = 0 ] || printf 'haul: test.sh: also failed: %s\n' "${failed[*]}"
grep -E '^[0-9]+% tests passed' "$TMPDIR/summary"
[ "$rc" = 0 ] && [ ${#failed[@]} = 0 ]
