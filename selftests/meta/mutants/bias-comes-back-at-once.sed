# SPDX-License-Identifier: GPL-2.0
# fails: visible_readers bias_does_not_come_back_at_once
# A revocation does not put off the next bias.
/^void visible_readers_revoke_bias/,/^}/ s/WRITE_ONCE\(sem->bias_wait, BIAS_AGAIN\);/;/
