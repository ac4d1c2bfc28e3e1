#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The word check on a login node, and what it has to know: the plan of each row and way, the data that are there, the space, the
# queue and its limits, the time, the environment, and the options with which the script would be submitted.
# shellcheck source=tests/project/batch/stand_ins.sh
source "$(dirname "$0")/stand_ins.sh"

# tried SCRIPT WORDS VARIABLE=VALUE…: checks the script with these words after check.
tried()
{
	local script=$root/$1 words
	read -r -a words <<<"$2"
	shift 2
	run "$script" "" EXTRA=--ignore-space "$@" -- check "${words[@]}"
}
cat >small.json <<'X2'
{"seed": 1, "stores": {"data": {"uri": "file://${HAUL_DATA}/small"}},
 "dataset": {"store": "data", "format": "npz", "files": 64, "sample_bytes": "4 MiB"},
 "phases": [{"generate": {}}, {"train": {"batch": 2, "compute": "200 ms", "epochs": 3}}]}
X2
small=(JOB="$work/small.json" RANKS_PER_NODE=2 STEPS=4)

# The data: those of a smaller trial are in the way, and that is told before the job waits in a queue.
mkdir trial

HAUL_DATA=$work/trial "$REAL_HAUL" generate small.json --set dataset.files=16 --set dataset.sample_bytes=16KiB >/dev/null 2>&1
check "the trial's data are there" test -e trial/small/.haul-manifest.json
tried slurm/unet3d_small.sh "" "${small[@]}" HAUL_DATA="$work/trial" STEPS= EXTRA="--set dataset.sample_bytes=16KiB"
check "check: a smaller set is told" said "another is there: .*made with files 16, this job says 64"
check "check: with a smaller set the job would fail" status_is 2
tried slurm/unet3d_small.sh "" "${small[@]}" HAUL_DATA="$work/trial" STEPS= EXTRA="--set dataset.files=16 --set dataset.sample_bytes=16KiB"
check "check: what is there already is told" said "all of it is there, 16 files"
check "check: and is enough" status_is 0
tried slurm/unet3d_small.sh "" "${small[@]}"
check "check: nothing is there" said "nothing of it is there yet"
run "$root/slurm/unet3d_small.sh" "" -- check
check "check: too little space is an error" said_once "check: there is not enough space for the data"
check "check: too little space ends with 2" status_is 2

# Words after check are those of the submission, which the scheduler is asked about.
tried slurm/unet3d_scaling.sh "-A acct --nodes=4" "${small[@]}"
check "check: Slurm is asked about the whole command" called "sbatch --test-only -A acct --nodes=4 $root/slurm/unet3d_scaling.sh"
check "check: the series ends at these nodes" said '^ranks +8 on 4 nodes'
check "check: each row of it is planned" test "$(grep -cE '^ +(1|2|4) +[248] ' log)" = 3
check "check: it says how to submit" said "sbatch -A acct --nodes=4 .* starts the run"
check "check: the partition is asked" called "sinfo"
tried slurm/unet3d_512nodes.sh "" "${small[@]}" NODES=4
check "check: fewer nodes than the header's are asked for" called "sbatch --test-only --nodes=4 $root"
tried slurm/unet3d_512nodes.sh "" "${small[@]}"
check "check: the header's nodes have spares" called "sbatch --test-only $root"
check "check: the run has the others" said '^ranks +1,024 on 512 nodes'
tried flux/unet3d_scaling.sh "-N 4 -q pdebug" "${small[@]}"
check "check: Flux is asked about the whole command" called "flux batch --dry-run -N 4 -q pdebug $root/flux/unet3d_scaling.sh"
check "check: Flux's queues are shown" said "pdebug nnodes"
tried pbs/unet3d_small.pbs "-l select=8" "${small[@]}"
check "check: a queue that is too small is an error" status_is 2
check "check: those that take the job are named" said_once "debug takes no job of 8 nodes; qsub -q names another: debug-scaling"
tried pbs/unet3d_small.pbs "-l select=8 -q debug-scaling -A P" "${small[@]}"
check "check: another queue takes it" status_is 0
check "check: its limits are told" said "the queue debug-scaling takes 2 to 31 nodes for 01:00:00"
check "check: the words are in the command" said "qsub -l select=8 -q debug-scaling -A P .* starts the run"
tried pbs/unet3d_scaling.pbs "-l select=256" "${small[@]}"
check "check: a series in the queue for large jobs" status_is 0
tried pbs/unet3d_scaling.pbs "-l select=64" "${small[@]}"
check "check: no queue for so many nodes" said_once "qsub -q names another: none does"
tried pbs/unet3d_small.pbs "" "${small[@]}" WALLTIME=7200
check "check: a queue with less time is an error" said_once "the queue debug gives a job 1:00:00, and the script asks for 2:00:00"
tried pbs/unet3d_small.pbs "" "${small[@]}"
check "check: the queue for small jobs" status_is 0
check "check: without DAOS its file system is not asked for" not_said "daos_user_fs"
for tool in daos dfuse; do
	echo '#!/bin/sh' | stand_in $tool
