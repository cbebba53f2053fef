# SPDX-License-Identifier: GPL-2.0
# A kernel's log without the data races that KCSAN has found in the kernel alone: no function
# of a module of ours is on either stack, or it only called the kernel, which raced with itself
# there, or was interrupted, and the interrupt is what raced. With its strict rules those are many.
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
	# a sleeper looks for its timer's mark once more than it has to
	if (/data-race in hrtimer_wakeup \/ schedule_hrtimeout_range_clock/)
		known = 1
	# under a sequence count: what was read meanwhile is read again
	if (/data-race in ktime_get[a-z_]* \/ timekeeping_update_from_shadow/)
		known = 1
	# a stack begins; below the entry of an interrupt is whoever ran there
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
