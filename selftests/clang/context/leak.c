// SPDX-License-Identifier: GPL-2.0
/*
 * Returns with a lock held, and releases of locks that are not held.
 */
#include "guarded.h"

int on_error(struct fs *fs);
int on_error(struct fs *fs)
{
	unfair_down_read(&fs->cp_sem);
	if (may_fail())
		return -EIO;
	unfair_up_read(&fs->cp_sem);
	return 0;
	/* report: unfair_rwsem 'fs->cp_sem' is not held on every path through here */
}

void at_the_end(struct fs *fs);
void at_the_end(struct fs *fs)
{
	unfair_down_write(&fs->cp_sem);
	may_fail();
	/* report: unfair_rwsem 'fs->cp_sem' is still held at the end of function */
}

void twice(struct fs *fs);
void twice(struct fs *fs)
{
	unfair_down_write(&fs->cp_sem);
	/* report: acquiring unfair_rwsem 'fs->cp_sem' that is already held */
	unfair_down_write(&fs->cp_sem);
	unfair_up_write(&fs->cp_sem);
}

void released_twice(struct fs *fs);
void released_twice(struct fs *fs)
{
	unfair_down_read(&fs->cp_sem);
	unfair_up_read(&fs->cp_sem);
	/* report: releasing unfair_rwsem 'fs->cp_sem' that was not held */
	unfair_up_read(&fs->cp_sem);
}

void released_as_the_other(struct fs *fs);
void released_as_the_other(struct fs *fs)
{
	unfair_down_read(&fs->cp_sem);
	/* report: releasing unfair_rwsem 'fs->cp_sem' using exclusive access, expected shared access */
	unfair_up_write(&fs->cp_sem);
}

int pin_on_error(struct commit_root_set *set);
int pin_on_error(struct commit_root_set *set)
{
	struct commit_pin pin;

	if (commit_root_pin(set, &pin))
		return -ENODATA;
	if (may_fail())
		return -EIO;
	commit_root_unpin(&pin);
	return 0;
	/* report: commit_pin 'pin' is not held on every path through here */
}
