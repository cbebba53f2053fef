# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=2 -DNW=2
# breaks: no_grant_to_a_sleeper
# A reader in the queue is counted in by who releases (G2); shown as one that sleeps with it.
/^come_in:/,/^not_yet:/ s/acquired_read\(\); got = true/asleep = asleep | BIT(me); acquired_read(); got = true/
