#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# flux: --job-name=unet3d_scaling
# flux: -N 516
# flux: -t 12h
# flux: --exclusive
# flux: --output=unet3d_scaling.{{id}}.log
# flux: --signal=SIGUSR1@120
#
# unet3d on 1, 2, 4 … 512 nodes, one run after the other in one job. All runs read the same data
# set, which has 8,400 files and 1.23 TB for each node of the largest run.
#
#   HAUL_DATA=/lustre/project/haul flux/unet3d_scaling.sh check
#   HAUL_DATA=/lustre/project/haul flux batch flux/unet3d_scaling.sh
#
# Two minutes before the time limit this script gets USR1; haul then stops and writes its results.
# The script has not run under a real Flux yet: it is written from the manual pages and tested with
# stand-ins for Flux's commands.

# ---- Settings ------------------------------------------------------------------------------------
# Each may be given in the environment. docs/batch-scripts.md lists the others.
: "${JOB:=unet3d_aurora}"        # a job file, or a name of haul catalog
NODES_MOST=512                   # nodes of the largest run, unless NODES says it; further nodes of the job are spares
: "${SIZES:=}"                   # numbers of nodes: 1 8 64; default: 1 2 4 … NODES
: "${RANKS_PER_NODE:=12}"        # one per accelerator
: "${STEPS=100}"                 # steps per rank and epoch, which set the number of files
: "${COLD:=fadvise}"             # drops files from the page cache before each epoch; or none
: "${CLEAN:=no}"                 # yes: removes the data set when all runs are done

# ---- The run -------------------------------------------------------------------------------------
# Flux runs a copy of this script in the folder where flux batch was called, which is haul's folder
# or one below it.
script=$0
[ -n "${HAUL_ROOT:-}" ] || for HAUL_ROOT in "$(dirname "$script")/.." "$PWD/.." "$PWD"; do
	[ ! -r "$HAUL_ROOT/batch/flux.sh" ] || break
done
if [ ! -r "$HAUL_ROOT/batch/flux.sh" ]; then
	echo "haul: $HAUL_ROOT is not haul's folder: it has no batch/flux.sh; set HAUL_ROOT" >&2
	exit 2
fi
# shellcheck source=batch/flux.sh
source "$HAUL_ROOT/batch/flux.sh"
batch_main scaling "$@"
