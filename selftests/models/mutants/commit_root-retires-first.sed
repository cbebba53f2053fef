# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: root_is_there|blocks_are_there
# The old roots are retired before the new ones are published.
/commit_root_switch\(\), under/,/next\+\+/ { s/^\t\t\troots = next$/\t\t\tretire(old)/; s/atomic \{ retire\(old\); next\+\+ \}/atomic { roots = next; next++ }/ }
