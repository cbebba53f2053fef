# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: set_is_there|all_is_released
# Destroy does not wait for callbacks.
s/^\t\!callback\[1\].*$//
