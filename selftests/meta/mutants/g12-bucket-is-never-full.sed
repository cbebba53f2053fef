# SPDX-License-Identifier: GPL-2.0
# fails: g12_budget budget_of_one_task
# fails: g12_budget what_is_over_gets_nice
# What was used of SCHED_FIFO is forgotten.
/^static void charge_bucket/,/^}/ s/if \(limit >= BUDGET_WINDOW\)/if (true)/
