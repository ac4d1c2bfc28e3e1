# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2317  # variables and functions are for the tests that source this
# Stand-ins for launchers and schedulers, and functions that run a job script with them. The
# name of a node says how it behaves: bad… never answers, dead… keeps the launcher from starting
# anything, blind… does not see the folder.
set -uo pipefail
root=${HAUL_SOURCE:?}
cd "$root" || exit 1
# shellcheck source=tests/project/changed.sh
source tests/project/changed.sh
# Whether to try all scripts and layouts: where the change touches what makes them, or with HAUL_TEST_FULL=1.
full=${HAUL_TEST_FULL:-0}
[ -z "$(changed batch slurm pbs flux tests/project/batch)" ] || full=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir bin data results tmp
failures=0 checks=0

stand_in()
{
	cat >"bin/$1"
	chmod +x "bin/$1"
}

# Launchers record their arguments. The check of the nodes is run here once per node; haul is run
# once.
stand_in launcher <<'X2'
#!/usr/bin/env bash
self=$(basename "$0")
echo "$self $*" >>"$WORK/calls"
hosts=
while [ $# -gt 0 ]; do
	case $1 in
	--mpi=list)
		printf 'MPI plugin types are...\n\tcray_shasta\n\tnone\n\tpmi2\n' >&2
		exit 0
		;;
	--nodelist=*) hosts=${1#*=} ;;
	--hosts) hosts=$2 ;;
	--hostfile | -f) hosts=$(paste -s -d , "$2") ;;
	--rank=*) hosts=$(flux hostlist instance ranks "${1#*=}") ;;
	--env)
		export "${2?}"
		shift
		;;
	--export=ALL,*) export "${1#--export=ALL,}" ;;
	sh | */haul | rm | env) break ;;
	esac
	shift
done
[ "$1" = sh ] || exec "$@"
echo "asked $hosts" >>"$WORK/asked"
case ,$hosts in *,dead*)
	echo "$self: error: a node is dead" >&2
	exit 1
	;;
esac
wait=0 rc=0 tasks=()
for host in ${hosts//,/ }; do
	case $host in
	bad*) wait=60 ;;
	blind*) echo "haul-node $host ls: cannot access '/none'" ;;
	*)
		SLURMD_NODENAME=$host "$@" &
		tasks+=($!)
		;;
	esac
done
trap 'kill $(jobs -pr) 2>/dev/null; exit 143' TERM
for task in "${tasks[@]}"; do
	wait "$task" || rc=$?
done
[ "$wait" = 0 ] || exec sleep $wait
exit "$rc"
X2
ln -s launcher bin/mpiexec
ln -s launcher bin/srun

stand_in scontrol <<'X2'
#!/usr/bin/env bash
case "$*" in
"show hostnames"*) tr ' ' '\n' <<<"$3" ;;
"show config") [ -z "${SIGNAL:-}" ] || kill -USR1 "$(cat "$WORK/script_pid")" ;;
"show node"*) echo "   State=IDLE ThreadsPerCore=2 TmpDisk=0" ;;
"show job"*) printf '   Command=%s\n   Command=other\n' "${COMMAND:-}" ;;
esac
X2
stand_in squeue <<'X2'
#!/usr/bin/env bash
echo "${TIME_LEFT:-1-02:00:00}"
X2
stand_in sbatch <<'X2'
#!/usr/bin/env bash
echo "sbatch $*" >>"$WORK/calls"
X2
ln -s sbatch bin/qsub
# With queues as Aurora has them.
stand_in qstat <<'X2'
#!/usr/bin/env bash
if [ "$1" = -Qf ]; then
	while read -r queue least most time; do
		[ -z "${2:-}" ] || [ "$2" = "$queue" ] || continue
		printf 'Queue: %s\n    resources_max.nodect = %s\n    resources_max.walltime = %s\n    resources_min.nodect = %s\n' \
			"$queue" "$most" "$time" "$least"
		found=1
	done <<<"debug 1 2 01:00:00
debug-scaling 2 31 01:00:00
prod 256 10624 24:00:00"
	[ -n "${found:-}" ]
	exit
