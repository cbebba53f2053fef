# SPDX-License-Identifier: GPL-2.0
# fails: g1_exclusion stress
# A reader on the fast path does not look at all.
s/while \(likely\(!\(word & \(UNFAIR_RWSEM_WRITER \| UNFAIR_RWSEM_WWAIT \| UNFAIR_RWSEM_SPIN\)\)\)\)/while (true)/
