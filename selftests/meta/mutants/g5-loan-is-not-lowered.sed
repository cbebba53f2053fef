# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority two_locks
# fails: g5_lent_priority lender_gives_up
# A loan stays as it is when its lender goes.
/^bool lend_adjust/,/^}/ s/^		loan->level = lower_level.*/		continue;/
