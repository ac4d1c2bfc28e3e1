#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unet3d on 512 nodes: 12 ranks per node, batch 7, 93.254 ms per step, 4,300,800 files, 630 TB.
#
#   HAUL_DATA=/lustre/project/haul slurm/unet3d_512nodes.sh check
#   HAUL_DATA=/lustre/project/haul sbatch slurm/unet3d_512nodes.sh
#
# The script has not run on a large cluster yet: it is tested on a real Slurm with four virtual
# nodes on one machine.
#
#SBATCH --job-name=unet3d
#SBATCH --nodes=516
#SBATCH --ntasks-per-node=12
#SBATCH --time=03:00:00
#SBATCH --exclusive
#SBATCH --output=unet3d.%j.log
#SBATCH --open-mode=append
# A node that fails ends the run only if it takes part in the run. A spare does not.
#SBATCH --no-kill
# Two minutes before the time limit this script gets USR1; haul then stops and writes its results.
#SBATCH --signal=B:USR1@120

# ---- Settings ------------------------------------------------------------------------------------
# Each may be given in the environment. docs/batch-scripts.md lists the others.
: "${JOB:=unet3d_aurora}"        # a job file, or a name of haul catalog
NODES_MOST=512                   # nodes of the run, unless NODES says it; further nodes of the job are spares
: "${RANKS_PER_NODE:=12}"        # one per accelerator
: "${STEPS=100}"                 # steps per rank and epoch, which set the number of files

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
batch_main single "$@"
