# SPDX-License-Identifier: GPL-2.0
# fails: commit_root freed_blocks_wait_for_pins
# fails: commit_root refused_before_the_first_commit
# One generation too much may be reused.
s/atomic64_set_release\(&set->reusable, oldest->generation\)/atomic64_set_release(\&set->reusable, oldest->generation + 1)/