done
for access in dfuse "dfs pil4dfs"; do
	tried pbs/unet3d_small.pbs "-A P" "${small[@]}" ACCESS="$access" DAOS_POOL=p DAOS_CONT=c HAUL_DATA=/tmp/p/c
	check "check: with DAOS its file system is asked for: $access" said_once "qsub -l filesystems=[a-z:]*:daos_user_fs -A P .* starts the run"
done
tried pbs/unet3d_small.pbs "-l filesystems=own" "${small[@]}" ACCESS=dfs DAOS_POOL=p DAOS_CONT=c HAUL_DATA=/tmp/p/c
check "check: the file systems that are asked for are left" said_once "qsub -l filesystems=own .* starts the run"

# A job with a data set for each of its trainings: STEPS is for each of them.
tried slurm/unet3d_scaling.sh "" JOB=daos_head_to_head SIZES="1 512" DAOS_POOL=p DAOS_CONT=c
check "check: a series of a job with several data sets" status_is 0
check "check: each is as large as its nodes need" test "$(grep -cE "^data set +(dfs|pydaos|dfuse): 4,300,800 files" log)" = 3

# The time.
tried slurm/unet3d_small.sh "" "${small[@]}" WALLTIME=181 EXTRA="--ignore-space --set train.epochs=1000000"
check "check: too short a time is an error" said_once "check: that is too short"
check "check: too short a time ends with 2" status_is 2
tried slurm/unet3d_small.sh "" "${small[@]}" WALLTIME=1180
check "check: what making the data needs is told" said "left to make the data: [0-9]+ GB at [0-9.]+ GB/s at the least"
tried slurm/unet3d_small.sh "" "${small[@]}" D_LOG_MASK=DEBUG FI_PROVIDER=tcp
check "check: the environment: what spoils a run is told" said_once "environment D_LOG_MASK=DEBUG: DAOS logs"
check "check: each of it" said_once "environment FI_PROVIDER=tcp: "
tried slurm/unet3d_small.sh "" "${small[@]}"
check "check: the environment: nothing" said_once "environment nothing that is known to spoil a run"

# The time of the submission, in each form that its scheduler takes, and of the environment.
for time in "-t 2" "-t2" "--time=00:03:00" "--time 0-00:02" "-t 2:30"; do
	tried slurm/unet3d_small.sh "--nodes=2 $time" "${small[@]}"
	check "check: too short a submission is an error: $time" said_once "check: that is too short"
	check "check: too short a submission ends with 2: $time" status_is 2
done
tried slurm/unet3d_small.sh "--nodes=2" "${small[@]}" SBATCH_TIMELIMIT=2
check "check: too short a SBATCH_TIMELIMIT is an error" said_once "check: that is too short"
for time in "-t 10" "--time=00:10:00" "--time=0-1"; do
	tried slurm/unet3d_small.sh "--nodes=2 $time" "${small[@]}"
	check "check: enough time in the submission: $time" status_is 0
done
tried slurm/unet3d_small.sh "--time=00:10:00" "${small[@]}" WALLTIME=100
check "check: WALLTIME is less than the submission's time" said_once "asked for are 0:01:40"
tried pbs/unet3d_small.pbs "-l select=2,walltime=00:02:00 -A P" "${small[@]}"
check "check: too short a submission of PBS is an error" said_once "check: that is too short"
tried pbs/unet3d_small.pbs "-l walltime=170 -A P" "${small[@]}"
check "check: too short a submission of PBS, in seconds" said_once "check: that is too short"
tried pbs/unet3d_small.pbs "-l walltime=02:00:00" "${small[@]}"
check "check: a submission of PBS that is too long for its queue" said_once "the queue debug gives a job 1:00:00, and the script asks for 2:00:00"
for time in "-t 2" "-t 170s" "--time-limit=2.5m"; do
	tried flux/unet3d_small.sh "-N 2 $time" "${small[@]}"
	check "check: too short a submission of Flux is an error: $time" said_once "check: that is too short"
