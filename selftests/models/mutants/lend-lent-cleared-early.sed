# SPDX-License-Identifier: GPL-2.0
# model: lend
# breaks: loan_is_ended|returns_with_its_own
# LENT is cleared between the two stretches of another task that leaves.
s/lent\[s\] = \(highest_level\(s\) \|\| leaving\[s\] -> lent\[s\] : false\)/lent[s] = (highest_level(s) -> lent[s] : false)/
