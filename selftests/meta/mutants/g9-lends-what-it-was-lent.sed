# SPDX-License-Identifier: GPL-2.0
# A committer lends what it was lent itself.
# fails: g9_expedite lends_its_own_priority_only
s/= lend_own_level\(sem\);/= level_to_lend(sem, current);/
