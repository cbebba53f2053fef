# SPDX-License-Identifier: GPL-2.0
# model: lend
# breaks: returns_with_its_own
# A release applies nothing if a lender that left has dropped the loan, and was preempted then.
/^inline lend_end/,/^}/ s/:: task == HOLDER_OF\(s\) ->/:: task == HOLDER_OF(s) \&\& (loan[s] || section[s]) ->/
