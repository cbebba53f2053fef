# SPDX-License-Identifier: GPL-2.0
# model: commit_root -DNR=2 -DNG=2
# breaks: root_is_there|blocks_are_there
# commit_root_pin_again() counts on nothing.
s/atomic \{ users\[mine\]\+\+ \};/atomic { true };/; s/atomic \{ put_roots\(mine\) \};/atomic { look_at_set() };/
