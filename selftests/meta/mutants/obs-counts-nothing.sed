# SPDX-License-Identifier: GPL-2.0
# fails: observability statistics
# The fast paths are not counted.
s/if \(static_branch_unlikely\(&unfair_rwsem_stats\)\)/if (false)/
