# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# Body of every job script: the settings that all of them share, and one run of a job.
# batch/scaling.sh adds the series of runs on more and more nodes, batch/nodes.sh asks the nodes, batch/daos.sh has the ways to
# the storage, and batch/check.sh what a script does on a login node. The parts that differ between
# schedulers are in batch/slurm.sh, batch/pbs.sh and batch/flux.sh. Each of them defines:
#
#   sched_settings          gives its own settings their defaults
#   sched_inside            succeeds inside a job
#   sched_job_id            prints the number of the job, usable in a file name
#   sched_nodes             prints the nodes of the job, one per line
#   sched_seconds_left      prints the seconds until the scheduler ends the job, 0 for "never", or
#                           nothing if it does not know
#   sched_header NAME       prints what the script's header asks for as "nodes" or "walltime"
#   sched_each_node HOSTS   sets launcher: one task on each node in the file HOSTS
#   sched_ranks HOSTS       sets launcher: RANKS_PER_NODE bound ranks on each node in the file HOSTS, with the variables of
#                           way_env; and program, where they start another file than HAUL
#   sched_signal PID        tells the ranks behind the launcher PID to stop
#   sched_after HOSTS       removes what a launch has left on the nodes
#   sched_stopped           does, after an interrupted run, what the scheduler needs to requeue the job
#   sched_given NAME WORD…  prints what these options of the submission ask for as "nodes", or as "walltime" in seconds, if they do
#   sched_check WORD…       for "check": checks its settings, and asks the scheduler about its queue and about submit, of
#                           these options
#   sched_submit WORD…      sets submit, the command that submits the script with these options
#   sched_check_ranks WORD… for "check": checks launcher and binding against RANKS_PER_NODE and, where the scheduler tells
#                           them, the cores of the nodes that the submission asks for; adds to unseen what it cannot know
#
# A function that fails prints one sentence on standard error and returns non-zero: 2 for a wrong
# setting, else 1.
for part in nodes scaling daos check; do
	# shellcheck source=/dev/null
	source "$HAUL_ROOT/batch/$part.sh"
done

# ---- Settings ------------------------------------------------------------------------------------
# Each may be given in the environment, or in the file SETUP. The job scripts define what a run is
# (JOB, NODES, RANKS_PER_NODE, STEPS). The other settings are here, with their defaults.
batch_settings()
{
	: "${HAUL:=}"             # the program; default: batch_find_program searches for it
	: "${HAUL_DATA:=}"        # the folder that the ready jobs put their data set into
	: "${RESULTS_DIR:=$PWD}"  # folder for results, outside the file system under test
	: "${WALLTIME:=}"         # seconds that the job may take; default: the scheduler's limit
	: "${RESERVE:=180}"       # seconds of WALLTIME that are kept for the end of the run
	: "${CHECK_SECONDS:=}"    # a node that has not answered after this time is left out; default: 30 s
	                          # and a quarter for each node, since all of them start the program at once
	: "${MOUNT_SECONDS:=300}" # a mount that takes longer counts as failed
	: "${EXTRA:=}"            # more options for haul run: --set train.epochs=3 --strict
	: "${PUBLISH=10 min}"     # how often a phase is published while it runs; empty: when it has ended
	: "${SPARE:=yes}"         # yes: a run that loses a node begins again with a spare one in its place
	: "${NODES_LEAST:=}"      # with fewer nodes than NODES, but as many as this, it begins again, too; default: NODES
	: "${ON:=}"               # the file system that HAUL_DATA must be on, as each node proves: its
	                          # type (lustre) or mount point; default: as on the first node
	: "${ON_FOLDER:=$HAUL_DATA}" # the folder by which a node proves it
	: "${NODES:=}"            # nodes of the run; default: all nodes of the job, NODES_MOST of the script
	                          # at most: the others are spares
	: "${STEPS=}"             # steps per rank and epoch, which set the number of files; empty:
	                          # the job decides
}

batch_say()
{
	printf '%s %s\n' "$(date +%T)" "$*" >&2
}

