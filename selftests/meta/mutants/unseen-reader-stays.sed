# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers unseen_readers
# A reader without a slot does not leave the count.
/^void __unfair_up_read_elsewhere/,/^}/ s/^	__unfair_up_read_counted\(sem\);/	if (slot) __unfair_up_read_counted(sem); else preempt_enable();/
