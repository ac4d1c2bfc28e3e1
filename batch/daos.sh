# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# Ways to the storage under test (ACCESS), under every scheduler: a mounted file system, or DAOS. For DAOS it makes the
# container if it is missing, writes its properties to the log, and mounts it by dfuse on the nodes of the run: by the site's
# launcher where there is one (ALCF's launcher of dfuse), else by one launch that stays until the end. What is mounted already
# stays as it is. Every step has a time limit.

daos_settings()
{
	# lustre: HAUL_DATA is a folder on any mounted file system; dfuse: the job mounts the
	# container; pil4dfs, ioil: the same with one of the interception libraries. Of a series also several, and
	# dfs, which uses libdfs: "dfs dfuse pil4dfs".
	: "${ACCESS:=lustre}"
	: "${DAOS_POOL:=}" "${DAOS_CONT:=}"
	: "${PIL4DFS:=/usr/lib64/libpil4dfs.so}" "${IOIL:=/usr/lib64/libioil.so}"
	: "${DAOS_MODULES:=}"     # the folder of modules in which the site has one of DAOS
	: "${DFUSE:=}"            # more options for dfuse; the site's launcher of dfuse gets them behind pool and container
	# ALCF's launcher of dfuse. Its other one, with caching, is for what maps files into memory.
	: "${DFUSE_LAUNCHER:=launch-dfuse.sh}"
	# The options to make a missing container with; empty: a missing container is an error. G32
	# suits one file per sample, GX suits one shared file.
	local properties=rd_fac:3,ec_cell_sz:131072,cksum:crc32,srv_cksum:on
	local classes="--file-oclass=EC_16P3G32 --dir-oclass=RP_4G1"
	: "${DAOS_CREATE=--type=POSIX --chunk-size=2097152 --properties=$properties $classes}"
	[ -z "$DAOS_POOL" ] || export DAOS_POOL
	[ -z "$DAOS_CONT" ] || export DAOS_CONT
	daos_mount=
	case $ACCESS in
	lustre) return 0 ;;
	esac
	# What ALCF's launcher of dfuse makes of pool and container.
	daos_mount=${DAOS_CONT:+/tmp/$DAOS_POOL/$DAOS_CONT}
	: "${HAUL_DATA:=$daos_mount}"
	if [[ " $ACCESS " =~ " "(dfuse|pil4dfs|ioil)" " ]]; then
		ON=dfuse ON_FOLDER=$daos_mount
	fi
}

# daos_ways: prints the ways of ACCESS where a series has several, or one that no mount serves.
daos_ways()
{
	[ "$ACCESS" = lustre ] || tr -s ' ' '\n' <<<"$ACCESS"
}

# daos_mounts: succeeds if the job mounts the storage, or has none that a folder leads to.
daos_mounts()
{
	[ "$ACCESS" != lustre ]
}

# daos_way WAY: sets way_words, options of haul for the way, and way_env, "env NAME=VALUE". All ways have the same folder of
# the container.
daos_way()
{
	local store folder
	way_words=(--set "way=$1") way_env=()
	case $1 in
	pil4dfs) way_env=(env "LD_PRELOAD=$PIL4DFS") ;;
	ioil) way_env=(env "LD_PRELOAD=$IOIL") ;;
	esac
	[ "$1" = dfs ] || return 0
	# shellcheck disable=SC2016  # the plan prints the variable's name
	folder=$(HAUL_DATA='' "$HAUL" plan "$JOB" | sed -n 's/^data set .*file:\/\/${HAUL_DATA}\([^ ]*\).*/\1/p')
	store=$(batch_describe | sed -n 's/^ *"store": "\(.*\)",*/\1/p' | head -n 1)
	if [ -z "$folder" ] || [ -z "$store" ]; then
		batch_say "ACCESS: $JOB has no data set below HAUL_DATA: give the job ways of its own"
		return 2
	fi
	# What the job drops from the page cache is not there: libdfs has none.
	way_words+=(--set "stores.$store.uri=daos://$DAOS_POOL/$DAOS_CONT${HAUL_DATA#"$daos_mount"}$folder")
	[[ $(batch_describe "${way_words[@]}" 2>&1) != *"has no page cache on this side"* ]] ||
		way_words+=(--set train.cold=none)
}

