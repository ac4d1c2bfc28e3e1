# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# Scaling series: runs the job on 1, 2, 4 … of the good nodes, one run after the other, each with
# its own results file. A table beside the results lists the finished runs, so that a requeued job
# continues with those that are missing.

batch_scaling_settings()
{
	: "${SIZES:=}"            # numbers of nodes; default: 1 2 4 … up to NODES, and NODES itself
	: "${COLD:=fadvise}"      # how files leave the page cache before each epoch, as for cold.drop
	: "${REPEATS:=1}"         # runs of each way on each number of nodes, the ways in turn
	: "${CLEAN:=no}"          # yes: removes the data set when all runs are done
}

# batch_scaling_pending: succeeds if a run of the series is still to be done.
batch_scaling_pending()
{
	local n way repeat
	while read -r n repeat way; do
		batch_scaling_done "$n" "$way" "$repeat" || return 0
	done < <(batch_scaling_rows)
	return 1
}

# batch_scaling_generates: succeeds if the job, with the words of EXTRA, makes its data set.
batch_scaling_generates()
{
	local plan
	plan=$(batch_describe "${plan_words[@]}") || return
	grep -q '"kind":[[:space:]]*"generate"' <<<"$plan"
}

# batch_scaling_data: makes the data set of the largest run for which there are enough nodes. All
# smaller runs read its first files. So it is made once, and the runs skip the phase that makes it.
batch_scaling_data()
{
	local n largest=0 rc way
	batch_scaling_generates || return 0
	for n in $(batch_scaling_sizes | tr ' ' '\n' | sort -nr); do
		batch_nodes "$n" "$work/hosts" || continue
		largest=$n
		break
	done
	[ "$largest" != 0 ] || return 1
	# The ways of ACCESS lead to the same data; those of a job may have stores of their own.
	for way in "${ways[@]}"; do
		batch_go_way "$way" && batch_job_options && sched_ranks "$work/hosts" || return
		batch_say "the data set of $largest nodes serves all runs"
		batch_run "${launcher[@]}" "$HAUL" generate "$JOB" "${job_options[@]}" "${plan_words[@]}"
		rc=$?
		[ "$rc" = 0 ] || { batch_say "the data set could not be made"; return "$rc"; }
		[ -z "$(daos_ways)" ] || break
	done
	skip_words=(--skip generate)
}

# batch_scaling_clean STATUS: removes the data set if every run was done.
batch_scaling_clean()
{
	if [ "$CLEAN" != yes ] || [ "$1" != 0 ] || batch_scaling_pending; then
		return 0
	fi
	sched_ranks "$work/hosts"
	batch_run "${launcher[@]}" "$HAUL" clean "$JOB" "${job_options[@]}"
}

# batch_scaling_rows: prints "NODES REPEAT WAY" of each run: per number of nodes all ways in turn, then all of them again, so
# that what drifts falls on each.
batch_scaling_rows()
{
	local n way repeat
	for n in $(batch_scaling_sizes); do
		for ((repeat = 1; repeat <= REPEATS; repeat++)); do
			for way in "${ways[@]}"; do
				echo "$n $repeat $way"
			done
		done
	done
}

batch_scaling_sizes()
{
	local n
	if [ -n "$SIZES" ]; then
		echo "$SIZES"
		return
	fi
	for ((n = 1; n < NODES; n *= 2)); do
		echo "$n"
	done
	echo "$NODES"
}

# batch_scaling: the series. It returns the status of the first run that failed. After a failed run
# the series goes on, since the nodes are checked again before each run.
batch_scaling()
{
	local table=$stem.tsv n way repeat rc=0 row skip_words=() ways
	batch_scaling_settings
	mapfile -t ways < <(batch_ways)
	batch_mount 1 || return
	[ -e "$table" ] || printf 'nodes\tranks\tstatus\tresults\tway\trepeat\n' >"$table"
	if batch_scaling_pending; then
		batch_scaling_data || return
	fi
	# Not standard input: a launcher would read the rest of it.
	while read -r n repeat way <&3; do
		if batch_scaling_done "$n" "$way" "$repeat"; then
			batch_say "$n nodes: done before this job was requeued"
			continue
		fi
		batch_scaling_row "$n" "$way" "$repeat"
		row=$?
		[ "$rc" != 0 ] || rc=$row
		if [ "$row" = 4 ] || batch_stopped; then
			break
		fi
	done 3< <(batch_scaling_rows)
	batch_scaling_report
	batch_scaling_clean "$rc"
	return "$rc"
}

# batch_scaling_done NODES WAY REPEAT: succeeds if the run is done: with status 0, or with 8, a missed target.
batch_scaling_done()
{
	awk -F '\t' -v n="$1" -v way="$2" -v repeat="$3" \
		'$1 == n && $5 == way && $6 == repeat && ($3 == 0 || $3 == 8) { found = 1 } END { exit !found }' "$table"
}

# batch_scaling_cold: sets options to drop files from the page cache before each epoch, for each kind of phase that reads a
# data set or files.
batch_scaling_cold()
{
	local plan kind why
	options=("${skip_words[@]}")
	[ "$COLD" != none ] || return 0
	plan=$(batch_describe "${way_words[@]}" "${plan_words[@]}") || return
	for kind in train io checkpoint load; do
		grep -q "\"kind\":[[:space:]]*\"$kind\"" <<<"$plan" || continue
		if why=$(batch_describe "${way_words[@]}" "${plan_words[@]}" --set "$kind.cold=$COLD" 2>&1); then
			options+=(--set "$kind.cold=$COLD")
		else
			batch_say "$kind reads as it does without COLD: $(head -n 1 <<<"$why")"
		fi
	done
}

# batch_scaling_row NODES WAY REPEAT: does one run and adds its line to the table.
batch_scaling_row()
{
	local n=$1 options=() results=- rc=1 name=$stem.n$1
	[ "$2" = - ] || name+=.$2
	[ "$REPEATS" = 1 ] || name+=.r$3
	if batch_nodes "$n" "$work/hosts" && batch_go_way "$2" && batch_scaling_cold; then
		# A row of fewer nodes would be another row.
		batch_haul_through "$n" "$work/hosts" "$name" "${options[@]}"
		rc=$?
	fi
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$n" $((n * RANKS_PER_NODE)) "$rc" "$results" "$2" "$3" >>"$table"
	return "$rc"
}

# batch_scaling_report: prints the table, then the report of each finished run, then a comparison of
# them all.
batch_scaling_report()
{
	local files
	cat "$table"
	mapfile -t files < <(awk -F '\t' '$3 == 0 || $3 == 8 { print $4 }' "$table")
	[ "${#files[@]}" != 0 ] || return 0
	"$HAUL" report "${files[@]}"
	"$HAUL" report --scaling "${files[@]}"
}
