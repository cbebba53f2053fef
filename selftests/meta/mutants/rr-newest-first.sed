# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse oldest_first
# Batches are put before older ones.
/^static inline void reuse_splice/,/^}/ {
	s/to->last->next = from->first;/from->last->next = to->first, to->first = from->first;/
	s/to->last = from->last;/if (!to->nr) to->last = from->last;/
}
