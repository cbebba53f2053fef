# SPDX-License-Identifier: GPL-2.0
# fails: share_gate ranges_are_had_in_turn
# Nobody is woken.
/^static void leave/,/^}/ s/wake_up_process\(r->task\);/;/
