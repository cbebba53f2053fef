# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite committer_has_what_it_lends
# The committer keeps what others lend after its section.
/^static void end_expedite/,/^}/ s/^	give_back\(.*$//
