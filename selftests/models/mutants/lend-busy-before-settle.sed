# SPDX-License-Identifier: GPL-2.0
# model: lend -DLOOKS=1
# quick
# breaks: loan_counts
# As it was: a borrower is busy from when its loans change.
s/^#define settle_later\(\).*/#define settle_later()	todo = (busy -> todo : true); busy = true/
s/:: atomic \{ todo && !at_it && \(!task \|\| busy\) -> .*$/:: false/
s/:: atomic \{ todo && !at_it && task && !busy ->/:: atomic { todo \&\& !at_it ->/
