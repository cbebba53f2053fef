# SPDX-License-Identifier: GPL-2.0
# fails: g4_bounded_bypass overdue_reader_goes_before_waiting_writer
# Nobody is ever overdue.
s/return bound && now - w->since > bound;/return false;/
