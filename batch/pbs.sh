# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# Job scripts under PBS on Aurora (PALS' mpiexec, its bind lists, DAOS by dfuse): the functions
# sched_… that batch/common.sh describes. pbs/*.pbs sources this file. It is written from ALCF's
# user guides.
set -uo pipefail
# shellcheck source=batch/common.sh
source "$HAUL_ROOT/batch/common.sh"

sched_settings()
{
	# tile: the binding of training; nic: the best binding for I/O; none; or a list in the syntax
	# of PALS, list:1-8:9-16…
	: "${BIND:=tile}"
	: "${DAOS_MODULES=/soft/modulefiles}"
	# As ALCF advises for many ranks, against full event queues: the defaults are too few for 6,144.
	: "${FI_CXI_DEFAULT_CQ_SIZE:=131072}" "${FI_CXI_OFLOW_BUF_SIZE:=8388608}" "${FI_CXI_CQ_FILL_PERCENT:=20}"
	: "${BCAST:=auto}"        # copies the program to each node: yes; no; auto: from 64 nodes on
	: "${BCAST_DIR:=/tmp}"    # the folder on each node that it is copied to
}

sched_inside()
{
	[ -n "${PBS_JOBID:-}" ]
}

# The file systems that a job names must be up before it starts: so it names that of DAOS only where it uses it.
# shellcheck disable=SC2120  # batch/check.sh passes words
sched_submit()
{
	local nodes='' systems
	[ -n "$(sched_given nodes "$@")" ] || nodes=$(batch_asks)
	systems=$(sed -n 's/^#PBS -l filesystems=//p' "$script")
	[ "$ACCESS" != lustre ] && [[ " $*" != *filesystems=* ]] || systems=
	submit=(qsub ${nodes:+-l "select=$nodes"} ${systems:+-l "filesystems=$systems:daos_user_fs"} "$@" "$script")
}

# Several resources may follow one -l, with commas between them.
sched_given()
{
	local name=$1
	shift
	case $name in
	nodes) sed -n 's/.* -l *\([^ ]*,\)\{0,1\}select=\([0-9]*\).*/\2/p' <<<" $*" ;;
	walltime) pbs_seconds "$(sed -n 's/.* -l *\([^ ]*,\)\{0,1\}walltime=\([^ ,]*\).*/\2/p' <<<" $*")" ;;
	esac
}

# pbs_seconds TIME: as batch_seconds; a number alone is seconds.
pbs_seconds()
{
	case $1 in
	'' | *[!0-9:]*) ;;
	*:*) batch_seconds "$1" ;;
	*) echo $((10#$1)) ;;
	esac
}

sched_check_ranks()
{
	pbs_bind >/dev/null || return
	if ! command -v mpiexec >/dev/null; then
		unseen+=("whether the nodes have mpiexec")
	fi
	unseen+=("the cores of the nodes, which BIND takes as Aurora's")
}

sched_job_id()
{
	echo "${PBS_JOBID%%.*}"
}

# In the order of the file: its first line is the node that this script runs on, which ALCF's launcher of dfuse counts on.
sched_nodes()
{
	awk '!seen[$0]++' "$PBS_NODEFILE"
}

sched_seconds_left()
{
	local limit
	limit=$(qstat -f "$PBS_JOBID" 2>/dev/null |
		sed -n 's/^ *Resource_List.walltime = //p' | head -n 1)
	limit=$(batch_seconds "$limit")
	[ -z "$limit" ] || echo $((limit > SECONDS ? limit - SECONDS : 1))
}

sched_header()
{
	case $1 in
	nodes) sed -n 's/^#PBS -l select=\([0-9]*\).*/\1/p' "$script" ;;
	walltime) sed -n 's/^#PBS -l walltime=//p' "$script" ;;
	esac
}

sched_each_node()
{
	launcher=(mpiexec --no-vni -n "$(wc -l <"$1")" -ppn 1 --hosts "$(paste -s -d , "$1")"
		--cpu-bind none)
}

