#!/usr/bin/env bash
# What only the scripts for PBS and Aurora do, under stand-ins: qsub as their headers say, bind
# lists for any number of ranks, limits from qstat, the DAOS container made and recorded, dfuse on
# nodes that answer only, and the series of runs.
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
	# What the header tells to submit, and only that, is what PBS gives to the job.
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
# fits RANKS LIST: haul topo has nothing to note of it on an Aurora node.
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
# Whole cores of its NIC for each rank: 12 where a NIC has one rank, 6 where it may have two.
bound 6 nic list:4,8,12,16,20,24,28,32,36,40,44,48:1,5,9,13,17,21,25,29,33,37,41,45:2,6,10,14,18,22,26,30,34,38,42,46\
:56,60,64,68,72,76,80,84,88,92,96,100:53,57,61,65,69,73,77,81,85,89,93,97:54,58,62,66,70,74,78,82,86,90,94,98
bound 12 nic list:4,8,12,16,20,24:1,5,9,13,17,21:2,6,10,14,18,22:3,7,11,15,19,23:28,32,36,40,44,48:25,29,33,37,41,45\
:56,60,64,68,72,76:53,57,61,65,69,73:54,58,62,66,70,74:55,59,63,67,71,75:80,84,88,92,96,100:77,81,85,89,93,97
bound 6 none none
# For each core: its number, its rank, and whether it is on the socket where this rank belongs.
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
		check "$ranks ranks by $bind have a set each" test "$(wc -l <sets)" = "$ranks"
		awk -F , -v n="$ranks" -f cores.awk sets >cores
		check "no core twice, none of the system's" \
			test -z "$(cut -d ' ' -f 1 cores | sort -n | uniq -d)$(grep -E '^(0|52|10[4-9]|1[1-9][0-9]|[2-9][0-9][0-9]) ' cores)"
		check "halves on their sockets" test -z "$(grep wrong cores)"
		check "all alike" test "$(cut -d ' ' -f 2 cores | sort | uniq -c | awk '{ print $1 }' | sort -u | wc -l)" = 1
	done
done
job unet3d_small.pbs n1 RANKS_PER_NODE=6 BIND=list:1-8:9-16
check "a list of another length is refused" status_is 2
check "in a sentence" said_once "BIND: 2 sets of cores for 6 ranks per node"

job unet3d_small.pbs n1
check "the limit is that of qstat" grep -qE -- "--deadline 70[0-9][0-9] s " calls
job unet3d_small.pbs n1 NO_QSTAT=1
check "without qstat that of the header" grep -qE -- "--deadline 34[0-9][0-9] s " calls

daos=(ACCESS=pil4dfs DAOS_POOL=p DAOS_CONT=c HAUL_DATA="$work/data")
job unet3d_small.pbs "n1 bad2 n3" NODES=2 RC=1 "${daos[@]}"
check "DAOS: status kept" status_is 1
check "DAOS: a missing container is made" called "daos container create --type=POSIX"
check "DAOS: properties are recorded" called "daos container get-prop p c"
check "DAOS: the pool is recorded" said "ntarget=640"
check "DAOS: mounted where nodes answer" called "launch-dfuse.sh p:c on n1 n3"
check "DAOS: unmounted" called "clean-dfuse.sh p:c"
check "DAOS: interception" called "LD_PRELOAD=/usr/lib64/libpil4dfs.so"
check "DAOS: nodes are asked before they mount" before "haul-node" "launch-dfuse.sh"
job unet3d_small.pbs "n1 n3" NODES=2 "${daos[@]}"
check "DAOS: a container that is there is used" not_called "container create"
job unet3d_small.pbs "n1 n2" NODES=2 HANG=1 MOUNT_SECONDS=1 "${daos[@]}"
check "DAOS: a mount that hangs ends the job" status_is 1
check "DAOS: it is named" said_once "dfuse could not mount the container within 1 s"
check "DAOS: and undone" called "clean-dfuse.sh p:c"
job unet3d_small.pbs "n1 blind2" NODES=3 "${daos[@]}"
check "DAOS: with too few nodes nothing is mounted" not_called "launch-dfuse.sh"
rm container
job unet3d_small.pbs "n1" DAOS_CREATE= "${daos[@]}"
check "DAOS: no container, none to be made" said_once "no container c, and DAOS_CREATE is empty"
job unet3d_small.pbs "n1" "${daos[@]}" DAOS_POOL=q
check "DAOS: a pool that is not there" said_once "the DAOS pool q does not answer"
job unet3d_small.pbs "n1" ACCESS=dfuse
check "DAOS without a pool is refused" status_is 2
check "DAOS: nothing is mounted then" not_called "launch-dfuse.sh"
job unet3d_small.pbs "n1" ACCESS=dfs
check "an unknown access is refused" said_once 'ACCESS: "dfs" is not one of lustre, dfuse, pil4dfs'

# The series: a row for each size, good nodes only; what is done is not done again when the job is
# requeued.
rm -f results/*
job unet3d_scaling.pbs "n1 n2 blind3 n4 n5" NODES=4
check "series: runs" status_is 0
check "series: sizes" test "$(cut -f 1 results/unet3d_aurora.7.tsv | paste -s -d ' ')" = "nodes 1 2 4"
check "series: its own results" called "--results $work/results/unet3d_aurora.7.n2.h5"
check "series: its own files" called "dataset.steps_per_epoch=100"
check "series: one data set, of the largest run" test "$(grep -c '^haul generate' calls)" = 1
check "series: the data set comes first" before "haul generate" "haul run"
check "series: no run makes it again" test "$(grep '^haul run' calls | grep -vc -- '--skip generate')" = 0
check "series: cold reads" called "train.cold=fadvise"
job unet3d_scaling.pbs "n1 n2" NODES=2 SIZES="2 1 8"
check "series, requeued: done rows stay" not_called "haul run"
check "series, requeued: the data set of those that are left" called "haul generate"
check "series: more nodes than are good" status_is 1
rm -f results/*
job unet3d_scaling.pbs "n1 n2" NODES=2 RC=1 CLEAN=yes
check "series: a row that fails does not end it" test "$(grep -c 'haul run' calls)" = 4
check "series: the status is the first row's" status_is 1
check "series: what failed is not removed" not_called "haul clean"
job unet3d_scaling.pbs "n1 n2" NODES=2 CLEAN=yes COLD=none
check "series: the data set is removed when asked" called "haul clean unet3d_aurora"
check "series: once" test "$(grep -c '^haul clean' calls)" = 1
check "series: warm reads" not_called "train.cold"
rm -f results/*
job unet3d_scaling.pbs "n1 n2" NODES=2 GENERATE_RC=1
check "series: without a data set nothing runs" not_called "haul run"
check "series: and its status is that of haul generate" status_is 1
rm -f results/*
job unet3d_scaling.pbs "n1 n2" NODES=2 RC=4
check "series: an interrupted run ends it" test "$(grep -c '^haul run' calls)" = 1

echo "$checks checks"
exit $((failures > 0))
