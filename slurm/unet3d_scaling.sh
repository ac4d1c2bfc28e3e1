#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unet3d on 1, 2, 4 … 512 nodes, one run after the other in one job. All runs read the same data
# set, which has 8,400 files and 1.23 TB for each node of the largest run.
#
#   HAUL_DATA=/lustre/project/haul slurm/unet3d_scaling.sh check
#   HAUL_DATA=/lustre/project/haul sbatch --nodes=516 slurm/unet3d_scaling.sh
#
# The script has not run on a large cluster yet: it is tested on a real Slurm with four virtual
# nodes on one machine.
#
#SBATCH --job-name=unet3d_scaling
#SBATCH --nodes=516
#SBATCH --ntasks-per-node=12
#SBATCH --time=12:00:00
#SBATCH --exclusive
#SBATCH --output=unet3d_scaling.%j.log
#SBATCH --open-mode=append
# A node that fails ends the run that it takes part in, but not the series.
#SBATCH --no-kill
# Two minutes before the time limit this script gets USR1; haul then stops and writes its results.
#SBATCH --signal=B:USR1@120

# ---- Settings ------------------------------------------------------------------------------------
# Each may be given in the environment. docs/batch-scripts.md lists the others.
: "${JOB:=unet3d_aurora}"        # a job file, or a name of haul catalog
NODES_MOST=512                   # nodes of the run, unless NODES says it; further nodes of the job are spares
: "${SIZES:=}"                   # numbers of nodes: 1 8 64; default: 1 2 4 … NODES
: "${RANKS_PER_NODE:=12}"        # one per accelerator
: "${STEPS=100}"                 # steps per rank and epoch, which set the number of files
: "${COLD:=fadvise}"             # drops files from the page cache before each epoch; or none
: "${CLEAN:=no}"                 # yes: removes the data set when all runs are done

# ---- The run -------------------------------------------------------------------------------------
# Slurm runs a copy of this script. haul's folder is the one above the original script, or the one
# where sbatch was called.
script=$0
[ -z "${SLURM_JOB_ID:-}" ] ||
	script=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=//p' | head -n 1)
# Its arguments follow.
until [ -r "$script" ] || [[ $script != *" "* ]]; do script=${script% *}; done
[ -r "$script" ] || script=$0
[ -n "${HAUL_ROOT:-}" ] || for HAUL_ROOT in "$(dirname "$script")/.." "${SLURM_SUBMIT_DIR:-.}"; do
	[ ! -r "$HAUL_ROOT/batch/slurm.sh" ] || break
done
if [ ! -r "$HAUL_ROOT/batch/slurm.sh" ]; then
	echo "haul: $HAUL_ROOT is not haul's folder: it has no batch/slurm.sh; set HAUL_ROOT" >&2
	exit 2
fi
# shellcheck source=batch/slurm.sh
source "$HAUL_ROOT/batch/slurm.sh"
batch_main scaling "$@"
