# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# "check", on a login node: what can be known before the allocation is spent. It submits nothing and makes nothing. It prints the
# plan of each run and way, what is there of the data, the space, the queue and its limits, the time that is asked for and that is
# expected, and what in the environment may spoil the run; and it reports every error, not only the first.

# batch_check BODY WORD…: the WORDs are options with which the script would be submitted.
batch_check()
{
	local rc=0 way ways body=$1 given submit run_seconds=0 make_bytes=0 unseen=()
	shift
	given=$(sched_given nodes "$@")
	: "${NODES:=${given:+$(batch_least "$given" "${NODES_MOST:-$given}")}}"
	batch_default_nodes "$(sched_header nodes)"
	batch_check_settings && batch_find_program && batch_environment || return
	batch_check_extra || rc=2
	batch_plan_words
	batch_record_settings
	[ "$body" != scaling ] || batch_scaling_settings
	daos_load || rc=2
	mapfile -t ways < <(batch_ways)
	for way in "${ways[@]}"; do
		[ "$way" = - ] || batch_say "check: the way $way"
		batch_go_way "$way" && batch_job_options && batch_plan "$NODES" && batch_check_rows "$body" || rc=2
	done
	batch_check_folder RESULTS_DIR || rc=2
	[ -z "$HAUL_DATA" ] || daos_mounts || batch_check_folder HAUL_DATA || rc=2
	daos_check || rc=2
	batch_check_on || rc=2
	sched_check_ranks "$@" || rc=2
	[ "$rc" != 0 ] || batch_check_time "$@" || rc=2
	sched_submit "$@"
	sched_check "$@" || rc=2
	unseen+=("whether each node sees the program and the folders" "how fast the storage is")
	batch_say "check: not seen from here:$(printf ' %s;' "${unseen[@]}" | sed 's/;$//')"
	"$HAUL" doctor --environment
	if [ "$rc" = 0 ]; then
		batch_say "check: nothing is wrong; ${submit[*]} starts the run"
	else
		batch_say "check: the job would fail"
	fi
	return "$rc"
}

batch_least()
{
	echo $(($1 < $2 ? $1 : $2))
}

# batch_asks: prints the nodes to submit with where the script's header does not fit NODES.
batch_asks()
{
	[ -z "$NODES" ] || [ "$NODES" = "${NODES_MOST:-$(sched_header nodes)}" ] || echo "$NODES"
}

# batch_check_rows BODY: prints the runs of a series by this way, a line each, and adds to run_seconds how long all runs take at
# the least, and sets make_bytes to what is written before them.
batch_check_rows()
{
	local n sizes=$NODES plan seconds bytes other repeats=1
	if [ "$1" = scaling ]; then
		# shellcheck disable=SC2153
		sizes=$(batch_scaling_sizes) repeats=$REPEATS
		"$HAUL" plan "$JOB" --nodes "$(tr -s ' \n' , <<<"$sizes" | sed 's/,$//')" --ranks-per-node "$RANKS_PER_NODE" \
			"${job_options[@]}" "${plan_words[@]}" || return
	fi
	for n in $(tr -s ' ' '\n' <<<"$sizes" | sort -n); do
		plan=$("$HAUL" plan "$JOB" --json --nodes "$n" --ranks-per-node "$RANKS_PER_NODE" "${job_options[@]}" \
			"${plan_words[@]}") || return
		read -r seconds bytes other < <(awk -F '[:,]' '
			/^      "kind": "generate"/ { makes = 1 }
			/^      "kind": "[^g]/ { makes = 0 }
			/^      "total_seconds":/ { seconds += $2 }
			/^      "space_bytes":/ && makes { bytes += $2 }
			/^    "there":/ { there = 1 }
			/^      "state": "complete"/ && there { complete = 1 }
			/^      "state": "other"/ && there { other = 1 }
			END { printf "%.0f %.0f %d\n", seconds, complete ? 0 : bytes, other }' <<<"$plan")
		run_seconds=$((run_seconds + seconds * repeats))
		[ "$bytes" -le "$make_bytes" ] || make_bytes=$bytes
	done
	# Of the most nodes: smaller runs read the first files of that set.
	if [ "$other" = 1 ]; then
		batch_say "check: the folder has another data set than the run makes"
		return 2
	fi
	if [ "$bytes" != 0 ] && [[ $plan == *'"not enough space for '* && " $EXTRA " != *" --ignore-space "* ]]; then
		batch_say "check: there is not enough space for the data"
		return 2
	fi
}

# batch_time SECONDS: prints them as 1:02:03.
batch_time()
{
	printf '%d:%02d:%02d\n' $(($1 / 3600)) $(($1 / 60 % 60)) $(($1 % 60))
}

# batch_check_on: asks this node what each node of the run is asked about the folder, where it has that.
batch_check_on()
{
	local said
	[ -n "$ON" ] || return 0
	if daos_mounts || [ ! -d "$ON_FOLDER" ]; then
		unseen+=("whether $ON_FOLDER is on $ON")
		return 0
	fi
	said=$(timeout -k 5 60 sh -c "$BATCH_NODE_CHECK" check "$HAUL" "$ON" "$ON_FOLDER" </dev/null)
	case $said in
	*" ok") return 0 ;;
	esac
	batch_say "ON: here, ${said#haul-node * }"
	return 2
}

# batch_check_time WORD…: compares the time that is asked for with what the runs take if the storage keeps up: that of the
# submission's options, else that of the script, and WALLTIME where it is less. How long the data set takes to make is up to
# the storage: so it says how fast that must be.
batch_check_time()
{
	local asked left
	asked=$(sched_given walltime "$@")
	asked=${asked:-$(batch_seconds "$(sched_header walltime)")}
	[ -z "$WALLTIME" ] || asked=$(batch_least "$WALLTIME" "${asked:-$WALLTIME}")
	[ -n "$asked" ] || { batch_say "check: time: at least $(batch_time "$run_seconds") for the runs"; return 0; }
	left=$((asked - RESERVE - run_seconds))
	batch_say "check: time: at least $(batch_time "$run_seconds") for the runs, if the storage keeps up; asked for are" \
		"$(batch_time "$asked"), of which $RESERVE s are kept (RESERVE)"
	if [ "$left" -le 0 ]; then
		batch_say "check: that is too short: ask for more time (and set WALLTIME), or for fewer epochs, sizes or repeats"
		return 2
	fi
	[ "$make_bytes" = 0 ] ||
		batch_say "check: time: $(batch_time "$left") are left to make the data: $(awk -v b="$make_bytes" -v s="$left" \
			'BEGIN { printf "%.0f GB at %.2f GB/s at the least", b / 1e9, b / s / 1e9 }')"
}

# batch_check_folder NAME: succeeds if the folder in this setting exists or can be made. An existing
# data set may be in a folder that this user cannot write to.
batch_check_folder()
{
	local folder
	folder=$(readlink -m "${!1}")
	[ "$1" = RESULTS_DIR ] || [ ! -d "$folder" ] || return 0
	while [ ! -e "$folder" ]; do
		folder=$(dirname "$folder")
	done
	if ! { [ -d "$folder" ] && [ -w "$folder" ]; }; then
		batch_say "$1: $folder is not a folder that you may write to"
		return 2
	fi
}
