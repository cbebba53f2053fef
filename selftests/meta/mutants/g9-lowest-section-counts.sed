# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite several_callers
# Of the sections of a lock, the one that lends least comes first.
/^static bool section_before/,/^}/ s/a->level.rt > b->level.rt/a->level.rt < b->level.rt/
