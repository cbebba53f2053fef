# SPDX-License-Identifier: GPL-2.0
# model: lend -DFAILS=1
# breaks: end state
# As it was (B5): a priority that cannot be restored is not tried again.
s/:: atomic \{ failed -> apply_later\(\) \};/:: atomic { false -> apply_later() };/
