# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite committer_on_a_mutex
# fails: g9_expedite writers_of_the_expedited_lock
# Nobody looks at the readers again.
/^bool watch_expedites/,/^}/ s/expedite_readers\(e\);/;/
/^void unfair_rwsem_expedite/,/^}/ s/^	expedite_readers\(e\);//
