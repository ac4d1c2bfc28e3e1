# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# Job scripts under Slurm: the functions sched_… that batch/common.sh describes. slurm/*.sh sources
# this file.
set -uo pipefail
# shellcheck source=batch/common.sh
source "$HAUL_ROOT/batch/common.sh"

sched_settings()
{
	: "${LAUNCHER:=srun}"     # srun, or mpiexec where MPI was built without Slurm's interface
	: "${MPI:=}"              # srun --mpi=: pmi2, pmix, cray_shasta …; default: see slurm_mpi
	: "${BIND:=cores}"        # cores; none; one core per rank, 1,9,17,25; or any srun --cpu-bind
	: "${BCAST:=auto}"        # copies the program to each node: yes; no; auto: from 64 nodes on
	: "${BCAST_DIR:=/tmp}"    # the folder on each node that it is copied to
}

sched_inside()
{
	[ -n "${SLURM_JOB_ID:-}" ]
}

# shellcheck disable=SC2120  # batch/check.sh passes words
sched_submit()
{
	local nodes
	nodes=$([ -n "$(sched_given nodes "$@")" ] || batch_asks)
	submit=(sbatch ${nodes:+"--nodes=$nodes"} "$@" "$script")
}

sched_given()
{
	local name=$1
	shift
	case $name in
	nodes) sed -n 's/.* \(-N *\|--nodes[= ] *\)\([0-9]*\).*/\2/p' <<<" $*" ;;
	walltime) slurm_seconds "$(sed -n 's/.* \(-t *\|--time[= ] *\)\([^ ]*\).*/\2/p' <<<" ${SBATCH_TIMELIMIT:+-t $SBATCH_TIMELIMIT }$*")" ;;
	esac
}

# slurm_seconds TIME: as batch_seconds, and Slurm's forms with fewer parts: minutes, days-hours, days-hours:minutes.
slurm_seconds()
{
	case $1 in
	'' | *[!0-9:-]*) ;;
	*-*:*:*) batch_seconds "$1" ;;
	*-*:*) batch_seconds "$1:00" ;;
	*-*) batch_seconds "$1:00:00" ;;
	*:*) batch_seconds "$1" ;;
	*) echo $((10#$1 * 60)) ;;
	esac
}

sched_job_id()
{
	echo "$SLURM_JOB_ID"
}

sched_nodes()
{
	scontrol show hostnames "$SLURM_JOB_NODELIST"
}

# Asks squeue, because scontrol or a requeue may change the limit.
sched_seconds_left()
{
	local left
	left=$(squeue -h -j "$SLURM_JOB_ID" -o %L 2>/dev/null)
	case $left in
	UNLIMITED) echo 0 ;;
	*) batch_seconds "$left" ;;
	esac
}

sched_header()
{
	case $1 in
	nodes) sed -n 's/^#SBATCH --nodes=//p' "$script" ;;
	walltime) sed -n 's/^#SBATCH --time=//p' "$script" ;;
	esac
}

sched_each_node()
{
	local n
	n=$(wc -l <"$1")
	launcher=(srun --overlap --mpi=none --cpu-bind=none -N "$n" -n "$n" --ntasks-per-node=1 -c 1
		"--nodelist=$(paste -s -d , "$1")")
}

sched_ranks()
{
	local nodes ranks
	bcast=
	nodes=$(wc -l <"$1")
	ranks=$((nodes * RANKS_PER_NODE))
	if [ "$LAUNCHER" = mpiexec ]; then
		launcher=(mpiexec -f "$1" -n "$ranks" -ppn "$RANKS_PER_NODE" "${way_env[@]}")
		return 0
	fi
	slurm_bind || return
	# block:block keeps neighbouring ranks on neighbouring cores; block alone distributes them
	# over the sockets in turn.
	launcher=(srun "--mpi=$(slurm_mpi)" --kill-on-bad-exit=1 --distribution=block:block
		-N "$nodes" -n "$ranks" "--ntasks-per-node=$RANKS_PER_NODE" "--nodelist=$(paste -s -d , "$1")" "${bind[@]}")
	# Slurm keeps the step that lost a node, and with it the cores of the others, long after its ranks are gone.
	[ -z "${again:-}" ] || launcher+=(--overlap)
	# By srun itself: what it copies to the nodes is the program that it starts, which env would be.
	if [[ "${way_env[*]}" == *,* ]]; then
		launcher+=("${way_env[@]}")
		return 0
	fi
	[ "${#way_env[@]}" = 0 ] || launcher+=("--export=ALL$(printf ',%s' "${way_env[@]:1}")")
	if [ "$BCAST" = yes ] || { [ "$BCAST" = auto ] && [ "$nodes" -ge 64 ]; }; then
		bcast=$BCAST_DIR/haul.$SLURM_JOB_ID
		launcher+=("--bcast=$bcast" --compress)
		# Its libraries too, since 21.08: thousands of ranks would read them from one folder.
		! srun --help 2>&1 | grep -q -- --send-libs || launcher+=(--send-libs)
	fi
}

