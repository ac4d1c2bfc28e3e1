# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the files of this folder share variables
# DAOS for a job script: makes the container if it is missing, writes its properties to the log, and
# mounts it by dfuse on the nodes of the run. Every step has a time limit.

daos_settings()
{
	# lustre: HAUL_DATA is a folder on any mounted file system; dfuse: the job mounts the
	# container; pil4dfs: the same with the interception library.
	: "${ACCESS:=lustre}"
	: "${DAOS_POOL:=}" "${DAOS_CONT:=}"
	: "${PIL4DFS:=/usr/lib64/libpil4dfs.so}"
	: "${DAOS_MODULES:=/soft/modulefiles}"
	# The options to make a missing container with; empty: a missing container is an error. G32
	# suits one file per sample, GX suits one shared file.
	local properties=rd_fac:3,ec_cell_sz:131072,cksum:crc32,srv_cksum:on
	local classes="--file-oclass=EC_16P3G32 --dir-oclass=RP_4G1"
	: "${DAOS_CREATE=--type=POSIX --chunk-size=2097152 --properties=$properties $classes}"
	case $ACCESS in
	dfuse | pil4dfs) : "${HAUL_DATA:=${DAOS_CONT:+/tmp/$DAOS_POOL/$DAOS_CONT}}" ;;
	esac
}

# daos_load: checks the settings, and loads the module if the site has one and SETUP has not loaded
# it.
daos_load()
{
	case $ACCESS in
	lustre) return 0 ;;
	dfuse | pil4dfs) ;;
	*)
		batch_say "ACCESS: \"$ACCESS\" is not one of lustre, dfuse, pil4dfs"
		return 2
		;;
	esac
	if [ -z "$DAOS_POOL" ] || [ -z "$DAOS_CONT" ]; then
		batch_say "DAOS_POOL and DAOS_CONT: set both, to the pool and the container of the data set"
		return 2
	fi
	if ! command -v daos >/dev/null && command -v module >/dev/null; then
		set +u
		module use "$DAOS_MODULES"
		module load daos
		set -u
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
	if ! timeout -k 5 60 daos pool query "$DAOS_POOL"; then
		batch_say "the DAOS pool $DAOS_POOL does not answer"
		return 1
	fi
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
	batch_record daos container get-prop "$DAOS_POOL" "$DAOS_CONT"
}

# daos_mount HOSTS: mounts the container on these nodes only. ALCF's script takes the nodes from
# PBS_NODEFILE.
daos_mount()
{
	daos_load && daos_container || return
	: >"$work/mounted"
	if ! PBS_NODEFILE=$1 timeout -k 10 "$MOUNT_SECONDS" launch-dfuse.sh "$DAOS_POOL:$DAOS_CONT"; then
		batch_say "dfuse could not mount the container within $MOUNT_SECONDS s"
		return 1
	fi
}

daos_unmount()
{
	timeout -k 10 "$MOUNT_SECONDS" clean-dfuse.sh "$DAOS_POOL:$DAOS_CONT" ||
		batch_say "dfuse may still be mounted on some nodes"
}

# daos_check: the checks on a login node, where nothing may be made.
daos_check()
{
	daos_load || return
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
