#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: run syncbench once with one variant of btrfs, on a new filesystem. `btrfs check`
# must find nothing afterwards.
#
#   btrfs_guest.sh MODULE NAME [OPTION...]
#   btrfs_guest.sh MODULE NAME --fio JOBS     fio instead: an fsync after each write of 64 KiB
#
# Load MODULE.ko as btrfs; the options are syncbench's. Write /tmp/out/NAME.json, and the lock waits
# of the committing tasks, from the kernel's contention events, to /tmp/out/NAME.waits, as lines
# `CAUSE TIMES TOTAL_US MAX_US`.

module=$1 name=$2
shift 2
mnt=/tmp/mnt
tracing=/sys/kernel/tracing

. /fscommit/driver_guest.sh

# the task that calls sync, and btrfs's transaction thread
committers='comm == "syncer" || comm ~ "btrfs-transacti*"'

start_trace()
{
	[ -e $tracing/events/lock/contention_begin ] || return 0
	echo 0 >$tracing/tracing_on
	echo 4096 >$tracing/buffer_size_kb
	echo >$tracing/trace
	echo "stacktrace if $committers" >$tracing/events/lock/contention_begin/trigger
	for e in contention_begin contention_end; do
		echo "$committers" >$tracing/events/lock/$e/filter
		echo 1 >$tracing/events/lock/$e/enable
	done
	echo 1 >$tracing/tracing_on
}

stop_trace()
{
	[ -e $tracing/events/lock/contention_begin ] || return 0
	echo 0 >$tracing/tracing_on
	echo 0 >$tracing/events/lock/enable
	echo '!stacktrace' >$tracing/events/lock/contention_begin/trigger
	awk '
		function task(  n) { n = $0; sub(/^ */, "", n); sub(/ *\[.*/, "", n); return n }
		function stamp(  i) {
			for (i = 1; i <= NF; i++)
				if ($i ~ /^[0-9]+\.[0-9]+:$/)
					return $i + 0
		}
		/contention_begin:/ {
			who = task(); began[who] = stamp(); cause[who] = "other"; next
		}
		/contention_end:/ {
			t = task()
			if (began[t]) {
				us = (stamp() - began[t]) * 1e6
				times[cause[t]]++; total[cause[t]] += us
				if (us > max[cause[t]]) max[cause[t]] = us
				began[t] = 0
			}
			next
		}
		/=> switch_commit_roots/ { cause[who] = "switch_commit_roots" }
		/=> btrfs_publish_commit_roots/ { cause[who] = "publish_commit_roots" }
		/=> btrfs_tree_(read_)?lock/ && cause[who] == "other" { cause[who] = "tree_block" }
		END { for (c in times) printf "%s %d %d %d\n", c, times[c], total[c], max[c] }
	' $tracing/trace >"/tmp/out/$name.waits"
	sed "s/^/# $name waited: /" "/tmp/out/$name.waits"
}

# Write fio's results to /tmp/out/NAME.fsync.json, and the share gate's counters beside them.
fsyncs()
{
	local gates=/sys/kernel/debug/fscommit/share_gates
	cp $gates /tmp/gates
	fio --name="$name" --directory="$mnt" --numjobs="$1" --thread --group_reporting --rw=write \
		--fsync=1 --bs=64k --size=$((256 / $1))m --fallocate=none --ioengine=sync \
		--time_based --runtime=4 --output-format=json \
		--output="/tmp/out/$name.fsync.json" >/tmp/fio.log 2>&1 ||
		die "fio: $(tail -n 3 /tmp/fio.log)"
	awk 'NR == FNR { before[$1] = $2; next } { print $1, $2 - before[$1] }' \
		/tmp/gates $gates >"/tmp/out/$name.gates"
}

mount_new btrfs "$module"
if [ "$1" = --fio ]; then
	fsyncs "$2"
	unmount_and_check btrfs
	exit
fi
start_trace
syncbench --json="/tmp/out/$name.json" --variant="$name" "$@" "$mnt" || die "syncbench failed"
stop_trace
for f in /sys/fs/btrfs/*-*/commit_stats; do
	sed "s/^/# $name commit_stats: /" "$f"
	cp "$f" "/tmp/out/$name.commit_stats"
done
unmount_and_check btrfs
