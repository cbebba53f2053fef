# SPDX-License-Identifier: GPL-2.0
# fails: rcu_reuse bad_parameters_are_refused
# Parameters are not looked at.
s/if \(are_wrong\(name, params\)\)/if (are_wrong(name, params) \&\& !name)/
