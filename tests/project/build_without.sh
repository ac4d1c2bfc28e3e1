#!/usr/bin/env bash
# A cluster that lacks liburing, libyaml and CUnit: haul is configured, built, installed and run there, and says
# what it lacks; a serial HDF5 is refused. Libraries are hidden from pkg-config, as if not installed.
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
mkdir "$work/pc"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
	for file in "$folder"/*.pc; do
		case $file in
		*/liburing.pc | */yaml-0.1.pc | */cunit.pc | *'*.pc') ;;
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

# What a serial HDF5 has in place of the parallel calls: nothing.
mkdir "$work/serial" || exit 1
cat >"$work/serial/hdf5.h" <<'X'
typedef long hid_t;
#define H5P_FILE_ACCESS 0
hid_t H5Pcreate(hid_t);
X
rm -f "$work/pc"/hdf5*.pc
cat >"$work/pc/hdf5.pc" <<X
Name: hdf5
Description: serial
Version: 1.10.8
Cflags: -I$work/serial
X
says "a serial HDF5 is refused" "needs a parallel HDF5" configure "$work/refused"

# Spack is not here to run it.
must "the Spack recipe's syntax" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' \
	"$root/packaging/spack/packages/haul/package.py"
exit $((failures > 0))
