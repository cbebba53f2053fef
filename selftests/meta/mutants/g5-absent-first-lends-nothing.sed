# SPDX-License-Identifier: GPL-2.0
# Holders are lent to by the first waiter, or for one that has come to sleep: not for one that
# has no CPU.
# fails: g5_lent_priority absent_first_waiter_lends_all_the_same
/^static void look_at_holders/,/^}/ s/^	do \{/	if (first_writer(sem) \&\& first_writer(sem) != w)\n		return;\n&/
/^bool __unfair_rwsem_watch/,/^}/ s/return __unfair_rwsem_look\(/return (!w || w->asleep) \&\& __unfair_rwsem_look(/
