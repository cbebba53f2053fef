# SPDX-License-Identifier: GPL-2.0
# As many calls that set a policy which is not real-time fail as the parameter fault_give_back
# says: what was lent SCHED_FIFO is not taken back by these. The calls are found by their name,
# whichever file they are in.
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
