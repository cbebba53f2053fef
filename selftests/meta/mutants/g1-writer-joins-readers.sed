# SPDX-License-Identifier: GPL-2.0
# fails: g1_exclusion readers_share
# A writer does not look at the reader count.
s/return word & WRITER \|\| word & ~FLAGS;/return word \& WRITER;/
