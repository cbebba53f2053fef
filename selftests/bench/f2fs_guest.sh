#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: run fsyncbench once with one variant of f2fs, on a new filesystem. Afterwards fsck
# must find nothing, and a second mount must have all data that was synced.
#
#   f2fs_guest.sh MODULE NAME[:KNOB=VALUE,...] [OPTION...]
#
# Load MODULE.ko as f2fs. KNOB is a file of the mount in /sys/fs/f2fs, or fscommit/PARAMETER; the
# options are fsyncbench's. Write /tmp/out/NAME.json; with TRACE=1 the kernel's trace to NAME.trace,
# otherwise how long f2fs held its locks to NAME.held, where the kernel can tell.

module=$1 name=${2%%:*} knobs=${2#"${2%%:*}"}
shift 2
mnt=/tmp/mnt
manifest=/tmp/manifest
tracing=/sys/kernel/tracing
# since 7.0, if the driver was built with it
held=$tracing/events/f2fs/f2fs_lock_elapsed_time/enable

# shellcheck source-path=SCRIPTDIR
. /fscommit/driver_guest.sh

# Print `LOCK TYPE MS`, the longest time that a task held a lock, for each kind of lock. Times below
# 1 ms have no event.
longest_held()
{
	awk '
		function value(name) {
			rest = $0
			sub(".*, " name ": ", "", rest)
			sub(/,.*/, "", rest)
			return rest
		}
		/ f2fs_lock_elapsed_time: / {
			lock = value("lock_name") " " value("lock_type")
			if (value("total") + 0 > max[lock])
				max[lock] = value("total") + 0
		}
		END { for (lock in max) print lock, max[lock] }' $tracing/trace | sort
}

rm -f "$manifest".*
mount_new f2fs "$module"
set_knobs "${knobs#:}"
set_threads "${CKPT:-}"

if [ "${TRACE:-0}" = 1 ]; then
	. /fscommit/f2fs_trace_guest.sh
	start_trace
fi
if [ "${TRACE:-0}" != 1 ] && [ -e "$held" ]; then
	echo 0 >"/sys/fs/f2fs/$(basename "$DISK")/max_lock_elapsed_time"
	echo >$tracing/trace
	echo 8192 >$tracing/buffer_size_kb
	echo 1 >"$held"
fi
fsyncbench --manifest=$manifest --json="/tmp/out/$name.json" "$@" "$mnt" ||
	die "fsyncbench failed"
if [ "${TRACE:-0}" = 1 ]; then
	stop_trace "/tmp/out/$name.trace"
elif [ -e "$held" ]; then
	echo 0 >"$held"
	longest_held >"/tmp/out/$name.held"
	echo >$tracing/trace
	echo 4 >$tracing/buffer_size_kb
fi

unmount_and_check f2fs
mount -t f2fs "$DISK" "$mnt" || die "cannot mount it again"
fsyncbench --manifest=$manifest verify "$mnt" || die "fsynced data are lost"
umount "$mnt" || die "cannot unmount it again"
rmmod f2fs || die "cannot unload $module.ko"
