# SPDX-License-Identifier: GPL-2.0
# model: rcu_reuse -DNC=1 -DNR=1
# breaks: worker_is_to_come
# C: who enqueues looks at the pace before the object is in the list.
s/^\t\tobjects\+\+;$/\t\tobjects++;\n\t\twanted = (PACE_SLOW > pace -> PACE_SLOW : PACE_STOPPED);/; s/^\t\t\twanted = \(PACE_SLOW > pace -> PACE_SLOW : PACE_STOPPED\).*/\t\t\tskip/