# daos_load: checks the settings, and loads the module if the site has one and SETUP has not loaded
# it. In the shell that also unmounts.
daos_load()
{
	local word
	[ "$ACCESS" != lustre ] || return 0
	for word in $ACCESS; do
		case $word in
		dfs | dfuse | pil4dfs | ioil) ;;
		*)
			batch_say "ACCESS: \"$word\" is not one of dfs, dfuse, pil4dfs, ioil, and lustre by itself"
			return 2
			;;
		esac
	done
	if [ -z "$DAOS_POOL" ] || [ -z "$DAOS_CONT" ]; then
		batch_say "DAOS_POOL and DAOS_CONT: set both, to the pool and the container of the data set"
		return 2
	fi
	# /usr/bin/daos is on every node; the module brings the launcher of dfuse and the way to the agent.
	if [ -n "$DAOS_MODULES" ] && { ! command -v "$DFUSE_LAUNCHER" || [ -z "${DAOS_AGENT_DRPC_DIR:-}" ]; } >/dev/null &&
		command -v module >/dev/null; then
		set +u
		module use "$DAOS_MODULES" && module load daos || word=failed
		set -u
		if [ "${word:-}" = failed ]; then
			batch_say "the module daos of $DAOS_MODULES could not be loaded"
			return 2
		fi
	fi
	if [ "$ON" = dfuse ] && ! command -v "$DFUSE_LAUNCHER" >/dev/null &&
		{ ! command -v dfuse >/dev/null || [ "$DFUSE_LAUNCHER" != launch-dfuse.sh ]; }; then
		batch_say "there is neither $DFUSE_LAUNCHER nor dfuse here: load the module of DAOS in the set-up file SETUP"
		return 2
	fi
	if ! command -v daos >/dev/null; then
		batch_say "there is no program daos here: load its module in the set-up file SETUP"
		return 2
	fi
}

# daos_container: queries pool and container, makes the container if it is missing, and writes both
# to the log.
daos_container()
{
	local words
	if ! timeout -k 5 60 daos pool query "$DAOS_POOL" >"$work/pool"; then
		cat "$work/pool"
		batch_say "the DAOS pool $DAOS_POOL does not answer"
		return 1
	fi
	cat "$work/pool"
	if ! timeout -k 5 60 daos container query "$DAOS_POOL" "$DAOS_CONT" >/dev/null 2>&1; then
		if [ -z "$DAOS_CREATE" ]; then
			batch_say "the DAOS pool $DAOS_POOL has no container $DAOS_CONT, and DAOS_CREATE is empty"
			return 1
		fi
		batch_say "the DAOS pool $DAOS_POOL has no container $DAOS_CONT: the job makes it"
		read -r -a words <<<"$DAOS_CREATE"
		if ! timeout -k 5 120 daos container create "${words[@]}" "$DAOS_POOL" "$DAOS_CONT"; then
			batch_say "the DAOS container $DAOS_CONT could not be made"
			return 1
		fi
	fi
	batch_record daos container query "$DAOS_POOL" "$DAOS_CONT"
	batch_record daos container get-prop "$DAOS_POOL" "$DAOS_CONT" | tee -a "$work/pool"
	daos_doubt
}

# daos_doubt: where the pool or the container is not whole, haul says so of the results (HAUL_DEGRADED).
daos_doubt()
{
	local lacks
	lacks=$(grep -ioE '(disabled=|excluded[a-z]* ranks: *|disabled ranks: *)[1-9][0-9]*([,-][0-9]+)*|state=(degraded|targetsexcluded)|rebuild busy|unclean' \
		"$work/pool" | paste -s -d , | sed 's/,/, /g')
	[ -n "$lacks" ] || return 0
	export HAUL_DEGRADED="DAOS says $lacks"
	batch_say "the DAOS pool $DAOS_POOL or its container is not whole: $lacks"
}

# daos_mount HOSTS: mounts the container on these nodes only. What mounts does not tell whether the mount works: each node is
# asked afterwards (ON).
daos_mount()
{
	daos_container || return
	[ "$ON" = dfuse ] || return 0
	: >"$work/mounted"
	if command -v "$DFUSE_LAUNCHER" >/dev/null; then
		daos_mount_by_site "$1"
	else
		daos_mount_nodes "$1"
	fi && return
	batch_say "dfuse could not mount the container within $MOUNT_SECONDS s"
	return 1
}

