#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three ways to a container of DAOS from one submission, under each scheduler, at a site that has dfuse and no launcher for it:
# each way in turn, on the same nodes and data; dfuse is mounted by one launch that stays until the end, each node proves its
# mount, what was mounted already stays, and the library is loaded by the ranks of one way only.
# shellcheck source=tests/project/batch/stand_ins.sh
source "$(dirname "$0")/stand_ins.sh"

stand_in daos <<'X2'
#!/usr/bin/env bash
echo "daos $*" >>"$WORK/calls"
X2
# It goes into the background when it is mounted, or ends with an error.
stand_in dfuse <<'X2'
#!/usr/bin/env bash
echo "dfuse $* on $SLURMD_NODENAME" >>"$WORK/calls"
case $SLURMD_NODENAME in nomount*) echo "dfuse: cannot mount: no agent" >&2; exit 1 ;; esac
echo "$SLURMD_NODENAME" >>"$WORK/mounts"
X2
stand_in mountpoint <<'X2'
#!/usr/bin/env bash
grep -qx "$SLURMD_NODENAME" "$WORK/mounts"
X2
stand_in fusermount3 <<'X2'
#!/usr/bin/env bash
echo "fusermount3 $* on $SLURMD_NODENAME" >>"$WORK/calls"
X2
stand_in df <<'X2'
#!/usr/bin/env bash
case $* in
*--output=fstype*/tmp/p/c*) grep -qx "${SLURMD_NODENAME:-none}" "$WORK/mounts" && echo "Type fuse.daos" || echo "Type ext4" ;;
*--output=fstype*) echo "Type ext4" ;;
*--output=target*) echo "Mounted on /" ;;
*) exec /bin/df "$@" ;;
esac | tr ' ' '\n'
X2
inside=(SLURM_JOB_ID=7 PBS_JOBID=7.server FLUX_URI=local PBS_O_WORKDIR="$root" DAOS_MODULES= DAOS_POOL=p DAOS_CONT=c
	HAUL_DATA=/tmp/p/c/x)
# job SCRIPT NODES VARIABLE=VALUE…
job()
{
	local script=$root/$1 nodes=$2
	shift 2
	run "$script" "$nodes" "${inside[@]}" SLURM_JOB_NODELIST="$nodes" "$@"
}

for script in slurm/unet3d_scaling.sh pbs/unet3d_scaling.pbs flux/unet3d_scaling.sh; do
	rm -rf results/*
	job "$script" "n1 nomount2 n3 n4" NODES=3 SIZES="1 3" ACCESS="dfs dfuse pil4dfs" DFUSE="--disable-caching"
	check "$script: three ways succeed" status_is 0
	check "$script: all rows are there, the ways in turn" test "$(cut -f 1,5 results/unet3d_aurora.7.tsv | tail -n +2 | tr '\t\n' '- ')" = \
		"1-dfs 1-dfuse 1-pil4dfs 3-dfs 3-dfuse 3-pil4dfs "
	check "$script: the data are made once" test "$(grep -c '^haul generate' calls)" = 1
	check "$script: dfuse mounts the container" called "dfuse --mountpoint=/tmp/p/c --pool=p --container=c --disable-caching on n1"
	check "$script: a node where dfuse fails is told" said_once "dfuse on nomount2: dfuse: cannot mount: no agent"
	check "$script: and left out" said "left out: nomount2: /tmp/p/c is on ext4, not on dfuse"
	check "$script: nothing is mounted twice" test "$(grep -c '^dfuse ' calls)" = 4
	check "$script: what was mounted is unmounted" called "fusermount3 -u /tmp/p/c on n4"
	check "$script: what was not mounted is left" not_called "fusermount3 -u /tmp/p/c on nomount2"
	check "$script: after the last run" before "haul run" "fusermount3"
	check "$script: dfs reads the same folder of the container" called "stores.data.uri=daos://p/c/x/unet3d"
	check "$script: dfs has no page cache to drop" called "--set way=dfs --set stores.data.uri=daos://p/c/x/unet3d"
	check "$script: only one way has the library" test "$(grep -c '^LD_PRELOAD=' calls)" = 2
	check "$script: its ranks load it, not their launcher" not_called "LD_PRELOAD=/usr/lib64/libpil4dfs.so srun"
	check "$script: no temporary file is left" clean
	check "$script: no process of the mount is left" test -z "$(pgrep -f "mount /tmp/p/c p c --disable-caching")"
done

# A mount that a prolog of the site has made.
cat >prolog.sh <<'X2'
tr ' ' '\n' <<<"$STAND_IN_NODES" >"$WORK/mounts"
X2
job slurm/unet3d_small.sh "n1 n2" ACCESS=dfuse SETUP="$work/prolog.sh"
check "a mount that is there: the run succeeds" status_is 0
check "a mount that is there: is not made again" not_called "dfuse --mountpoint"
check "a mount that is there: stays" not_called "fusermount3"
# Copies of the program for each node, and the way's library by srun itself: env would be copied in its place.
job slurm/unet3d_small.sh "n1 n2" ACCESS=pil4dfs BCAST=yes
check "a copied program gets the library by srun" called "--export=ALL,LD_PRELOAD=/usr/lib64/libpil4dfs.so --bcast=/tmp/haul.7"
check "a copied program and its libraries are removed" called "rm -rf /tmp/haul.7 /tmp/haul.7_libs"
mv bin/dfuse away
job slurm/unet3d_small.sh "n1" ACCESS=dfuse
check "without dfuse the job is refused" status_is 2
check "it is told" said_once "there is neither launch-dfuse.sh nor dfuse here"
job slurm/unet3d_small.sh "n1" ACCESS=dfs
check "libdfs alone needs no mount" status_is 0

echo "$checks checks"
exit $((failures > 0))
