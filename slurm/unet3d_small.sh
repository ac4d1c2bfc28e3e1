#!/bin/bash
# unet3d on 1 to 8 nodes (sbatch --nodes=4 changes it): 500 steps on H100s, 8 a node.
#
#   sbatch slurm/unet3d_small.sh
#
# Never run on a real cluster yet: tested on a Slurm of three virtual nodes on one machine.
#SBATCH --job-name=unet3d
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=8
#SBATCH --time=02:00:00
#SBATCH --exclusive
#SBATCH --output=unet3d.%j.log
# USR1 to this script two minutes before the end: haul then stops and writes its results.
#SBATCH --signal=B:USR1@120

# ---- Settings ------------------------------------------------------------------------------------
# Each may also be given in the environment.
: "${HAUL_ROOT:=${SLURM_SUBMIT_DIR:-$PWD}}"              # haul's folder: build/release/haul, batch/
: "${HAUL:=$HAUL_ROOT/build/release/haul}"
: "${JOB:=unet3d_h100}"                                  # a job file, or a name of haul catalog
: "${NODES:=$SLURM_JOB_NUM_NODES}"
: "${RANKS_PER_NODE:=8}"                                 # one a tile or GPU
: "${STEPS:=500}"                                        # a rank and epoch: sets the number of files
: "${BATCH:=7}"                                          # as in the job
: "${RESULTS_DIR:=${SLURM_SUBMIT_DIR:-$PWD}}"            # a POSIX file system, not the one under test
: "${WALLTIME:=7200}"                                    # seconds, as above
: "${RESERVE:=180}"                                      # of them, for the end of the run
: "${CHECK_SECONDS:=30}"                                 # a node that does not answer in time is left out
: "${CHECK_PARALLEL:=64}"
: "${EXTRA:=}"                                           # more for haul run: --set train.epochs=3 …

: "${HAUL_DATA:?say where the data set goes: export HAUL_DATA=/lustre/project/haul}"
: "${LAUNCHER:=srun}"                                    # srun | mpiexec
: "${MPI:=pmi2}"                                         # srun --mpi=: pmi2, pmix, cray_shasta …
: "${BIND:=cores}"                                       # cores | none | a map: 1,9,17,25 (one core a rank)

# ---- The run -------------------------------------------------------------------------------------
set -u
export HAUL_DATA HDF5_USE_FILE_LOCKING=FALSE
# shellcheck source=batch/functions.sh
source "$HAUL_ROOT/batch/functions.sh"

# shellcheck disable=SC2317  # called by functions.sh
on_node()
{
	local node=$1
	shift
	srun --overlap --mpi=none -N 1 -n 1 -w "$node" "$@"
}

# shellcheck disable=SC2317  # called by functions.sh
launch()
{
	local ranks=$((NODES * RANKS_PER_NODE)) share bind=()
	if [ "$LAUNCHER" = mpiexec ]; then
		exec mpiexec -f "$hosts" -n "$ranks" -ppn "$RANKS_PER_NODE" "$@"
	fi
	case $BIND in
	none) bind=(--cpu-bind=none) ;;
	cores)
		share=$((SLURM_CPUS_ON_NODE / RANKS_PER_NODE))
		bind=(--cpu-bind=cores -c $((share > 0 ? share : 1)))
		;;
	*) bind=(--cpu-bind="map_cpu:$BIND") ;;
	esac
	exec srun --mpi="$MPI" --kill-on-bad-exit=1 --distribution=block -N "$NODES" -n "$ranks" \
		--ntasks-per-node="$RANKS_PER_NODE" --nodelist="$hosts" "${bind[@]}" "$@"
}

hosts=$RESULTS_DIR/hosts.$SLURM_JOB_ID
trap 'rm -f "$hosts"' EXIT
mkdir -p "$HAUL_DATA" "$RESULTS_DIR" || exit 1
scontrol show hostnames "$SLURM_JOB_NODELIST" |
	batch_good_nodes "$NODES" "$hosts" "$HAUL" "$HAUL_DATA" || exit 1
deadline=$(batch_deadline "$WALLTIME" "$RESERVE") || exit 1
# shellcheck disable=SC2086  # EXTRA is words
batch_run launch "$HAUL" run "$JOB" --results "$RESULTS_DIR/unet3d.$SLURM_JOB_ID.h5" \
	--deadline "$deadline" --set dataset.files=$((NODES * RANKS_PER_NODE * BATCH * STEPS)) $EXTRA
rc=$?
batch_say "haul's exit status: $rc"
exit $rc
