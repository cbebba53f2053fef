# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# quick
# breaks: set_is_there
# E: an unpin is counted before the section ends.
/^\tatomic \{ srcu_read_unlock\(\) \};$/ { N; s/\tatomic \{ srcu_read_unlock\(\) \};\n\tgone\(\);/\tgone();\n\tatomic { srcu_read_unlock() };/ }
