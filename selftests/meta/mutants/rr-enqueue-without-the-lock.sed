# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse torture_finds_no_early_reuse
# Enqueue does not take the lock of the list.
/^int rcu_reuse_enqueue/,/^}/ s/raw_spin_(un)?lock\(&l->lock\);//
