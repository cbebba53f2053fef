# SPDX-License-Identifier: GPL-2.0
# A kernel's log without the data races that KCSAN has found in the kernel alone: no function
# of a module of ours is on either stack. With its strict rules those are many.
/================================================================/ {
	if (inside) {
		report = report $0 "\n"
		if (race && !ours)
			foreign++
		else
			printf "%s", report
		inside = 0
		next
	}
	inside = 1
	race = ours = 0
	report = ""
}
inside {
	report = report $0 "\n"
	if (/BUG: KCSAN/)
		race = 1
	if (/\[(fscommit|unfair_torture|[a-z_]+_test)\]/)
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
