# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2154 # the test sets $fs
# Sourced in the guest by the crash and the stress test: make and check a filesystem $fs.

out=/tmp/out
mkdir -p $out /etc
[ -e /etc/mtab ] || ln -s /proc/mounts /etc/mtab	# mkfs.nilfs2 reads it

# make_fs DISK... [OPTION...]
make_fs()
{
	case $fs in
	f2fs) mkfs.f2fs -q -f "$@" ;;
	btrfs) mkfs.btrfs -q -f "$@" ;;
	nilfs2) mkfs.nilfs2 -q -f -K "$@" ;;
	xfs) mkfs.xfs -q -f -K "$@" ;;
	esac >$out/mkfs 2>&1
}

# Fails unless the filesystem is clean; prints what the check reports. nilfs2 has no such tool.
check_fs()
{
	case $fs in
	f2fs)
		fsck.f2fs -f --dry-run "$1" >/tmp/fsck 2>&1 </dev/null &&
			! grep -qE '\[Fail\]|ASSERT|\[FIX\]' /tmp/fsck ;;
	btrfs) btrfs check --readonly --check-data-csum "$1" >/tmp/fsck 2>&1 ;;
	nilfs2) : >/tmp/fsck ;;
	xfs) xfs_repair -n "$1" >/tmp/fsck 2>&1 ;;
	esac && return
	grep -vE '^Info|\[Ok\.\.\]' /tmp/fsck | head -n 10 | sed 's/^/#   /'
	return 1
}
