# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: mount a new filesystem with one driver, and check it afterwards. Sourced by scripts
# that set $name, for messages, and $mnt, the folder to mount on. The disk is $DISK.

# shellcheck disable=SC2154 # of the script that sources this
die() { echo "${0##*/}: $name: $*"; exit 1; }

# mount_new FS MODULE: load MODULE.ko as the driver of FS, and mount a new filesystem
mount_new()
{
	driver=$1 module=$2
	trap unmount EXIT
	mkdir -p "$mnt" /tmp/out
	insmod "/fscommit/$module.ko" || die "cannot load $module.ko"
	case $driver in
	f2fs) set -- -t f2fs -o checkpoint_merge && mkfs.f2fs -f -q "$DISK" ;;
	btrfs) set -- -t btrfs && mkfs.btrfs -q -f "$DISK" ;;
	esac >/tmp/mkfs.log 2>&1 || die "mkfs: $(tail -n 3 /tmp/mkfs.log)"
	mount "$@" "$DISK" "$mnt" || die "cannot mount it"
}

# At the exit. Also restores the parameters of fscommit, which stays loaded.
unmount()
{
	umount "$mnt" 2>/dev/null
	rmmod "$driver" 2>/dev/null
	for k in ${params:-}; do
		echo "${k#*=}" >"/sys/module/fscommit/parameters/${k%%=*}"
	done
}

# set_knobs [KNOB=VALUE,...]: KNOB is a file of the mount in sysfs, or fscommit/PARAMETER
set_knobs()
{
	for k in $(echo "${1:-}" | tr , ' '); do
		f=/sys/fs/$driver/$(basename "$DISK")/${k%%=*}
		case $k in
		fscommit/*)
			f=${k#fscommit/} f=/sys/module/fscommit/parameters/${f%%=*}
			[ ! -e "$f" ] || params="${f##*/}=$(cat "$f") ${params:-}" ;;
		esac
		[ -e "$f" ] || die "$module.ko has no ${k%%=*}"
		echo "${k#*=}" >"$f" || die "cannot set $k"
	done
}

# set_threads [nice|fifo]: an administrator can raise the priority of f2fs's threads that write
# checkpoints and flush
set_threads()
{
	# shellcheck disable=SC2013 # numbers
	for pid in $(grep -lE '^f2fs_(ckpt|flush)' /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3); do
		case ${1:-} in
		nice) renice -n -20 -p "$pid" >/dev/null ;;
		fifo) chrt -f -p 1 "$pid" >/dev/null ;;
		esac || die "cannot set the priority of $pid"
	done
}

# unmount_and_check FS: unmount it; the filesystem's own check must find nothing
unmount_and_check()
{
	umount "$mnt" || die "cannot unmount it"
	case $1 in
	# not -a or -f, which repair: a filesystem that needs a repair is a failure here
	f2fs)	fsck.f2fs --dry-run "$DISK" >/tmp/fsck.log 2>&1 ||
			die "fsck: $(tail -n 5 /tmp/fsck.log)"
		! grep -qE '\[(ASSERT|Fail)' /tmp/fsck.log ||
			die "fsck: $(grep -E 'ASSERT|Fail' /tmp/fsck.log)" ;;
	btrfs)	btrfs check --readonly "$DISK" >/tmp/check.log 2>&1 ||
			die "check: $(tail -n 5 /tmp/check.log)" ;;
	esac
}
