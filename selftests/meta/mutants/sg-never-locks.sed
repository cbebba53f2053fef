# SPDX-License-Identifier: GPL-2.0
# fails: share_gate source_is_marked
# fails: share_gate destination_is_marked
# fails: share_gate both_sides_lock_until_they_are_logged
# Nothing is ever shared.
/^static inline bool share_gate_may_be_shared/,/^}/ s/last = atomic64_read\(&gate->last_shared\);/return false;/
