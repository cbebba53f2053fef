# SPDX-License-Identifier: GPL-2.0
# fails: load_cycles nothing_grows
# The table of readers outlives the module.
/^static void __exit fscommit_exit/,/^}/ s/exit_reader_slots\(\);/;/
