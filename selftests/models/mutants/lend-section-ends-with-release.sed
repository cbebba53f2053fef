# SPDX-License-Identifier: GPL-2.0
# model: lend -DSECTION
# breaks: committer_has_it
# As it was: a release takes back what an expedited section has lent.
/^inline lend_end/,/^}/ s/:: else -> loan\[s\] = NOTHING/:: else -> loan[s] = NOTHING; section[s] = NOTHING/
