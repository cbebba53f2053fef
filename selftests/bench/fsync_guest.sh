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
#   pressure:MIB   no fsyncbench, but N readers in a cgroup with this memory.high, see pressure()
#
# BUSY is the number of tasks at nice 0 that spin, DURATION that of fsyncbench. A run of pressure
# ends LIMIT seconds later at the latest.

n=${4%%:*} kind=${4#*:} fsyncs=''
# shellcheck source=selftests/bench/driver_guest.sh
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

now_ms() { awk '{ print int($1 * 1000) }' /proc/uptime; }

# syncs LAST: a sync every 10 s, until the time LAST. Print when each began, and how long it took.
syncs()
{
	while :; do
		begin=$(now_ms)
		echo "$begin -"
		sync
		echo "$begin $(($(now_ms) - begin))"
		[ "$(now_ms)" -lt "$1" ] || return 0
		sleep 10
	done
}

# The readers of a cgroup have files of ten times its memory.high, each in a subvolume of its own.
# On CPU 0, 32 tasks overwrite small files, and one calls sync. (After the load with which Boris
# Burkov showed in 2025 why btrfs should search checksums in the commit root.)
pressure()
{
	local mib=${kind#*:} good=/sys/fs/cgroup/good stats=/tmp/out/syncs i begin now fio pid commits before
	for i in $(seq 0 $((n - 1))); do
		btrfs -q subvolume create "$mnt/$i" &&
			dd if=/dev/zero of="$mnt/$i/old" bs=4k count=$((mib * 2560 / n)) 2>/dev/null ||
			die "cannot make file $i"
	done
	sync
	echo 3 >/proc/sys/vm/drop_caches
	echo '+memory +cpuset +io' >/sys/fs/cgroup/cgroup.subtree_control &&
		mkdir -p "$group" "$good" && echo "${mib}M" >"$group/memory.high" &&
		echo 0 >"$good/cpuset.cpus" || die "no cgroup v2 with memory, cpuset and io"
	commits=$(echo /sys/fs/btrfs/*-*/commit_stats)
	echo 0 >"$commits"
	before=$(sed -n 's/^commits //p' "$commits")
	begin=$(now_ms)
	(echo 0 >"$group/cgroup.procs"
	 exec fio --name=low --directory="$mnt" --filename_format="\$jobnum/old" --numjobs="$n" \
		--thread --rw=read --bs=128k --size=$((mib * 10240 / n))k --ioengine=sync \
		--time_based --runtime=36000 >/tmp/fio.log 2>&1) &
	fio=$!
	for i in $(seq 32); do
		(echo 0 >"$good/cgroup.procs"
		 while :; do
			i=$(((i + 1) % 10))
			dd if=/dev/zero of="$mnt/tmp.$i" bs=4k count=2 2>/dev/null
		 done) &
	done
	(echo 0 >"$good/cgroup.procs"; syncs $((begin + DURATION * 1000))) >$stats &
	pid=$!
	while kill -0 $pid 2>/dev/null && [ "$(now_ms)" -lt $((begin + (DURATION + LIMIT) * 1000)) ]; do
		sleep 1
	done
	kill -0 $fio 2>/dev/null || die "fio: $(tail -n 3 /tmp/fio.log)"
	now=$(now_ms)
	awk -v now="$now" -v begin="$begin" '
		$2 == "-" { open = now - $1; next }
		{ open = 0; n++; if ($2 > longest) longest = $2 }
		END {
			bound = open > longest ? ">" : ""
			printf "FIGURE syncs %d count\nFIGURE sync_max %s%d ms\nFIGURE run %s%.1f s\n",
				n, bound, bound ? open : longest, open ? ">" : "", (now - begin) / 1000
		}' $stats
	awk -v s=$(((now - begin) / 1000)) -v before="$before" '
		/^(commits|cur_commit_ms|max_commit_ms) / { v[$1] = $2 }
		/^(some|full)/ { sub(/.*=/, ""); v["psi" (++k)] = $0 }
		/rbytes=/ { sub(/.*rbytes=/, ""); v["read"] += $1 }
		END {
			bound = v["cur_commit_ms"] > v["max_commit_ms"] + 0
			printf "FIGURE commits %d count\n", v["commits"] - before
			printf "FIGURE commit_max %s%d ms\n", bound ? ">" : "",
				bound ? v["cur_commit_ms"] : v["max_commit_ms"]
			printf "FIGURE low_read %.1f MiB/s\n", v["read"] / s / 1048576
			printf "FIGURE stalled %.1f %%\nFIGURE all_stalled %.1f %%\n",
				v["psi1"] / s / 1e4, v["psi2"] / s / 1e4
		}' "$commits" "$group/memory.pressure" "$group/io.stat"
	for i in "$group" "$good"; do
		echo 1 >"$i/cgroup.kill"
		# busy as long as a task of it exits
		until rmdir "$i" 2>/dev/null; do sleep 1; done
	done
	wait
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
pressure:*) pressure ;;
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
