#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shell scripts: bash parses each of them, and shellcheck finds nothing in them. Only with HAUL_TEST_FULL=1 does it read those
# that the change has not touched (tests/project/changed.sh).
set -euo pipefail
cd "${HAUL_SOURCE:?}"
# shellcheck source=tests/project/changed.sh
source tests/project/changed.sh
mapfile -t scripts < <(find quickstart.sh test.sh .ci/run packaging batch slurm pbs flux tests completion \
	-type f \( -name '*.sh' -o -name '*.pbs' -o -name '*.bash' -o -name run \))
((${#scripts[@]}))
for script in "${scripts[@]}"; do
	bash -n "$script"
done
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 1; }
read=("${scripts[@]}")
if [ "${HAUL_TEST_FULL:-0}" != 1 ]; then
	mapfile -t read < <(changed "${scripts[@]}" | while read -r script; do
		[ ! -f "$script" ] || echo "$script"
	done)
fi
((${#read[@]} == 0)) || shellcheck -x "${read[@]}"
echo "${#read[@]} of ${#scripts[@]} scripts"
