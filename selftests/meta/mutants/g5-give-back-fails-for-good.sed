# SPDX-License-Identifier: GPL-2.0
# What could not be given back stays lent. (The rest is selftests/robust/give_back.sed.)
# fails: give_back_fails own_policy_is_back_within_a_second
/^static void apply/,/^}/ s/^			t->failed = true;/			;/
/^static void apply/,/^}/ s/^			nr_failed\+\+;/			;/
1s|$|\
extern int fault_give_back;\
#define FAULT_SETATTR(task, attr)						\\\
	(fault_give_back > 0 \&\& (attr)->sched_policy != 1 \&\&			\\\
	 (attr)->sched_policy != 2 ? (fault_give_back--, -13) :			\\\
	 sched_setattr_nocheck(task, attr))\
#line 2|
/^MODULE_LICENSE/s|^|int fault_give_back;\
module_param(fault_give_back, int, 0600);\
|
/^[ 	]*(\/?\*|#)/!s/\bsched_setattr_nocheck\(/FAULT_SETATTR(/
