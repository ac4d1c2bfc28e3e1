#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Job scripts for PBS and Aurora, run with stand-ins for PBS, PALS and DAOS: the qsub command in
# their headers works, bind lists fit any number of ranks, the time limit comes from qstat, the DAOS
# container is made and recorded, dfuse mounts only on nodes that answer, and the scaling series
# runs.
# shellcheck source=tests/project/batch/stand_ins.sh
source "$(dirname "$0")/stand_ins.sh"

stand_in daos <<'X2'
#!/usr/bin/env bash
echo "daos $*" >>"$WORK/calls"
case "$1 $2" in
"container query") [ -e "$WORK/container" ] ;;
"container create") : >"$WORK/container" ;;
"pool query") [ "$3" = p ] && echo "Pool p, ntarget=640, disabled=${DISABLED:-0}, state=Ready" ;;
"container get-prop") echo "Health (status)  ${HEALTH:-HEALTHY}" ;;
esac
X2
# As ALCF's scripts do: they mount on this node in place of the first line of PBS_NODEFILE, on the others from the second line
# on by clush, and end with 0 whatever happened. On a node nomount… dfuse does not start. Without the module they are missing.
mkdir module
for tool in launch-dfuse.sh clean-dfuse.sh; do
	stand_in $tool <<'X2'
#!/usr/bin/env bash
echo "$(basename "$0") $* on $(paste -s -d ' ' "$PBS_NODEFILE")" >>"$WORK/calls"
[ -z "${HANG:-}" ] || [ "$(basename "$0")" != launch-dfuse.sh ] || exec sleep 60
act=mount
[[ "$(basename "$0")" = launch-* ]] || act=unmount
case $STAND_IN_NODES in nomount*) ;; *) echo "$act ${STAND_IN_NODES%% *}" >>"$WORK/mounts" ;; esac
clush -w "$(tail -n +2 "$PBS_NODEFILE" | paste -s -d ,)" "$act"
exit 0
X2
done
stand_in clush <<'X2'
#!/usr/bin/env bash
for node in ${2//,/ }; do
	case $node in nomount*) echo "$node: dfuse: mount failed" >&2 ;; *) echo "$3 $node" >>"$WORK/mounts" ;; esac
done
X2
# The file system of the mount's folder, by node.
stand_in df <<'X2'
#!/usr/bin/env bash
case $* in
*--output=fstype*/tmp/p/c*) grep -qx "mount ${SLURMD_NODENAME:-none}" "$WORK/mounts" && echo "Type fuse.daos" || echo "Type ext4" ;;
*--output=fstype*) echo "Type ${FSTYPE:-ext4}" ;;
*--output=target*) echo "Mounted on /" ;;
*) exec /bin/df "$@" ;;
esac | tr ' ' '\n'
X2

job()
{
	local script=$root/pbs/$1 nodes=$2
	shift 2
	run "$script" "$nodes" PBS_JOBID=7.server PBS_O_WORKDIR="$root" "$@"
}

for script in unet3d_512nodes unet3d_small unet3d_scaling; do
	# PBS passes only the variables after -v to the job.
	given=$(sed -n "s/^#   qsub -A P -v \(.*\) pbs\/$script.pbs$/\1/p" "$root/pbs/$script.pbs")
	check "$script.pbs says how to submit it" test -n "$given"
	job $script.pbs "n1 n2" HAUL_DATA= "${given/=*/=$work/data}" NODES=2
	check "$script.pbs runs as its header says" status_is 0
done

bound()
{
	job unet3d_small.pbs n1 RANKS_PER_NODE="$1" BIND="$2"
	check "$1 ranks by $2" called " --cpu-bind $3 --env"
	[ "$3" = none ] || check "$1 ranks by $2 have cores of one package, none of the system's" fits "$1" "$3"
}
# fits RANKS LIST: succeeds if haul topo reports no problem with this bind list on an Aurora node.
# shellcheck disable=SC2317  # called through check
fits()
{
	local drawn
	drawn=$("$REAL_HAUL" topo --xml "$root/tests/fixtures/topologies/aurora.xml" --bind "$2") || return
	[[ $drawn == *" · $1 ranks · inside what the launcher gives"* && $drawn != *"note "* ]]
}
bound 12 tile list:1-8:9-16:17-24:25-32:33-40:41-48:53-60:61-68:69-76:77-84:85-92:93-100
bound 6 tile list:1-16:17-32:33-48:53-68:69-84:85-100
bound 8 tile list:1-12:13-24:25-36:37-48:53-64:65-76:77-88:89-100
bound 4 tile list:1-24:25-48:53-76:77-100
tiles=list
for first in $(seq 1 4 45) $(seq 53 4 97); do
	tiles+=:$first-$((first + 3))
