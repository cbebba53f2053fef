# SPDX-License-Identifier: GPL-2.0
# fails: commit_root freed_blocks_wait_for_pins
# fails: commit_root switch_waits_for_no_pin
# fails: commit_root roots_are_released_in_order
# Replaced roots are released at once, whoever has pinned them.
s/call_srcu\(&roots->set->pins, &roots->head, all_have_left\)/all_have_left(\&roots->head)/
