// SPDX-License-Identifier: GPL-2.0
/*
 * Code for clang's context analysis, never loaded. A comment `report:` gives the warning that the
 * next lines must cause. Nothing else may be reported.
 */
#include <linux/commit_root.h>
#include <linux/module.h>
#include <linux/unfair_rwsem.h>

struct fs {
	struct unfair_rwsem	cp_sem;
	long			generation __guarded_by(&cp_sem);
};

static __used int correct(struct fs *fs)
{
	if (unfair_down_write_trylock(&fs->cp_sem)) {
		fs->generation++;
		unfair_downgrade_write(&fs->cp_sem);
		unfair_up_read(&fs->cp_sem);
	}
	scoped_cond_guard(unfair_rwsem_write_intr, return -EINTR, &fs->cp_sem)
		fs->generation++;
	guard(unfair_rwsem_read)(&fs->cp_sem);
	return fs->generation;
}

/* report: reading variable 'generation' requires holding unfair_rwsem '&fs::cp_sem' */
static __used long no_lock(struct fs *fs)
{
	return fs->generation;
}

/* report: writing variable 'generation' requires holding unfair_rwsem '&fs::cp_sem' exclusively */
static __used void written_by_reader(struct fs *fs)
{
	guard(unfair_rwsem_read)(&fs->cp_sem);
	fs->generation = 1;
}

/* report: releasing unfair_rwsem 'fs->cp_sem' using exclusive access, expected shared access */
static __used void released_as_the_other(struct fs *fs)
{
	unfair_down_read(&fs->cp_sem);
	unfair_up_write(&fs->cp_sem);
}

/* report: commit_pin 'pin' is not held on every path through here */
static __used int pin_on_error(struct commit_root_set *set)
{
	struct commit_pin pin;

	if (!commit_root_pin(set, &pin))
		return -ENODATA;
	if (need_resched())
		return -EIO;
	commit_root_unpin(&pin);
	return 0;
}

MODULE_DESCRIPTION("Input of clang's context analysis, never loaded");
MODULE_LICENSE("GPL");
