# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite committer_has_what_it_lends
# The committer keeps what it was lent after its section.
/^static void end_section/,/^}/ s/^	lend_end\(.*$//
