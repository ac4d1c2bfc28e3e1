# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# Job scripts under Flux: the functions sched_… that batch/common.sh describes. flux/*.sh sources
# this file. It is written from the manual pages of flux-core (flux-hostlist and --requires date
# from 2024).
set -uo pipefail
# shellcheck source=batch/common.sh
source "$HAUL_ROOT/batch/common.sh"

sched_settings()
{
	: "${BIND:=cores}"              # cores, none
}

# The script runs inside the job, as the initial program of the job's own Flux instance.
sched_inside()
{
	[ -n "${FLUX_URI:-}" ] && flux getattr jobid >/dev/null 2>&1
}

# shellcheck disable=SC2120  # batch/check.sh passes words
sched_submit()
{
	local nodes
	nodes=$([ -n "$(sched_given nodes "$@")" ] || batch_asks)
	submit=(flux batch ${nodes:+-N "$nodes"} "$@" "$script")
}

sched_given()
{
	local name=$1
	shift
	case $name in
	nodes) sed -n 's/.* \(-N *\|--nodes[= ] *\)\([0-9]*\).*/\2/p' <<<" $*" ;;
	walltime) flux_seconds "$(sed -n 's/.* \(-t *\|--time-limit[= ] *\)\([^ ]*\).*/\2/p' <<<" $*")" ;;
	esac
}

# flux_seconds TIME: prints Flux's duration in seconds: 90s, 1.5h, 2d; a number alone is minutes.
flux_seconds()
{
	awk -v time="$1" 'BEGIN {
		if (time !~ /^[0-9.]+(ms|[smhd])?$/) exit
		unit = time; sub(/^[0-9.]+/, "", unit)
		split("ms 0.001 s 1 m 60 h 3600 d 86400", word, " ")
		for (i = 1; i < 10; i += 2) of[word[i]] = word[i + 1]
		printf "%d\n", time * (unit == "" ? 60 : of[unit])
	}'
}

flux_known_bind()
{
	case $BIND in
	cores | none) return 0 ;;
	esac
	batch_say "BIND: \"$BIND\" is not one of cores, none"
	return 2
}

sched_check_ranks()
{
	flux_known_bind || return
	unseen+=("the cores of the nodes")
}

sched_job_id()
{
	flux job id --to=dec "$(flux getattr jobid)"
}

# Leaves out nodes that are down or drained.
sched_nodes()
{
	flux hostlist --expand avail | tr ' ' '\n'
}

# Flux reports UINT_MAX seconds for a job without a limit.
sched_seconds_left()
{
	local left
	left=$(flux job timeleft 2>/dev/null)
	[ "${left:-0}" -lt 4294967295 ] || left=0
	echo "$left"
}

sched_header()
{
	case $1 in
	nodes) sed -n 's/^# flux: -N *//p' "$script" ;;
	walltime) batch_time "$(flux_seconds "$(sed -n 's/^# flux: -t *//p' "$script")")" ;;
	esac
}

# Uses flux exec and not a job of the instance, because a job that hangs would keep the node.
sched_each_node()
{
	local ranks
	ranks=$(flux hostlist --expand instance | tr ' ' '\n' |
		awk 'NR == FNR { wanted[$1] = 1; next } $1 in wanted { printf "%s%d", comma, FNR - 1; comma = "," }' "$1" -)
	launcher=(flux exec --noinput --rank="$ranks")
}

sched_ranks()
{
	local nodes cores bind=()
	flux_known_bind || return
	nodes=$(wc -l <"$1")
	case $BIND in
	cores)
		cores=$(flux resource list -s all -n -o '{ncores}')
		cores=$((cores / $(flux resource list -s all -n -o '{nnodes}') / RANKS_PER_NODE))
		bind=(-c $((cores > 0 ? cores : 1)) -o cpu-affinity=per-task)
		;;
	none) bind=(-o cpu-affinity=off) ;;
	esac
	# mpibind is a plugin of LLNL's machines, which would bind in place of Flux.
	launcher=(flux run -N "$nodes" -n $((nodes * RANKS_PER_NODE))
		"--requires=hosts:$(paste -s -d , "$1")" "${bind[@]}" -o mpibind=off "${way_env[@]}")
}

# flux run forwards only INT and TERM, and kills the job soon after these.
sched_signal()
{
	flux job killall --force --signal=SIGUSR1 >/dev/null
}

sched_after()
{
	:
}

sched_stopped()
{
	:
}

sched_check()
{
	if ! command -v flux >/dev/null; then
		batch_say "there is no flux here: this is not a login node of a Flux cluster"
		return 2
	fi
	batch_record flux queue list
	"${submit[@]:0:2}" --dry-run "${submit[@]:2}" >/dev/null
}
