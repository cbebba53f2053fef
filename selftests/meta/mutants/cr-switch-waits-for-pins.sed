# SPDX-License-Identifier: GPL-2.0
# fails: commit_root switch_waits_for_no_pin
# As a switch that excludes readers: the first commit under a pin hangs.
/^int commit_root_switch/,/^}/ s/^	retire\(old\);/	synchronize_srcu(\&set->pins);\n	retire(old);/
