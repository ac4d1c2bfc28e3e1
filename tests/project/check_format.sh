#!/usr/bin/env bash
# Every C file is laid out as .clang-format says.
set -euo pipefail
cd "${HAUL_SOURCE:?}"
command -v clang-format >/dev/null || exit 77
find core backends workloads plan results-schema ranks report import cli tests bench \
	-name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
