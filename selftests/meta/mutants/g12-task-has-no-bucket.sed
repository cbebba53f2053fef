# SPDX-License-Identifier: GPL-2.0
# fails: g12_budget budget_of_one_task
# Only a CPU has a budget, and a task has none.
/^static bool over_budget/,/^}/ s/return max\(\*budget_of\(task\), (.*)\) > now \+ ns;/return \1 > now + ns;/