# batch_setup_failed LINE: after a command of SETUP that failed; fails if it was one of the modules.
batch_setup_failed()
{
	local line
	line=$(sed -n "${1}p" "$SETUP")
	[[ $line =~ ^[[:space:]]*module[[:space:]] ]] || return 0
	batch_say "$SETUP: failed: $line"
	return 1
}

# batch_setup: sources the file SETUP, which loads modules and may change any setting. Without
# SETUP, it takes batch/setup.sh if that exists. Environment modules do not work under "set -u".
batch_setup()
{
	local rc=0 last
	if [ -z "${SETUP:-}" ]; then
		SETUP=$HAUL_ROOT/batch/setup.sh
		[ -e "$SETUP" ] || SETUP=
	elif [ ! -r "$SETUP" ]; then
		batch_say "SETUP: there is no file $SETUP"
		return 2
	fi
	if [ -n "$SETUP" ]; then
		set +u
		# A module that cannot be loaded is told by its own command only, and the file goes on.
		trap 'batch_setup_failed "$LINENO" || rc=2' ERR
		# shellcheck source=/dev/null
		source "$SETUP"
		last=$?
		trap - ERR
		[ "$last" = 0 ] || rc=2
		set -u
		[ "$rc" = 0 ] || batch_say "the set-up file $SETUP failed"
	fi
	batch_settings
	sched_settings
	daos_settings
	return "$rc"
}

