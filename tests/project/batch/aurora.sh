#!/usr/bin/env bash
# Job scripts for PBS and Aurora, run with stand-ins for PBS, PALS and DAOS: the qsub command in
# their headers works, bind lists fit any number of ranks, the time limit comes from qstat, the DAOS
# container is made and recorded, dfuse mounts only on nodes that answer, and the scaling series
# runs.
# shellcheck source=tests/project/batch/stand_ins.sh
source "$(dirname "$0")/stand_ins.sh"

stand_in qstat <<'X2'
#!/usr/bin/env bash
[ -n "${NO_QSTAT:-}" ] || echo "    Resource_List.walltime = 02:00:00"
X2
stand_in daos <<'X2'
#!/usr/bin/env bash
echo "daos $*" >>"$WORK/calls"
case "$1 $2" in
"container query") [ -e "$WORK/container" ] ;;
"container create") : >"$WORK/container" ;;
"pool query") [ "$3" = p ] && echo "Pool p, ntarget=640" ;;
esac
X2
for tool in launch-dfuse.sh clean-dfuse.sh; do
	stand_in $tool <<'X2'
#!/usr/bin/env bash
echo "$(basename "$0") $* on $(paste -s -d ' ' "$PBS_NODEFILE")" >>"$WORK/calls"
[ -z "${HANG:-}" ] || [ "$(basename "$0")" != launch-dfuse.sh ] || exec sleep 60
X2
done

export PBS_NODEFILE=$work/nodefile
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
for ranks in 1 2 6 8 12 16 24 48 96; do
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
check "the time limit is that of qstat" grep -qE -- "--deadline 70[0-9][0-9] s " calls
job unet3d_small.pbs n1 NO_QSTAT=1
check "without qstat the time limit is that of the header" grep -qE -- "--deadline 34[0-9][0-9] s " calls

daos=(ACCESS=pil4dfs DAOS_POOL=p DAOS_CONT=c HAUL_DATA="$work/data")
job unet3d_small.pbs "n1 bad2 n3" NODES=2 RC=1 CHECK_SECONDS=8 "${daos[@]}"
check "DAOS: the script keeps haul's exit status" status_is 1
check "DAOS: a missing container is made" called "daos container create --type=POSIX"
check "DAOS: the container's properties are recorded" called "daos container get-prop p c"
check "DAOS: the pool is recorded" said "ntarget=640"
check "DAOS: dfuse mounts on the nodes that answer" called "launch-dfuse.sh p:c on n1 n3"
check "DAOS: dfuse is unmounted" called "clean-dfuse.sh p:c"
check "DAOS: ranks use the interception library" called "LD_PRELOAD=/usr/lib64/libpil4dfs.so"
check "DAOS: nodes are asked before they mount" before "haul-node" "launch-dfuse.sh"
job unet3d_small.pbs "n1 n3" NODES=2 "${daos[@]}"
check "DAOS: an existing container is not made again" not_called "container create"
job unet3d_small.pbs "n1 n2" NODES=2 HANG=1 MOUNT_SECONDS=1 "${daos[@]}"
check "DAOS: a mount that hangs ends the job" status_is 1
check "DAOS: a mount that hangs is reported" said_once "dfuse could not mount the container within 1 s"
check "DAOS: a mount that hangs is undone" called "clean-dfuse.sh p:c"
job unet3d_small.pbs "n1 blind2" NODES=3 "${daos[@]}"
check "DAOS: with too few nodes nothing is mounted" not_called "launch-dfuse.sh"
rm container
job unet3d_small.pbs "n1" DAOS_CREATE= "${daos[@]}"
check "DAOS: a missing container that must not be made" said_once "no container c, and DAOS_CREATE is empty"
job unet3d_small.pbs "n1" "${daos[@]}" DAOS_POOL=q
check "DAOS: a missing pool is reported" said_once "the DAOS pool q does not answer"
job unet3d_small.pbs "n1" ACCESS=dfuse
check "DAOS without a pool is refused" status_is 2
check "DAOS without a pool mounts nothing" not_called "launch-dfuse.sh"
job unet3d_small.pbs "n1" ACCESS=dfs
check "an unknown access is refused" said_once 'ACCESS: "dfs" is not one of lustre, dfuse, pil4dfs'

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
