# SPDX-License-Identifier: GPL-2.0
# model: lend -DLOOKS=1
# breaks: all_is_given_back|loan_counts|nothing_is_lent
# Who settles does not look at the loans again.
/^inline settle\(\)/,/^}/ s/^\t\t\t:: level == now ->/\t\t\t:: level == now || at_it \&\& settling \&\& prio[task] == now \&\& now ->/
