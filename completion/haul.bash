# Bash completion for haul: verbs, their options, jobs of the catalogue, files. The words come from the
# program (haul __complete), so that they cannot differ from it.
# shellcheck shell=bash

_haul()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
	local words verb='' at

	words=$("$program" __complete 2>/dev/null)
	for ((at = 1; at < COMP_CWORD; at++)); do
		if grep -qxF -e "${COMP_WORDS[at]}" <<<"$words"; then
			verb=${COMP_WORDS[at]}
			break
		fi
	done
	if [ -n "$verb" ]; then
		words=$("$program" __complete "$verb" 2>/dev/null)
	fi
	case $before in
	--results | --op-log)
		words=$(compgen -f -- "$word")
		;;
	*)
		if [[ $word == -* ]]; then
			words=$(grep -e '^-' <<<"$words")
		elif [ "$verb" = import ]; then
			words="dlio $(compgen -f -X '!*.yaml' -- "$word") $(compgen -f -X '!*.yml' -- "$word")"
		elif [ "$verb" = report ]; then
			words=$(compgen -f -X '!*.h5' -- "$word")
		elif [ -n "$verb" ]; then
			words="$(grep -ve '^-' <<<"$words") $(compgen -f -X '!*.json' -- "$word")"
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _haul haul
