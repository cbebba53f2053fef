# SPDX-License-Identifier: GPL-2.0
# model: lend
# breaks: nothing_is_lent|all_is_given_back|loan_is_ended|returns_with_its_own
# A lender that gives up leaves its loan, and LENT is cleared.
/^inline lend_adjust/,/^}/ { s/^\t\tloan\[s\] = highest_level\(s\);/\t\tskip;/ ; s/^\t\tapply_later\(\)/\t\tskip/ }
