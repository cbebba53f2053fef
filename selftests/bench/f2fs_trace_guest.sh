# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# For f2fs_guest.sh: what fsync_causes.py needs to say where the time of an fsync went. All
# switches and wakeups of tasks; for the checkpoint and the timed tasks, where they went to
# sleep; and for those of low priority, where they left their CPU.

tracing=/sys/kernel/tracing
asleep='prev_state > 0 && prev_state < 256'
whom="prev_comm == \"low\" || (prev_comm ~ \"f2fs_ckpt*\" || prev_comm ~ \"timed*\") && $asleep"

start_trace()
{
	echo 0 >$tracing/tracing_on
	echo >$tracing/trace
	echo 24576 >$tracing/buffer_size_kb
	# nanoseconds, where the default clock is one of ticks
	echo mono >$tracing/trace_clock
	echo "stacktrace if $whom" >$tracing/events/sched/sched_switch/trigger ||
		echo "no stacks: what was waited for is not known"
	for e in sched/sched_switch sched/sched_waking fscommit/unfair_lend \
		 fscommit/unfair_give_back; do
		[ ! -e "$tracing/events/$e" ] || echo 1 >"$tracing/events/$e/enable"
	done
	echo 1 >$tracing/tracing_on
}

stop_trace()
{
	echo 0 >$tracing/tracing_on
	cat $tracing/trace >"$1"
	grep . $tracing/per_cpu/cpu*/stats | grep overrun >"$1.overrun"
	echo >$tracing/trace
	echo 4 >$tracing/buffer_size_kb
	echo '!stacktrace' >$tracing/events/sched/sched_switch/trigger
	echo 0 >$tracing/events/enable
}
