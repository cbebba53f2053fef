# SPDX-License-Identifier: GPL-2.0
# fails: g3_writer_first writers_by_priority_then_arrival
# Writers by arrival alone.
/^static bool writer_before/,/^}/ s/return a->prio != b->prio \? a->prio < b->prio : a->order < b->order;/return a->order < b->order;/
