# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: destroy_succeeds
# A pin that was refused is not counted as an unpin.
/^\t:: else$/ { N; N; s/\t:: else\n\tfi;\n\tatomic \{ srcu/\t:: else -> atomic { srcu_read_unlock() }; goto done\n\tfi;\n\tatomic { srcu/ }
