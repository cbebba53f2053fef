# SPDX-License-Identifier: GPL-2.0
# model: lend
# breaks: loan_is_ended|returns_with_its_own
# A lent task does not end its loan.
/^inline release/,/^}/ s/:: lent\[s\] -> lend_end\(s, false\)/:: lent[s] -> skip/
