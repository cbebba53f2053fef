# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite several_callers
# The end of one section is taken for the end of all.
s/level = expedited_level\(sem\);/level = LEND_NOTHING;/
