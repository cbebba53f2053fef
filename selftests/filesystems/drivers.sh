# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Build drivers for the guests of the crash test and the stress test. Sourced, never run.
#
# A driver is named by its options for port.sh, separated by commas, as LOCKS=all,EXPEDITE=0, or
# `default` for none.

. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"
# shellcheck disable=SC2034 # for the caller
FILESYSTEMS=$TOP/selftests/filesystems

# control_driver FS: the kernel's driver, as a control
control_driver()
{
	case $1 in
	f2fs|btrfs|xfs) echo VARIANT=stock ;;
	esac
}

# our_drivers FS: drivers on fscommit, the best tested first
our_drivers()
{
	case $1 in
	f2fs) echo default LOCKS=all ;;
	btrfs) echo SHARE_GATE=1 ;;
	xfs) echo default ;;
	esac
}

# driver_file DRIVER: its file name in the guest, where all drivers share a folder
driver_file()
{
	printf '%s-%s' "$fs" "$(printf '%s' "$1" | tr -c 'A-Za-z0-9\n' _)"
}

# prepare_drivers FS KERNEL FOLDER DRIVER...: build them into FOLDER; set `boot` to the options
# of boot.sh that they need, and `product`, unless none needs fscommit
prepare_drivers()
{
	local fs=$1 kernel=$2 folder=$3 d ko dep packages=() tools=() kmods=()
	shift 3
	boot=() product=''
	rm -rf "$folder"
	mkdir -p "$folder"
	for d in "$@"; do
		# shellcheck disable=SC2046 # a word for each option
		ko=$("$TOP/ports/port.sh" "$fs" "$kernel" \
			$([ "$d" = default ] || printf '%s\n' "${d//,/ }")) || exit 1
		cp "$ko" "$folder/$(driver_file "$d").ko"
		if [ -e "${ko%/*}/fscommit.ko" ]; then
			cp "${ko%/*}/fscommit.ko" "$folder/"
			# shellcheck disable=SC2034 # for the caller
			product=fscommit
		fi
		for dep in $(modinfo -F depends "$ko" | tr , ' '); do
			[ "$dep" = fscommit ] || [[ " ${boot[*]} " = *" $dep "* ]] ||
				boot+=(--kmod "$dep")
		done
	done
	# shellcheck source=/dev/null
	. "$TOP/ports/$fs/options"
	need_packages "${packages[@]}"
	for dep in "${tools[@]}"; do
		boot+=(--with "$dep")
	done
	for dep in "${kmods[@]}"; do
		boot+=(--kmod "$dep")
	done
}

# prepare_delay KERNEL FOLDER: prepare dm-delay; set `delay` to the options of boot.sh that it
# needs, and `load_delay` to lines for the plan. The uml kernels are configured without it:
# build it from their source.
prepare_delay()
{
	local kernel=$1 folder=$2 kdir source dir log=$LOGS/dm-delay-$1.log
	# shellcheck disable=SC2034 # for the caller
	delay=(--kmod dm_delay) load_delay=''
	[ "$(matrix_field "$kernel" kind)" = uml ] || return 0
	kdir=$("$HARNESS/kernel.sh" get "$kernel")/kdir
	source=$("$HARNESS/kernel.sh" source "$(matrix_field "$kernel" version)")
	[ ! -e "$kdir/drivers/md/dm-delay.ko" ] || return 0
	dir=$CACHE/build/fs/$kernel/dm-delay
	mkdir -p "$dir"
	cp "$source/drivers/md/dm-delay.c" "$dir/"
	echo 'obj-m := dm-delay.o' >"$dir/Kbuild"
	: >"$log"
	step "building dm-delay for $kernel" "5 s" "$log" \
		"$HARNESS/kernel.sh" build "$kernel" "$dir" modules || die "cannot build dm-delay"
	# shellcheck disable=SC2034 # for the caller
	delay=() load_delay="load dm-delay"
	cp "$dir/dm-delay.ko" "$folder/"
}

# verdict_of OUT: print a guest's results; fails if a test failed
verdict_of()
{
	sed '/^FILE /,/^END$/d' "$1/result.txt" | sed -n 's/^TAP //p;s/^REPORT/# report:/p'
	[ "$(cat "$1/verdict")" = PASS ] || { say "$(cat "$1/verdict")"; return 1; }
	! grep -qE '^TAP not ok|^DONE [^ ]+ [^0]' "$1/result.txt"
}