# slurm_mpi: prints the process interface of the MPI that haul was built with. HPE Cray systems have
# their own, which is the site's default there. Elsewhere it is pmi2, which MPICH and Intel MPI
# support whatever the site's default is.
slurm_mpi()
{
	if [ -n "$MPI" ]; then
		echo "$MPI"
	elif scontrol show config | grep -q '^MpiDefault *= *cray_shasta'; then
		echo cray_shasta
	else
		echo pmi2
	fi
}

# slurm_cores: sets cores and threads: of the node with the fewest CPUs, the cores and the CPUs of each. A job with
# --threads-per-core=1 or --hint=nomultithread has one CPU of each core, whatever the node has.
slurm_cores()
{
	local cpus
	threads=$(scontrol show node "$SLURM_JOB_NODELIST" 2>/dev/null |
		sed -n 's/.*ThreadsPerCore=\([0-9]*\).*/\1/p' | sort -nr | head -n 1)
	[ "${SLURM_HINT:-}" != nomultithread ] || threads=1
	threads=${SLURM_THREADS_PER_CORE:-${threads:-1}}
	# 208(x2),104
	cpus=$(tr , '\n' <<<"${SLURM_JOB_CPUS_PER_NODE:-${SLURM_CPUS_ON_NODE:-}}" | sed 's/(.*//' | sort -n | head -n 1)
	cores=$((cpus / threads))
}

# slurm_check_numa CORES: on nodes like this one, of an HPE Cray system with several network cards, each rank's cores must be of one
# NUMA domain, or Cray MPICH ends all ranks at its beginning, unless it is told to choose cards in another way.
slurm_check_numa()
{
	local sys=${SYSFS:-/sys} domains each ranks rank straddles
	[[ $(compgen -G "$sys/class/net/hsn*" | wc -l) -gt 1 && ${MPICH_OFI_NIC_POLICY:-NUMA} = NUMA && $(slurm_mpi) = cray_shasta ]] || return 0
	domains=$(cat "$sys"/devices/system/node/node*/cpulist 2>/dev/null | grep -c .)
	each=$(($1 / (domains > 0 ? domains : 1)))
	for ((ranks = RANKS_PER_NODE; ranks > 0 && each > 0; ranks--)); do
		straddles=
		for ((rank = 0; rank < ranks; rank++)); do
			((rank * ($1 / ranks) / each == ((rank + 1) * ($1 / ranks) - 1) / each)) || straddles=yes
		done
		[ -n "$straddles" ] || break
	done
	[ "$ranks" != "$RANKS_PER_NODE" ] && [ "$each" -gt 0 ] || return 0
	[ "$ranks" -gt 0 ] || ranks=$domains
	batch_say "RANKS_PER_NODE: some of $RANKS_PER_NODE ranks on $1 cores would lie in two of $domains NUMA domains, which Cray MPICH refuses; $ranks fit"
	return 2
}

# slurm_bind: sets bind. Where a core has several hardware threads, Slurm counts each as a CPU. A
# rank gets whole cores with all their threads.
slurm_bind()
{
	local threads cores share count
	case $BIND in
	none) bind=(--cpu-bind=none) ;;
	cores)
		slurm_cores
		share=$((cores / RANKS_PER_NODE))
		if [ "$share" -gt 0 ]; then
			slurm_check_numa "$cores" || return
			bind=(--cpu-bind=cores -c $((share * threads)))
		else
			batch_say "$RANKS_PER_NODE ranks on $cores cores: they are not bound"
			bind=(--cpu-bind=none --overcommit)
		fi
		;;
	[0-9]*)
		count=$(tr , '\n' <<<"$BIND" | wc -l)
		if [ "$count" != "$RANKS_PER_NODE" ]; then
			batch_say "BIND: $count cores for $RANKS_PER_NODE ranks per node"
			return 2
		fi
		bind=("--cpu-bind=map_cpu:$BIND")
		;;
	*) bind=("--cpu-bind=$BIND") ;;
	esac
}

