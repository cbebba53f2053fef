# SPDX-License-Identifier: GPL-2.0
# Remove KCSAN reports of races in the kernel itself from a kernel log, and print their number.
# Under KCSAN's strict rules they are many. A report is removed if no module of ours is on either
# stack (frames below an interrupt entry do not count), or if the race is listed here.
/================================================================/ {
	if (inside) {
		report = report $0 "\n"
		if (race && (known || !ours))
			foreign++
		else
			printf "%s", report
		inside = 0
		next
	}
	inside = 1
	race = known = ours = interrupted = 0
	report = ""
}
inside {
	report = report $0 "\n"
	if (/BUG: KCSAN/)
		race = 1
	# harmless: a sleeper re-reads the flag of its timer
	if (/data-race in hrtimer_wakeup \/ schedule_hrtimeout_range_clock/)
		known = 1
	# harmless: a task that cancels its timer waits until the timer is inactive
	if (/data-race in __hrtimer_run_queues \/ hrtimer_active/)
		known = 1
	# harmless: the reader of a sequence count retries
	if (/data-race in ktime_get[a-z_]* \/ timekeeping_update_from_shadow/)
		known = 1
	# a stack begins; the frames after an interrupt entry belong to the interrupted code
	if (/ by (task|interrupt)/)
		interrupted = 0
	if (/ asm_(sysvec|common_interrupt)/)
		interrupted = 1
	if (!interrupted && /\[(fscommit|unfair_torture|[a-z_]+_test)\]/)
		ours = 1
	next
}
{ print }
END {
	if (inside)
		printf "%s", report
	if (foreign)
		print "# data races of the kernel alone: " foreign
}
