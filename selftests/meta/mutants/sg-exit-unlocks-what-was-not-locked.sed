# SPDX-License-Identifier: GPL-2.0
# fails: share_gate exit_undoes_what_was_taken
# A section that skipped the lock releases it.
/^static inline void share_gate_exit/,/^}/ s/if \(section->locked\)/if (true)/
