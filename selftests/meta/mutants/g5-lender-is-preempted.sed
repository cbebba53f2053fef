# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority no_section_ends_with_a_loan
# A lender may be preempted, also by the task that it lends to, before it has noted the loan.
s/^(# define compat_lend_apply_(begin|end)\(\))	preempt_.*$/\1	do { } while (0)/
