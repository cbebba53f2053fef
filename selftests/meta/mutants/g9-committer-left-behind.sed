# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite committer_has_what_it_lends
# The committer stays behind those that it lends to.
s/^	+lend_to_expediter\(.*$//
