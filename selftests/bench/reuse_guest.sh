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

params=/sys/module/xfs/parameters
counters='recycled early replaced skipped'
# shellcheck source=selftests/bench/driver_guest.sh
. /fscommit/driver_guest.sh

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

mount_new "$1" "$2" "$3"
for _ in $(seq $((DURATION * 2))); do
	turn "$4" N as_stock
	turn "$4" Y stamps
	turn "$4" Y stamps
	turn "$4" N as_stock
done
unmount_and_check
