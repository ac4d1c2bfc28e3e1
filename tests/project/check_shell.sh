#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shell scripts: bash parses each of them, and shellcheck finds nothing in them.
set -euo pipefail
cd "${HAUL_SOURCE:?}"
mapfile -t scripts < <(find quickstart.sh test.sh .ci/run packaging batch slurm pbs flux tests completion \
	-type f \( -name '*.sh' -o -name '*.pbs' -o -name '*.bash' -o -name run \))
for script in "${scripts[@]}"; do
	bash -n "$script"
done
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 1; }
shellcheck -x "${scripts[@]}"
echo "${#scripts[@]} scripts"
