# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC3043,SC2034,SC2154 # the test sets $fs
# Sourced in the guest: make, mount and check a filesystem $fs.

# btrfs scrub cancels a thread: glibc loads libgcc_s by name
export LD_LIBRARY_PATH=/fscommit
mnt=/tmp/mnt
mkdir -p $mnt /tmp/out /etc
[ -e /etc/mtab ] || ln -s /proc/mounts /etc/mtab	# mkfs.nilfs2 reads it
fsck=/tmp/out/fsck

# make_fs DISK... [OPTION...]
make_fs()
{
	case $fs in
	f2fs) mkfs.f2fs -q -f "$@" ;;
	btrfs) mkfs.btrfs -q -f "$@" ;;
	nilfs2) mkfs.nilfs2 -q -f -K "$@" ;;
	xfs) mkfs.xfs -q -f -K "$@" ;;
	esac >/tmp/out/mkfs 2>&1
}

# mount_fs DISK [OPTIONS]: on $mnt
mount_fs()
{
	local options=${2:-rw}
	[ "$fs" != f2fs ] || options=checkpoint_merge,$options
	mount -t "$fs" -o "$options" "$1" "$mnt"
}

# Fails unless the filesystem is clean; prints what the check reports. nilfs2 has no such tool.
check_fs()
{
	case $fs in
	f2fs)
		fsck.f2fs -f --dry-run "$1" >$fsck 2>&1 </dev/null && grep -q '\[FSCK\]' $fsck &&
			! grep -qE '\[Fail\]|ASSERT|\[FIX\]' $fsck ;;
	btrfs)
		btrfs check --readonly --check-data-csum "$1" >$fsck 2>&1 &&
			grep -q 'no error found' $fsck ;;
	nilfs2) : >$fsck ;;
	xfs) xfs_repair -n "$1" >$fsck 2>&1 ;;
	esac && return
	grep -vE '^Info|\[Ok\.\.\]|^Phase|^ +- |^\[[0-9]/7\]' $fsck | head -n 10 | sed 's/^/#   /'
	return 1
}
