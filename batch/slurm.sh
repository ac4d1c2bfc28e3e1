# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# Job scripts under Slurm: the functions sched_… that batch/common.sh describes. slurm/*.sh sources
# this file.
set -uo pipefail
# shellcheck source=batch/common.sh
source "$HAUL_ROOT/batch/common.sh"
# shellcheck source=batch/nodes.sh
source "$HAUL_ROOT/batch/nodes.sh"
# shellcheck source=batch/scaling.sh
source "$HAUL_ROOT/batch/scaling.sh"

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

sched_submit()
{
	local header
	header=$(sched_header nodes)
	if [ -n "$NODES" ] && [ "$NODES" -gt "${header:-0}" ]; then
		echo "sbatch --nodes=$NODES $script"
	else
		echo "sbatch $script"
	fi
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
		launcher=(mpiexec -f "$1" -n "$ranks" -ppn "$RANKS_PER_NODE")
		return 0
	fi
	slurm_bind || return
	# block:block keeps neighbouring ranks on neighbouring cores; block alone distributes them
	# over the sockets in turn.
	launcher=(srun "--mpi=$(slurm_mpi)" --kill-on-bad-exit=1 --distribution=block:block
		-N "$nodes" -n "$ranks" "--ntasks-per-node=$RANKS_PER_NODE" "--nodelist=$(paste -s -d , "$1")" "${bind[@]}")
	if [ "$BCAST" = yes ] || { [ "$BCAST" = auto ] && [ "$nodes" -ge 64 ]; }; then
		bcast=$BCAST_DIR/haul.$SLURM_JOB_ID
		launcher+=("--bcast=$bcast" --compress)
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

# slurm_bind: sets bind. Where a core has several hardware threads, Slurm counts each as a CPU. A
# rank gets whole cores with all their threads.
slurm_bind()
{
	local threads cores count cpus=${SLURM_CPUS_ON_NODE:-${SLURM_JOB_CPUS_PER_NODE%%(*}}
	case $BIND in
	none) bind=(--cpu-bind=none) ;;
	cores)
		threads=$(scontrol show node "${SLURMD_NODENAME:-}" 2>/dev/null |
			sed -n 's/.*ThreadsPerCore=\([0-9]*\).*/\1/p' | head -n 1)
		threads=${threads:-1}
		cores=$((cpus / threads / RANKS_PER_NODE))
		if [ "$cores" -gt 0 ]; then
			bind=(--cpu-bind=cores -c $((cores * threads)))
		else
			batch_say "$RANKS_PER_NODE ranks on $((cpus / threads)) cores: they are not bound"
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
	timeout -k 5 60 "${launcher[@]}" rm -f "$bcast" </dev/null ||
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

# The storage is mounted already: a site that needs a mount per job makes it in a prolog of Slurm.
sched_load()
{
	:
}

# The ways are those of the job.
sched_ways()
{
	:
}

sched_mounts()
{
	return 1
}

sched_check()
{
	if ! command -v sbatch >/dev/null; then
		batch_say "there is no sbatch here: this is not a login node of a Slurm cluster"
		return 2
	fi
	local submit
	read -r -a submit <<<"$(sched_submit)"
	"${submit[0]}" --test-only "${submit[@]:1}"
}
