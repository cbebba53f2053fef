# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=1 -DNW=1
# breaks: end state
# The task state is set after wait_lock is given away: a wakeup in between is lost.
s/^(#define wake_up\(\)\s*\\)$/\1\n\tatomic { woken = woken \& ~BIT(me) };\t\\/
