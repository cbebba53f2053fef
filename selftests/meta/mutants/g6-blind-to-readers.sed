# SPDX-License-Identifier: GPL-2.0
# fails: g6_spin_on_owner writer_spins_while_readers_run
# A writer does not see that the readers run.
s/if \(seen == READERS_RUN\)/if (false)/
