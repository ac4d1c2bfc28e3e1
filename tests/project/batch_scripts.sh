#!/usr/bin/env bash
# shellcheck disable=SC2317  # functions are called through check(), and by the scripts under test
# The job scripts' bodies under stand-ins for the launchers, the scheduler and dfuse: nodes that do not
# answer are left out, signals reach the ranks, the exit status is kept, and what was mounted is
# unmounted whatever happens.
set -uo pipefail
root=${HAUL_SOURCE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir bin data results
failures=0

stand_in()
{
	cat >"bin/$1"
	chmod +x "bin/$1"
}

# Launchers: drop the options up to haul or the check, note them, run the rest once here. Nodes named
# bad* never answer.
stand_in launcher <<'X'
#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$WORK/calls"
case " $* " in *" bad"*) sleep 60 ;; esac
while [ $# -gt 0 ]; do
	case $1 in
	sh) exec "$@" ;;
	*/haul) exec "$@" ;;
	esac
	shift
done
X
ln -s launcher bin/mpiexec
ln -s launcher bin/srun
stand_in scontrol <<'X'
#!/usr/bin/env bash
tr ' ' '\n' <<<"$3"
X
for tool in launch-dfuse.sh clean-dfuse.sh; do
	stand_in $tool <<'X'
#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$WORK/calls"
X
done
# haul: ends with $RC at once, or, asked to, waits for the signal.
stand_in haul <<'X'
#!/usr/bin/env bash
echo "haul $*" >>"$WORK/calls"
[ "${LINGER:-0}" = 1 ] || exit "${RC:-0}"
trap 'echo "haul got USR1" >>"$WORK/calls"; exit 4' USR1
: >"$WORK/started"
for _ in $(seq 100); do sleep 0.1; done
X
module() { echo "module $*" >>"$WORK/calls"; }
export -f module

export WORK=$work PATH=$work/bin:$PATH HAUL=$work/bin/haul HAUL_ROOT=$root RESULTS_DIR=$work/results
export CHECK_SECONDS=1 SLURM_JOB_ID=7 SLURM_CPUS_ON_NODE=104 PBS_JOBID=7.server
export PBS_NODEFILE=$work/nodefile
unset SLURM_SUBMIT_DIR PBS_O_WORKDIR

# start SCRIPT NODES [VARIABLE=VALUE…]: in the background, as $script_pid.
start()
{
	local script=$root/$1 nodes=$2
	shift 2
	rm -f started
	: >calls
	tr ' ' '\n' <<<"$nodes" >nodefile
	env SLURM_JOB_NODELIST="$nodes" SLURM_JOB_NUM_NODES="$(wc -w <<<"$nodes")" \
		HAUL_DATA="$work/data" "$@" bash "$script" >log 2>&1 &
	script_pid=$!
}

# run …: rc, calls and log tell what happened.
run()
{
	start "$@"
	wait "$script_pid"
	rc=$?
}

run_and_stop()
{
	start "$@"
	for _ in $(seq 100); do
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
	shift
	if ! "$@"; then
		printf 'failed: %s\n' "$what"
		sed 's/^/    /' calls log
		failures=$((failures + 1))
	fi
}

status_is() { [ "$rc" = "$1" ]; }
called() { grep -qF -- "$1" calls; }
not_called() { ! called "$1"; }
left_behind() { compgen -G 'results/hosts.*' >/dev/null; }
clean() { ! left_behind; }

for script in slurm/unet3d_512nodes.sh slurm/unet3d_small.sh pbs/unet3d_512nodes.pbs pbs/unet3d_small.pbs; do
	check "$script parses" bash -n "$root/$script"

	run $script "n1 n2 n3" NODES=2
	check "$script: runs" status_is 0
	check "$script: results named" called "--results $work/results/unet3d.7.h5"
	check "$script: deadline" called "--deadline "
	check "$script: nothing left behind" clean

	run $script "n1 bad2 n3" NODES=2 RC=8
	check "$script: a bad node is left out, the exit status kept" status_is 8
	check "$script: the bad node is named" grep -q 'bad2 did not answer' log

	run $script "n1 bad2 n3" NODES=3
	check "$script: too few good nodes" status_is 1
	check "$script: haul is not run then" not_called "haul run"

	run_and_stop $script "n1" NODES=1 LINGER=1
	check "$script: TERM reaches haul as USR1" called "haul got USR1"
	check "$script: interrupted" status_is 4
	check "$script: nothing left behind after a signal" clean
done

run slurm/unet3d_512nodes.sh "n1 n2" NODES=2
check "files follow nodes, ranks, batch and steps" called "dataset.files=$((2 * 12 * 7 * 100))"
check "a rank that dies ends the job" called "--kill-on-bad-exit=1"
run slurm/unet3d_small.sh "n1" LAUNCHER=mpiexec
check "Slurm with mpiexec" called "mpiexec -f"

run pbs/unet3d_512nodes.pbs "n1" NODES=1 ACCESS=pil4dfs DAOS_POOL=p DAOS_CONT=c RC=1 BIND=nic HAUL_DATA="$work/data"
check "DAOS: status kept" status_is 1
check "DAOS: mounted" called "launch-dfuse.sh p:c"
check "DAOS: unmounted" called "clean-dfuse.sh p:c"
check "DAOS: interception" called "LD_PRELOAD=/usr/lib64/libpil4dfs.so"
check "bound by NIC" called "--cpu-bind list:4:9:14:19:20:25:56:61:66:71:74:79"
run pbs/unet3d_small.pbs "n1" ACCESS=dfuse
check "DAOS without a pool is refused" status_is 2
check "and nothing is mounted" not_called launch-dfuse.sh

exit $((failures > 0))
