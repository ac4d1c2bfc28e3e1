#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build without optional libraries: without liburing, libyaml, libxlsxwriter and CUnit, haul can be configured, built,
# installed and run, and reports what it lacks. Without MPI and parallel HDF5, as on a login node, everything but run, generate and
# clean can be built and works. The libraries are hidden from pkg-config, as if they were not installed.
#
# Only with HAUL_TEST_FULL=1 is the program built without these. Else the program that the other tests use is installed; and
# without MPI, the layers that differ are built, which must have each function that the others call.
set -uo pipefail
root=${HAUL_SOURCE:?}
work=$(mktemp -d) || exit 1
full=${HAUL_TEST_FULL:-0} build=$(dirname "${HAUL:?}") without=$work/build
trap 'rm -rf "$work"' EXIT
failures=0

must()
{
	local what=$1
	shift
	if ! "$@" >"$work/log" 2>&1; then
		echo "FAIL  $what"
		tail -n 30 "$work/log"
		exit 1
	fi
}

# says WHAT PATTERN COMMAND…: checks that the output of the command contains the pattern
says()
{
	local what=$1 pattern=$2
	shift 2
	"$@" >"$work/said" 2>&1
	if tr -s '\n ' ' ' <"$work/said" | grep -qe "$pattern"; then
		echo "ok    $what"
	else
		echo "FAIL  $what: nothing like \"$pattern\" in"
		tail -n 30 "$work/said"
		failures=$((failures + 1))
	fi
}

# shellcheck disable=SC2317  # called through must and says
configure()
{
	cmake -S "$root" -B "$1" -G Ninja -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" \
		-DHAUL_BENCH=OFF -DCMAKE_BUILD_TYPE=None "${@:2}"
}

# symbols WHICH FILE…: prints the names of these symbols
symbols()
{
	nm "$@" | sed -n 's/.* [A-Z] //p' | sort -u
}

launcher=$(command -v ccache || true)
missing=pc
[ "$full" = 0 ] || missing=hidden
mkdir "$work/pc" "$work/hidden"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
	for file in "$folder"/*.pc; do
		case $file in
		*/liburing.pc | */yaml-0.1.pc | */xlsxwriter.pc | */cunit.pc) ln -sf "$file" "$work/$missing/" ;;
		*'*.pc') ;;
		*) ln -sf "$file" "$work/pc/" ;;
		esac
	done
done
export PKG_CONFIG_LIBDIR=$work/pc
unset PKG_CONFIG_PATH

if [ "$full" = 1 ]; then
	build=$work/build
	must "configuring without liburing and CUnit" configure "$build"
	says "CMake reports that liburing is missing" "engine uring of file:// no: needs liburing>=2.3" cat "$work/log"
	says "CMake reports that libyaml is missing" "haul import dlio no: needs yaml-0.1" cat "$work/log"
	says "CMake reports that libxlsxwriter is missing" "haul export --xlsx no: needs xlsxwriter" cat "$work/log"
	says "CMake reports that CUnit is missing" "tests no: needs cunit" cat "$work/log"
	must "building" cmake --build "$build" --parallel 2
fi
must "installing" cmake --install "$build" --prefix "$work/prefix"

# The installation is moved, and gets a job that no other folder has, so that the catalogue of the source cannot be
# found in its place.
mv "$work/prefix" "$work/moved"
haul=$work/moved/bin/haul
sed 's/"name": *"[^"]*"/"name": "only_here"/' "$root/workloads/catalog/unet3d_demo.json" \
	>"$work/moved/share/haul/catalog/only_here.json"
says "the catalogue is found beside the program" only_here "$haul" catalog
says "the completion is installed" "haul" bash -c \
	"source '$work/moved/share/bash-completion/completions/haul' && complete -p haul"
if [ "$full" = 1 ]; then
	says "haul version reports the missing engine" "lacks engine uring of file://: built without liburing" "$haul" version
	says "haul version reports the missing import" "lacks haul import dlio: built without libyaml" "$haul" version
	says "haul version reports the missing workbooks" "lacks haul export --xlsx: built without libxlsxwriter" "$haul" version
	says "haul import reports it" "was built without libyaml" "$haul" import dlio "$root/tests/fixtures/dlio/argonne/default.yaml"
	says "haul doctor reports the missing engine" "has no engine uring of file:// *build it with liburing" "$haul" doctor
fi
if [ -n "$(find "$work/moved" -name install.md)" ]; then
	echo "ok    the documents are installed"
else
	echo "FAIL  docs/install.md is not installed"
	failures=$((failures + 1))
fi

