# SPDX-License-Identifier: GPL-2.0
# Readers are hidden from a section once a writer of the lock, also its own, has released it.
# fails: g9_expedite committer_that_wrote_still_lends
# fails: g9_expedite committer_that_downgraded_still_lends
# fails: g9_expedite committer_after_an_inner_section_still_lends
# fails: g9_expedite committer_lends_whatever_others_do
/^static void give_up_write/,/^}/ {
	/if \(sem->expedited\)/d
	/instead \|= LENT;/d
}
