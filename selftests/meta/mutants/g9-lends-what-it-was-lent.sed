# SPDX-License-Identifier: GPL-2.0
# A committer lends what it was lent itself.
# fails: g9_expedite lends_its_own_priority_only
s/own_level_to_lend\(sem\),/level_to_lend(sem),/
