# SPDX-License-Identifier: GPL-2.0
# fails: g6_spin_on_owner nobody_spins_on_a_sleeping_reader
# All readers seem to run.
/^enum holders_seen visible_readers_state/,/^}/ s/if \(!compat_on_cpu\(task\)\)/if (false)/
