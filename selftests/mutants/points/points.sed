# SPDX-License-Identifier: GPL-2.0
# Puts a test point before each access to shared memory, see unfair_test_points.h: reads first,
# then other expressions, then statements.
s/\b(READ_ONCE|smp_load_acquire|atomic_long_read(_acquire)?)\(/UNFAIR_BEFORE_READ(\1, /g
s/\b(hlist_empty|compat_on_cpu|pid_task)\(/UNFAIR_BEFORE_READ(\1, /g
s/\b(atomic_long_(add|sub|or|andnot|set|try)[a-z_]*|(try_)?(cmp)?xchg(_[a-z]+)?)\(/UNFAIR_BEFORE_WRITE(\1, /g
s/\b(raw_spin_trylock|wake_up_process|schedule_timeout|lent_priority_set)\(/UNFAIR_BEFORE_WRITE(\1, /g
s/\b(WRITE_ONCE|smp_r?mb|smp_store_release|smp_store_mb|smp_mb__after_atomic)\(/UNFAIR_AROUND(\1, /g
s/\b(smp_acquire__after_ctrl_dep|set_current_state)\(/UNFAIR_AROUND(\1, /g
s/\b(raw_spin_(un)?lock(_irq|_irqsave|_irqrestore)?)\(/UNFAIR_AROUND(\1, /g
s/^#include <linux\/spinlock_types\.h>$/&\n#include <linux\/unfair_test_points.h>/