# batch_find_program: sets HAUL to the absolute path of the program. If there is none, it lists the
# places that it searched.
batch_find_program()
{
	local found='' place
	if [ -n "$HAUL" ]; then
		found=$(command -v "$HAUL") || { batch_say "HAUL: there is no program $HAUL"; return 2; }
	else
		for place in "$HAUL_ROOT/build/release/haul" "$HAUL_ROOT/../../bin/haul" \
			"$(dirname "$script")/haul"; do
			if [ -f "$place" ] && [ -x "$place" ]; then
				found=$place
				break
			fi
		done
		if [ -z "$found" ] && ! found=$(command -v haul); then
			batch_say "no program haul in $HAUL_ROOT/build/release, $HAUL_ROOT/../../bin," \
				"beside the script or in PATH; set HAUL to its path"
			return 2
		fi
	fi
	HAUL=$(readlink -f "$found")
	# A copy of the program on the nodes would not find the catalogue, which is installed beside
	# the original.
	if [ -z "${HAUL_CATALOG:-}" ] && [ -d "${HAUL%/*}/../share/haul/catalog" ]; then
		export HAUL_CATALOG=${HAUL%/*}/../share/haul/catalog
	fi
}

# batch_default_nodes COUNT: sets NODES and CHECK_SECONDS for a job of so many nodes.
batch_default_nodes()
{
	[ -z "${NODES_MOST:-}" ] || [ "$1" -lt "$NODES_MOST" ] || : "${NODES:=$NODES_MOST}"
	: "${NODES:=$1}" "${CHECK_SECONDS:=$((30 + $1 / 4))}"
}

# batch_check_settings: refuses settings that cannot be right.
batch_check_settings()
{
	local name value
	for name in NODES NODES_LEAST RANKS_PER_NODE STEPS WALLTIME RESERVE CHECK_SECONDS MOUNT_SECONDS; do
		value=${!name}
		case $name:$value in
		STEPS: | WALLTIME: | NODES_LEAST: | RESERVE:0) ;;
		*:0* | *: | *:*[!0-9]*)
			batch_say "$name: \"$value\" is not a whole number above 0"
			return 2
			;;
		esac
	done
	if [ "${#JOB}" = 0 ]; then
		batch_say "JOB: set it to a job file or to a name of haul catalog"
		return 2
	fi
	case $SPARE in
	yes | no) ;;
	*)
		batch_say "SPARE: \"$SPARE\" is not one of yes, no"
		return 2
		;;
	esac
	: "${NODES_LEAST:=$NODES}"
}

# batch_check_extra: refuses words of EXTRA and a PUBLISH that haul run does not take, by haul's own parser.
batch_check_extra()
{
	local words said publish=()
	[ -z "$PUBLISH" ] || publish=(--publish-every "$PUBLISH")
	read -r -a words <<<"$EXTRA"
	said=$("$HAUL" __parse -- run "$JOB" "${publish[@]}" "${words[@]}" 2>&1) && return
	batch_say "EXTRA: ${said#haul: }"
	return 2
}

# batch_environment: the variables that every launcher passes on to the ranks. haul never passes GPU
# memory to MPI. An MPI that supports GPUs loads their libraries in each rank, and may refuse to
# start without them.
batch_environment()
{
	export HDF5_USE_FILE_LOCKING=FALSE
	export MPICH_GPU_SUPPORT_ENABLED=0      # Cray MPICH
	export MPIR_CVAR_ENABLE_GPU=0           # MPICH, also Aurora's
	export I_MPI_OFFLOAD=0                  # Intel MPI
	[ -z "$HAUL_DATA" ] || export HAUL_DATA
}

# ---- The job -------------------------------------------------------------------------------------

# batch_plan_words: sets plan_words to the words of EXTRA that change the job, since haul plan takes
# no others, and set_words to those among them that change a value.
batch_plan_words()
{
	local words word
	read -r -a words <<<"$EXTRA"
	plan_words=() set_words=()
	set -- "${words[@]}"
	while [ $# -gt 0 ]; do
		word=$1
		shift
		case $word in
		--set | --only | --skip)
			word=$word=${1:-}
			[ $# = 0 ] || shift
			;;
		esac
		case $word in
		--set=*)
			plan_words+=("$word")
			set_words+=("$word")
			;;
		--only=* | --skip=*) plan_words+=("$word") ;;
		esac
	done
}

# batch_describe WORD…: prints the plan of the job with these words, for one rank, as JSON.
batch_describe()
{
	local rc
	"$HAUL" plan "$JOB" --json --nodes 1 --ranks-per-node 1 --set cluster.ranks_per_node=1 "$@"
	rc=$?
	[ "$rc" != 0 ] || return 0
	batch_say "haul plan $JOB failed"
	[ "$rc" = 2 ] || rc=1
	return "$rc"
}

# batch_job_options: sets job_options, the options of haul plan and haul run that adapt the job to
# these nodes: the ranks per node, and a data set that gives each rank STEPS steps per epoch on any
# number of nodes.
batch_job_options()
{
	local plan sets name
	job_options=("${way_words[@]}" --set "cluster.ranks_per_node=$RANKS_PER_NODE")
	[ -n "$STEPS" ] || return 0
	plan=$(batch_describe "${way_words[@]}" "${set_words[@]}") || return
	# A job that does not train, or has no data set, has no steps.
	grep -q '"kind":[[:space:]]*"train"' <<<"$plan" && grep -q '"dataset":' <<<"$plan" || return 0
	mapfile -t sets < <(awk -F '"' '/^  "datasets": / { list = 1 } /^  \]/ { list = 0 } list && $2 == "name" { print $4 }' <<<"$plan")
	if [ "${#sets[@]}" = 0 ]; then
		job_options+=(--set "dataset.steps_per_epoch=$STEPS")
	else
		for name in "${sets[@]}"; do
			job_options+=(--set "datasets.$name.steps_per_epoch=$STEPS")
		done
	fi
}

# batch_plan NODES: prints the plan, and fails if haul plan refuses the job.
batch_plan()
{
	local text rc
	text=$("$HAUL" plan "$JOB" --nodes "$1" --ranks-per-node "$RANKS_PER_NODE" \
		"${job_options[@]}" "${plan_words[@]}")
	rc=$?
	printf '%s\n' "$text"
	if [ "$rc" = 2 ]; then
		return 2
	elif [ "$rc" != 0 ]; then
		batch_say "haul plan failed with status $rc"
		return 1
	fi
	# shellcheck disable=SC2016  # the plan prints the variable's name where it has no value
	if [ -z "$HAUL_DATA" ] && grep -qF '${HAUL_DATA}' <<<"$text"; then
		batch_say "HAUL_DATA: set it to the folder for the data set, on the storage under test"
		return 2
	fi
}

# batch_free_name STEM: prints STEM.h5, or STEM.1.h5, STEM.2.h5 … if that exists. A requeued job
# keeps its number, and must not overwrite the results of its first run.
batch_free_name()
{
	local name=$1.h5 n=0
	while [ -e "$name" ]; do
		n=$((n + 1))
		name=$1.$n.h5
	done
	echo "$name"
}

# batch_deadline: prints the seconds that haul may take so that it writes its results before the
# scheduler ends the job; 0 for "no limit".
batch_deadline()
{
	local left
	if [ -n "$WALLTIME" ]; then
		left=$((WALLTIME - SECONDS))
	else
		left=$(sched_seconds_left)
		[ "$left" != 0 ] || { echo 0; return 0; }
		if [ -z "$left" ]; then
			left=$(batch_seconds "$(sched_header walltime)")
			[ -n "$left" ] || { echo 0; return 0; }
			left=$((left - SECONDS))
		fi
	fi
	left=$((left - RESERVE))
	if [ "$left" -le 0 ]; then
		batch_say "no time is left for a run: $RESERVE s (RESERVE) are kept for its end"
		return 1
	fi
	echo "$left"
}

# batch_seconds TIME: prints 1-02:03:04, 02:03:04 or 03:04 in seconds, and nothing for other texts.
batch_seconds()
{
	local days=0 time=$1 h m s
	case $time in
	*-*) days=${time%%-*} time=${time#*-} ;;
	esac
	case $time in
	*:*:*) IFS=: read -r h m s <<<"$time" ;;
	*:*) h=0; IFS=: read -r m s <<<"$time" ;;
	*) return 0 ;;
	esac
	[[ $days$h$m$s =~ ^[0-9]+$ ]] || return 0
	echo $((((10#$days * 24 + 10#$h) * 60 + 10#$m) * 60 + 10#$s))
}

# ---- The log -------------------------------------------------------------------------------------

batch_record_settings()
{
	local name
	"$HAUL" version
	for name in HAUL JOB NODES RANKS_PER_NODE STEPS EXTRA HAUL_DATA RESULTS_DIR SETUP BIND \
		LOADEDMODULES; do
		[ -z "${!name:-}" ] || printf '%-16s%s\n' "$name" "${!name}"
	done
}

# batch_record COMMAND…: writes the output of the command to the log, if the command exists here and
# answers in time.
batch_record()
{
	command -v "$1" >/dev/null || return 0
	printf '$ %s\n' "$*"
	timeout -k 5 20 "$@" 2>&1 </dev/null || printf '(exit status %s)\n' $?
}

# batch_record_storage: writes the layout of the data set's folder to the log, since the results do
# not contain it.
batch_record_storage()
{
	[ -n "$HAUL_DATA" ] || return 0
	batch_record df -PT "$HAUL_DATA"
	batch_record df -Pi "$HAUL_DATA"
	batch_record lfs getstripe -d "$HAUL_DATA"
	batch_record beegfs-ctl --getentryinfo "$HAUL_DATA"
	batch_record mmlsattr -L "$HAUL_DATA"
}

# ---- Ways to the storage ---------------------------------------------------------------------------

# batch_ways: prints the ways to compare, one per line: those of ACCESS, else those of the job
# ("ways"), of which WAYS chooses. "-": there is one way, without a name.
batch_ways()
{
	local ways
	ways=$(daos_ways)
	[ -n "$ways" ] || ways=$("$HAUL" plan "$JOB" --ways | cut -f 1)
	[ -z "${WAYS:-}" ] || ways=$(tr ' ' '\n' <<<"$WAYS")
	echo "${ways:--}"
}

# batch_go_way WAY: sets way_words and way_env.
batch_go_way()
{
	local name variables
	way_words=() way_env=()
	[ "$1" != - ] || return 0
	if [ -n "$(daos_ways)" ]; then
		daos_way "$1"
		return
	fi
	way_words=(--set "way=$1")
	while IFS=$'\t' read -r -a variables; do
		name=${variables[0]}
		[ "$name" != "$1" ] || [ "${#variables[@]}" = 1 ] || way_env=(env "${variables[@]:1}")
	done < <("$HAUL" plan "$JOB" --ways)
}

# ---- One run -------------------------------------------------------------------------------------

# batch_wait PID: waits for a child and returns its exit status. A trapped signal ends wait early. So
# it waits until the process is gone, then gets its own status.
batch_wait()
{
	while kill -0 "$1" 2>/dev/null; do
		wait "$1"
	done
	wait "$1"
}

# batch_run COMMAND…: runs the command and returns its exit status. batch_stop passes signals on to
# the ranks, which then write the results so far. Hydra may return 0 after a signal, and a launcher
# that did not catch USR1 yet ends by it; batch_run then returns 4, haul's status for "interrupted".
batch_run()
{
	local pid rc
	"$@" &
	pid=$!
	echo "$pid" >"$work/running"
	# A signal that came before that line is passed on here.
	! batch_stopped || sched_signal "$pid"
	batch_wait "$pid"
	rc=$?
	rm -f "$work/running"
	if batch_stopped; then
		batch_say "stopped by a signal"
		case $rc in
		0 | 138) rc=4 ;;
		esac
	fi
	return "$rc"
}

# batch_haul HOSTS RESULTS WORD…: plans and runs the job on the nodes in the file HOSTS. The WORDs
# are options for both haul plan and haul run.
batch_haul()
{
	local hosts=$1 results=$2 nodes seconds deadline=() publish=() extra rc
	shift 2
	nodes=$(wc -l <"$hosts")
	batch_job_options || return
	job_options+=("$@")
	batch_plan "$nodes" || return
	seconds=$(batch_deadline) || return
	[ "$seconds" = 0 ] || deadline=(--deadline "$seconds s")
	[ -z "$PUBLISH" ] || publish=(--publish-every "$PUBLISH")
	read -r -a extra <<<"$EXTRA"
	sched_ranks "$hosts" || return
	! batch_stopped || { batch_say "stopped by a signal before the run"; return 4; }
	batch_say "$nodes nodes, $((nodes * RANKS_PER_NODE)) ranks; results: $results"
	batch_run "${launcher[@]}" "${program:-$HAUL}" run "$JOB" --results "$results" "${deadline[@]}" "${publish[@]}" \
		"${job_options[@]}" "${extra[@]}" "${resume[@]}"
	rc=$?
	batch_say "haul's exit status: $rc"
	sched_after "$hosts"
	return "$rc"
}

# batch_lost HOSTS: succeeds if nodes in the file HOSTS, with which a run has just ended, no longer answer. It says which.
batch_lost()
{
	local nodes answered
	nodes=$(wc -l <"$1")
	batch_say "the nodes of the run are asked again"
	batch_good_nodes 0 "$work/left" "$HAUL" <"$1"
	answered=$(wc -l <"$work/left")
	[ "$answered" -lt "$nodes" ] || return 1
	batch_say "lost during the run: $(grep -vxFf "$work/left" "$1" | paste -s -d ' ')"
}

# batch_again HOSTS WANTED LEAST: after a run that lost a node. Writes to HOSTS as many good nodes as there are, at most
# WANTED, and fails if they are fewer than LEAST, or if none may take the place of another (SPARE).
batch_again()
{
	local good
	if [ "$SPARE" = no ] && [ "$3" = "$2" ]; then
		batch_say "the run does not begin again: SPARE is no, and NODES_LEAST allows no fewer nodes"
		return 1
	fi
	[ "$SPARE" = yes ] || cp "$work/left" "$work/nodes"
	batch_nodes "$3" "$1" "$2" || return
	again=yes
	good=$(wc -l <"$1")
	if [ "$good" = "$2" ]; then
		batch_say "the run begins again on $good nodes, with a spare one in the place of what was lost"
	else
		batch_say "the run begins again on the $good nodes that are left"
	fi
}

# batch_is_series RESULTS: succeeds if the results file is that of a series of runs, of which those that ended can be kept.
batch_is_series()
{
	local runs
	runs=$(timeout 60 "$HAUL" report --json "$1" 2>/dev/null | sed -n 's/^[[:space:]]*"runs":[[:space:]]*\([0-9]*\),*$/\1/p' | head -n 1)
	[ "${runs:-1}" -gt 1 ]
}

# batch_haul_through LEAST HOSTS STEM WORD…: batch_haul with a free name of results. After a run that lost a node it begins
# again, on LEAST nodes at the least; a series on as many nodes as before goes on. results is the name of the last run.
batch_haul_through()
{
	local least=$1 hosts=$2 stem=$3 wanted rc
	shift 3
	wanted=$(wc -l <"$hosts")
	resume=()
	while :; do
		[ "${#resume[@]}" != 0 ] || results=$(batch_free_name "$stem")
		batch_haul "$hosts" "$results" "$@"
		rc=$?
		case $rc in
		0 | 2 | 8) return "$rc" ;;
		esac
		! batch_stopped && batch_lost "$hosts" || return "$rc"
		[ ! -e "$results" ] || batch_say "what it had published until then is in $results"
		batch_again "$hosts" "$wanted" "$least" || return "$rc"
		resume=()
		if [ "$(wc -l <"$hosts")" = "$wanted" ] && batch_is_series "$results"; then
			batch_say "the series in $results goes on with the runs that are left"
			resume=(--resume)
		fi
	done
}

# batch_prepare: all checks that need no other node. Nothing is launched before they succeed.
batch_prepare()
{
	batch_default_nodes "$(sched_nodes | wc -l)"
	batch_check_settings && batch_find_program && batch_environment && batch_check_extra || return
	batch_plan_words
	if [ ! -d "$RESULTS_DIR" ] && ! timeout -k 5 60 mkdir -p "$RESULTS_DIR"; then
		batch_say "RESULTS_DIR: the folder $RESULTS_DIR cannot be made"
		return 2
	fi
	stem=$RESULTS_DIR/$(basename "$JOB" .json).$(sched_job_id)
	batch_record_settings
}

# batch_mount NEEDED: mounts the storage of the data set, only on nodes that answer, since mounting
# on a broken node hangs. If fewer than NEEDED nodes answer, it mounts nothing.
batch_mount()
{
	sched_nodes >"$work/nodes"
	if daos_mounts; then
		ON='' batch_good_nodes "$1" "$work/answering" "$HAUL" <"$work/nodes" || return
		mv "$work/answering" "$work/nodes"
		daos_mount "$work/nodes" || return
		# A mount that failed leaves a folder of the node's own: what is made there is not under test.
		batch_good_nodes "$1" "$work/answering" "$HAUL" <"$work/nodes" || return
		mv "$work/answering" "$work/nodes"
		batch_make_folder || return
		batch_record_storage
		return
	fi
	if [ -n "$HAUL_DATA" ] && ! timeout -k 5 60 mkdir -p "$HAUL_DATA"; then
		batch_say "HAUL_DATA: the folder $HAUL_DATA cannot be made"
		return 1
	fi
	batch_find_on
	batch_record_storage
}

# batch_make_folder: makes HAUL_DATA on a node that has the mount; this one may not.
batch_make_folder()
{
	head -n 1 "$work/nodes" >"$work/first"
	sched_each_node "$work/first"
	# shellcheck disable=SC2016  # the node expands it
	if ! timeout -k 5 "$CHECK_SECONDS" "${launcher[@]}" sh -c 'mkdir -p "$1"' make "$HAUL_DATA" </dev/null >&2; then
		batch_say "HAUL_DATA: the folder $HAUL_DATA cannot be made"
		return 1
	fi
}

# batch_find_on: where this node has HAUL_DATA on a file system of many nodes, all nodes must have it there.
batch_find_on()
{
	local type
	[ -z "$ON" ] && [ -n "$HAUL_DATA" ] || return 0
	type=$(timeout -k 5 60 df --output=fstype "$HAUL_DATA" 2>/dev/null | tail -n 1)
	case $type in
	lustre | gpfs | beegfs* | nfs | nfs[0-9] | ceph | wekafs | panfs | pvfs2 | fuse.*) ON=$type ;;
	esac
}

# batch_nodes NEEDED HOSTS [MOST]: writes to HOSTS the first MOST nodes (NEEDED, where it is left out) that see the program and
# all folders. It fails if fewer than NEEDED do.
batch_nodes()
{
	batch_good_nodes "$1" "$work/good" "$HAUL" "$RESULTS_DIR" ${HAUL_DATA:+"$HAUL_DATA"} \
		<"$work/nodes" || return
	head -n "${3:-$1}" "$work/good" >"$2"
}

# batch_single: runs the job once by each of its ways, on NODES nodes. It returns the first status that is not 0.
batch_single()
{
	local ways way results rc=0 row=0
	mapfile -t ways < <(batch_ways)
	batch_mount "$NODES" && batch_nodes "$NODES" "$work/hosts" || return
	for way in "${ways[@]}"; do
		batch_go_way "$way" &&
			batch_haul_through "$NODES_LEAST" "$work/hosts" "$stem$([ "${#ways[@]}" = 1 ] || echo ".$way")"
		row=$?
		[ "$rc" != 0 ] || rc=$row
		[ "$row" != 4 ] || break
	done
	return "$rc"
}

# batch_stop: at TERM, USR1 and INT. It leaves word for the shell that does the work, and tells the
# ranks to stop, if there are any.
batch_stop()
{
	local pid
	: >"$work/stopped"
	! read -r pid 2>/dev/null <"$work/running" || sched_signal "$pid"
}

# batch_stopped: succeeds after such a signal.
batch_stopped()
{
	[ -e "$work/stopped" ]
}

# batch_cleanup: runs at the end of the script, however it ends.
batch_cleanup()
{
	[ ! -e "$work/mounted" ] || daos_unmount
	rm -rf "$work"
}

# batch_work BODY: all that is done inside a job. A scheduler may send TERM to every process of the
# job; this shell then goes on to the end of the run.
batch_work()
{
	local rc
	trap : TERM USR1
	batch_prepare || return
	"batch_$1"
	rc=$?
	[ "$rc" != 4 ] || sched_stopped
	return "$rc"
}

# batch_main BODY [check WORD…]: BODY is single or scaling; the other arguments are those of the script's
# command line: the WORDs are options with which it would be submitted.
batch_main()
{
	local body=$1 rc
	launcher=() program='' job_options=() plan_words=() set_words=() way_words=() way_env=()
	# By itself, since bash ignores the trap of ERR in what stands before "||".
	batch_setup
	rc=$?
	[ "$rc" = 0 ] || return "$rc"
	case ${2:-} in
	check)
		batch_check "$body" "${@:3}"
		return
		;;
	'') ;;
	*)
		batch_say "\"$2\" is not known; the only word that a job script takes is check, before options of the submission"
		return 2
		;;
	esac
	if ! sched_inside; then
		sched_submit
		batch_say "this is a job script: ${submit[*]} submits it, $script check tries it first"
		return 2
	fi
	# In this shell, which also undoes it at the end.
	daos_load || return
	work=$(mktemp -d) || return 1
	trap batch_cleanup EXIT
	# bash 5.2 loses a signal that is due while it reads a command substitution, and ends the function
	# that this stands in. So the shell that gets the signals only waits.
	trap batch_stop TERM USR1 INT
	batch_work "$body" &
	batch_wait $!
	rc=$?
	trap : TERM USR1 INT
	return "$rc"
}
