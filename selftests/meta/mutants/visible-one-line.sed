# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers unseen_readers
# A reader that finds no slot in its first line has none.
s/^(#define COUNTED_PROBES	+)8U/\11U/
