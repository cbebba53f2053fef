# SPDX-License-Identifier: GPL-2.0
# fails: g7_clean_retreat killed_readers_do_not_break_the_chain
# A release wakes all readers.
s/max_wakes\(\) - due, now/1000, now/
