# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: blocks_are_there
# What the newest roots do not reach is reused at once.
s/reusable = \(old -> reusable : next\);/reusable = next;/
