#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Code layout: clang-format would change nothing in any C file.
set -euo pipefail
cd "${HAUL_SOURCE:?}"
command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 1; }
find core facts mlperf backends workloads plan results-schema simulate ranks report import judge cli tests bench \
	-name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
