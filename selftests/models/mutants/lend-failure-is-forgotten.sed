# SPDX-License-Identifier: GPL-2.0
# model: lend -DFAILS=1
# breaks: own_is_not_lent|all_is_given_back|nothing_is_lent|one_at_a_time|returns_with_its_own
# A priority that could not be restored is taken for restored.
/fails\+\+;/,/failed = true/ s/failed = true;/task = NOBODY; now = NOTHING;/
