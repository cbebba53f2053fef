# SPDX-License-Identifier: GPL-2.0
# fails: g4_bounded_bypass window_passes_without_its_reader
# The window is not closed when its time has passed.
/^static u64 window_left/,/^}/ s/if \(left && left <= window_us.max\)/left = 100;\n	if (left)/
