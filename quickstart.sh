#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Quick start: installs the missing packages (Debian, Ubuntu), builds haul, runs the demo on local
# files under mpiexec -n 4, and shows the report. It asks no questions.
set -euo pipefail
cd "$(dirname "$0")"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# how_far SECONDS: prints the progress of the command that writes to the log: Ninja's "[12/478]", if
# there is one, and the seconds so far.
how_far()
{
	local count
	count=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1)
	printf '%s%4d s' "${count:+$count }" "$1"
}

# step NAME WHAT COMMAND…: runs the command and prints one line with the seconds that it took. A terminal shows its
# progress meanwhile. The command's output is shown only if it fails.
step()
{
	local name=$1 what=$2 start=$SECONDS line rc=0
	shift 2
	printf -v line '%-12s %s%*s ' "$name" "$what" $((${#what} < 56 ? 56 - ${#what} : 0)) ''
	[ -t 1 ] || printf '%s' "$line"
	"$@" >"$log" 2>&1 </dev/null &
	while [ -t 1 ] && kill -0 $! 2>/dev/null; do
		printf '\r\033[K%s%s' "$line" "$(how_far $((SECONDS - start)))"
		sleep 0.5
	done
	wait $! || rc=$?
	[ ! -t 1 ] || printf '\r\033[K%s' "$line"
	if [ $rc != 0 ]; then
		printf 'failed\n\n' && tail -n 40 "$log" >&2
		exit 1
	fi
	printf '%4d s\n' $((SECONDS - start))
}

install()
{
	local list=packaging/packages-build.txt missing rc=0
	missing=$(packaging/install-packages.sh --list "$list" 2>"$log") || rc=$?
	if [ $rc = 3 ]; then
		cat "$log" >&2 # not Debian: go on, since CMake names the packages that it misses
		return 0
	fi
	[ $rc = 0 ] || { cat "$log" >&2; exit 1; }
	[ -n "$missing" ] || return 0
	local words=$missing count
	words=${words//$'\n'/ }
	count=$(wc -l <<<"$missing")
	if [ ${#words} -gt 48 ]; then
		words="${words:0:48}"
		words="${words% *} …"
	fi
	step installing "$words ($count packages)" packaging/install-packages.sh "$list"
}

build()
{
	cmake --preset release -D HAUL_TESTS=OFF && cmake --build --preset release
}

install
# This builds the program without its tests; test.sh builds both.
step building release build
launcher=("$(command -v mpiexec.mpich || command -v mpiexec)")
# An MPICH with PMIx (Ubuntu 24.04) is not started by its own launcher.
if ldd "$(pkg-config --variable=libdir mpich 2>/dev/null)/libmpich.so" 2>/dev/null | grep -q libpmix && command -v mpirun.openmpi >/dev/null; then
	launcher=(mpirun.openmpi --oversubscribe)
	[ "$(id -u)" -ne 0 ] || launcher+=(--allow-run-as-root)
fi
step running "${launcher[0]##*/} -n 4 build/release/haul run unet3d_demo" \
	"${launcher[@]}" -n 4 build/release/haul run --force unet3d_demo
echo
build/release/haul report results.h5
echo "next: build/release/haul catalog · build/release/haul plan unet3d_h100 --nodes 8 --ranks-per-node 8 · docs/README.md"
