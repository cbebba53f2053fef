# SPDX-License-Identifier: GPL-2.0
# fails: g2_no_grant nice_19_reader_nice_minus_20_writer
# A release counts the readers in that it wakes, as rw_semaphore does.
/^static void give_up_write/,/^}/ s/^	instead \|= flags_of\(sem\);/	instead += READER * wakes.nr;\n&/
/^static bool try_read/,/^}/ s/^	window_left\(sem, now\);/	if (w->woken_at \&\& !w->queued)\n		return true;\n&/
