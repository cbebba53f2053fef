# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# For f2fs_guest.sh: trace what fsync_causes.py needs: all switches and wakeups of tasks, the stacks
# where the checkpoint thread and the timed tasks go to sleep, and the stacks where the low-priority
# tasks leave their CPU.

tracing=/sys/kernel/tracing
asleep='prev_state > 0 && prev_state < 256'
whom="prev_comm == \"low\" || (prev_comm ~ \"f2fs_ckpt*\" || prev_comm ~ \"timed*\") && $asleep"

start_trace()
{
	echo 0 >$tracing/tracing_on
	echo >$tracing/trace
	echo 24576 >$tracing/buffer_size_kb
	# the default clock may only have the resolution of a tick
	echo mono >$tracing/trace_clock
	echo "stacktrace if $whom" >$tracing/events/sched/sched_switch/trigger ||
		echo "no stack traces: the causes of waits are unknown"
	for e in sched/sched_switch sched/sched_waking sched/sched_pi_setprio; do
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
