# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: set_is_there|all_is_released
# D: destroy sums up pins, then unpins.
s/^\t\tsum = sum \+ unpins\[0\];/\t\tsum = sum - pins[0];/; s/^\t\tsum = sum \+ unpins\[1\];/\t\tsum = sum - pins[1];/; t; s/^\t\tsum = sum - pins\[0\];.*/\t\tsum = sum + unpins[0];/; s/^\t\tsum = sum - pins\[1\];/\t\tsum = sum + unpins[1];/
