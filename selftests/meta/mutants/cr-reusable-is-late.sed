# SPDX-License-Identifier: GPL-2.0
# fails: commit_root freed_blocks_wait_for_pins
# Freed blocks are never reusable again.
/^static void release_work/,/^}/ s/move_reusable\(set\);/;/
