# Bash completion for haul: verbs, their options, jobs of the catalogue, files.
# shellcheck shell=bash

_haul()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
	local verbs='catalog clean doctor generate plan report run schema topo version'
	local verb='' options='' at

	for ((at = 1; at < COMP_CWORD; at++)); do
		case " $verbs " in
		*" ${COMP_WORDS[at]} "*)
			verb=${COMP_WORDS[at]}
			break
			;;
		esac
	done
	COMPREPLY=()
	if [ -z "$verb" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$verbs --help" -- "$word")
		return
	fi
	case $before in
	--results | --html | --op-log)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	esac
	# Options come from the verb's own help, so that they cannot differ from it.
	if [[ $word == -* ]]; then
		options=$("$program" "$verb" --help 2>/dev/null | grep -oE -e '--[a-z][a-z-]*' | sort -u)
		mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$word")
		return
	fi
	case $verb in
	run | plan | generate | clean)
		options=$("$program" catalog 2>/dev/null | awk '{print $1}')
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word"; compgen -f -X '!*.json' -- "$word")
		;;
	report)
		mapfile -t COMPREPLY < <(compgen -f -X '!*.h5' -- "$word")
		;;
	esac
}
complete -o filenames -F _haul haul
