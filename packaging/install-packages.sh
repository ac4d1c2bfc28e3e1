#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the missing ones of the Debian packages in the given lists. It asks no questions.
#
#   packaging/install-packages.sh [--list] packaging/packages-build.txt…
#
# --list only prints the missing packages, one per line. Exit status: 0, all are there; 3, this is not
# Debian, and the user has to install them; 1, the installation failed. A sentence on standard error
# says why.
set -euo pipefail

only_list=0
if [ "${1:-}" = --list ]; then
	only_list=1
	shift
fi
[ $# -gt 0 ] || { echo "usage: install-packages.sh [--list] FILE…" >&2; exit 2; }

mapfile -t wanted < <(sed 's/#.*//' -- "$@" | tr -s ' \t' '\n' | sed '/^$/d' | sort -u)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "haul: this machine has no apt-get; the build needs these packages, by their Debian names: ${wanted[*]}" >&2
	exit 3
fi

find_missing()
{
	local package state
	missing=()
	# The MPICH of Ubuntu 24.04 can only be started by PMIx, which Open MPI's launcher has and MPICH's own has not.
	if [[ " ${wanted[*]} " == *" mpich "* && $(dpkg-query -W -f '${Depends}' libmpich12 2>/dev/null) == *libpmix* ]]; then
		wanted+=(openmpi-bin)
	fi
	for package in "${wanted[@]}"; do
		state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
		# pkg-config is a virtual package on newer Debians, and Node may come from another source: so
		# look for the command instead.
		case $package in
		pkg-config | npm) ! command -v "$package" >/dev/null || state=installed ;;
		nodejs) ! command -v node >/dev/null || state=installed ;;
		esac
		[ "$state" = installed ] || missing+=("$package")
	done
}
find_missing
[ ${#missing[@]} -gt 0 ] || exit 0
if [ $only_list = 1 ]; then
	printf '%s\n' "${missing[@]}"
	exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
		echo "haul: missing packages; as root: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	as_root=(sudo -n)
fi

apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive APT_LISTCHANGES_FRONTEND=none apt-get -q -y
	-o Dpkg::Options::=--force-confold -o Acquire::Retries=3)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# An update that fails for one package source may still be enough to install from.
"${apt[@]}" update </dev/null >"$log" 2>&1 || true
# The second time for what is missing only now: which launcher MPICH needs is known when it is there.
for _ in 1 2; do
	if ! "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null >>"$log" 2>&1; then
		tail -n 15 "$log" >&2
		echo "haul: apt-get could not install: ${missing[*]}" >&2
		exit 1
	fi
	find_missing
	[ ${#missing[@]} -gt 0 ] || exit 0
done
