#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packages: the .deb that CPack makes installs, runs and is removed without a trace; a tar file of git archive knows its commit,
# also within another repository; CMake says which library of a part is missing or too old; the recipe for Spack has a variant for
# each part.
#
# In the long set, the .deb is installed by apt in a bare Debian of the same release, where man, doctor and a demo run.
# shellcheck disable=SC2317  # functions are called through check
set -uo pipefail
root=${HAUL_SOURCE:?} build=$(dirname "${HAUL:?}")
work=$(mktemp -d) || exit 1
trap 'rm -rf --one-file-system "$work"' EXIT
cd "$work" || exit 1
failures=0

check()
{
	local what=$1
	shift
	if "$@" >said 2>&1; then
		echo "ok    $what"
	else
		echo "FAIL  $what"
		tail -n 20 said
		failures=$((failures + 1))
	fi
}
says() { grep -qE -- "$1" "$2"; }

# The package.
check "cpack makes a .deb" cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages"
deb=$(ls packages/*.deb) || exit 1
dpkg-deb --info "$deb" >info
for library in libc6 libcjson1 libhdf5-mpich libhwloc15 libmpich12; do
	check "it needs $library" says "^ Depends:.* $library" info
done
check "it recommends an mpiexec" says "^ Recommends: mpich" info
# A database of packages of its own, where only haul is.
mkdir -p own/var/lib/dpkg/updates own/var/lib/dpkg/info
touch own/var/lib/dpkg/status own/var/lib/dpkg/available
dpkg_own() { dpkg --root="$work/own" --force-depends --force-not-root --force-script-chrootless --log="$work/dpkg.log" "$@"; }
check "it installs" dpkg_own -i "$deb"
haul=$work/own/usr/bin/haul
check "its program runs" "$haul" version
check "its program finds the catalogue beside itself" env HAUL_CATALOG= "$haul" plan unet3d_h100 --nodes 2
for file in usr/share/man/man1/haul.1 usr/share/man/man5/haul-job.5 usr/share/doc/haul/copyright usr/share/doc/haul/docs/install.md \
	usr/share/haul/slurm/unet3d_small.sh usr/share/haul/batch/check.sh usr/share/bash-completion/completions/haul; do
	check "it has $file" test -s "own/$file"
done
check "a job script of it finds its program" env RESULTS_DIR="$work" HAUL_DATA="$work" HAUL='' EXTRA=--ignore-space JOB=unet3d_demo \
	bash -c 'own/usr/share/haul/flux/unet3d_small.sh check 2>&1 | grep "^HAUL .*own/usr/bin/haul"'
check "it is removed" dpkg_own -P haul
check "nothing is left" test -z "$(find own -not -type d -not -path 'own/var/lib/dpkg/*')"
check "no folder of it is left" test -z "$(find own -name '*haul*')"

# The commit of a tar file, which lies in a repository of something else.
git init -q outer && mkdir outer/haul && git -C "$root" archive HEAD cmake | tar -x -C outer/haul
check "the tar file has a commit" cmake -D SOURCE="$work/outer/haul" -D OUT="$work/build.h" -D VERSION=1 -D CATALOG_INSTALLED=/x \
	-P outer/haul/cmake/BuildId.cmake
check "it is that of the archive" says "HAUL_BUILD \"$(git -C "$root" rev-parse HEAD | cut -c 1-12)\"" build.h

# Old libraries: those of RHEL 9 and SLES 15.
mkdir old project
for library in "libcurl 7.76.1" "libssl 1.1.1" "libcrypto 1.1.1"; do
	printf 'Name: %s\nDescription: an old one\nVersion: %s\n' "${library% *}" "${library#* }" >"old/${library% *}.pc"
done
cat >project/CMakeLists.txt <<X2
cmake_minimum_required(VERSION 3.25)
project(haul VERSION 1 LANGUAGES C)
find_package(PkgConfig REQUIRED)
include($root/cmake/HaulOptional.cmake)
$(grep '^haul_optional(' "$root/CMakeLists.txt")
haul_say_parts()
X2
PKG_CONFIG_LIBDIR=$work/old cmake -S project -B configured >configured.log 2>&1
check "an old curl is told with its version" says "object stores +no: needs libcurl>=7.85 .7.76.1 is here., libssl>=3.0 .1.1.1 is here." \
	configured.log
check "what is not there at all, too" says "1.1.1 is here., expat: see docs/install.md" configured.log

# Spack is not installed here.
recipe=$root/packaging/spack/spack_repo/haul/packages/haul/package.py
check "the recipe's syntax" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$recipe"
for part in $(sed -n 's/^haul_optional(\([A-Z]*\) .*/\1/p' "$root/CMakeLists.txt") MPI; do
	check "the recipe has a variant for $part" grep -q "variant(\"${part,,}\"" "$recipe"
done

[ "${HAUL_TEST_FULL:-0}" = 1 ] || exit $((failures > 0))

# Bare systems, each in a folder of its own.
# inside COMMAND…: in the folder $bare, with /proc and /sys, which MPI asks. They are mounted for this command alone, so nothing
# of them is left.
# shellcheck disable=SC2016  # that shell expands it
inside()
{
	unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" &&
		mount --rbind /dev "$0/dev" && exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"' "$bare" "$@"
}
fails() { ! "$@"; }

# begin RELEASE MIRROR [SCRIPT]: makes a bare system of the release in $bare.
begin()
{
	bare=$work/$1
	check "a bare $1 is made" debootstrap --variant=minbase --components=main,universe "$1" "$bare" "${@:2}"
	[ ! -e /etc/apt/apt.conf.d ] || cp -n /etc/apt/apt.conf.d/*proxy* "$bare/etc/apt/apt.conf.d/" 2>/dev/null
	echo force-unsafe-io >"$bare/etc/dpkg/dpkg.cfg.d/fast" # nobody needs this system after a crash
}

# install_package DEB
install_package()
{
	cp "$1" "$bare/haul.deb"
	check "apt installs the package with what it needs" inside apt-get install -y /haul.deb
}

# After it, nothing of the package is left.
remove_package()
{
	check "its data are removed" inside sh -c 'cd /tmp && haul clean unet3d_demo && [ ! -e haul-demo ] && rm results.h5'
	check "the package is removed" inside apt-get purge -y haul
	rm "$bare/haul.deb"
	# Pages that man has shown stay in its own cache.
	check "nothing of haul is left" test -z "$(find "$bare" -xdev -iname '*haul*' -not -path "$bare/var/cache/man/*")"
}

# runs_demo LAUNCHER…
# shellcheck disable=SC2016  # that shell expands it
runs_demo()
{
	check "haul doctor" inside haul doctor
	check "a demo of two ranks" inside env HAUL_DATA=/tmp sh -c 'cd /tmp && "$@" -n 2 haul run unet3d_demo && haul report results.h5' \
		demo "$@"
}

shows_pages()
{
	check "man is there" inside apt-get install -y --no-install-recommends man-db
	for page in haul haul-job haul-results; do
		check "man $page" inside man "$page"
	done
}

# The release of this machine.
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(sed -n 's/^\(URIs: *\|deb \)\(http[^ ]*\/debian\/\?\)\( .*\)\?$/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
begin "$release" "${mirror:-http://deb.debian.org/debian}"
install_package "$deb"
shows_pages
runs_demo mpiexec
remove_package
rm -rf --one-file-system "$bare"

# Ubuntu 24.04, by the rules for all Ubuntus if debootstrap does not know it yet. Without Ubuntu's keys, debootstrap warns and
# goes on: apt checks what it gets later by the keys that are in there.
rules=/usr/share/debootstrap/scripts/noble
[ -e "$rules" ] || rules=gutsy
begin noble "${HAUL_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}" "$rules"
if [ "$release" != noble ]; then
	cp "$deb" "$bare/other.deb"
	check "the package of $release is refused" inside sh -c '! apt-get install -y /other.deb >/refused 2>&1'
	check "it is told which library it needs" says "Depends: lib.* but it is not (installable|going to be installed)" "$bare/refused"
	rm "$bare/other.deb"
fi
# A package is made for its release: so this one is made there.
clean=$bare
bare=$work/builder
cp -a "$clean" "$bare"
mkdir "$bare/src"
git -C "$root" ls-files -z | tar -c -C "$root" --null -T - | tar -x -C "$bare/src"
check "quickstart.sh installs, builds and shows a run" inside sh -c 'cd /src && HAUL_DATA=/tmp ./quickstart.sh | tee /shown'
check "the run is reported" says "^next: build/release/haul catalog" "$bare/shown"
check "no part is left out" inside sh -c '/src/build/release/haul version >/parts && ! grep ^lacks /parts'
check "a package of it is made" inside sh -c 'cd /src/build/release && cpack -G DEB'
ubuntu=$(ls "$bare"/src/build/release/haul_*.deb)
mv "$ubuntu" "$work/ubuntu.deb" && rm -rf --one-file-system "$bare"
bare=$clean
install_package "$work/ubuntu.deb"
shows_pages
runs_demo mpirun.openmpi --allow-run-as-root --oversubscribe
remove_package
# Its minimal images leave documents out.
printf '%s\n' 'path-exclude=/usr/share/man/*' 'path-exclude=/usr/share/doc/*' 'path-include=/usr/share/doc/*/copyright' \
	>"$bare/etc/dpkg/dpkg.cfg.d/excludes"
install_package "$work/ubuntu.deb"
check "man has no page" fails inside man haul
check "the program has its own help" inside haul help run
runs_demo mpirun.openmpi --allow-run-as-root --oversubscribe
remove_package
exit $((failures > 0))
