#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# In the guest: measure what other tasks notice while f2fs commits beside low-priority writers.
#
#   harm_guest.sh MODULE RUN SECONDS
#
# MODULE.ko is loaded as f2fs. RUN is one of
#
#   cyclictest:PRIO   a cyclictest thread of SCHED_FIFO PRIO on each CPU, woken each ms
#   timerlat:PRIO     the kernel's timerlat tracer with threads of that priority
#   share:PERCENT     tasks that call fsync in a loop, in a cgroup with a quota of PERCENT of a CPU;
#                     a task of nice 0 that spins for each CPU: the part of a CPU that it gets,
#                     in 1/1000
#
# Print `# FIGURES samples p50 p99.9 max syncs`: latencies in us, and the syncs of the load. For
# `share` a sample is a task: p50 is the lower part of two, and syncs are those of the cgroup.
#
# For the first two, the load syncs at a fixed rate, which the drivers reach or not. Without that, a
# driver that syncs more often does more work, and delays other tasks more.

module=$1 run=${2%%:*} value=${2#*:} seconds=$3
mnt=/tmp/mnt
tracing=/sys/kernel/tracing

die() { echo "harm_guest.sh: $module: $*"; exit 1; }

# figures FILE: FILE has a value in each line, or `VALUE COUNT`
figures()
{
	sort -n "$1" | awk -v syncs="$(cat /tmp/syncs)" '
		{ v[NR] = $1; c[NR] = NF > 1 ? $2 : 1; n += c[NR] }
		function rank(of,  i, seen) {
			for (i = 1; i <= NR; i++)
				if ((seen += c[i]) >= of * n)
					return v[i]
		}
		END {
			if (!n)
				exit 1
			printf "# FIGURES %d %d %d %d %d\n", n, rank(0.5), rank(0.999), v[NR], syncs
		}' || die "no samples"
}

# load OPTION...: start fsyncbench, for somewhat longer than the measurement
load()
{
	fsyncbench -D $((seconds + 2))s --size=4-16 "$@" "$mnt" >/tmp/load 2>&1 &
	load=$!
	sleep 1
}

# the syncs of the load; for `share` the files of its low-priority tasks
end_of_load()
{
	wait "$load" || die "fsyncbench: $(tail -n 1 /tmp/load)"
	awk '$2 == "dir" || $2 == "file" { n += $3 } END { print n + 0 }' /tmp/load >/tmp/syncs
}

measure_cyclictest()
{
	load -n 8 -b 4 --period=200000
	cyclictest -q -m -t -a -p "$value" -i 1000 -D "$seconds" -h 200000 >/tmp/out-cyclictest ||
		die "cyclictest: $(tail -n 1 /tmp/out-cyclictest)"
	end_of_load
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
	end_of_load
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
	load -n 8 --low="quota:$value" --low-fsync -b 0 --timed=nice:0 --period=1000000
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
	end_of_load
	sed -n 's/.*: \([0-9]*\) files.*/\1/p' /tmp/load >/tmp/syncs
}

end()
{
	if [ -n "${load:-}" ]; then
		kill "$load" 2>/dev/null
		wait "$load"
	fi
	[ ! -e $tracing/osnoise ] || echo nop >$tracing/current_tracer
	umount "$mnt" 2>/dev/null
	rmmod f2fs 2>/dev/null
}
trap end EXIT

# ticks of /proc are those of user space
HZ=100
mkdir -p "$mnt"
insmod "/fscommit/$module.ko" || die "cannot load it"
mkfs.f2fs -f -q "$DISK" >/tmp/mkfs.log 2>&1 || die "mkfs: $(tail -n 3 /tmp/mkfs.log)"
mount -t f2fs -o checkpoint_merge "$DISK" "$mnt" || die "cannot mount it"
case $run in
cyclictest|timerlat|share) "measure_$run" ;;
*) die "no run '$run'" ;;
esac
figures /tmp/values
load=''
umount "$mnt" || die "cannot unmount it"
rmmod f2fs || die "cannot unload it"
trap - EXIT
