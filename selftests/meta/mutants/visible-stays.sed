# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers migrated_reader_leaves_nothing
# A reader that has migrated does not find its slot.
s/s = cpu == here \? NULL : own_slot_on\(sem, cpu\);/s = NULL;/