done
tried flux/unet3d_small.sh "-N 2 -t 1h" "${small[@]}"
check "check: enough time for Flux" status_is 0

# What haul, the launcher or the nodes would refuse is refused here.
for wrong in "EXTRA=--epochs 4|EXTRA: run: unknown option \"--epochs\"" "EXTRA=--repeat x|EXTRA: .*repeat" \
	"EXTRA=--interleave|EXTRA: --interleave" "EXTRA=more|EXTRA: run: unexpected argument" \
	"PUBLISH=often|EXTRA: --publish-every" "BIND=1,2,3|BIND: 3 cores for 2 ranks" "BIND=1,208|BIND: \"208\" is not a CPU of the nodes, which have 208" \
	"BIND=1,x|BIND: \"x\" is not a CPU" "MPI=nosuch|MPI: srun has no --mpi=nosuch, but .*pmi2" "LAUNCHER=mpirun|LAUNCHER: \"mpirun\" is not one of" \
	"ON=lustre|ON: here, $work/data is on .*, not on lustre" "SPARE=maybe|SPARE: \"maybe\"" "NODES_LEAST=0|NODES_LEAST: \"0\" is not"; do
	tried slurm/unet3d_small.sh "--nodes=2" "${small[@]}" "${wrong%%|*}"
	check "check: refused: ${wrong%%|*}" said_once "${wrong#*|}"
	check "check: ends with 2: ${wrong%%|*}" status_is 2
done
for right in "EXTRA=--ignore-space --strict --repeat 3" "PUBLISH=" "PUBLISH=30 s" BIND=1,2 MPI=cray_shasta BIND=none; do
	tried slurm/unet3d_small.sh "--nodes=2" "${small[@]}" EXTRA=--ignore-space "$right"
	check "check: right: $right" status_is 0
done
# One of each kind that is drawn, twenty in the long tests: a time that RESERVE leaves nothing of, an option or a value that haul has
# not, a binding that the nodes have not, a launcher's interface and a file system that are not there; and as many right ones of the
# same kinds.
for ((i = 1; i <= (full ? 20 : 7); i++)); do
	seconds=$((RANDOM % 170 + 10)) cpu=$((RANDOM % 208)) word=x$RANDOM
	printf -v short '%d:%02d:%02d' 0 $((seconds / 60)) $((seconds % 60))
	case $((i % 7)) in
	0) wrong="--time=$short" ;;
	1) wrong="-t $((RANDOM % 10 + 1))" with="RESERVE=$((RANDOM % 100 + 600))" ;;
	2) with="EXTRA=--ignore-space --$word" ;;
	3) with="EXTRA=--ignore-space --set train.$word=3" ;;
	4) with="BIND=$cpu,$((RANDOM % 100 + 208))" ;;
	5) with="BIND=$cpu$(printf ',%d' $(seq $((RANDOM % 3 + 2))))" ;;
	6) [ $((RANDOM % 2)) = 0 ] && with="MPI=$word" || with="ON=$word" ;;
	esac
	tried slurm/unet3d_small.sh "--nodes=2 ${wrong:-}" "${small[@]}" "${with:-NODES=2}"
	check "check: drawn, wrong: ${wrong:-} ${with:-}" status_is 2
	rights=("--time=0:$((RANDOM % 30 + 20)):00|RESERVE=$((RANDOM % 180))" "-t $((RANDOM % 30 + 20))|BIND=$cpu,$(((cpu + 1) % 208))"
		"|EXTRA=--ignore-space --set train.epochs=$((RANDOM % 5 + 1))" "|MPI=pmi2")
	right=${rights[i % 4]}
	tried slurm/unet3d_small.sh "--nodes=2 ${right%%|*}" "${small[@]}" "${right#*|}"
	check "check: drawn, right: $right" status_is 0
	unset wrong with right