# ALCF's script takes the nodes from PBS_NODEFILE: it mounts on the node where it runs in place of the first one, and on the
# others from the second line on. So this node comes first.
daos_mount_by_site()
{
	local words
	read -r -a words <<<"$DFUSE"
	{ sched_nodes | head -n 1; cat "$1"; } | awk '!seen[$0]++' >"$work/mount_nodes"
	PBS_NODEFILE=$work/mount_nodes timeout -k 10 "$MOUNT_SECONDS" "$DFUSE_LAUNCHER" "$DAOS_POOL:$DAOS_CONT" "${words[@]}"
}

# What each node runs, with the arguments POINT POOL CONTAINER OPTION…. It tells "haul-mount NAME made", "there", or why not, and
# stays: a scheduler ends what a launch has left on a node, dfuse too.
# shellcheck disable=SC2016  # the node expands it
DAOS_NODE_MOUNT='
name=${SLURMD_NODENAME:-$(hostname)} point=$1 pool=$2 container=$3
shift 3
if mountpoint -q "$point"; then
	said=there
elif mkdir -p "$point" && said=$(dfuse "--mountpoint=$point" "--pool=$pool" "--container=$container" "$@" 2>&1); then
	said=made
fi
printf "haul-mount %s %s\n" "${name%%.*}" "$(printf "%s" "${said:-no folder $point}" | head -n 1)"
while [ "$said" = made ]; do sleep 5; done'

# daos_mount_nodes HOSTS: waits until each node has told.
daos_mount_nodes()
{
	local words nodes pid until=$((SECONDS + MOUNT_SECONDS)) word name said
	read -r -a words <<<"$DFUSE"
	nodes=$(wc -l <"$1")
	cp "$1" "$work/mount_hosts"
	sched_each_node "$1"
	: >"$work/mounts"
	"${launcher[@]}" sh -c "$DAOS_NODE_MOUNT" mount "$daos_mount" "$DAOS_POOL" "$DAOS_CONT" "${words[@]}" \
		</dev/null >"$work/mounts" 2>&1 &
	pid=$!
	echo "$pid" >"$work/mounter"
	while [ "$(grep -c '^haul-mount ' "$work/mounts")" -lt "$nodes" ] && kill -0 "$pid" 2>/dev/null; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 0.2
	done
	while read -r word name said; do
		case $word:$said in
		haul-mount:made | haul-mount:there) ;;
		haul-mount:*) batch_say "dfuse on $name: $said" ;;
		esac
	done <"$work/mounts"
	# That of the launcher, which then has told nothing of a node.
	grep -q '^haul-mount ' "$work/mounts" || { head -n 3 "$work/mounts" >&2; return 1; }
}

# daos_unmount: what daos_mount has mounted, and nothing else.
daos_unmount()
{
	local rc
	if [ -e "$work/mount_nodes" ]; then
		PBS_NODEFILE=$work/mount_nodes timeout -k 10 "$MOUNT_SECONDS" clean-dfuse.sh "$DAOS_POOL:$DAOS_CONT"
		rc=$?
	else
		awk 'NR == FNR { made[$2] = $1 == "haul-mount" && $3 == "made"; next } { name = $1; sub(/[.].*/, "", name) } made[name]' \
			"$work/mounts" "$work/mount_hosts" >"$work/made"
		rc=0
		if [ -s "$work/made" ]; then
			sched_each_node "$work/made"
			# shellcheck disable=SC2016  # the node expands it
			timeout -k 10 "$MOUNT_SECONDS" "${launcher[@]}" sh -c 'fusermount3 -u "$1" && { rmdir "$1" "${1%/*}" 2>/dev/null; true; }' \
				unmount "$daos_mount" </dev/null >&2
			rc=$?
		fi
		kill "$(<"$work/mounter")" 2>/dev/null
	fi
	[ "$rc" = 0 ] || batch_say "dfuse may still be mounted on some nodes"
}

# daos_check: the checks on a login node, where nothing may be made.
daos_check()
{
	[ "$ACCESS" != lustre ] || return 0
	if ! timeout -k 5 60 daos pool query "$DAOS_POOL" >/dev/null; then
		batch_say "the DAOS pool $DAOS_POOL does not answer"
		return 2
	fi
	if timeout -k 5 60 daos container query "$DAOS_POOL" "$DAOS_CONT" >/dev/null 2>&1; then
		batch_say "the DAOS container $DAOS_CONT exists"
	elif [ -n "$DAOS_CREATE" ]; then
		batch_say "the job will make the DAOS container $DAOS_CONT"
	else
		batch_say "the DAOS pool $DAOS_POOL has no container $DAOS_CONT, and DAOS_CREATE is empty"
		return 2
	fi
}
