#!/usr/bin/env bash
# A cluster that lacks liburing, libyaml and CUnit: haul is configured, built, installed and run there, and says
# what it lacks; a serial HDF5 is refused. A login node that lacks MPI and parallel HDF5, too: all but run, generate and
# clean is built and works there. Libraries are hidden from pkg-config, as if not installed.
set -uo pipefail
root=${HAUL_SOURCE:?}
work=$(mktemp -d) || exit 1
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

# says WHAT PATTERN COMMAND…: its output, or that of an earlier command, holds the pattern
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
	cmake -S "$root" -B "$1" -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" \
		-DHAUL_BENCH=OFF -DCMAKE_BUILD_TYPE=Debug "${@:2}"
}

launcher=$(command -v ccache || true)
mkdir "$work/pc" "$work/hidden"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
	for file in "$folder"/*.pc; do
		case $file in
		*/liburing.pc | */yaml-0.1.pc | */cunit.pc) ln -sf "$file" "$work/hidden/" ;;
		*'*.pc') ;;
		*) ln -sf "$file" "$work/pc/" ;;
		esac
	done
done
export PKG_CONFIG_LIBDIR=$work/pc
unset PKG_CONFIG_PATH

must "configuring without liburing and CUnit" configure "$work/build"
says "what is missing is said" "engine uring of file:// no: needs liburing>=2.3" cat "$work/log"
says "libyaml, too" "haul import dlio no: needs yaml-0.1" cat "$work/log"
says "so are the tests" "tests no: needs cunit" cat "$work/log"
must "building" cmake --build "$work/build" --parallel 2
must "installing" cmake --install "$work/build"

# Moved, and with a job of its own, so that it cannot be the source's folder that is read.
mv "$work/prefix" "$work/moved"
haul=$work/moved/bin/haul
sed 's/"name": *"[^"]*"/"name": "only_here"/' "$root/workloads/catalog/unet3d_demo.json" \
	>"$work/moved/share/haul/catalog/only_here.json"
says "the catalogue is found beside the program" only_here "$haul" catalog
says "the completion is installed" "haul" bash -c \
	"source '$work/moved/share/bash-completion/completions/haul' && complete -p haul"
says "version says what is missing" "lacks engine uring of file://: built without liburing" "$haul" version
says "libyaml, too" "lacks haul import dlio: built without libyaml" "$haul" version
says "and import says it" "was built without libyaml" "$haul" import dlio "$root/tests/fixtures/dlio/argonne/default.yaml"
says "doctor, too" "has no engine uring of file:// *build it with liburing" "$haul" doctor
if find "$work/moved" -name '*.md' | grep -q install.md; then
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
says "a job that asks for it runs by psync, and says so" "built without liburing" \
	"$HAUL_MPIEXEC" -n 2 "$haul" run job.json
says "and is done" "· done" "$haul" report results.h5

# libyaml is back, MPI is gone, and of HDF5 only the serial one is there (Debian calls both hdf5-serial and hdf5).
serial=$(readlink -f "$work/pc/hdf5-serial.pc") || exit 1
rm -f "$work/pc"/hdf5*.pc "$work/pc"/*mpi*.pc
ln -s "$serial" "$work/pc/hdf5.pc"
mv "$work/hidden/yaml-0.1.pc" "$work/pc/" || exit 1
mkdir "$work/bin" || exit 1
for program in cc c++ gcc ld as ar nm ranlib strip objcopy objdump readelf make ninja cmake pkg-config git ccache sh bash; do
	found=$(command -v "$program") && ln -s "$found" "$work/bin/"
done
says "a serial HDF5 is refused" "needs a parallel HDF5" configure "$work/refused"
says "MPI that is not there is refused" "needs MPI, and no mpicc" env PATH="$work/bin" "$work/bin/cmake" -S "$root" -B "$work/refused_too"

# Afresh, but what was compiled before is not compiled again: no layer below results-schema/ sees a difference.
rm "$work/build/CMakeCache.txt" || exit 1
must "configuring without MPI" env PATH="$work/bin" "$work/bin/cmake" -S "$root" -B "$work/build" -DHAUL_MPI=OFF \
	-DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DHAUL_BENCH=OFF -DCMAKE_BUILD_TYPE=Debug
says "that there is no run is said" "run, generate, clean no, as asked (HAUL_MPI)" cat "$work/log"
must "building without MPI" env PATH="$work/bin" "$work/bin/cmake" --build "$work/build" --parallel 2 --target haul
haul=$work/build/haul
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
says "version says what it lacks" "lacks haul run, generate and clean: built without MPI" "$haul" version
says "doctor, too" "MPI none build it with MPI" "$haul" doctor
says "run refuses in a sentence" "^haul: this haul was built without MPI and cannot run jobs: build it with MPI" \
	"$haul" run job.json
"$haul" run job.json 2>/dev/null && { echo "FAIL  run without MPI ends with 0"; failures=$((failures + 1)); }

# Spack is not here to run it.
must "the Spack recipe's syntax" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' \
	"$root/packaging/spack/packages/haul/package.py"
exit $((failures > 0))
