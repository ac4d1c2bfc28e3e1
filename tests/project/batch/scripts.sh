#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Job scripts of all schedulers, run with stand-ins for launchers and schedulers: one launch asks
# all nodes, broken nodes are left out with the reason, each mistake is reported by one sentence,
# signals reach the ranks, the exit status is kept, results of an earlier run of the same job stay,
# and no temporary file is left behind.
# shellcheck source=tests/project/batch/stand_ins.sh
source "$(dirname "$0")/stand_ins.sh"

# job SCRIPT NODES …: runs the script inside a job of its scheduler.
inside=(SLURM_JOB_ID=7 PBS_JOBID=7.server FLUX_URI=local PBS_O_WORKDIR="$root")
job()
{
	local script=$root/$1 nodes=$2
	shift 2
	"${how:-run}" "$script" "$nodes" "${inside[@]}" SLURM_JOB_NODELIST="$nodes" "$@"
}

scripts=(slurm/unet3d_512nodes.sh pbs/unet3d_small.pbs flux/unet3d_small.sh)
[ "$full" = 0 ] || scripts+=(slurm/unet3d_small.sh pbs/unet3d_512nodes.pbs)
for script in "${scripts[@]}"; do
	rm -f results/*
	# shellcheck disable=SC2016  # the script contains this text
	name=$(sed -n 's/^: "${JOB:=\([^}]*\)}".*/\1/p' "$root/$script")
	job "$script" "n1 n2 n3" NODES=2
	check "$script succeeds" status_is 0
	check "$script names the results" called "--results $work/results/$name.7.h5"
	check "$script sets a deadline" called "--deadline "
	check "$script asks all nodes by one launch" launches_are 1
	check "$script prints the plan first" said '^ranks +[0-9]+ on 2 nodes'
	check "$script records the layout of the storage" said '^\$ df -PT'
	check "$script switches off GPU support" called "MPICH_GPU_SUPPORT_ENABLED=0"
	check "$script leaves no temporary file behind" clean

	: >"results/$name.7.h5"
	job "$script" "n1 n2" NODES=2 RANKS_PER_NODE=6
	check "$script, requeued: results of the first run stay" called "--results $work/results/$name.7.1.h5"
	check "$script: RANKS_PER_NODE replaces the job's number of ranks" called "--set cluster.ranks_per_node=6"
	[ "$full" = 1 ] || [ "$script" = "${scripts[0]}" ] || continue

	job "$script" "n1 bad2 n3" NODES=2 RC=8 CHECK_SECONDS=45
	check "$script: a node that hangs is left out, and haul's exit status is kept" status_is 8
	check "$script: the node that hangs is named" said 'left out: bad2: no answer within 45 s'

	job "$script" "n1 n2 dead3 n4 n5 n6 blind7 n8" NODES=6
	check "$script: a dead node is left out" status_is 0
	check "$script: the dead node is named with the launcher's message" said 'left out: dead3: .*a node is dead'
	check "$script: a node without the folder is named with its own" said "left out: blind7: ls: cannot access '/none'"
	check "$script: a few launches find them" launches_are 9

	job "$script" "n1 blind2 n3" NODES=3
	check "$script: too few good nodes are an error" status_is 1
	check "$script: haul does not run on too few nodes" not_called "haul run"

	job "$script" "n1 n2" NODES=2 HAUL="$work/bin/huul"
	check "$script: a mistyped program is refused" status_is 2
	check "$script: one sentence names the mistyped program" said_once "HAUL: there is no program $work/bin/huul"
	check "$script: a mistyped program is refused before any launch" launches_are 0

	job "$script" "n1 n2" NODES=2 HAUL_ROOT="$work"
	check "$script: a wrong folder of haul is refused" status_is 2
	check "$script: the wrong folder is named" said_once "$work is not haul's folder"

	job "$script" "n1" NODES=1 HAUL_DATA= ACCESS=lustre
	check "$script: no folder for the data set is an error" status_is 2
	check "$script: the folder for the data set is asked for" said_once 'HAUL_DATA: set it'

	how=run_and_stop job "$script" "n1" NODES=1 LINGER=1
	check "$script: TERM reaches haul as USR1" called "haul got USR1"
	check "$script: the exit status of an interrupted run is 4" status_is 4
	check "$script: no temporary file is left behind after a signal" clean

	run "$root/$script" "" EXTRA=--ignore-space -- check
	check "$script check succeeds" status_is 0
	check "$script check launches nothing" launches_are 0
	run "$root/$script" ""
	check "$script is refused outside a job" status_is 2
	check "$script outside a job says how to submit it" said 'this is a job script: (sbatch|qsub|flux batch)'
