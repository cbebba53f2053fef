# SPDX-License-Identifier: GPL-2.0
# What waiters have lent to a task that expedites the lock, too, stays until its section ends.
# fails: g9_expedite loans_end_each_by_itself
s/^	if \(loan && section\)/	if (loan \&\& lends(loan->section) \&\& !section)\n\t\tloan = NULL;\n&/
