# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_split_tells_the_old_block_once
# The old block of a split is told as if for the first time.
s/pair->old_again = old;/pair->old_again = false;/
