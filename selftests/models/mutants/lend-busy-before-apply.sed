# SPDX-License-Identifier: GPL-2.0
# model: lend
# quick
# breaks: loan_counts|returns_with_its_own
# As it was: a lent task is busy from when its loans change.
s/^#define apply_later\(\).*/#define apply_later()	todo = (busy -> todo : true); busy = true/
s/:: atomic \{ todo && !at_it && \(!task \|\| busy\) -> .*$/:: false/
s/:: atomic \{ todo && !at_it && task && !busy ->/:: atomic { todo \&\& !at_it ->/