cat >"$work/job.json" <<X
{"stores": {"data": {"uri": "file://$work/data", "engine": "uring"}},
 "dataset": {"store": "data", "format": "npy", "files": 8, "sample_bytes": "64 KiB"},
 "phases": [{"generate": {}}, {"train": {"epochs": 1, "batch": 2}}]}
X
cd "$work" || exit 1
runs="· done"
[ "$full" = 0 ] || runs="built without liburing"
says "a job with the engine uring runs, without liburing by psync, which it says" "$runs" \
	"$HAUL_MPIEXEC" -n 2 "$haul" run job.json
says "that job is finished" "· done" "$haul" report results.h5

# From here on there is libyaml, but no MPI, and only the serial HDF5 (Debian names it hdf5-serial and hdf5).
serial=$(readlink -f "$work/pc/hdf5-serial.pc") || exit 1
rm -f "$work/pc"/hdf5*.pc "$work/pc"/*mpi*.pc
ln -s "$serial" "$work/pc/hdf5.pc"
[ "$full" = 0 ] || mv "$work/hidden/yaml-0.1.pc" "$work/pc/" || exit 1
mkdir "$work/bin" || exit 1
for program in cc c++ gcc ld as ar nm ranlib strip objcopy objdump readelf make ninja cmake pkg-config git ccache sh bash; do
	found=$(command -v "$program") && ln -s "$found" "$work/bin/"
done
says "a serial HDF5 is refused" "needs a parallel HDF5" configure "$work/refused"
says "CMake refuses a missing MPI" "needs MPI, and no mpicc" env PATH="$work/bin" "$work/bin/cmake" -S "$root" -B "$work/refused_too"

# In the same folder as before, so that the layers below results-schema/, which do not depend on MPI, are not compiled again.
rm -f "$without/CMakeCache.txt"
must "configuring without MPI" env PATH="$work/bin" "$work/bin/cmake" -S "$root" -B "$without" -G Ninja -DHAUL_MPI=OFF \
	-DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DHAUL_BENCH=OFF -DCMAKE_BUILD_TYPE=None
says "CMake reports that there is no run" "run, generate, clean no, as asked (HAUL_MPI)" cat "$work/log"
if [ "$full" = 0 ]; then
	mapfile -t differing < <(ninja -C "$without" -t targets all | sed -nE 's,^((ranks|results-schema)/.*\.o): .*,\1,p')
	must "compiling what differs without MPI" ninja -C "$without" "${differing[@]}"
	symbols --defined-only "$build"/{ranks/libhaul_ranks.a,results-schema/libhaul_results.a} >"$work/with"
	symbols --defined-only "${differing[@]/#/$without/}" >"$work/there"
	mapfile -t others < <(ninja -C "$build" -t targets all |
		sed -nE 's,^((cli|core|facts|backends|workloads|plan|report|import)/.*\.o): .*,\1,p')
	symbols --undefined-only "${others[@]/#/$build/}" >"$work/called"
	comm -12 "$work/with" "$work/called" >"$work/needed"
	lacking=$(comm -23 "$work/needed" "$work/there")
	if [ -s "$work/needed" ] && [ -z "$lacking" ]; then
		echo "ok    the layers without MPI have what the others call: $(wc -l <"$work/needed") functions"
	else
		echo "FAIL  without MPI there is no ${lacking//$'\n'/, }"
		failures=$((failures + 1))
	fi
	exit $((failures > 0))
fi
must "building without MPI" env PATH="$work/bin" "$work/bin/cmake" --build "$without" --parallel 2 --target haul
haul=$without/haul
if ldd "$haul" | grep -i mpi; then
	echo "FAIL  it is linked with MPI"
	failures=$((failures + 1))
else
	echo "ok    it is not linked with MPI"
fi
says "plan works" "^job unet3d_demo .* takes .* per epoch" "$haul" plan unet3d_demo --nodes 4
says "report works" "· done" "$haul" report results.h5
says "topo works" "rank cores NUMA near" "$haul" topo --ranks-per-node 2 --pin core
says "schema works" '"phases"' "$haul" schema
says "ls works" "job.json" "$haul" ls "file://$work"
says "import works" '"phases"' "$haul" import dlio "$root/tests/fixtures/dlio/argonne/default.yaml"
says "haul version reports the missing MPI" "lacks haul run, generate and clean: built without MPI" "$haul" version
says "haul doctor reports the missing MPI" "MPI none build it with MPI" "$haul" doctor
says "haul run refuses with one sentence" "^haul: this haul was built without MPI and cannot run jobs: build it with MPI" \
	"$haul" run job.json
"$haul" run job.json 2>/dev/null && { echo "FAIL  run without MPI ends with 0"; failures=$((failures + 1)); }

exit $((failures > 0))
