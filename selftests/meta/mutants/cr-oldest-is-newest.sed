# SPDX-License-Identifier: GPL-2.0
# fails: commit_root oldest_pin_has_a_name
# The newest pin is named, not the oldest.
s/list_first_entry_or_null\(&set->tracks, struct commit_pin, node\)/list_empty(\&set->tracks) ? NULL : list_last_entry(\&set->tracks, struct commit_pin, node)/
