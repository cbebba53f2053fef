# SPDX-License-Identifier: GPL-2.0
# model: lend
# quick
# breaks: loan_is_highest
# As it was (B1): a waiter lends what it has, and not what an absent one before it has.
/^proctype waiter/,/^}/ s/:: held\[s\] -> look\(s\)/:: held[s] -> lent[s] = true; note_loan(s, mine, false); assert(loan_is_highest(s))/
