# SPDX-License-Identifier: GPL-2.0
# model: lend -DSTARVED
# breaks: end state
# B1: the watcher does not look, and a waiter that is absent cannot.
s/^#define may_lend_more\(s\).*/#define may_lend_more(s)	(false \&\& held[s] \&\& (loan[s] ||	\\/
