# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority off_means_off
# All modes are full.
s/unsigned int mode = .*sem->lend.*/unsigned int mode = UNFAIR_LEND_FULL;/
