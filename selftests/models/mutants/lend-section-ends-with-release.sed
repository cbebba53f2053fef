# SPDX-License-Identifier: GPL-2.0
# model: lend -DLOOKS=1 -DSECTION
# breaks: committer_has_it
# As it was: a release takes back what an expedited section has lent.
/^inline give_back/,/^}/ s/:: else -> loan\[s\] = NOTHING/:: else -> loan[s] = NOTHING; section[s] = NOTHING/
