# SPDX-License-Identifier: GPL-2.0
# in: visible_readers_revoke_bias
# T4: a revocation converts a slot, then counts its reader.
/^void visible_readers_revoke_bias/,/^}/ {
	s/atomic_long_add\(UNFAIR_RWSEM_READER, &sem->word\);//
	s/if \(!try_cmpxchg\(&s->sem, &v, \(unsigned long\)sem\)\)/if (try_cmpxchg(\&s->sem, \&v, (unsigned long)sem))/
	/if \(try_cmpxchg/,/atomic_long_sub/ s/atomic_long_sub/atomic_long_add/
}
