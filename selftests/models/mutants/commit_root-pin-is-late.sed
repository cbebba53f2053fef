# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: root_is_there|blocks_are_there
# B: a reader takes the pointer, then enters its section.
s/^\tatomic \{ look_at_set\(\); sections = .*B \*\///; s/^(\tatomic \{ look_at_set\(\); mine = roots \}).*$/\1\n\tatomic { look_at_set(); sections = sections | BIT(me) }/
