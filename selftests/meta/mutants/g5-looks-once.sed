# SPDX-License-Identifier: GPL-2.0
# A waiter that has nobody to lend to when it comes never looks whether it has.
# fails: g5_lent_priority waiter_looks_again
/^bool __unfair_rwsem_watch/,/^}/ s/return __unfair_rwsem_look\(.*/return false;/
