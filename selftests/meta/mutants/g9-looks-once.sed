# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite readers_that_come_later
# fails: g9_expedite writers_of_the_expedited_lock
# Nobody looks at the readers again.
/^void unfair_rwsem_expedite/,/^}/ s/if \(!sem->watched\)/if (false)/
