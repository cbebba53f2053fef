# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: (writers|readers)_are_called|end state
# The last reader does not look for flags (lost wakeup).
/^inline up_read/,/^}/ { s/:: atomic \{ !\(word & FLAGS\) \|\| word \/ READER > 1 ->/:: atomic { true ->/; s/:: atomic \{ word & FLAGS && word \/ READER == 1 -> skip \};/:: atomic { false -> skip };/ }
