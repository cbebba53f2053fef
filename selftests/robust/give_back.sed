# SPDX-License-Identifier: GPL-2.0
# The first fault_give_back calls that set a policy other than a real-time one fail: they do not
# take back a lent SCHED_FIFO. The calls are found by name in all files.
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