done
check "check: it names what it cannot see" said_once "check: not seen from here: .*how fast the storage is"
tried slurm/unet3d_small.sh "--nodes=2" "${small[@]}" RANKS_PER_NODE=105
check "check: more ranks than cores are told" said_once "105 ranks per node on 104 cores: they will not be bound"
# An HPE Cray system with four network cards and NUMA domains on each node, as 104 of 112 cores are the job's.
mkdir -p sys/class/net/hsn{0,1,2,3} sys/devices/system/node/node{0,1,2,3}
for domain in 0 1 2 3; do
	echo "$((domain * 28))-$((domain * 28 + 27))" >"sys/devices/system/node/node$domain/cpulist"
done
cray=(SYSFS="$work/sys" MPI=cray_shasta)
tried slurm/unet3d_small.sh "--nodes=2" "${small[@]}" "${cray[@]}" RANKS_PER_NODE=12
check "check: ranks in two NUMA domains are refused" status_is 2
check "check: with the number that fits" said_once "12 ranks on 104 cores would lie in two of 4 NUMA domains, which Cray MPICH refuses; 8 fit"
tried slurm/unet3d_small.sh "--nodes=2" "${small[@]}" "${cray[@]}"
check "check: two ranks on four domains, too" said_once "2 ranks on 104 cores would lie in two of 4 NUMA domains, .*; 4 fit"
for right in RANKS_PER_NODE=8 RANKS_PER_NODE=4 MPICH_OFI_NIC_POLICY=BLOCK MPI=pmi2 SYSFS=/none; do
	tried slurm/unet3d_small.sh "--nodes=2" "${small[@]}" "${cray[@]}" RANKS_PER_NODE=12 "$right"
	check "check: right on such nodes: $right" status_is 0
done
tried flux/unet3d_small.sh "-N 2" "${small[@]}" BIND=1,2
check "check: a binding that Flux has not" said_once "BIND: \"1,2\" is not one of cores, none"
check "check makes nothing" test -z "$(ls data)"

# A job of a submission with fewer nodes than the script's header takes what it has.
inside=(SLURM_JOB_ID=7 PBS_JOBID=7.server FLUX_URI=local PBS_O_WORKDIR="$root" SLURM_JOB_NODELIST="n1 n2" EXTRA=--ignore-space)
run "$root/slurm/unet3d_512nodes.sh" "n1 n2" "${inside[@]}" "${small[@]}"
check "a submission with fewer nodes than the header's runs on them" called "-N 2 -n 4"

# What Slurm tells of the cores: each core once, whatever counts its threads.
bound()
{
	local what=$1 says=$2
	shift 2
	run "$root/slurm/unet3d_small.sh" "n1 n2" "${inside[@]}" "${small[@]}" NODES=2 "$@"
	check "$what" called "$says"
}
bound "cores: both threads of each" "--cpu-bind=cores -c 26 " RANKS_PER_NODE=8 SLURM_JOB_CPUS_PER_NODE="208(x2)"
bound "cores: one thread of each, as the job asked" "--cpu-bind=cores -c 7 " RANKS_PER_NODE=8 SLURM_JOB_CPUS_PER_NODE="56(x2)" \
	SLURM_THREADS_PER_CORE=1
bound "cores: one thread of each, as the hint says" "--cpu-bind=cores -c 1 " RANKS_PER_NODE=56 SLURM_JOB_CPUS_PER_NODE="56(x2)" \
	SLURM_HINT=nomultithread
bound "cores: nodes of two kinds have those of the smaller" "--cpu-bind=cores -c 12 " RANKS_PER_NODE=8 \
	SLURM_JOB_CPUS_PER_NODE="208(x2),104,256(x3)"
# The script is copied; the original may stand in a folder with a blank, have arguments, and be the last of an array, of which
# scontrol then shows all.
mkdir -p "a folder"
ln -s "$root/batch" "a folder/batch"
mkdir "a folder/slurm" spool
cp "$root/slurm/unet3d_small.sh" "a folder/slurm"
cp "$root/slurm/unet3d_small.sh" spool/slurm_script
run "$work/spool/slurm_script" "n1" "${inside[@]}" "${small[@]}" NODES=1 COMMAND="$work/a folder/slurm/unet3d_small.sh with words"
check "the original script is found in a folder with a blank, with words, in an array" status_is 0

# All nodes start the program at once: a large job waits for longer.
longer=$(HAUL_ROOT=$root CHECK_SECONDS='' NODES='' bash -c 'source "$HAUL_ROOT/batch/slurm.sh"; batch_default_nodes 516; echo "$CHECK_SECONDS"')
check "CHECK_SECONDS grows with the nodes" test "$longer" = 159

echo "$checks checks"
exit $((failures > 0))