fi
[ -n "${NO_QSTAT:-}" ] || echo "    Resource_List.walltime = ${TIME_LEFT:-02:00:00}"
X2
stand_in sinfo <<'X2'
#!/usr/bin/env bash
echo "sinfo $*" >>"$WORK/calls"
case "$*" in
*%c*) echo "208 2" ;;
*"--format=%P") echo "low*" ;;
*) echo "low* up 1-00:00:00 520 nodes idle" ;;
esac
X2
stand_in flux <<'X2'
#!/usr/bin/env bash
case "$*" in
"getattr jobid") echo f7 ;;
"job id --to=dec f7") echo 7 ;;
"job timeleft") echo 7200 ;;
"job killall --force --signal=SIGUSR1") kill -USR1 "$(cat "$WORK/pid")" ;;
"hostlist instance ranks"*)
	for rank in ${4//,/ }; do
		sed -n "$((rank + 1))p" "$WORK/nodefile"
	done | paste -s -d ,
	;;
"hostlist --expand"*) echo "$STAND_IN_NODES" ;;
"resource list"*) [[ "$*" == *ncores* ]] && echo 96 || echo 2 ;;
"queue list") echo "pdebug nnodes 0-32 1h" ;;
"batch --dry-run"*) echo "flux $*" >>"$WORK/calls" ;;
exec* | run*) exec -a flux "$WORK/bin/launcher" "$@" ;;
*) exit 1 ;;
esac
X2

# The program: plans are made by the real haul. Runs end at once with status $RC, or, under LINGER=1,
# when the signal comes.
stand_in haul <<'X2'
#!/usr/bin/env bash
case $1 in run | generate | clean) ;; *) exec "$REAL_HAUL" "$@" ;; esac
echo "haul $*" >>"$WORK/calls"
env | grep -E '^(MPICH_GPU|MPIR_CVAR|I_MPI|LD_PRELOAD|HAUL_DATA|HAUL_DEGRADED|MODULE)' >>"$WORK/calls"
[ "$1" != generate ] || exit "${GENERATE_RC:-0}"
echo $$ >"$WORK/pid"
[ "${LINGER:-0}" = 1 ] || exit "${RC:-0}"
trap 'echo "haul got USR1" >>"$WORK/calls"; exit 4' USR1
: >"$WORK/started"
for _ in $(seq 6000); do sleep 0.1; done
X2

export REAL_HAUL=${HAUL:?}
export WORK=$work TMPDIR=$work/tmp PATH=$work/bin:$PATH HAUL=$work/bin/haul RESULTS_DIR=$work/results
# Only where a node hangs is the limit ever reached, on however busy a machine.
export CHECK_SECONDS=120
export SLURM_CPUS_ON_NODE=208 SLURMD_NODENAME=n1 PBS_NODEFILE=$work/nodefile
unset HAUL_ROOT HAUL_DATA SLURM_JOB_ID SLURM_SUBMIT_DIR PBS_JOBID PBS_O_WORKDIR FLUX_URI LD_PRELOAD

# start SCRIPT NODES [VARIABLE=VALUE…] [-- WORD]: starts the script in the background, as $script_pid.
start()
{
	local script=$1 nodes=$2 words=() settings=()
	shift 2
	while [ $# -gt 0 ]; do
		if [ "$1" = -- ]; then
			words=("${@:2}")
			break
		fi
		settings+=("$1")
		shift
	done
	rm -f started asked mounts
	: >mounts
	: >calls
	: >asked
	tr ' ' '\n' <<<"$nodes" >nodefile
	{
		echo "$BASHPID" >script_pid # before the script asks for it
		exec env STAND_IN_NODES="$nodes" HAUL_DATA="$work/data" "${settings[@]}" bash "$script" "${words[@]}"
	} >log 2>&1 &
	script_pid=$!
}

# run …: takes the arguments of start, and leaves rc and the files calls, asked and log.
run()
{
	local began=$SECONDS
	start "$@"
	wait "$script_pid"
	rc=$?
	took=$((SECONDS - began + 1))
}

# deadline_of SECONDS: the deadline is so long, less what the script has taken until then.
deadline_of()
{
	local found
	found=$(sed -n 's/.*--deadline \([0-9]*\) s.*/\1/p' calls | head -n 1)
	[ -n "$found" ] && [ "$found" -le "$1" ] && [ "$found" -ge $(($1 - took)) ]
}

run_and_stop()
{
	start "$@"
	for _ in $(seq 1200); do
		[ ! -e started ] || break
		sleep 0.1
	done
	kill -TERM "$script_pid"
	wait "$script_pid"
	rc=$?
}

check()
{
	local what=$1
	checks=$((checks + 1))
	shift
	if ! "$@"; then
		printf 'failed: %s\n' "$what"
		sed 's/^/    /' calls asked log
		failures=$((failures + 1))
	fi
}

status_is() { [ "$rc" = "$1" ]; }
called() { grep -qF -- "$1" calls; }
not_called() { ! called "$1"; }
said() { grep -qE -- "$1" log; }
not_said() { ! said "$1"; }
said_once() { [ "$(grep -cE -- "$1" log)" = 1 ]; }
launches_are() { [ "$(wc -l <asked)" -le "$1" ]; }
before() { [ "$(grep -nF -m 1 -- "$1" calls | cut -d : -f 1)" -lt "$(grep -nF -m 1 -- "$2" calls | cut -d : -f 1)" ]; }
clean() { [ -z "$(ls tmp)" ]; }
