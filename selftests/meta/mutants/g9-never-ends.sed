# SPDX-License-Identifier: GPL-2.0
# fails: g9_expedite readers_that_come_later
# The end of a section takes nothing back.
/^static void end_section/,/^}/ s/__unfair_rwsem_lenders_changed\(sem\);//
