#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the npm packages that tests use (tests/npm/package-lock.json) into build/npm, if they are not there yet.
# It asks no questions and runs no scripts of packages. Exit status: 0, the packages are there; 1, they are not, and a
# sentence on standard error says why.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$(cat tests/npm/package.json tests/npm/package-lock.json | sha256sum | cut -d' ' -f1)
if [ "$(cat build/npm/installed 2>/dev/null || true)" = "$wanted" ]; then
	exit 0
fi
command -v npm >/dev/null || { echo "haul: npm is not installed" >&2; exit 1; }
rm -rf build/npm
mkdir -p build/npm
cp tests/npm/package.json tests/npm/package-lock.json build/npm/
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# `npm ci` would refuse the lock file, because it lists no packages for other systems.
if ! (cd build/npm && npm install --ignore-scripts --no-audit --no-fund </dev/null >"$log" 2>&1); then
	tail -n 15 "$log" >&2
	echo "haul: npm could not install what tests/npm/package.json names" >&2
	exit 1
fi
echo "$wanted" >build/npm/installed
