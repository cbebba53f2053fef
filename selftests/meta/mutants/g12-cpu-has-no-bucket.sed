# SPDX-License-Identifier: GPL-2.0
# fails: g12_budget what_is_over_for_the_cpu_gets_nice
# Only a task has a budget, and a CPU has none.
/^static bool over_budget/,/^}/ s/return max\(\*budget_of\(task\), .*/return *budget_of(task) > now + ns;/
