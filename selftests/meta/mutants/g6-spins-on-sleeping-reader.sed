# SPDX-License-Identifier: GPL-2.0
# fails: g6_spin_on_owner nobody_spins_on_a_sleeping_reader
# All readers seem to run.
s/seen->all_run = compat_on_cpu\(task\);/seen->all_run = true;/
