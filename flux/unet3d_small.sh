#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# flux: --job-name=unet3d
# flux: -N 1
# flux: -t 2h
# flux: --exclusive
# flux: --output=unet3d.{{id}}.log
# flux: --signal=SIGUSR1@120
#
# unet3d on 1 to 8 nodes: 8 ranks per node, batch 7, 323 ms per step, 28,000 files and 4.1 TB
# for each node.
#
#   HAUL_DATA=/lustre/project/haul flux/unet3d_small.sh check
#   HAUL_DATA=/lustre/project/haul flux batch -N 4 flux/unet3d_small.sh
#
# Two minutes before the time limit this script gets USR1; haul then stops and writes its results.
# The script has not run under a real Flux yet: it is written from the manual pages and tested with
# stand-ins for Flux's commands.

# ---- Settings ------------------------------------------------------------------------------------
# Each may be given in the environment. docs/batch-scripts.md lists the others.
: "${JOB:=unet3d_h100}"          # a job file, or a name of haul catalog
: "${RANKS_PER_NODE:=8}"         # one per accelerator
: "${STEPS=500}"                 # steps per rank and epoch, which set the number of files

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
batch_main single "$@"
