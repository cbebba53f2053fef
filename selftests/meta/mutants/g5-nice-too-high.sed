# SPDX-License-Identifier: GPL-2.0
# fails: g5_lent_priority lent_and_given_back
# Mode nice lends more than the writer has.
s/level = \{ .nice = v->nice \}/level = { .nice = MIN_NICE }/
