# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The drivers that benchmarks, crash tests and stress tests compare: their names, and how to build
# them for a guest. Sourced, never run. A driver has one of these names, or is given by its options
# for port.sh, separated by commas:
#
#   stock         the kernel's driver
#   stock-tuned   f2fs: stock with the knobs of 7.x against low-priority readers, and REQ_META on
#                 node blocks
#   f2fs-unfair   f2fs: the kernel's driver with CONFIG_F2FS_UNFAIR_RWSEM
#   fscommit      the ported driver with its default options
#   fscommit-all  f2fs: every f2fs_rwsem is converted; btrfs: also SHARE_GATE=1
#   gate          btrfs: only the share gate
#   always-locked btrfs: each fsync locks its range of the log

. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"
. "$TOP/selftests/mutants/lib.sh"
# shellcheck disable=SC2034 # for the caller
FILESYSTEMS=$TOP/selftests/filesystems

# edit_of FS NAME: write the sed script of a mutant in FS/mutants, and print its path
edit_of()
{
	local file=$LOGS/$2.sed
	mkdir -p "$LOGS"
	mutant_script "$FILESYSTEMS/$1/mutants" "$2" >"$file"
	[ -s "$file" ] || die "no mutant '$2' in $FILESYSTEMS/$1/mutants"
	printf '%s\n' "$file"
}

# port FS KERNEL [OPTION=VALUE...]: build a driver by port.sh; EDIT=NAME names a mutant
port()
{
	local options=() o
	for o in "${@:3}"; do
		[[ $o != EDIT=* ]] || o=EDIT=$(edit_of "$1" "${o#*=}") || exit 1
		options+=("$o")
	done
	"$TOP/ports/port.sh" "$1" "$2" "${options[@]}"
}

# driver_options FS DRIVER: print its options for port.sh, separated by commas
driver_options()
{
	case $1:$2 in
	*:stock|f2fs:stock-tuned) echo VARIANT=stock ;;
	f2fs:f2fs-unfair) echo VARIANT=f2fs-unfair ;;
	*:fscommit) ;;
	f2fs:fscommit-all) echo LOCKS=all ;;
	btrfs:fscommit-all) echo SHARE_GATE=1 ;;
	btrfs:gate) echo LOCKS=none,COMMIT_ROOT=0,SHARE_GATE=1,EXPEDITE=0 ;;
	btrfs:always-locked) echo VARIANT=stock,EDIT=always-locks ;;
	*=*) echo "$2" ;;
	*) die "$1 has no driver '$2'; see the head of selftests/filesystems/drivers.sh" ;;
	esac
}

# driver_knobs DRIVER: print KNOB=VALUE,... of the mounted filesystem in sysfs, or -
driver_knobs()
{
	case $1 in
	stock-tuned) echo "adjust_lock_priority=127,lock_duration_priority=100,$(
		)critical_task_priority=100,node_io_flag=56" ;;
	*) echo - ;;
	esac
}

# our_drivers FS: drivers on fscommit, the best tested first
our_drivers()
{
	case $1 in
	f2fs) echo fscommit fscommit-all ;;
	btrfs) echo fscommit-all ;;
	*) echo fscommit ;;
	esac
}

# driver_file FS DRIVER: its file name in the guest, where all drivers share a folder
driver_file() { printf '%s-%s' "$1" "$(printf '%s' "$2" | tr -c 'A-Za-z0-9\n-' _)"; }

# prepare_drivers FS KERNEL FOLDER DRIVER...: build them into FOLDER; set `boot` to the options
# of boot.sh that they need, `product`, unless none needs fscommit, and `variant` to the name that
# the port gives the last one
# shellcheck disable=SC2034 # for the caller
prepare_drivers()
{
	local fs=$1 kernel=$2 folder=$3 d ko dep words
	# what the port's file of options sets
	local tools=() kmods=() extras=() options=() config=() disk module
	shift 3
	boot=() product='' variant=''
	rm -rf "$folder"
	mkdir -p "$folder"
	for d in "$@"; do
		words=$(driver_options "$fs" "$d") || return 1
		# shellcheck disable=SC2086 # words
		ko=$(port "$fs" "$kernel" ${words//,/ }) || return 1
		variant=$(basename "$(dirname "$ko")")
		strip -g -o "$folder/$(driver_file "$fs" "$d").ko" "$ko"
		if [ -e "${ko%/*}/fscommit.ko" ]; then
			cp "${ko%/*}/fscommit.ko" "$folder/"
			product=fscommit
		fi
		for dep in $(modinfo -F depends "$ko" | tr , ' '); do
			[ "$dep" = fscommit ] || [[ " ${boot[*]} " = *" $dep "* ]] ||
				boot+=(--kmod "$dep")
		done
	done
	# shellcheck source=/dev/null
	. "$TOP/ports/$fs/options"
	need "${tools[@]}"
	for dep in "${tools[@]}"; do
		boot+=(--with "$dep")
	done
	for dep in "${kmods[@]}"; do
		boot+=(--kmod "$dep")
	done
}

# verdict_of OUT: print a guest's results; fails if a test failed
verdict_of()
{
	sed '/^FILE /,/^END$/d' "$1/result.txt" | sed -n 's/^TAP //p;s/^REPORT/# report:/p'
	[ "$(cat "$1/verdict")" = PASS ] || { say "$(cat "$1/verdict")"; return 1; }
	! grep -qE '^TAP not ok|^DONE [^ ]+ [^0]' "$1/result.txt"
}
