# SPDX-License-Identifier: GPL-2.0
# fails: g3_writer_first writers_by_priority_then_arrival
# Writers by arrival alone.
s/return a->prio != b->prio \? a->prio < b->prio : a->since < b->since;/return a->since < b->since;/
