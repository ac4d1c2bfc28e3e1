#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Duplicate symbols: no two functions of the program have the same name. The linker takes the first one that it finds in
# a static library, so a call could silently reach the wrong function. Argument: the build folder.
set -euo pipefail
find "$1" -maxdepth 2 -name 'libhaul_*.a' -print0 | xargs -0 -r nm -A -g --defined-only >"$1/symbols.txt" 2>/dev/null
[ -s "$1/symbols.txt" ] || { echo "no libraries in $1"; exit 1; }
twice=$(awk '{print $NF}' "$1/symbols.txt" | sort | uniq -d)
[ -z "$twice" ] || { for name in $twice; do grep -w -- "$name\$" "$1/symbols.txt"; done; exit 1; }
