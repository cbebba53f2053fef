#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: measure what other tasks notice while f2fs commits beside low-priority writers.
#
#   harm_guest.sh FS MODULE KNOBS RUN
#
# MODULE.ko is loaded as f2fs. A run takes DURATION seconds. RUN is one of
#
#   cyclictest:PRIO   a cyclictest thread of SCHED_FIFO PRIO on each CPU, woken each ms
#   timerlat:PRIO     the kernel's timerlat tracer with threads of that priority
#   share:PERCENT     tasks that call fsync in a loop, in a cgroup with a quota of PERCENT of a CPU;
#                     a task of nice 0 that spins for each CPU: the part of a CPU that it gets,
#                     in 1/1000
#
# Print the samples and their percentiles, and the syncs of the load, as lines `FIGURE NAME VALUE
# UNIT`. For `share` a sample is a task, and the syncs are those of the cgroup.
#
# For the first two, the load syncs at a fixed rate, which the drivers reach or not. Without that, a
# driver that syncs more often does more work, and delays other tasks more.

run=${4%%:*} value=${4#*:} seconds=$DURATION
tracing=/sys/kernel/tracing
unit=us

# shellcheck source=selftests/bench/driver_guest.sh
. /fscommit/driver_guest.sh

# figures FILE: FILE has a value in each line, or `VALUE COUNT`
figures()
{
	sort -n "$1" | awk -v syncs="$(cat /tmp/syncs)" -v unit="$unit" '
		{ v[NR] = $1; c[NR] = NF > 1 ? $2 : 1; n += c[NR] }
		function rank(of,  i, seen) {
			for (i = 1; i <= NR; i++)
				if ((seen += c[i]) >= of * n)
					return v[i]
		}
		END {
			if (!n)
				exit 1
			print "FIGURE samples", n, "count"
			print "FIGURE min", v[1], unit
			print "FIGURE p50", rank(0.5), unit
			print "FIGURE p99.9", rank(0.999), unit
			print "FIGURE max", v[NR], unit
			print "FIGURE syncs", syncs
		}' || die "no samples"
}

# load OPTION...: start fsyncbench, for somewhat longer than the measurement
load()
{
	fsyncbench -D $((seconds + 2))s --size=4-16 "$@" "$mnt" >/tmp/load 2>&1 &
	load=$!
	sleep 1
}

# end_of_load FIGURE: keep the value and unit of this figure of the load as its syncs
end_of_load()
{
	wait "$load" || die "fsyncbench: $(tail -n 1 /tmp/load)"
	awk -v f="$1" '$2 == f { print $3, $4 }' /tmp/load >/tmp/syncs
}

measure_cyclictest()
{
	load -n 8 -b 4 --period=200000
	cyclictest -q -m -t -a -p "$value" -i 1000 -D "$seconds" -h 200000 >/tmp/out-cyclictest ||
		die "cyclictest: $(tail -n 1 /tmp/out-cyclictest)"
	end_of_load fsyncs
	# a line of the histogram: the latency, and a count for each thread
	awk '/^[0-9]/ { n = 0; for (i = 2; i <= NF; i++) n += $i; if (n) print $1 + 0, n }
	     /^# Histogram Overflows:/ {
		for (i = 4; i <= NF; i++) if ($i + 0) print 200000, $i + 0
	     }' \
		/tmp/out-cyclictest >/tmp/values
}

measure_timerlat()
{
	if ! grep -w timerlat $tracing/available_tracers >/dev/null; then
		echo "# SKIP this kernel has no timerlat tracer (CONFIG_TIMERLAT_TRACER)"
		exit 4
	fi
	load -n 8 -b 4 --period=200000
	echo 1000 >$tracing/osnoise/timerlat_period_us
	echo 8192 >$tracing/buffer_size_kb
	echo timerlat >$tracing/current_tracer || die "no timerlat tracer"
	# shellcheck disable=SC2013 # numbers
	for t in $(grep -l '^timerlat/' /proc/[0-9]*/comm | cut -d/ -f3); do
		chrt -f -p "$value" "$t" >/dev/null || die "cannot set a priority"
	done
	echo >$tracing/trace
	sleep "$seconds"
	echo 0 >$tracing/tracing_on
	awk '/context thread timer_latency/ { print int($(NF - 1) / 1000) }' $tracing/trace \
		>/tmp/values
	echo nop >$tracing/current_tracer
	echo 1 >$tracing/tracing_on
	echo 4 >$tracing/buffer_size_kb
	end_of_load fsyncs
}

# ticks PID: print the CPU time of a task in ticks, and the uptime in 1/100 s
ticks()
{
	awk 'NR == 1 { t = $14 + $15 } NR == 2 { printf "%d:%d\n", t, $1 * 100 }' \
		"/proc/$1/stat" /proc/uptime
}

measure_share()
{
	local n pids='' before='' now was
	limit_group "quota:$value"
	load -n 8 --low=nice:0 --low-cgroup="$group/cgroup.procs" --low-fsync -b 0 --timed=nice:0 --period=1000000
	for n in $(seq "$(nproc)"); do
		sh -c 'while :; do :; done' &
		pids="$pids $!"
	done
	for n in $pids; do
		before="$before $(ticks "$n")"
	done
	before=${before# }
	sleep "$seconds"
	: >/tmp/values
	for n in $pids; do
		# not of $seconds: this shell may have waited for a CPU
		now=$(ticks "$n") was=${before%% *}
		echo $(((${now%:*} - ${was%:*}) * 100000 / HZ / (${now#*:} - ${was#*:}))) >>/tmp/values
		before=${before#* }
	done
	# shellcheck disable=SC2086 # numbers
	kill $pids
	end_of_load low_files
	rmdir "$group"
	unit=1/1000
}

# ticks of /proc are those of user space
HZ=100
load=''
mount_new "$1" "$2" "$3"
trap 'kill $load 2>/dev/null; wait; unmount' EXIT
case $run in
cyclictest|timerlat|share) "measure_$run" ;;
*) die "no run '$run'" ;;
esac
figures /tmp/values
unmount_and_check
