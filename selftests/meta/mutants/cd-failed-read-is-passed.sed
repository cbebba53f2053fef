# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff a_failed_read_loses_nothing
# After an error the walk goes on with the next pointer.
s/^(\t+)count_cow_diff\(COW_DIFF_READ_FAILED, 1\);/\1s->has_coming = false;\n\1s->level[(s->coming_level + 1) % COW_DIFF_MAX_LEVELS].next++;/
