# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: root_is_there|set_is_there|all_is_released
# C: destroy sums up, then takes the pointer away.
/commit_root_set_destroy\(\) \*\//,/retire/ s/atomic \{ old = roots; roots = 0 \}/old = roots;/; s/^\t\!work;/\t!work; roots = 0;/
