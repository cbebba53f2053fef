# SPDX-License-Identifier: GPL-2.0
# fails: share_gate full_log_raises
# fails: share_gate clear_loses_no_mark
# A full log takes no care of what is there.
/^void share_gate_raise/,/^}/ s/raise_to\(gate, /(void)(/
