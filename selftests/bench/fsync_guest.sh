#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: measure fsync and sync with one driver beside a load, on a new filesystem.
#
#   fsync_guest.sh FS MODULE KNOBS N:KIND
#
# KIND of the N tasks:
#
#   nice:N idle    see fsyncbench --help
#   weight:N quota:PERCENT iomax:KIB ...   tasks at nice 0 in a cgroup, see driver_guest.sh
#   fsync:KIND     one of these, and they call fsync for each file
#   readers        SCHED_IDLE tasks that read old files: times of sync
#   alone          tasks at nice 0, and no busy ones. All drivers get the same rate of fsyncs, so
#                  that the work of these tasks is comparable
#   fio            no fsyncbench, but N jobs of fio, with an fsync after each write of 64 KiB
#
# BUSY is the number of tasks at nice 0 that spin, DURATION that of fsyncbench.

# shellcheck disable=SC2034,SC3043 # for driver_guest.sh; busybox has `local`
name=$* mnt=/tmp/mnt n=${4%%:*} kind=${4#*:} fsyncs='' group=/sys/fs/cgroup/low
# shellcheck source-path=SCRIPTDIR
. /fscommit/driver_guest.sh

# bench OPTION...
bench() { fsyncbench -D "$DURATION" -n "$n" "$@" "$mnt" || die "fsyncbench failed"; }

# Each job writes a file of its own. Print the IOPS of the writes.
fio_jobs()
{
	fio --name=jobs --directory="$mnt" --numjobs="$n" --thread --group_reporting --rw=write \
		--fsync=1 --bs=64k --size=$((256 / n))m --fallocate=none --ioengine=sync \
		--time_based --runtime="$DURATION" --output-format=terse --terse-version=3 \
		>/tmp/fio.log 2>&1 || die "fio: $(tail -n 3 /tmp/fio.log)"
	awk -F ';' '/^3;/ { printf "FIGURE fsyncs %.1f 1/s\n", $49 }' /tmp/fio.log
}

mount_new "$1" "$2" "$3"
case $kind in fsync:*)
	kind=${kind#fsync:}
	fsyncs=--low-fsync ;;
esac
case $kind in
readers) bench --low=idle --readers -b "$BUSY" ;;
alone) bench --low=nice:0 -b 0 --timed=nice:0 --period=1000000 ;;
fio) fio_jobs ;;
nice:*|idle) bench --low="$kind" $fsyncs -b "$BUSY" ;;
*)	limit_group "$kind"
	# the kernel stops a task above memory.high once it has charged 64 pages
	case $kind in
	mem*) size=256-1024 ;;
	*) size=4-64 ;;
	esac
	bench --low=nice:0 --low-cgroup="$group/cgroup.procs" --size=$size $fsyncs -b "$BUSY"
	lift_limits
	rmdir "$group" ;;
esac
unmount_and_check
