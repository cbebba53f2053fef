# SPDX-License-Identifier: GPL-2.0
# fails: share_gate exit_undoes_what_was_taken
# An error of the range lock is ignored.
/^int __share_gate_lock/,/^}/ s/^	if \(ret\) \{/	if (false) {/