done
bound 24 tile "$tiles"
# Each rank gets cores of its NIC: all 12 if the NIC has one rank, 6 if it may have two.
bound 6 nic list:4,8,12,16,20,24,28,32,36,40,44,48:1,5,9,13,17,21,25,29,33,37,41,45:2,6,10,14,18,22,26,30,34,38,42,46\
:56,60,64,68,72,76,80,84,88,92,96,100:53,57,61,65,69,73,77,81,85,89,93,97:54,58,62,66,70,74,78,82,86,90,94,98
bound 12 nic list:4,8,12,16,20,24:1,5,9,13,17,21:2,6,10,14,18,22:3,7,11,15,19,23:28,32,36,40,44,48:25,29,33,37,41,45\
:56,60,64,68,72,76:53,57,61,65,69,73:54,58,62,66,70,74:55,59,63,67,71,75:80,84,88,92,96,100:77,81,85,89,93,97
bound 6 none none
# Prints for each core its number, its rank, and whether it is on the socket of this rank.
cat >cores.awk <<'X2'
{
	for (i = 1; i <= NF; i++) {
		last = split($i, range, "-")
		for (core = range[1] + 0; core <= range[last] + 0; core++)
			print core, NR, ((core < 52) == (NR <= int((n + 1) / 2))) ? "right" : "wrong"
	}
}
X2
layouts=(12)
[ "$full" = 0 ] || layouts=(1 2 6 8 12 16 24 48 96)
for ranks in "${layouts[@]}"; do
	for bind in tile nic; do
		job unet3d_small.pbs n1 RANKS_PER_NODE="$ranks" BIND="$bind"
		grep '^mpiexec.*haul run' calls | sed 's/.*--cpu-bind list:\([^ ]*\).*/\1/' | tr : '\n' >sets
		check "$ranks ranks by $bind: one set of cores per rank" test "$(wc -l <sets)" = "$ranks"
		awk -F , -v n="$ranks" -f cores.awk sets >cores
		check "$ranks ranks by $bind: no core twice, and none of those reserved for the system" \
			test -z "$(cut -d ' ' -f 1 cores | sort -n | uniq -d)$(grep -E '^(0|52|10[4-9]|1[1-9][0-9]|[2-9][0-9][0-9]) ' cores)"
		check "$ranks ranks by $bind: half of them on each socket" test -z "$(grep wrong cores)"
		check "$ranks ranks by $bind: the same number of cores for each" \
			test "$(cut -d ' ' -f 2 cores | sort | uniq -c | awk '{ print $1 }' | sort -u | wc -l)" = 1
	done
done
job unet3d_small.pbs n1 RANKS_PER_NODE=6 BIND=list:1-8:9-16
check "a bind list of another length is refused" status_is 2
check "the refusal is one sentence" said_once "BIND: 2 sets of cores for 6 ranks per node"

job unet3d_small.pbs n1
check "the time limit is that of qstat" deadline_of $((7200 - 180))
job unet3d_small.pbs n1 NO_QSTAT=1
check "without qstat the time limit is that of the header" deadline_of $((3600 - 180))

if [ "$full" = 1 ]; then
	# shellcheck source=tests/project/batch/aurora_daos.sh
	source "$root/tests/project/batch/aurora_daos.sh"
fi

# What the network needs for thousands of ranks, unless the job says otherwise.
job unet3d_small.pbs "n1 n2" NODES=2
check "the network's queue is as long as ALCF advises" called "--env FI_CXI_DEFAULT_CQ_SIZE=131072 "
check "so are its other two settings" called "--env FI_CXI_OFLOW_BUF_SIZE=8388608 --env FI_CXI_CQ_FILL_PERCENT=20 "
job unet3d_small.pbs "n1 n2" NODES=2 BCAST=yes BCAST_DIR="$work/copies"
check "the program is copied to the nodes" called "cp \"\$2\" \"\$1/haul\""
check "the copy runs" grep -qE -- "-n 24 .*--env LD_LIBRARY_PATH=$work/copies/haul.7.* $work/copies/haul.7/haul run" calls
check "nothing of it is left" test -z "$(ls "$work/copies")"
job unet3d_small.pbs "n1 n2" NODES=2 BCAST=yes BCAST_DIR="$work/nodefile/copies"
check "a copy that fails is told" said_once "the program could not be copied to $work/nodefile/copies/haul.7 on each node"
check "the ranks read the program itself" called "$work/bin/haul run"
job unet3d_small.pbs "n1 n2" NODES=2 FI_CXI_DEFAULT_CQ_SIZE=1024
check "another length of the network's queue is passed on" called "--env FI_CXI_DEFAULT_CQ_SIZE=1024 "

