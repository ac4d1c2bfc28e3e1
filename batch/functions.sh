# shellcheck shell=bash
# What the job scripts of slurm/ and pbs/ share; sourced by them, under bash. The settings stand in the
# script that sources it. Nothing here knows a scheduler but by what the script defines:
#
#   on_node NODE COMMAND…   runs a command once on a node, under the scheduler's launcher
#
# Every function that fails says why on standard error and returns non-zero.

batch_say()
{
	printf '%s %s\n' "$(date +%T)" "$*" >&2
}

# batch_check_node NODE PROGRAM FOLDER…: does this node see the program and do its mounts answer?
# Runs here, asks there. A node that hangs is a bad one: the answer has CHECK_SECONDS.
batch_check_node()
{
	local node=$1
	shift
	# shellcheck disable=SC2016  # expanded on the node
	timeout -k 5 "${CHECK_SECONDS:-30}" bash -c '"$@"' check on_node "$node" \
		sh -c 'test -x "$1" && shift && for f; do ls -d "$f" >/dev/null || exit 1; done' \
		check "$@" </dev/null >/dev/null 2>&1
}

# batch_good_nodes WANTED OUT PROGRAM FOLDER…: reads node names, one a line, from standard input, checks
# them CHECK_PARALLEL at a time and writes the first WANTED good ones to OUT in their order.
batch_good_nodes()
{
	local wanted=$1 out=$2 good=0 node nodes results running=0
	shift 2
	mapfile -t nodes
	results=$(mktemp -d) || return 1
	export -f on_node
	for node in "${nodes[@]}"; do
		(batch_check_node "$node" "$@" && : >"$results/$node") &
		running=$((running + 1))
		if [ "$running" -ge "${CHECK_PARALLEL:-64}" ]; then
			wait -n
			running=$((running - 1))
		fi
	done
	wait
	: >"$out"
	for node in "${nodes[@]}"; do
		if [ ! -e "$results/$node" ]; then
			batch_say "node $node did not answer the check; left out"
		elif [ "$good" -lt "$wanted" ]; then
			echo "$node" >>"$out"
			good=$((good + 1))
		fi
	done
	rm -rf "$results"
	if [ "$good" -lt "$wanted" ]; then
		batch_say "$good good nodes of ${#nodes[@]}, $wanted are needed"
		return 1
	fi
}

# batch_run COMMAND…: runs it and returns its exit status. TERM and USR1 to this script are passed on as
# USR1, which mpiexec and srun both forward to the ranks (srun would kill them on TERM); haul then
# writes what it has. Hydra may return 0 after a signal: that counts as haul's own 4, interrupted.
batch_run()
{
	local pid rc stopped=0
	"$@" &
	pid=$!
	# shellcheck disable=SC2064  # the pid of now
	trap "stopped=1; kill -USR1 $pid 2>/dev/null" TERM USR1
	# A trapped signal ends wait early: wait until the process is gone, then ask for its own status.
	while kill -0 "$pid" 2>/dev/null; do
		wait "$pid"
	done
	wait "$pid"
	rc=$?
	trap - TERM USR1
	if [ "$stopped" = 1 ]; then
		batch_say "stopped by a signal"
		[ "$rc" != 0 ] || rc=4
	fi
	return "$rc"
}

# batch_deadline WALLTIME_SECONDS RESERVE_SECONDS: the seconds haul may take, counted from the start of
# this script, so that results are written before the scheduler ends the job.
batch_deadline()
{
	local left=$(($1 - $2 - SECONDS))
	[ "$left" -gt 0 ] || { batch_say "no time left of $1 s"; return 1; }
	echo "$left"
}
