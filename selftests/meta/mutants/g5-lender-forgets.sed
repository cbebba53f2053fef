# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority lender_gives_up
# A lender that gives up leaves its loans.
s/leaves = has_queued && .*/leaves = false;/
