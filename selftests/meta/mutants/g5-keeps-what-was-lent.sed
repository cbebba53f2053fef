# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority lent_and_given_back
# fails: g5_lent_priority nobody_is_left_with_it
# A release does not give back.
/^static void up_read_locked/,/^}/ s/if \(atomic_long_read\(&sem->word\) & LENT\)/if (false)/
