# SPDX-License-Identifier: GPL-2.0
# fails: share_gate source_is_marked
# fails: share_gate destination_is_marked
# fails: share_gate replay_is_as_without_the_gate
# fails: share_gate concurrent_fsyncs_lose_nothing
# fails: share_gate clear_after_all_is_logged
# fails: share_gate both_sides_lock_until_they_are_logged
# Nothing is ever shared.
/^static inline bool share_gate_may_be_shared/,/^}/ s/last = atomic64_read\(&gate->last_shared\);/return false;/
