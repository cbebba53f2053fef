# SPDX-License-Identifier: GPL-2.0
# fails: share_gate reload_is_pessimistic
# fails: share_gate what_is_read_in_again_may_be_shared
# What is not on the disk has never been.
/^void share_gate_reloaded/,/^}/ s/share_gate_raise\(gate, last_transaction\);/;/
