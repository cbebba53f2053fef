# SPDX-License-Identifier: GPL-2.0
# in: visible_readers_revoke_bias
# T3: the word may be 0 during the scan of a revocation.
/^void visible_readers_revoke_bias/,/^}/ {
	s/\(word & ~UNFAIR_RWSEM_BIAS\) \+ UNFAIR_RWSEM_READER/word \& ~UNFAIR_RWSEM_BIAS/
	/smp_mb\(\);/,/count_event/ s/atomic_long_sub\(UNFAIR_RWSEM_READER, &sem->word\);//
}
