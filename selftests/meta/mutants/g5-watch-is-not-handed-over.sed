# SPDX-License-Identifier: GPL-2.0
# The watcher forgets a lock when the waiter goes that had it looked after.
# fails: g5_lent_priority waiter_looks_again
/^void __unfair_rwsem_hand_over_watch/,/^}/ s/^	if \(to\) \{/	if (false) {/
