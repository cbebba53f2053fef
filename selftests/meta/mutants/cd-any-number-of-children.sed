# SPDX-License-Identifier: GPL-2.0
# fails: cow_diff too_many_children_are_refused
# The number of children is not looked at.
s/if \(level \&\& node->nr > d->ops->max_children\)/if (false)/