done

# Without HAUL, the script finds the program in the build folder, where it is installed, or in PATH.
for place in root/build/release root/../bin elsewhere; do
	rm -rf prefix
	mkdir -p prefix/share/root prefix/share/elsewhere prefix/share/bin
	cp -r "$root/slurm" "$root/batch" prefix/share/root
	mkdir -p "prefix/share/$place"
	cp bin/haul "prefix/share/$place/haul"
	[ "$place" != root/../bin ] || { mkdir prefix/bin; mv prefix/share/bin/haul prefix/bin; }
	mv bin/haul bin/haul.away
	run prefix/share/root/slurm/unet3d_small.sh n1 "${inside[@]}" SLURM_JOB_NODELIST=n1 SLURM_JOB_NUM_NODES=1 HAUL= \
		PATH="$PATH:$work/prefix/share/elsewhere"
	mv bin/haul.away bin/haul
	check "the program is found in $place" status_is 0
done

# A set-up file may use undefined variables, and may change any setting.
cat >site.sh <<'X2'
: $NOT_SET
export MODULE_OF_SITE=loaded
: "${STEPS:=3}"
EXTRA="--strict --set train.batch=5"
X2
job slurm/unet3d_small.sh n1 SETUP="$work/site.sh"
check "the set-up file is sourced" called MODULE_OF_SITE=loaded
check "haul and the plan get its settings" called "dataset.steps_per_epoch=500 --strict --set train.batch=5"
echo 'false' >site.sh
job slurm/unet3d_small.sh n1 SETUP="$work/site.sh"
check "a set-up file that fails ends the job" status_is 2

job slurm/unet3d_512nodes.sh "n1 n2" NODES=2
check "the number of files follows from nodes, ranks, batch and steps" said_once "16,800 files"
check "a rank that dies ends the job" called "--kill-on-bad-exit=1"
check "neighbouring ranks are on neighbouring cores" called "--distribution=block:block"
check "a rank gets 8 cores, which have two hardware threads each" called "--cpu-bind=cores -c 16"
check "the time limit is that of squeue" called "--deadline $((26 * 3600 - 180))"
job slurm/unet3d_512nodes.sh "n1 n2" NODES=2 EXTRA="--only generate"
check "a job that only generates makes as many files" said_once "16,800 files"
check "the plan of a job that only generates has as many files" said '^data set   16,800 files'
job slurm/unet3d_512nodes.sh "n1 n2" NODES=2 STEPS= TIME_LEFT=UNLIMITED
check "without STEPS the job decides over its files" not_called "dataset.files"
check "without a time limit there is no deadline" not_called "--deadline"
job slurm/unet3d_512nodes.sh "n1" NODES=1 TIME_LEFT=INVALID RESERVE=60
check "without an answer of squeue, the header's limit holds" deadline_of $((10800 - 60))
job slurm/unet3d_small.sh "n1" NODES=1 BIND=1,2,3
check "a list of cores of another length is refused" said "BIND: 3 cores for 8 ranks per node"
job slurm/unet3d_small.sh "n1" NODES=1 BIND=1,2,3 RANKS_PER_NODE=3
check "a list of cores is passed to srun" called "--cpu-bind=map_cpu:1,2,3"
job slurm/unet3d_small.sh "n1" NODES=1 LAUNCHER=mpiexec
check "LAUNCHER=mpiexec launches by mpiexec" called "mpiexec -f"
# In the command that asks scontrol, another command substitution follows. There bash 5.2 would lose the signal.
job slurm/unet3d_small.sh "n1" NODES=1 SIGNAL=1
check "a signal within a command substitution ends the job in order" status_is 4
check "a signal within a command substitution is told" said_once "stopped by a signal before the run"
check "a signal within a command substitution breaks no function" not_said "unexpected EOF"
check "haul does not run after a signal" not_called "haul run"
job flux/unet3d_small.sh "n1 n2" NODES=2
check "Flux binds ranks to their cores" called "-n 16 --requires=hosts:n1,n2 -c 6 -o cpu-affinity=per-task"
check "Flux binds them, and no plugin of the site in its place" called "-o cpu-affinity=per-task -o mpibind=off "

echo "$checks checks"
exit $((failures > 0))
