# SPDX-License-Identifier: GPL-2.0
# model: lend -DLOOKS=1
# breaks: nothing_is_lent|all_is_given_back
# A lender that gives up leaves its loan, and LENT is cleared.
/^inline relevel_loans/,/^}/ { s/^\t\tloan\[s\] = level;/\t\tskip;/ ; s/^\t\tsettle_later\(\)/\t\tskip/ }
