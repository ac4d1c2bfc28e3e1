# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154  # of stand_ins.sh
# The part of aurora.sh that is about DAOS: containers, the interception library, dfuse, and the module that brings it.
daos=(ACCESS=pil4dfs DAOS_POOL=p DAOS_CONT=c HAUL_DATA="$work/data")
job unet3d_small.pbs "n1 bad2 n3" NODES=2 RC=1 CHECK_SECONDS=8 "${daos[@]}"
check "DAOS: the script keeps haul's exit status" status_is 1
check "DAOS: a missing container is made" called "daos container create --type=POSIX"
check "DAOS: the container's properties are recorded" called "daos container get-prop p c"
check "DAOS: the pool is recorded" said "ntarget=640"
check "DAOS: a whole pool is no doubt" not_called "HAUL_DEGRADED"
check "DAOS: dfuse mounts on the nodes that answer" called "launch-dfuse.sh p:c on n1 n3"
check "DAOS: dfuse is unmounted" called "clean-dfuse.sh p:c"
check "DAOS: ranks use the interception library" called "LD_PRELOAD=/usr/lib64/libpil4dfs.so"
check "DAOS: nodes are asked before they mount" before "haul-node" "launch-dfuse.sh"
job unet3d_small.pbs "n1 n3" NODES=2 "${daos[@]}" ACCESS=ioil
check "DAOS: the older interception library" called "LD_PRELOAD=/usr/lib64/libioil.so"
check "DAOS: it also needs dfuse" called "launch-dfuse.sh p:c on n1 n3"
check "DAOS: an existing container is not made again" not_called "container create"
job unet3d_small.pbs "n1 n3" NODES=2 "${daos[@]}" DISABLED=16 HEALTH=UNCLEAN
check "DAOS: a degraded pool and an unclean container are told" said_once "is not whole: disabled=16, UNCLEAN"
check "DAOS: and known to haul" called "HAUL_DEGRADED=DAOS says disabled=16, UNCLEAN"
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
job unet3d_small.pbs "n1" ACCESS=dsf
check "an unknown access is refused" said_once 'ACCESS: "dsf" is not one of dfs, dfuse, pil4dfs, ioil'

cp bin/launch-dfuse.sh bin/launch-dfuse-with-caching.sh
job unet3d_small.pbs "n1 n3" NODES=2 "${daos[@]}" DFUSE_LAUNCHER=launch-dfuse-with-caching.sh DFUSE="--thread-count 8"
check "DAOS: another launcher of dfuse is chosen, and gets the options" called "launch-dfuse-with-caching.sh p:c --thread-count 8 on n1 n3"
job unet3d_small.pbs "n1 n3" NODES=2 "${daos[@]}" DFUSE_LAUNCHER=launch-nothing.sh
check "DAOS: a launcher of dfuse that is not there is an error" said_once "there is neither launch-nothing.sh nor dfuse here"

# Each node proves its mount: the launcher of dfuse tells nothing.
job unet3d_small.pbs "n4 n3 nomount2 n1" NODES=3 "${daos[@]}"
check "DAOS: a node without the mount is left out" status_is 0
check "DAOS: it is named, with what its folder is on" said_once "left out: nomount2: /tmp/p/c is on ext4, not on dfuse"
check "DAOS: the order and the head of the node file are kept" called "launch-dfuse.sh p:c on n4 n3 nomount2 n1"
check "DAOS: haul runs on the others" grep -q '^mpiexec .*-n 36 .*haul run' calls
job unet3d_small.pbs "n4 n3 nomount2 n1" NODES=4 "${daos[@]}"
check "DAOS: too few nodes with a mount are an error" status_is 1
check "DAOS: nothing runs on too few mounts" not_called "haul run"
job unet3d_small.pbs "blind9 n3 n1" NODES=2 "${daos[@]}"
check "DAOS: the head stays in the list of the launcher where it takes no part" called "launch-dfuse.sh p:c on blind9 n3 n1"
check "DAOS: the same list is cleaned" called "clean-dfuse.sh p:c on blind9 n3 n1"
check "DAOS: pool and container are passed on" called "--env DAOS_POOL=p --env DAOS_CONT=c"
# The module, and not a program daos, brings the launcher; it is there when the job ends.
mv bin/launch-dfuse.sh bin/clean-dfuse.sh module
cat >site.sh <<'X2'
module()
{
	[ "$1" = load ] || return 0
	[ -z "${NO_MODULE:-}" ] || { echo "cannot load $2" >&2; return 1; }
	PATH=$WORK/module:$PATH
	export DAOS_AGENT_DRPC_DIR=/run
}
X2
job unet3d_small.pbs "n1 n2" NODES=2 SETUP="$work/site.sh" "${daos[@]}"
check "DAOS: the module is loaded although a program daos exists" called "launch-dfuse.sh p:c on n1 n2"
check "DAOS: the module is there at the end" called "clean-dfuse.sh p:c"
job unet3d_small.pbs "n1 n2" NODES=2 SETUP="$work/site.sh" NO_MODULE=1 "${daos[@]}"
check "DAOS: a module that cannot be loaded is an error" status_is 2
check "DAOS: it is told" said_once "the module daos of /soft/modulefiles could not be loaded"
printf 'module load PrgEnv\n: fine\n' >>site.sh
job unet3d_small.pbs "n1" SETUP="$work/site.sh" NO_MODULE=1
check "a module load that fails in the set-up file is an error" status_is 2
check "it is named" said_once "site.sh: failed: module load PrgEnv"
printf 'module load PrgEnv || true\n' >>site.sh
mv module/* bin
