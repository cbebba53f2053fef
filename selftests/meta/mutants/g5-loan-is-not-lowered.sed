# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority two_locks
# fails: g5_lent_priority lender_gives_up
# A loan stays as it is when its lender goes.
/^bool relevel_loans/,/^}/ s/^		loan->level = level;/		continue;/
