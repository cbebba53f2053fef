# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority preempted_reader_gets_on
# No level is worth a loan.
/^static inline bool lends\(/,/^}/ s/return .*/return false;/
