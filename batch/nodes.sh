# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# Check of the nodes of an allocation: one launch asks all of them whether they see the program and
# the folders. A node that hangs is bad, and so is one that the launcher cannot reach. Needs
# sched_each_node (batch/common.sh).

# The script that each node runs, with the arguments PROGRAM ON ON_FOLDER FOLDER…. It prints one line:
# "haul-node NAME ok", or "haul-node NAME" and the reason.
# shellcheck disable=SC2016  # the node expands it
BATCH_NODE_CHECK='
name=${SLURMD_NODENAME:-$(hostname)}
answer()
{
	printf "haul-node %s %s\n" "${name%%.*}" "$(printf "%s" "$1" | head -n 1)"
	exit 0
}
[ -x "$1" ] || answer "there is no program $1"
problem=$("$1" version 2>&1 >/dev/null) || answer "$1 does not start: $problem"
on=$2 where=$3
shift 3
if [ -n "$on" ]; then
	type=$(df --output=fstype "$where" 2>&1 | tail -n 1)
	point=$(df --output=target "$where" 2>/dev/null | tail -n 1)
	case $on:$type in
	"$on:$on" | "$on:$on"[0-9] | "$on:fuse.$on" | dfuse:fuse.daos | dfuse:fuse.dfuse) ;;
	*) [ "$on" = "$point" ] || answer "$where is on ${type##*: }, not on $on" ;;
	esac
fi
for folder; do
	problem=$(ls -d "$folder/." 2>&1 >/dev/null) || answer "$problem"
done
answer ok'

# batch_good_nodes NEEDED HOSTS PROGRAM FOLDER…: reads node names, one per line, from standard
# input, asks these nodes and writes the good ones to HOSTS in the same order. It reports which
# nodes it leaves out and why, and fails if fewer than NEEDED are good.
batch_good_nodes()
{
	local needed=$1 hosts=$2 nodes good=0 node
	local -A answers=()
	shift 2
	mapfile -t nodes
	batch_ask_nodes "$@"
	: >"$hosts"
	for node in "${nodes[@]}"; do
		[ "${answers[${node%%.*}]}" = ok ] || continue
		good=$((good + 1))
		echo "$node" >>"$hosts"
	done
	batch_say_bad_nodes
	if [ "$good" -lt "$needed" ]; then
		batch_say "$good of ${#nodes[@]} nodes are good, $needed are needed"
		return 1
	fi
}

# batch_say_bad_nodes: prints one line for each reason.
batch_say_bad_nodes()
{
	local node reason
	local -A of_reason=()
	for node in "${nodes[@]}"; do
		reason=${answers[${node%%.*}]}
		[ "$reason" = ok ] || of_reason[$reason]+=" $node"
	done
	for reason in "${!of_reason[@]}"; do
		# shellcheck disable=SC2086  # the names are separate words
		set -- ${of_reason[$reason]}
		if [ $# -gt 8 ]; then
			batch_say "$# nodes are left out (${*:1:8} …): $reason"
		else
			batch_say "left out: $*: $reason"
		fi
	done
}

# batch_ask_nodes PROGRAM FOLDER…: fills answers for all nodes. One broken node may keep a launcher
# from starting anything. So if a launch fails, it asks the silent nodes again in two halves, and
# finds the broken node with a few more launches. 100 launches are enough for any machine on which a
# run makes sense.
batch_ask_nodes()
{
	local groups=("$work/ask.1") next group launches=0 silent node rc reason asked pid
	printf '%s\n' "${nodes[@]}" >"${groups[0]}"
	while [ "${#groups[@]}" -gt 0 ]; do
		asked=()
		for group in "${groups[@]}"; do
			batch_ask_group "$group" "$@" &
			asked+=($!)
		done
		# Not for all children: a mount is one that stays.
		for pid in "${asked[@]}"; do
			batch_wait "$pid"
		done
		next=()
		for group in "${groups[@]}"; do
			launches=$((launches + 1))
			batch_hear_group "$group"
			[ "${#silent[@]}" -gt 0 ] || continue
			rc=$(<"$group.rc")
			if [ "${#silent[@]}" = 1 ] || [ "$rc" = 124 ] || [ "$rc" = 137 ] ||
				[ "$launches" -ge 100 ]; then
				reason=$(batch_silence "$group" "$rc")
				for node in "${silent[@]}"; do
					answers[${node%%.*}]=$reason
				done
			else
				printf '%s\n' "${silent[@]::${#silent[@]}/2}" >"$group.1"
				printf '%s\n' "${silent[@]:${#silent[@]}/2}" >"$group.2"
				next+=("$group.1" "$group.2")
			fi
		done
		groups=("${next[@]}")
	done
}

# batch_silence FILE STATUS: prints why a launch got no answer.
batch_silence()
{
	local reason
	case $2 in
	124 | 137) reason="no answer within $CHECK_SECONDS s" ;;
	*)
		reason=$(grep -iE 'error|fail|cannot|denied' "$1.err" | head -n 1)
		reason=${reason:-the launcher ended with status $2 and no answer}
		;;
	esac
	echo "$reason"
}

# batch_ask_group FILE PROGRAM FOLDER…: one launch on the nodes in FILE. It writes FILE.out,
# FILE.err and FILE.rc.
batch_ask_group()
{
	local group=$1
	shift
	sched_each_node "$group"
	timeout -k 5 "$CHECK_SECONDS" "${launcher[@]}" sh -c "$BATCH_NODE_CHECK" check "$1" "$ON" "$ON_FOLDER" "${@:2}" \
		</dev/null >"$group.out" 2>"$group.err"
	echo $? >"$group.rc"
}

# batch_hear_group FILE: reads the answers of a launch, and sets silent to the nodes without one.
batch_hear_group()
{
	local word name answer
	while read -r word name answer; do
		[ "$word" != haul-node ] || answers[$name]=$answer
	done <"$1.out"
	silent=()
	while read -r name; do
		[ -n "${answers[${name%%.*}]:-}" ] || silent+=("$name")
	done <"$1"
}
