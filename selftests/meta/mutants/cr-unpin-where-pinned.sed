# SPDX-License-Identifier: GPL-2.0
# fails: commit_root unpin_by_another_task
# A pin can be given up on the first CPU alone.
/^static inline void commit_root_unpin/,/^}/ s/__srcu_read_unlock\(&set->pins, idx\);/if (!raw_smp_processor_id())\n		__srcu_read_unlock(\&set->pins, idx);/
