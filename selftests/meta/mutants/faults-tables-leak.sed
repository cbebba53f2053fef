# SPDX-License-Identifier: GPL-2.0
# fails: load_cycles nothing_grows
# The tables of the statistics outlive the module.
/^void exit_stats/,/^}/ s/free_stats\(\);/;/
