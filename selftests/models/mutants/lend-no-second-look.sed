# SPDX-License-Identifier: GPL-2.0
# model: lend
# breaks: all_is_given_back|loan_counts|nothing_is_lent|returns_with_its_own
# A task that applies does not look at the loans again.
/^inline apply\(\)/,/^}/ s/^\t\t\t:: level == now ->/\t\t\t:: level == now || at_it \&\& applying \&\& prio[task] == now \&\& now ->/