# A file system of many nodes: all nodes must have the folder on the same one.
job unet3d_small.pbs "n1 n2" NODES=2 ON=lustre
check "ON: a folder elsewhere is refused" said_once "left out: n1 n2: $work/data is on ext4, not on lustre"
job unet3d_small.pbs "n1 n2" NODES=2 ON=lustre FSTYPE=lustre
check "ON: a folder there is taken" status_is 0

# Three ways from one submission: each in turn, on the same nodes and data, twice.
rm -f results/* mounts
job unet3d_scaling.pbs "n1 n2" NODES=2 REPEATS=2 ACCESS="dfs dfuse pil4dfs" DAOS_POOL=p DAOS_CONT=c HAUL_DATA=/tmp/p/c/x
check "ways: succeeds" status_is 0
check "ways: all rows are there, the ways in turn" test "$(cut -f 1,5,6 results/unet3d_aurora.7.tsv | tail -n +2 | tr '\t\n' '- ')" = \
	"1-dfs-1 1-dfuse-1 1-pil4dfs-1 1-dfs-2 1-dfuse-2 1-pil4dfs-2 2-dfs-1 2-dfuse-1 2-pil4dfs-1 2-dfs-2 2-dfuse-2 2-pil4dfs-2 "
check "ways: the data are made once" test "$(grep -c '^haul generate' calls)" = 1
check "ways: dfs reads the same folder of the container" called "stores.data.uri=daos://p/c/x/unet3d"
check "ways: the name is in the results" called "--set way=pil4dfs"
check "ways: only one way has the library" test "$(grep -c '^LD_PRELOAD=' calls)" = 4
check "ways: each run has its own results" called "unet3d_aurora.7.n2.dfuse.r2.h5"

# The scaling series: one row per number of nodes, on good nodes only. A requeued job does not repeat
# the finished runs.
rm -f results/*
job unet3d_scaling.pbs "n1 n2 blind3 n4 n5" NODES=4
check "series: succeeds" status_is 0
check "series: one row per number of nodes" \
	test "$(cut -f 1 results/unet3d_aurora.7.tsv | paste -s -d ' ')" = "nodes 1 2 4"
check "series: each run has its own results file" called "--results $work/results/unet3d_aurora.7.n2.h5"
check "series: STEPS sets the number of files" called "dataset.steps_per_epoch=100"
check "series: one data set, that of the largest run" test "$(grep -c '^haul generate' calls)" = 1
check "series: the data set comes first" before "haul generate" "haul run"
check "series: no run makes it again" test "$(grep '^haul run' calls | grep -vc -- '--skip generate')" = 0
check "series: reads are cold" called "train.cold=fadvise"
job unet3d_scaling.pbs "n1 n2" NODES=2 SIZES="2 1 8"
check "series, requeued: finished runs are not repeated" not_called "haul run"
check "series, requeued: the data set of the other runs is made" called "haul generate"
check "series: a run on more nodes than are good fails" status_is 1
rm -f results/*
job unet3d_scaling.pbs "n1 n2" NODES=2 RC=1 CLEAN=yes
check "series: a failed run does not end the series" test "$(grep -c 'haul run' calls)" = 4
check "series: the exit status is that of the first failed run" status_is 1
check "series: the data set of a failed run is not removed" not_called "haul clean"
job unet3d_scaling.pbs "n1 n2" NODES=2 CLEAN=yes COLD=none
check "series: CLEAN=yes removes the data set" called "haul clean unet3d_aurora"
check "series: the data set is removed once" test "$(grep -c '^haul clean' calls)" = 1
check "series: COLD=none leaves reads warm" not_called "train.cold"
rm -f results/*
job unet3d_scaling.pbs "n1 n2" NODES=2 GENERATE_RC=1
check "series: without a data set nothing runs" not_called "haul run"
check "series: without a data set the exit status is that of haul generate" status_is 1
rm -f results/*
job unet3d_scaling.pbs "n1 n2" NODES=2 RC=4
check "series: an interrupted run ends the series" test "$(grep -c '^haul run' calls)" = 1

echo "$checks checks"
exit $((failures > 0))
