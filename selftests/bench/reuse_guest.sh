#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: create and unlink files on XFS beside 8 readers of their paths.
#
#   reuse_guest.sh FS MODULE KNOBS batch:N
#
# N files are created, then unlinked. The two modes, reuse of inodes as stock does and with stamps,
# take turns of a quarter of a second, for DURATION seconds each, so that they share the load of the
# machine. Print for each turn what was created, and how the inodes were reused.

die() { echo "${0##*/}: $*"; exit 1; }

mnt=/tmp/mnt params=/sys/module/xfs/parameters
counters='recycled early replaced skipped'

# turn RUN MODE NAME: one turn with reuse=MODE
turn()
{
	echo "$2" >$params/reuse
	for c in $counters; do
		eval "$c=$(cat $params/reuse_"$c")"
	done
	inode_reuse $mnt 0.25 "${1#*:}" 8 >/tmp/said || die "inode_reuse: $(cat /tmp/said)"
	# shellcheck disable=SC2046 # words
	set -- "$1" "$3" $(cat /tmp/said)
	echo "FIGURE created $4 1/min $1 $2"
	echo "FIGURE longest_max $6 ms $1 $2"
	for c in $counters; do
		eval "echo FIGURE $c \$((\$(cat $params/reuse_$c) - $c)) inodes $1 $2"
	done
}

insmod "/fscommit/$2.ko" || die "cannot load $2.ko"
mkdir -p $mnt
mkfs.xfs -q -f -K "$DISK" && mount -t xfs -o noatime "$DISK" $mnt || die "no XFS on $DISK"
for _ in $(seq $((DURATION * 2))); do
	turn "$4" N as_stock
	turn "$4" Y stamps
	turn "$4" Y stamps
	turn "$4" N as_stock
done
umount $mnt || die "cannot unmount it"
xfs_repair -n "$DISK" >/tmp/repair.log 2>&1 || die "xfs_repair: $(tail -n 3 /tmp/repair.log)"
rmmod xfs || die "cannot unload it"
