// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses without the lock, or with a read lock where a write lock is needed.
 */
#include "guarded.h"

long no_lock(struct fs *fs);
long no_lock(struct fs *fs)
{
	/* report: reading variable 'generation' requires holding unfair_rwsem '&fs::cp_sem' */
	return fs->generation;
}

void written_by_reader(struct fs *fs);
void written_by_reader(struct fs *fs)
{
	guard(unfair_rwsem_read)(&fs->cp_sem);
	/* report: writing variable 'generation' requires holding unfair_rwsem '&fs::cp_sem' exclusively */
	fs->generation = 1;
}

void written_after_downgrade(struct fs *fs);
void written_after_downgrade(struct fs *fs)
{
	unfair_down_write(&fs->cp_sem);
	unfair_downgrade_write(&fs->cp_sem);
	/* report: writing variable 'generation' requires holding unfair_rwsem '&fs::cp_sem' exclusively */
	fs->generation = 1;
	unfair_up_read(&fs->cp_sem);
}

int when_try_failed(struct fs *fs);
int when_try_failed(struct fs *fs)
{
	if (!unfair_down_read_trylock(&fs->cp_sem))
		/* report: reading variable 'generation' requires holding unfair_rwsem '&fs::cp_sem' */
		return fs->generation;
	unfair_up_read(&fs->cp_sem);
	return 0;
}

int when_killed(struct fs *fs);
int when_killed(struct fs *fs)
{
	if (unfair_down_write_killable(&fs->cp_sem)) {
		/* report: writing variable 'generation' requires holding unfair_rwsem '&fs::cp_sem' exclusively */
		fs->generation = 0;
		return -EINTR;
	}
	unfair_up_write(&fs->cp_sem);
	return 0;
}

long after_the_guard(struct fs *fs);
long after_the_guard(struct fs *fs)
{
	scoped_guard(unfair_rwsem_write, &fs->cp_sem)
		fs->generation = 0;
	/* report: reading variable 'generation' requires holding unfair_rwsem '&fs::cp_sem' */
	return fs->generation;
}

long said_to_be_held(struct fs *fs)
	__must_hold_shared(&fs->cp_sem);
long not_held(struct fs *fs);
long not_held(struct fs *fs)
{
	/* report: calling function 'said_to_be_held' requires holding unfair_rwsem 'fs->cp_sem' */
	return said_to_be_held(fs);
}