# srun forwards USR1 to the ranks, but kills them on TERM.
sched_signal()
{
	kill -USR1 "$1" 2>/dev/null
}

sched_after()
{
	[ -n "$bcast" ] || return 0
	sched_each_node "$1"
	timeout -k 5 60 "${launcher[@]}" rm -rf "$bcast" "${bcast}_libs" </dev/null ||
		batch_say "$bcast is left on some nodes"
}

# Slurm requeues a preempted job only if its script still runs at the end of the grace time. The
# ranks get the signal too, and have written their results by then.
sched_stopped()
{
	local seconds=0 said
	said=$(scontrol show job "$SLURM_JOB_ID" 2>/dev/null)
	[[ $said == *Requeue=1* && $said =~ PreemptTime=[0-9] ]] || return 0
	batch_say "preempted: the job waits to be requeued"
	rm -f "$work/stopped"
	while [ "$seconds" -lt 3600 ] && ! batch_stopped; do
		sleep 1
		seconds=$((seconds + 1))
	done
}

# slurm_partition WORD…: prints the partition of the submission, if it names one.
slurm_partition()
{
	local partition
	partition=$(sed -n 's/.* \(-p *\|--partition[= ] *\)\([^ ]*\).*/\2/p' <<<" $*")
	echo "${partition:-${SBATCH_PARTITION:-$(sed -n 's/^#SBATCH \(-p *\|--partition=\)//p' "$script")}}"
}

sched_check_ranks()
{
	local threads=1 cpus partition
	case $LAUNCHER in
	mpiexec)
		command -v mpiexec >/dev/null || { batch_say "LAUNCHER: there is no mpiexec here"; return 2; }
		return 0
		;;
	srun) ;;
	*) batch_say "LAUNCHER: \"$LAUNCHER\" is not one of srun, mpiexec"; return 2 ;;
	esac
	slurm_check_mpi || return
	partition=$(slurm_partition "$@")
	# The default one has a star. CPUs and hardware threads per core of each kind of node: "208 2".
	partition=${partition:-$(sinfo -h --format=%P 2>/dev/null | sed -n 's/^\([^ ]*\)\*$/\1/p' | head -n 1)}
	read -r cpus threads < <(sinfo -h ${partition:+"--partition=$partition"} --format="%c %Z" 2>/dev/null | tr -d + | sort -n)
	if [[ ! ${cpus:-} =~ ^[0-9]+$ || ! ${threads:-} =~ ^[1-9][0-9]*$ ]]; then
		unseen+=("the cores of the nodes")
		cpus=0 threads=1
	fi
	slurm_check_bind "$cpus" "$threads"
}

# slurm_check_bind CPUS THREADS: of the node with the fewest CPUs; 0: not known.
slurm_check_bind()
{
	local core bind
	case $BIND in
	[0-9]*)
		slurm_bind || return
		for core in ${BIND//,/ }; do
			if [[ ! $core =~ ^[0-9]+$ ]] || { [ "$1" != 0 ] && [ "$core" -ge "$1" ]; }; then
				batch_say "BIND: \"$core\" is not a CPU of the nodes, which have $1"
				return 2
			fi
		done
		;;
	cores)
		[ "$1" = 0 ] || [ $(($1 / $2)) -ge "$RANKS_PER_NODE" ] ||
			batch_say "check: $RANKS_PER_NODE ranks per node on $(($1 / $2)) cores: they will not be bound"
		slurm_check_numa $(($1 / $2))
		;;
	esac
}

# slurm_check_mpi: succeeds if srun has the interface, where it lists those that it has.
slurm_check_mpi()
{
	local known mpi
	mpi=$(slurm_mpi)
	known=$(srun --mpi=list 2>&1 | grep -oE '[a-z][a-z0-9_]*$' | paste -s -d ' ')
	if [ -z "$known" ]; then
		unseen+=("whether srun has --mpi=$mpi")
	elif [[ " $known " != *" $mpi "* ]]; then
		batch_say "MPI: srun has no --mpi=$mpi, but $known"
		return 2
	fi
}

sched_check()
{
	local partition
	if ! command -v sbatch >/dev/null; then
		batch_say "there is no sbatch here: this is not a login node of a Slurm cluster"
		return 2
	fi
	partition=$(slurm_partition "$@")
	batch_record sinfo ${partition:+"--partition=$partition"} --format="%P %.5a %.12l %.6D nodes %T"
	"${submit[0]}" --test-only "${submit[@]:1}"
}
