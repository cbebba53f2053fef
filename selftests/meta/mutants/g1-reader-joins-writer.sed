# SPDX-License-Identifier: GPL-2.0
# fails: g1_exclusion stress
# A reader does not look at the word.
s/if \(word & \(UNFAIR_RWSEM_WRITER \| UNFAIR_RWSEM_WWAIT\)\)/if (false)/
