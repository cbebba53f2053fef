# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority never_lends_99
# fails: g9_expedite never_lends_99
# As much is lent as the watcher has.
s/^(#define MAX_LENT_RT	\(MAX_RT_PRIO - )2\)/\11)/
