# SPDX-License-Identifier: GPL-2.0
# fails: share_gate ranges_include_their_ends
# The last of a range is not in it.
/^static u64 last_of/,/^}/ s/return range->last;/return range->last - (range->last != range->first);/