sched_ranks()
{
	local name list
	list=$(pbs_bind) || return
	pbs_bcast "$1"
	launcher=(mpiexec --no-vni -n $(($(wc -l <"$1") * RANKS_PER_NODE)) -ppn "$RANKS_PER_NODE"
		--hostfile "$1" --cpu-bind "$list" --env "TMPDIR=${TMPDIR:-/tmp}")
	for name in FI_CXI_DEFAULT_CQ_SIZE FI_CXI_OFLOW_BUF_SIZE FI_CXI_CQ_FILL_PERCENT HAUL_DATA HAUL_CATALOG DAOS_POOL DAOS_CONT HDF5_USE_FILE_LOCKING MPICH_GPU_SUPPORT_ENABLED \
		MPIR_CVAR_ENABLE_GPU I_MPI_OFFLOAD; do
		[ -z "${!name:-}" ] || launcher+=(--env "$name=${!name}")
	done
	[ -z "$program" ] || launcher+=(--env "LD_LIBRARY_PATH=${program%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
	launcher+=("${way_env[@]}")
}

# pbs_bcast HOSTS: copies the program, and those of its libraries that do not come from the system's folders, to each node, and
# sets program to the copy. One reader per node in place of one per rank asks the shared file system.
pbs_bcast()
{
	local folder
	program=
	folder=$BCAST_DIR/haul.$(sched_job_id)
	[ "$BCAST" = yes ] || { [ "$BCAST" = auto ] && [ "$(wc -l <"$1")" -ge 64 ]; } || return 0
	sched_each_node "$1"
	# shellcheck disable=SC2016  # the node expands it
	if timeout -k 5 "$CHECK_SECONDS" "${launcher[@]}" sh -c 'mkdir -p "$1" && cp "$2" "$1/haul" &&
		ldd "$2" | sed -n "s/.*=> \(\/[^ ]*\) .*/\1/p" | grep -vE "^/(usr/)?lib" | xargs -r cp -t "$1"' \
		copy "$folder" "$HAUL" </dev/null >&2; then
		program=$folder/haul
	else
		batch_say "the program could not be copied to $folder on each node, so the ranks read $HAUL"
	fi
}

# pbs_bind: prints the value of --cpu-bind for RANKS_PER_NODE ranks. A list with another number of
# entries would put several ranks onto the same cores, or leave a socket idle.
pbs_bind()
{
	local entries
	case $BIND in
	tile) aurora_list aurora_tile_cores ;;
	nic) aurora_list aurora_nic_cores ;;
	list:*)
		entries=$(tr : '\n' <<<"${BIND#list:}" | wc -l)
		if [ "$entries" != "$RANKS_PER_NODE" ]; then
			batch_say "BIND: $entries sets of cores for $RANKS_PER_NODE ranks per node"
			return 2
		fi
		echo "$BIND"
		;;
	*) echo "$BIND" ;;
	esac
}

# An Aurora node has two sockets of 52 cores. Cores 0 and 52 are reserved for the system. Half of
# the ranks go onto each socket, and all ranks get the same number of cores, so that none is faster
# than the others.
#
# aurora_list FUNCTION: prints the bind list. FUNCTION SOCKET INDEX RANKS prints the cores of rank
# INDEX of the RANKS ranks on a socket.
aurora_list()
{
	local left=$(((RANKS_PER_NODE + 1) / 2)) rank list=
	if [ "$RANKS_PER_NODE" -gt 96 ]; then
		batch_say "BIND: $BIND has no cores for $RANKS_PER_NODE ranks per node; the most are 96"
		return 2
	fi
	for ((rank = 0; rank < RANKS_PER_NODE; rank++)); do
		list+=:$("$1" $((rank / left)) $((rank % left)) "$left") || return
	done
	echo "list$list"
}

