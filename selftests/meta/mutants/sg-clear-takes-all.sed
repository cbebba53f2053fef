# SPDX-License-Identifier: GPL-2.0
# fails: share_gate clear_loses_no_mark
# Marks that came while it was logged are cleared, too.
/^void share_gate_clear/,/^}/ s/^	s64 cleared = /	s64 cleared;\n\n	marks = atomic64_read(\&gate->marks);\n	cleared = /
