# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Which files a change has touched, for tests that look only at those. To be sourced in the folder of the sources.
git rev-parse --is-inside-work-tree >/dev/null || exit 1

# Prints the commit that changes are counted from: the one where this branch left main, or, on main, the last but one.
base()
{
	local main at
	for main in origin/HEAD origin/main main; do
		at=$(git merge-base HEAD "$main" 2>/dev/null) || continue
		[ "$at" != "$(git rev-parse HEAD)" ] || continue
		echo "$at"
		return
	done
	git rev-parse -q --verify HEAD~1 || git rev-parse HEAD
}

# changed PATH…: prints the files at these paths that the branch, the last commit or the working tree changes, the one with the
# most changed lines first.
changed()
{
	{
		git diff --no-renames --numstat "$(base)" -- "$@"
		git ls-files --others --exclude-standard -- "$@" | sed 's/^/1000\t0\t/'
	} | sort -rn | cut -f3
}