# Tiles: each socket has 6, with 8 cores each, 1-8 … 41-48 and 53-60 … 93-100. Another number of
# ranks shares these 48 cores.
aurora_tile_cores()
{
	local share=$((48 / $3)) first
	first=$((1 + 52 * $1 + $2 * share))
	if [ "$share" = 1 ]; then
		echo "$first"
	else
		echo "$first-$((first + share - 1))"
	fi
}

# NICs: core c of the first socket belongs to NIC c mod 4, and that of the second to NIC
# 4 + c mod 4. So each NIC has 12 cores, without 0 and 52. Ranks take the NICs in turn; ranks on the
# same NIC share its cores.
aurora_nic_cores()
{
	local sharers=$((($3 + 3) / 4)) share slice core nic=$(($2 % 4)) cores=''
	share=$((12 / sharers))
	slice=$(($2 / 4))
	for ((core = slice * share; core < (slice + 1) * share; core++)); do
		# The cores of NIC 0 begin at 4, since core 0 is reserved for the system.
		cores+=,$((52 * $1 + (nic == 0 ? 4 : nic) + 4 * core))
	done
	echo "${cores#,}"
}

sched_signal()
{
	kill -USR1 "$1" 2>/dev/null
}

sched_after()
{
	[ -n "$program" ] || return 0
	sched_each_node "$1"
	timeout -k 5 60 "${launcher[@]}" rm -rf "${program%/*}" </dev/null || batch_say "${program%/*} is left on some nodes"
}

sched_stopped()
{
	:
}

sched_check()
{
	local queue limit asked
	if ! command -v qsub >/dev/null; then
		batch_say "there is no qsub here: this is not a login node of a PBS cluster"
		return 2
	fi
	queue=$(sed -n 's/.* -q *\([^ ]*\).*/\1/p' <<<" $*")
	queue=${queue:-$(sed -n 's/^#PBS -q //p' "$script")}
	[ -n "$queue" ] || return 0
	if ! limit=$(qstat -Qf "$queue"); then
		batch_say "there is no queue $queue here: qsub -q names another"
		return 2
	fi
	asked=$(sched_given nodes "$@")
	asked=${asked:-$(batch_asks)}
	pbs_fits "$queue" "${asked:-$(sched_header nodes)}" "$limit" "$(sched_given walltime "$@")"
}

# pbs_limit NAME TEXT: prints a limit of a queue, as qstat -Qf shows it.
pbs_limit()
{
	sed -n "s/^ *$1 = //p" <<<"$2" | head -n 1
}

# pbs_fits QUEUE NODES TEXT [SECONDS]: prints the limits of the queue, and fails if it takes no job of so many nodes, or of such a time.
pbs_fits()
{
	local least most time asked fits
	least=$(pbs_limit resources_min.nodect "$3") most=$(pbs_limit resources_max.nodect "$3")
	time=$(pbs_limit resources_max.walltime "$3")
	batch_say "check: the queue $1 takes ${least:-1} to ${most:-any number of} nodes${time:+ for $time}"
	if [ "$2" -lt "${least:-1}" ] || [ "$2" -gt "${most:-$2}" ]; then
		fits=$(qstat -Qf | awk -v n="$2" 'function told() { if (q && n >= least && (!most || n <= most)) printf " %s", q }
			/^Queue: / { told(); q = $2; least = 1; most = 0 }
			$1 == "resources_min.nodect" { least = $3 }
			$1 == "resources_max.nodect" { most = $3 }
			END { told() }')
		batch_say "check: the queue $1 takes no job of $2 nodes; qsub -q names another:${fits:- none does}"
		return 2
	fi
	asked=${4:-$(batch_seconds "$(sched_header walltime)")}
	time=$(batch_seconds "$time")
	[ -n "$4" ] || asked=${WALLTIME:-${asked:-0}}
	if [ -n "$time" ] && [ "$asked" -gt "$time" ]; then
		batch_say "check: the queue $1 gives a job $(batch_time "$time"), and the script asks for" \
			"$(batch_time "$asked"): qsub -l walltime= with less, or another queue"
		return 2
	fi
}
