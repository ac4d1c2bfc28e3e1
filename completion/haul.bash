# Bash completion for haul: verbs, options and their values, ready jobs, files; also behind mpiexec and srun. The words
# come from the program (haul __complete), so that they cannot differ from it.
# shellcheck shell=bash

# _haul_words WORD…: the words that may stand for the last of the command line "WORD…", whose first is haul.
_haul_words()
{
	local -a line=("$@")
	local last=$((${#line[@]} - 1))
	local word=${line[last]} before=${line[last - 1]} program=${line[0]} words verb='' at

	words=$("$program" __complete 2>/dev/null)
	for ((at = 1; at < last; at++)); do
		if grep -qxF -e "${line[at]}" <<<"$words"; then
			verb=${line[at]}
			break
		fi
	done
	if [ -z "$verb" ]; then
		compgen -W "$words" -- "$word"
		return
	fi
	if [[ $before == --* ]]; then
		words=$("$program" __complete "$verb" "${before#--}" 2>/dev/null)
		if [ -n "$words" ]; then
			compgen -W "$words" -- "$word"
			return
		fi
	fi
	case $before in
	--results | --op-log | --html | --io-trace-log | --live)
		compgen -f -- "$word"
		return
		;;
	esac
	words=$("$program" __complete "$verb" 2>/dev/null)
	if [[ $word == -* ]]; then
		compgen -W "$(grep -e '^-' <<<"$words")" -- "$word"
		return
	fi
	case $verb in
	import) words=$'dlio\nkvcache\nmlpstorage\n'$(compgen -f -X '!*.y*ml' -- "$word") ;;
	replay) words=$(compgen -f -X '!*.[ct]sv*' -- "$word") ;;
	# Two patterns: one for both needs an option of bash that a shell may not have set.
	accept) words=$(compgen -f -X '!*.h5' -- "$word")$'\n'$(compgen -f -X '!*.json' -- "$word") ;;
	report | compare | export | show) words=$(compgen -f -X '!*.h5' -- "$word") ;;
	validate) words=$(compgen -f -X '!*.json' -- "$word") ;;
	check) words=$(grep -ve '^-' <<<"$words")$'\n'$(compgen -f -X '!*.h5' -- "$word")$'\n'$(compgen -f -X '!*.json' -- "$word") ;;
	*) words=$(grep -ve '^-' <<<"$words")$'\n'$(compgen -f -X '!*.json' -- "$word") ;;
	esac
	compgen -W "$words" -- "$word"
	compgen -d -- "$word"
}

_haul()
{
	mapfile -t COMPREPLY < <(_haul_words "${COMP_WORDS[@]:0:COMP_CWORD+1}" | sort -u)
	# --set goes on behind the "=".
	[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}

# Behind a launcher: from the word that is haul on.
_haul_launched()
{
	local at
	for ((at = 1; at < COMP_CWORD; at++)); do
		if [ "${COMP_WORDS[at]##*/}" = haul ]; then
			mapfile -t COMPREPLY < <(_haul_words "${COMP_WORDS[@]:at:COMP_CWORD-at+1}" | sort -u)
			return
		fi
	done
	mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o filenames -F _haul haul
for _haul_launcher in mpiexec mpirun srun; do
	complete -p "$_haul_launcher" >/dev/null 2>&1 || complete -o filenames -F _haul_launched "$_haul_launcher"
done
unset _haul_launcher
