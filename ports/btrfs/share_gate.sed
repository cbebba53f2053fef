# SPDX-License-Identifier: GPL-2.0
# SHARE_GATE=1, after share_gate.cocci: questions and marks. Some are in functions that spatch cannot
# parse, because a macro declares a variable there (AUTO_KFREE).
s/inode->last_reflink_trans < trans->transid/!share_gate_may_be_shared(\&inode->gate, trans->transid)/
# btrfs marks the source only if its extent is of this transaction, the destination always.
s/(BTRFS_I\(\w+\)|\w+)->last_reflink_trans = trans->transid;/share_gate_mark(\&\1->gate, trans->transid);/
