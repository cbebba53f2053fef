# SPDX-License-Identifier: GPL-2.0
# model: lend -DLOOKS=1
# breaks: nothing_is_lent|all_is_given_back
# A borrower does not give back.
/^inline release/,/^}/ s/:: lent\[s\] -> give_back\(s, false\)/:: lent[s] -> skip/
