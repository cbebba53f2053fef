# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: mount a new filesystem with one driver, and check it afterwards. Sourced by scripts
# that set $name, for messages, and $mnt, the folder to mount on. The disk is $DISK.

# shellcheck disable=SC2154 # of the script that sources this
die() { echo "${0##*/}: $name: $*"; exit 1; }

# mount_new FS MODULE KNOB=VALUE,...: load MODULE.ko as the driver of FS, and mount a new filesystem.
# KNOB is a file of the mount in sysfs; - for none.
mount_new()
{
	driver=$1
	trap unmount EXIT
	mkdir -p "$mnt" /tmp/out
	insmod "/fscommit/$2.ko" || die "cannot load $2.ko"
	case $1 in
	f2fs) mkfs.f2fs -f -q "$DISK" ;;
	btrfs) mkfs.btrfs -q -f "$DISK" ;;
	esac >/tmp/mkfs.log 2>&1 || die "mkfs: $(tail -n 3 /tmp/mkfs.log)"
	case $1 in
	f2fs) mount -t f2fs -o checkpoint_merge "$DISK" "$mnt" ;;
	*) mount -t "$1" "$DISK" "$mnt" ;;
	esac || die "cannot mount it"
	[ "$3" != - ] || return 0
	for k in $(echo "$3" | tr , ' '); do
		echo "${k#*=}" >"/sys/fs/$1/$(basename "$DISK")/${k%%=*}" ||
			die "$2.ko has no ${k%%=*}, or refuses ${k#*=}"
	done
}

# at the exit
unmount()
{
	umount "$mnt" 2>/dev/null
	rmmod "$driver" 2>/dev/null
}

# unmount_and_check: unmount it; the filesystem's own check must find nothing
unmount_and_check()
{
	umount "$mnt" || die "cannot unmount it"
	case $driver in
	# not -a or -f, which repair: a filesystem that needs a repair is a failure here
	f2fs)	fsck.f2fs --dry-run "$DISK" >/tmp/fsck.log 2>&1 ||
			die "fsck: $(tail -n 5 /tmp/fsck.log)"
		! grep -qE '\[(ASSERT|Fail)' /tmp/fsck.log ||
			die "fsck: $(grep -E 'ASSERT|Fail' /tmp/fsck.log)" ;;
	btrfs)	btrfs check --readonly "$DISK" >/tmp/check.log 2>&1 ||
			die "check: $(tail -n 5 /tmp/check.log)" ;;
	esac
	rmmod "$driver" || die "cannot unload it"
	trap - EXIT
}
