# SPDX-License-Identifier: GPL-2.0
# model: lend -DSECTION
# breaks: nothing_is_lent|all_is_given_back
# The end of a section leaves what it has lent.
/^inline lend_end/,/^}/ s/:: of_section -> section\[s\] = NOTHING/:: of_section -> skip/
