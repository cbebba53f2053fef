# SPDX-License-Identifier: GPL-2.0
# Readers are hidden from a section once the last reader has released the lock.
# fails: g9_expedite committer_that_read_still_lends
/^static void up_read_locked/,/^}/ s/if \(!sem->expedited\)//
